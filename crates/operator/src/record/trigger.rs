//! Triggers and items in the form of the record, and the conversion back. What only the queue needs of a trigger is not
//! recorded: its retries and its age.

use std::{sync::Arc, time::Duration, time::Instant};

use boathook_core::model::{
    BindingName, Cause, HookName, Item, ObjectEvent, ObjectKey, QueueName, Resource, RetryPolicy, Tick, Trigger,
    WatchEventKind,
};
use serde::{Deserialize, Serialize};

/// A binding's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedBinding {
    /// The name that contexts show.
    pub name: String,
    /// The number among bindings of the same name, counted from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub nth: usize,
}

fn first() -> usize {
    1
}

fn is_first(nth: &usize) -> bool {
    *nth <= 1
}

impl From<&BindingName> for RecordedBinding {
    fn from(binding: &BindingName) -> Self {
        let name = binding.as_str();
        let nth = binding.unique().strip_prefix(name).and_then(|rest| rest.strip_prefix('#'));
        Self { name: name.to_owned(), nth: nth.and_then(|nth| nth.parse().ok()).unwrap_or(1) }
    }
}

impl From<&RecordedBinding> for BindingName {
    fn from(binding: &RecordedBinding) -> Self {
        Self::nth(&binding.name, binding.nth)
    }
}

/// One trigger of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedTrigger {
    pub binding: RecordedBinding,
    pub cause: RecordedCause,
    /// The group that the run's context shows instead of the cause.
    pub group: Option<String>,
    /// The snapshots that the run may open for this trigger.
    pub snapshots: Vec<RecordedBinding>,
    /// Whether a failed run counts as done.
    pub allow_failure: bool,
}

/// Why a trigger exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RecordedCause {
    /// The operator started.
    Startup,
    /// A schedule fired.
    Schedule {
        /// The planned time, in milliseconds since the Unix epoch.
        scheduled_at: u64,
        /// The number of ticks that were skipped since the previous one.
        missed: u32,
    },
    /// A binding knows all its objects for the first time.
    Synchronization,
    /// An object changed.
    Event(Box<RecordedEvent>),
}

/// One change of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedEvent {
    pub kind: WatchEventKind,
    /// The kind of the object.
    pub resource: Resource,
    /// The object as the binding sees it.
    pub item: RecordedItem,
    /// The previous result of the filter.
    pub previous_filter_result: Option<String>,
    /// The previous object.
    pub previous_object: Option<String>,
}

/// One object as a binding sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedItem {
    /// Absent for cluster-scoped objects.
    pub namespace: Option<String>,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    /// The object as JSON.
    pub object: Option<String>,
    /// The result of the `jqFilter`, as JSON.
    pub filter_result: Option<String>,
}

impl From<&Item> for RecordedItem {
    fn from(item: &Item) -> Self {
        Self {
            namespace: text(item.key.namespace.as_ref()),
            name: item.key.name.to_string(),
            uid: item.uid.to_string(),
            resource_version: item.resource_version.to_string(),
            object: text(item.object.as_ref()),
            filter_result: text(item.filter_result.as_ref()),
        }
    }
}

impl From<&RecordedItem> for Item {
    fn from(item: &RecordedItem) -> Self {
        Self {
            key: ObjectKey { namespace: shared(item.namespace.as_ref()), name: item.name.as_str().into() },
            uid: item.uid.as_str().into(),
            resource_version: item.resource_version.as_str().into(),
            object: shared(item.object.as_ref()),
            filter_result: shared(item.filter_result.as_ref()),
        }
    }
}

impl From<&Trigger> for RecordedTrigger {
    fn from(trigger: &Trigger) -> Self {
        let cause = match &trigger.cause {
            Cause::Startup => RecordedCause::Startup,
            Cause::Schedule(Tick { scheduled_at, missed }) => {
                RecordedCause::Schedule { scheduled_at: *scheduled_at, missed: *missed }
            }
            Cause::Synchronization => RecordedCause::Synchronization,
            Cause::Event(event) => RecordedCause::Event(Box::new(RecordedEvent {
                kind: event.kind,
                resource: event.resource.as_ref().clone(),
                item: event.item.as_ref().into(),
                previous_filter_result: text(event.previous_filter_result.as_ref()),
                previous_object: text(event.previous_object.as_ref()),
            })),
        };
        Self {
            binding: (&trigger.binding).into(),
            cause,
            group: text(trigger.group.as_ref()),
            snapshots: trigger.snapshots.iter().map(RecordedBinding::from).collect(),
            allow_failure: trigger.allow_failure,
        }
    }
}

impl RecordedTrigger {
    /// The approximate size of the objects in bytes.
    pub(super) fn bytes(&self) -> usize {
        let RecordedCause::Event(event) = &self.cause else { return 128 };
        let texts =
            [&event.item.object, &event.item.filter_result, &event.previous_object, &event.previous_filter_result];
        256 + texts.iter().map(|text| text.as_ref().map_or(0, String::len)).sum::<usize>()
    }

    /// Makes the trigger for a replayed run of `hook`.
    pub(super) fn restore(&self, hook: &HookName, queue: &str) -> Trigger {
        let cause = match &self.cause {
            RecordedCause::Startup => Cause::Startup,
            RecordedCause::Schedule { scheduled_at, missed } => {
                Cause::Schedule(Tick { scheduled_at: *scheduled_at, missed: *missed })
            }
            RecordedCause::Synchronization => Cause::Synchronization,
            RecordedCause::Event(event) => Cause::Event(ObjectEvent {
                kind: event.kind,
                resource: Arc::new(event.resource.clone()),
                item: Arc::new((&event.item).into()),
                previous_filter_result: shared(event.previous_filter_result.as_ref()),
                previous_object: shared(event.previous_object.as_ref()),
            }),
        };
        Trigger {
            hook: hook.clone(),
            binding: (&self.binding).into(),
            queue: QueueName::Shared(queue.into()),
            cause,
            group: shared(self.group.as_ref()),
            snapshots: self.snapshots.iter().map(BindingName::from).collect(),
            allow_failure: self.allow_failure,
            retry: RetryPolicy::default(),
            debounce: Duration::ZERO,
            created: Instant::now(),
        }
    }
}

fn text(shared: Option<&Arc<str>>) -> Option<String> {
    shared.map(|text| text.as_ref().to_owned())
}

fn shared(text: Option<&String>) -> Option<Arc<str>> {
    text.map(|text| text.as_str().into())
}

//! What makes a hook run: a change that a watch saw, and the trigger that a binding makes of it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{BindingName, HookName, Object, ObjectRef, QueueName, Resource, RetryPolicy, Stage, WatchEventKind};

/// What a watch sends to its subscribers. A list (the first one, or one after history was lost) arrives as
/// `ListStarted`, an `Upsert` for each object, and `ListDone`. Objects that were known and not named in between are
/// gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A complete list follows.
    ListStarted,
    /// The object is there, in this state. The state may be the known one.
    Upsert(Arc<Object>),
    /// The object is gone. This was its last state.
    Delete(Arc<Object>),
    /// The list is complete.
    ListDone,
    /// The API server no longer serves the kind, and what was known is gone. If it serves the kind again, another list
    /// follows.
    Unserved,
}

/// One change of one object, as a binding delivers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectEvent {
    pub kind: WatchEventKind,
    pub resource: Arc<Resource>,
    /// The object as the binding sees it. For `Deleted`, this is the last known state.
    pub item: Arc<super::Item>,
    /// The filter's result before this change.
    pub previous_filter_result: Option<Arc<str>>,
    /// The object before this change, as the binding kept it. Only for `Modified`, and only if the binding requests it.
    pub previous_object: Option<Arc<str>>,
    /// The field managers that wrote last, separated by commas. Only the operator sees it.
    #[serde(skip)]
    pub managers: Option<Arc<str>>,
}

/// One firing of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tick {
    /// The planned time, in milliseconds since the Unix epoch.
    pub scheduled_at: u64,
    /// Ticks that were skipped since the previous one.
    pub missed: u32,
}

/// Why a trigger exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Cause {
    /// The operator started. The stages in the life of a module have this cause, too: see [`Trigger::stage`].
    Startup,
    /// A schedule fired.
    Schedule(Tick),
    /// A binding knows all its objects for the first time, or its waiting events were dropped because there was no room
    /// for them.
    Synchronization,
    /// An object changed.
    Event(ObjectEvent),
}

impl Cause {
    /// The change, if it is one.
    pub fn event(&self) -> Option<&ObjectEvent> {
        match self {
            Self::Event(event) => Some(event),
            Self::Startup | Self::Schedule(_) | Self::Synchronization => None,
        }
    }
}

/// One occurrence of a binding, on its way to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    pub hook: HookName,
    pub binding: BindingName,
    pub queue: QueueName,
    pub cause: Cause,
    /// The binding's `group`: the run receives the group, and not the cause. Neighbours of one group in one run are
    /// delivered as one.
    pub group: Option<Arc<str>>,
    /// The snapshots that the run may open for this trigger.
    pub snapshots: Arc<[BindingName]>,
    /// A failed run counts as done.
    pub allow_failure: bool,
    pub retry: RetryPolicy,
    /// An event waits for its object to be quiet for this time before it gets a place in its queue.
    pub debounce: Duration,
    /// When it was created, to measure the time spent waiting.
    pub created: Instant,
}

impl Trigger {
    /// The stage in the life of a module that this trigger is for. Such a trigger is in no queue.
    pub fn stage(&self) -> Option<Stage> {
        match self.cause {
            Cause::Startup => Stage::ALL.into_iter().find(|stage| stage.key() == self.binding.as_str()),
            Cause::Schedule(_) | Cause::Synchronization | Cause::Event(_) => None,
        }
    }

    /// What happened to which object, if the trigger is about an object.
    pub fn event(&self) -> Option<(WatchEventKind, ObjectRef)> {
        let Cause::Event(event) = &self.cause else { return None };
        let key = &event.item.key;
        let object = ObjectRef {
            api_version: event.resource.api_version(),
            kind: event.resource.kind.clone(),
            namespace: key.namespace.as_deref().map(str::to_owned),
            name: key.name.to_string(),
        };
        Some((event.kind, object))
    }
}

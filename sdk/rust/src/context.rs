//! What a run was woken by.
//!
//! Read-only: the triggers are all the hook gets; the rest it asks for.

use crate::bindings::boathook::hook::types as wire;
use crate::data::{DataError, absent, decode};
use crate::kube::ObjectRef;
use serde::de::DeserializeOwned;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The circumstances of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// Unique for each run; it is in every log and audit line of the run.
    pub run_id: String,
    /// The hook's name in the operator: the component's file name without `.wasm`. For a hook of a bundle, the bundle's
    /// name follows, and for a hook of a HookBundle also its namespace: `HOOK.BUNDLE.NAMESPACE`.
    pub hook: String,
    /// 1 for the first try, then counting.
    pub attempt: u32,
    /// Writes are checked and answered, but not kept.
    pub dry_run: bool,
}

/// Why this run happens: its triggers, oldest first, at least one.
#[derive(Clone, Debug)]
pub struct Context {
    /// The circumstances of the run.
    pub info: RunInfo,
    /// What woke the hook. The run succeeds or fails for all of them.
    pub triggers: Vec<Trigger>,
}

/// One reason for the run.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// The name of the binding; `onStartup` for start-up.
    pub binding: String,
    /// The snapshots that [`snapshots::open`](crate::snapshots::open) accepts in this run.
    pub snapshots: Vec<String>,
    /// What happened.
    pub cause: Cause,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // Most triggers are events.
pub enum Cause {
    /// The operator started.
    Startup,
    /// A `schedule` binding fired.
    Schedule(Tick),
    /// A `kubernetes` binding knows all its objects for the first time.
    Synchronization,
    /// An object of a `kubernetes` binding changed.
    Event(Event),
    /// Bindings of the group with this name changed.
    Group(String),
}

/// One firing of a `schedule` binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The planned time.
    pub scheduled_at: SystemTime,
    /// Ticks that were skipped since the one before.
    pub missed: u32,
}

/// What happened to an object, seen through the binding's selectors and filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It appeared, or began to match.
    Added,
    /// What the binding sees of it changed.
    Modified,
    /// It was deleted, or no longer matches.
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub change: Change,
    /// The object it happened to.
    pub target: ObjectRef,
    /// `metadata.uid`. An object that is deleted and created again has a different uid.
    pub uid: String,
    /// `metadata.resourceVersion` of the state delivered here.
    pub resource_version: String,
    object: Option<String>,
    filter_result: Option<String>,
    previous_filter_result: Option<String>,
    previous_object: Option<String>,
}

impl Context {
    /// Whether a trigger of this binding is among them.
    pub fn has(&self, binding: &str) -> bool {
        self.triggers.iter().any(|t| t.binding == binding)
    }

    /// Whether this binding was synchronized.
    pub fn synchronized(&self, binding: &str) -> bool {
        self.triggers.iter().any(|t| t.binding == binding && matches!(t.cause, Cause::Synchronization))
    }

    /// The events of this binding, oldest first.
    pub fn events<'a>(&'a self, binding: &'a str) -> impl Iterator<Item = &'a Event> {
        self.triggers.iter().filter(move |t| t.binding == binding).filter_map(Trigger::event)
    }

    pub(crate) fn from_wire(info: wire::RunInfo, contexts: Vec<wire::BindingContext>) -> Self {
        let info = RunInfo { run_id: info.run_id, hook: info.hook, attempt: info.attempt, dry_run: info.dry_run };
        let triggers = contexts.into_iter().map(Trigger::from_wire).collect();
        Self { info, triggers }
    }
}

impl Trigger {
    /// The event, if it is one.
    pub fn event(&self) -> Option<&Event> {
        match &self.cause {
            Cause::Event(event) => Some(event),
            _ => None,
        }
    }

    fn from_wire(context: wire::BindingContext) -> Self {
        let cause = match context.trigger {
            wire::Trigger::Startup => Cause::Startup,
            wire::Trigger::Schedule(tick) => Cause::Schedule(Tick {
                scheduled_at: UNIX_EPOCH + Duration::from_millis(tick.scheduled_at),
                missed: tick.missed,
            }),
            wire::Trigger::Synchronization => Cause::Synchronization,
            wire::Trigger::Event(event) => Cause::Event(Event::from_wire(event)),
            wire::Trigger::Group(name) => Cause::Group(name),
        };
        Self { binding: context.binding, snapshots: context.snapshots, cause }
    }
}

impl Event {
    /// The object; for [`Change::Deleted`] its last state.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        self.read(self.object.as_deref(), "object", "its binding keeps none (`content`)")
    }

    /// What the binding's `jqFilter` gave.
    pub fn filter_result<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        self.read(self.filter_result.as_deref(), "filter result", "its binding has no `jqFilter`")
    }

    /// What the filter gave before this change; nothing for [`Change::Added`].
    pub fn previous_filter_result<T: DeserializeOwned>(&self) -> Result<Option<T>, DataError> {
        let Some(text) = self.previous_filter_result.as_deref() else { return Ok(None) };
        self.read(Some(text), "previous filter result", "").map(Some)
    }

    /// The object before this change; only for [`Change::Modified`], of a binding with
    /// [`previous_object`](crate::config::Kubernetes::previous_object).
    pub fn previous_object<T: DeserializeOwned>(&self) -> Result<Option<T>, DataError> {
        let Some(text) = self.previous_object.as_deref() else { return Ok(None) };
        self.read(Some(text), "previous object", "").map(Some)
    }

    /// The previous object as JSON text.
    pub fn previous_object_json(&self) -> Option<&str> {
        self.previous_object.as_deref()
    }

    /// The object as JSON text, if the binding keeps objects.
    pub fn object_json(&self) -> Option<&str> {
        self.object.as_deref()
    }

    /// The filter result as JSON text, if the binding has a `jqFilter`.
    pub fn filter_result_json(&self) -> Option<&str> {
        self.filter_result.as_deref()
    }

    /// The previous filter result as JSON text.
    pub fn previous_filter_result_json(&self) -> Option<&str> {
        self.previous_filter_result.as_deref()
    }

    fn read<T: DeserializeOwned>(&self, text: Option<&str>, what: &str, why: &str) -> Result<T, DataError> {
        match text {
            Some(text) => decode(text, || format!("the {what} of {}", self.target)),
            None => Err(absent(format!("there is no {what} of {}: {why}", self.target))),
        }
    }

    fn from_wire(event: wire::WatchEvent) -> Self {
        Self {
            change: match event.change {
                wire::Change::Added => Change::Added,
                wire::Change::Modified => Change::Modified,
                wire::Change::Deleted => Change::Deleted,
            },
            target: ObjectRef::from_wire(event.target),
            uid: event.uid,
            resource_version: event.resource_version,
            object: event.object,
            filter_result: event.filter_result,
            previous_filter_result: event.previous_filter_result,
            previous_object: event.previous_object,
        }
    }
}

//! What makes a hook run: a change seen by a watch, and the trigger that a binding makes of it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{BindingName, HookName, Object, ObjectRef, QueueName, Resource, RetryPolicy, WatchEventKind};

/// What a watch tells its subscribers. A list (the first, or one after history was lost) comes as
/// `ListStarted`, an `Upsert` for each object, `ListDone`: what was known and not named between is
/// gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A complete list follows.
    ListStarted,
    /// The object is there, in this state; maybe unchanged.
    Upsert(Arc<Object>),
    /// The object is gone; this was its last state.
    Delete(Arc<Object>),
    /// The list is complete.
    ListDone,
    /// The API server does not serve the kind any more: what was known is gone. If it ever serves
    /// it again, another list follows.
    Unserved,
}

/// One change of one object, as a binding delivers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEvent {
    /// What happened.
    pub kind: WatchEventKind,
    /// The kind of the object.
    pub resource: Arc<Resource>,
    /// The object as the binding sees it; for `Deleted`, the last known state.
    pub item: Arc<super::Item>,
    /// The filter's result before this change.
    pub previous_filter_result: Option<Arc<str>>,
    /// The object before this change, as the binding kept it; only for `Modified`, if the binding asks
    /// for it.
    pub previous_object: Option<Arc<str>>,
}

/// One firing of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// Planned time, milliseconds since the Unix epoch.
    pub scheduled_at: u64,
    /// Ticks skipped since the one before.
    pub missed: u32,
}

/// Why a trigger exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The operator started.
    Startup,
    /// A schedule fired.
    Schedule(Tick),
    /// A binding knows all its objects for the first time.
    Synchronization,
    /// An object changed.
    Event(ObjectEvent),
}

/// One occurrence of a binding, on its way to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// Whose.
    pub hook: HookName,
    /// Which binding.
    pub binding: BindingName,
    /// Where it waits.
    pub queue: QueueName,
    /// Why.
    pub cause: Cause,
    /// The binding's `group`: the run is told of the group, and not why. Neighbours of one group in
    /// one run are told as one.
    pub group: Option<Arc<str>>,
    /// Snapshots that the run may open for it.
    pub snapshots: Arc<[BindingName]>,
    /// A failed run counts as done.
    pub allow_failure: bool,
    /// What happens after a failed run.
    pub retry: RetryPolicy,
    /// An event waits for its object to be quiet for this time before it has a place in its queue.
    pub debounce: Duration,
    /// When it was made, for the time spent waiting.
    pub created: Instant,
}

impl Trigger {
    /// What happened to which object, if that is what it is about.
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

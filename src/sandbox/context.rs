//! Triggers as the guest sees them. Everything borrows from the triggers: the only copy is the one
//! into the guest's memory.
//!
//! Never clones an object.

use super::bindings::boathook::hook::types::{
    BindingContext, Change, ObjectRefParam, Tick, Trigger as WitTrigger, WatchEvent,
};
use crate::model::{BindingName, Cause, ObjectEvent, Trigger, WatchEventKind};

/// What a context refers to but no trigger holds as such.
pub(super) struct Parts<'a> {
    trigger: &'a Trigger,
    api_version: String,
    snapshots: Vec<&'a str>,
}

/// Makes what [`contexts`] borrows.
pub(super) fn parts(triggers: &[Trigger]) -> Vec<Parts<'_>> {
    triggers.iter().map(Parts::of).collect()
}

/// The contexts, in the order of the triggers.
pub(super) fn contexts<'a>(parts: &'a [Parts<'a>]) -> Vec<BindingContext<'a>> {
    parts.iter().map(Parts::context).collect()
}

impl<'a> Parts<'a> {
    fn of(trigger: &'a Trigger) -> Self {
        let api_version = match &trigger.cause {
            Cause::Event(event) => event.resource.api_version(),
            Cause::Startup | Cause::Schedule(_) | Cause::Synchronization => String::new(),
        };
        Self { trigger, api_version, snapshots: trigger.snapshots.iter().map(BindingName::as_str).collect() }
    }

    fn context(&self) -> BindingContext<'_> {
        let trigger = match &self.trigger.cause {
            Cause::Startup => WitTrigger::Startup,
            Cause::Schedule(tick) => {
                WitTrigger::Schedule(Tick { scheduled_at: tick.scheduled_at, missed: tick.missed })
            }
            Cause::Synchronization => WitTrigger::Synchronization,
            Cause::Event(event) => WitTrigger::Event(self.event(event)),
        };
        BindingContext { binding: self.trigger.binding.as_str(), trigger, snapshots: &self.snapshots }
    }

    fn event<'b>(&'b self, event: &'b ObjectEvent) -> WatchEvent<'b> {
        let item = &event.item;
        WatchEvent {
            change: match event.kind {
                WatchEventKind::Added => Change::Added,
                WatchEventKind::Modified => Change::Modified,
                WatchEventKind::Deleted => Change::Deleted,
            },
            target: ObjectRefParam {
                api_version: &self.api_version,
                kind: &event.resource.kind,
                namespace: item.key.namespace.as_deref(),
                name: &item.key.name,
            },
            uid: &item.uid,
            resource_version: &item.resource_version,
            object: item.object.as_deref(),
            filter_result: item.filter_result.as_deref(),
            previous_filter_result: event.previous_filter_result.as_deref(),
        }
    }
}

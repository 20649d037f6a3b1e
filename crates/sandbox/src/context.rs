//! Triggers as the guest sees them. Everything borrows from the triggers, so the only copy of an object is the one into
//! the guest's memory.

use boathook_core::model::{BindingName, Cause, ObjectEvent, Trigger, WatchEventKind};

use super::wit::boathook::hook::types::{
    BindingContext, Change, ObjectRefParam, Tick, Trigger as WitTrigger, WatchEvent,
};

/// What a context refers to but no trigger contains in this form.
pub(super) struct Parts<'a> {
    trigger: &'a Trigger,
    api_version: String,
    snapshots: Vec<&'a str>,
}

/// Creates what [`contexts`] borrows from.
pub(super) fn parts(triggers: &[Trigger]) -> Vec<Parts<'_>> {
    triggers.iter().map(Parts::of).collect()
}

/// Returns the contexts, in the order of the triggers.
pub(super) fn contexts<'a>(parts: &'a [Parts<'a>]) -> Vec<BindingContext<'a>> {
    parts.iter().map(Parts::context).collect()
}

impl<'a> Parts<'a> {
    fn of(trigger: &'a Trigger) -> Self {
        let api_version = match &trigger.cause {
            Cause::Event(event) => event.resource.api_version(),
            Cause::Startup | Cause::Schedule(_) | Cause::Synchronization => String::new(),
        };
        Self { trigger, api_version, snapshots: trigger.snapshots.iter().map(BindingName::unique).collect() }
    }

    fn context(&self) -> BindingContext<'_> {
        let trigger = match (&self.trigger.group, &self.trigger.cause) {
            (Some(group), _) => WitTrigger::Group(group),
            (None, cause) => self.ungrouped(cause),
        };
        BindingContext { binding: self.trigger.binding.as_str(), trigger, snapshots: &self.snapshots }
    }

    fn ungrouped<'b>(&'b self, cause: &'b Cause) -> WitTrigger<'b> {
        match cause {
            Cause::Startup => WitTrigger::Startup,
            Cause::Schedule(tick) => {
                WitTrigger::Schedule(Tick { scheduled_at: tick.scheduled_at, missed: tick.missed })
            }
            Cause::Synchronization => WitTrigger::Synchronization,
            Cause::Event(event) => WitTrigger::Event(self.event(event)),
        }
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
            previous_object: event.previous_object.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Instant};

    use boathook_core::model::{Item, ObjectKey, QueueName, Resource, RetryPolicy};

    use super::*;

    fn trigger(cause: Cause) -> Trigger {
        Trigger {
            hook: boathook_core::model::HookName::new("h").unwrap_or_else(|error| unreachable!("{error}")),
            binding: BindingName::new("pods"),
            queue: QueueName::main(),
            cause,
            group: None,
            snapshots: ["pods", "nodes"].map(BindingName::new).into(),
            allow_failure: false,
            retry: RetryPolicy::default(),
            debounce: std::time::Duration::ZERO,
            created: Instant::now(),
        }
    }

    #[test]
    fn an_event_is_reported_whole() {
        let item = Item {
            key: ObjectKey { namespace: Some("n".into()), name: "p".into() },
            uid: "u".into(),
            resource_version: "7".into(),
            object: Some("{}".into()),
            filter_result: Some("1".into()),
        };
        let resource = Resource {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            plural: "deployments".into(),
            namespaced: true,
        };
        let triggers = [trigger(Cause::Event(ObjectEvent {
            kind: WatchEventKind::Modified,
            resource: Arc::new(resource),
            item: Arc::new(item),
            previous_filter_result: Some("0".into()),
            previous_object: Some("{\"old\":1}".into()),
            managers: None,
        }))];
        let parts = parts(&triggers);
        let contexts = contexts(&parts);
        let [context] = contexts.as_slice() else { unreachable!("one context for one trigger") };
        assert_eq!((context.binding, context.snapshots), ("pods", ["pods", "nodes"].as_slice()));
        let WitTrigger::Event(event) = &context.trigger else { unreachable!("{context:?}") };
        let target = &event.target;
        assert_eq!(
            (target.api_version, target.kind, target.namespace, target.name),
            ("apps/v1", "Deployment", Some("n"), "p")
        );
        assert!(matches!(event.change, Change::Modified));
        assert_eq!((event.uid, event.resource_version, event.object), ("u", "7", Some("{}")));
        assert_eq!((event.filter_result, event.previous_filter_result), (Some("1"), Some("0")));
        assert_eq!(event.previous_object, Some("{\"old\":1}"));
    }

    #[test]
    fn the_other_causes() {
        let tick = Cause::Schedule(boathook_core::model::Tick { scheduled_at: 5, missed: 2 });
        let triggers = [trigger(Cause::Startup), trigger(tick), trigger(Cause::Synchronization)];
        let parts = parts(&triggers);
        let contexts = contexts(&parts);
        let kinds: Vec<_> = contexts.iter().map(|context| format!("{:?}", context.trigger)).collect();
        assert_eq!(
            kinds,
            ["Trigger::Startup", "Trigger::Schedule(Tick { scheduled-at: 5, missed: 2 })", "Trigger::Synchronization"]
        );
    }
}

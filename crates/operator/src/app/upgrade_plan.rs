//! What a new version of a hook keeps: the bindings that continue, and the triggers that wait. Pure.

use std::collections::HashSet;

use boathook_core::model::{BindingName, Cause, HookSpec, KubernetesBinding, ScheduleBinding, Trigger};

/// What continues, and what does not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// `kubernetes` bindings that keep their watch and their snapshot.
    pub watching: HashSet<BindingName>,
    /// Schedules that continue.
    pub ticking: HashSet<BindingName>,
    /// `kubernetes` bindings of the old document that stop, because they are removed or restarted.
    pub stopped: Vec<BindingName>,
    /// `kubernetes` bindings of the new document that start, in its order.
    pub begun: Vec<BindingName>,
    /// Whether the new document has an `onStartup` and the old one does not.
    pub starts: bool,
}

impl Plan {
    pub fn new(old: &HookSpec, new: &HookSpec) -> Self {
        let watches = |binding: &&KubernetesBinding| old.kubernetes.iter().any(|old| same_watch(old, binding));
        let names = |binding: &KubernetesBinding| binding.name.clone();
        let watching: HashSet<_> = new.kubernetes.iter().filter(watches).map(names).collect();
        let ticks = |schedule: &&ScheduleBinding| old.schedules.contains(schedule);
        let others = |spec: &HookSpec| {
            spec.kubernetes.iter().map(names).filter(|name| !watching.contains(name)).collect::<Vec<_>>()
        };
        Self {
            ticking: new.schedules.iter().filter(ticks).map(|schedule| schedule.name.clone()).collect(),
            stopped: others(old),
            begun: others(new),
            starts: old.on_startup.is_none() && new.on_startup.is_some(),
            watching,
        }
    }

    /// Whether the new version runs a trigger of the old one. The trigger gets the new version's terms.
    ///
    /// If a binding restarts, its synchronization replaces its waiting triggers. If it has no synchronization, its
    /// waiting triggers are kept if the new binding would make the same ones.
    pub fn keeps(&self, old: &HookSpec, new: &HookSpec, trigger: &mut Trigger) -> bool {
        match &trigger.cause {
            // Not a stage of a module: those wait in no queue.
            Cause::Startup => {
                let Some(binding) = &new.on_startup else { return false };
                trigger.retry = binding.retry;
                true
            }
            Cause::Schedule(_) => {
                let Some(binding) = new.schedules.iter().find(|binding| binding.name == trigger.binding) else {
                    return false;
                };
                trigger.retry = binding.retry;
                trigger.allow_failure = binding.allow_failure;
                trigger.snapshots = binding.include_snapshots_from.clone();
                trigger.group == binding.group && trigger.queue == binding.queue
            }
            Cause::Synchronization | Cause::Event(_) => {
                let of =
                    |spec: &HookSpec| spec.kubernetes.iter().find(|binding| binding.name == trigger.binding).cloned();
                let (Some(before), Some(binding)) = (of(old), of(new)) else { return false };
                put_on_terms(trigger, &binding);
                let event = matches!(trigger.cause, Cause::Event(_));
                self.watching.contains(&binding.name)
                    || (event && !binding.on_synchronization && shows_the_same(&before, &binding))
            }
        }
    }
}

/// Whether two bindings can share a watch. Their terms may differ.
fn same_watch(old: &KubernetesBinding, new: &KubernetesBinding) -> bool {
    let on_new_terms = KubernetesBinding {
        retry: new.retry,
        allow_failure: new.allow_failure,
        include_snapshots_from: new.include_snapshots_from.clone(),
        ..old.clone()
    };
    on_new_terms == *new
}

/// Whether an event of one binding could be one of the other, in the same queue.
fn shows_the_same(old: &KubernetesBinding, new: &KubernetesBinding) -> bool {
    let shape = |binding: &KubernetesBinding| {
        let kind = (binding.api_version.clone(), binding.kind.clone());
        let reported = (binding.content, binding.jq_filter.clone(), binding.previous_object, binding.group.clone());
        (kind, reported, binding.queue.clone())
    };
    shape(old) == shape(new)
}

/// Gives a trigger the terms that the binding has now.
pub(super) fn put_on_terms(trigger: &mut Trigger, binding: &KubernetesBinding) {
    trigger.retry = binding.retry;
    trigger.allow_failure = binding.allow_failure;
    if trigger.snapshots != binding.snapshots() {
        trigger.snapshots = binding.snapshots();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Duration, Instant},
    };

    use boathook_core::{
        hooks,
        model::{HookName, Item, ObjectEvent, ObjectKey, Resource, Tick, WatchEventKind},
    };

    use super::*;

    fn spec(bindings: &str) -> HookSpec {
        let document = format!("configVersion: v1\n{bindings}");
        hooks::parse(&HookName::new("h").unwrap(), &document, &|_| Ok(())).unwrap()
    }

    fn names(names: &[&str]) -> Vec<BindingName> {
        names.iter().map(|name| BindingName::new(*name)).collect()
    }

    fn event() -> Cause {
        let resource = Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            namespaced: true,
        };
        let key = ObjectKey { namespace: None, name: "a".into() };
        let item = Item { key, uid: "u".into(), resource_version: "1".into(), object: None, filter_result: None };
        Cause::Event(ObjectEvent {
            kind: WatchEventKind::Added,
            resource: Arc::new(resource),
            item: Arc::new(item),
            previous_filter_result: None,
            previous_object: None,
            managers: None,
        })
    }

    /// Whether a trigger of the old version's first binding of its kind is kept, and the trigger.
    fn kept(old: &str, new: &str, cause: Cause) -> (bool, Trigger) {
        let (old, new) = (spec(old), spec(new));
        let watch = old.kubernetes.first();
        let schedule = old.schedules.first();
        let binding = match cause {
            Cause::Schedule(_) => schedule.map(|schedule| schedule.name.clone()),
            _ => watch.map(|watch| watch.name.clone()),
        };
        let mut trigger = Trigger {
            hook: old.name.clone(),
            binding: binding.unwrap_or_else(|| BindingName::new("onStartup")),
            queue: watch.map(|watch| watch.queue.clone()).or(schedule.map(|schedule| schedule.queue.clone())).unwrap(),
            cause,
            group: None,
            snapshots: Arc::default(),
            allow_failure: false,
            retry: Default::default(),
            debounce: Duration::ZERO,
            created: Instant::now(),
        };
        (Plan::new(&old, &new).keeps(&old, &new, &mut trigger), trigger)
    }

    #[test]
    fn what_is_the_same_goes_on_and_the_rest_stops_or_begins() {
        let old = spec(
            "kubernetes: [{name: a, kind: Pod}, {name: b, kind: Pod}, {name: c, kind: Pod}]\n\
            schedule: [{name: t, crontab: '* * * * *'}, {name: u, crontab: '* * * * *'}]",
        );
        let new = spec(
            "onStartup: 1\nkubernetes: [{name: d, kind: Pod}, {name: b, kind: Node}, {name: a, kind: Pod}]\n\
            schedule: [{name: t, crontab: '* * * * *'}, {name: u, crontab: '1 * * * *'}]",
        );
        let plan = Plan::new(&old, &new);
        assert_eq!((plan.watching.into_iter().collect(), plan.stopped), (names(&["a"]), names(&["b", "c"])));
        assert_eq!((plan.begun, plan.starts), (names(&["d", "b"]), true));
        assert_eq!(plan.ticking.into_iter().collect::<Vec<_>>(), names(&["t"]));
        assert!(!Plan::new(&new, &new).starts);
    }

    #[test]
    fn other_terms_need_no_new_watch_and_count_for_what_waits() {
        let (old, new) = (
            "kubernetes: [{name: a, kind: Pod}, {name: b, kind: Pod}]",
            "kubernetes: [{name: a, kind: Pod, allowFailure: true, includeSnapshotsFrom: [b]}, {name: b, kind: Pod}]\n\
             retry: {initial: 1s}",
        );
        assert_eq!(Plan::new(&spec(old), &spec(new)).watching.len(), 2);
        let (kept, trigger) = kept(old, new, event());
        assert!(kept && trigger.allow_failure);
        assert_eq!((trigger.retry.initial, &*trigger.snapshots), (Duration::from_secs(1), &*names(&["a", "b"])));
    }

    #[test]
    fn what_waits_of_a_binding_that_begins_anew_is_reported_by_its_synchronization_or_kept() {
        let silent = "kubernetes: [{name: a, kind: Pod, executeHookOnSynchronization: false}]";
        for (old, new, expected) in [
            (
                "kubernetes: [{name: a, kind: Pod}]",
                "kubernetes: [{name: a, kind: Pod, nameSelector: {matchNames: [x]}}]",
                false,
            ),
            (silent, &silent.replace("false", "false, nameSelector: {matchNames: [x]}"), true),
            (silent, &silent.replace("false", "false, jqFilter: .spec"), false),
            (silent, &silent.replace("false", "false, queue: other"), false),
            (silent, &silent.replace("Pod", "Node"), false),
            (silent, &silent.replace("a,", "b,"), false),
            (silent, "onStartup: 1", false),
        ] {
            assert_eq!(kept(old, new, event()).0, expected, "{new}");
        }
        assert!(
            !kept(silent, &silent.replace("false", "false, keepFullObjectsInMemory: false"), Cause::Synchronization).0
        );
    }

    #[test]
    fn ticks_and_starts_are_kept_as_long_as_they_are_asked_for() {
        let tick = || Cause::Schedule(Tick { scheduled_at: 0, missed: 0 });
        let daily = "schedule: [{name: t, crontab: '0 0 * * *'}]";
        assert!(kept(daily, "schedule: [{name: t, crontab: '1 1 * * *'}]", tick()).0);
        assert!(!kept(daily, "schedule: [{name: t, crontab: '0 0 * * *', group: g}]", tick()).0);
        assert!(!kept(daily, "schedule: [{name: u, crontab: '0 0 * * *'}]", tick()).0);
        assert!(kept(daily, "onStartup: 1", Cause::Startup).0);
        assert!(!kept(daily, daily, Cause::Startup).0);
    }
}

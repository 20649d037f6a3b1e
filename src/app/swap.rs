//! What a new version of a hook leaves as it is: the bindings that go on, and the triggers that wait. Pure;
//! the fleet does it.

use std::collections::HashSet;

use crate::model::{BindingName, Cause, HookSpec, KubernetesBinding, ScheduleBinding, Trigger};

/// What goes on, and what does not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// `kubernetes` bindings that keep their watch and their snapshot.
    pub watching: HashSet<BindingName>,
    /// Schedules that tick on.
    pub ticking: HashSet<BindingName>,
    /// `kubernetes` bindings of the old document that stop: they are gone, or begin anew.
    pub stopped: Vec<BindingName>,
    /// `kubernetes` bindings of the new document that begin, in its order.
    pub begun: Vec<BindingName>,
    /// The new document has an `onStartup`, and the old one has not.
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

    /// Whether a trigger of the old version is run by the new one; it is put on the new one's terms.
    ///
    /// What a binding had that begins anew is told by its synchronization; without one, what waits is kept
    /// if it is what the new one would tell.
    pub fn keeps(&self, old: &HookSpec, new: &HookSpec, trigger: &mut Trigger) -> bool {
        match &trigger.cause {
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
                    || (event && !binding.on_synchronization && tells_the_same(&before, &binding))
            }
        }
    }
}

/// The terms of a binding may change while it watches on.
fn same_watch(old: &KubernetesBinding, new: &KubernetesBinding) -> bool {
    let on_new_terms = KubernetesBinding {
        retry: new.retry,
        allow_failure: new.allow_failure,
        include_snapshots_from: new.include_snapshots_from.clone(),
        ..old.clone()
    };
    on_new_terms == *new
}

/// An event of one could be one of the other, and would be in the same queue.
fn tells_the_same(old: &KubernetesBinding, new: &KubernetesBinding) -> bool {
    let shape = |binding: &KubernetesBinding| {
        let kind = (binding.api_version.clone(), binding.kind.clone());
        let told = (binding.content, binding.jq_filter.clone(), binding.previous_object, binding.group.clone());
        (kind, told, binding.queue.clone())
    };
    shape(old) == shape(new)
}

/// How a trigger is run, as the binding has it now.
pub(super) fn put_on_terms(trigger: &mut Trigger, binding: &KubernetesBinding) {
    trigger.retry = binding.retry;
    trigger.allow_failure = binding.allow_failure;
    if trigger.snapshots != binding.snapshots() {
        trigger.snapshots = binding.snapshots();
    }
}

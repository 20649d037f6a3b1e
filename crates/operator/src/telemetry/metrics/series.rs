//! Which bindings have series of their own. A tenant may name any number of bindings and queues, and each takes some
//! hundred lines of a page. Their series therefore take room that tenants share. What has no room is counted under
//! [`OVERFLOW`], so no count is lost.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use boathook_core::{
    fair::Share,
    model::{BindingName, BindingRef, HookName, HookSpec, QueueName},
};

use super::RunLabels;

/// The labels `binding` and `queue` of what has no series of its own.
pub const OVERFLOW: &str = "_overflow";

/// What a hook has series for.
#[derive(Debug)]
struct Known {
    /// Kept while the series exist.
    _room: Share,
    bindings: BTreeSet<BindingName>,
    /// The queues of these bindings.
    queues: BTreeSet<QueueName>,
    /// The queues of the other bindings.
    hidden: BTreeSet<QueueName>,
}

/// All hooks that exist.
#[derive(Debug, Default)]
pub(super) struct Series(Mutex<BTreeMap<HookName, Known>>);

/// What had series until now and has none any more.
#[derive(Debug, Default)]
pub(super) struct Gone {
    pub bindings: BTreeSet<BindingName>,
    pub queues: BTreeSet<QueueName>,
}

impl Series {
    fn known(&self) -> MutexGuard<'_, BTreeMap<HookName, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hook has this document. Its `kubernetes` bindings took the room for their series together with their watches.
    /// Each other binding takes `each` units while there is room.
    pub fn replace(&self, spec: &HookSpec, mut room: Share, each: u64) -> Gone {
        let mut hooks = self.known();
        // Remove the old entry first, so that its room is free.
        let before = hooks.remove(&spec.name);
        let (before, mut gone) = before.map_or_else(Default::default, |known| {
            (known.bindings, Gone { bindings: BTreeSet::new(), queues: &known.queues | &known.hidden })
        });
        let (mut bindings, mut queues, mut hidden) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for binding in spec.bindings() {
            let (name, queue) = match binding {
                BindingRef::Kubernetes(binding) => {
                    bindings.insert(binding.name.clone());
                    queues.insert(binding.queue.clone());
                    continue;
                }
                // Its informers have the series.
                BindingRef::Reconcile(_) => continue,
                BindingRef::Startup(binding) => (BindingName::new("onStartup"), Some(&binding.queue)),
                BindingRef::Stage(binding) => (BindingName::new(binding.stage.key()), None),
                BindingRef::Schedule(binding) => (binding.name.clone(), Some(&binding.queue)),
                BindingRef::Admission(binding) => (binding.name.clone(), None),
                BindingRef::Conversion(binding) => (binding.name.clone(), None),
            };
            let shown = room.grow(each);
            if shown {
                bindings.insert(name);
            }
            if shown { &mut queues } else { &mut hidden }.extend(queue.cloned());
        }
        gone.bindings = &before - &bindings;
        hooks.insert(spec.name.clone(), Known { _room: room, bindings, queues, hidden });
        gone.queues.retain(|queue| !is_known(&hooks, queue));
        gone
    }

    /// Removes a hook, with everything that it had.
    pub fn forget(&self, hook: &HookName) -> BTreeSet<QueueName> {
        let mut hooks = self.known();
        let mut queues = hooks.remove(hook).map(|known| &known.queues | &known.hidden).unwrap_or_default();
        queues.retain(|queue| !is_known(&hooks, queue));
        queues
    }

    /// The labels `hook`, `binding` and `queue` of a run.
    pub fn labels<'a>(&self, run: RunLabels<'a>) -> [Cow<'a, str>; 3] {
        let (binding, queue) = match self.binding(run.hook, run.binding) {
            OVERFLOW => (OVERFLOW, OVERFLOW.into()),
            binding => (binding, run.queue.to_string().into()),
        };
        [run.hook.as_str().into(), binding.into(), queue]
    }

    /// The label `binding`.
    pub fn binding<'a>(&self, hook: &HookName, binding: &'a BindingName) -> &'a str {
        let shown = self.known().get(hook).is_none_or(|known| known.bindings.contains(binding));
        if shown { binding.unique() } else { OVERFLOW }
    }

    /// The label `queue` of what is counted for no binding.
    pub fn queue(&self, queue: &QueueName) -> String {
        let hooks = self.known();
        let hidden = hooks.values().any(|known| known.hidden.contains(queue))
            && !hooks.values().any(|known| known.queues.contains(queue));
        if hidden { OVERFLOW.to_owned() } else { queue.to_string() }
    }
}

fn is_known(hooks: &BTreeMap<HookName, Known>, queue: &QueueName) -> bool {
    hooks.values().any(|known| known.queues.contains(queue) || known.hidden.contains(queue))
}

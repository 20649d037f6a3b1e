//! The snapshots of all hooks, from which a run takes one moment.
//!
//! No item ever changes: bindings publish whole immutable maps, under one lock for each hook.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use crate::model::{BindingName, HookName, Items, SnapshotSet};

/// The snapshots of a hook's bindings, each with the number of its publisher. When a hook is replaced, the new
/// publisher may exist before the old one is gone.
#[derive(Debug, Default)]
struct Hook {
    next: u64,
    bindings: HashMap<BindingName, (u64, Items)>,
}

#[derive(Debug, Default)]
pub struct Snapshots {
    hooks: RwLock<HashMap<HookName, Arc<Mutex<Hook>>>>,
}

/// Publishes the snapshot of one binding. Dropping it withdraws the snapshot.
#[derive(Debug)]
pub struct Publisher {
    hook: Arc<Mutex<Hook>>,
    binding: BindingName,
    id: u64,
}

impl Snapshots {
    /// Creates the publisher of a binding's snapshot, which is empty at first. It replaces the former publisher of this
    /// binding.
    pub fn publisher(&self, hook: &HookName, binding: &BindingName) -> Publisher {
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        // Removed hooks leave nothing behind.
        hooks.retain(|_, hook| Arc::strong_count(hook) > 1);
        let hook = hooks.entry(hook.clone()).or_default().clone();
        let id = {
            let mut hook = hook.lock().unwrap_or_else(PoisonError::into_inner);
            hook.next += 1;
            let id = hook.next;
            hook.bindings.insert(binding.clone(), (id, Items::new_sync()));
            id
        };
        Publisher { hook, binding: binding.clone(), id }
    }

    /// The objects of all bindings of a hook, at this moment.
    pub fn snapshot_set(&self, hook: &HookName) -> SnapshotSet {
        let hook = self.hooks.read().unwrap_or_else(PoisonError::into_inner).get(hook).cloned();
        let Some(hook) = hook else { return SnapshotSet::default() };
        let hook = hook.lock().unwrap_or_else(PoisonError::into_inner);
        SnapshotSet::new(hook.bindings.iter().map(|(name, (_, items))| (name.clone(), items.clone())).collect())
    }
}

impl Publisher {
    /// Replaces the binding's snapshot.
    pub fn publish(&self, items: Items) {
        let mut hook = self.hook.lock().unwrap_or_else(PoisonError::into_inner);
        let own = hook.bindings.get_mut(&self.binding).filter(|(id, _)| *id == self.id);
        let old = own.map(|(_, shown)| std::mem::replace(shown, items));
        // This may hold the last reference to the old map. Freeing the map takes time, so it happens outside of the
        // lock.
        drop(hook);
        drop(old);
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        let mut hook = self.hook.lock().unwrap_or_else(PoisonError::into_inner);
        if hook.bindings.get(&self.binding).is_some_and(|(id, _)| *id == self.id) {
            hook.bindings.remove(&self.binding);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::{Item, ObjectKey};

    fn items(names: &[&str]) -> Items {
        names
            .iter()
            .map(|name| {
                let key = ObjectKey { namespace: None, name: (*name).into() };
                let item = Item {
                    key: key.clone(),
                    uid: "u".into(),
                    resource_version: "1".into(),
                    object: None,
                    filter_result: None,
                };
                (key, item.into())
            })
            .collect()
    }

    #[test]
    fn a_moment_does_not_change() {
        let snapshots = Snapshots::default();
        let (hook, name) = (HookName::new("h").unwrap(), BindingName::new("pods"));
        let publisher = snapshots.publisher(&hook, &name);
        assert_eq!(snapshots.snapshot_set(&hook).items(&name).unwrap().size(), 0);
        publisher.publish(items(&["a", "b"]));
        let moment = snapshots.snapshot_set(&hook);
        publisher.publish(items(&["c"]));
        assert_eq!(moment.items(&name).unwrap().size(), 2);
        assert_eq!(snapshots.snapshot_set(&hook).items(&name).unwrap().size(), 1);
        drop(publisher);
        assert!(snapshots.snapshot_set(&hook).items(&name).is_none());
    }

    #[test]
    fn bindings_that_share_a_name_are_distinguished() {
        let snapshots = Snapshots::default();
        let hook = HookName::new("h").unwrap();
        let names = [BindingName::nth("kubernetes", 1), BindingName::nth("kubernetes", 2)];
        let [one, two] = &names.clone().map(|name| snapshots.publisher(&hook, &name));
        one.publish(items(&["a"]));
        two.publish(items(&["b", "c"]));
        let moment = snapshots.snapshot_set(&hook);
        assert_eq!(names.map(|name| moment.items(&name).unwrap().size()), [1, 2]);
    }

    #[test]
    fn who_was_replaced_publishes_and_withdraws_nothing() {
        let snapshots = Snapshots::default();
        let (hook, name) = (HookName::new("h").unwrap(), BindingName::new("pods"));
        let old = snapshots.publisher(&hook, &name);
        let new = snapshots.publisher(&hook, &name);
        new.publish(items(&["a"]));
        old.publish(items(&["b", "c"]));
        drop(old);
        assert_eq!(snapshots.snapshot_set(&hook).items(&name).unwrap().size(), 1);
    }

    #[test]
    fn removed_hooks_are_forgotten() {
        let snapshots = Snapshots::default();
        drop(snapshots.publisher(&HookName::new("a").unwrap(), &BindingName::new("x")));
        let _kept = snapshots.publisher(&HookName::new("b").unwrap(), &BindingName::new("x"));
        assert_eq!(snapshots.hooks.read().unwrap().len(), 1);
    }
}

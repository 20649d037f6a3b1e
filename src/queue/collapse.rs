//! How an overfull queue folds what it holds, so that it grows with the number of objects and not
//! with the number of changes. Never drops a final state.
//!
//! Two triggers fold when they come from the same binding and are about the same thing:
//!
//! | earlier | later | what stays, in the earlier one's place |
//! | --- | --- | --- |
//! | `Added` | `Modified` | `Added`, with the later object |
//! | any event | `Deleted` | `Deleted`, with the later object |
//! | `Deleted` | `Added` | `Added`, with the later object: it is there, and maybe another one (`uid`) |
//! | any other event | event | the later one |
//! | tick | tick | the later one, which has missed the earlier one |
//! | synchronization, start-up | the same | one |
//! | event of a group | event of the group | the later one: the group is told, not the object |
//!
//! The filter result before the change stays that of the earlier one: it is what the hook knows.

use std::collections::{HashMap, VecDeque};

use crate::model::{BindingName, Cause, HookName, Tick, Trigger, WatchEventKind};

use super::item::{Item, ObjectId, object, payload};

/// What triggers must share to fold.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    hook: HookName,
    binding: BindingName,
    about: About,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum About {
    Startup,
    Tick,
    Synchronization,
    Group,
    Object(ObjectId),
}

impl Key {
    pub(super) fn of(trigger: &Trigger) -> Self {
        let about = match (&trigger.cause, object(trigger)) {
            (Cause::Startup, _) => About::Startup,
            (Cause::Schedule(_), _) => About::Tick,
            (_, Some(object)) => About::Object(object),
            (Cause::Event(_), None) => About::Group,
            (Cause::Synchronization, None) => About::Synchronization,
        };
        Self { hook: trigger.hook.clone(), binding: trigger.binding.clone(), about }
    }

    /// Of the synchronization of the trigger's binding.
    pub(super) fn of_synchronization(trigger: &Trigger) -> Self {
        Self { hook: trigger.hook.clone(), binding: trigger.binding.clone(), about: About::Synchronization }
    }

    pub(super) fn hook(&self) -> &HookName {
        &self.hook
    }

    pub(super) fn object(&self) -> Option<&ObjectId> {
        match &self.about {
            About::Object(object) => Some(object),
            About::Startup | About::Tick | About::Synchronization | About::Group => None,
        }
    }
}

/// Where the one trigger of each key waits.
pub(super) type Index = HashMap<Key, u64>;

/// Folds `later` into `earlier`, which has the same key and keeps its place and its age.
pub(super) fn fold(earlier: &mut Item, later_item: &Item) {
    let later = &later_item.trigger;
    match (&mut earlier.trigger.cause, &later.cause) {
        (Cause::Event(old), Cause::Event(new)) => {
            old.kind = if later.group.is_some() { new.kind } else { fold_kinds(old.kind, new.kind) };
            old.resource.clone_from(&new.resource);
            old.item.clone_from(&new.item);
        }
        (Cause::Schedule(old), Cause::Schedule(new)) => {
            let missed = old.missed.saturating_add(new.missed).saturating_add(1);
            *old = Tick { scheduled_at: new.scheduled_at, missed };
        }
        _ => {}
    }
    earlier.born = earlier.born.max(later_item.born);
    earlier.trigger.snapshots.clone_from(&later.snapshots);
    earlier.bytes = payload(&earlier.trigger);
}

fn fold_kinds(earlier: WatchEventKind, later: WatchEventKind) -> WatchEventKind {
    match (earlier, later) {
        (WatchEventKind::Added, WatchEventKind::Modified) => WatchEventKind::Added,
        _ => later,
    }
}

/// Finds an item by its number in a line that is sorted by it.
pub(super) fn find(items: &mut VecDeque<Item>, seq: u64) -> Option<&mut Item> {
    let place = items.binary_search_by_key(&seq, |item| item.seq).ok()?;
    items.get_mut(place)
}

/// Folds the triggers of a line, and notes where each key now waits. Gives back what is no longer
/// there. O(n log n).
pub(super) fn sweep(items: &mut VecDeque<Item>, index: &mut Index) -> Vec<Item> {
    sweep_after(items, index, |_, _, _| false)
}

/// The same for the last of several lines: `folds` folds the item into the one with this key and number
/// if it is in a line that was swept before.
pub(super) fn sweep_after(
    items: &mut VecDeque<Item>,
    index: &mut Index,
    mut folds: impl FnMut(&Key, u64, &Item) -> bool,
) -> Vec<Item> {
    let mut gone = Vec::new();
    for item in std::mem::take(items) {
        let key = Key::of(&item.trigger);
        let folded = index.get(&key).is_some_and(|seq| fold_into(items, *seq, &item) || folds(&key, *seq, &item));
        if folded {
            gone.push(item);
        } else {
            index.insert(key, item.seq);
            items.push_back(item);
        }
    }
    gone
}

/// Folds the item into the one with this number, if that is there.
pub(super) fn fold_into(items: &mut VecDeque<Item>, seq: u64, item: &Item) -> bool {
    find(items, seq).map(|earlier| fold(earlier, item)).is_some()
}

//! How an overfull queue folds what it holds, so that it grows with the number of objects and not with the number of
//! changes. It never drops a final state, and never drops the only deletion of an object.
//!
//! Two triggers fold if they come from the same binding and are about the same thing. An object is one `uid`: the
//! deletion of one object and the creation of another with its name are about two things.
//!
//! | earlier | later | what stays, in the earlier one's place |
//! | --- | --- | --- |
//! | `Added` | `Modified` | `Added`, with the later object |
//! | any event | `Deleted` | `Deleted`, with the later object |
//! | `Deleted` | `Added` or `Modified`, same `uid`: it matches again | both; what follows folds into the second |
//! | any other event | event | the later one |
//! | tick | tick | the later one, which has missed the earlier one |
//! | synchronization, start-up | the same | one |
//! | event of a group | event of the group | the later one, because a run receives the group and not the object |
//!
//! The filter result before the change stays that of the earlier one, because the hook knows that one. `Added` has
//! none.

use std::collections::{HashMap, VecDeque, hash_map::Entry};

use crate::model::{BindingName, Cause, HookName, Tick, Trigger, WatchEventKind};

use super::item::{Item, ObjectId, object};

/// What triggers must have in common to fold.
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
    /// The `uid` is empty if all objects with the name are meant.
    Object(ObjectId, Box<str>),
}

impl Key {
    /// The key of what the trigger may fold with.
    pub(super) fn of(trigger: &Trigger) -> Self {
        let about = match (&trigger.cause, object(trigger)) {
            (Cause::Startup, _) => About::Startup,
            (Cause::Schedule(_), _) => About::Tick,
            (Cause::Event(event), Some(object)) => About::Object(object, event.item.uid.clone()),
            (Cause::Event(_), None) => About::Group,
            (Cause::Synchronization, _) => About::Synchronization,
        };
        Self { hook: trigger.hook.clone(), binding: trigger.binding.clone(), about }
    }

    /// The key of what the trigger is news about: an object by its name. A hook that knows objects by their names must
    /// not receive the deletion of one object after the creation of the next.
    pub(super) fn of_news(trigger: &Trigger) -> Self {
        let key = Self::of(trigger);
        match key.about {
            About::Object(object, _) => Self { about: About::Object(object, Box::default()), ..key },
            _ => key,
        }
    }

    /// The key of the synchronization of the trigger's binding.
    pub(super) fn of_synchronization(trigger: &Trigger) -> Self {
        Self { hook: trigger.hook.clone(), binding: trigger.binding.clone(), about: About::Synchronization }
    }

    pub(super) fn hook(&self) -> &HookName {
        &self.hook
    }

    pub(super) fn object(&self) -> Option<&ObjectId> {
        match &self.about {
            About::Object(object, _) => Some(object),
            About::Startup | About::Tick | About::Synchronization | About::Group => None,
        }
    }
}

/// Where the triggers of one key wait, by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// The trigger that later ones fold into.
    last: u64,
    /// A deletion before it, which stays as it is.
    deleted: Option<u64>,
}

/// Bytes of one place in an index.
pub(super) const PLACE: usize = size_of::<(Key, Places)>();

/// Where the triggers of each key wait.
#[derive(Debug, Default)]
pub(super) struct Index(HashMap<Key, Places>);

impl Places {
    /// The number of the trigger that later ones fold into.
    pub(super) fn last(self) -> u64 {
        self.last
    }

    /// Whether `later` folds into the trigger that waits at `last`.
    pub(super) fn folds(self, earlier: &Item, later: &Item) -> bool {
        self.deleted.is_some() || folds(&earlier.trigger, &later.trigger)
    }

    /// Folds `later` into the trigger that waits at `last`, unless the two are about two things. Returns whether it
    /// did.
    pub(super) fn fold(self, earlier: &mut Item, later: &mut Item) -> bool {
        let folds = self.folds(earlier, later);
        if folds {
            fold(earlier, later);
        }
        folds
    }
}

impl Index {
    pub(super) fn places(&self, key: &Key) -> Option<Places> {
        self.0.get(key).copied()
    }

    /// The trigger waits. If there is a deletion that it did not fold into, it waits behind that.
    pub(super) fn note(&mut self, key: Key, item: &Item, deletion: Option<Places>) {
        self.0.insert(key, Places { last: item.seq, deleted: deletion.map(Places::last) });
    }

    /// The trigger no longer waits.
    pub(super) fn remove(&mut self, item: &Item) {
        let Entry::Occupied(mut places) = self.0.entry(Key::of(&item.trigger)) else { return };
        let known = places.get_mut();
        if known.last != item.seq {
            known.deleted = known.deleted.filter(|deleted| *deleted != item.seq);
        } else if let Some(deleted) = known.deleted.take() {
            known.last = deleted;
        } else {
            places.remove();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.values().map(|places| 1 + usize::from(places.deleted.is_some())).sum()
    }
}

/// Whether two triggers of one key fold. They do not if an object that is gone comes back.
pub(super) fn folds(earlier: &Trigger, later: &Trigger) -> bool {
    match (&earlier.cause, &later.cause) {
        (Cause::Event(old), Cause::Event(new)) if later.group.is_none() => {
            old.kind != WatchEventKind::Deleted || new.kind == WatchEventKind::Deleted
        }
        _ => true,
    }
}

/// Folds `later` into `earlier`, which has the same key and keeps its place and its age.
pub(super) fn fold(earlier: &mut Item, later_item: &mut Item) {
    let later = &later_item.trigger;
    match (&mut earlier.trigger.cause, &later.cause) {
        (Cause::Event(old), Cause::Event(new)) => {
            old.kind = if later.group.is_some() { new.kind } else { fold_kinds(old.kind, new.kind) };
            old.resource.clone_from(&new.resource);
            old.item.clone_from(&new.item);
            old.managers.clone_from(&new.managers);
            earlier.loose.clone_from(&later_item.loose);
            if old.kind == WatchEventKind::Added {
                old.previous_filter_result = None;
                old.previous_object = None;
            }
        }
        (Cause::Schedule(old), Cause::Schedule(new)) => {
            let missed = old.missed.saturating_add(new.missed).saturating_add(1);
            *old = Tick { scheduled_at: new.scheduled_at, missed };
        }
        _ => {}
    }
    earlier.born = earlier.born.max(later_item.born);
    earlier.trigger.snapshots.clone_from(&later.snapshots);
    later_item.held.nothing();
    earlier.settle();
}

fn fold_kinds(earlier: WatchEventKind, later: WatchEventKind) -> WatchEventKind {
    match (earlier, later) {
        (WatchEventKind::Added, WatchEventKind::Modified) => WatchEventKind::Added,
        _ => later,
    }
}

/// Whether a trigger is one of those that are folded.
pub(super) type Of<'a> = dyn Fn(&Item) -> bool + 'a;

/// Finds an item by its number in a line that is sorted by number.
pub(super) fn find(items: &mut VecDeque<Item>, seq: u64) -> Option<&mut Item> {
    let place = items.binary_search_by_key(&seq, |item| item.seq).ok()?;
    items.get_mut(place)
}

/// Folds the selected triggers of a line, and notes where each key now waits. Returns those that are no longer there.
/// O(n log n).
pub(super) fn sweep(items: &mut VecDeque<Item>, index: &mut Index, of: &Of<'_>) -> Vec<Item> {
    sweep_after(items, index, of, |_, _, _| None)
}

/// Does the same for the last of several lines. `folds_before` does what [`fold_into`] does, for the lines that were
/// swept before.
pub(super) fn sweep_after(
    items: &mut VecDeque<Item>,
    index: &mut Index,
    of: &Of<'_>,
    mut folds_before: impl FnMut(&Key, Places, &mut Item) -> Option<bool>,
) -> Vec<Item> {
    let mut gone = Vec::new();
    for mut item in std::mem::take(items) {
        if !of(&item) {
            items.push_back(item);
            continue;
        }
        let key = Key::of(&item.trigger);
        let places = index.places(&key);
        let fold = |places| fold_into(items, places, &mut item).or_else(|| folds_before(&key, places, &mut item));
        match places.and_then(fold) {
            Some(true) => gone.push(item),
            met => {
                index.note(key, &item, met.and(places));
                items.push_back(item);
            }
        }
    }
    gone
}

/// Folds the item into the one that waits for it. `None` if that one is not here, false if the two do not fold.
pub(super) fn fold_into(items: &mut VecDeque<Item>, places: Places, item: &mut Item) -> Option<bool> {
    find(items, places.last).map(|earlier| places.fold(earlier, item))
}

//! Events that wait for their object to be quiet before they get a place in a queue. Events of one object are folded as
//! in an overfull queue. The deletion of one object, and the events of the next one with its name, wait separately and
//! arrive in their order.

use std::{
    collections::{BTreeMap, HashMap},
    time::Instant,
};

use crate::model::{Cause, HookName, Trigger};

use super::{
    coalesce::{Key, fold, folds},
    held::Held as Memory,
    item::{Item, Keep},
};

/// An object that is never quiet is delivered after this many times the binding's `debounce`.
const MOST: u32 = 10;

/// The place of an event in the order of release.
type Place = (Instant, u64);

/// What events are held together: those of an object, or those that came after a deletion that is held, too.
type Slot = (Key, bool);

/// All held events.
#[derive(Debug, Default)]
pub(super) struct Debounce {
    held: HashMap<Slot, Held>,
    order: BTreeMap<Place, Slot>,
    last: u64,
}

#[derive(Debug)]
struct Held {
    item: Item,
    place: Place,
    /// The event waits no longer than this, whatever happens.
    latest: Instant,
}

impl Debounce {
    /// Whether the trigger has to wait here.
    pub(super) fn concerns(trigger: &Trigger) -> bool {
        !trigger.debounce.is_zero() && matches!(trigger.cause, Cause::Event(_))
    }

    /// Holds the trigger from the time when it was created. Returns true if another one took over its news.
    pub(super) fn hold(&mut self, trigger: Trigger, memory: Memory) -> bool {
        let (now, quiet) = (trigger.created, trigger.debounce);
        let slot = self.slot(&trigger);
        self.last += 1;
        let mut item = Item::new(self.last, trigger, memory);
        let (item, latest, folded) = match self.held.remove(&slot) {
            Some(mut known) => {
                self.order.remove(&known.place);
                fold(&mut known.item, &mut item);
                (known.item, known.latest, true)
            }
            None => {
                item.settle();
                (item, now + quiet * MOST, false)
            }
        };
        let place = ((now + quiet).min(latest), self.last);
        self.order.insert(place, slot.clone());
        self.held.insert(slot, Held { item, place, latest });
        folded
    }

    fn slot(&self, trigger: &Trigger) -> Slot {
        let first = (Key::of(trigger), false);
        let apart = self.held.get(&first).is_some_and(|held| !folds(&held.item.trigger, trigger));
        let second = (first.0.clone(), true);
        if apart || self.held.contains_key(&second) { second } else { first }
    }

    /// The next event that may go to its queue now. If there are more than `most` events, it may go at any time.
    pub(super) fn release(&mut self, now: Instant, most: usize) -> Option<Trigger> {
        let crowded = self.held.len() > most;
        let ((due, _), _) = self.order.first_key_value()?;
        if *due > now && !crowded {
            return None;
        }
        let (_, slot) = self.order.pop_first()?;
        self.held.remove(&slot).map(|held| held.item.delivered())
    }

    /// When the next event may go.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.order.first_key_value().map(|((due, _), _)| *due)
    }

    /// Drops the events of a hook. Returns how many.
    pub(super) fn forget(&mut self, hook: &HookName) -> usize {
        let before = self.held.len();
        self.held.retain(|(key, _), _| key.hook() != hook);
        self.order.retain(|_, (key, _)| key.hook() != hook);
        before - self.held.len()
    }

    /// Takes out the events that are not kept.
    pub(super) fn retain(&mut self, keep: &mut Keep<'_>) -> Vec<Item> {
        let gone: Vec<Item> =
            self.held.extract_if(|_, held| !keep(&mut held.item)).map(|(_, held)| held.item).collect();
        self.order.retain(|_, slot| self.held.contains_key(slot));
        gone
    }

    /// All held events, and when each may go.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (Instant, &Item)> {
        self.held.values().map(|held| (held.place.0, &held.item))
    }

    /// All held events.
    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.held.values().map(|held| &held.item)
    }

    /// How many events of a hook are here.
    pub(super) fn count(&self, hook: &HookName) -> usize {
        self.held.keys().filter(|(key, _)| key.hook() == hook).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::time::Duration;

    use super::*;
    use crate::queue::testing::*;

    fn event(start: Instant, second: u64, cause: Cause) -> Trigger {
        Trigger { debounce: secs(2), created: start + secs(second), ..trigger("h", own("h"), "b", cause) }
    }

    impl Debounce {
        fn push(&mut self, trigger: Trigger) -> bool {
            let memory = super::super::held::Memory::new(u64::MAX, |_| 0);
            self.hold(trigger, memory.nothing(&crate::fair::Tenant::hook("h")))
        }
    }

    fn released(debounce: &mut Debounce, at: Instant) -> Vec<String> {
        std::iter::from_fn(|| debounce.release(at, 100)).map(|trigger| label(&trigger)).collect()
    }

    #[test]
    fn the_last_of_many_changes_comes_when_the_object_is_quiet() {
        let (mut debounce, start) = (Debounce::default(), Instant::now());
        for second in 0..5 {
            assert_eq!(debounce.push(event(start, second, modified("a", second))), second > 0);
            assert_eq!(released(&mut debounce, start + secs(second)), Vec::<String>::new());
        }
        debounce.push(event(start, 5, modified("b", 9)));
        assert_eq!(debounce.next_due(), Some(start + secs(6)));
        assert_eq!(released(&mut debounce, start + secs(6)), ["a4"]);
        assert_eq!(released(&mut debounce, start + secs(7)), ["b9"]);
        assert!(debounce.is_empty() && debounce.next_due().is_none());
    }

    #[test]
    // mutant: crates/core/src/queue/debounce.rs: `if apart || self` => `if self`
    fn a_deletion_comes_before_what_comes_after_it() {
        use crate::model::WatchEventKind::{Added, Deleted};
        for again in ["a", "a#2"] {
            let (mut debounce, start) = (Debounce::default(), Instant::now());
            debounce.push(event(start, 0, modified("a", 1)));
            debounce.push(event(start, 1, event_of(Deleted, "a", 2)));
            assert!(!debounce.push(event(start, 1, event_of(Added, again, 3))));
            assert!(debounce.push(event(start, 2, modified(again, 4))));
            let mut reported = Vec::new();
            while let Some(trigger) = debounce.release(start + secs(9), 100) {
                let Cause::Event(event) = trigger.cause else { panic!() };
                reported.push((event.kind, event.item.resource_version.to_string()));
            }
            assert_eq!(reported, [(Deleted, "2".to_owned()), (Added, "4".to_owned())], "{again}");
            assert!(debounce.is_empty() && debounce.next_due().is_none());
        }
    }

    #[test]
    fn what_never_is_quiet_comes_all_the_same() {
        let (mut debounce, start) = (Debounce::default(), Instant::now());
        let mut came = Vec::new();
        for second in 0..45 {
            debounce.push(event(start, second, modified("a", second)));
            came.extend(released(&mut debounce, start + secs(second)));
        }
        assert_eq!(came, ["a20", "a41"]);
    }

    #[test]
    fn too_many_objects_do_not_wait() {
        let (mut debounce, start) = (Debounce::default(), Instant::now());
        for name in ["a", "b", "c"] {
            debounce.push(event(start, 0, modified(name, 1)));
        }
        assert_eq!(debounce.release(start, 2).map(|trigger| label(&trigger)).as_deref(), Some("a1"));
        assert!(debounce.release(start, 2).is_none());
    }

    #[test]
    fn a_hook_that_goes_takes_its_events_along() {
        let (mut debounce, start) = (Debounce::default(), Instant::now());
        debounce.push(event(start, 0, modified("a", 1)));
        assert_eq!(debounce.count(&hook("h")), 1);
        assert_eq!(debounce.forget(&hook("g")), 0);
        assert_eq!(debounce.forget(&hook("h")), 1);
        assert!(debounce.is_empty() && debounce.next_due().is_none());
    }

    #[test]
    fn only_events_wait_and_only_if_asked() {
        let zero = trigger("h", own("h"), "b", modified("a", 1));
        assert!(!Debounce::concerns(&zero));
        let tick = Trigger { debounce: Duration::from_secs(1), ..trigger("h", own("h"), "b", tick(1)) };
        assert!(!Debounce::concerns(&tick));
    }
}

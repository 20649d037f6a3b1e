//! The effects of changes on other objects: owners and dependents, and the objects to check again. `collect` checks
//! them later.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

use super::Stored;

/// The position of an object: its collection and its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub storage: Arc<str>,
    pub key: Arc<str>,
}

/// Owners and dependents of all stored objects, and the queue of objects to check. Every place is queued at most once.
#[derive(Debug, Default)]
pub(crate) struct Work {
    dependents: HashMap<Box<str>, BTreeSet<Place>>,
    /// Objects that wait for their dependents to go, by uid.
    waiting: HashMap<Box<str>, Place>,
    queue: VecDeque<Place>,
    queued: HashSet<Place>,
    /// Objects whose owner's kind is currently not served.
    unresolved: HashSet<Place>,
    /// Pods, by the time of their end.
    ending: BTreeSet<(Timestamp, Place)>,
    collecting: bool,
    pod_shutdown: Option<Duration>,
    changed: Arc<Notify>,
}

impl Work {
    /// Without `collecting`, no object is ever queued. Without `pod_shutdown`, no pod ends.
    pub(crate) fn new(collecting: bool, pod_shutdown: Option<Duration>) -> Self {
        Self { collecting, pod_shutdown, ..Self::default() }
    }

    /// Fires when there is an object to check.
    pub(crate) fn changed(&self) -> Arc<Notify> {
        self.changed.clone()
    }

    pub(crate) fn next(&mut self) -> Option<Place> {
        let place = self.queue.pop_front()?;
        self.queued.remove(&place);
        Some(place)
    }

    pub(crate) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Checks the place again after the served kinds have changed.
    pub(crate) fn park(&mut self, place: Place) {
        self.unresolved.insert(place);
    }

    pub(crate) fn kinds_changed(&mut self) {
        for place in std::mem::take(&mut self.unresolved) {
            self.push(place);
        }
    }

    /// The pod that ends next.
    pub(crate) fn next_end(&self) -> Option<(Timestamp, Place)> {
        self.ending.first().cloned()
    }

    pub(crate) fn ended(&mut self, at: Timestamp, place: &Place) {
        self.ending.remove(&(at, place.clone()));
    }

    /// When a pod on a node will have ended.
    fn end(&self, object: &Stored) -> Option<Timestamp> {
        let (asked, seconds) = object.grace?;
        let grace = Duration::from_secs(seconds.unsigned_abs()).min(self.pod_shutdown?);
        asked.checked_add(grace).ok()
    }

    fn note_grace(&mut self, place: &Place, before: Option<&Stored>, now: Option<&Stored>) {
        if let Some(at) = before.and_then(|o| self.end(o)) {
            self.ending.remove(&(at, place.clone()));
        }
        if let Some(at) = now.and_then(|o| self.end(o)) {
            self.ending.insert((at, place.clone()));
            self.changed.notify_one();
        }
    }

    fn push(&mut self, place: Place) {
        if self.queued.insert(place.clone()) {
            self.queue.push_back(place);
            self.changed.notify_one();
        }
    }

    /// Records that an object changed from one version to the next. None means that it does not exist.
    pub(crate) fn note(&mut self, storage: &Arc<str>, before: Option<&Stored>, now: Option<&Stored>) {
        let Some(object) = now.or(before) else { return };
        let graceful = |object: Option<&Stored>| object.is_some_and(|o| o.grace.is_some());
        if graceful(before) || graceful(now) {
            let place = Place { storage: storage.clone(), key: object.key.clone() };
            self.note_grace(&place, before, now);
        }
        if !self.collecting {
            return;
        }
        let owned = |object: Option<&Stored>| object.is_some_and(|o| !o.owners.is_empty());
        let going = |object: Option<&Stored>| object.is_some_and(Stored::goes_by_steps);
        if !owned(before) && !owned(now) && !going(before) && !going(now) && (now.is_some() || self.is_leaf(before)) {
            return;
        }
        let place = Place { storage: storage.clone(), key: object.key.clone() };
        self.note_owners(&place, before, now);
        self.note_end(&place, before, now);
    }

    fn is_leaf(&self, object: Option<&Stored>) -> bool {
        object.is_none_or(|o| !self.dependents.contains_key(&o.uid))
    }

    fn note_owners(&mut self, place: &Place, before: Option<&Stored>, now: Option<&Stored>) {
        let (old, new) = (before.map_or(&[][..], |o| &o.owners), now.map_or(&[][..], |o| &o.owners));
        let same = before.is_some_and(|b| now.is_some_and(|n| n.uid == b.uid)) && old == new;
        if same {
            return;
        }
        for owner in old {
            if let Some(places) = self.dependents.get_mut(&owner.uid) {
                places.remove(place);
                if places.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        for owner in new {
            self.dependents.entry(owner.uid.clone()).or_default().insert(place.clone());
        }
        for owner in old.iter().chain(new) {
            if let Some(waiting) = self.waiting.get(&owner.uid).cloned() {
                self.push(waiting);
            }
        }
        if new.is_empty() {
            self.unresolved.remove(place);
        } else {
            self.push(place.clone());
        }
    }

    fn note_end(&mut self, place: &Place, before: Option<&Stored>, now: Option<&Stored>) {
        let waits = |object: Option<&Stored>| object.is_some_and(|o| o.terminating && o.foreground);
        if let Some(uid) = before.filter(|_| waits(before) && !waits(now)).map(|o| &o.uid) {
            self.waiting.remove(uid);
        }
        match (before, now) {
            (Some(gone), None) => {
                for dependent in self.dependents(&gone.uid) {
                    self.push(dependent);
                }
            }
            (_, Some(now)) if now.goes_by_steps() => {
                self.push(place.clone());
                if now.foreground && !waits(before) {
                    self.waiting.insert(now.uid.clone(), place.clone());
                    for dependent in self.dependents(&now.uid) {
                        self.push(dependent);
                    }
                }
            }
            _ => {}
        }
    }
}

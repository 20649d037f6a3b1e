//! The objects of a binding: what is known of each, what the snapshot shows, and which event a
//! change of one is.
//!
//! Knows of lists only their number; [`super::Binding`] says which is over.

use std::{sync::Arc, time::Instant};

use super::{Applied, Binding, Projection, SourceId};
use crate::{
    filter::project,
    model::{Item, Object, ObjectKey, Trigger, WatchEventKind},
};

/// What is known of an object.
#[derive(Debug)]
pub(super) struct Known {
    pub source: SourceId,
    /// The list of its source in which it was last seen.
    pub list: u32,
    pub state: State,
}

#[derive(Debug)]
pub(super) enum State {
    /// It is in the snapshot.
    Shown { fingerprint: u64 },
    /// The filter fails on it; it is in no snapshot. `last` is what the hook knows of it.
    Failed { uid: Box<str>, error: String, last: Option<(u64, Arc<Item>)> },
}

impl Binding {
    /// Whether the filter has to run on this state of an object; not if it is the one that is known.
    pub fn wants_filter(&self, object: &Object) -> bool {
        self.spec.jq_filter.is_some() && !self.is_known(object)
    }

    /// Whether this is the state of the object that is known already.
    pub fn is_known(&self, object: &Object) -> bool {
        let shown = self.items.get(&object.key).is_some_and(|item| {
            item.uid == object.uid
                && item.resource_version == object.resource_version
                && !item.resource_version.is_empty()
        });
        // Another version of the kind shows the same state differently.
        shown && self.known.get(&object.key).is_some_and(|known| self.sources.contains(known.source))
    }

    /// Takes the result of a filter that failed before on this state of an object. Nothing happens if
    /// the object is gone, or there is something newer.
    pub fn retry(&mut self, object: &Object, projection: Projection, now: Instant) -> Applied {
        match self.known.get(&object.key) {
            Some(Known { source, list, state: State::Failed { uid, .. } }) if *uid == object.uid => {
                self.project((*source, *list), object, projection, now)
            }
            _ => Applied::default(),
        }
    }

    pub(super) fn upsert(
        &mut self,
        seen_in: (SourceId, u32),
        object: &Object,
        projection: Projection,
        now: Instant,
    ) -> Applied {
        if self.is_known(object) {
            if let Some(known) = self.known.get_mut(&object.key) {
                (known.source, known.list) = seen_in;
            }
            return Applied::default();
        }
        self.project(seen_in, object, projection, now)
    }

    fn project(
        &mut self,
        (source, list): (SourceId, u32),
        object: &Object,
        projection: Projection,
        now: Instant,
    ) -> Applied {
        let mut applied = self.end_of_predecessor(object, now);
        let seen = match projection {
            Projection::None => Ok((self.fingerprints.of_object(object, self.spec.content), None)),
            Projection::Result(json) => {
                Ok((self.fingerprints.of_result(object, &json), Some(self.interner.intern(&json))))
            }
            Projection::Failed(error) => Err(error),
        };
        let previous = self.known.remove(&object.key).map(|known| known.state);
        let (state, event) = match seen {
            Ok((fingerprint, result)) => {
                applied.changed = true;
                let item = Arc::new(project::item(object, self.spec.content, result));
                let event = self.reappears(previous, fingerprint, item, now);
                (State::Shown { fingerprint }, event)
            }
            Err(error) => {
                let (state, new_error, changed) = self.fails(object, previous, error);
                applied.new_error = new_error;
                applied.changed |= changed;
                (state, None)
            }
        };
        applied.triggers.extend(event);
        // The key of the new state, so that the old object's memory is released.
        self.known.insert(object.key.clone(), Known { source, list, state });
        applied
    }

    /// An object of the same name with another uid is gone, even if nobody saw it go.
    fn end_of_predecessor(&mut self, object: &Object, now: Instant) -> Applied {
        let known = match self.known.get(&object.key).map(|known| &known.state) {
            Some(State::Shown { .. }) => self.items.get(&object.key).map(|item| &item.uid),
            Some(State::Failed { uid, .. }) => Some(uid),
            None => None,
        };
        match known {
            Some(uid) if *uid != object.uid => self.remove(&object.key, now),
            _ => Applied::default(),
        }
    }

    /// Puts the item into the snapshot; the event, if the hook should hear of it.
    fn reappears(
        &mut self,
        previous: Option<State>,
        fingerprint: u64,
        item: Arc<Item>,
        now: Instant,
    ) -> Option<Trigger> {
        let last = match previous {
            Some(State::Shown { fingerprint }) => self.items.get(&item.key).map(|item| (fingerprint, item.clone())),
            Some(State::Failed { last, .. }) => {
                self.failing = self.failing.saturating_sub(1);
                last
            }
            None => None,
        };
        self.hide(&item.key);
        self.bytes += project::size(&item);
        self.items.insert_mut(item.key.clone(), item.clone());
        match last {
            Some((known, _)) if known == fingerprint => None,
            Some((_, last)) => {
                self.changes.modified += 1;
                self.event(WatchEventKind::Modified, item, Some(&last), now)
            }
            None => {
                self.changes.added += 1;
                self.event(WatchEventKind::Added, item, None, now)
            }
        }
    }

    /// Takes the item out of the snapshot: a stale one would be a lie. Says also whether the text is
    /// new for this object, and whether the snapshot changed.
    fn fails(&mut self, object: &Object, previous: Option<State>, error: String) -> (State, bool, bool) {
        let uid = object.uid.clone();
        match previous {
            Some(State::Failed { error: known, last, .. }) => {
                let new = known != error;
                (State::Failed { uid, error, last }, new, false)
            }
            Some(State::Shown { fingerprint }) => {
                self.failing += 1;
                // Before the synchronisation the hook knows of nothing.
                let last = self.hide(&object.key).filter(|_| self.live).map(|item| (fingerprint, item));
                (State::Failed { uid, error, last }, true, true)
            }
            None => {
                self.failing += 1;
                (State::Failed { uid, error, last: None }, true, false)
            }
        }
    }

    fn hide(&mut self, key: &ObjectKey) -> Option<Arc<Item>> {
        let item = self.items.get(key).cloned()?;
        self.bytes = self.bytes.saturating_sub(project::size(&item));
        self.items.remove_mut(key);
        Some(item)
    }

    pub(super) fn delete(&mut self, source: SourceId, key: &ObjectKey, now: Instant) -> Applied {
        match self.known.get(key) {
            Some(known) if known.source == source || !self.sources.contains(known.source) => self.remove(key, now),
            _ => Applied::default(),
        }
    }

    /// Removes all objects of sources that are no more.
    pub(super) fn remove_orphans(&mut self, now: Instant) -> Applied {
        let sources = std::mem::take(&mut self.sources);
        let applied = self.remove_where(|known| !sources.contains(known.source), now);
        self.sources = sources;
        applied
    }

    /// Removes objects, by namespace and name.
    pub(super) fn remove_where(&mut self, gone: impl Fn(&Known) -> bool, now: Instant) -> Applied {
        let mut keys: Vec<_> = self.known.iter().filter(|(_, known)| gone(known)).map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys.iter().fold(Applied::default(), |applied, key| applied.and(self.remove(key, now)))
    }

    fn remove(&mut self, key: &ObjectKey, now: Instant) -> Applied {
        let known = self.known.remove(key);
        let shown = self.hide(key);
        let changed = shown.is_some();
        let last = match known.map(|known| known.state) {
            Some(State::Failed { last, .. }) => {
                self.failing = self.failing.saturating_sub(1);
                last.map(|(_, item)| item)
            }
            _ => shown,
        };
        self.changes.deleted += u64::from(last.is_some());
        let event = last.and_then(|item| {
            let last = item.clone();
            self.event(WatchEventKind::Deleted, item, Some(&last), now)
        });
        Applied { triggers: event.into_iter().collect(), changed, new_error: false }
    }
}

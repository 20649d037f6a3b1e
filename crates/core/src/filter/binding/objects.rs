//! The objects of a binding: what is known of each, what the snapshot shows, and which event a change makes.
//!
//! It knows lists only by their number. [`super::Binding`] says which list is over.

use std::{sync::Arc, time::Instant};

use super::{Applied, Binding, Projection, SourceId};
use crate::{
    filter::project,
    model::{Content, Kept, Object, ObjectKey, Trigger, WatchEventKind},
};

/// What is known of an object.
#[derive(Debug)]
pub(super) struct Known {
    pub source: SourceId,
    /// The list of its source in which it was last seen.
    pub list: u32,
    pub state: State,
    /// There is a newer state, on which the filter could not run yet.
    pub late: bool,
}

#[derive(Debug)]
pub(super) enum State {
    /// The object is in the snapshot.
    Shown { fingerprint: u64 },
    /// The object is not in the snapshot: the filter fails on it with this error, or did not run on any state of it
    /// yet. `last` is what the hook knows of it.
    Hidden { uid: Box<str>, error: Option<String>, last: Option<(u64, Kept)> },
}

impl Binding {
    /// Whether the filter has to run on this state of an object. It need not run on the known state.
    pub fn wants_filter(&self, object: &Object) -> bool {
        self.spec.jq_filter.is_some() && !self.is_known(object)
    }

    /// Whether this state of the object is already known.
    pub fn is_known(&self, object: &Object) -> bool {
        let shown = self.items.get(&object.key).is_some_and(|item| {
            item.uid == object.uid
                && item.resource_version == object.resource_version
                && !item.resource_version.is_empty()
        });
        // The source must still exist: another version of the kind shows the same state differently.
        shown && self.known.get(&object.key).is_some_and(|known| self.sources.contains(known.source))
    }

    /// Whether the filter still has to run on this object. The caller passes the newest state.
    pub fn is_late(&self, object: &Object) -> bool {
        let known = self.known.get(&object.key);
        known.is_some_and(|known| known.late && self.uid(&object.key) == Some(&*object.uid))
    }

    /// Applies the result of a filter that could not run before on this state of an object. `own` says that the state
    /// is the hook's own. Nothing happens unless the object [is late](Binding::is_late).
    pub fn retry(&mut self, object: &Object, projection: Projection, own: bool, now: Instant) -> Applied {
        let Some(Known { source, list, .. }) = self.known.get(&object.key).filter(|_| self.is_late(object)) else {
            return Applied::default();
        };
        let (seen_in, late) = ((*source, *list), self.late);
        let applied = self.project(seen_in, object, projection, now);
        let applied = if own { applied.without(object) } else { applied };
        self.settle_after(late, applied, now)
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
                // The object went back to the state that the snapshot shows.
                self.late = self.late.saturating_sub(usize::from(std::mem::take(&mut known.late)));
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
        let late = projection == Projection::Late;
        let previous = self.known.remove(&object.key).map(|known| {
            self.late = self.late.saturating_sub(usize::from(known.late));
            known.state
        });
        let seen = match projection {
            Projection::Late => {
                let hidden = || State::Hidden { uid: object.uid.clone(), error: None, last: None };
                self.late += 1;
                let known = Known { source, list, state: previous.unwrap_or_else(hidden), late };
                self.known.insert(object.key.clone(), known);
                return applied;
            }
            Projection::None => Ok((self.fingerprints.of_object(object, self.spec.content), None)),
            Projection::Result(json) => {
                Ok((self.fingerprints.of_result(object, &json), Some(self.interner.intern(&json))))
            }
            Projection::Failed(error) => Err(error),
        };
        let (state, event) = match seen {
            Ok((fingerprint, result)) => {
                applied.changed = true;
                let item = self.item(object, result);
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
        // This inserts the key of the new state, so that the old object's memory is released.
        self.known.insert(object.key.clone(), Known { source, list, state, late: false });
        applied
    }

    fn item(&self, object: &Object, filter_result: Option<Arc<str>>) -> Kept {
        let content = self.spec.content;
        let item = project::item(object, content, filter_result);
        let text = (content == Content::Full).then(|| object.charge.clone());
        let own = project::own(&item, content);
        Kept::new(item, own, &self.own_bytes, text)
    }

    /// An object with the same name and another uid is gone, even if nobody saw it go.
    fn end_of_predecessor(&mut self, object: &Object, now: Instant) -> Applied {
        match self.uid(&object.key) {
            Some(uid) if *uid != *object.uid => self.remove(&object.key, now),
            _ => Applied::default(),
        }
    }

    fn uid(&self, key: &ObjectKey) -> Option<&str> {
        match &self.known.get(key)?.state {
            State::Shown { .. } => self.items.get(key).map(|item| &*item.uid),
            State::Hidden { uid, .. } => Some(uid),
        }
    }

    /// Puts the item into the snapshot. Returns the event, if the hook should receive it.
    fn reappears(&mut self, previous: Option<State>, fingerprint: u64, item: Kept, now: Instant) -> Option<Trigger> {
        let last = match previous {
            Some(State::Shown { fingerprint }) => self.items.get(&item.key).map(|item| (fingerprint, item.clone())),
            Some(State::Hidden { error, last, .. }) => {
                self.failing = self.failing.saturating_sub(usize::from(error.is_some()));
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
                self.event(WatchEventKind::Modified, item.item, Some(&last), now)
            }
            None => {
                self.changes.added += 1;
                self.event(WatchEventKind::Added, item.item, None, now)
            }
        }
    }

    /// Takes the item out of the snapshot, because a stale item would be wrong. Also returns whether the text is new
    /// for this object, and whether the snapshot changed.
    fn fails(&mut self, object: &Object, previous: Option<State>, error: String) -> (State, bool, bool) {
        let uid = object.uid.clone();
        match previous {
            Some(State::Hidden { error: known, last, .. }) => {
                self.failing += usize::from(known.is_none());
                let new = known.as_ref() != Some(&error);
                (State::Hidden { uid, error: Some(error), last }, new, false)
            }
            Some(State::Shown { fingerprint }) => {
                self.failing += 1;
                // Before the synchronization, the hook knows nothing.
                let last = self.hide(&object.key).filter(|_| self.live).map(|item| (fingerprint, item));
                (State::Hidden { uid, error: Some(error), last }, true, true)
            }
            None => {
                self.failing += 1;
                (State::Hidden { uid, error: Some(error), last: None }, true, false)
            }
        }
    }

    fn hide(&mut self, key: &ObjectKey) -> Option<Kept> {
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

    /// Removes all objects of sources that no longer exist.
    pub(super) fn remove_orphans(&mut self, now: Instant) -> Applied {
        let sources = std::mem::take(&mut self.sources);
        let applied = self.remove_where(|known| !sources.contains(known.source), now);
        self.sources = sources;
        applied
    }

    /// Removes objects in the order of their namespaces and names.
    pub(super) fn remove_where(&mut self, gone: impl Fn(&Known) -> bool, now: Instant) -> Applied {
        let mut keys: Vec<_> = self.known.iter().filter(|(_, known)| gone(known)).map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys.iter().fold(Applied::default(), |applied, key| applied.and(self.remove(key, now)))
    }

    fn remove(&mut self, key: &ObjectKey, now: Instant) -> Applied {
        let known = self.known.remove(key);
        self.late = self.late.saturating_sub(usize::from(known.as_ref().is_some_and(|known| known.late)));
        let shown = self.hide(key);
        let changed = shown.is_some();
        let last = match known.map(|known| known.state) {
            Some(State::Hidden { error, last, .. }) => {
                self.failing = self.failing.saturating_sub(usize::from(error.is_some()));
                last.map(|(_, item)| item)
            }
            _ => shown,
        };
        self.changes.deleted += u64::from(last.is_some());
        let event = last.and_then(|last| self.event(WatchEventKind::Deleted, last.item.clone(), Some(&last), now));
        Applied { triggers: event.into_iter().collect(), changed, new_error: false }
    }
}

//! One `kubernetes` binding of a hook: which objects it knows, and which changes are triggers.
//!
//! Pure. Never runs a filter, publishes or queues: it is given the filter's result and gives back
//! what follows from it.

use std::{collections::HashMap, sync::Arc, time::Instant};

use super::{
    fingerprint::Fingerprints,
    project::{self, Interner},
};
use crate::model::{
    BindingName, Cause, Change, HookName, Item, Items, KubernetesBinding, Object, ObjectEvent, ObjectKey, Resource,
    Trigger, WatchEventKind,
};

/// What the filter gave for an upserted object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// The binding has no filter, or [`Binding::wants_filter`] said that it need not run.
    None,
    /// The result as canonical JSON.
    Result(Box<str>),
    /// It failed, with this text.
    Failed(String),
}

/// What followed from a change.
#[derive(Debug, Default, PartialEq)]
pub struct Applied {
    /// To be queued, in this order, once the snapshot is published.
    pub triggers: Vec<Trigger>,
    /// The snapshot is not what it was before.
    pub changed: bool,
    /// The filter failed on this object, with a text that is new for it.
    pub new_error: bool,
}

/// What is known of an object.
#[derive(Debug)]
struct Known {
    source: usize,
    /// The list of its source in which it was last seen.
    list: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It is in the snapshot.
    Shown { fingerprint: u64 },
    /// The filter fails on it; it is in no snapshot. `last` is what the hook knows of it.
    Failed { error: String, last: Option<(u64, Arc<Item>)> },
}

#[derive(Debug, Clone, Default)]
struct Source {
    /// The number of the list that is or was last read.
    list: u32,
    listed: bool,
}

/// The state machine of a binding.
#[derive(Debug)]
pub struct Binding {
    hook: HookName,
    spec: KubernetesBinding,
    resource: Arc<Resource>,
    snapshots: Arc<[BindingName]>,
    sources: Vec<Source>,
    known: HashMap<ObjectKey, Known>,
    items: Items,
    bytes: usize,
    failing: usize,
    synchronised: bool,
    fingerprints: Fingerprints,
    interner: Interner,
}

impl Binding {
    /// A binding that is fed by `sources` watches, numbered from 0; at least one.
    pub fn new(hook: HookName, spec: KubernetesBinding, resource: Arc<Resource>, sources: usize) -> Self {
        let mut snapshots = vec![spec.name.clone()];
        for name in spec.include_snapshots_from.iter() {
            if !snapshots.contains(name) {
                snapshots.push(name.clone());
            }
        }
        Self {
            hook,
            spec,
            resource,
            snapshots: snapshots.into(),
            sources: vec![Source::default(); sources.max(1)],
            known: HashMap::new(),
            items: Items::new_sync(),
            bytes: 0,
            failing: 0,
            synchronised: false,
            fingerprints: Fingerprints::default(),
            interner: Interner::default(),
        }
    }

    /// Whose it is.
    pub fn hook(&self) -> &HookName {
        &self.hook
    }

    /// Its entry in the hook's document.
    pub fn spec(&self) -> &KubernetesBinding {
        &self.spec
    }

    /// The objects that it matches now, without those on which the filter fails.
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Whether all sources were listed once.
    pub fn is_synchronised(&self) -> bool {
        self.synchronised
    }

    /// Bytes that the items hold; shared parts are counted for each.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Objects on which the filter fails.
    pub fn failing(&self) -> usize {
        self.failing
    }

    /// Whether the filter has to run on this state of an object; not if it is the one that is known.
    pub fn wants_filter(&self, object: &Object) -> bool {
        self.spec.jq_filter.is_some() && !self.is_same_state(object)
    }

    fn is_same_state(&self, object: &Object) -> bool {
        self.items.get(&object.key).is_some_and(|item| {
            item.uid == object.uid
                && item.resource_version == object.resource_version
                && !item.resource_version.is_empty()
        })
    }

    /// Takes a change of one source. `projection` belongs to an `Upsert`.
    pub fn apply(&mut self, source: usize, change: &Change, projection: Projection, now: Instant) -> Applied {
        match change {
            Change::ListStarted => {
                self.list_started(source);
                Applied::default()
            }
            Change::Unserved => {
                self.list_started(source);
                self.list_done(source, now)
            }
            Change::Upsert(object) => self.upsert(source, object, projection, now),
            Change::Delete(object) => self.delete(source, &object.key, now),
            Change::ListDone => self.list_done(source, now),
        }
    }

    /// Takes the result of a filter that failed before on this state of an object. Nothing happens if
    /// the object is gone, or there is something newer.
    pub fn retry(&mut self, object: &Object, projection: Projection, now: Instant) -> Applied {
        match self.known.get(&object.key) {
            Some(Known { source, list, state: State::Failed { .. } }) => {
                let (source, list) = (*source, *list);
                self.project(source, list, object, projection, now)
            }
            _ => Applied::default(),
        }
    }

    fn list_started(&mut self, source: usize) {
        if let Some(source) = self.sources.get_mut(source) {
            source.list = source.list.wrapping_add(1);
        }
    }

    fn upsert(&mut self, source: usize, object: &Object, projection: Projection, now: Instant) -> Applied {
        let list = self.sources.get(source).map_or(0, |source| source.list);
        if self.is_same_state(object) {
            if let Some(known) = self.known.get_mut(&object.key) {
                (known.source, known.list) = (source, list);
            }
            return Applied::default();
        }
        self.project(source, list, object, projection, now)
    }

    fn project(&mut self, source: usize, list: u32, object: &Object, projection: Projection, now: Instant) -> Applied {
        let mut applied = self.end_of_predecessor(object, now);
        let seen = match projection {
            Projection::None => Ok((self.fingerprints.of_object(object), None)),
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
                let (state, new_error, changed) = self.fails(&object.key, previous, error);
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
        let uid_known = match self.known.get(&object.key).map(|known| &known.state) {
            Some(State::Shown { .. }) => self.items.get(&object.key).map(|item| &item.uid),
            Some(State::Failed { last, .. }) => last.as_ref().map(|(_, item)| &item.uid),
            None => None,
        };
        match uid_known {
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
            Some((_, last)) => self.event(WatchEventKind::Modified, item, last.filter_result.clone(), now),
            None => self.event(WatchEventKind::Added, item, None, now),
        }
    }

    /// Takes the item out of the snapshot: a stale one would be a lie. Says also whether the text is
    /// new for this object, and whether the snapshot changed.
    fn fails(&mut self, key: &ObjectKey, previous: Option<State>, error: String) -> (State, bool, bool) {
        match previous {
            Some(State::Failed { error: known, last }) => {
                let new = known != error;
                (State::Failed { error, last }, new, false)
            }
            Some(State::Shown { fingerprint }) => {
                self.failing += 1;
                // Before the synchronisation the hook knows of nothing.
                let last = self.hide(key).filter(|_| self.synchronised).map(|item| (fingerprint, item));
                (State::Failed { error, last }, true, true)
            }
            None => {
                self.failing += 1;
                (State::Failed { error, last: None }, true, false)
            }
        }
    }

    fn hide(&mut self, key: &ObjectKey) -> Option<Arc<Item>> {
        let item = self.items.get(key).cloned()?;
        self.bytes = self.bytes.saturating_sub(project::size(&item));
        self.items.remove_mut(key);
        Some(item)
    }

    fn delete(&mut self, source: usize, key: &ObjectKey, now: Instant) -> Applied {
        match self.known.get(key) {
            Some(known) if known.source == source => self.remove(key, now),
            _ => Applied::default(),
        }
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
        let event = last.and_then(|item| {
            let previous = item.filter_result.clone();
            self.event(WatchEventKind::Deleted, item, previous, now)
        });
        Applied { triggers: event.into_iter().collect(), changed, new_error: false }
    }

    fn list_done(&mut self, source: usize, now: Instant) -> Applied {
        let Some(state) = self.sources.get_mut(source) else { return Applied::default() };
        state.listed = true;
        let list = state.list;
        let mut gone: Vec<_> = self
            .known
            .iter()
            .filter(|(_, known)| known.source == source && known.list != list)
            .map(|(key, _)| key.clone())
            .collect();
        gone.sort();
        let mut applied = Applied::default();
        for key in gone {
            let removed = self.remove(&key, now);
            applied.changed |= removed.changed;
            applied.triggers.extend(removed.triggers);
        }
        if !self.synchronised && self.sources.iter().all(|source| source.listed) {
            self.synchronised = true;
            applied.changed = true;
            if self.spec.on_synchronization {
                applied.triggers.push(self.trigger(Cause::Synchronization, now));
            }
        }
        applied
    }

    fn event(
        &self,
        kind: WatchEventKind,
        item: Arc<Item>,
        previous_filter_result: Option<Arc<str>>,
        now: Instant,
    ) -> Option<Trigger> {
        if !self.synchronised || !self.spec.events.contains(&kind) {
            return None;
        }
        let event = ObjectEvent { kind, resource: self.resource.clone(), item, previous_filter_result };
        Some(self.trigger(Cause::Event(event), now))
    }

    fn trigger(&self, cause: Cause, now: Instant) -> Trigger {
        Trigger {
            hook: self.hook.clone(),
            binding: self.spec.name.clone(),
            queue: self.spec.queue.clone(),
            cause,
            group: self.spec.group.clone(),
            snapshots: self.snapshots.clone(),
            allow_failure: self.spec.allow_failure,
            retry: self.spec.retry,
            created: now,
        }
    }
}

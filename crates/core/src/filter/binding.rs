//! One `kubernetes` binding of a hook: which objects it knows, and which changes are triggers.
//!
//! Pure: it does not run the filter, publish or queue. It receives the filter's result and returns what follows from
//! it.
//!
//! ```text
//!             all sources listed              admitted
//!  listing ───────────────────────▶ listed ─────────────▶ live ─▶ events
//!     ▲         snapshot is shown      │  Synchronization, or what
//!     └────────────────────────────────┘  changed since it was listed
//!           the kind is not served
//! ```
//!
//! An object is *late* while its filter could not run on its newest state, for a reason that is not the object's, or while
//! there is no memory to keep it. The object stays in the snapshot with the state that was known before. A binding with a late object does not become
//! listed, and one that is already listed is not complete.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use super::{
    explain::{Explanation, ObjectExplained, Verdict},
    fingerprint::Fingerprints,
    project::{self, Interner},
    sources::{SourceId, Sources},
};
use crate::model::{
    BindingName, Cause, Change, Content, HookName, Item, Items, Kept, KubernetesBinding, Object, ObjectEvent,
    ObjectKey, Resource, Trigger, WatchEventKind,
};

/// What the filter returned for an upserted object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// The binding has no filter, or this state is [already known](Binding::is_known).
    None,
    /// The result as canonical JSON.
    Result(Box<str>),
    /// The filter failed with this text.
    Failed(String),
    /// The filter could not run yet, for a reason that is not the object's, or there is no memory to keep the object.
    Late,
}

/// What follows from a change.
#[derive(Debug, Default, PartialEq)]
pub struct Applied {
    /// To queue, in this order, after the snapshot is published.
    pub triggers: Vec<Trigger>,
    /// The snapshot has changed.
    pub changed: bool,
    /// The filter failed on this object, with a text that is new for it.
    pub new_error: bool,
}

/// How often objects came, changed in what the binding sees of them, and went. This includes changes that a list
/// showed, and changes that the hook does not receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    pub added: u64,
    pub modified: u64,
    pub deleted: u64,
}

impl Applied {
    fn and(mut self, later: Self) -> Self {
        self.triggers.extend(later.triggers);
        self.changed |= later.changed;
        self.new_error |= later.new_error;
        self
    }

    /// Without the events about this object.
    fn without(mut self, object: &Object) -> Self {
        self.triggers.retain(|trigger| match &trigger.cause {
            Cause::Event(event) => event.item.uid != object.uid,
            _ => true,
        });
        self
    }
}

/// What is known of an object.
#[derive(Debug)]
struct Known {
    source: SourceId,
    /// The list of its source in which it was last seen.
    list: u32,
    state: State,
    /// There is a newer state, on which the filter could not run yet.
    late: bool,
    /// What was made of its last change.
    verdict: Verdict,
}

#[derive(Debug)]
enum State {
    /// The object is in the snapshot.
    Shown { fingerprint: u64 },
    /// The object is not in the snapshot: the filter fails on it with this error, or did not run on any state of it
    /// yet. `last` is what the hook knows of it.
    Hidden { uid: Box<str>, error: Option<String>, last: Option<(u64, Kept)> },
}

/// The objects that a hook without synchronization is assumed to know. Changes since then become events when the binding
/// goes live.
///
/// - It is made when the binding is listed, because the binding may then have to wait for other bindings of its hook.
/// - It is empty if the kind was not served at the start.
/// - On a standby, another replica reports the changes. The baseline moves on there, so that it remembers only the recent
///   ones.
/// - It exists only until the binding goes live.
#[derive(Debug, Default)]
struct Baseline(HashMap<ObjectKey, (u64, Kept)>);

/// The state machine of a binding.
#[derive(Debug)]
pub struct Binding {
    hook: HookName,
    spec: KubernetesBinding,
    resource: Option<Arc<Resource>>,
    snapshots: Arc<[BindingName]>,
    sources: Sources,
    known: HashMap<ObjectKey, Known>,
    items: Items,
    bytes: usize,
    own_bytes: Arc<AtomicUsize>,
    failing: usize,
    late: usize,
    changes: Changes,
    admitted: bool,
    listed: bool,
    live: bool,
    /// What the hook is assumed to know when the binding goes live without a synchronization.
    baseline: Option<Baseline>,
    /// The later state that replaces `baseline` with the next call of [`Binding::reported_by_leader`].
    recent: Option<Baseline>,
    /// Some known objects belong to sources that were given up for others.
    moving: bool,
    fingerprints: Fingerprints,
    interner: Interner,
}

impl Binding {
    /// A binding without sources, whose kind is not known yet. With `waitForSynchronization`, it stays silent until it
    /// is [admitted](Binding::admit).
    pub fn new(hook: HookName, spec: KubernetesBinding) -> Self {
        let snapshots = spec.snapshots();
        let admitted = !spec.wait_for_synchronization;
        Self {
            hook,
            spec,
            resource: None,
            snapshots,
            sources: Sources::default(),
            known: HashMap::new(),
            items: Items::new_sync(),
            bytes: 0,
            own_bytes: Arc::default(),
            failing: 0,
            late: 0,
            changes: Changes::default(),
            admitted,
            listed: false,
            live: false,
            baseline: None,
            recent: None,
            moving: false,
            fingerprints: Fingerprints::default(),
            interner: Interner::default(),
        }
    }

    /// The same binding, but silent until it is admitted, whatever its document says.
    pub fn not_admitted(self) -> Self {
        Self { admitted: false, ..self }
    }

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

    /// Whether all sources of the start were listed and none of their objects was late then. The snapshot can then be
    /// shown.
    pub fn is_listed(&self) -> bool {
        self.listed
    }

    /// Whether the snapshot shows all objects, in their newest states.
    pub fn is_complete(&self) -> bool {
        self.listed && self.late == 0
    }

    /// The number of objects on whose newest state the filter could not run yet.
    pub fn late(&self) -> usize {
        self.late
    }

    /// Whether changes are events: the binding is listed and admitted, and its synchronization was made.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Whether the source's next changes are part of a list.
    pub fn is_listing(&self, source: SourceId) -> bool {
        self.sources.is_listing(source)
    }

    /// The bytes that the items hold. Shared parts count for each item.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes that its items take and share with no other binding. Items that left the snapshot count until no run,
    /// event or hidden object has them.
    pub fn own_bytes(&self) -> usize {
        self.own_bytes.load(Ordering::Relaxed)
    }

    /// The number of objects on which the filter fails.
    pub fn failing(&self) -> usize {
        self.failing
    }

    /// What happened to its objects since the binding was created.
    pub fn changes(&self) -> Changes {
        self.changes
    }

    /// The kind was found. If it was another kind before, for example because a version is no longer served, its
    /// sources are given up. Objects that the new sources do not name are gone once all of these were listed.
    pub fn served(&mut self, resource: Arc<Resource>) {
        if self.resource.as_ref().is_some_and(|before| *before != resource) {
            self.sources.clear();
            self.moving = !self.known.is_empty();
        }
        self.resource = Some(resource);
    }

    /// The API server does not serve the kind: there are no objects of it, and the sources are given up.
    ///
    /// Once the kind is served, a hook without synchronization receives all objects that are there, because they came
    /// after the start.
    pub fn unserved(&mut self, now: Instant) -> Applied {
        self.sources.clear();
        self.listed = false;
        let applied = self.remove_where(|_| true, now);
        if !self.live && !self.spec.on_synchronization {
            self.baseline.get_or_insert_default();
        }
        applied
    }

    /// Adds a source. Its objects come with its first list.
    pub fn add_source(&mut self, id: SourceId) {
        self.sources.add(id);
    }

    /// The source was given up, and its objects no longer belong to the binding.
    pub fn remove_source(&mut self, id: SourceId, now: Instant) -> Applied {
        if !self.sources.remove(id) {
            return Applied::default();
        }
        let removed = self.remove_where(|known| known.source == id, now);
        removed.and(self.settle(now))
    }

    /// All sources that belong to the start were added.
    pub fn sources_complete(&mut self, now: Instant) -> Applied {
        self.sources.complete();
        self.settle(now)
    }

    /// The binding goes live as soon as it is listed. Until then, its state only follows the cluster.
    pub fn admit(&mut self, now: Instant) -> Applied {
        self.admitted = true;
        self.settle(now)
    }

    /// Applies a change of one source. `projection` belongs to an `Upsert`. Changes of sources that were not added, or
    /// were removed, are ignored. `Unserved` is ignored too, because [`Binding::unserved`] handles it once for all
    /// sources.
    pub fn apply(&mut self, source: SourceId, change: &Change, projection: Projection, now: Instant) -> Applied {
        let Some(list) = self.sources.list(source) else { return Applied::default() };
        let late = self.late;
        let applied = match change {
            Change::ListStarted => {
                self.sources.list_started(source);
                Applied::default()
            }
            Change::Unserved => Applied::default(),
            Change::Upsert(object) => self.upsert((source, list), object, projection, now),
            Change::Delete(object) => self.delete(source, &object.key, now),
            Change::ListDone => self.list_done(source, now),
        };
        self.settle_after(late, applied, now)
    }

    /// The binding may have waited for the last late object.
    fn settle_after(&mut self, late: usize, applied: Applied, now: Instant) -> Applied {
        if late > 0 && self.late == 0 { applied.and(self.settle(now)) } else { applied }
    }

    /// Applies a change that the hook made itself: the binding's state follows, and the hook receives no event about
    /// this object.
    pub fn apply_own(&mut self, source: SourceId, change: &Change, projection: Projection, now: Instant) -> Applied {
        let applied = self.apply(source, change, projection, now);
        match change {
            Change::Upsert(object) | Change::Delete(object) => {
                self.made_by_hook(&object.key);
                applied.without(object)
            }
            Change::ListStarted | Change::ListDone | Change::Unserved => applied,
        }
    }

    fn list_done(&mut self, source: SourceId, now: Instant) -> Applied {
        let Some(list) = self.sources.list_done(source) else { return Applied::default() };
        let gone = self.remove_where(|known| known.source == source && known.list != list, now);
        gone.and(self.settle(now))
    }

    /// What follows when the binding may have become listed or admitted.
    fn settle(&mut self, now: Instant) -> Applied {
        let mut applied = Applied::default();
        if !self.sources.are_listed() {
            return applied;
        }
        if std::mem::take(&mut self.moving) {
            applied = applied.and(self.remove_orphans(now));
        }
        if !self.listed {
            if self.late > 0 {
                return applied;
            }
            self.listed = true;
            applied.changed = true;
            if !self.admitted && !self.spec.on_synchronization && self.baseline.is_none() {
                self.baseline = Some(self.baseline());
            }
        }
        if self.admitted && !self.live {
            self.live = true;
            self.recent = None;
            if self.spec.on_synchronization {
                applied.triggers.push(self.trigger(Cause::Synchronization, now));
            } else if let Some(baseline) = self.baseline.take() {
                let events = self.since(baseline, now);
                for event in events.iter().filter_map(|trigger| trigger.cause.event()) {
                    if let Some(known) = self.known.get_mut(&event.item.key) {
                        known.verdict = Verdict::Event(event.kind);
                    }
                }
                applied.triggers.extend(events);
            }
        }
        applied
    }

    fn event(&self, kind: WatchEventKind, item: Arc<Item>, previous: Option<&Item>, now: Instant) -> Option<Trigger> {
        if !self.live || !self.spec.events.contains(&kind) {
            return None;
        }
        let shows_object = self.spec.previous_object && kind == WatchEventKind::Modified;
        let event = ObjectEvent {
            kind,
            resource: self.resource.clone()?,
            item,
            previous_filter_result: previous.and_then(|item| item.filter_result.clone()),
            previous_object: previous.filter(|_| shows_object).and_then(|item| item.object.clone()),
            managers: None,
        };
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
            debounce: self.spec.debounce,
            created: now,
        }
    }

    /// Whether this state of the object is already known. The filter then need not run on it.
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
        if own {
            self.made_by_hook(&object.key);
        }
        self.settle_after(late, applied, now)
    }

    fn upsert(&mut self, seen_in: (SourceId, u32), object: &Object, projection: Projection, now: Instant) -> Applied {
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
                let state = previous.unwrap_or_else(hidden);
                let known = Known { source, list, state, late, verdict: Verdict::Late };
                self.known.insert(object.key.clone(), known);
                return applied;
            }
            Projection::None => Ok((self.fingerprints.of_object(object, self.spec.content), None)),
            Projection::Result(json) => {
                Ok((self.fingerprints.of_result(object, &json), Some(self.interner.intern(&json))))
            }
            Projection::Failed(error) => Err(error),
        };
        let (state, event, verdict) = match seen {
            Ok((fingerprint, result)) => {
                applied.changed = true;
                let item = self.item(object, result);
                let (kind, mut event) = self.reappears(previous, fingerprint, item, now);
                if let Some(Trigger { cause: Cause::Event(event), .. }) = &mut event {
                    event.managers = object.managers();
                }
                let verdict = self.verdict(kind, event.is_some());
                (State::Shown { fingerprint }, event, verdict)
            }
            Err(error) => {
                let (state, new_error, changed) = self.fails(object, previous, error);
                applied.new_error = new_error;
                applied.changed |= changed;
                (state, None, Verdict::FilterFailed)
            }
        };
        applied.triggers.extend(event);
        // This inserts the key of the new state, so that the old object's memory is released.
        self.known.insert(object.key.clone(), Known { source, list, state, late: false, verdict });
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

    /// Puts the item into the snapshot. Returns what happened to the object, if anything that the binding sees did, and the
    /// event, if the hook should receive it.
    fn reappears(
        &mut self,
        previous: Option<State>,
        fingerprint: u64,
        item: Kept,
        now: Instant,
    ) -> (Option<WatchEventKind>, Option<Trigger>) {
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
            Some((known, _)) if known == fingerprint => (None, None),
            Some((_, last)) => {
                self.changes.modified += 1;
                let kind = WatchEventKind::Modified;
                (Some(kind), self.event(kind, item.item, Some(&last), now))
            }
            None => {
                self.changes.added += 1;
                let kind = WatchEventKind::Added;
                (Some(kind), self.event(kind, item.item, None, now))
            }
        }
    }

    /// What was made of a change that the filter did not fail on.
    fn verdict(&self, kind: Option<WatchEventKind>, event: bool) -> Verdict {
        match kind {
            _ if !self.live => Verdict::BeforeLive,
            None => Verdict::Unchanged,
            Some(kind) if event => Verdict::Event(kind),
            Some(kind) => Verdict::Unwanted(kind),
        }
    }

    /// The event of the last change was left out, because the hook made the change.
    fn made_by_hook(&mut self, key: &ObjectKey) {
        if let Some(known) = self.known.get_mut(key).filter(|known| matches!(known.verdict, Verdict::Event(_))) {
            known.verdict = Verdict::Own;
        }
    }

    /// What it knows of an object, and what it made of the object's last change.
    pub fn explain(&self, key: &ObjectKey) -> Explanation {
        let object = self.known.get(key).map(|known| ObjectExplained {
            verdict: known.verdict,
            resource_version: self.items.get(key).map(|item| item.resource_version.clone()),
            error: match &known.state {
                State::Hidden { error, .. } => error.clone(),
                State::Shown { .. } => None,
            },
            late: known.late,
        });
        Explanation { listed: self.listed, admitted: self.admitted, live: self.live, object }
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

    fn delete(&mut self, source: SourceId, key: &ObjectKey, now: Instant) -> Applied {
        match self.known.get(key) {
            Some(known) if known.source == source || !self.sources.contains(known.source) => self.remove(key, now),
            _ => Applied::default(),
        }
    }

    /// Removes all objects of sources that no longer exist.
    fn remove_orphans(&mut self, now: Instant) -> Applied {
        let sources = std::mem::take(&mut self.sources);
        let applied = self.remove_where(|known| !sources.contains(known.source), now);
        self.sources = sources;
        applied
    }

    /// Removes objects in the order of their namespaces and names.
    fn remove_where(&mut self, gone: impl Fn(&Known) -> bool, now: Instant) -> Applied {
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

    fn baseline(&self) -> Baseline {
        let shown = self.known.iter().filter_map(|(key, known)| match known.state {
            State::Shown { fingerprint } => Some((key.clone(), (fingerprint, self.items.get(key)?.clone()))),
            State::Hidden { .. } => None,
        });
        Baseline(shown.collect())
    }

    /// Another replica has reported everything that was known at the previous call of this function, or will report it.
    pub fn reported_by_leader(&mut self) {
        if !self.listed || self.live || self.baseline.is_none() {
            return;
        }
        let now = self.baseline();
        self.baseline = self.recent.replace(now).or(self.baseline.take());
    }

    /// The events that lead from the baseline to the current state, by namespace and name. Deletions come first.
    fn since(&mut self, baseline: Baseline, now: Instant) -> Vec<Trigger> {
        let mut before: Vec<_> = baseline.0.into_iter().collect();
        before.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut events = Vec::new();
        let mut same = HashMap::new();
        for (key, (fingerprint, item)) in before {
            match self.known.get_mut(&key) {
                // The uid is the same. The object is compared when the filter works again.
                Some(Known { state: State::Hidden { uid, last, .. }, .. }) if **uid == *item.uid => {
                    *last = Some((fingerprint, item));
                }
                Some(_) if self.items.get(&key).is_some_and(|shown| shown.uid == item.uid) => {
                    same.insert(key, (fingerprint, item));
                }
                _ => {
                    events.extend(self.event(WatchEventKind::Deleted, item.item.clone(), Some(&item), now));
                }
            }
        }
        for (key, item) in self.items.iter() {
            let Some(Known { state: State::Shown { fingerprint }, .. }) = self.known.get(key) else { continue };
            let event = match same.get(key) {
                Some((before, _)) if before == fingerprint => None,
                Some((_, last)) => self.event(WatchEventKind::Modified, item.item.clone(), Some(last), now),
                None => self.event(WatchEventKind::Added, item.item.clone(), None, now),
            };
            events.extend(event);
        }
        events
    }
}

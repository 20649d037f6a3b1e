//! Objects, revisions and watch history of every collection, behind one writer lock. The store does not know HTTP,
//! kinds or namespaces: it keeps bytes by key, and reports changes since a revision.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::{Bound, Range};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::json;

/// The limits of the watch history of each resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HistoryLimits {
    pub events: usize,
    pub bytes: usize,
}

/// The requested revision is no longer, or not yet, available.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OutOfRange {
    /// Older than `oldest`.
    Expired { oldest: u64 },
    /// Newer than `current`.
    Future { current: u64 },
}

/// A batch of changes for a watcher.
pub(crate) struct Changes {
    pub events: Vec<Event>,
    /// The watcher has seen everything up to this revision after it has delivered `events`.
    pub seen: u64,
}

/// All collections of one cluster.
#[derive(Debug)]
pub(crate) struct Store {
    inner: RwLock<Inner>,
}

/// The state behind the lock.
#[derive(Debug)]
pub(crate) struct Inner {
    revision: u64,
    compacted: u64,
    limits: HistoryLimits,
    collections: HashMap<Arc<str>, Collection>,
    ended: HashMap<Arc<str>, Ended>,
    work: Work,
}

/// A removed collection, for clients that still watch it.
#[derive(Debug)]
struct Ended {
    collection: Collection,
    /// A watch of a later collection with the same name cannot start before this revision.
    revision: u64,
}

impl Store {
    pub(crate) fn new(limits: HistoryLimits, collecting: bool, pod_shutdown: Option<Duration>) -> Self {
        let inner = Inner {
            revision: 1,
            compacted: 0,
            limits,
            collections: HashMap::new(),
            ended: HashMap::new(),
            work: Work::new(collecting, pod_shutdown),
        };
        Self { inner: RwLock::new(inner) }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer lock. Readers see all changes under one guard as a single step.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, storage: &str, key: &str) -> Option<Arc<Stored>> {
        self.read().get(storage, key)
    }

    pub(crate) fn revision(&self) -> u64 {
        self.read().revision
    }

    /// A page of a collection at one revision.
    pub(crate) fn list(&self, storage: &str, query: &Query<'_>) -> Result<Page, OutOfRange> {
        let inner = self.read();
        let at = query.at.unwrap_or(inner.revision);
        if at > inner.revision {
            return Err(OutOfRange::Future { current: inner.revision });
        }
        if at < inner.compacted {
            return Err(OutOfRange::Expired { oldest: inner.compacted });
        }
        match inner.collections.get(storage) {
            Some(collection) => collection.page(query, at),
            None => Ok(Page { revision: at, ..Page::default() }),
        }
    }

    /// All objects whose key begins with this prefix.
    pub(crate) fn all(&self, storage: &str, prefix: &str) -> Vec<Arc<Stored>> {
        let query = Query { prefix, after: None, at: None, limit: 0, matches: &|_| true };
        self.list(storage, &query).map(|page| page.items).unwrap_or_default()
    }

    /// A signal that fires at each change of the collection, and closes when the collection is dropped.
    pub(crate) fn subscribe(&self, storage: &Arc<str>) -> watch::Receiver<u64> {
        if let Some(collection) = self.read().collections.get(storage) {
            return collection.subscribe();
        }
        self.write().collection(storage).subscribe()
    }

    /// Whether a new watch may start after `revision`.
    pub(crate) fn check_start(&self, storage: &str, revision: u64) -> Result<(), OutOfRange> {
        let inner = self.read();
        let floor = inner.collections.get(storage).map_or(0, Collection::floor).max(inner.compacted);
        let floor = inner.ended.get(storage).map_or(0, |ended| ended.revision).max(floor);
        if revision > inner.revision {
            return Err(OutOfRange::Future { current: inner.revision });
        }
        if revision < floor {
            return Err(OutOfRange::Expired { oldest: floor });
        }
        Ok(())
    }

    /// At most `max` events after `revision`.
    pub(crate) fn changes(&self, storage: &str, revision: u64, max: usize) -> Result<Changes, OutOfRange> {
        let inner = self.read();
        if let Some(ended) = inner.ended.get(storage).filter(|ended| revision < ended.revision) {
            return ended.collection.changes(revision, max, ended.revision);
        }
        match inner.collections.get(storage) {
            Some(collection) => collection.changes(revision, max, inner.revision),
            None => Ok(Changes { events: Vec::new(), seen: inner.revision }),
        }
    }

    /// Drops all watch history.
    pub(crate) fn compact(&self) {
        let mut inner = self.write();
        inner.compacted = inner.revision;
        for collection in inner.collections.values_mut() {
            collection.compact();
        }
    }

    /// Closes the signals of a collection's watchers.
    pub(crate) fn end_watches(&self, storage: &str) {
        if let Some(collection) = self.write().collections.get_mut(storage) {
            collection.close();
        }
    }

    /// Removes a collection. Its watchers' signals close, and they may still read its last events.
    pub(crate) fn end(&self, storage: &str) {
        let mut inner = self.write();
        if let Some(mut collection) = inner.collections.remove(storage) {
            collection.close();
            let revision = inner.revision;
            inner.ended.insert(storage.into(), Ended { collection, revision });
        }
    }
}

impl Inner {
    pub(crate) fn get(&self, storage: &str, key: &str) -> Option<Arc<Stored>> {
        self.collections.get(storage)?.get(key)
    }

    /// Whether any key of the collection starts with `prefix`.
    pub(crate) fn has_prefix(&self, storage: &str, prefix: &str) -> bool {
        self.collections.get(storage).is_some_and(|c| c.has_prefix(prefix))
    }

    pub(crate) fn work(&mut self) -> &mut Work {
        &mut self.work
    }

    fn collection(&mut self, storage: &Arc<str>) -> &mut Collection {
        let limits = self.limits;
        self.collections.entry(storage.clone()).or_insert_with(|| Collection::new(limits))
    }

    /// The revision of the next `put` or `remove`.
    pub(crate) fn next_revision(&self) -> u64 {
        self.revision + 1
    }

    /// Stores an object, whose resourceVersion must be `next_revision`.
    pub(crate) fn put(&mut self, storage: &Arc<str>, object: Stored) -> Arc<Stored> {
        self.revision += 1;
        let object = Arc::new(object);
        let previous = self.collection(storage).put(object.clone());
        self.work.note(storage, previous.as_deref(), Some(&object));
        object
    }

    /// Removes an object. `last` is its final state, whose resourceVersion must be `next_revision`.
    pub(crate) fn remove(&mut self, storage: &Arc<str>, last: Stored) -> Arc<Stored> {
        self.revision += 1;
        let last = Arc::new(last);
        let previous = self.collection(storage).remove(last.clone());
        self.work.note(storage, previous.as_deref(), None);
        last
    }
}

/// One change.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub revision: u64,
    pub object: Arc<Stored>,
    /// The previous version. None for a creation.
    pub previous: Option<Arc<Stored>>,
    pub deleted: bool,
}

impl Event {
    /// Bytes that only the history keeps in memory.
    fn cost(&self) -> usize {
        let gone = if self.deleted { self.object.json.len() } else { 0 };
        gone + self.previous.as_ref().map_or(0, |p| p.json.len())
    }
}

/// Events in order. All events after `floor` are present.
#[derive(Debug)]
pub(crate) struct History {
    events: VecDeque<Event>,
    floor: u64,
    bytes: usize,
    limits: HistoryLimits,
}

impl History {
    pub(crate) fn new(limits: HistoryLimits) -> Self {
        Self { events: VecDeque::new(), floor: 0, bytes: 0, limits }
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.bytes += event.cost();
        self.events.push_back(event);
        while self.events.len() > self.limits.events || self.bytes > self.limits.bytes {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.bytes = self.bytes.saturating_sub(event.cost());
            self.floor = event.revision;
        }
    }

    pub(crate) fn clear(&mut self) {
        while !self.events.is_empty() {
            self.forget_oldest();
        }
    }

    /// The events after `revision`, oldest first.
    pub(crate) fn after(&self, revision: u64) -> Result<impl Iterator<Item = &Event>, OutOfRange> {
        if revision < self.floor {
            return Err(OutOfRange::Expired { oldest: self.floor });
        }
        let start = self.events.partition_point(|e| e.revision <= revision);
        Ok(self.events.range(start..))
    }
}

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

/// The key of an object in its collection: `namespace/name`, or `name` for a cluster-scoped object.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// The values for selectors, except the name.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// Selectable fields, in the order of the kind's declaration.
    pub fields: Box<[(Arc<str>, Box<str>)]>,
}

impl Index {
    pub(crate) fn labels_of(object: &Value) -> Box<[(Box<str>, Box<str>)]> {
        match json::at(object, &["metadata", "labels"]) {
            Some(Value::Object(labels)) => {
                labels.iter().map(|(k, v)| (k.as_str().into(), v.as_str().unwrap_or_default().into())).collect()
            }
            _ => Box::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub uid: Box<str>,
    pub api_version: Box<str>,
    pub kind: Box<str>,
    pub name: Box<str>,
    /// The owner's foreground deletion waits for this dependent.
    pub blocks: bool,
}

impl Owner {
    fn all(object: &Value) -> Box<[Self]> {
        let references = json::list(object, &["metadata", "ownerReferences"]).iter();
        references
            .map(|r| Self {
                uid: json::text(r, &["uid"]).into(),
                api_version: json::text(r, &["apiVersion"]).into(),
                kind: json::text(r, &["kind"]).into(),
                name: json::text(r, &["name"]).into(),
                blocks: r.get("blockOwnerDeletion") == Some(&Value::Bool(true)),
            })
            .collect()
    }
}

/// The finalizer of an owner whose deletion waits for its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner that releases its dependents before it is deleted.
pub(crate) const ORPHAN: &str = "orphan";

/// A stored object.
#[derive(Debug)]
pub(crate) struct Stored {
    pub key: Arc<str>,
    pub revision: u64,
    pub uid: Box<str>,
    /// It has a deletionTimestamp.
    pub terminating: bool,
    /// It has the finalizer `foregroundDeletion`.
    pub foreground: bool,
    /// It has the finalizer `orphan`.
    pub orphan: bool,
    /// The time of its deletion request, and its grace period in seconds. None without a grace period.
    pub grace: Option<(Timestamp, i64)>,
    pub owners: Box<[Owner]>,
    /// The whole object, in its storage version.
    pub json: Bytes,
    /// The end of `kind` and `apiVersion` in `json`, where they come first.
    typed: usize,
    /// The position of the value of `metadata` in `json`.
    metadata: Range<usize>,
    index: Index,
}

impl Stored {
    /// Serializes `object`, whose metadata must be complete.
    pub(crate) fn build(object: &Value, revision: u64, index: Index) -> Self {
        let namespace = json::text(object, &["metadata", "namespace"]);
        let name = json::text(object, &["metadata", "name"]);
        let Text { bytes, typed, metadata } = Text::of(object);
        Self {
            key: key(namespace, name).into(),
            revision,
            uid: json::text(object, &["metadata", "uid"]).into(),
            terminating: json::at(object, &["metadata", "deletionTimestamp"]).is_some_and(|v| !v.is_null()),
            foreground: has_finalizer(object, FOREGROUND),
            orphan: has_finalizer(object, ORPHAN),
            grace: grace(object),
            owners: Owner::all(object),
            json: bytes.into(),
            typed,
            metadata,
            index,
        }
    }

    /// Its deletion must first handle its dependents.
    pub(crate) fn goes_by_steps(&self) -> bool {
        self.terminating && (self.foreground || self.orphan)
    }

    /// The object without `kind`, `apiVersion` and the opening brace, as in a list of its kind.
    pub(crate) fn untyped(&self) -> &[u8] {
        self.json.get(self.typed..).unwrap_or_default()
    }

    /// The JSON of the object's metadata.
    pub(crate) fn metadata(&self) -> &[u8] {
        self.json.get(self.metadata.clone()).unwrap_or(b"{}")
    }

    /// The object, parsed from its JSON.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.key.rsplit_once('/').map_or(&*self.key, |(_, name)| name)
    }

    pub(crate) fn namespace(&self) -> &str {
        self.key.rsplit_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.index.labels.iter().find(|(k, _)| **k == *key).map(|(_, v)| &**v)
    }

    pub(crate) fn field(&self, path: &str) -> Option<&str> {
        match path {
            "metadata.name" => Some(self.name()),
            "metadata.namespace" => Some(self.namespace()),
            path => self.index.fields.iter().find(|(k, _)| **k == *path).map(|(_, v)| &**v),
        }
    }
}

fn grace(object: &Value) -> Option<(Timestamp, i64)> {
    let seconds = json::int(object, &["metadata", "deletionGracePeriodSeconds"]).filter(|s| *s > 0)?;
    let end: Timestamp = json::text(object, &["metadata", "deletionTimestamp"]).parse().ok()?;
    Some((end.checked_sub(SignedDuration::from_secs(seconds)).ok()?, seconds))
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    json::list(object, &["metadata", "finalizers"]).iter().any(|f| f == name)
}

/// The JSON of an object, and the positions of its parts.
struct Text {
    bytes: Vec<u8>,
    typed: usize,
    metadata: Range<usize>,
}

impl Text {
    fn of(object: &Value) -> Self {
        let mut text = Self { bytes: vec![b'{'], typed: 1, metadata: 0..0 };
        for (index, (key, value)) in object.as_object().into_iter().flatten().enumerate() {
            if index > 0 {
                text.bytes.push(b',');
            }
            if index == 2 && has_type_first(object) {
                text.typed = text.bytes.len();
            }
            text.bytes.extend(json::bytes(key));
            text.bytes.push(b':');
            let start = text.bytes.len();
            // Writing to memory cannot fail.
            let _written = serde_json::to_writer(&mut text.bytes, value);
            if key == "metadata" {
                text.metadata = start..text.bytes.len();
            }
        }
        text.bytes.push(b'}');
        text.bytes.shrink_to_fit();
        text
    }
}

/// Whether the object begins with its kind and apiVersion.
fn has_type_first(object: &Value) -> bool {
    let mut keys = object.as_object().into_iter().flat_map(|map| map.keys());
    keys.next().is_some_and(|k| k == "kind") && keys.next().is_some_and(|k| k == "apiVersion")
}

/// The parameters of a list.
pub(crate) struct Query<'a> {
    /// The prefix of the keys: `""` or `namespace/`.
    pub prefix: &'a str,
    /// Only keys after this one.
    pub after: Option<&'a str>,
    /// The revision to show. None for the newest.
    pub at: Option<u64>,
    /// Maximum number of objects. 0 for all.
    pub limit: usize,
    /// Selects the objects.
    pub matches: &'a (dyn Fn(&Stored) -> bool + Sync),
}

/// The result of a `Query`.
#[derive(Default)]
pub(crate) struct Page {
    pub revision: u64,
    pub items: Vec<Arc<Stored>>,
    /// How many matching objects follow the last item. 0 if the list is complete.
    pub remaining: usize,
}

#[derive(Debug)]
pub(crate) struct Collection {
    objects: BTreeMap<Arc<str>, Arc<Stored>>,
    history: History,
    changed: watch::Sender<u64>,
}

impl Collection {
    pub(crate) fn new(limits: HistoryLimits) -> Self {
        Self { objects: BTreeMap::new(), history: History::new(limits), changed: watch::Sender::new(0) }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Closes the signals of all current subscribers.
    pub(crate) fn close(&mut self) {
        self.changed = watch::Sender::new(0);
    }

    pub(crate) fn floor(&self) -> u64 {
        self.history.floor()
    }

    pub(crate) fn compact(&mut self) {
        self.history.clear();
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<Stored>> {
        self.objects.get(key).cloned()
    }

    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        self.range(prefix, None).next().is_some()
    }

    fn range<'a>(&'a self, prefix: &'a str, after: Option<&str>) -> impl Iterator<Item = &'a Arc<Stored>> {
        let from = match after {
            Some(key) if key >= prefix => Bound::Excluded(key),
            _ => Bound::Included(prefix),
        };
        self.objects
            .range::<str, _>((from, Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(_, object)| object)
    }

    /// Returns the previous version.
    pub(crate) fn put(&mut self, object: Arc<Stored>) -> Option<Arc<Stored>> {
        let previous = self.objects.insert(object.key.clone(), object.clone());
        self.record(Event { revision: object.revision, object, previous: previous.clone(), deleted: false });
        previous
    }

    /// Returns the previous version.
    pub(crate) fn remove(&mut self, last: Arc<Stored>) -> Option<Arc<Stored>> {
        let previous = self.objects.remove(&last.key);
        self.record(Event { revision: last.revision, object: last, previous: previous.clone(), deleted: true });
        previous
    }

    fn record(&mut self, event: Event) {
        let revision = event.revision;
        self.history.push(event);
        self.changed.send_replace(revision);
    }

    pub(crate) fn changes(&self, revision: u64, max: usize, current: u64) -> Result<Changes, OutOfRange> {
        let mut rest = self.history.after(revision)?;
        let events: Vec<Event> = rest.by_ref().take(max).cloned().collect();
        let seen = match (rest.next(), events.last()) {
            (Some(_), Some(last)) => last.revision,
            _ => current,
        };
        Ok(Changes { events, seen })
    }

    pub(crate) fn page(&self, query: &Query<'_>, at: u64) -> Result<Page, OutOfRange> {
        let mut events = self.history.after(at)?.peekable();
        if events.peek().is_none() {
            return Ok(take(self.range(query.prefix, query.after), query, at));
        }
        // Reconstructs the objects at `at`, by undoing the first later change of each key.
        let mut undone: BTreeMap<&str, Option<&Arc<Stored>>> = BTreeMap::new();
        for event in events.filter(|e| e.object.key.starts_with(query.prefix)) {
            undone.entry(&*event.object.key).or_insert(event.previous.as_ref());
        }
        let unchanged = self.range(query.prefix, query.after).filter(|o| !undone.contains_key(&*o.key));
        let mut then: Vec<&Arc<Stored>> = unchanged.collect();
        then.extend(undone.values().flatten().filter(|o| query.after.is_none_or(|after| *o.key > *after)));
        then.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(take(then.into_iter(), query, at))
    }
}

fn take<'a>(mut objects: impl Iterator<Item = &'a Arc<Stored>>, query: &Query<'_>, at: u64) -> Page {
    let mut items = Vec::new();
    while query.limit == 0 || items.len() < query.limit {
        match objects.next() {
            Some(object) if (query.matches)(object) => items.push(object.clone()),
            Some(_) => {}
            None => break,
        }
    }
    // With a selector, only matching objects justify another page.
    let remaining = objects.filter(|o| (query.matches)(o)).count();
    Page { revision: at, items, remaining }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::store::Index;

    #[test]
    fn the_text_is_the_object_and_its_parts_are_found() {
        let metadata = json!({ "name": "x", "annotations": { "metadata": "\"}{" } });
        let object =
            json!({ "kind": "A", "apiVersion": "v1", "data": { "metadata": 1 }, "metadata": metadata, "z": [1] });
        let stored = Stored::build(&object, 1, Index::default());
        assert_eq!(stored.value(), object);
        assert_eq!(serde_json::from_slice::<Value>(stored.metadata()).unwrap(), metadata);
        assert!(stored.untyped().starts_with(b"\"data\":"));
        let bare = Stored::build(&json!({ "metadata": {} }), 1, Index::default());
        assert_eq!((bare.untyped(), bare.metadata()), (&b"\"metadata\":{}}"[..], &b"{}"[..]));
    }

    fn object(name: &str, revision: u64) -> Arc<Stored> {
        let value = json!({ "metadata": { "namespace": "a", "name": name, "resourceVersion": revision.to_string() } });
        Arc::new(Stored::build(&value, revision, Index::default()))
    }

    fn query(at: Option<u64>, after: Option<&'static str>, limit: usize) -> Query<'static> {
        Query { prefix: "a/", after, at, limit, matches: &|_| true }
    }

    fn names(page: &Page) -> Vec<(String, u64)> {
        page.items.iter().map(|o| (o.name().to_owned(), o.revision)).collect()
    }

    #[test]
    fn an_older_revision_is_shown_as_it_was() {
        let mut c = Collection::new(HistoryLimits { events: 10, bytes: 1 << 20 });
        c.put(object("x", 2));
        c.put(object("y", 3));
        c.put(object("x", 4));
        c.remove(object("y", 5));
        c.put(object("w", 6));
        let then = c.page(&query(Some(3), None, 0), 3).unwrap();
        assert_eq!(names(&then), [("x".to_owned(), 2), ("y".to_owned(), 3)]);
        let second = c.page(&query(Some(3), Some("a/x"), 1), 3).unwrap();
        assert_eq!(names(&second), [("y".to_owned(), 3)]);
        let now = c.page(&query(None, None, 1), 6).unwrap();
        assert_eq!((names(&now), now.remaining), (vec![("w".to_owned(), 6)], 1));
    }

    #[test]
    fn history_is_bounded_and_says_so() {
        let mut c = Collection::new(HistoryLimits { events: 2, bytes: 1 << 20 });
        for revision in 2..6 {
            c.put(object("x", revision));
        }
        assert_eq!(c.changes(2, 10, 5).err(), Some(OutOfRange::Expired { oldest: 3 }));
        assert_eq!(c.changes(3, 1, 5).unwrap().seen, 4);
        assert_eq!(c.changes(3, 10, 5).unwrap().seen, 5);
        let mut small = Collection::new(HistoryLimits { events: 100, bytes: 10 });
        small.put(object("x", 2));
        small.put(object("x", 3));
        assert!(small.changes(2, 10, 3).is_err());
    }
}

//! Objects, revisions and watch history of every collection, behind one writer lock. The store does not know HTTP,
//! kinds or namespaces: it keeps bytes by key, and reports changes since a revision.

mod collection;
mod history;
mod object;
mod work;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::sync::watch;

use collection::Collection;
pub(crate) use collection::{Page, Query};
pub(crate) use history::Event;
pub(crate) use object::{FOREGROUND, Index, ORPHAN, Owner, Stored, key};
pub(crate) use work::{Place, Work};

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

//! The objects of one resource, sorted by key, with their history and change signal. A view never mixes two revisions.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use tokio::sync::watch;

use super::history::{Event, History};
use super::{Changes, HistoryLimits, OutOfRange, Stored};

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
    use super::*;
    use crate::store::Index;
    use serde_json::json;

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

//! Objects whose filter could not run, for a reason that is not theirs. They wait here until it may run again.
//!
//! No object is dropped. While this holds more bytes than its bound, [`super::drive`] takes no more changes. The watch
//! then leaves the binding behind, and lists again for it when it continues.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use crate::model::{Object, ObjectKey};

/// The most bytes of objects, approximately.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// What an object takes in addition to its text.
const OBJECT_BYTES: usize = 256;

/// An object that waits.
#[derive(Debug)]
pub struct Waiting {
    pub object: Arc<Object>,
    /// All changes since the state that the binding knows are the hook's own.
    pub own: bool,
}

/// The objects, in the order in which they were added, and when to try the next one.
#[derive(Debug, Default)]
pub struct Pending {
    places: HashMap<ObjectKey, u64>,
    queue: BTreeMap<u64, Waiting>,
    last: u64,
    bytes: usize,
    due: Option<Instant>,
}

impl Pending {
    /// Adds an object behind the others. It replaces an older state of the same object.
    pub fn push(&mut self, waiting: Waiting, wait: Duration, now: Instant) {
        self.forget(&waiting.object.key);
        self.last += 1;
        self.bytes += size(&waiting.object);
        self.places.insert(waiting.object.key.clone(), self.last);
        self.queue.insert(self.last, waiting);
        self.due = Some(now + wait);
    }

    /// Removes an object that changed or is gone.
    pub fn forget(&mut self, key: &ObjectKey) -> Option<Waiting> {
        let waiting = self.places.remove(key).and_then(|place| self.queue.remove(&place))?;
        self.bytes = self.bytes.saturating_sub(size(&waiting.object));
        Some(waiting)
    }

    /// When to take the next object, if there is one.
    pub fn due(&self) -> Option<Instant> {
        self.due.filter(|_| !self.queue.is_empty())
    }

    /// Takes the object that has waited longest. Further objects are due at once, unless this one is pushed again.
    pub fn take(&mut self) -> Option<Waiting> {
        let key = self.queue.first_key_value().map(|(_, waiting)| waiting.object.key.clone())?;
        self.forget(&key)
    }

    /// Whether no more objects should be added.
    pub fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }
}

fn size(object: &Object) -> usize {
    object.json.len() + OBJECT_BYTES
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn object(name: &str, bytes: usize) -> Waiting {
        let json = format!("{{\"metadata\":{{\"name\":\"{name}\"}},\"data\":\"{}\"}}", "x".repeat(bytes));
        let object = Arc::new(Object::from_json(&json, &"v1".into(), &"Pod".into()).unwrap());
        Waiting { object, own: false }
    }

    fn names(pending: &mut Pending) -> Vec<String> {
        std::iter::from_fn(|| pending.take()).map(|waiting| waiting.object.key.to_string()).collect()
    }

    #[test]
    fn one_that_fails_again_and_again_holds_up_no_other() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        for name in ["a", "b", "c"] {
            pending.push(object(name, 1), Duration::from_secs(1), now);
        }
        assert_eq!(pending.due(), Some(now + Duration::from_secs(1)));
        let bad = pending.take().unwrap();
        pending.push(bad, Duration::from_secs(2), now);
        assert_eq!(pending.due(), Some(now + Duration::from_secs(2)));
        assert_eq!(names(&mut pending), ["b", "c", "a"]);
        assert_eq!(pending.due(), None);
    }

    #[test]
    fn it_is_full_by_bytes_and_has_each_object_once() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        for _ in 0..100 {
            pending.push(object("a", MAX_BYTES / 2), Duration::ZERO, now);
        }
        assert!(!pending.is_full());
        pending.push(object("b", MAX_BYTES / 2), Duration::ZERO, now);
        assert!(pending.is_full());
        assert!(pending.forget(&object("a", 0).object.key).is_some());
        assert!(!pending.is_full());
        assert_eq!(names(&mut pending), ["b"]);
        assert_eq!(pending.bytes, 0);
    }
}

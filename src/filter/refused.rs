//! Objects on which a filter was not run because it has to wait, until it may run again.
//!
//! Never holds more than a fixed number of objects; what is beyond comes back with its next change.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::model::{Object, ObjectKey};

/// The most objects that wait.
const MAX: usize = 1_000;

/// The objects, and when to try them.
#[derive(Debug, Default)]
pub struct Refused {
    objects: HashMap<ObjectKey, Arc<Object>>,
    due: Option<Instant>,
}

impl Refused {
    /// Adds an object. Says whether it has a place.
    pub fn push(&mut self, object: Arc<Object>, wait: Duration, now: Instant) -> bool {
        self.due = Some(now + wait);
        if self.objects.len() >= MAX && !self.objects.contains_key(&object.key) {
            return false;
        }
        self.objects.insert(object.key.clone(), object);
        true
    }

    /// The object changed, or is gone.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
    }

    /// When to take the next one, if there is any.
    pub fn due(&self) -> Option<Instant> {
        self.due.filter(|_| !self.objects.is_empty())
    }

    /// One object. Further ones are due at once, unless it is pushed again.
    pub fn take(&mut self) -> Option<Arc<Object>> {
        let key = self.objects.keys().next().cloned()?;
        self.objects.remove(&key)
    }
}

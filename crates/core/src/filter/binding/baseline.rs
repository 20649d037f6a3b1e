//! What a binding without synchronization knew when it was listed, and what changed until it goes live. It may have to
//! wait for other bindings of its hook, and no change in between is lost. On a standby, where another replica reports
//! the changes, the baseline moves on, so that it remembers only the recent ones.
//!
//! A baseline exists only during the start.

use std::{collections::HashMap, time::Instant};

use super::{
    Binding,
    objects::{Known, State},
};
use crate::model::{Kept, ObjectKey, Trigger, WatchEventKind};

/// The objects that the hook is assumed to know. There are none if the kind was not served at the start.
#[derive(Debug, Default)]
pub(super) struct Baseline(HashMap<ObjectKey, (u64, Kept)>);

impl Binding {
    pub(super) fn baseline(&self) -> Baseline {
        let shown = self.known.iter().filter_map(|(key, known)| match known.state {
            State::Shown { fingerprint } => Some((key.clone(), (fingerprint, self.items.get(key)?.clone()))),
            State::Hidden { .. } => None,
        });
        Baseline(shown.collect())
    }

    /// Another replica has reported everything that was known at the previous call of this function, or will report it.
    pub fn told_elsewhere(&mut self) {
        if !self.listed || self.live || self.baseline.is_none() {
            return;
        }
        let now = self.baseline();
        self.baseline = self.recent.replace(now).or(self.baseline.take());
    }

    /// The events that lead from the baseline to the current state, by namespace and name. Deletions come first.
    pub(super) fn since(&mut self, baseline: Baseline, now: Instant) -> Vec<Trigger> {
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

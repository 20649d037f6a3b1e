//! What a binding without synchronization knew when it was listed, and what changed until it goes
//! live: it may have to wait for other bindings of its hook, and no change in between is lost. One that waits for
//! long, as another replica tells of the changes, remembers the latest time only.
//!
//! Never outlives the start.

use std::{collections::HashMap, sync::Arc, time::Instant};

use super::{
    Binding,
    objects::{Known, State},
};
use crate::model::{Item, ObjectKey, Trigger, WatchEventKind};

/// The objects that the hook is taken to know; none when the kind was not served at the start.
#[derive(Debug, Default)]
pub(super) struct Baseline(HashMap<ObjectKey, (u64, Arc<Item>)>);

impl Binding {
    /// What is known now.
    pub(super) fn baseline(&self) -> Baseline {
        let shown = self.known.iter().filter_map(|(key, known)| match known.state {
            State::Shown { fingerprint } => Some((key.clone(), (fingerprint, self.items.get(key)?.clone()))),
            State::Hidden { .. } => None,
        });
        Baseline(shown.collect())
    }

    /// What was known at the time of the call before has been told of elsewhere, or will be.
    pub fn told_elsewhere(&mut self) {
        if !self.listed || self.live || self.baseline.is_none() {
            return;
        }
        let now = self.baseline();
        self.baseline = self.recent.replace(now).or(self.baseline.take());
    }

    /// The events that lead from the baseline to what is known now, by namespace and name; what is
    /// gone comes first.
    pub(super) fn since(&mut self, baseline: Baseline, now: Instant) -> Vec<Trigger> {
        let mut before: Vec<_> = baseline.0.into_iter().collect();
        before.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut events = Vec::new();
        let mut same = HashMap::new();
        for (key, (fingerprint, item)) in before {
            match self.known.get_mut(&key) {
                // It is not known to be another one; it will be compared when the filter works again.
                Some(Known { state: State::Hidden { uid, last, .. }, .. }) if **uid == *item.uid => {
                    *last = Some((fingerprint, item));
                }
                Some(_) if self.items.get(&key).is_some_and(|shown| shown.uid == item.uid) => {
                    same.insert(key, (fingerprint, item));
                }
                _ => {
                    let last = item.clone();
                    events.extend(self.event(WatchEventKind::Deleted, item, Some(&last), now));
                }
            }
        }
        for (key, item) in self.items.iter() {
            let Some(Known { state: State::Shown { fingerprint }, .. }) = self.known.get(key) else { continue };
            let event = match same.get(key) {
                Some((before, _)) if before == fingerprint => None,
                Some((_, last)) => self.event(WatchEventKind::Modified, item.clone(), Some(last), now),
                None => self.event(WatchEventKind::Added, item.clone(), None, now),
            };
            events.extend(event);
        }
        events
    }
}

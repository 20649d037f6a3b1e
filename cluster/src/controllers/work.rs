//! The queue of the controllers: each task runs only once at a time, and is retried after an error.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Controller;

/// Delay of the first retry. It doubles with each retry.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);

/// A controller, and the key of an object.
pub(super) type Task = (Controller, String);

#[derive(Debug, Default)]
pub(super) struct Work {
    due: BTreeSet<Task>,
    /// Running tasks.
    busy: BTreeSet<Task>,
    /// When a task is retried, and how often it has failed.
    later: BTreeMap<Task, (Instant, u32)>,
}

impl Work {
    pub(super) fn add(&mut self, due: BTreeSet<Task>) {
        self.due.extend(due);
    }

    /// A task that is due and not running.
    pub(super) fn next(&mut self) -> Option<Task> {
        let task = self.due.difference(&self.busy).next().cloned()?;
        self.due.remove(&task);
        self.busy.insert(task.clone());
        Some(task)
    }

    pub(super) fn ended(&mut self, task: Task, done: bool, now: Instant) {
        self.busy.remove(&task);
        if done {
            self.later.remove(&task);
        } else {
            let failures = self.later.get(&task).map_or(0, |(_, failures)| *failures);
            let wait = FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST);
            self.later.insert(task, (now + wait, failures + 1));
        }
    }

    /// Waits until a task must be retried, and marks it as due. Never returns if there is no such task.
    pub(super) async fn due(&mut self) {
        let waiting = self.later.iter().filter(|(task, _)| !self.due.contains(*task) && !self.busy.contains(*task));
        let first = waiting.min_by_key(|(_, (at, _))| *at).map(|(task, (at, _))| (task.clone(), *at));
        match first {
            Some((task, at)) => {
                sleep_until(at).await;
                self.due.insert(task);
            }
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn task(key: &str) -> Task {
        (Controller::Pods, key.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn what_went_wrong_is_tried_again_ever_more_seldom() {
        let mut work = Work::default();
        work.add([task("a"), task("b")].into());
        let mut waits = Vec::new();
        for _ in 0..12 {
            let first = work.next().unwrap();
            assert_eq!(first, task("a"));
            work.ended(first, false, Instant::now());
            let began = Instant::now();
            work.due().await;
            waits.push(began.elapsed().as_millis());
        }
        assert_eq!(waits.iter().take(4).copied().collect::<Vec<_>>(), [50, 100, 200, 400]);
        assert_eq!(waits.last(), Some(&10_000));
        let first = work.next().unwrap();
        work.ended(first, true, Instant::now());
        assert!(work.later.is_empty(), "what went well is forgotten");
    }

    #[test]
    fn an_object_is_looked_at_by_one_at_a_time_and_once_more_for_a_change_meanwhile() {
        let mut work = Work::default();
        work.add([task("a")].into());
        let first = work.next().unwrap();
        work.add([task("a")].into());
        assert_eq!(work.next(), None);
        work.ended(first, true, Instant::now());
        assert_eq!(work.next(), Some(task("a")));
    }
}

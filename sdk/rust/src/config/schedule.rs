//! The `schedule` binding: run by the clock.
//!
//! One method per field of the document; it never parses a crontab.

use super::{Retry, duration, set, set_list};
use serde_json::{Map, Value};
use std::time::Duration;

/// What happens to ticks that passed while the operator was down or the hook was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedRuns {
    /// They are dropped. The default.
    Skip,
    /// One run stands for all of them.
    Once,
}

/// A binding to times.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule(pub(super) Map<String, Value>);

impl Schedule {
    /// A crontab of five fields, or six with seconds first, or `@every 30s`.
    pub fn new(crontab: &str) -> Self {
        let mut map = Map::new();
        set(&mut map, "crontab", crontab);
        Self(map)
    }

    /// The name its triggers carry; `schedule` without one.
    pub fn name(mut self, name: &str) -> Self {
        set(&mut self.0, "name", name);
        self
    }

    /// The time zone of the crontab, `Europe/Berlin`; the operator's without one.
    pub fn time_zone(mut self, zone: &str) -> Self {
        set(&mut self.0, "timeZone", zone);
        self
    }

    /// What happens to missed ticks.
    pub fn missed_runs(mut self, missed: MissedRuns) -> Self {
        let text = match missed {
            MissedRuns::Skip => "skip",
            MissedRuns::Once => "once",
        };
        set(&mut self.0, "missedRuns", text);
        self
    }

    /// Each run starts up to this much late, by chance.
    pub fn jitter(mut self, most: Duration) -> Self {
        set(&mut self.0, "jitter", duration(most));
        self
    }

    /// The `kubernetes` bindings whose snapshots its runs may open.
    pub fn include_snapshots_from<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        set_list(&mut self.0, "includeSnapshotsFrom", names);
        self
    }

    /// The queue for its triggers; `main` is the shared one, the default is the hook's own.
    pub fn queue(mut self, queue: &str) -> Self {
        set(&mut self.0, "queue", queue);
        self
    }

    /// Bindings of one group run the hook together.
    pub fn group(mut self, group: &str) -> Self {
        set(&mut self.0, "group", group);
        self
    }

    /// A failed run counts as done. Default false.
    pub fn allow_failure(mut self, allow: bool) -> Self {
        set(&mut self.0, "allowFailure", allow);
        self
    }

    /// How failed runs of this binding are repeated.
    pub fn retry(mut self, retry: Retry) -> Self {
        set(&mut self.0, "retry", retry.0);
        self
    }
}

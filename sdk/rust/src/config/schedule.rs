//! The `schedule` binding: run by the clock.
//!
//! One method per field of the document; it never parses a crontab.

use super::{
    Retry,
    document::{Fields, Node},
};
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
pub struct Schedule(pub(super) Fields);

impl Schedule {
    /// A crontab of five fields, or six with seconds first, or `@every 30s`.
    pub fn new(crontab: &str) -> Self {
        let mut map = Fields::default();
        map.text("crontab", crontab);
        Self(map)
    }

    /// The name its triggers carry; `schedule` without one.
    pub fn name(mut self, name: &str) -> Self {
        self.0.text("name", name);
        self
    }

    /// The time zone of the crontab, `Europe/Berlin`; the operator's without one.
    pub fn time_zone(mut self, zone: &str) -> Self {
        self.0.text("timeZone", zone);
        self
    }

    /// What happens to missed ticks. Default [`MissedRuns::Skip`].
    pub fn missed_runs(mut self, missed: MissedRuns) -> Self {
        let text = match missed {
            MissedRuns::Skip => "skip",
            MissedRuns::Once => "once",
        };
        self.0.text("missedRuns", text);
        self
    }

    /// Each tick comes later by a random time up to this. Default none.
    pub fn jitter(mut self, most: Duration) -> Self {
        self.0.duration("jitter", most);
        self
    }

    /// The `kubernetes` bindings whose snapshots its runs may open.
    pub fn include_snapshots_from<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("includeSnapshotsFrom", names);
        self
    }

    /// The queue for its triggers; `main` is the shared one, the default is the hook's own.
    pub fn queue(mut self, queue: &str) -> Self {
        self.0.text("queue", queue);
        self
    }

    /// Bindings of one group run the hook together: triggers of the group that are neighbours come as
    /// one, and may open the snapshots of all its `kubernetes` bindings.
    pub fn group(mut self, group: &str) -> Self {
        self.0.text("group", group);
        self
    }

    /// A failed run counts as done. Default false.
    pub fn allow_failure(mut self, allow: bool) -> Self {
        self.0.plain("allowFailure", allow);
        self
    }

    /// How failed runs of this binding are repeated.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.0.set("retry", Node::Map(retry.0));
        self
    }
}

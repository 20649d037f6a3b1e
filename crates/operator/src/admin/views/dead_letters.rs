//! Triggers that were given up, as shown.

use serde::{Deserialize, Serialize};

use super::TriggerView;

/// Dead letters, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLettersView {
    /// The letters.
    pub dead_letters: Vec<DeadLetterView>,
}

/// Triggers that one run took, and that were given up together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterView {
    /// For retrying and dropping it.
    pub id: u64,
    /// The hook.
    pub hook: String,
    /// The queue.
    pub queue: String,
    /// The binding of the first trigger.
    pub binding: String,
    /// Triggers in number.
    pub triggers_count: usize,
    /// The first of them.
    #[serde(default)]
    pub triggers: Vec<TriggerView>,
    /// How many of the triggers will not run again, because the hook was told of a newer state.
    #[serde(default)]
    pub superseded: usize,
    /// Runs that failed.
    pub attempts: u32,
    /// When they were given up, RFC 3339.
    pub since: String,
    /// What kind of failure was the last.
    pub kind: String,
    /// What it said.
    pub message: String,
}

/// What became of dead letters that were to be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetriedView {
    /// Dead letters that are no longer there.
    pub letters: usize,
    /// Triggers that are in their queues again.
    pub triggers: usize,
    /// Triggers left out, because the hook was or will be told of a newer state.
    pub superseded: usize,
}

/// How many were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Count {
    /// Dead letters.
    pub count: usize,
}

//! The view of dead letters: triggers that were given up.

use serde::{Deserialize, Serialize};

use super::TriggerView;

/// Dead letters, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLettersView {
    pub dead_letters: Vec<DeadLetterView>,
}

/// Triggers that one run took, and that were given up together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterView {
    /// The ID to retry or drop the dead letter by.
    pub id: u64,
    pub hook: String,
    pub queue: String,
    /// The binding of the first trigger.
    pub binding: String,
    /// The number of triggers.
    pub triggers_count: usize,
    /// The first triggers.
    #[serde(default)]
    pub triggers: Vec<TriggerView>,
    /// The number of triggers that will not run again, because the hook received a newer state.
    #[serde(default)]
    pub superseded: usize,
    /// The number of runs that failed.
    pub attempts: u32,
    /// When the triggers were given up, in RFC 3339.
    pub since: String,
    /// The kind of the last failure.
    pub kind: String,
    /// The message of the last failure.
    pub message: String,
}

/// The result of a retry of dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetriedView {
    /// The number of dead letters that were removed.
    pub letters: usize,
    /// The number of triggers that are in their queues again.
    pub triggers: usize,
    /// The number of triggers that were left out, because the hook received or will receive a newer state.
    pub superseded: usize,
}

/// The number of dead letters that were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Count {
    pub count: usize,
}

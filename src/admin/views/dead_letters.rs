//! Triggers that were given up, as shown.

use serde::{Deserialize, Serialize};

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
    /// The first objects that they are about, `NAMESPACE/NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
    /// Runs that failed.
    pub attempts: u32,
    /// When they were given up, RFC 3339.
    pub since: String,
    /// What kind of failure was the last.
    pub kind: String,
    /// What it said.
    pub message: String,
}

/// How many were retried or dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Count {
    /// Dead letters.
    pub count: usize,
}

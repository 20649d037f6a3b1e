//! The view of the last runs.

use serde::{Deserialize, Serialize};

/// Runs, newest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunsView {
    pub runs: Vec<RunView>,
}

/// One run that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// The ID, as in the log and in audit records.
    pub id: String,
    pub hook: String,
    /// The queue that the run's triggers came from.
    pub queue: String,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// The number of triggers that the run took.
    pub triggers_count: usize,
    /// The first triggers.
    pub triggers: Vec<TriggerView>,
    /// When the run began, in RFC 3339.
    pub started: String,
    pub duration_ms: f64,
    /// The maximum of memories and tables in use at one time, in bytes.
    pub memory_peak_bytes: u64,
    /// The number of calls of imported functions.
    pub host_calls: u64,
    pub outcome: RunOutcome,
    /// The request of the API server and the answer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerView>,
}

/// An answer to the API server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerView {
    /// `allowed`, `denied`, `mutated`, `converted` or `refused`; `failed` if there was no answer.
    pub decision: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`; for a conversion `v1 to v2`.
    pub operation: String,
    /// `ConfigMap default/settings`; for a conversion the number of objects.
    pub object: String,
    /// The user who made the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether the request was a dry run.
    pub dry_run: bool,
    /// The reason for a denial, in the hook's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Warnings for the user who made the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A trigger of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerView {
    pub binding: String,
    /// `Startup`, `Schedule`, `Synchronization`, `Added`, `Modified` or `Deleted`.
    pub cause: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The object's kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `NAMESPACE/NAME` of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunResult {
    Succeeded,
    /// The run failed, and its binding allows failures, so its triggers count as done.
    AllowedFailure,
    Failed,
}

impl RunResult {
    /// The result in words for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::AllowedFailure => "allowed failure",
            Self::Failed => "failed",
        }
    }
}

/// How a run ended, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunOutcome {
    pub result: RunResult,
    /// The kind of failure: `retry`, `permanent`, `trap`, `limit-time`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The frames in the hook's code, one on each line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
}

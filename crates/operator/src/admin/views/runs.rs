//! The last runs of hooks, as shown.

use serde::{Deserialize, Serialize};

/// Runs, newest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunsView {
    /// The runs.
    pub runs: Vec<RunView>,
}

/// One run that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// As in the log and in audit records.
    pub id: String,
    /// The hook.
    pub hook: String,
    /// The queue it came from.
    pub queue: String,
    /// 1 for the first try.
    pub attempt: u32,
    /// Triggers that it took, in number.
    pub triggers_count: usize,
    /// The first of them.
    pub triggers: Vec<TriggerView>,
    /// When it began, RFC 3339.
    pub started: String,
    /// Milliseconds.
    pub duration_ms: f64,
    /// The most bytes of memories and tables at a time.
    pub memory_peak_bytes: u64,
    /// Calls of imported functions.
    pub host_calls: u64,
    /// How it ended.
    pub outcome: RunOutcome,
    /// What the API server asked and was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerView>,
}

/// An answer to the API server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerView {
    /// `allowed`, `denied`, `mutated`, `converted`, `refused`; `failed`: there was none.
    pub decision: String,
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`; of a conversion `v1 to v2`.
    pub operation: String,
    /// `ConfigMap default/settings`; of a conversion how many objects.
    pub object: String,
    /// Whose request it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The request was a dry run.
    pub dry_run: bool,
    /// Why not, as the hook says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For the person whose request it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Why a run was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerView {
    /// The binding.
    pub binding: String,
    /// `Startup`, `Schedule`, `Synchronization`, `Added`, `Modified`, `Deleted`.
    pub cause: String,
    /// The binding's group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `NAMESPACE/NAME` of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunResult {
    /// It did its work.
    Succeeded,
    /// It failed, and that counts as done.
    AllowedFailure,
    /// It failed.
    Failed,
}

impl RunResult {
    /// For people.
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
    /// The result.
    pub result: RunResult,
    /// What kind of failure: `retry`, `permanent`, `trap`, `limit-time`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where in the hook's code, one frame a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
}

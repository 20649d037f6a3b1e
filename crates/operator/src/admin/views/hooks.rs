//! The view of hooks and their bindings.

use serde::{Deserialize, Serialize};

use super::RunResult;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HooksView {
    /// Whether another replica runs the hooks, and this one is ready to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub standby: bool,
    /// What is wrong with the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server: Option<String>,
    /// The hooks, sorted by name.
    pub hooks: Vec<HookView>,
}

/// The state of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookState {
    /// The hook waits for nothing.
    Ready,
    /// The hook waits for what `reasons` says.
    Pending,
    /// An admin paused the hook.
    Paused,
    /// The hook does not run; `reasons` says why.
    Quarantined,
}

impl HookState {
    /// As in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Pending => "pending",
            Self::Paused => "paused",
            Self::Quarantined => "quarantined",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookView {
    pub name: String,
    /// The digest of the component, `sha256:…`. Absent if the component could not be loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The interpreter that runs the hook, if it is a script: name, version and digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    pub state: HookState,
    /// What the hook waits for, or why it does not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// What the hook's author should change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the hook may call, watch and answer, with a line for each rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may: Vec<String>,
    /// The bindings in the document's order: start-up, schedules, objects.
    #[serde(default)]
    pub bindings: Vec<BindingView>,
    /// The number of triggers that are not done.
    #[serde(default)]
    pub outstanding: usize,
    /// The runs since the operator started.
    #[serde(default)]
    pub runs: RunCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BindingKind {
    OnStartup,
    Schedule,
    Kubernetes,
}

impl BindingKind {
    /// As in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnStartup => "onStartup",
            Self::Schedule => "schedule",
            Self::Kubernetes => "kubernetes",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingView {
    pub name: String,
    pub kind: BindingKind,
    /// What the binding selects, in words: a kind with its selectors, a crontab, an order.
    pub selection: String,
    /// The queue in which its triggers wait.
    pub queue: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Why its kind cannot be watched yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// Whether all its objects were listed once. Only `kubernetes` bindings have this field and those below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchronised: Option<bool>,
    /// The number of objects in its snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<usize>,
    /// The bytes that the snapshot holds. Parts that objects share are counted for each object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// The number of objects that are missing in the snapshot because the filter fails on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<usize>,
    /// The number of objects whose newest state is missing in the snapshot because the filter could not run on it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<usize>,
    /// The number of failed evaluations of the filter since the operator started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_errors: Option<u64>,
    /// The error of the last failed evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// The runs of a hook since the operator started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunCounts {
    /// The number of runs.
    pub total: u64,
    /// The number of runs that failed, including allowed failures.
    pub failed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// The run's ID, as in the log.
    pub id: String,
    /// When the run began, in RFC 3339.
    pub started: String,
    pub duration_ms: f64,
    pub result: RunResult,
}

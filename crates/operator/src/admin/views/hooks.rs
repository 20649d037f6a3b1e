//! Hooks and their bindings, as shown.

use serde::{Deserialize, Serialize};

use super::RunResult;

/// All hooks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HooksView {
    /// Another replica runs them, this one is ready to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub standby: bool,
    /// What is wrong with the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server: Option<String>,
    /// By name.
    pub hooks: Vec<HookView>,
}

/// How a hook is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookState {
    /// It waits for nothing.
    Ready,
    /// It waits for what `reasons` say.
    Pending,
    /// An admin paused it.
    Paused,
    /// It does not run, for what `reasons` say.
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

/// One hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookView {
    /// Its name.
    pub name: String,
    /// Digest of the component, `sha256:…`. Absent when it could not be loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What runs it, if it is a script: name, version and digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// How it is doing.
    pub state: HookState,
    /// What it waits for, or why it does not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// What its author should change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What it may call, watch and answer: a line for each rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may: Vec<String>,
    /// In the document's order: start-up, schedules, objects.
    #[serde(default)]
    pub bindings: Vec<BindingView>,
    /// Triggers that are not done.
    #[serde(default)]
    pub outstanding: usize,
    /// Since the operator started.
    #[serde(default)]
    pub runs: RunCounts,
}

/// A kind of binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BindingKind {
    /// `onStartup`
    OnStartup,
    /// `schedule`
    Schedule,
    /// `kubernetes`
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

/// One binding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingView {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: BindingKind,
    /// What it selects, in words: a kind with its selectors, a crontab, an order.
    pub selection: String,
    /// Where its triggers wait.
    pub queue: String,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Why its kind can't be watched yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// All its objects were listed once. This and all below: only of `kubernetes` bindings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchronised: Option<bool>,
    /// Objects in its snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<usize>,
    /// Bytes that the snapshot holds; parts that objects share are counted for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// Objects that are missing in the snapshot, because the filter fails on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<usize>,
    /// Objects whose newest state is missing in the snapshot, because the filter could not run on it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<usize>,
    /// Failed evaluations of the filter since the operator started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_errors: Option<u64>,
    /// The last of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// How often a hook ran since the operator started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunCounts {
    /// All runs.
    pub total: u64,
    /// Those that failed, allowed failures among them.
    pub failed: u64,
    /// The last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
}

/// A hook's last run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// The run's id, as in the log.
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// Milliseconds.
    pub duration_ms: f64,
    /// How it ended.
    pub result: RunResult,
}

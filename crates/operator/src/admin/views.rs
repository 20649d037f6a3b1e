//! What the operator shows about itself, as JSON in the style of the Kubernetes API: camelCase, absent fields left out,
//! times in RFC 3339.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Shown in place of a hidden value.
pub(super) const HIDDEN: &str = "(hidden)";

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

impl HooksView {
    /// Without what only one hook's own page shows. A list of thousands of hooks stays small.
    pub fn in_brief(mut self) -> Self {
        for hook in &mut self.hooks {
            hook.digest = None;
            hook.interpreter = None;
            hook.may.clear();
            hook.bindings.clear();
        }
        self
    }
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BindingKind {
    #[default]
    OnStartup,
    /// `beforeHelm` and the like.
    Stage,
    Schedule,
    Kubernetes,
}

impl BindingKind {
    /// As in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnStartup => "onStartup",
            Self::Stage => "stage",
            Self::Schedule => "schedule",
            Self::Kubernetes => "kubernetes",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// The number of objects whose newest state is missing in the snapshot, because the filter could not run on it yet or
    /// because there is no memory for it.
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

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuesView {
    /// Queues with tasks, `main` first.
    pub active: Vec<QueueView>,
    /// Queues without tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty: Vec<QueueView>,
    /// Totals over all queues.
    pub summary: Summary,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// `main`, a shared name, or `hook/NAME` for a hook's own queue.
    pub name: String,
    /// The number of triggers that are not done. It is larger than the length of `tasks` if that list is cut off.
    pub tasks_count: usize,
    /// What the queue does or waits for, in words. Empty if there is nothing to do.
    pub status: String,
    /// The number of runs under way.
    #[serde(default)]
    pub running: usize,
    /// The number of failed runs that wait for their retry.
    #[serde(default)]
    pub retrying: usize,
    /// The bytes of objects and filter results that wait.
    #[serde(default)]
    pub bytes: usize,
    /// The age of the oldest trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seconds: Option<f64>,
    /// The triggers in the order in which they run, as far as it is known.
    #[serde(default)]
    pub tasks: Vec<TaskView>,
}

/// One trigger in a queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// The position, counted from 1.
    pub index: usize,
    /// The trigger in one line.
    pub description: String,
    pub hook: String,
    pub binding: String,
    /// `Startup`, `Schedule`, `Synchronization`, `Added`, `Modified` or `Deleted`.
    pub cause: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `NAMESPACE/NAME` of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The age of the trigger in seconds.
    pub age_seconds: f64,
    /// The number of runs that failed with the trigger.
    pub failures: u32,
    /// The message of the last failed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

/// Totals over all queues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The number of tasks in `main`.
    pub main_queue_tasks: usize,
    pub other_queues: OtherQueues,
    /// The number of tasks in all queues.
    pub total_tasks: usize,
}

/// Totals over all queues except `main`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherQueues {
    /// The number of queues with tasks.
    pub active: usize,
    /// The number of queues without tasks.
    pub empty: usize,
    /// The number of tasks in these queues.
    pub tasks: usize,
}

impl QueuesView {
    /// Divides queues into those with and without tasks, `main` first, and counts them.
    pub fn of(mut queues: Vec<QueueView>) -> Self {
        queues.sort_by(|a, b| (a.name != "main", &a.name).cmp(&(b.name != "main", &b.name)));
        let is_main = |queue: &&QueueView| queue.name == "main";
        let tasks = |queues: &[QueueView], of: fn(&&QueueView) -> bool| {
            queues.iter().filter(of).map(|queue| queue.tasks_count).sum::<usize>()
        };
        let main_queue_tasks = queues.iter().filter(is_main).map(|queue| queue.tasks_count).sum();
        let others = tasks(&queues, |queue| queue.name != "main");
        let (active, empty): (Vec<_>, Vec<_>) = queues.into_iter().partition(|queue| queue.tasks_count > 0);
        let besides_main = |queues: &[QueueView]| queues.iter().filter(|queue| queue.name != "main").count();
        let summary = Summary {
            main_queue_tasks,
            other_queues: OtherQueues { active: besides_main(&active), empty: besides_main(&empty), tasks: others },
            total_tasks: main_queue_tasks + others,
        };
        Self { active, empty, summary }
    }

    pub fn queue(&self, name: &str) -> Option<&QueueView> {
        self.active.iter().chain(&self.empty).find(|queue| queue.name == name)
    }
}

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

/// The snapshots of one hook at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotsView {
    pub hook: String,
    /// The snapshots by the bindings' names.
    pub bindings: BTreeMap<String, BindingSnapshot>,
}

/// A page of one binding's objects.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingSnapshot {
    /// The objects of the page, sorted by namespace and name.
    pub snapshot: Vec<SnapshotItem>,
    /// The number of objects in the whole snapshot.
    pub count: usize,
    /// Why objects are missing in the snapshot, or have an old state. Present only if the snapshot is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The token for the next page of this binding. Present only if there are more objects.
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<String>,
    /// Counts of the snapshot's changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
}

/// The changes of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operations {
    /// The changes since the operator started.
    pub since_start: OperationCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationCounts {
    /// The number of objects now.
    pub count: usize,
    /// The number of objects that were added.
    pub added: u64,
    /// The number of objects that changed in the part that the binding sees.
    pub modified: u64,
    /// The number of objects that were deleted.
    pub deleted: u64,
}

/// One object as its binding sees it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotItem {
    /// Absent for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    /// The result of the `jqFilter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_result: Option<Value>,
    /// The part of the object that the binding keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
}

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLevelView {
    /// A level, or a list of `target=level`.
    pub level: String,
    /// The permanent setting. Initially that of the operator's start.
    pub default: String,
    /// When `level` ends, in RFC 3339. Absent if `level` is permanent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A change of what is logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetLogLevel {
    /// A level, or a list of `target=level`.
    pub level: String,
    /// How long the change lasts, for example `10m`. If absent, the change is permanent, except that `debug` and
    /// `trace` end after 30 minutes.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasts: Option<String>,
}

/// A runtime parameter, in shell-operator's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// Always `log.level`.
    pub name: String,
    pub description: String,
    /// The permanent value.
    pub default: String,
    /// The current value.
    pub value: String,
    /// When the current value ends, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_at: Option<String>,
}

impl From<LogLevelView> for Parameter {
    fn from(view: LogLevelView) -> Self {
        Self {
            name: "log.level".to_owned(),
            description: "what is logged: a level, or a list of target=level".to_owned(),
            default: view.default,
            value: view.level,
            expire_at: view.until,
        }
    }
}

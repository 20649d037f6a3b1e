//! What a page shows in addition to the views of commands: writes, runs that have not ended, their log lines, what they did
//! to objects, and the sets of parents. They have no text form.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::why::{ForgottenView, ReasonView, StepView};

/// Which writes are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WritesQuery {
    /// Only writes whose object, written as `KIND NAMESPACE/NAME`, or whose hook contains this, in any case of letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// Only writes of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The maximum number of writes: 1 to 1 000. Default: 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The last writes of hooks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WritesView {
    /// Each with the first reason of its run.
    pub writes: Vec<StepView>,
    /// Writes that are not remembered any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<ForgottenView>,
}

/// Runs that have not ended, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveRunsView {
    pub runs: Vec<LiveRunView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveRunView {
    pub id: String,
    pub hook: String,
    pub began: String,
    /// The first reasons.
    pub reasons: Vec<ReasonView>,
    pub reasons_count: usize,
}

/// The log lines of a run that are kept, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogsView {
    pub run: String,
    pub lines: Vec<LineView>,
    /// How many earlier lines of the run are not kept.
    #[serde(default)]
    pub dropped: u64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineView {
    pub at: String,
    /// `ERROR`, `WARN` or `INFO`.
    pub level: String,
    pub message: String,
    /// The fields that the hook gave.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
}

/// What the writes of a run did to their objects, in their order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectsView {
    pub run: String,
    /// Each as in the output of `boathook dev -o json`. Values of Secrets are hidden.
    pub effects: Vec<Value>,
    /// How many later effects of the run are not kept.
    #[serde(default)]
    pub dropped: u64,
}

/// The sets of the parents of `reconcile` bindings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetsView {
    /// By hook, binding and parent.
    pub sets: Vec<SetView>,
    /// How many sets there are. It is larger than the length of `sets` if that list is cut off.
    pub count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetView {
    pub hook: String,
    pub binding: String,
    /// `KIND NAMESPACE/NAME`.
    pub parent: String,
    /// Whether a run about the parent waits in the queue.
    pub queued: bool,
    /// The first members, as `KIND NAMESPACE/NAME`.
    pub members: Vec<String>,
    pub members_count: usize,
}

//! The view of what hooks' bindings match. `snapshot` and `operations.sinceStart` are shell-operator's names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

//! What hooks' bindings match, as shown. `snapshot` and `operations.sinceStart` are shell-operator's names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The snapshots of one hook at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotsView {
    /// The hook.
    pub hook: String,
    /// By the bindings' names.
    pub bindings: BTreeMap<String, BindingSnapshot>,
}

/// A page of one binding's objects.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingSnapshot {
    /// In namespace and name order.
    pub snapshot: Vec<SnapshotItem>,
    /// Objects in the whole snapshot.
    pub count: usize,
    /// Present when there are more: asks for the next page of this binding.
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<String>,
    /// What happened to the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
}

/// Changes of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operations {
    /// Since the operator started.
    pub since_start: OperationCounts,
}

/// Changes in number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationCounts {
    /// Objects now.
    pub count: usize,
    /// Objects that came.
    pub added: u64,
    /// Objects that changed in what the binding sees of them.
    pub modified: u64,
    /// Objects that went.
    pub deleted: u64,
}

/// One object as its binding sees it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotItem {
    /// Absent for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// What the `jqFilter` gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_result: Option<Value>,
    /// The object, as far as the binding keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
}

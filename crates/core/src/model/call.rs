//! Calls that a hook makes to Kubernetes, and their failures: the WIT interface `kube` in host
//! types. Objects are JSON text.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ObjectRef;

/// Which objects to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListQuery {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `Pod`.
    pub kind: String,
    /// Absent: all namespaces, or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// As in `kubectl get -l`.
    pub label_selector: Option<String>,
    /// As in `kubectl get --field-selector`.
    pub field_selector: Option<String>,
    /// Objects in a page; 500 when absent.
    pub limit: Option<u32>,
    /// From the page before.
    pub continue_token: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The objects as JSON, each with `apiVersion` and `kind`.
    pub items: Vec<String>,
    /// Present when there are more.
    pub continue_token: Option<String>,
    /// Of the whole list.
    pub resource_version: String,
}

/// A write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// Creates an object.
    Create(Create),
    /// Replaces an object.
    Update(Update),
    /// Changes an object.
    Patch(Patch),
    /// Deletes an object.
    Delete(Delete),
}

/// What `create` does when the object is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IfExists {
    /// Fails with `AlreadyExists`.
    Fail,
    /// Succeeds without an object.
    Keep,
    /// Replaces the object.
    Replace,
}

/// Creates an object, or a subresource of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Create {
    /// The object as JSON.
    pub object: String,
    /// When it is there already.
    pub if_exists: IfExists,
    /// A subresource (`eviction`) of this object instead.
    pub subresource: Option<(String, ObjectRef)>,
}

/// Replaces an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// The object as JSON.
    pub object: String,
    /// `status`, `scale`, …
    pub subresource: Option<String>,
}

/// How an object is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PatchBody {
    /// JSON Patch.
    Json(String),
    /// JSON Merge Patch.
    Merge(String),
    /// Strategic merge patch.
    Strategic(String),
    /// Read, run this program, write back; repeats on conflict.
    Jq(String),
    /// Server-side apply.
    Apply {
        /// The object as JSON.
        object: String,
        /// Take fields over from other managers.
        force: bool,
        /// `boathook.dev/HOOK` when absent.
        field_manager: Option<String>,
    },
}

/// Changes an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    /// The object.
    pub target: ObjectRef,
    /// The change.
    pub body: PatchBody,
    /// `status`, `scale`, …
    pub subresource: Option<String>,
    /// Success when the object does not exist.
    pub ignore_missing: bool,
}

/// What happens to dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Propagation {
    /// Deleted afterwards.
    Background,
    /// Deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

/// Deletes an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delete {
    /// The object.
    pub target: ObjectRef,
    /// What happens to dependents.
    pub propagation: Propagation,
    /// Success when there is nothing to delete.
    pub ignore_missing: bool,
    /// Only if the object still has this uid.
    pub uid: Option<String>,
    /// Only if the object still has this resource version.
    pub resource_version: Option<String>,
    /// Wait so long for the object to be gone.
    pub wait: Option<Duration>,
}

/// How an Event is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventType {
    /// Information.
    Normal,
    /// Something to look at.
    Warning,
}

/// A Kubernetes Event about an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmitEvent {
    /// The object.
    pub regarding: ObjectRef,
    /// How it is shown.
    pub event_type: EventType,
    /// One word in CamelCase.
    pub reason: String,
    /// A sentence.
    pub note: String,
}

/// Why a call failed; WIT `kube.reason`, where each is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // one to one from the WIT
pub enum CallReason {
    NotFound,
    AlreadyExists,
    Conflict,
    Invalid,
    ForbiddenByGrant,
    ForbiddenByCluster,
    TooLarge,
    Timeout,
    BudgetExceeded,
    Unavailable,
    Other,
}

impl CallReason {
    /// The reason as it stands in logs, metrics and the WIT.
    pub fn label(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::AlreadyExists => "already-exists",
            Self::Conflict => "conflict",
            Self::Invalid => "invalid",
            Self::ForbiddenByGrant => "forbidden-by-grant",
            Self::ForbiddenByCluster => "forbidden-by-cluster",
            Self::TooLarge => "too-large",
            Self::Timeout => "timeout",
            Self::BudgetExceeded => "budget-exceeded",
            Self::Unavailable => "unavailable",
            Self::Other => "other",
        }
    }
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
pub struct CallError {
    /// For deciding.
    pub reason: CallReason,
    /// For reading: verb, object, and the missing permission where that is why.
    pub message: String,
    /// HTTP status, when a server answered.
    pub code: Option<u16>,
    /// The API server's `Status` as JSON, when it sent one.
    pub status: Option<String>,
}

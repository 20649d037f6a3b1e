//! Calls that a hook makes to Kubernetes, and their failures: the WIT interface `kube` in host types. Objects are JSON
//! text.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ObjectRef, Resource};

/// Which objects to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListQuery {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `Pod`.
    pub kind: String,
    /// `None`: all namespaces, or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// As in `kubectl get -l`.
    pub label_selector: Option<String>,
    /// As in `kubectl get --field-selector`.
    pub field_selector: Option<String>,
    /// The most objects on a page. `None`: 500.
    pub limit: Option<u32>,
    /// From the previous page.
    pub continue_token: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The objects as JSON, each with `apiVersion` and `kind`.
    pub items: Vec<String>,
    /// Present if there are more objects.
    pub continue_token: Option<String>,
    /// The resource version of the whole list.
    pub resource_version: String,
}

/// A write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    Create(Create),
    Update(Update),
    Patch(Patch),
    Delete(Delete),
}

impl Operation {
    /// The API's verb for it, in audit lines and metrics. A `jq` patch is an update.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Patch(Patch { body: PatchBody::Jq(_), .. }) | Self::Update(_) => "update",
            Self::Patch(_) => "patch",
            Self::Delete(_) => "delete",
        }
    }
}

/// What `create` does if the object already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IfExists {
    /// Fails with `AlreadyExists`.
    Fail,
    /// Changes nothing, and succeeds without an object.
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
    /// What to do if the object already exists.
    pub if_exists: IfExists,
    /// Creates a subresource (`eviction`) of this object instead.
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
    /// Reads the object, runs this jq program, and writes the object back. Repeats this on conflicts.
    Jq(String),
    /// Server-side apply.
    Apply {
        /// The object as JSON.
        object: String,
        /// Take fields over from other managers.
        force: bool,
        /// `None`: `boathook.dev/HOOK`.
        field_manager: Option<String>,
    },
}

/// Changes an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    pub target: ObjectRef,
    pub body: PatchBody,
    /// `status`, `scale`, …
    pub subresource: Option<String>,
    /// Success if the object does not exist.
    pub ignore_missing: bool,
}

/// What happens to dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Propagation {
    /// They are deleted afterwards.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

/// Deletes an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delete {
    pub target: ObjectRef,
    pub propagation: Propagation,
    /// Success if there is nothing to delete.
    pub ignore_missing: bool,
    /// Only if the object still has this uid.
    pub uid: Option<String>,
    /// Only if the object still has this resource version.
    pub resource_version: Option<String>,
    /// Wait this long for the object to be gone.
    pub wait: Option<Duration>,
}

/// What happens to fields that the API server does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FieldValidation {
    /// The write fails.
    Strict,
    /// They are dropped.
    Ignore,
}

/// How the API server treats the writes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WriteOptions {
    /// Nothing is stored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// `None`: the API server decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_validation: Option<FieldValidation>,
    /// How many seconds a deleted object has for its end. `None`: the object decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period: Option<u32>,
}

impl WriteOptions {
    /// Whether there are none.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A kind as a list of kinds has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedKind {
    pub resource: Resource,
    /// `deploy`.
    pub short_names: Vec<String>,
    /// `get`, `list`.
    pub verbs: Vec<String>,
    /// `all`.
    pub categories: Vec<String>,
}

/// The kinds that the API server serves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KindListing {
    /// Each group in the version that the API server prefers, the core group first.
    pub kinds: Vec<ListedKind>,
    /// The groups that do not answer, as `group/version`.
    pub silent: Vec<String>,
}

/// Whether somebody may do something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessQuestion {
    /// `get`, `list`.
    pub verb: String,
    /// Empty for the core group.
    pub group: String,
    /// The plural, or `pods/log`.
    pub resource: String,
    /// `None`: all namespaces, or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// `None`: all names.
    pub name: Option<String>,
}

/// How an Event is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventType {
    /// Information.
    Normal,
    /// Something that needs attention.
    Warning,
}

/// A Kubernetes Event about an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmitEvent {
    pub regarding: ObjectRef,
    pub event_type: EventType,
    /// One word in CamelCase.
    pub reason: String,
    /// A sentence.
    pub note: String,
}

/// Why a call failed. The WIT's `kube.reason` explains each reason.
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
    /// The name in logs, metrics and the WIT.
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
    /// For programs.
    pub reason: CallReason,
    /// For people: the verb, the object, and the missing permission if that is the reason.
    pub message: String,
    /// The HTTP status, if a server answered.
    pub code: Option<u16>,
    /// The API server's `Status` as JSON, if it sent one.
    pub status: Option<String>,
}

//! The `status` of a HookBundle. `kubectl explain` prints the doc comments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grant::Grant;

/// The observed state of a HookBundle.
#[derive(JsonSchema, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HookBundleStatus {
    /// The generation of the spec that the status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The digest of the version that runs, or that is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,

    /// The same version in readable form: its tag, and the beginning of its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// The version that the source points to, if another one runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Available>,

    /// A version that waits for an admin. The previous version continues to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,

    /// The number of ready hooks and of all hooks, for example 2/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks_ready: Option<String>,

    /// The hooks of the version that runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub hooks: Vec<HookStatus>,

    /// The conditions. Ready: whether the hooks of the running version are ready. Verified and Granted: the state of
    /// the version that the spec selects. Progressing: whether something is under way. Suspended: whether spec.suspend
    /// is set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A version of the bundle.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Available {
    /// The digest of the version.
    pub digest: String,

    /// The version in readable form: its tag, and the beginning of its digest.
    pub version: String,
}

/// A version that waits for an admin.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// The digest of the version.
    pub digest: String,

    /// The version in readable form: its tag, and the beginning of its digest.
    pub version: String,

    /// What the version waits for: AwaitingApproval or MissingGrants.
    pub reason: String,

    /// The rules to add to spec.grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub missing: Vec<Grant>,
}

/// The state of one hook.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookStatus {
    /// The name of the hook in the bundle.
    pub name: String,

    /// The name of the hook in the operator, as in logs, metrics, field managers and `boathook hooks`.
    pub hook: String,

    /// The state: Ready, Pending, Quarantined, Ungranted, Forbidden or Suspended.
    pub state: String,

    /// Why the hook is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// The interpreter that runs the hook, if it is a script: its name, version and digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,

    /// When the last run ended. May be half a minute old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_run: Option<String>,

    /// The error of the last failed run. Absent if the last run succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,

    /// The number of failed runs since the operator started. May be half a minute old.
    pub failures: i64,

    /// The permissions that the hook requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub permissions: Vec<Grant>,

    /// The missing rules: in spec.grants if the hook is Ungranted, or in the roles of its ServiceAccount if it is
    /// Forbidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub missing: Vec<Grant>,
}

/// A condition, in the usual form of Kubernetes.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type: Ready, Verified, Granted, Progressing or Suspended.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub type_: String,

    /// Whether the condition holds.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,

    /// The generation of the spec that the condition describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// When the status last changed.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,

    /// The reason, as one word for programs.
    #[schemars(length(min = 1, max = 1024), regex(pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,

    /// The message for people.
    #[schemars(length(max = 32_768))]
    pub message: String,
}

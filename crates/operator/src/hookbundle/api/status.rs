//! What the controller says of a HookBundle: the fields of `status`. The doc comments are what `kubectl explain`
//! prints. Never decides anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grant::Grant;

/// What became of it.
#[derive(JsonSchema, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HookBundleStatus {
    /// The generation of spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The digest of the version that is at work, or suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,

    /// The same version for people: its tag, and the beginning of its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// What the source points to, where that is not what is at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Available>,

    /// A version that waits for an admin; the one before goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,

    /// Hooks at work, of all: 2/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks_ready: Option<String>,

    /// The hooks of the version that is at work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub hooks: Vec<HookStatus>,

    /// Ready: the hooks of the version at work are. Verified and Granted: of the version that spec asks for.
    /// Progressing: something is under way. Suspended: as spec.suspend says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A version.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Available {
    /// Its digest.
    pub digest: String,

    /// For people: its tag, and the beginning of its digest.
    pub version: String,
}

/// A version that waits.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// Its digest.
    pub digest: String,

    /// For people: its tag, and the beginning of its digest.
    pub version: String,

    /// What it waits for: AwaitingApproval, or MissingGrants.
    pub reason: String,

    /// The rules to add to spec.grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub missing: Vec<Grant>,
}

/// One hook.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookStatus {
    /// Its name in the bundle.
    pub name: String,

    /// Its name in the operator: in logs, metrics, field managers, and for `boathook hooks`.
    pub hook: String,

    /// Ready, Pending, Quarantined, Ungranted, Forbidden or Suspended.
    pub state: String,

    /// Why it is no further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// What runs it, if it is a script: its name, version and digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,

    /// When its last run ended; may be half a minute old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_run: Option<String>,

    /// What its last failed run said; absent when the last run succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,

    /// Failed runs since it began; may be half a minute old.
    pub failures: i64,

    /// What it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub permissions: Vec<Grant>,

    /// The rules that it lacks: of spec.grants when it is Ungranted, of its ServiceAccount's when it is Forbidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub missing: Vec<Grant>,
}

/// A condition, as Kubernetes has them.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Ready, Verified, Granted, Progressing or Suspended.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub type_: String,

    /// Whether it holds.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,

    /// The generation of spec that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// When status changed last.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,

    /// One word for programs.
    #[schemars(length(min = 1, max = 1024), regex(pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,

    /// Words for people.
    #[schemars(length(max = 32_768))]
    pub message: String,
}

//! Admission, and conversion of custom resources: what a hook binds, what it is asked, and what it answers.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BindingName;

/// The two kinds of admission webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AdmissionKind {
    /// `kubernetesValidating[]`: allows or denies.
    Validating,
    /// `kubernetesMutating[]`: changes the object, and may deny.
    Mutating,
}

impl AdmissionKind {
    /// `validating` or `mutating`, as in paths and labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validating => "validating",
            Self::Mutating => "mutating",
        }
    }
}

/// One entry of `kubernetesValidating[]` or `kubernetesMutating[]`. The words and their meaning are those of
/// `admissionregistration.k8s.io/v1`.
#[derive(Debug, Clone, PartialEq)]
pub struct AdmissionBinding {
    /// The list that the binding is from.
    pub kind: AdmissionKind,
    /// `name`: the webhook's name, which has at least three parts.
    pub name: BindingName,
    /// `rules[]`: the requests that the hook is asked about. There is at least one rule.
    pub rules: Vec<AdmissionRule>,
    /// `failurePolicy`, default `Fail`.
    pub failure_policy: FailurePolicy,
    /// `sideEffects`, default `None`.
    pub side_effects: SideEffects,
    /// `timeoutSeconds`, 1 to 30, default 10.
    pub timeout: Duration,
    /// `matchConditions[]`.
    pub match_conditions: Vec<MatchCondition>,
    /// `matchPolicy`, default `Equivalent`.
    pub match_policy: MatchPolicy,
    /// `reinvocationPolicy`, mutating only, default `Never`.
    pub reinvocation_policy: ReinvocationPolicy,
    /// `labelSelector` as the API's `objectSelector`.
    pub object_selector: Option<Value>,
    /// `namespace.labelSelector` as the API's `namespaceSelector`.
    pub namespace_selector: Option<Value>,
    /// `namespace.includeSystem`, default false: `kube-system` and the operator's own namespace are left out, so that a
    /// broken hook cannot lock the cluster.
    pub include_system: bool,
    /// `auditAnnotations`: added to the annotations of each answer.
    pub audit_annotations: Vec<(String, String)>,
    pub group: Option<Arc<str>>,
    /// Names of `kubernetes` bindings, including those of its group.
    pub include_snapshots_from: Arc<[BindingName]>,
}

/// One entry of `rules[]`. `*` stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionRule {
    /// `""` is the core group.
    pub api_groups: Vec<String>,
    /// `v1`
    pub api_versions: Vec<String>,
    /// `pods`, `pods/status`, `pods/*`, `*/scale`, `*`, `*/*`
    pub resources: Vec<String>,
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`, `*`
    pub operations: Vec<String>,
    /// `Cluster`, `Namespaced` or `*`, the default.
    pub scope: String,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requested<'a> {
    /// `""` is the core group.
    pub group: &'a str,
    /// `v1`
    pub version: &'a str,
    /// `pods`
    pub resource: &'a str,
    /// `status`, for example. Empty for the object itself.
    pub subresource: &'a str,
    /// `CREATE`
    pub operation: &'a str,
    /// Whether the object is in a namespace.
    pub namespaced: bool,
}

impl AdmissionRule {
    /// Whether the API server asks about such a request. These are the API server's own rules, by which `pods/*`
    /// includes `pods`.
    pub fn matches(&self, requested: &Requested<'_>) -> bool {
        let any = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        let scope = match self.scope.as_str() {
            "Namespaced" => requested.namespaced,
            "Cluster" => !requested.namespaced,
            _ => true,
        };
        let resource = |known: &String| {
            let (resource, subresource) = known.split_once('/').unwrap_or((known, ""));
            (resource == "*" || resource == requested.resource)
                && (subresource == "*" || subresource == requested.subresource)
        };
        scope
            && any(&self.operations, requested.operation)
            && any(&self.api_groups, requested.group)
            && any(&self.api_versions, requested.version)
            && self.resources.iter().any(resource)
    }
}

/// One entry of `matchConditions[]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchCondition {
    /// A qualified name.
    pub name: String,
    /// CEL; the API server compiles and evaluates it.
    pub expression: String,
}

/// What the API server does when a webhook does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailurePolicy {
    /// The request continues.
    Ignore,
    /// The request is refused.
    #[default]
    Fail,
}

/// What the webhook does in addition to answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SideEffects {
    /// Nothing.
    #[default]
    None,
    /// Nothing, if the request is a dry run.
    NoneOnDryRun,
}

/// Whether a request in another version of a kind matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatchPolicy {
    /// Only requests that the rules name.
    Exact,
    /// Also requests for the same object by another group or version.
    #[default]
    Equivalent,
}

/// Whether a mutating webhook is called again after others changed the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReinvocationPolicy {
    /// It is called once.
    #[default]
    Never,
    /// It may be called again.
    IfNeeded,
}

/// Why a request is denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// For the person who sent the request.
    pub message: String,
    /// The HTTP status. `None`: 403.
    pub code: Option<u16>,
    /// `None`: `Forbidden`.
    pub reason: Option<String>,
}

/// A hook's decision on one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// `None`: the request is allowed.
    pub denied: Option<Denial>,
    /// For the person who sent the request.
    pub warnings: Vec<String>,
    /// For the API server's audit log.
    pub audit_annotations: Vec<(String, String)>,
}

/// What happens to the object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mutation {
    /// It stays as it is.
    #[default]
    Unchanged,
    /// A JSON Patch, as JSON.
    JsonPatch(String),
    /// The whole object as it should be, as JSON.
    Object(String),
}

/// The answer to a review. A validating hook changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reviewed {
    pub verdict: Verdict,
    pub mutation: Mutation,
}

/// One admission request for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Decides which export answers.
    pub kind: AdmissionKind,
    pub binding: BindingName,
    /// An `AdmissionRequest` (admission.k8s.io/v1) as JSON.
    pub request: Arc<str>,
    /// The request is a dry run, and so are all writes of the hook.
    pub dry_run: bool,
}

/// One entry of `kubernetesCustomResourceConversion[]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionBinding {
    pub name: BindingName,
    /// `crdName`, for example `crontabs.stable.example.com`.
    pub crd: Arc<str>,
    /// `conversions[]`: at least one, without duplicates.
    pub conversions: Vec<ConversionRule>,
    pub group: Option<Arc<str>>,
    /// Names of `kubernetes` bindings, including those of its group.
    pub include_snapshots_from: Arc<[BindingName]>,
}

/// One step that a hook can do. Versions are short (`v1beta1`), because the group is the definition's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversionRule {
    /// `fromVersion`
    pub from: Arc<str>,
    /// `toVersion`
    pub to: Arc<str>,
}

impl fmt::Display for ConversionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// One conversion request for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    pub binding: BindingName,
    pub rule: ConversionRule,
    /// Objects of version `rule.from`, as JSON.
    pub objects: Vec<String>,
}

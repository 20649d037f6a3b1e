//! Grants, as RBAC-style rules: in the spec, and in the status if some are missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule that grants permissions, in the form of an RBAC rule. In each list, "*" matches everything.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The API groups. "" is the core group.
    #[schemars(length(min = 1, max = 64), inner(length(max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub api_groups: Vec<String>,

    /// The plural names of resources. A subresource is written as pods/eviction, and all subresources as pods/*.
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub resources: Vec<String>,

    /// The verbs: get, list, create, update, patch and delete for the hook's calls, watch for its bindings, and
    /// validate, mutate and convert for requests of the API server.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub verbs: Vec<String>,

    /// The names of objects. If empty, all names are granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_names: Vec<String>,

    /// The namespaces of objects. If empty, all namespaces and cluster-scoped objects are granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub namespaces: Vec<String>,
}

//! What is granted, in the words of RBAC: in the spec, and in the status where some of it lacks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule of what is granted, as RBAC has it. In each list, "*" stands for all.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// API groups; "" is the core group.
    #[schemars(length(min = 1, max = 64), inner(length(max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub api_groups: Vec<String>,

    /// Plural names; a subresource is pods/eviction, all of them pods/*.
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub resources: Vec<String>,

    /// get, list, create, update, patch, delete for its calls; watch for what it binds; validate, mutate and convert for
    /// what the API server asks it.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub verbs: Vec<String>,

    /// Names of objects. None: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_names: Vec<String>,

    /// Namespaces of objects. None: all, and cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub namespaces: Vec<String>,
}

//! The smallest OpenAPI documents that clients can work with.
//!
//! Never describes objects: kubectl only asks whether a kind's PATCH takes `fieldValidation` and `dryRun`, and
//! then leaves validation to the server.

use serde_json::{Map, Value, json};

use super::{Registry, group_version};

/// `/openapi/v3`: where each group version's document is.
pub(crate) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let path = path_of(&group.name, version);
            let url = format!("/openapi/v3/{path}");
            paths.insert(path, json!({ "serverRelativeURL": url }));
        }
    }
    json!({ "paths": paths })
}

fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// `/openapi/v3/...`: the paths of one group version.
pub(crate) fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let parameter =
        |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } });
    let mut paths = Map::new();
    for resource in registry.in_version(group, version) {
        let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
        let path = format!("/{}{scope}/{}/{{name}}", path_of(group, version), resource.plural);
        let operation = json!({
            "patch": {
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind":
                    { "group": resource.group, "version": resource.version, "kind": resource.kind },
                "parameters": [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")],
                "responses": { "200": { "description": "OK" } },
            }
        });
        paths.insert(path, operation);
    }
    (!paths.is_empty()).then(|| {
        json!({
            "openapi": "3.0.0",
            "info": { "title": format!("Boathook {}", group_version(group, version)), "version": "unversioned" },
            "paths": paths,
        })
    })
}

/// `/openapi/v2` as JSON.
pub(crate) fn swagger() -> Value {
    json!({
        "swagger": "2.0", "info": { "title": "Kubernetes", "version": super::VERSION }, "paths": {}, "definitions": {},
    })
}

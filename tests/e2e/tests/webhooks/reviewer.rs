//! The guest `reviewer`, which answers about a ConfigMap as its annotations say.
//! It never knows what the API server makes of an answer.

use serde_json::{Map, Value, json};

use super::Site;

pub const HOOK: &str = "test/reviewer";
/// The webhooks' configurations.
pub const CONFIGURATION: &str = "boathook-reviewer";
pub const VALIDATE: &str = "validate.reviewer.test";
pub const MUTATE: &str = "mutate.reviewer.test";
/// Like the first, for objects with the label `lenient`, with `failurePolicy: Ignore`.
pub const LENIENT: &str = "lenient.reviewer.test";
/// What it converts.
pub const DEFINITION: &str = "widgets.reviewer.test";

/// A ConfigMap with wishes: binding, key, value.
pub fn config_map(namespace: &str, name: &str, wishes: &[(&str, &str, &str)]) -> Value {
    let annotations: Map<String, Value> =
        wishes.iter().map(|(binding, key, value)| (format!("{binding}/{key}"), json!(value))).collect();
    let metadata = json!({"namespace": namespace, "name": name, "annotations": annotations});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

/// The definition, its objects stored in v2, with this conversion.
pub fn definition(conversion: &Value) -> Value {
    let versions = ["v1", "v2", "v3"].map(|name| {
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        json!({"name": name, "served": true, "storage": name == "v2", "schema": schema})
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": DEFINITION},
        "spec": {
            "group": "reviewer.test",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": versions,
            "conversion": conversion,
        },
    })
}

impl Site {
    /// Waits until the API server asks the reviewer about ConfigMaps.
    pub async fn reviewed(&self) {
        let wishes = [(VALIDATE, "deny", "is it asked?")];
        let probe = self.file("probe.json", &config_map("default", "probe", &wishes));
        let arguments = ["create", "--dry-run=server", "--filename", &probe];
        self.until_said("the reviewer is asked", &arguments, |said| said.err.contains("is it asked?").then_some(()))
            .await;
    }

    /// Whether a ConfigMap of this name can be made in this namespace now; else, what kubectl complains of.
    pub async fn makes(&self, namespace: &str, name: &str) -> Result<(), String> {
        let file = self.file("made.json", &config_map(namespace, name, &[(MUTATE, "label", "yes")]));
        self.cluster.try_kubectl(&["create", "--filename", &file]).await.map(drop)
    }
}

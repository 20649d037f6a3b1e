//! Each Pod of a StatefulSet gets a Service of its own, if the StatefulSet asks for that with an annotation.

use boathook_sdk::prelude::*;
use serde_json::{Value, json};

/// The port of the Services, and of the Pods.
const PORT: &str = "service-per-pod.boathook.dev/port";
/// The number of Services, as a label of the StatefulSet.
const SERVICES: &str = "service-per-pod.boathook.dev/services";

fn config() -> Config {
    let sets =
        Reconcile::new("sets", "apps/v1", "StatefulSet").decorates().annotations(Annotations::new().exists(PORT));
    Config::new().reconcile(sets.owns("v1", "Service").prune(100, 100))
}

fn reconcile(set: reconcile::Parent) -> Result<Desired> {
    let (name, object): (_, Value) = (set.name(), set.object()?);
    let text = object.get("metadata").and_then(|metadata| metadata.get("annotations")?.get(PORT)?.as_str());
    let port: u16 = text.unwrap_or_default().parse().map_err(|_| {
        Error::permanent(format!("the annotation {PORT} of {name} is {:?}: write a port", text.unwrap_or_default()))
    })?;
    let number = |pointer: &str, default: u64| object.pointer(pointer).and_then(Value::as_u64).unwrap_or(default);
    let (replicas, first) = (number("/spec/replicas", 1), number("/spec/ordinals/start", 0));
    let service = |ordinal: u64| {
        let pod = format!("{name}-{ordinal}");
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": pod},
            "spec": {
                "selector": {"statefulset.kubernetes.io/pod-name": pod},
                "ports": [{"port": port, "targetPort": port}],
            },
        })
    };
    let counted = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": name, "labels": {SERVICES: replicas.to_string()}},
    });
    let desired = if replicas == 0 { Desired::none() } else { Desired::new() };
    Ok(desired.children((first..first + replicas).map(service)).child(&counted))
}

boathook_sdk::hook!(config, reconcile = reconcile);

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::{PORT, SERVICES, config, reconcile};
    use boathook_sdk::kube::ObjectRef;
    use boathook_sdk::testing::Kit;
    use serde_json::{Value, json};

    fn set(port: &str, replicas: u64) -> Value {
        let metadata = json!({"namespace": "default", "name": "db", "uid": "u", "annotations": {PORT: port}});
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": replicas}})
    }

    #[test]
    fn each_pod_has_a_service() {
        let mut kit = Kit::answering(config);
        let db = kit.given(&set("5432", 2)).object_ref();
        let ran = kit.reconcile(reconcile, "sets", &db);
        assert_eq!(ran.answer().children.len(), 2);
        let service = |name: &str| ObjectRef::new("v1", "Service", "default", name);
        let found: Value = kit.find(&service("db-1")).unwrap();
        assert_eq!(found["spec"]["selector"], json!({"statefulset.kubernetes.io/pod-name": "db-1"}));
        assert_eq!(found["metadata"]["ownerReferences"][0].get("controller"), None);
        assert_eq!(kit.find::<Value>(&db).unwrap()["metadata"]["labels"][SERVICES], "2");
        kit.given(&set("5432", 1));
        kit.reconcile(reconcile, "sets", &db);
        assert!(kit.find::<Value>(&service("db-1")).is_none());
    }

    #[test]
    fn another_port_is_refused() {
        let mut kit = Kit::answering(config);
        let db = kit.given(&set("http", 1)).object_ref();
        let error = kit.reconcile(reconcile, "sets", &db).result.unwrap_err();
        assert!(error.to_string().contains("is \"http\": write a port"), "{error}");
    }
}

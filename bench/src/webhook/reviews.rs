//! Reviews as kube-apiserver sends them. Always the same: neither contender remembers one.

use serde_json::{Value, json};

use super::NAMESPACE;

/// Of all reviews.
const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

/// A ConfigMap is created.
pub fn config_map() -> String {
    let data = json!({"log-level": "info", "url": "https://db.example.com:5432/app", "replicas": "3"});
    review("ConfigMap", "configmaps", &json!({"metadata": metadata("settings"), "data": data}))
}

/// A Pod with three containers of an image is created.
pub fn pod(image: &str) -> String {
    let container = |name: &str| {
        json!({
            "name": name, "image": image, "imagePullPolicy": "IfNotPresent", "command": ["/bin/server", "--port=8080"],
            "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "NODE", "valueFrom": {"fieldRef": {
                "apiVersion": "v1", "fieldPath": "spec.nodeName"}}}],
            "ports": [{"containerPort": 8080, "protocol": "TCP"}],
            "resources": {"limits": {"memory": "128Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/token", "readOnly": true}],
        })
    };
    let spec = json!({
        "initContainers": [container("init")], "containers": [container("web"), container("proxy")],
        "volumes": [{"name": "token", "secret": {"secretName": "token", "defaultMode": 420}}],
        "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default", "schedulerName": "default-scheduler", "enableServiceLinks": true,
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": 300}],
    });
    review("Pod", "pods", &json!({"metadata": metadata("web-7c5ddbdf54-9xk2p"), "spec": spec, "status": {}}))
}

fn metadata(name: &str) -> Value {
    json!({
        "name": name, "namespace": NAMESPACE, "uid": "3f1c1c2e-6d5b-4d6f-8f7e-0a9b8c7d6e5f",
        "creationTimestamp": "2026-11-01T12:00:00Z", "labels": {"app": "web", "tier": "backend"},
        "managedFields": [{"manager": "kubectl-create", "operation": "Update", "apiVersion": "v1",
            "time": "2026-11-01T12:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app": {}, "f:tier": {}}}}}],
    })
}

fn review(kind: &str, resource: &str, object: &Value) -> String {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("kind".to_owned(), kind.into());
        fields.insert("apiVersion".to_owned(), "v1".into());
    }
    let kind = json!({"group": "", "version": "v1", "kind": kind});
    let resource = json!({"group": "", "version": "v1", "resource": resource});
    let options = json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"});
    let request = json!({
        "uid": UID, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "name": object.pointer("/metadata/name"), "namespace": NAMESPACE, "operation": "CREATE",
        "userInfo": {"username": "jane@example.com", "groups": ["team-web", "system:authenticated"]},
        "object": object, "oldObject": null, "dryRun": false, "options": options,
    });
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).to_string()
}

//! The API server as the attack's programs ask it: JSON, by the rights of their kubeconfig. Never by typed objects, for
//! attackers send what no type would let them.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Cluster(Client);

impl Cluster {
    /// With the rights of `KUBECONFIG`.
    pub async fn new() -> Self {
        let config = kube::Config::infer().await.expect("a program of the cluster has a kubeconfig");
        Self(Client::try_from(config).expect("make a client"))
    }

    pub fn client(&self) -> Client {
        self.0.clone()
    }

    pub async fn get(&self, path: &str) -> Result<Value, String> {
        self.send(Method::GET, path, None, "").await
    }

    pub async fn create(&self, path: &str, object: &Value) -> Result<Value, String> {
        self.send(Method::POST, path, Some(object), "application/json").await
    }

    /// Merges into the object.
    pub async fn merge(&self, path: &str, patch: &Value) -> Result<Value, String> {
        self.send(Method::PATCH, path, Some(patch), "application/merge-patch+json").await
    }

    /// Makes the object, or changes it to this one.
    pub async fn apply(&self, path: &str, object: &Value) -> Result<Value, String> {
        let path = format!("{path}?fieldManager=attack&force=true");
        self.send(Method::PATCH, &path, Some(object), "application/apply-patch+yaml").await
    }

    pub async fn delete(&self, path: &str) -> Result<Value, String> {
        self.send(Method::DELETE, path, None, "").await
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>, kind: &str) -> Result<Value, String> {
        let mut request = Request::builder().method(method).uri(path);
        if body.is_some() {
            request = request.header("content-type", kind);
        }
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(bytes).map_err(|error| error.to_string())?;
        let answer = tokio::time::timeout(PATIENCE, self.0.request::<Value>(request)).await;
        answer.map_err(|_| "no answer".to_owned())?.map_err(|error| error.to_string())
    }
}

/// Where the HookBundles of a namespace are.
pub fn bundles(namespace: &str) -> String {
    format!("/apis/boathook.dev/v1alpha1/namespaces/{namespace}/hookbundles")
}

/// Where a namespace's objects of the core group are.
pub fn core(namespace: &str, resource: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{resource}")
}

/// Whether a condition of an object has this status.
pub fn condition(object: &Value, kind: &str, status: &str) -> bool {
    let all = object["status"]["conditions"].as_array();
    all.into_iter().flatten().any(|one| one["type"] == kind && one["status"] == status)
}

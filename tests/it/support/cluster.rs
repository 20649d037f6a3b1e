//! A local cluster of a test's own, and an admin who writes plain JSON to it.
//!
//! Never goes through Boathook's own way to the cluster.

use std::{collections::BTreeMap, fmt, sync::Mutex};

use boathook_cluster::{Cluster, Options};
use kube::{
    Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    discovery::{Scope, pinned_kind},
};
use serde_json::{Value, json};

/// The manager that the test's own writes name.
const FIELD_MANAGER: &str = "scenario";

/// A cluster and its admin.
pub struct TestCluster {
    pub cluster: Cluster,
    pub admin: Admin,
}

impl TestCluster {
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Self {
        let cluster = Cluster::start(options).await.unwrap();
        let admin = Admin::new(client(&cluster.url()));
        Self { cluster, admin }
    }
}

/// A client as Boathook wants it: without retries of its own.
pub fn client(url: &str) -> Client {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.default_retry = false;
    config.read_timeout = None;
    Client::try_from(config).unwrap()
}

/// Why a call did not succeed.
#[derive(Debug)]
pub enum AdminError {
    /// The object cannot be addressed.
    Object(String),
    /// The API server refused, or did not answer.
    Api(kube::Error),
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(text) => f.write_str(text),
            Self::Api(kube::Error::Api(status)) => write!(f, "{} ({})", status.message, status.code),
            Self::Api(error) => error.fmt(f),
        }
    }
}

impl From<kube::Error> for AdminError {
    fn from(error: kube::Error) -> Self {
        Self::Api(error)
    }
}

impl AdminError {
    fn is(&self, code: u16) -> bool {
        matches!(self, Self::Api(kube::Error::Api(status)) if status.code == code)
    }
}

/// Reads and writes any object.
pub struct Admin {
    pub client: Client,
    kinds: Mutex<BTreeMap<(String, String), (ApiResource, Scope)>>,
}

impl Admin {
    pub fn new(client: Client) -> Self {
        Self { client, kinds: Mutex::default() }
    }

    pub async fn create(&self, object: &Value) -> Result<Value, AdminError> {
        let path = self.collection(object).await?;
        self.send("POST", &path, object).await
    }

    /// Creates an object, or merges it into the one that is there.
    pub async fn apply(&self, object: &Value) -> Result<Value, AdminError> {
        let path = self.path(object).await?;
        loop {
            match self.send("PATCH", &path, object).await {
                Err(error) if error.is(404) => {}
                answer => return answer,
            }
            match self.create(object).await {
                // Somebody else was first.
                Err(error) if error.is(409) => {}
                answer => return answer,
            }
        }
    }

    /// Asks for the deletion of an object that must be there.
    pub async fn delete(&self, object: &Value) -> Result<(), AdminError> {
        let path = self.path(object).await?;
        self.send("DELETE", &path, &json!({})).await.map(drop)
    }

    /// The object as it is now.
    pub async fn get(&self, object: &Value) -> Result<Option<Value>, AdminError> {
        let path = self.path(object).await?;
        let request = http::Request::get(&path).body(Vec::new()).unwrap();
        match self.client.request(request).await.map_err(AdminError::from) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, AdminError> {
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let uri = if method == "DELETE" { path.to_owned() } else { format!("{path}?fieldManager={FIELD_MANAGER}") };
        let request = http::Request::builder().method(method).uri(uri).header("content-type", content_type);
        Ok(self.client.request(request.body(body.to_string().into_bytes()).unwrap()).await?)
    }

    async fn path(&self, object: &Value) -> Result<String, AdminError> {
        let name =
            text(object, "/metadata/name").ok_or_else(|| AdminError::Object("metadata.name is missing".into()))?;
        Ok(format!("{}/{name}", self.collection(object).await?))
    }

    async fn collection(&self, object: &Value) -> Result<String, AdminError> {
        let (resource, scope) = self.kind(object).await?;
        let namespace = text(object, "/metadata/namespace");
        let complain = |text: &str| Err(AdminError::Object(format!("{} {text}", resource.kind)));
        match (scope, namespace) {
            (Scope::Namespaced, None) => complain("needs metadata.namespace"),
            (Scope::Cluster, Some(_)) => complain("has no namespace: metadata.namespace must go"),
            _ => Ok(<DynamicObject as kube::Resource>::url_path(&resource, namespace)),
        }
    }

    async fn kind(&self, object: &Value) -> Result<(ApiResource, Scope), AdminError> {
        let missing = |key: &str| AdminError::Object(format!("{key} is missing"));
        let version = text(object, "/apiVersion").ok_or_else(|| missing("apiVersion"))?;
        let kind = text(object, "/kind").ok_or_else(|| missing("kind"))?;
        let key = (version.to_owned(), kind.to_owned());
        if let Some(found) = self.kinds.lock().unwrap().get(&key) {
            return Ok(found.clone());
        }
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let (resource, capabilities) = pinned_kind(&self.client, &GroupVersionKind::gvk(group, version, kind)).await?;
        let found = (resource, capabilities.scope);
        self.kinds.lock().unwrap().insert(key, found.clone());
        Ok(found)
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

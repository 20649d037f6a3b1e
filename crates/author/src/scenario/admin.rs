//! The admin of a scenario's cluster, who writes plain objects to it. It uses its own client, and not the operator's.

use std::{collections::BTreeMap, sync::Mutex, sync::PoisonError};

use kube::{
    Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    discovery::{Scope, pinned_kind},
};
use serde_json::Value;

/// The field manager of the writes.
const FIELD_MANAGER: &str = "scenario";

#[derive(Debug, thiserror::Error)]
pub(super) enum AdminError {
    /// The object has no valid address.
    #[error("{0}")]
    Object(String),
    #[error("{} ({})", .0.message, .0.code)]
    Refused(Box<kube::core::Status>),
    /// The request failed.
    #[error("the local cluster did not answer: {0}")]
    Silent(String),
}

impl From<kube::Error> for AdminError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(status),
            error => Self::Silent(boathook_core::model::error_chain(&error)),
        }
    }
}

impl AdminError {
    fn is(&self, code: u16) -> bool {
        matches!(self, Self::Refused(status) if status.code == code)
    }
}

/// Reads and writes any object.
pub(super) struct Admin {
    client: Client,
    kinds: Mutex<BTreeMap<(String, String), Kind>>,
}

/// How the API server serves a kind.
#[derive(Clone)]
pub(super) struct Kind {
    pub resource: ApiResource,
    pub scope: Scope,
    /// Its status is a subresource.
    has_status: bool,
}

impl Admin {
    pub fn new(client: Client) -> Self {
        Self { client, kinds: Mutex::default() }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Creates an object, with its status.
    pub async fn create(&self, object: &Value) -> Result<(), AdminError> {
        let path = self.collection(object).await?;
        self.send("POST", &path, object).await?;
        self.status(object).await
    }

    /// Creates an object, or merges it into the existing one.
    pub async fn apply(&self, object: &Value) -> Result<(), AdminError> {
        loop {
            match self.patch(object).await {
                Err(error) if error.is(404) => {}
                answer => return answer,
            }
            match self.create(object).await {
                // Another client created it first.
                Err(error) if error.is(409) => {}
                answer => return answer,
            }
        }
    }

    /// Merges into an existing object.
    pub async fn patch(&self, object: &Value) -> Result<(), AdminError> {
        let path = self.path(object).await?;
        self.send("PATCH", &path, object).await?;
        self.status(object).await
    }

    /// If status is a subresource of the kind, the API server drops it from every other write. It is the task of the
    /// cluster's controllers to write it, and there are none here.
    async fn status(&self, object: &Value) -> Result<(), AdminError> {
        let Some(status) = object.get("status") else { return Ok(()) };
        if !self.kind(object).await?.has_status {
            return Ok(());
        }
        let path = format!("{}/status", self.path(object).await?);
        self.send("PATCH", &path, &serde_json::json!({ "status": status })).await
    }

    /// Requests the deletion of an existing object.
    pub async fn delete(&self, object: &Value) -> Result<(), AdminError> {
        let path = self.path(object).await?;
        self.send("DELETE", &path, &serde_json::json!({})).await
    }

    /// The current object.
    pub async fn get(&self, object: &Value) -> Result<Option<Value>, AdminError> {
        let path = self.path(object).await?;
        match self.request("GET", path, Vec::new()).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Result<(), AdminError> {
        let uri = if method == "DELETE" { path.to_owned() } else { format!("{path}?fieldManager={FIELD_MANAGER}") };
        self.request(method, uri, body.to_string().into_bytes()).await.map(drop)
    }

    async fn request(&self, method: &str, uri: String, body: Vec<u8>) -> Result<Value, AdminError> {
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(&uri).header("content-type", content_type).body(body);
        // A name may contain characters that a path cannot have.
        let request = request.map_err(|error| AdminError::Object(format!("{uri} cannot be asked for: {error}")))?;
        Ok(self.client.request(request).await?)
    }

    /// The path of an object.
    pub async fn path(&self, object: &Value) -> Result<String, AdminError> {
        let name = text(object, "/metadata/name").unwrap_or_default();
        Ok(format!("{}/{name}", self.collection(object).await?))
    }

    async fn collection(&self, object: &Value) -> Result<String, AdminError> {
        let Kind { resource, scope, .. } = self.kind(object).await?;
        let namespace = text(object, "/metadata/namespace");
        let complain = |text: &str| Err(AdminError::Object(format!("{} {text}", resource.kind)));
        match (scope, namespace) {
            (Scope::Namespaced, None) => complain("needs metadata.namespace"),
            (Scope::Cluster, Some(_)) => complain("has no namespace: metadata.namespace must go"),
            _ => Ok(<DynamicObject as kube::Resource>::url_path(&resource, namespace)),
        }
    }

    /// How the API server serves its kind.
    pub async fn kind(&self, object: &Value) -> Result<Kind, AdminError> {
        let version = text(object, "/apiVersion").unwrap_or_default();
        let kind = text(object, "/kind").unwrap_or_default();
        let key = (version.to_owned(), kind.to_owned());
        let known = || self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return Ok(found.clone());
        }
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let (resource, capabilities) = pinned_kind(&self.client, &GroupVersionKind::gvk(group, version, kind)).await?;
        let has_status = capabilities.subresources.iter().any(|(subresource, _)| subresource.plural == "status");
        let found = Kind { resource, scope: capabilities.scope, has_status };
        known().insert(key, found.clone());
        Ok(found)
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

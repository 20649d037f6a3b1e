//! The calls to the API server for registrations.

use std::fmt;

use boathook_core::model::AdmissionKind;
use futures::{Stream, StreamExt as _};
use http::{Method, Request};
use kube::core::WatchEvent;
use serde_json::{Value, json};

use super::{INSTANCE, MANAGED_BY};

/// A call that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} {what}")]
pub struct RegistrationError {
    verb: &'static str,
    what: String,
    #[source]
    source: kube::Error,
}

impl RegistrationError {
    /// Whether the operator is not allowed to do this.
    pub fn is_refused(&self) -> bool {
        self.is(403)
    }

    /// Whether the API server's answer had this status.
    fn is(&self, code: u16) -> bool {
        matches!(&self.source, kube::Error::Api(status) if status.code == code)
    }
}

/// The kinds of objects in a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Configuration(AdmissionKind),
    Definition,
}

impl Kind {
    pub const ALL: [Self; 3] = [
        Self::Configuration(AdmissionKind::Validating),
        Self::Configuration(AdmissionKind::Mutating),
        Self::Definition,
    ];

    /// The label selector of objects that Boathook registered.
    pub fn selector(self) -> String {
        match self {
            Self::Configuration(_) => format!("{}%3D{}", MANAGED_BY.0, MANAGED_BY.1),
            Self::Definition => INSTANCE.to_owned(),
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Configuration(AdmissionKind::Validating) => "validatingwebhookconfigurations",
            Self::Configuration(AdmissionKind::Mutating) => "mutatingwebhookconfigurations",
            Self::Definition => "customresourcedefinitions",
        }
    }

    fn collection(self) -> String {
        let group = match self {
            Self::Configuration(_) => "admissionregistration.k8s.io",
            Self::Definition => "apiextensions.k8s.io",
        };
        format!("/apis/{group}/v1/{}", self.plural())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural())
    }
}

/// Requests only metadata, because a watch needs no more.
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const JSON: &str = "application/json";

/// Cluster-scoped objects, as JSON.
#[derive(Clone)]
pub(super) struct Objects(kube::Client);

impl Objects {
    pub fn new(client: kube::Client) -> Self {
        Self(client)
    }

    /// Lists objects with this label selector.
    pub async fn list(&self, kind: Kind, labels: &str) -> Result<Vec<Value>, RegistrationError> {
        let uri = format!("{}?labelSelector={labels}", kind.collection());
        let mut list = self.send("list", kind.to_string(), Method::GET, &uri, JSON, None).await?;
        Ok(match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        })
    }

    pub async fn get(&self, kind: Kind, name: &str) -> Result<Option<Value>, RegistrationError> {
        match self.send("get", what(kind, name), Method::GET, &at(kind, name), JSON, None).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn create(&self, kind: Kind, object: &Value) -> Result<(), RegistrationError> {
        let uri = format!("{}?fieldManager=boathook", kind.collection());
        self.send("create", what(kind, name(object)), Method::POST, &uri, JSON, Some(object)).await.map(drop)
    }

    /// Replaces an object. Fails if it was changed since it was read.
    pub async fn replace(&self, kind: Kind, object: &Value) -> Result<(), RegistrationError> {
        let uri = format!("{}?fieldManager=boathook", at(kind, name(object)));
        self.send("update", what(kind, name(object)), Method::PUT, &uri, JSON, Some(object)).await.map(drop)
    }

    /// Deletes an object. Fails if it was changed since it was read. If it is already gone, the call succeeds.
    pub async fn delete(&self, kind: Kind, object: &Value) -> Result<(), RegistrationError> {
        let metadata = |key: &str| object.get("metadata").and_then(|metadata| metadata.get(key));
        let preconditions = json!({"uid": metadata("uid"), "resourceVersion": metadata("resourceVersion")});
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions});
        let name = name(object);
        match self.send("delete", what(kind, name), Method::DELETE, &at(kind, name), JSON, Some(&options)).await {
            Err(error) if !error.is(404) => Err(error),
            _ => Ok(()),
        }
    }

    /// Server-side apply, with force, so that it overrides the fields of other managers.
    pub async fn apply(&self, kind: Kind, name: &str, body: &Value) -> Result<(), RegistrationError> {
        let uri = format!("{}?fieldManager=boathook&force=true", at(kind, name));
        let content = "application/apply-patch+yaml";
        self.send("apply", what(kind, name), Method::PATCH, &uri, content, Some(body)).await.map(drop)
    }

    /// Sends a JSON Patch.
    pub async fn patch(&self, kind: Kind, name: &str, patch: &Value) -> Result<(), RegistrationError> {
        let uri = format!("{}?fieldManager=boathook", at(kind, name));
        let content = "application/json-patch+json";
        self.send("patch", what(kind, name), Method::PATCH, &uri, content, Some(patch)).await.map(drop)
    }

    /// Watches objects of this kind. The watch begins with those that exist.
    pub async fn watch(
        &self,
        kind: Kind,
        labels: &str,
        seconds: u64,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Value>, RegistrationError>> + use<>, RegistrationError> {
        let error = move |source| RegistrationError { verb: "watch", what: kind.to_string(), source };
        let uri = format!("{}?watch=true&labelSelector={labels}&timeoutSeconds={seconds}", kind.collection());
        let request = request(Method::GET, &uri, METADATA, JSON, None).map_err(error)?;
        Ok(self.0.request_events::<Value>(request).await.map_err(error)?.map(move |event| event.map_err(error)))
    }

    async fn send(
        &self,
        verb: &'static str,
        what: String,
        method: Method,
        uri: &str,
        content: &str,
        body: Option<&Value>,
    ) -> Result<Value, RegistrationError> {
        let sent = async { self.0.request(request(method, uri, JSON, content, body)?).await };
        sent.await.map_err(|source| RegistrationError { verb, what, source })
    }
}

fn request(
    method: Method,
    uri: &str,
    accept: &str,
    content: &str,
    body: Option<&Value>,
) -> Result<Request<Vec<u8>>, kube::Error> {
    let body = body.map(serde_json::to_vec).transpose().map_err(kube::Error::SerdeError)?.unwrap_or_default();
    let request = Request::builder().method(method).uri(uri).header("accept", accept).header("content-type", content);
    request.body(body).map_err(kube::Error::HttpError)
}

fn at(kind: Kind, name: &str) -> String {
    format!("{}/{name}", kind.collection())
}

fn what(kind: Kind, name: &str) -> String {
    format!("{kind} {name}")
}

/// `metadata.name`
pub(super) fn name(object: &Value) -> &str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// The value of a label.
pub(super) fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels")?.get(name)?.as_str()
}

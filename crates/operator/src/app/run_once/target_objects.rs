//! The objects of the events to run for. They are found in the cluster, or created in a local one, so that snapshots
//! and calls agree with the event.
//!
//! This module never writes to a cluster that it does not own.

use boathook_core::model::{HookSpec, KubernetesBinding, ObjectRef, Resource, WatchEventKind};
use boathook_kube::discovery::Discovery;
use kube::Client;
use serde_json::Value;

use super::{
    OnceError,
    request::{Asked, Bound, TriggerRequest, Wanted},
};

/// The request, with the objects that it concerns.
#[derive(Debug, Clone)]
pub struct Set {
    pub(super) asked: Asked,
    /// For an event: the object, and its state before.
    pub(super) object: Option<(Value, Option<Value>)>,
}

/// A cluster to run on.
pub struct TargetObjects {
    client: Client,
    discovery: Discovery,
    own: bool,
}

impl TargetObjects {
    /// `own` says whether objects may be changed.
    pub fn new(client: Client, own: bool) -> Self {
        Self { discovery: Discovery::new(client.clone()), client, own }
    }

    /// Creates an object if it does not exist.
    pub async fn add(&self, object: &Value) -> Result<(), OnceError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let Ok(resource) = self.discovery.resolve(text("/apiVersion"), text("/kind")).await else {
            // The cluster does not serve the kind, so the snapshot would be empty in any case.
            return Ok(());
        };
        match self.live(&resource, namespace(&resource, object), text("/metadata/name")).await? {
            Some(_) => Ok(()),
            None => self.put(&resource, object, None).await,
        }
    }

    /// Finds the objects of the event. On its own cluster, it also makes the event happen.
    pub async fn set(&self, spec: &HookSpec, asked: Asked) -> Result<Set, OnceError> {
        let (Bound::Kubernetes(binding), TriggerRequest::Event { kind, object, .. }) =
            (asked.bound(spec)?, &asked.occasion)
        else {
            return Ok(Set { asked, object: None });
        };
        let found = self.discovery.find(binding.api_version.as_deref(), &binding.kind).await;
        let resource = found.map_err(|source| OnceError::Kind { binding: binding.name.clone(), source })?;
        let (object, before) = match object {
            Wanted::Named { namespace, name } => {
                (self.named(binding, &resource, namespace.as_deref(), name).await?, None)
            }
            Wanted::Given(object) => self.given(binding, &resource, object, *kind).await?,
        };
        if self.own && *kind == WatchEventKind::Deleted {
            self.remove(&resource, &object).await?;
        }
        Ok(Set { asked, object: Some((object, before)) })
    }

    async fn named(
        &self,
        binding: &KubernetesBinding,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, OnceError> {
        let namespace = resource.namespaced.then(|| namespace.unwrap_or("default"));
        let live = self.live(resource, namespace, name).await?;
        live.ok_or_else(|| {
            let object = reference(resource, namespace, name).to_string();
            OnceError::NoObject { binding: binding.name.clone(), object }
        })
    }

    /// Returns the object with the identity that it has in the cluster, and its state before.
    async fn given(
        &self,
        binding: &KubernetesBinding,
        resource: &Resource,
        object: &Value,
        kind: WatchEventKind,
    ) -> Result<(Value, Option<Value>), OnceError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (wanted, found) = (resource.to_string(), format!("{} {}", text("/apiVersion"), text("/kind")));
        if wanted != found {
            return Err(OnceError::OtherKind { binding: binding.name.clone(), wanted, found });
        }
        let (namespace, name) = (namespace(resource, object), text("/metadata/name"));
        let before = self.live(resource, namespace, name).await?;
        if self.own && kind != WatchEventKind::Deleted {
            self.put(resource, object, before.as_ref()).await?;
        }
        let live = self.live(resource, namespace, name).await?;
        let mut object = object.clone();
        for key in ["uid", "resourceVersion", "creationTimestamp", "namespace"] {
            let value = live.as_ref().and_then(|live| live.get("metadata")?.get(key)).cloned();
            let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
            if let (Some(metadata), Some(value)) = (metadata, value)
                && (self.own || !metadata.contains_key(key))
            {
                metadata.insert(key.to_owned(), value);
            }
        }
        Ok((object, before.filter(|_| kind == WatchEventKind::Modified)))
    }

    async fn live(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Result<Option<Value>, OnceError> {
        match self.send("GET", &resource.path(namespace, Some(name), None), Vec::new()).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(source) => Err(OnceError::Refused { object: reference(resource, namespace, name).to_string(), source }),
        }
    }

    async fn put(&self, resource: &Resource, object: &Value, live: Option<&Value>) -> Result<(), OnceError> {
        let mut object = object.clone();
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let namespace = namespace(resource, &object).map(str::to_owned);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| !matches!(key.as_str(), "uid" | "resourceVersion" | "creationTimestamp"));
        }
        let (method, named) = if live.is_some() { ("PUT", Some(name.as_str())) } else { ("POST", None) };
        let path = resource.path(namespace.as_deref(), named, None);
        if let Some(namespace) = namespace.as_deref().filter(|_| live.is_none()) {
            self.add_namespace(namespace).await?;
        }
        let sent = self.send(method, &path, object.to_string().into_bytes()).await;
        let object = reference(resource, namespace.as_deref(), &name).to_string();
        sent.map(drop).map_err(|source| OnceError::Refused { object, source })
    }

    /// Creates the namespace, because contexts rarely contain the namespaces of their objects.
    async fn add_namespace(&self, name: &str) -> Result<(), OnceError> {
        let namespace = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.send("POST", "/api/v1/namespaces", namespace.to_string().into_bytes()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(source) => Err(OnceError::Refused { object: format!("v1 Namespace {name}"), source }),
        }
    }

    async fn remove(&self, resource: &Resource, object: &Value) -> Result<(), OnceError> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let namespace = namespace(resource, object);
        let options = br#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}"#;
        match self.send("DELETE", &resource.path(namespace, Some(name), None), options.to_vec()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(source) => Err(OnceError::Refused { object: reference(resource, namespace, name).to_string(), source }),
        }
    }

    async fn send(&self, method: &str, path: &str, body: Vec<u8>) -> Result<Value, kube::Error> {
        let request = http::Request::builder().method(method).uri(path).header("content-type", "application/json");
        self.client.request(request.body(body).map_err(kube::Error::HttpError)?).await
    }
}

/// The object's namespace. If it has none, it is `default`.
fn namespace<'o>(resource: &Resource, object: &'o Value) -> Option<&'o str> {
    let given = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
    resource.namespaced.then(|| given.unwrap_or("default"))
}

fn reference(resource: &Resource, namespace: Option<&str>, name: &str) -> ObjectRef {
    ObjectRef {
        api_version: resource.api_version(),
        kind: resource.kind.clone(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    }
}

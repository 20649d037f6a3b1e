//! Reads and writes objects in process, as a controller does.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Controller;
use crate::auth::{MASTERS, User};
use crate::json;
use crate::kinds::{Resource, Sub};
use crate::server::internal_client::InternalClient;
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::{Query, Stored};

/// Maximum number of new objects per reconciliation; the rest must wait for the next one.
pub(super) const BURST: usize = 500;

/// A controller at the API. Its writes are admitted as those of its user.
pub(super) struct Actor<'a> {
    pub shared: &'a Arc<Shared>,
    internal_client: InternalClient,
    /// The source that its Events name.
    component: &'static str,
}

impl<'a> Actor<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, controller: Controller) -> Self {
        let component = component(controller);
        Self {
            shared,
            internal_client: InternalClient::new(user(controller, component), manager(controller)),
            component,
        }
    }

    fn resource(&self, storage: &str) -> Option<Arc<Resource>> {
        self.shared.registry().of_storage(storage).cloned()
    }

    /// The object, unless it is deleted or being deleted.
    pub(super) fn living(&self, storage: &str, key: &str) -> Option<Value> {
        self.shared.store.get(storage, key).filter(|object| !object.terminating).map(|object| object.value())
    }

    /// All objects of a collection in a namespace that `owner` controls.
    pub(super) fn controlled(&self, storage: &str, namespace: &str, owner: &Value) -> Vec<Value> {
        let uid = json::text(owner, &["metadata", "uid"]);
        let owned = |object: &Stored| object.owners.iter().any(|o| *o.uid == *uid);
        let prefix = format!("{namespace}/");
        let query = Query { prefix: &prefix, after: None, at: None, limit: 0, matches: &owned };
        let found = self.shared.store.list(storage, &query).map(|page| page.items).unwrap_or_default();
        let controls = |o: &Value| o.get("controller") == Some(&true.into()) && json::text(o, &["uid"]) == uid;
        let values = found.iter().map(|object| object.value());
        values.filter(|v| json::list(v, &["metadata", "ownerReferences"]).iter().any(controls)).collect()
    }

    /// Creates an object.
    pub(super) async fn make(&self, storage: &str, namespace: &str, object: Value) -> Result<(), Failure> {
        let Some(resource) = self.resource(storage) else { return Ok(()) };
        let made = self.internal_client.create(self.shared, &resource, namespace, object).await;
        made.map(drop).inspect_err(|failure| self.tell(storage, namespace, failure))
    }

    /// Changes an object if it still has this uid, and returns the new state.
    pub(super) async fn edit(
        &self,
        storage: &str,
        object: &Value,
        sub: Option<Sub>,
        change: impl Fn(&mut Value) + Send,
    ) -> Result<Option<Value>, Failure> {
        let Some(resource) = self.resource(storage) else { return Ok(None) };
        let changed = self.internal_client.change(self.shared, &resource, object, sub, change).await;
        changed.inspect_err(|failure| self.tell(storage, json::text(object, &["metadata", "name"]), failure))
    }

    pub(super) async fn set_status(&self, storage: &str, object: &Value, status: &Value) -> Result<(), Failure> {
        let change = |new: &mut Value| {
            json::object(new).insert("status".into(), status.clone());
        };
        self.edit(storage, object, Some(Sub::Status), change).await.map(drop)
    }

    pub(super) async fn remove(&self, storage: &str, object: &Value) -> Result<(), Failure> {
        let Some(resource) = self.resource(storage) else { return Ok(()) };
        let removed = self.internal_client.remove(self.shared, &resource, object).await;
        removed.inspect_err(|failure| self.tell(storage, json::text(object, &["metadata", "name"]), failure))
    }

    fn tell(&self, storage: &str, place: &str, failure: &Failure) {
        let (by, message) = (self.component, failure.message());
        tracing::debug!(by, storage, place, message, "a controller cannot write an object");
    }

    /// Records an Event about a problem with an object. A repeated Event only increases the count.
    pub(super) async fn warn(&self, about: &Value, reason: &str, message: &str) {
        let text = |key: &str| json::text(about, &["metadata", key]);
        let name = format!("{}.{:016x}", text("name"), hash(&[text("uid"), reason, message]));
        let now = crate::time::seconds(crate::time::now());
        if let Some(known) = self.living("events", &crate::store::key(text("namespace"), &name)) {
            let again = |event: &mut Value| {
                let count = json::int(event, &["count"]).unwrap_or(1);
                let fields = json::object(event);
                fields.insert("count".into(), (count + 1).into());
                fields.insert("lastTimestamp".into(), now.clone().into());
            };
            // A rejected Event is lost, as in a real cluster.
            let _counted = self.edit("events", &known, None, again).await;
            return;
        }
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": name },
            "involvedObject": {
                "apiVersion": json::text(about, &["apiVersion"]), "kind": json::text(about, &["kind"]),
                "namespace": text("namespace"), "name": text("name"), "uid": text("uid"),
                "resourceVersion": text("resourceVersion"),
            },
            "type": "Warning", "reason": reason, "message": message, "count": 1, "firstTimestamp": now,
            "lastTimestamp": now, "source": { "component": self.component }, "reportingComponent": self.component,
            "reportingInstance": "",
        });
        let _made = self.make("events", text("namespace"), event).await;
    }
}

/// A reference to a controlling owner.
pub(super) fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": json::text(owner, &["apiVersion"]), "kind": json::text(owner, &["kind"]),
        "name": json::text(owner, &["metadata", "name"]), "uid": json::text(owner, &["metadata", "uid"]),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A pod from a template.
pub(super) fn pod_of(owner: &Value) -> Value {
    let template = json::at(owner, &["spec", "template"]).cloned().unwrap_or_default();
    let mut meta = json::at(&template, &["metadata"]).cloned().unwrap_or_else(|| json!({}));
    let map = json::object(&mut meta);
    map.retain(|key, value| matches!(key.as_str(), "labels" | "annotations" | "finalizers") && !value.is_null());
    map.insert("generateName".into(), format!("{}-", json::text(owner, &["metadata", "name"])).into());
    map.insert("ownerReferences".into(), json!([reference(owner)]));
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.get("spec") })
}

fn component(controller: Controller) -> &'static str {
    match controller {
        Controller::ClusterRoles => "clusterrole-aggregation-controller",
        Controller::Deployments => "deployment-controller",
        Controller::Jobs => "job-controller",
        Controller::Pods => "kubelet",
        Controller::ReplicaSets => "replicaset-controller",
        Controller::RootCa => "root-ca-cert-publisher",
        Controller::ServiceAccounts => "service-account-controller",
        Controller::KubernetesService => "kube-apiserver",
    }
}

fn user(controller: Controller, component: &str) -> User {
    let account = || User::service_account("kube-system", component, "");
    match controller {
        Controller::Pods => User::new("system:node:local").group("system:nodes").authenticated(),
        Controller::KubernetesService => User::new("system:apiserver").group(MASTERS).authenticated(),
        // It aggregates rights that it does not have.
        Controller::ClusterRoles => account().group(MASTERS),
        _ => account(),
    }
}

fn manager(controller: Controller) -> &'static str {
    match controller {
        Controller::Pods => "kubelet",
        Controller::KubernetesService => "kube-apiserver",
        _ => "kube-controller-manager",
    }
}

/// FNV-1a.
fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

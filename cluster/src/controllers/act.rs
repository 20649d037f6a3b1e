//! Reads and writes objects in process, as a controller does. Writes pass webhooks, conversion and validation like every
//! request, but not RBAC, because controllers may do everything.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Controller;
use crate::auth::{MASTERS, User};
use crate::context::{Context, Validation};
use crate::json;
use crate::kinds::{Resource, Sub};
use crate::lifecycle::create::Origin;
use crate::lifecycle::delete::{DeleteOptions, Preconditions, Propagation, delete};
use crate::server::respond::Accept;
use crate::server::{Call, Params, admitted, write};
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::{Query, Stored};

/// Maximum number of new objects per reconciliation; the rest must wait for the next one.
pub(super) const BURST: usize = 500;
/// How often a change is retried when others write the same object.
const ATTEMPTS: usize = 100;

/// A controller at the API. Its writes are admitted as those of its user.
pub(super) struct Actor<'a> {
    pub shared: &'a Arc<Shared>,
    user: User,
    manager: &'static str,
    params: Params,
    /// The source that its Events name.
    component: &'static str,
}

impl<'a> Actor<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, controller: Controller) -> Self {
        let component = controller.component();
        let account = || User::service_account("kube-system", component, "");
        let (user, manager) = match controller {
            Controller::Pods => (User::new("system:node:local").group("system:nodes").authenticated(), "kubelet"),
            Controller::KubernetesService => {
                (User::new("system:apiserver").group(MASTERS).authenticated(), "kube-apiserver")
            }
            // It aggregates rights that it does not have.
            Controller::ClusterRoles => (account().group(MASTERS), "kube-controller-manager"),
            _ => (account(), "kube-controller-manager"),
        };
        Self { shared, user, manager, params: Params::default(), component }
    }

    fn context(&self) -> Context {
        let (now, manager) = (crate::time::now(), self.manager.to_owned());
        Context { now, manager, dry_run: false, validation: Validation::Ignore }
    }

    fn call<'c>(
        &'c self,
        resource: &'c Arc<Resource>,
        (namespace, name): (&'c str, &'c str),
        sub: Option<Sub>,
    ) -> Call<'c> {
        let (params, accept) = (&self.params, &Accept::JSON);
        Call { shared: self.shared, resource, namespace, name, sub, params, accept, user: &self.user }
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
        let registry = self.shared.registry();
        let Some(resource) = registry.of_storage(storage) else { return Ok(()) };
        let call = self.call(resource, (namespace, ""), None);
        let made = write::insert(&call, object, Origin::Put, &self.context()).await;
        made.map(drop).inspect_err(|failure| self.log(storage, namespace, failure))
    }

    /// Changes an object if it still has this uid, and returns the new state. None if it is gone.
    pub(super) async fn edit(
        &self,
        storage: &str,
        object: &Value,
        sub: Option<Sub>,
        change: impl Fn(&mut Value) + Send,
    ) -> Result<Option<Value>, Failure> {
        let changed = self.try_edit(storage, object, sub, change).await;
        changed.inspect_err(|failure| self.log(storage, json::text(object, &["metadata", "name"]), failure))
    }

    async fn try_edit(
        &self,
        storage: &str,
        object: &Value,
        sub: Option<Sub>,
        change: impl Fn(&mut Value) + Send,
    ) -> Result<Option<Value>, Failure> {
        let text = |key: &str| json::text(object, &["metadata", key]);
        let registry = self.shared.registry();
        let Some(resource) = registry.of_storage(storage) else { return Ok(None) };
        let call = self.call(resource, (text("namespace"), text("name")), sub);
        for _ in 0..ATTEMPTS {
            let Some(current) = call.find().await?.filter(|found| *found.raw.uid == *text("uid")) else {
                return Ok(None);
            };
            let old = current.seen.value();
            let mut new = old.clone();
            change(&mut new);
            if new == old {
                return Ok(Some(old));
            }
            let written = write::write(&call, &current, Origin::Put, &self.context(), |_| Ok(new)).await?;
            if let Some((stored, _)) = written {
                return Ok(Some(stored.value()));
            }
        }
        Err(Failure::modified(resource.gr(), text("name")))
    }

    pub(super) async fn set_status(&self, storage: &str, object: &Value, status: &Value) -> Result<(), Failure> {
        let change = |new: &mut Value| {
            json::object(new).insert("status".into(), status.clone());
        };
        self.edit(storage, object, Some(Sub::Status), change).await.map(drop)
    }

    /// Removes an object, if it still has this uid.
    pub(super) async fn remove(&self, storage: &str, object: &Value) -> Result<(), Failure> {
        let removed = self.try_remove(storage, object).await;
        removed.inspect_err(|failure| self.log(storage, json::text(object, &["metadata", "name"]), failure))
    }

    async fn try_remove(&self, storage: &str, object: &Value) -> Result<(), Failure> {
        let text = |key: &str| json::text(object, &["metadata", key]);
        let registry = self.shared.registry();
        let Some(resource) = registry.of_storage(storage) else { return Ok(()) };
        let call = self.call(resource, (text("namespace"), text("name")), None);
        let Some(current) = call.find().await?.filter(|found| *found.raw.uid == *text("uid")) else { return Ok(()) };
        admitted(&call, &Value::Null, &current.seen, &self.context()).await?;
        let preconditions = Preconditions { uid: Some(text("uid").to_owned()), resource_version: None };
        let options = DeleteOptions { preconditions, propagation: Some(Propagation::Background), grace: None };
        match delete(self.shared, resource, &call.key(), &options, &self.context()) {
            // Another client removed it in the meantime.
            Err(failure) if matches!(failure.code(), 404 | 409) => Ok(()),
            ended => ended.map(drop),
        }
    }

    fn log(&self, storage: &str, place: &str, failure: &Failure) {
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

/// FNV-1a.
fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

//! A custom resource, and the objects that it becomes.
//!
//! A hook with `reconcile` bindings has a function `reconcile`. It says what should be for one object; the host makes
//! it so. It is best pure: the host then remembers its answers, and asks only when something is different.
//!
//! ```
//! use boathook_sdk::prelude::*;
//! use boathook_sdk::serde_json::{Value, json};
//!
//! fn config() -> Config {
//!     Config::new().reconcile(Reconcile::new("sites", "example.com/v1", "Site").owns("v1", "ConfigMap"))
//! }
//!
//! fn reconcile(site: reconcile::Parent) -> Result<Desired> {
//!     let spec: Value = site.spec()?;
//!     let page = json!({
//!         "apiVersion": "v1", "kind": "ConfigMap",
//!         "metadata": {"name": site.name()}, "data": {"index.html": spec["page"]},
//!     });
//!     Ok(Desired::new().child(&page).status(&json!({"pages": site.children().len()})))
//! }
//!
//! boathook_sdk::hook!(config, reconcile = reconcile);
//! ```
//!
//! A hook that does something outside the cluster also has a function `finalize`, which undoes it before an object is
//! deleted. The host calls it until it returns [`Finalized::done`].
//!
//! ```
//! # use boathook_sdk::prelude::*;
//! # fn config() -> Config {
//! #     Config::new().reconcile(Reconcile::new("sites", "example.com/v1", "Site").owns("v1", "ConfigMap"))
//! # }
//! # fn reconcile(_: reconcile::Parent) -> Result<Desired> { Ok(Desired::none()) }
//! # fn remove(_: &str) -> Result<bool> { Ok(true) }
//! fn finalize(site: reconcile::Parent) -> Result<Finalized> {
//!     if remove(site.name())? {
//!         return Ok(Finalized::done().event(reconcile::Event::normal("Removed", "the site is offline")));
//!     }
//!     Ok(Finalized::not_yet())
//! }
//!
//! boathook_sdk::hook!(config, reconcile = reconcile, finalize = finalize);
//! ```

use crate::data::{Json, absent, decode};
use crate::error::{Error, Result};
use crate::kube::{Object, ObjectRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::time::Duration;

/// The label of Kubernetes' recommended set that [`Parent::labels`] returns.
const NAME_LABEL: &str = "app.kubernetes.io/name";

/// One object of the custom resource, and what the cluster has of it.
#[derive(Clone, Debug)]
pub struct Parent {
    /// The binding that asks.
    pub binding: String,
    /// The run's id, as in the operator's log.
    pub run: String,
    /// Whether nothing that is returned is stored.
    pub dry_run: bool,
    json: Json,
    object: Object,
    children: Vec<Child>,
    related: Vec<Related>,
}

/// What the host says of a parent.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub json: String,
    pub children: Vec<Child>,
    pub related: Vec<Related>,
}

/// An object that the parent refers to.
#[derive(Clone, Debug)]
pub struct Related {
    /// The name of the entry in `related`.
    pub entry: String,
    /// The object.
    pub json: Json,
}

impl Related {
    /// Reads it as a `T`.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(decode(self.json.as_str(), || format!("a related object of {:?}", self.entry))?)
    }
}

/// A child as the cluster has it.
#[derive(Clone, Debug)]
pub struct Child {
    /// Its name in the cluster.
    pub target: ObjectRef,
    /// The object.
    pub json: Json,
}

impl Child {
    /// Reads it as a `T`.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(decode(self.json.as_str(), || self.target.to_string())?)
    }
}

impl Parent {
    pub(crate) fn new(binding: String, run: String, dry_run: bool, shown: Shown) -> Result<Self> {
        let Shown { json, children, related } = shown;
        let object = decode(&json, || "the parent".to_owned())?;
        Ok(Self { binding, run, dry_run, json: Json::new(json), object, children, related })
    }

    /// Whether the object is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.object.pointer("/metadata/deletionTimestamp").is_some()
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.object.name()
    }

    /// `metadata.namespace`; absent for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.object.namespace()
    }

    /// The whole object as a `T`.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(decode(self.json.as_str(), || format!("{} {}", self.object.kind(), self.name()))?)
    }

    /// Its `spec` as a `T`.
    pub fn spec<T: DeserializeOwned>(&self) -> Result<T> {
        let what = || format!("spec of {} {}", self.object.kind(), self.name());
        let spec = self.object.get("spec").ok_or_else(|| absent(format!("there is no {}", what())))?;
        T::deserialize(spec).map_err(|error| Error::permanent(format!("{}: {error}", what())))
    }

    /// All children that exist.
    pub fn children(&self) -> &[Child] {
        &self.children
    }

    /// The objects that exist of those that the object refers to by this entry of `related`.
    pub fn related<'p>(&'p self, entry: &'p str) -> impl Iterator<Item = &'p Related> + 'p {
        self.related.iter().filter(move |related| related.entry == entry)
    }

    /// The child of this kind and name, if it exists. The namespace does not matter, as it is the parent's.
    pub fn child(&self, kind: &str, name: &str) -> Option<&Child> {
        self.children.iter().find(|child| child.target.kind == kind && child.target.name == name)
    }

    /// Labels for what belongs to it: `app.kubernetes.io/name`, with its name. A selector with them finds its Pods.
    pub fn labels(&self) -> BTreeMap<&'static str, &str> {
        BTreeMap::from([(NAME_LABEL, self.name())])
    }

    /// A child of a kind that has a `spec`. It has the parent's name and [`labels`](Self::labels).
    pub fn new_child<'p>(
        &'p self,
        api_version: &'p str,
        kind: &'p str,
        spec: impl Serialize + 'p,
    ) -> impl Serialize + 'p {
        NewChild { api_version, kind, metadata: NewMetadata { name: self.name(), labels: self.labels() }, spec }
    }

    /// A number or text of a child's status, like `child_status("Deployment", "web", "readyReplicas")`, if there is one.
    pub fn child_status<T: DeserializeOwned>(&self, kind: &str, name: &str, field: &str) -> Option<T> {
        let object: Object = self.child(kind, name)?.object().ok()?;
        T::deserialize(object.get("status")?.get(field)?).ok()
    }
}

/// A child with the name and the labels of its parent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewChild<'p, S> {
    api_version: &'p str,
    kind: &'p str,
    metadata: NewMetadata<'p>,
    spec: S,
}

#[derive(Serialize)]
struct NewMetadata<'p> {
    name: &'p str,
    labels: BTreeMap<&'static str, &'p str>,
}

/// What should be. It says nothing until the function returns it.
#[derive(Debug, Default)]
#[must_use = "it is only an answer when the function returns it"]
pub struct Desired {
    pub(crate) children: Vec<String>,
    pub(crate) none_wanted: bool,
    pub(crate) status: Option<String>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) requeue_after: Option<Duration>,
    pub(crate) events: Vec<Event>,
    /// The first thing that could not be written as JSON.
    pub(crate) unwritable: Option<String>,
}

/// A Kubernetes Event about the object. It needs the permission to `create` and `patch` `events` of `events.k8s.io`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whether it is about a possible problem.
    pub warns: bool,
    /// One word in CamelCase.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl Event {
    /// Information.
    pub fn normal(reason: &str, message: impl Into<String>) -> Self {
        Self { warns: false, reason: reason.to_owned(), message: message.into() }
    }

    /// A possible problem.
    pub fn warning(reason: &str, message: impl Into<String>) -> Self {
        Self { warns: true, ..Self::normal(reason, message) }
    }
}

/// A condition of the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type: `Ready`.
    pub name: String,
    /// Absent if the hook does not know.
    pub holds: Option<bool>,
    /// One word in CamelCase.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl Desired {
    /// Add what is wanted. If nothing is, say so with [`none`](Self::none).
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing is wanted: what exists is deleted.
    pub fn none() -> Self {
        Self { none_wanted: true, ..Self::default() }
    }

    /// An object that should exist, with `apiVersion`, `kind`, `metadata.name`, and only the fields that the hook
    /// decides.
    pub fn child(mut self, object: &impl Serialize) -> Self {
        match serde_json::to_string(object) {
            Ok(text) => self.children.push(text),
            Err(error) => self.unwritable = Some(format!("a child: {error}")),
        }
        self
    }

    /// Several objects. See [`child`](Self::child).
    pub fn children<T: Serialize>(self, objects: impl IntoIterator<Item = T>) -> Self {
        objects.into_iter().fold(self, |desired, object| desired.child(&object))
    }

    /// Fields of the parent's status.
    pub fn status(mut self, status: &impl Serialize) -> Self {
        match serde_json::to_string(status) {
            Ok(text) => self.status = Some(text),
            Err(error) => self.unwritable = Some(format!("the status: {error}")),
        }
        self
    }

    /// A condition. `reason` is one word in CamelCase. `Ready` holds only if all children are applied, too.
    pub fn condition(mut self, name: &str, holds: bool, reason: &str, message: impl Into<String>) -> Self {
        let (name, reason) = (name.to_owned(), reason.to_owned());
        self.conditions.push(Condition { name, holds: Some(holds), reason, message: message.into() });
        self
    }

    /// The condition `Ready`, which holds if all of them are ready. `ready(2, 3, "replicas")` has the reason `Replicas` and the
    /// message `2 of 3 replicas are ready`.
    pub fn ready(self, ready: u32, of: u32, what: &str) -> Self {
        let mut letters = what.chars();
        let reason: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        self.condition("Ready", ready == of, &reason, format!("{ready} of {of} {what} are ready"))
    }

    /// Ask again after this time, if nothing else happens first.
    pub fn requeue_after(mut self, time: Duration) -> Self {
        self.requeue_after = Some(time);
        self
    }

    /// An Event about the object. The host writes at most 10 for each answer.
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}

/// How far the work is that undoes what the hook did outside the cluster.
#[derive(Debug, Default)]
#[must_use = "it is only an answer when the function returns it"]
pub struct Finalized {
    pub(crate) done: bool,
    pub(crate) desired: Desired,
}

impl Finalized {
    /// Everything is undone: the host deletes the children that are left, and then the object.
    pub fn done() -> Self {
        Self { done: true, ..Self::default() }
    }

    /// Ask again. The children that are needed until then are added by [`child`](Self::child). The host deletes the others.
    pub fn not_yet() -> Self {
        Self::default()
    }

    /// A child that is still needed. See [`Desired::child`].
    pub fn child(self, object: &impl Serialize) -> Self {
        Self { desired: self.desired.child(object), ..self }
    }

    /// Several children. See [`child`](Self::child).
    pub fn children<T: Serialize>(self, objects: impl IntoIterator<Item = T>) -> Self {
        Self { desired: self.desired.children(objects), ..self }
    }

    /// Fields of the object's status.
    pub fn status(self, status: &impl Serialize) -> Self {
        Self { desired: self.desired.status(status), ..self }
    }

    /// A condition. `reason` is one word in CamelCase.
    pub fn condition(self, name: &str, holds: bool, reason: &str, message: impl Into<String>) -> Self {
        Self { desired: self.desired.condition(name, holds, reason, message), ..self }
    }

    /// Ask again after this time. Without it, that is the binding's first back-off.
    pub fn requeue_after(self, time: Duration) -> Self {
        Self { desired: self.desired.requeue_after(time), ..self }
    }

    /// An Event about the object.
    pub fn event(self, event: Event) -> Self {
        Self { desired: self.desired.event(event), ..self }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_new_child_has_the_name_and_labels_of_its_parent() {
        let json = r#"{"apiVersion":"example.com/v1","kind":"Site","metadata":{"name":"web"}}"#.to_owned();
        let shown = Shown { json, ..Shown::default() };
        let parent = Parent::new("sites".to_owned(), "run-1".to_owned(), false, shown).unwrap();
        let child = parent.new_child("v1", "Service", json!({"selector": parent.labels()}));
        let expected = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "web"}},
            "spec": {"selector": {"app.kubernetes.io/name": "web"}},
        });
        assert_eq!(serde_json::to_value(child).unwrap(), expected);
        let desired = Desired::new().child(&parent.new_child("v1", "Service", json!({})));
        assert_eq!(serde_json::from_str::<Value>(desired.children.first().unwrap()).unwrap()["kind"], "Service");
    }

    #[test]
    fn ready_says_how_many_are() {
        for (ready, of, holds, message) in
            [(2, 3, false, "2 of 3 replicas are ready"), (0, 0, true, "0 of 0 replicas are ready")]
        {
            let desired = Desired::new().ready(ready, of, "replicas");
            let condition = Condition {
                name: "Ready".to_owned(),
                holds: Some(holds),
                reason: "Replicas".to_owned(),
                message: message.to_owned(),
            };
            assert_eq!(desired.conditions, [condition]);
        }
    }
}

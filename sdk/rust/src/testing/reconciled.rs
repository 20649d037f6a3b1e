//! Reconciles in the kit: parents and children are objects of the kit's cluster.

use super::document::Reconciling;
use super::kit::Kit;
use super::patch;
use super::ran::{Ran, failed};
use super::run::Run;
use crate::data::Json;
use crate::kube::{Object, ObjectRef};
use crate::reconcile::{Child, Condition, Desired, Parent};
use crate::{Error, Result};
use serde_json::{Value, json};
use std::time::Duration;

/// What a hook said should be.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reconciled {
    /// With the parent's namespace, if the hook left it out.
    pub children: Vec<Object>,
    /// The hook means it that there are none.
    pub none_wanted: bool,
    /// `null` without one.
    pub status: Value,
    /// Without those of the host.
    pub conditions: Vec<Condition>,
    /// When the hook wants to be asked again.
    pub requeue_after: Option<Duration>,
}

impl Kit {
    /// Asks the hook's function `reconcile` about an object that the test has [given](Self::given), and makes the
    /// cluster like the answer: children are stored as the parent's, other children of it are removed, and the status is
    /// stored. What only a cluster does to children, such as `readyReplicas`, the test gives.
    ///
    /// Panics if there is no such binding or object, and if the host would refuse the answer.
    #[track_caller]
    pub fn reconcile(
        &mut self,
        reconcile: fn(Parent) -> Result<Desired>,
        binding: &str,
        parent: &ObjectRef,
    ) -> Ran<Reconciled> {
        let Some(known) = self.document.reconcile.iter().find(|known| known.name == binding).cloned() else {
            failed(&format!("the hook has no reconcile binding {binding:?}"));
        };
        let Some(object) = self.cluster.get(parent).cloned() else { failed(&format!("the test gave no {parent}")) };
        if !known.is_about(&object) {
            failed(&format!("the binding {binding:?} is about {} {}", known.api_version, known.kind));
        }
        let children = self.children(&known, &object);
        let shown =
            children.iter().map(|child| Child { target: child.object_ref(), json: Json::new(child.to_string()) });
        let shown: Vec<_> = shown.collect();
        let (name, text) = (binding.to_owned(), object.to_string());
        let ran = self.call(&known.include_snapshots_from, &Run::new(), |info| {
            let desired = reconcile(Parent::new(name, info.run_id, info.dry_run, text, shown)?)?;
            match desired.unwritable {
                Some(what) => Err(Error::permanent(format!("cannot be written as JSON: {what}"))),
                None => Ok(desired),
            }
        });
        let Ran { result, writes, events, log } = ran;
        let result = result.map(|desired| self.apply(&known, object, &children, desired));
        Ran { result, writes, events, log }
    }

    /// The objects that the parent owns, in the order of `owns`.
    fn children(&self, known: &Reconciling, parent: &Object) -> Vec<Object> {
        let owned = |object: &&Object| {
            let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            owners.is_some_and(|owners| {
                owners.iter().any(|owner| owner.get("uid").and_then(Value::as_str) == parent.uid())
            })
        };
        let of_kind = |kind| self.cluster.all().filter(move |object| Reconciling::is(kind, object)).filter(owned);
        known.owns.iter().flat_map(of_kind).cloned().collect()
    }

    #[track_caller]
    fn apply(&mut self, known: &Reconciling, mut parent: Object, before: &[Object], desired: Desired) -> Reconciled {
        let Desired { children, none_wanted, status, conditions, requeue_after, .. } = desired;
        let children: Vec<_> = children.iter().map(|text| owned_by(&parent, known, text)).collect();
        if children.is_empty() && !none_wanted && !before.is_empty() {
            failed("the answer has no children, and does not say that none are wanted: see Desired::none");
        }
        for old in before.iter().map(Object::object_ref) {
            if !children.iter().any(|child| child.object_ref() == old) {
                self.cluster.remove(&old);
            }
        }
        for child in &children {
            let mut stored = self.cluster.get(&child.object_ref()).cloned().unwrap_or_default();
            patch::merge(&mut stored.0, &child.0);
            self.place(stored);
        }
        let status = status.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        if !matches!(status, Value::Null | Value::Object(_)) {
            failed(&format!("the status is no object: {status}"));
        }
        if let Some(fields) = parent.as_object_mut() {
            fields.insert("status".to_owned(), status.clone());
        }
        self.place(parent);
        Reconciled { children, none_wanted, status, conditions, requeue_after }
    }
}

/// A child as the host would store it.
#[track_caller]
fn owned_by(parent: &Object, known: &Reconciling, text: &str) -> Object {
    let Ok(Value::Object(mut child)) = serde_json::from_str(text) else {
        failed(&format!("a child is no object: {text}"))
    };
    let metadata = child.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else { failed(&format!("a child has no metadata: {text}")) };
    if let (None, Some(namespace)) = (metadata.get("namespace"), parent.namespace()) {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    let owner = json!({
        "apiVersion": parent.api_version(), "kind": parent.kind(), "name": parent.name(), "uid": parent.uid(),
        "controller": true,
    });
    metadata.insert("ownerReferences".to_owned(), json!([owner]));
    let child = Object(Value::Object(child));
    if child.name().is_empty() {
        failed(&format!("a child has no name: {text}"));
    }
    if !known.owns.iter().any(|kind| Reconciling::is(kind, &child)) {
        let (version, kind) = (child.api_version(), child.kind());
        failed(&format!("{kind} {}: the binding does not own {version} {kind}", child.name()));
    }
    child
}

//! Reconciles in the kit: parents and children are objects of the kit's cluster.

use super::document::Reconciling;
use super::kit::Kit;
use super::patch;
use super::ran::{Ran, failed};
use super::run::Run;
use crate::data::Json;
use crate::kube::{Object, ObjectRef};
use crate::reconcile::{Child, Condition, Desired, Event, Finalized, Parent, Related, Shown};
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
    /// About the parent.
    pub events: Vec<Event>,
    /// Whether the parent may end. Only `finalize` says so.
    pub done: bool,
}

impl Kit {
    /// Asks the hook's function `reconcile` about an object that the test has [given](Self::given), and makes the
    /// cluster like the answer: children are stored as the parent's, other children of it are removed, and the status is
    /// stored. What only a cluster does to children, such as `readyReplicas`, the test gives. The labels and annotations that
    /// a decorator sets are stored, and those of an earlier answer stay.
    ///
    /// Panics if there is no such binding or object, and if the host would refuse the answer.
    #[track_caller]
    pub fn reconcile(
        &mut self,
        reconcile: fn(Parent) -> Result<Desired>,
        binding: &str,
        parent: &ObjectRef,
    ) -> Ran<Reconciled> {
        self.asked(binding, parent, |parent| Ok((reconcile(parent)?, None)))
    }

    /// Asks the hook's function `finalize` about an object that is being deleted, and makes the cluster like the answer: the
    /// children that are not needed any more are removed, and after [`Finalized::done`], all children and the object.
    ///
    /// Panics like [`reconcile`](Self::reconcile).
    #[track_caller]
    pub fn finalize(
        &mut self,
        finalize: fn(Parent) -> Result<Finalized>,
        binding: &str,
        parent: &ObjectRef,
    ) -> Ran<Reconciled> {
        let Some(mut object) = self.cluster.get(parent).cloned() else { failed(&format!("the test gave no {parent}")) };
        if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            metadata.entry("deletionTimestamp").or_insert_with(|| json!("2000-01-01T00:00:00Z"));
        }
        self.place(object);
        let ran = self.asked(binding, parent, |parent| {
            let Finalized { done, desired } = finalize(parent)?;
            Ok((desired, Some(done)))
        });
        if ran.result.as_ref().is_ok_and(|answer| answer.done) {
            self.cluster.remove(parent);
        }
        ran
    }

    #[track_caller]
    fn asked(
        &mut self,
        binding: &str,
        parent: &ObjectRef,
        ask: impl FnOnce(Parent) -> Result<(Desired, Option<bool>)>,
    ) -> Ran<Reconciled> {
        let Some(known) = self.document.reconcile.iter().find(|known| known.name == binding).cloned() else {
            failed(&format!("the hook has no reconcile binding {binding:?}"));
        };
        let Some(object) = self.cluster.get(parent).cloned() else { failed(&format!("the test gave no {parent}")) };
        if !known.is_about(&object) {
            failed(&format!("the binding {binding:?} is about {} {}", known.api_version, known.kind));
        }
        let children = self.children(&known, &object);
        let shown = Shown {
            children: (children.iter())
                .map(|child| Child { target: child.object_ref(), json: Json::new(child.to_string()) })
                .collect(),
            related: self.related(&known, &object),
            json: object.to_string(),
        };
        let name = binding.to_owned();
        let ran = self.call(&known.include_snapshots_from, &Run::new(), |info| {
            let (desired, done) = ask(Parent::new(name, info.run_id, info.dry_run, shown)?)?;
            match desired.unwritable {
                Some(what) => Err(Error::permanent(format!("cannot be written as JSON: {what}"))),
                None => Ok((desired, done)),
            }
        });
        let Ran { result, writes, events, log, sent } = ran;
        let result = result.map(|(desired, done)| {
            // No children are needed when the work is done, and none is no mistake before.
            let desired = match done {
                Some(true) => Desired { children: Vec::new(), none_wanted: true, ..desired },
                Some(false) => Desired { none_wanted: true, ..desired },
                None => desired,
            };
            let answer = self.apply(&known, object, &children, desired);
            Reconciled { done: done.unwrap_or_default(), ..answer }
        });
        Ran { result, writes, events, log, sent }
    }

    /// The objects that the parent refers to, in the order of `related`.
    fn related(&self, known: &Reconciling, parent: &Object) -> Vec<Related> {
        let of_entry = |entry: &super::document::Relating| {
            let found: Vec<_> = (self.cluster.all())
                .filter(|object| entry.is_of(parent, object))
                .map(|object| Related { entry: entry.name.clone(), json: Json::new(object.to_string()) })
                .collect();
            found
        };
        known.related.iter().flat_map(of_entry).collect()
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
        let Desired { mut children, none_wanted, status, conditions, requeue_after, events, .. } = desired;
        if known.decorates {
            if status.is_some() || !conditions.is_empty() {
                failed("the hook decorates objects of others, and returned a status or conditions of one");
            }
            parent = decorated(parent, &mut children);
        }
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
        if let Some(fields) = parent.as_object_mut().filter(|_| !known.decorates) {
            fields.insert("status".to_owned(), status.clone());
        }
        self.place(parent);
        Reconciled { children, none_wanted, status, conditions, requeue_after, events, done: false }
    }
}

/// The parent with the labels and annotations that a decorator sets. The parent is not among the children after that.
#[track_caller]
fn decorated(mut parent: Object, children: &mut Vec<String>) -> Object {
    let read = |text: &String| serde_json::from_str(text).map(Object).unwrap_or_default();
    let is = |object: &Object| {
        let place = object.namespace().or(parent.namespace());
        (object.kind(), object.name(), place) == (parent.kind(), parent.name(), parent.namespace())
            && object.api_version() == parent.api_version()
    };
    let set: Vec<_> = children.iter().map(read).filter(|object| is(object)).collect();
    children.retain(|text| !is(&read(text)));
    for object in set {
        let mut fields = object.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        if let Some(other) = fields.find(|name| !["apiVersion", "kind", "metadata"].contains(name)) {
            failed(&format!("a decorator sets only labels and annotations of {}, not {other}", parent.name()));
        }
        let of = |mapping: &str| object.pointer(&format!("/metadata/{mapping}")).cloned().unwrap_or_default();
        let metadata = json!({"labels": of("labels"), "annotations": of("annotations")});
        let metadata: serde_json::Map<_, _> = metadata
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.clone(), v.clone()))
            .filter(|(_, v)| !v.is_null())
            .collect();
        patch::merge(&mut parent.0, &json!({ "metadata": metadata }));
    }
    parent
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
    let mut owner = json!({
        "apiVersion": parent.api_version(), "kind": parent.kind(), "name": parent.name(), "uid": parent.uid(),
    });
    if let Some(fields) = owner.as_object_mut().filter(|_| !known.decorates) {
        fields.insert("controller".to_owned(), true.into());
    }
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

//! `reconcile[]`: a custom resource, and the objects that a hook wants for each of its objects.

use std::{borrow::Cow, collections::BTreeMap, num::NonZeroU8, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    BindingName, Content, EventType, FieldPath, KubernetesBinding, MayWatch, ObjectRef, QueueName, RetryPolicy,
    WatchEventKind,
};

/// One entry of `reconcile[]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReconcileBinding {
    /// `name`, default `reconcile`.
    pub name: BindingName,
    /// The kind of the parents.
    pub parent: OwnedKind,
    /// `namespace.nameSelector.matchNames`. Empty: all.
    pub namespaces: Vec<String>,
    /// As the API takes it: `app=web,tier in (a,b)`.
    pub label_selector: Option<String>,
    /// `decorates`: the parents are objects of others. Its hook attaches objects to them, and may set labels and annotations.
    pub decorates: bool,
    /// `annotationSelector`, only with `decorates`. All conditions must hold. The API server does not select by annotations.
    pub annotations: Vec<AnnotationRule>,
    /// `owns`: the kinds that the hook may return.
    pub owns: Vec<OwnedKind>,
    /// `related`: what its hook reads, and what wakes its parents.
    pub related: Vec<Related>,
    pub prune: PruneLimits,
    pub adopt: Adopt,
    /// `revisions`: so many sets of a parent's objects are kept, with the newest one. Default: none.
    pub revisions: Option<usize>,
    /// `resync`: each parent is reconciled again after this time, although nothing changed. Default: never.
    pub resync: Option<Duration>,
    /// Names of `kubernetes` bindings. A change of one of their objects does not reconcile anything.
    pub include_snapshots_from: Arc<[BindingName]>,
    pub queue: QueueName,
    pub retry: RetryPolicy,
}

/// A kind, as a document names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnedKind {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
}

impl OwnedKind {
    /// The API group, empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// `Deployment.apps`, or `ConfigMap` in the core group.
    pub fn group_kind(&self) -> String {
        if self.group().is_empty() { self.kind.to_string() } else { format!("{}.{}", self.kind, self.group()) }
    }
}

/// One condition of `annotationSelector`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationRule {
    pub key: String,
    pub test: AnnotationTest,
}

/// What must be true of an annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnotationTest {
    In(Vec<String>),
    /// Also true if there is no such annotation, as for labels.
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

impl AnnotationRule {
    fn holds(&self, annotations: &BTreeMap<Cow<'_, str>, Cow<'_, str>>) -> bool {
        let value = annotations.get(self.key.as_str());
        let is_one = |values: &[String]| value.is_some_and(|value| values.iter().any(|one| *one == **value));
        match &self.test {
            AnnotationTest::In(values) => is_one(values),
            AnnotationTest::NotIn(values) => !is_one(values),
            AnnotationTest::Exists => value.is_some(),
            AnnotationTest::DoesNotExist => value.is_none(),
        }
    }
}

/// One entry of `related[]`: objects that a parent refers to. A parent with a namespace refers to objects in this namespace
/// only, unless the document names another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    /// `name`: what the hook calls these objects.
    pub name: Arc<str>,
    pub kind: OwnedKind,
    /// `namespace`: where the objects are, for all parents.
    pub namespace: Option<String>,
    /// `nameFrom`: where the parent has their names. Without it, all objects that are watched are meant.
    pub name_from: Option<FieldPath>,
    /// `labelSelector`: what is watched.
    pub label_selector: Option<String>,
}

impl Related {
    /// Whether a parent in this namespace may refer to an object in that namespace. A cluster-scoped parent refers to
    /// objects in namespaces by a selector only, because a name alone does not say which of them is meant.
    pub fn reaches(&self, parent: Option<&str>, object: Option<&str>) -> bool {
        match (object, self.namespace.as_deref().or(parent)) {
            (None, _) => true,
            (Some(object), Some(namespace)) => object == namespace,
            (Some(_), None) => self.name_from.is_none(),
        }
    }
}

/// `prune`: how many of a parent's objects may be deleted at once without an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneLimits {
    /// `maxShare`: of the objects that exist, in percent. Default: 50.
    pub max_share: NonZeroU8,
    /// `maxObjects`. Default: 20.
    pub max_objects: usize,
}

impl Default for PruneLimits {
    fn default() -> Self {
        const HALF: NonZeroU8 = match NonZeroU8::new(50) {
            Some(half) => half,
            None => NonZeroU8::MIN,
        };
        Self { max_share: HALF, max_objects: 20 }
    }
}

/// `adopt`: what happens if an object that the hook returns exists and belongs to no set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Adopt {
    /// It is refused.
    #[default]
    Never,
    /// It becomes a member, unless a controller owns it.
    IfUnowned,
    /// It becomes a member.
    Always,
}

/// What the objects of a `kubernetes` binding are to a `reconcile` binding. Such bindings are not in a document. They are
/// derived from `reconcile[]`, so that everything that watches, bounds and shows bindings concerns them, too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Role {
    /// The parents of the `reconcile` binding with the same name.
    Parents,
    /// Members of the sets of the `reconcile` binding with this name.
    Members(BindingName),
    /// What the parents of the `reconcile` binding with this name refer to.
    Related(BindingName),
}

/// A parent, and what the cluster has of it.
#[derive(Debug, Clone)]
pub struct Reconcile {
    pub binding: BindingName,
    /// The object as JSON.
    pub parent: Arc<str>,
    /// The parent is being deleted, so the question is to `finalize`.
    pub finalizes: bool,
    pub children: Vec<Child>,
    pub related: Vec<RelatedObject>,
    /// The snapshots that the hook may open.
    pub snapshots: Arc<[BindingName]>,
}

/// A member of a parent's set, as the cluster has it.
#[derive(Debug, Clone)]
pub struct Child {
    pub target: ObjectRef,
    /// The object as JSON.
    pub object: Arc<str>,
}

/// An object that a parent refers to.
#[derive(Debug, Clone)]
pub struct RelatedObject {
    /// The entry of the document's `related`.
    pub entry: Arc<str>,
    /// The object as JSON.
    pub object: Arc<str>,
}

/// What a hook wants for a parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciled {
    /// Objects as JSON.
    pub children: Vec<String>,
    /// No children are wanted. Without this, an empty list is an error.
    pub none_wanted: bool,
    /// Nothing outside the cluster is left to undo. Only `finalize` says so.
    pub done: bool,
    /// The status as JSON.
    pub status: Option<String>,
    pub conditions: Vec<OwnCondition>,
    pub requeue_after: Option<Duration>,
    pub events: Vec<OwnEvent>,
}

impl Reconciled {
    /// The bytes of its texts.
    pub fn bytes(&self) -> usize {
        let conditions = self.conditions.iter().map(|one| one.r#type.len() + one.reason.len() + one.message.len());
        let events = self.events.iter().map(|one| one.reason.len() + one.message.len());
        let children = self.children.iter().map(String::len);
        children.chain(conditions).chain(events).sum::<usize>() + self.status.as_ref().map_or(0, String::len)
    }
}

/// An Event about the parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnEvent {
    pub r#type: EventType,
    pub reason: String,
    pub message: String,
}

/// A condition that the hook itself sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCondition {
    pub r#type: String,
    /// `None`: unknown.
    pub holds: Option<bool>,
    pub reason: String,
    pub message: String,
}

/// All members have this label. Its value identifies the set (KEP-3659).
pub const PART_OF: &str = "applyset.kubernetes.io/part-of";

impl ReconcileBinding {
    /// Whether both are about objects of one kind. An object's set and its finalizer depend on the object alone, so two
    /// bindings with the same object would delete each other's children. Selectors are not compared: an object that one of
    /// them selects may get the other's labels at any time. Decorators have sets of their own, so any number may have an
    /// object.
    pub fn has_parents_of(&self, other: &Self) -> bool {
        !self.decorates
            && !other.decorates
            && (self.parent.group(), &self.parent.kind) == (other.parent.group(), &other.parent.kind)
    }

    /// Whether the parent, as JSON, has the wanted annotations. The watch has selected it by its labels.
    pub fn selects(&self, parent: &str) -> bool {
        #[derive(Default, Deserialize)]
        struct Head<'a> {
            #[serde(borrow, default)]
            metadata: Metadata<'a>,
        }
        #[derive(Default, Deserialize)]
        struct Metadata<'a> {
            #[serde(borrow, default)]
            annotations: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
        }
        if self.annotations.is_empty() {
            return true;
        }
        let head: Head<'_> = serde_json::from_str(parent).unwrap_or_default();
        self.annotations.iter().all(|rule| rule.holds(&head.metadata.annotations))
    }

    /// The bindings that watch its parents, its members, and what is related.
    pub fn informers(&self) -> impl Iterator<Item = KubernetesBinding> {
        let members = self.owns.iter().map(|kind| {
            let name = self.members_of(kind);
            self.informer(name, kind, Some(PART_OF.to_owned()), Role::Members(self.name.clone()))
        });
        let related = self.related.iter().map(|related| {
            let (name, labels) = (self.watching(related), related.label_selector.clone());
            let informer = self.informer(name, &related.kind, labels, Role::Related(self.name.clone()));
            match &related.namespace {
                Some(namespace) => KubernetesBinding { namespaces: vec![namespace.clone()], ..informer },
                None => informer,
            }
        });
        let parents = self.informer(self.name.clone(), &self.parent, self.label_selector.clone(), Role::Parents);
        let parents = KubernetesBinding { include_snapshots_from: self.inputs(), ..parents };
        std::iter::once(parents).chain(members).chain(related)
    }

    /// The kind of the objects in which revisions are kept, in the parents' namespaces. A revision contains all that the objects of
    /// a parent contain, so revisions with Secrets are Secrets. Their binding may write Secrets anyway.
    pub fn revisions_in(&self) -> OwnedKind {
        let is_secret = |kind: &OwnedKind| kind.group().is_empty() && &*kind.kind == "Secret";
        let (api_version, kind) = match self.owns.iter().any(is_secret) {
            true => ("v1", "Secret"),
            false => ("apps/v1", "ControllerRevision"),
        };
        OwnedKind { api_version: api_version.into(), kind: kind.into() }
    }

    /// What must be listed before a parent is reconciled.
    pub fn inputs(&self) -> Arc<[BindingName]> {
        let members = self.owns.iter().map(|kind| self.members_of(kind));
        let related = self.related.iter().map(|related| self.watching(related));
        self.include_snapshots_from.iter().cloned().chain(members).chain(related).collect()
    }

    /// The name of the binding that watches members of this kind: `hello/Deployment.apps`.
    pub fn members_of(&self, kind: &OwnedKind) -> BindingName {
        BindingName::new(format!("{}/{}", self.name, kind.group_kind()))
    }

    /// The name of the binding that watches what is related: `hello/related/images`.
    pub fn watching(&self, related: &Related) -> BindingName {
        BindingName::new(format!("{}/related/{}", self.name, related.name))
    }

    fn informer(&self, name: BindingName, of: &OwnedKind, labels: Option<String>, role: Role) -> KubernetesBinding {
        KubernetesBinding {
            name,
            role: Some(role),
            api_version: Some(of.api_version.to_string()),
            kind: of.kind.to_string(),
            names: Vec::new(),
            namespaces: self.namespaces.clone(),
            namespace_labels: None,
            label_selector: labels,
            field_selector: None,
            events: vec![WatchEventKind::Added, WatchEventKind::Modified, WatchEventKind::Deleted],
            on_synchronization: true,
            wait_for_synchronization: true,
            resynchronization_period: None,
            ignore_own_writes: false,
            debounce: Duration::ZERO,
            previous_object: false,
            content: Content::Full,
            jq_filter: None,
            group: None,
            include_snapshots_from: Arc::new([]),
            queue: self.queue.clone(),
            allow_failure: false,
            retry: self.retry,
            may_watch: MayWatch::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn related(namespace: Option<&str>, name_from: Option<&str>) -> Related {
        Related {
            name: "config".into(),
            kind: OwnedKind { api_version: "v1".into(), kind: "ConfigMap".into() },
            namespace: namespace.map(str::to_owned),
            name_from: name_from.map(|path| FieldPath::parse(path).unwrap()),
            label_selector: None,
        }
    }

    #[test]
    fn a_reference_stays_in_its_namespace_unless_the_document_names_another_one() {
        let (path, own) = (Some(".spec.config"), Some("a"));
        for (entry, parent, object, reaches) in [
            (related(None, path), own, Some("a"), true),
            (related(None, path), own, Some("b"), false),
            (related(None, None), own, Some("b"), false),
            (related(Some("b"), path), own, Some("b"), true),
            (related(Some("b"), path), own, Some("a"), false),
            // Cluster-scoped objects and parents.
            (related(None, path), own, None, true),
            (related(None, path), None, Some("a"), false),
            (related(None, None), None, Some("a"), true),
            (related(Some("b"), path), None, Some("b"), true),
            (related(Some("b"), None), None, Some("a"), false),
        ] {
            assert_eq!(entry.reaches(parent, object), reaches, "{entry:?} {parent:?} {object:?}");
        }
    }
}

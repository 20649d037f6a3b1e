//! Who is who: members, sets as KEP-3659 names them, parents, and to whom an object belongs.

use std::{collections::BTreeSet, fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use boathook_core::model::{ObjectRef, Resource};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// The label of each member. Its value is the ID of the set.
pub const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// The label that makes an object the parent of a set.
pub const ID: &str = "applyset.kubernetes.io/id";
/// The annotation of a parent with the tool that writes the set.
pub const TOOLING: &str = "applyset.kubernetes.io/tooling";
/// The annotation of a parent with the kinds of its members.
pub const GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// The annotation of a parent with the namespaces of its members, without its own.
pub const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
/// The annotation of a member with the digest of what was last applied. With it, an operator that restarts knows
/// whether a member is as desired, and sends nothing. Managed fields would say it, too, but watches do not keep them.
pub const APPLIED: &str = "boathook.dev/applied";

/// The annotation of a parent with the field manager of its members. KEP-3659 has no name for one of several writers that
/// are the same tool. A prune by another one would delete what it knows nothing of.
pub const MANAGER: &str = "boathook.dev/manager";

/// The annotation of a member of a decorator with the ID of its set. The owner reference of such a member is not that of its
/// controller, so without the label nothing else would say whose it is.
pub const DECORATED: &str = "boathook.dev/part-of";

/// The tool in [`TOOLING`].
const TOOL: &str = "boathook";

/// One object, whatever version it is read in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId {
    /// Empty for the core group.
    pub group: Arc<str>,
    pub kind: Arc<str>,
    /// `None` for cluster-scoped objects.
    pub namespace: Option<Arc<str>>,
    pub name: Arc<str>,
}

impl MemberId {
    pub fn of(object: &ObjectRef) -> Self {
        Self {
            group: group(&object.api_version).into(),
            kind: object.kind.as_str().into(),
            namespace: object.namespace.as_deref().filter(|namespace| !namespace.is_empty()).map(Arc::from),
            name: object.name.as_str().into(),
        }
    }

    /// `Deployment.apps`, or `ConfigMap` in the core group, as in [`GROUP_KINDS`].
    pub fn group_kind(&self) -> String {
        if self.group.is_empty() { self.kind.to_string() } else { format!("{}.{}", self.kind, self.group) }
    }

    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        *self.group == *group && *self.kind == *kind
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.group_kind())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The ID of a set. It depends only on the parent's group, kind, namespace and name, and on the decorator if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(Arc<str>);

impl SetId {
    /// `applyset-BASE64URL(SHA256(NAME.NAMESPACE.KIND.GROUP))-v1`.
    pub fn of(parent: &ObjectRef) -> Self {
        let namespace = parent.namespace.as_deref().unwrap_or_default();
        let text = format!("{}.{namespace}.{}.{}", parent.name, parent.kind, group(&parent.api_version));
        Self::hashed(&text)
    }

    /// The ID of a decorator's set for a parent. No ID of [`SetId::of`] is equal, because names contain no `/`.
    fn of_decorator(parent: &ObjectRef, decorator: &str) -> Self {
        let namespace = parent.namespace.as_deref().unwrap_or_default();
        let text = format!("{}.{namespace}.{}.{}/{decorator}", parent.name, parent.kind, group(&parent.api_version));
        Self::hashed(&text)
    }

    fn hashed(text: &str) -> Self {
        Self(format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(Sha256::digest(text))).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why an object cannot be a parent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidParent {
    #[error("the parent has no {0}: pass the object as the API server sent it")]
    Missing(&'static str),
}

/// The object that a set belongs to, as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    pub object: ObjectRef,
    pub uid: Box<str>,
    pub generation: i64,
    /// It is being deleted.
    pub deleting: bool,
    /// Its deletion leaves what it owns: `kubectl delete --cascade=orphan`.
    pub orphans: bool,
    /// Kubernetes deletes what it owns before it: `kubectl delete --cascade=foreground`.
    pub foreground: bool,
    /// Its own owners.
    pub owners: Vec<ObjectRef>,
    /// Who attaches the members to the parent of somebody else: one of several that may do so. See [`Parent::decorated_by`].
    pub decorator: Option<Arc<str>>,
    /// It owns none of its members, also those in its namespace. See [`Parent::by_label`].
    pub labels_only: bool,
    pub(crate) version: Box<str>,
    pub(crate) marks: Marks,
}

/// What KEP-3659 puts on a parent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    pub id: Option<Box<str>>,
    pub tooling: Option<Box<str>>,
    pub manager: Option<Box<str>>,
    pub kinds: BTreeSet<String>,
    pub namespaces: BTreeSet<String>,
}

impl Parent {
    /// Reads a parent from its JSON.
    pub fn read(object: &Value) -> Result<Self, InvalidParent> {
        let metadata = object.get("metadata").ok_or(InvalidParent::Missing("metadata"))?;
        let reference = ObjectRef::of(object);
        if reference.name.is_empty() || reference.kind.is_empty() || reference.api_version.is_empty() {
            return Err(InvalidParent::Missing("apiVersion, kind or metadata.name"));
        }
        let uid = metadata.get("uid").and_then(Value::as_str).ok_or(InvalidParent::Missing("metadata.uid"))?;
        let owner = |owner: &Value| ObjectRef {
            api_version: text(owner, "apiVersion").unwrap_or_default().to_owned(),
            kind: text(owner, "kind").unwrap_or_default().to_owned(),
            // An owner is in the object's namespace, or has none. Both are compared.
            namespace: reference.namespace.clone(),
            name: text(owner, "name").unwrap_or_default().to_owned(),
        };
        let finalizers = metadata.get("finalizers").and_then(Value::as_array);
        let finalizes = |name: &str| finalizers.is_some_and(|all| all.iter().any(|it| it == name));
        Ok(Self {
            owners: owner_references(object).map(owner).collect(),
            uid: uid.into(),
            generation: metadata.get("generation").and_then(Value::as_i64).unwrap_or_default(),
            deleting: is_deleting(object),
            orphans: finalizes("orphan"),
            foreground: finalizes("foregroundDeletion"),
            decorator: None,
            labels_only: false,
            version: text(metadata, "resourceVersion").unwrap_or_default().into(),
            marks: Marks {
                id: label(object, ID).map(Into::into),
                tooling: annotation(object, TOOLING).map(Into::into),
                manager: annotation(object, MANAGER).filter(|name| !name.is_empty()).map(Into::into),
                kinds: listed(annotation(object, GROUP_KINDS)),
                namespaces: listed(annotation(object, NAMESPACES)),
            },
            object: reference,
        })
    }

    /// The parent as a decorator sees it. The set is one of several of this parent: its ID depends on the decorator, the
    /// parent owns the members without being their controller, and nothing is written to the parent.
    pub fn decorated_by(self, decorator: &Arc<str>) -> Self {
        // The marks are those of the set that the parent itself may have.
        Self { decorator: Some(decorator.clone()), marks: Marks::default(), ..self }
    }

    /// The kinds in which members may exist, as the parent's annotation names them: `Deployment.apps`.
    pub fn kinds(&self) -> &BTreeSet<String> {
        &self.marks.kinds
    }

    /// The parent without owner references: members have its label only. Somebody who deletes the parent then deletes
    /// nothing else, and a parent of the same name has the same members.
    pub fn by_label(self) -> Self {
        Self { labels_only: true, ..self }
    }

    pub fn set_id(&self) -> SetId {
        match &self.decorator {
            Some(decorator) => SetId::of_decorator(&self.object, decorator),
            None => SetId::of(&self.object),
        }
    }

    /// Whether Kubernetes allows the parent to be the owner of an object in this namespace. A namespaced owner must be
    /// in the object's namespace. Otherwise, the object is a member by its label only.
    pub fn can_own(&self, namespace: Option<&str>) -> bool {
        let reaches = self.object.namespace.is_none() || self.object.namespace.as_deref() == namespace;
        reaches && !self.labels_only
    }

    /// Whether an object has an owner reference to the parent, or to one of the same name that was there before it.
    pub(crate) fn owns(&self, object: &Value) -> bool {
        owner_references(object).any(|owner| self.is_named(owner))
    }

    /// Whether an owner reference names the parent. One that was deleted and created again has another uid. Its members
    /// have its name, and are kept.
    fn is_named(&self, owner: &Value) -> bool {
        text(owner, "uid") == Some(&self.uid)
            || text(owner, "kind") == Some(&self.object.kind)
                && text(owner, "name") == Some(&self.object.name)
                && text(owner, "apiVersion").map(group) == Some(group(&self.object.api_version))
    }

    /// The owner reference of each member that the parent can own: that of its controller, unless the members are a
    /// decorator's.
    pub(crate) fn owner_reference(&self) -> Value {
        let mut reference = json!({
            "apiVersion": self.object.api_version,
            "kind": self.object.kind,
            "name": self.object.name,
            "uid": self.uid,
        });
        if let Some(fields) = reference.as_object_mut().filter(|_| self.decorator.is_none()) {
            fields.insert("controller".to_owned(), true.into());
            fields.insert("blockOwnerDeletion".to_owned(), true.into());
        }
        reference
    }

    /// Another tool that writes this set. KEP-3659 forbids to touch its set.
    pub(crate) fn other_tool(&self) -> Option<&str> {
        self.marks.tooling.as_deref().filter(|tooling| tooling.split('/').next() != Some(TOOL))
    }

    /// Another writer of this tool that has the set.
    pub(crate) fn other_manager(&self, manager: &str) -> Option<&str> {
        self.marks.manager.as_deref().filter(|known| *known != manager)
    }

    /// The parent's own label and annotations as a body for a server-side apply, if they must change. `exact`: kinds
    /// and namespaces that no member is in any more are taken out. Before everything is pruned, they stay, because
    /// after a crash only they say where members are.
    pub fn mark(
        &self,
        manager: &str,
        kinds: &BTreeSet<String>,
        namespaces: &BTreeSet<String>,
        exact: bool,
    ) -> Option<Value> {
        if self.decorator.is_some() {
            return None;
        }
        let is_set = self.marks.id.as_deref() == Some(self.set_id().as_str());
        // The version of the tool that wrote it first stays. Otherwise, an upgrade would write to every parent.
        let ours = self.marks.tooling.clone();
        let tooling = ours.unwrap_or_else(|| concat!("boathook/", env!("CARGO_PKG_VERSION")).into());
        let joined = |wanted: &BTreeSet<String>, known: &BTreeSet<String>| -> BTreeSet<String> {
            if exact { wanted.clone() } else { wanted.union(known).cloned().collect() }
        };
        let (kinds, namespaces) = (joined(kinds, &self.marks.kinds), joined(namespaces, &self.marks.namespaces));
        let is_named = self.marks.tooling.is_some() && self.marks.manager.as_deref() == Some(manager);
        if is_set && is_named && kinds == self.marks.kinds && namespaces == self.marks.namespaces {
            return None;
        }
        let line = |set: BTreeSet<String>| Value::from(set.into_iter().collect::<Vec<_>>().join(","));
        let mut annotations = Map::new();
        annotations.insert(TOOLING.to_owned(), Value::from(&*tooling));
        annotations.insert(MANAGER.to_owned(), Value::from(manager));
        annotations.insert(GROUP_KINDS.to_owned(), line(kinds));
        if !namespaces.is_empty() {
            annotations.insert(NAMESPACES.to_owned(), line(namespaces));
        }
        let mut metadata = json!({
            "name": self.object.name,
            "uid": self.uid,
            "labels": {ID: self.set_id().as_str()},
            "annotations": annotations,
        });
        if let (Some(metadata), Some(namespace)) = (metadata.as_object_mut(), &self.object.namespace) {
            metadata.insert("namespace".to_owned(), namespace.as_str().into());
        }
        Some(json!({"apiVersion": self.object.api_version, "kind": self.object.kind, "metadata": metadata}))
    }
}

fn listed(text: Option<&str>) -> BTreeSet<String> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
}

/// To whom an object belongs, as a set sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The set has it: by its label, or by the parent's controller reference, or by a decorator's annotation.
    Us,
    Nobody,
    /// Another set, by its ID.
    Set(Box<str>),
    /// Another controller, as `KIND NAME`.
    Controller(Box<str>),
}

impl Owner {
    /// Reads the label and the controller reference. Neither is enough against the other: an object with our label and
    /// another's controller is not ours to write or to delete.
    pub fn of(object: &Value, set: &SetId, parent: &Parent) -> Self {
        let decorates = parent.decorator.is_some();
        let controller = owner_references(object).find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
        match (label(object, PART_OF), controller) {
            (Some(label), _) if label != set.as_str() => Self::Set(label.into()),
            // What the parent controls is no decorator's.
            (_, Some(owner)) if decorates || !parent.is_named(owner) => {
                let part = |name| text(owner, name).unwrap_or_default();
                Self::Controller(format!("{} {}", part("kind"), part("name")).into())
            }
            (Some(_), _) | (None, Some(_)) => Self::Us,
            (None, None) => match annotation(object, DECORATED) {
                Some(id) if decorates && id == set.as_str() => Self::Us,
                Some(id) => Self::Set(id.into()),
                None => Self::Nobody,
            },
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Us => f.write_str("this set"),
            Self::Nobody => f.write_str("nobody"),
            Self::Set(id) => write!(f, "the set {id}"),
            Self::Controller(owner) => write!(f, "the controller {owner}"),
        }
    }
}

/// The object of this kind to which a decorator attached the object, and its uid. It need not exist any more.
pub fn decorated_parent(object: &Value, parents: &Resource, decorator: &str) -> Option<(ObjectRef, Box<str>)> {
    let set = label(object, PART_OF).or_else(|| annotation(object, DECORATED))?;
    let namespace = object.get("metadata")?.get("namespace").and_then(Value::as_str);
    owner_references(object).find_map(|owner| {
        let (version, kind) = (text(owner, "apiVersion")?, text(owner, "kind")?);
        if group(version) != &*parents.group || kind != &*parents.kind {
            return None;
        }
        let parent = ObjectRef {
            api_version: parents.api_version(),
            kind: kind.to_owned(),
            namespace: namespace.filter(|_| parents.namespaced).map(str::to_owned),
            name: text(owner, "name")?.to_owned(),
        };
        let is_of = SetId::of_decorator(&parent, decorator).as_str() == set;
        Some((parent, text(owner, "uid")?.into())).filter(|_| is_of)
    })
}

/// A merge patch that takes an object out of the set and leaves the rest of it. `None` if the object is not in it.
/// The patch contains the version that was read, because a merge patch replaces the whole list of owners. An apply
/// without the fields was rejected: it would remove every field that only this manager owns.
pub fn release(object: &Value, set: &SetId, parent: &Parent) -> Option<Value> {
    let is_ours = |owner: &&Value| text(owner, "uid") == Some(&parent.uid);
    let labelled = [label(object, PART_OF), annotation(object, DECORATED)].contains(&Some(set.as_str()));
    let owned = owner_references(object).any(|owner| is_ours(&owner));
    if !labelled && !owned {
        return None;
    }
    let mut metadata = Map::new();
    for name in ["uid", "resourceVersion"] {
        metadata.insert(name.to_owned(), object.get("metadata")?.get(name)?.clone());
    }
    if labelled {
        metadata.insert("labels".to_owned(), json!({PART_OF: null}));
    }
    let ours = [APPLIED, DECORATED].into_iter().filter(|name| annotation(object, name).is_some());
    let ours: Map<String, Value> = ours.map(|name| (name.to_owned(), Value::Null)).collect();
    if !ours.is_empty() {
        metadata.insert("annotations".to_owned(), ours.into());
    }
    if owned {
        let others: Vec<_> = owner_references(object).filter(|owner| !is_ours(owner)).cloned().collect();
        metadata.insert("ownerReferences".to_owned(), if others.is_empty() { Value::Null } else { others.into() });
    }
    Some(json!({"metadata": metadata}))
}

pub(crate) fn owner_references(object: &Value) -> impl Iterator<Item = &Value> {
    let all = object.get("metadata").and_then(|metadata| metadata.get("ownerReferences"));
    all.and_then(Value::as_array).into_iter().flatten()
}

pub(crate) fn label<'o>(object: &'o Value, name: &str) -> Option<&'o str> {
    object.get("metadata")?.get("labels")?.get(name)?.as_str()
}

pub(crate) fn annotation<'o>(object: &'o Value, name: &str) -> Option<&'o str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    object.get("metadata").and_then(|metadata| metadata.get("deletionTimestamp")).is_some_and(|time| !time.is_null())
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(namespace: Option<&str>) -> Parent {
        let mut object =
            json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "web", "uid": "u1"}});
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = namespace.into();
        }
        Parent::read(&object).unwrap()
    }

    #[test]
    fn an_id_is_as_the_kep_computes_it() {
        // printf %s web.shop.App.example.com | openssl sha256 -binary | basenc --base64url | tr -d =
        let namespaced = SetId::of(&parent(Some("shop")).object);
        assert_eq!(namespaced.as_str(), "applyset-Tzo2vsqmjsZwPMS7S0q_seGHVi_aDb7b2xkQgCXnDpc-v1");
        assert!(namespaced.as_str().len() <= 63, "a label's value");
        let core = ObjectRef { api_version: "v1".into(), kind: "Secret".into(), namespace: None, name: "a".into() };
        // printf %s a..Secret. | …
        assert_eq!(SetId::of(&core).as_str(), "applyset-fiq9Cc4Vo12PRsrWjHOh3XdGJU7LGKzZai6jTPMuWIU-v1");
    }

    #[test]
    fn a_parent_is_marked_once_and_with_sorted_lists() {
        let set = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<BTreeSet<_>>();
        let mut parent = parent(Some("shop"));
        let body = parent.mark("m", &set(&["Service", "Deployment.apps"]), &set(&["b", "a"]), false).unwrap();
        assert_eq!(body["metadata"]["annotations"][GROUP_KINDS], "Deployment.apps,Service");
        assert_eq!(body["metadata"]["annotations"][NAMESPACES], "a,b");
        assert_eq!(body["metadata"]["labels"][ID], parent.set_id().as_str());
        assert_eq!((&body["metadata"]["uid"], &body["metadata"]["namespace"]), (&json!("u1"), &json!("shop")));
        parent = Parent::read(&body).unwrap();
        assert_eq!(parent.mark("m", &set(&["Service", "Deployment.apps"]), &set(&["b", "a"]), false), None);
        assert_eq!(parent.mark("m", &set(&["Service"]), &set(&[]), false), None, "members may still be there");
        let exact = parent.mark("m", &set(&["Service"]), &set(&[]), true).unwrap();
        assert_eq!(exact["metadata"]["annotations"][GROUP_KINDS], "Service");
        assert!(exact["metadata"]["annotations"].get(NAMESPACES).is_none(), "an apply without it removes it");
    }

    #[test]
    fn another_tools_parent_is_noticed() {
        let mut parent = parent(None);
        for (tooling, other) in [(None, false), (Some("boathook/9.9.9"), false), (Some("kubectl/v1.36.0"), true)] {
            parent.marks.tooling = tooling.map(Into::into);
            assert_eq!(parent.other_tool().is_some(), other, "{tooling:?}");
        }
    }

    #[test]
    fn a_namespaced_parent_owns_only_in_its_namespace() {
        assert!(parent(Some("shop")).can_own(Some("shop")));
        assert!(!parent(Some("shop")).can_own(Some("other")) && !parent(Some("shop")).can_own(None));
        assert!(parent(None).can_own(Some("other")) && parent(None).can_own(None));
    }

    #[test]
    fn a_parent_by_label_owns_nothing() {
        let by_label = parent(Some("shop")).by_label();
        assert!(!by_label.can_own(Some("shop")) && by_label.set_id() == parent(Some("shop")).set_id());
        assert!(!parent(None).by_label().can_own(None));
    }

    #[test]
    fn an_object_belongs_to_one_of_four() {
        let parent = parent(Some("shop"));
        let id = parent.set_id();
        let owner = |labels: Value, owners: Value| {
            let object = json!({"metadata": {"labels": labels, "ownerReferences": owners}});
            Owner::of(&object, &id, &parent).to_string()
        };
        let ours = || json!({PART_OF: id.as_str()});
        let reference = |uid: &str, name: &str, controller: bool| json!([{"apiVersion": "example.com/v2", "kind": "App", "name": name, "uid": uid, "controller": controller}]);
        assert_eq!(owner(ours(), json!([])), "this set");
        assert_eq!(owner(json!({}), reference("u1", "web", true)), "this set");
        assert_eq!(owner(ours(), reference("u0", "web", true)), "this set", "of the parent of the same name before");
        assert_eq!(owner(json!({}), json!([])), "nobody");
        assert_eq!(owner(json!({}), reference("u2", "other", false)), "nobody", "not a controller");
        assert_eq!(owner(json!({PART_OF: "x"}), reference("u1", "web", true)), "the set x");
        assert_eq!(owner(ours(), reference("u2", "other", true)), "the controller App other");
        assert_eq!(owner(json!({}), reference("u2", "other", true)), "the controller App other");
    }

    #[test]
    fn decorators_of_one_parent_have_sets_of_their_own() {
        let parent = parent(Some("shop"));
        let by = |decorator: &str| parent.clone().decorated_by(&decorator.into());
        let (one, other) = (by("a/b"), by("a/c"));
        assert!(one.set_id() != other.set_id() && one.set_id() != parent.set_id());
        assert!(one.set_id().as_str().len() <= 63, "a label's value");
        let reference = one.owner_reference();
        assert!(reference.get("controller").is_none() && reference["uid"] == "u1", "{reference}");
        let kinds = BTreeSet::from(["Service".to_owned()]);
        assert_eq!(one.mark("m", &kinds, &BTreeSet::new(), true), None);
        // The set that the parent itself has, and its tool, are not the decorator's.
        let marked = parent.mark("m", &kinds, &BTreeSet::new(), true).unwrap();
        let marked = Parent::read(&marked).unwrap().decorated_by(&"a/b".into());
        assert!(marked.other_manager("n").is_none() && marked.set_id() == one.set_id());
    }

    #[test]
    fn the_parent_of_an_attachment_is_found() {
        let decorated = parent(Some("shop")).decorated_by(&"a/b".into());
        let apps = Resource::of("example.com/v2", "App", "apps", true);
        let object = |label: &str| {
            let metadata = json!({"name": "m", "namespace": "shop", "labels": {PART_OF: label},
                "ownerReferences": [{"uid": "x"}, decorated.owner_reference()]});
            json!({"metadata": metadata})
        };
        let attachment = object(decorated.set_id().as_str());
        let (found, uid) = decorated_parent(&attachment, &apps, "a/b").unwrap();
        assert_eq!((found.to_string().as_str(), &*uid), ("example.com/v2 App shop/web", "u1"));
        assert_eq!(decorated_parent(&attachment, &apps, "a/c"), None);
        assert_eq!(decorated_parent(&attachment, &Resource::of("v1", "App", "apps", true), "a/b"), None);
        assert_eq!(decorated_parent(&object(parent(Some("shop")).set_id().as_str()), &apps, "a/b"), None);
    }

    #[test]
    fn what_the_parent_controls_is_no_decorators() {
        let parent = parent(Some("shop")).decorated_by(&"a/b".into());
        let id = parent.set_id();
        let owner = |labels: Value, annotations: Value, controller: bool| {
            let mut reference = json!({"apiVersion": "example.com/v1", "kind": "App", "name": "web", "uid": "u1"});
            if controller {
                reference["controller"] = json!(true);
            }
            let metadata = json!({"labels": labels, "annotations": annotations, "ownerReferences": [reference]});
            Owner::of(&json!({"metadata": metadata}), &id, &parent).to_string()
        };
        assert_eq!(owner(json!({PART_OF: id.as_str()}), json!({}), false), "this set");
        assert_eq!(owner(json!({}), json!({DECORATED: id.as_str()}), false), "this set", "somebody removed the label");
        assert_eq!(owner(json!({}), json!({DECORATED: "x"}), false), "the set x", "another decorator's");
        assert_eq!(owner(json!({}), json!({}), false), "nobody");
        assert_eq!(owner(json!({}), json!({}), true), "the controller App web");
        assert_eq!(owner(json!({PART_OF: id.as_str()}), json!({}), true), "the controller App web");
    }

    #[test]
    fn a_released_object_keeps_its_other_owners() {
        let parent = parent(Some("shop"));
        let id = parent.set_id();
        let mut object = json!({"metadata": {
            "uid": "m", "resourceVersion": "7", "labels": {PART_OF: id.as_str(), "a": "b"}, "annotations": {APPLIED: "d"},
            "ownerReferences": [{"uid": "u1"}, {"uid": "x"}]
        }});
        let patch = json!({"metadata": {
            "uid": "m", "resourceVersion": "7", "labels": {PART_OF: null}, "annotations": {APPLIED: null},
            "ownerReferences": [{"uid": "x"}]
        }});
        assert_eq!(release(&object, &id, &parent), Some(patch));
        object["metadata"]["labels"] = json!({});
        object["metadata"]["ownerReferences"] = json!([{"uid": "x"}]);
        assert_eq!(release(&object, &id, &parent), None);
    }

    #[test]
    fn a_parent_is_read_as_the_server_sends_it() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "generation": 3, "deletionTimestamp": "2024-05-01T10:00:00Z",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "x"}]
        }});
        let parent = Parent::read(&object).unwrap();
        assert!(parent.deleting && parent.generation == 3);
        assert_eq!(parent.owners[0].to_string(), "apps/v1 Deployment n/d");
        for wrong in [
            json!({}),
            json!([]),
            json!({"metadata": {"name": "a"}}),
            json!({"kind": "A", "apiVersion": "v1", "metadata": {"name": "a"}}),
        ] {
            assert!(Parent::read(&wrong).is_err(), "{wrong}");
        }
    }
}

//! A producer's answer: validated, completed with what makes the objects members, and ordered.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use boathook_core::model::{ObjectRef, Resource, SERVER_FIELDS};
use serde_json::{Map, Value, json};

use crate::{
    canonical::{self, Digest, cut},
    expression::{Expressions, READY},
    id::{self, APPLIED, DECORATED, ID, MemberId, PART_OF, Parent, SetId},
    order::{self, Gate, Need, Order},
};

/// The annotation of a member that may be deleted and created again if the API server refuses a change because a field
/// is immutable. Only `"true"` allows it.
pub const RECREATE: &str = "boathook.dev/recreate";

/// What a producer wants for one parent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The generation of the parent that the producer saw.
    pub generation: i64,
    pub members: Vec<Value>,
    /// If there are no members, the producer means it. Otherwise, an empty answer is an error while the set has
    /// members, because it usually comes from a producer that failed to notice a missing input.
    pub means_empty: bool,
}

/// How much a set may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub members: usize,
    pub bytes_of_member: usize,
    pub bytes: usize,
}

impl Default for Bounds {
    /// The API server accepts requests of 3 MiB, and etcd 1.5 MiB.
    fn default() -> Self {
        Self { members: 10_000, bytes_of_member: 1_500_000, bytes: 64 << 20 }
    }
}

/// What a producer may return.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// The kinds that the producer declares, with their scope from discovery.
    pub owns: Vec<Resource>,
    /// A parent in a namespace may have members outside of it. They have no owner reference, because Kubernetes does
    /// not allow one. Modules need this. Never set it for a confined bundle.
    pub across: bool,
    pub bounds: Bounds,
}

/// The most errors of one answer that are kept.
const MAX_ERRORS: usize = 20;
/// The longest text that an error repeats.
const MAX_TEXT: usize = 120;

/// What is wrong with an answer. Each error names the member and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidAnswer {
    /// The generation that the answer was for.
    pub generation: i64,
    /// At most twenty.
    pub errors: Vec<InvalidMember>,
}

/// One error of an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{member}: {problem}")]
pub struct InvalidMember {
    pub member: String,
    pub problem: Problem,
}

/// Why an object cannot be a member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it is not an object with apiVersion, kind and metadata: return whole objects")]
    NoObject,
    #[error(
        "it has no metadata.name: name each member yourself, because a generated name would create it again and again"
    )]
    NoName,
    #[error("{0:?} is not a name of an object: use 1 to 253 characters without '/' and '%'")]
    BadName(String),
    #[error(
        "its kind is not declared, or the API server does not serve it: add {{apiVersion: {api_version}, kind: {kind}}} \
         to owns"
    )]
    Undeclared { api_version: String, kind: String },
    #[error(
        "it is cluster-scoped, and a parent in a namespace owns in its namespace only: make the parent cluster-scoped"
    )]
    ClusterScoped,
    #[error("it is in namespace {0:?}, and the parent owns in namespace {1:?} only: leave metadata.namespace out")]
    OtherNamespace(String, String),
    #[error("its kind has no namespaces: leave metadata.namespace out")]
    HasNamespace,
    #[error("it has no namespace, and the parent has none: set metadata.namespace")]
    NoNamespace,
    #[error("it is returned twice: return each object once")]
    Twice,
    #[error("it is the parent itself: return only objects that the parent owns")]
    IsParent,
    #[error("it is an owner of the parent: an object cannot own its owner")]
    OwnsParent,
    #[error("it has a status: only the controller of a kind writes it; remove .status")]
    Status,
    #[error("it has metadata.{0}, which the API server sets: return only the fields that you want")]
    ServerField(&'static str),
    #[error("it has an owner that is its controller: remove metadata.ownerReferences, the operator sets them")]
    Controller,
    #[error("its label {label} is {value:?}, which is another set's: remove the label")]
    Label { label: &'static str, value: String },
    #[error("its annotation {annotation} is {value:?}: use {expected}")]
    Annotation { annotation: &'static str, value: String, expected: &'static str },
    #[error("its annotation boathook.dev/ready {0}")]
    Expression(String),
    #[error(
        "it is in wave {own}, before {need} in wave {wave}, which it needs: put it into the same wave or a later one"
    )]
    BeforeItsNeed { own: i32, need: String, wave: i32 },
    #[error("it has {0} bytes, more than {1}: split it")]
    TooLarge(usize, usize),
    #[error("the answer has {0} members, more than {1}: split the parent")]
    TooMany(usize, usize),
    #[error("the answer has more than {0} bytes: split the parent")]
    TooManyBytes(usize),
}

/// One member as it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: MemberId,
    pub api_version: Arc<str>,
    /// The body of the apply as canonical JSON. What makes the object a member, and the digest, are in it.
    pub body: Arc<str>,
    /// Of the body without the digest.
    pub digest: Digest,
    pub order: Order,
    pub gate: Gate,
    /// It may be deleted and created again.
    pub recreate: bool,
    pub needs: Vec<Need>,
}

impl Member {
    /// The reference in the member's own version.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.to_string(),
            kind: self.id.kind.to_string(),
            namespace: self.id.namespace.as_deref().map(str::to_owned),
            name: self.id.name.to_string(),
        }
    }
}

/// A valid answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desired {
    pub generation: i64,
    /// In the order in which they are applied.
    pub members: Arc<[Member]>,
    pub means_empty: bool,
    /// Of all members and what they contain. Equal answers have equal digests.
    pub digest: Digest,
    /// Of the members' names only.
    pub(crate) names: Digest,
}

impl Desired {
    /// Validates an answer.
    pub fn new(answer: Answer, parent: &Parent, rules: &Rules) -> Result<Self, InvalidAnswer> {
        let bounds = rules.bounds;
        let Answer { generation, members, means_empty } = answer;
        let mut errors = Errors(Vec::new());
        if members.len() > bounds.members {
            errors.add(&parent.object, Problem::TooMany(members.len(), bounds.members));
            return Err(InvalidAnswer { generation, errors: errors.0 });
        }
        let mut check = Check { parent, set: parent.set_id(), rules, expressions: Expressions::default() };
        let (mut made, mut names, mut kinds) = (Vec::with_capacity(members.len()), HashSet::new(), HashMap::new());
        let mut bytes = 0_usize;
        for (at, object) in members.into_iter().enumerate() {
            let reference = ObjectRef::of(&object);
            match check.member(object) {
                Ok((member, defined)) => {
                    bytes = bytes.saturating_add(member.body.len());
                    if !names.insert(member.id.clone()) {
                        errors.add(&reference, Problem::Twice);
                    }
                    if let Some(kind) = defined {
                        kinds.insert(kind, (member.id.clone(), member.order.wave));
                    }
                    made.push(member);
                }
                Err(problem) if reference.kind.is_empty() && reference.name.is_empty() => {
                    errors.add(&format!("member {} of the answer", at + 1), problem);
                }
                Err(problem) => errors.add(&reference, problem),
            }
        }
        if bytes > bounds.bytes {
            errors.add(&parent.object, Problem::TooManyBytes(bounds.bytes));
        }
        needs(&mut made, &kinds, &mut errors);
        if !errors.0.is_empty() {
            return Err(InvalidAnswer { generation, errors: errors.0 });
        }
        made.sort_by(|one, other| (one.order, &one.id).cmp(&(other.order, &other.id)));
        let texts: Vec<_> = made.iter().map(|member| member.id.to_string()).collect();
        let names = Digest::of(texts.iter().map(|text| text.as_bytes()));
        let digest = Digest::of(made.iter().map(|member| member.body.as_bytes()));
        Ok(Self { generation, members: made.into(), means_empty, digest, names })
    }
}

struct Errors(Vec<InvalidMember>);

impl Errors {
    fn add(&mut self, member: &dyn std::fmt::Display, problem: Problem) {
        if self.0.len() < MAX_ERRORS {
            self.0.push(InvalidMember { member: cut(&member.to_string(), 2 * MAX_TEXT), problem });
        }
    }
}

/// Finds what each member needs among the others. `kinds`: what the definitions in the set define.
fn needs(members: &mut [Member], kinds: &HashMap<(String, String), (MemberId, i32)>, errors: &mut Errors) {
    let namespaces: HashMap<Arc<str>, (MemberId, i32)> = members
        .iter()
        .filter(|member| member.id.is("", "Namespace"))
        .map(|member| (member.id.name.clone(), (member.id.clone(), member.order.wave)))
        .collect();
    if namespaces.is_empty() && kinds.is_empty() {
        return;
    }
    for member in members {
        let namespace = member.id.namespace.as_ref().and_then(|namespace| namespaces.get(namespace));
        let definition = kinds.get(&(member.id.group.to_string(), member.id.kind.to_string()));
        for (need, wave) in namespace.into_iter().chain(definition) {
            if *wave > member.order.wave {
                let problem = Problem::BeforeItsNeed { own: member.order.wave, need: need.to_string(), wave: *wave };
                errors.add(&member.reference(), problem);
            }
        }
        member.needs.extend(namespace.map(|(need, _)| Need::Namespace(need.clone())));
        member.needs.extend(definition.map(|(need, _)| Need::Definition(need.clone())));
    }
}

struct Check<'c> {
    parent: &'c Parent,
    set: SetId,
    rules: &'c Rules,
    expressions: Expressions,
}

impl Check<'_> {
    /// The member, and the kind that it defines.
    fn member(&mut self, mut object: Value) -> Result<(Member, Option<(String, String)>), Problem> {
        let reference = ObjectRef::of(&object);
        let is_object = object.get("metadata").is_some_and(Value::is_object);
        if !is_object || reference.kind.is_empty() || reference.api_version.is_empty() {
            return Err(Problem::NoObject);
        }
        let name = reference.name.as_str();
        if name.is_empty() {
            return Err(Problem::NoName);
        }
        // The name becomes a part of a path.
        if name.len() > 253 || name == "." || name == ".." || name.contains(['/', '%']) {
            return Err(Problem::BadName(cut(name, MAX_TEXT)));
        }
        let is_declared = |kind: &&Resource| kind.kind == reference.kind && kind.api_version() == reference.api_version;
        let resource = self.rules.owns.iter().find(is_declared).ok_or_else(|| Problem::Undeclared {
            api_version: cut(&reference.api_version, MAX_TEXT),
            kind: cut(&reference.kind, MAX_TEXT),
        })?;
        let namespace = self.namespace(resource, reference.namespace.as_deref().filter(|text| !text.is_empty()))?;
        let id = MemberId::of(&ObjectRef { namespace: namespace.clone(), ..reference.clone() });
        self.not_an_owner(&id)?;
        plain(&mut object)?;
        self.labels(&object, &id)?;
        let bad = |annotation, expected| {
            move |value: &str| Problem::Annotation { annotation, value: cut(value, MAX_TEXT), expected }
        };
        let wave = order::wave(&object).map_err(bad(order::WAVE, "a whole number, like \"-1\""))?;
        let gate = order::gate(&object).map_err(bad(order::GATE, "exists or ready"))?;
        if let Some(text) = id::annotation(&object, READY) {
            self.expressions.check(text).map_err(Problem::Expression)?;
        }
        let order = Order { wave: wave.unwrap_or_default(), ..Order::of(&id, &object) };
        let recreate = id::annotation(&object, RECREATE) == Some("true");
        let defined = order::defines(&id, &object).map(|(group, kind)| (group.to_owned(), kind.to_owned()));
        let (body, digest) = self.complete(object, namespace.as_deref());
        let most = self.rules.bounds.bytes_of_member;
        if body.len() > most {
            return Err(Problem::TooLarge(body.len(), most));
        }
        let (api_version, body) = (reference.api_version.into(), body.into());
        Ok((Member { id, api_version, body, digest, order, gate, recreate, needs: Vec::new() }, defined))
    }

    fn namespace(&self, resource: &Resource, own: Option<&str>) -> Result<Option<String>, Problem> {
        match (resource.namespaced, own, self.parent.object.namespace.as_deref()) {
            (false, _, Some(_)) if !self.rules.across => Err(Problem::ClusterScoped),
            (false, Some(_), _) => Err(Problem::HasNamespace),
            (false, None, _) => Ok(None),
            (true, None, None) => Err(Problem::NoNamespace),
            (true, Some(own), Some(parent)) if own != parent && !self.rules.across => {
                Err(Problem::OtherNamespace(cut(own, MAX_TEXT), parent.to_owned()))
            }
            (true, own, parent) => Ok(own.or(parent).map(str::to_owned)),
        }
    }

    fn not_an_owner(&self, id: &MemberId) -> Result<(), Problem> {
        if *id == MemberId::of(&self.parent.object) {
            return Err(Problem::IsParent);
        }
        // The owner's own namespace is not known: it is the parent's, or the owner has none.
        let is_owner = |owner: &ObjectRef| {
            let owner = MemberId::of(owner);
            *id == owner || *id == MemberId { namespace: None, ..owner }
        };
        if self.parent.owners.iter().any(is_owner) { Err(Problem::OwnsParent) } else { Ok(()) }
    }

    fn labels(&self, object: &Value, id: &MemberId) -> Result<(), Problem> {
        let own = SetId::of(&ObjectRef {
            api_version: if id.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", id.group) },
            kind: id.kind.to_string(),
            namespace: id.namespace.as_deref().map(str::to_owned),
            name: id.name.to_string(),
        });
        for (label, allowed) in [(PART_OF, &self.set), (ID, &own)] {
            if let Some(value) = id::label(object, label).filter(|value| *value != allowed.as_str()) {
                return Err(Problem::Label { label, value: cut(value, MAX_TEXT) });
            }
        }
        Ok(())
    }

    /// Adds what makes the object a member. The digest is that of all the rest.
    fn complete(&self, mut object: Value, namespace: Option<&str>) -> (String, Digest) {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            if let Some(namespace) = namespace {
                metadata.insert("namespace".to_owned(), namespace.into());
            }
            set(metadata, "labels", PART_OF, self.set.as_str());
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.shift_remove(APPLIED);
                annotations.shift_remove(DECORATED);
            }
            if self.parent.decorator.is_some() {
                set(metadata, "annotations", DECORATED, self.set.as_str());
            }
            if self.parent.can_own(namespace) {
                let owners = metadata.entry("ownerReferences").or_insert_with(|| json!([]));
                if !owners.is_array() {
                    *owners = json!([]);
                }
                owners.as_array_mut().into_iter().for_each(|owners| owners.push(self.parent.owner_reference()));
            }
        }
        let digest = Digest::of([canonical::text(&object).as_bytes()]);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            set(metadata, "annotations", APPLIED, digest.as_str());
        }
        (canonical::text(&object), digest)
    }
}

/// Sets a field of a mapping in the metadata, which may be missing or null.
fn set(metadata: &mut Map<String, Value>, mapping: &str, name: &str, value: &str) {
    let slot = metadata.entry(mapping).or_insert(Value::Null);
    match slot {
        Value::Object(fields) => {
            fields.insert(name.to_owned(), value.into());
        }
        other => *other = json!({name: value}),
    }
}

/// Types of clients write a status although nothing is set, such as `{loadBalancer: {}}`.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(says_nothing),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Takes out what says nothing, such as the `status: {}` of generated manifests, and refuses what only the API server
/// or another controller writes.
fn plain(object: &mut Value) -> Result<(), Problem> {
    let Some(fields) = object.as_object_mut() else { return Err(Problem::NoObject) };
    match fields.shift_remove("status") {
        None | Some(Value::Null) => {}
        Some(status) if says_nothing(&status) => {}
        Some(_) => return Err(Problem::Status),
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Err(Problem::NoObject);
    };
    if metadata.shift_remove("generateName").is_some_and(|name| !name.is_null()) {
        return Err(Problem::NoName);
    }
    for name in SERVER_FIELDS {
        if metadata.shift_remove(name).is_some_and(|value| !value.is_null()) {
            return Err(Problem::ServerField(name));
        }
    }
    let is_controller = |owner: &Value| owner.get("controller") == Some(&Value::Bool(true));
    if metadata.get("ownerReferences").and_then(Value::as_array).into_iter().flatten().any(is_controller) {
        return Err(Problem::Controller);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(across: bool, bounds: Bounds) -> Rules {
        let owns = vec![
            Resource::of("v1", "ConfigMap", "configmaps", true),
            Resource::of("v1", "Namespace", "namespaces", false),
            Resource::of("apps/v1", "Deployment", "deployments", true),
            Resource::of("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false),
            Resource::of("example.com/v1", "Thing", "things", true),
            Resource::of("example.com/v1", "App", "apps", true),
        ];
        Rules { owns, across, bounds }
    }

    fn parent(namespace: Option<&str>) -> Parent {
        Parent::read(&json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": {
            "name": "web", "namespace": namespace, "uid": "u1", "generation": 2,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "above", "uid": "x"}]
        }}))
        .unwrap()
    }

    fn answer(members: Vec<Value>) -> Answer {
        Answer { generation: 2, members, means_empty: false }
    }

    fn desired(namespace: Option<&str>, members: Vec<Value>) -> Result<Desired, String> {
        let rules = rules(false, Bounds::default());
        Desired::new(answer(members), &parent(namespace), &rules).map_err(|error| error.to_string())
    }

    fn map(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
    }

    #[test]
    fn a_member_is_completed() {
        let mut object = map("a");
        object["status"] = json!({});
        object["metadata"]["creationTimestamp"] = Value::Null;
        object["metadata"]["labels"] = Value::Null;
        object["metadata"]["annotations"] = json!({APPLIED: "of an object that was read", "x": "y"});
        object["metadata"]["ownerReferences"] = json!([{"uid": "other"}]);
        let desired = desired(Some("shop"), vec![object]).unwrap();
        let member = &desired.members[0];
        let body: Value = serde_json::from_str(&member.body).unwrap();
        let parent = parent(Some("shop"));
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {
                "name": "a", "namespace": "shop",
                "labels": {PART_OF: parent.set_id().as_str()},
                "annotations": {APPLIED: member.digest.as_str(), "x": "y"},
                "ownerReferences": [{"uid": "other"}, parent.owner_reference()]
            }
        });
        assert_eq!(body, expected);
        assert_eq!(member.reference().to_string(), "v1 ConfigMap shop/a");
    }

    #[test]
    fn a_member_across_scopes_has_only_the_label() {
        let owned = |namespace: Option<&str>, mut object: Value, own: Option<&str>| {
            object["metadata"]["namespace"] = json!(own);
            let rules = rules(true, Bounds::default());
            let desired = Desired::new(answer(vec![object]), &parent(namespace), &rules).unwrap();
            let body: Value = serde_json::from_str(&desired.members[0].body).unwrap();
            assert!(body["metadata"]["labels"][PART_OF].is_string());
            body["metadata"].get("ownerReferences").is_some()
        };
        let namespace = || json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
        assert!(
            owned(None, map("a"), Some("other")) && owned(None, namespace(), None),
            "a cluster-scoped parent owns all"
        );
        assert!(owned(Some("shop"), map("a"), None) && owned(Some("shop"), map("a"), Some("shop")));
        assert!(!owned(Some("shop"), map("a"), Some("other")) && !owned(Some("shop"), namespace(), None));
    }

    /// The errors are also the documentation of the rules.
    #[test]
    fn each_error_names_the_member_and_the_remedy() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut object = map("a");
            change(&mut object);
            object
        };
        let cases: Vec<(Option<&str>, Value, &str)> = vec![
            (None, json!(7), "member 1 of the answer: it is not an object"),
            (
                None,
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}),
                "name each member yourself",
            ),
            (
                Some("shop"),
                with(&|object| object["metadata"]["generateName"] = json!("a-")),
                "name each member yourself",
            ),
            (Some("shop"), with(&|object| object["metadata"]["name"] = json!("../a")), "not a name of an object"),
            (
                Some("shop"),
                with(&|object| object["kind"] = json!("Secret")),
                "v1 Secret a: its kind is not declared, or the API server does not serve it: \
                 add {apiVersion: v1, kind: Secret} to owns",
            ),
            (Some("shop"), with(&|object| object["apiVersion"] = json!("v1beta1")), "not declared"),
            (
                Some("shop"),
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}),
                "make the parent cluster-scoped",
            ),
            (
                None,
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "namespace": "x"}}),
                "leave metadata.namespace out",
            ),
            (
                Some("shop"),
                with(&|object| object["metadata"]["namespace"] = json!("other")),
                "v1 ConfigMap other/a: it is in namespace \"other\"",
            ),
            (None, map("a"), "set metadata.namespace"),
            (
                Some("shop"),
                json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "web"}}),
                "the parent itself",
            ),
            (
                Some("shop"),
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "above"}}),
                "an owner of the parent",
            ),
            (Some("shop"), with(&|object| object["status"] = json!({"x": 1})), "remove .status"),
            (Some("shop"), with(&|object| object["metadata"]["uid"] = json!("u")), "it has metadata.uid"),
            (
                Some("shop"),
                with(&|object| object["metadata"]["resourceVersion"] = json!("7")),
                "it has metadata.resourceVersion",
            ),
            (
                Some("shop"),
                with(&|object| object["metadata"]["ownerReferences"] = json!([{"controller": true}])),
                "remove metadata.ownerReferences",
            ),
            (
                Some("shop"),
                with(&|object| object["metadata"]["labels"] = json!({PART_OF: "x"})),
                "is \"x\", which is another set's",
            ),
            (
                Some("shop"),
                with(&|object| object["metadata"]["labels"] = json!({ID: "x"})),
                "is \"x\", which is another set's",
            ),
            (
                Some("shop"),
                with(&|object| object["metadata"]["annotations"] = json!({order::WAVE: "first"})),
                "use a whole number",
            ),
            (
                Some("shop"),
                with(&|object| object["metadata"]["annotations"] = json!({order::GATE: "healthy"})),
                "use exists or ready",
            ),
            (
                Some("shop"),
                with(&|object| object["metadata"]["annotations"] = json!({READY: "self.a =="})),
                "its annotation boathook.dev/ready is not an expression of CEL: ERROR",
            ),
        ];
        for (namespace, object, expected) in cases {
            let error = desired(namespace, vec![object.clone()]).unwrap_err();
            assert!(error.contains(expected), "{object}: {error}");
        }
        assert!(
            desired(Some("shop"), vec![map("a"), map("a")])
                .unwrap_err()
                .contains("v1 ConfigMap a: it is returned twice")
        );
    }

    #[test]
    fn an_answer_is_bounded() {
        let error = |members: Vec<Value>, bounds: Bounds| {
            Desired::new(answer(members), &parent(Some("shop")), &rules(false, bounds)).unwrap_err()
        };
        let bounds = Bounds { members: 2, bytes_of_member: 1_000, bytes: 1_200 };
        assert!(error(vec![map("a"), map("b"), map("c")], bounds).to_string().contains("3 members, more than 2"));
        let mut large = map("a");
        large["data"]["a"] = "x".repeat(1_000).into();
        assert!(error(vec![large.clone()], bounds).to_string().contains("split it"));
        large["data"]["a"] = "x".repeat(200).into();
        let mut other = large.clone();
        other["metadata"]["name"] = json!("b");
        assert!(error(vec![large, other], bounds).to_string().contains("more than 1200 bytes"));
        let many = error((0..100).map(|_| json!({})).collect(), Bounds::default());
        assert_eq!(many.errors.len(), MAX_ERRORS);
    }

    #[test]
    fn the_digest_is_of_what_is_wanted() {
        let of = |members: Vec<Value>| desired(Some("shop"), members).unwrap();
        let reordered = json!({"kind": "ConfigMap", "data": {"a": "b"}, "metadata": {"name": "a"}, "apiVersion": "v1"});
        assert_eq!(of(vec![map("a"), map("b")]), of(vec![map("b"), reordered]));
        let mut changed = map("a");
        changed["data"]["a"] = json!("c");
        let (one, other) = (of(vec![map("a")]), of(vec![changed]));
        assert_ne!(one.digest, other.digest);
        assert_ne!(one.members[0].digest, other.members[0].digest);
        assert_eq!(one.names, other.names);
    }

    #[test]
    fn members_are_in_order_and_know_what_they_need() {
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "names": {"kind": "Thing"}}});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
        let in_wave = |mut object: Value, wave: &str| {
            object["metadata"]["namespace"] = json!("n");
            object["metadata"]["annotations"] = json!({order::WAVE: wave});
            object
        };
        let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}});
        let members = vec![in_wave(thing.clone(), "0"), in_wave(map("late"), "1"), crd.clone(), namespace.clone()];
        let desired = desired(None, members).unwrap();
        let names: Vec<_> = desired.members.iter().map(|member| &*member.id.name).collect();
        assert_eq!(names, ["n", "things.example.com", "t", "late"]);
        assert_eq!(desired.members[2].needs.len(), 2);
        assert_eq!(desired.members[3].needs.len(), 1);
        let error = Desired::new(
            answer(vec![in_wave(thing, "-1"), crd, namespace]),
            &parent(None),
            &rules(false, Bounds::default()),
        );
        let error = error.unwrap_err();
        assert_eq!(error.errors.len(), 2, "{error}");
        assert!(error.to_string().contains("it is in wave -1, before Namespace n in wave 0"), "{error}");
    }
}

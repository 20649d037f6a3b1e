//! Parsed roles and bindings: what a user may do where. An unchanged object is not parsed again.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::{Attributes, Auth, MASTERS, ResourceTarget, Target, User, as_service_account};
use crate::json;
use crate::kinds::Resource;
use crate::status::Failure;
use crate::store::{Store, Stored};

const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const ROLES: &str = "roles.rbac.authorization.k8s.io";
const CLUSTER_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";
const BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";

/// `roleRef` of a binding.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RoleRef {
    pub kind: String,
    pub name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

/// The relevant fields of a role or a binding.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Parsed {
    rules: Option<Vec<Rule>>,
    role_ref: RoleRef,
    subjects: Option<Vec<Subject>>,
}

type Objects = BTreeMap<Arc<str>, (u64, Arc<Parsed>)>;

/// All roles and bindings at one moment.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    cluster_roles: Objects,
    roles: Objects,
    cluster_bindings: Objects,
    bindings: Objects,
}

/// The decision whether a user may do something.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    pub allowed: bool,
    pub reason: String,
}

/// The current policy. It is rebuilt when an object in it has changed.
#[derive(Debug)]
pub(crate) struct Policies {
    changes: [watch::Receiver<u64>; 4],
    newest: Mutex<([u64; 4], Arc<Policy>)>,
}

impl Policies {
    pub(crate) fn new(store: &Store) -> Self {
        let changes = [CLUSTER_ROLES, ROLES, CLUSTER_BINDINGS, BINDINGS].map(|s| store.subscribe(&Arc::from(s)));
        Self { changes, newest: Mutex::default() }
    }

    pub(crate) fn get(&self, store: &Store) -> Arc<Policy> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = self.changes.each_ref().map(|changes| *changes.borrow());
        if newest.0 != seen {
            *newest = (seen, Arc::new(newest.1.renewed(store)));
        }
        newest.1.clone()
    }
}

fn read(store: &Store, storage: &str, known: &Objects) -> Objects {
    let parse = |object: &Arc<Stored>| match known.get(&object.key) {
        Some((revision, parsed)) if *revision == object.revision => parsed.clone(),
        // Types are checked before objects are stored, so a role that cannot be parsed allows nothing.
        _ => Arc::new(serde_json::from_slice(&object.json).unwrap_or_default()),
    };
    store.all(storage, "").iter().map(|object| (object.key.clone(), (object.revision, parse(object)))).collect()
}

impl Policy {
    fn renewed(&self, store: &Store) -> Self {
        Self {
            cluster_roles: read(store, CLUSTER_ROLES, &self.cluster_roles),
            roles: read(store, ROLES, &self.roles),
            cluster_bindings: read(store, CLUSTER_BINDINGS, &self.cluster_bindings),
            bindings: read(store, BINDINGS, &self.bindings),
        }
    }

    /// Whether `user` may do it. No reason is given for users that may do everything.
    pub(crate) fn decide(&self, user: &User, attributes: &Attributes) -> Decision {
        if user.is_in(MASTERS) {
            return Decision { allowed: true, reason: String::new() };
        }
        let namespace = match &attributes.target {
            Target::Resource(target) => target.namespace.as_str(),
            Target::Path(_) => "",
        };
        let mut problems: Vec<String> = Vec::new();
        for found in self.applying(user, namespace) {
            match found.rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    return Decision { allowed: true, reason: format!("RBAC: allowed by {}", found.source()) };
                }
                Err(problem) if !problems.contains(&problem) => problems.push(problem),
                _ => {}
            }
        }
        let reason = match problems.as_slice() {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            many => format!("RBAC: [{}]", many.join(", ")),
        };
        Decision { allowed: false, reason }
    }

    /// All rules that apply to `user` in a namespace, or cluster-wide, and why some could not be found.
    pub(crate) fn rules(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
        let (mut rules, mut problems) = (Vec::new(), Vec::new());
        for found in self.applying(user, namespace) {
            match found.rules {
                Ok(found) => rules.extend_from_slice(found),
                Err(problem) => problems.push(problem),
            }
        }
        (rules, problems)
    }

    /// The rules of the role that a binding in `namespace` refers to, or why there are none.
    pub(crate) fn referred(&self, role: &RoleRef, namespace: &str) -> Result<&[Rule], String> {
        let (found, kind) = match role.kind.as_str() {
            "ClusterRole" => (self.cluster_roles.get(&*role.name), "clusterrole"),
            "Role" => (self.roles.get(&*crate::store::key(namespace, &role.name)), "role"),
            other => return Err(format!("unsupported role reference kind: {other:?}")),
        };
        let missing = || format!("{kind}.rbac.authorization.k8s.io {:?} not found", role.name);
        found.map(|(_, parsed)| parsed.rules.as_deref().unwrap_or_default()).ok_or_else(missing)
    }

    fn applying<'a>(&'a self, user: &'a User, namespace: &'a str) -> impl Iterator<Item = Applying<'a>> {
        let prefix = format!("{namespace}/");
        let local = self.bindings.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let local: Vec<_> = local.take_while(|(key, _)| !namespace.is_empty() && key.starts_with(&prefix)).collect();
        let everywhere = self.cluster_bindings.iter().map(|(key, (_, binding))| ("", key, binding));
        let local = local.into_iter().map(move |(key, (_, binding))| (namespace, key, binding));
        everywhere.chain(local).filter_map(move |(namespace, key, binding)| {
            let subjects = binding.subjects.as_deref().unwrap_or_default();
            let subject = subjects.iter().find(|s| s.is(user, namespace))?;
            let rules = self.referred(&binding.role_ref, namespace);
            Some(Applying { key, namespace, role: &binding.role_ref, subject, rules })
        })
    }
}

impl Subject {
    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name,
            "Group" => user.is_in(&self.name),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { binding_namespace } else { &self.namespace };
                as_service_account(&user.name) == Some((namespace, &self.name)) && !namespace.is_empty()
            }
            _ => false,
        }
    }
}

/// A binding that applies to a user.
struct Applying<'a> {
    key: &'a str,
    namespace: &'a str,
    role: &'a RoleRef,
    subject: &'a Subject,
    rules: Result<&'a [Rule], String>,
}

impl Applying<'_> {
    fn source(&self) -> String {
        let name = self.key.rsplit('/').next().unwrap_or_default();
        let (kind, name) = match self.namespace {
            "" => ("ClusterRoleBinding", name.to_owned()),
            namespace => ("RoleBinding", format!("{name}/{namespace}")),
        };
        let subject = match (self.subject.kind.as_str(), self.subject.namespace.as_str()) {
            ("ServiceAccount", "") => format!("{}/{}", self.subject.name, self.namespace),
            ("ServiceAccount", namespace) => format!("{}/{namespace}", self.subject.name),
            _ => self.subject.name.clone(),
        };
        let (role, subject_kind) = (self.role, &self.subject.kind);
        format!("{kind} {name:?} of {} {:?} to {subject_kind} {subject:?}", role.kind, role.name)
    }
}

/// The error text for rules that a user wants to grant and does not have.
pub(crate) fn escalates(user: &User, missing: &[Rule], problems: &[String]) -> String {
    let mut lines: Vec<String> = missing.iter().map(ToString::to_string).collect();
    lines.sort();
    let mut text = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        quoted(&user.groups),
        lines.join("\n")
    );
    if !problems.is_empty() {
        text.push_str(&format!("; resolution errors: [{}]", problems.join(", ")));
    }
    text
}

/// `PolicyRule` of `rbac.authorization.k8s.io/v1`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    pub verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

impl Rule {
    /// The rules that allow everything.
    pub(crate) fn everything() -> [Self; 2] {
        let all = || vec!["*".to_owned()];
        let resources = Self { verbs: all(), api_groups: all(), resources: all(), ..Self::default() };
        [resources, Self { verbs: all(), non_resource_urls: all(), ..Self::default() }]
    }

    pub(crate) fn allows(&self, attributes: &Attributes) -> bool {
        if !has(&self.verbs, &attributes.verb) {
            return false;
        }
        match &attributes.target {
            Target::Path(path) => self.non_resource_urls.iter().any(|url| url_covers(url, path)),
            Target::Resource(target) => self.allows_resource(target),
        }
    }

    fn allows_resource(&self, target: &ResourceTarget) -> bool {
        let combined = target.combined();
        let any_parent = |rule: &str| {
            rule.strip_prefix("*/").is_some_and(|sub| !target.subresource.is_empty() && sub == target.subresource)
        };
        has(&self.api_groups, &target.group)
            && self.resources.iter().any(|r| r == "*" || *r == combined || any_parent(r))
            && (self.resource_names.is_empty() || self.resource_names.contains(&target.name))
    }

    /// Equivalent rules with at most one verb, resource and name each.
    fn atoms(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut atoms = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let base =
                        Self { verbs: one(verb), api_groups: one(group), resources: one(resource), ..Self::default() };
                    if self.resource_names.is_empty() {
                        atoms.push(base);
                        continue;
                    }
                    atoms.extend(self.resource_names.iter().map(|n| Self { resource_names: one(n), ..base.clone() }));
                }
            }
        }
        for url in &self.non_resource_urls {
            let path = |verb| Self { verbs: one(verb), non_resource_urls: one(url), ..Self::default() };
            atoms.extend(self.verbs.iter().map(path));
        }
        atoms
    }

    /// Whether this rule allows everything that an atom allows.
    fn covers(&self, atom: &Self) -> bool {
        let all = |mine: &[String], theirs: &[String]| theirs.iter().all(|item| has(mine, item));
        let resource = |wanted: &String| {
            has(&self.resources, wanted)
                || wanted.split_once('/').is_some_and(|(_, sub)| self.resources.contains(&format!("*/{sub}")))
        };
        let url = |wanted: &String| self.non_resource_urls.iter().any(|mine| url_covers(mine, wanted));
        let names = self.resource_names.is_empty()
            || !atom.resource_names.is_empty() && atom.resource_names.iter().all(|n| self.resource_names.contains(n));
        all(&self.verbs, &atom.verbs)
            && all(&self.api_groups, &atom.api_groups)
            && atom.resources.iter().all(resource)
            && atom.non_resource_urls.iter().all(url)
            && names
    }
}

/// Whether a path of a rule, which may end in `*`, covers another path.
fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))
}

/// The format of the real server's refusals.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let shown = lists.iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = shown.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
        write!(f, "{{{}}}", parts.join(", "))
    }
}

/// A list of texts as Go prints it.
pub(crate) fn quoted(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}

/// The part of `wanted` that `held` does not cover. Rules that differ only in the verb are merged.
pub(crate) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let mut joined: BTreeMap<Rule, Rule> = BTreeMap::new();
    for atom in wanted.iter().flat_map(Rule::atoms).filter(|atom| !held.iter().any(|rule| rule.covers(atom))) {
        let mut key = atom.clone();
        if atom.non_resource_urls.is_empty() {
            key.verbs.clear();
        }
        match joined.get_mut(&key) {
            Some(rule) => rule.verbs.extend(atom.verbs),
            None => {
                joined.insert(key, atom);
            }
        }
    }
    joined.into_values().collect()
}

const GROUP: &str = "rbac.authorization.k8s.io";

/// Refuses a role or binding, complete and about to be stored, that grants more than `user` has. `asked` is the name in
/// the request's path.
pub(crate) fn check(
    auth: &Auth,
    store: &Store,
    user: &User,
    resource: &Resource,
    old: Option<&Value>,
    new: &Value,
    asked: &str,
) -> Result<(), Failure> {
    if resource.group != GROUP || !auth.rbac || user.is_in(MASTERS) || !old.is_none_or(|old| changes(old, new)) {
        return Ok(());
    }
    let policy = auth.policies.get(store);
    let writer = Writer { user, policy: &policy, namespace: json::text(new, &["metadata", "namespace"]) };
    let name = json::text(new, &["metadata", "name"]);
    let problem = match resource.plural.as_str() {
        "roles" | "clusterroles" => writer.role_problem(&resource.plural, asked, old, new),
        _ => writer.binding_problem(resource, new)?,
    };
    problem.map_or(Ok(()), |why| Err(Failure::forbidden(resource.gr(), name, &why)))
}

/// Whether the write changes more than the fields that let the object be collected.
fn changes(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        for key in ["ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"] {
            json::metadata(&mut object).shift_remove(key);
        }
        object
    };
    rest(old) != rest(new)
}

struct Writer<'a> {
    user: &'a User,
    policy: &'a Policy,
    namespace: &'a str,
}

impl Writer<'_> {
    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let target = ResourceTarget {
            group: GROUP.to_owned(),
            resource: resource.to_owned(),
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
            ..ResourceTarget::default()
        };
        self.policy.decide(self.user, &Attributes::of_resource(verb, target)).allowed
    }

    fn escalation(&self, wanted: &[Rule]) -> Option<String> {
        let (held, problems) = self.policy.rules(self.user, self.namespace);
        let missing = missing(&held, wanted);
        (!missing.is_empty()).then(|| escalates(self.user, &missing, &problems))
    }

    fn role_problem(&self, plural: &str, asked: &str, old: Option<&Value>, new: &Value) -> Option<String> {
        if self.may("escalate", plural, asked) {
            return None;
        }
        if let Some(problem) = self.escalation(&rules(new)) {
            return Some(problem);
        }
        let gathers = |role: &Value| !json::list(role, &["aggregationRule", "clusterRoleSelectors"]).is_empty();
        if !gathers(new) && !old.is_some_and(gathers) {
            return None;
        }
        // The role aggregates rules that others write, so only users with all rights may use it.
        let why = "must have cluster-admin privileges to use the aggregationRule";
        self.escalation(&Rule::everything()).map(|_| why.to_owned())
    }

    /// An error if the role does not exist.
    fn binding_problem(&self, resource: &Resource, binding: &Value) -> Result<Option<String>, Failure> {
        let text = |key: &str| json::text(binding, &["roleRef", key]).to_owned();
        let role = RoleRef { kind: text("kind"), name: text("name") };
        let plural = if role.kind == "ClusterRole" { "clusterroles" } else { "roles" };
        if self.may("bind", plural, &role.name) {
            return Ok(None);
        }
        match self.policy.referred(&role, self.namespace) {
            Ok(rules) => Ok(self.escalation(rules)),
            Err(_) if matches!(role.kind.as_str(), "ClusterRole" | "Role") => {
                // The real server names the binding's kind, and the role.
                Err(Failure::not_found(resource.gr(), &role.name))
            }
            Err(why) => Err(Failure::internal(why)),
        }
    }
}

fn rules(role: &Value) -> Vec<Rule> {
    let rules = role.get("rules").filter(|rules| !rules.is_null()).cloned();
    rules.and_then(|rules| serde_json::from_value(rules).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    fn rule(value: Value) -> Rule {
        serde_json::from_value(value).unwrap()
    }

    fn pods(verbs: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        rule(json!({ "verbs": verbs, "apiGroups": [""], "resources": resources, "resourceNames": names }))
    }

    fn wants(verb: &str, resource: &str, sub: &str, name: &str) -> Attributes {
        let (resource, subresource, name) = (resource.to_owned(), sub.to_owned(), name.to_owned());
        Attributes::of_resource(verb, ResourceTarget { resource, subresource, name, ..ResourceTarget::default() })
    }

    #[test]
    fn rules_allow_what_they_name() {
        let cases = [
            (pods(&["get"], &["pods"], &[]), wants("get", "pods", "", "x"), true),
            (pods(&["get"], &["pods"], &[]), wants("get", "pods", "log", "x"), false),
            (pods(&["get"], &["*"], &[]), wants("get", "pods", "log", "x"), true),
            (pods(&["*"], &["*/log"], &[]), wants("get", "pods", "log", "x"), true),
            (pods(&["*"], &["*/log"], &[]), wants("get", "pods", "", "x"), false),
            (pods(&["get"], &["pods"], &["y"]), wants("get", "pods", "", "x"), false),
            (pods(&["list"], &["pods"], &["y"]), wants("list", "pods", "", ""), false),
            (pods(&["list"], &["pods"], &["y"]), wants("list", "pods", "", "y"), true),
            (rule(json!({ "verbs": ["get"], "nonResourceURLs": ["/a/*"] })), Attributes::of_path("get", "/a/b"), true),
            (rule(json!({ "verbs": ["get"], "nonResourceURLs": ["/a"] })), Attributes::of_path("get", "/a/b"), false),
        ];
        for (rule, attributes, wanted) in cases {
            assert_eq!(rule.allows(&attributes), wanted, "{rule} {attributes:?}");
        }
        let other = ResourceTarget { group: "apps".into(), resource: "pods".into(), ..ResourceTarget::default() };
        assert!(!pods(&["get"], &["pods"], &[]).allows(&Attributes::of_resource("get", other)));
    }

    #[test]
    fn what_is_missing_is_reported_by_place() {
        let held = [pods(&["get", "list"], &["pods", "*/scale"], &[]), pods(&["delete"], &["secrets"], &["a"])];
        let none: [Rule; 0] = [];
        assert_eq!(missing(&held, &[pods(&["get"], &["pods", "pods/scale"], &["x"])]), none);
        let wanted = [pods(&["get", "watch", "delete"], &["pods"], &[]), pods(&["delete"], &["secrets"], &[])];
        let reported: Vec<String> = missing(&held, &wanted).iter().map(ToString::to_string).collect();
        assert_eq!(
            reported,
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["delete"]}"#,
            ]
        );
        assert_eq!(missing(&[pods(&["*"], &["*"], &[])], &wanted), none);
    }
}

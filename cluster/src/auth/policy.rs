//! Parsed roles and bindings: what a user may do where. An unchanged object is not parsed again.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tokio::sync::watch;

use super::attributes::{Attributes, Target};
use super::rules::{Rule, quoted};
use super::user::{MASTERS, User, as_service_account};
use crate::store::{Query, Store, Stored};

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
    let query = Query { prefix: "", after: None, at: None, limit: 0, matches: &|_| true };
    let found = store.list(storage, &query).map(|page| page.items).unwrap_or_default();
    let parse = |object: &Arc<Stored>| match known.get(&object.key) {
        Some((revision, parsed)) if *revision == object.revision => parsed.clone(),
        // Types are checked before objects are stored, so a role that cannot be parsed allows nothing.
        _ => Arc::new(serde_json::from_slice(&object.json).unwrap_or_default()),
    };
    found.iter().map(|object| (object.key.clone(), (object.revision, parse(object)))).collect()
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

//! One access to the API, in the terms of RBAC, and the reason for it.

use std::fmt;

use boathook_core::model::HookName;
use serde_json::{Value, json};

/// Where objects are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Cluster-scoped objects, and objects of all namespaces.
    Cluster,
    /// One namespace.
    Namespace(String),
}

impl Place {
    /// Its name, if it is a namespace.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Cluster => None,
            Self::Namespace(name) => Some(name),
        }
    }
}

/// One verb on one resource in one place, as in a SubjectAccessReview.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    pub place: Place,
    /// API group. `""` is the core group, and `*` is all groups.
    pub group: String,
    /// Plural, with `/sub` for a subresource. `*` is all resources, and `*/sub` is this subresource of all resources.
    pub resource: String,
    /// Only the object with this name.
    pub name: Option<String>,
    /// `get`, `watch`, …
    pub verb: String,
}

impl Access {
    /// The accesses that include this one. The access itself is first, and each one comes before those that include it.
    pub(super) fn covering(&self) -> Vec<Self> {
        let places = with(&self.place, self.place != Place::Cluster, Place::Cluster);
        let groups = with(&self.group, self.group != "*", "*".to_owned());
        let mut resources = vec![self.resource.clone()];
        let sub = self.resource.split_once('/').filter(|(resource, _)| *resource != "*");
        resources.extend(sub.map(|(_, sub)| format!("*/{sub}")));
        resources.extend((self.resource != "*").then(|| "*".to_owned()));
        let names = with(&self.name, self.name.is_some(), None);
        let mut all = Vec::new();
        for place in &places {
            for group in &groups {
                for resource in &resources {
                    for name in &names {
                        all.push(Self {
                            place: place.clone(),
                            group: group.clone(),
                            resource: resource.clone(),
                            name: name.clone(),
                            verb: self.verb.clone(),
                        });
                    }
                }
            }
        }
        all
    }
}

fn with<T: Clone>(own: &T, wider: bool, all: T) -> Vec<T> {
    if wider { vec![own.clone(), all] } else { vec![own.clone()] }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, " of {}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, " named {name}")?;
        }
        match &self.place {
            Place::Cluster => f.write_str(" in the whole cluster"),
            Place::Namespace(namespace) => write!(f, " in namespace {namespace}"),
        }
    }
}

/// A ServiceAccount of a namespace with HookBundles, which the operator impersonates for its hooks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant {
    pub namespace: String,
    pub service_account: String,
}

/// Who needs an access.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// The operator's own ServiceAccount.
    Host,
    /// The ServiceAccount of one hook, which the operator impersonates.
    Hook(HookName),
    /// The ServiceAccount of the hooks of HookBundles in a namespace, which the operator impersonates.
    Tenant(Tenant),
}

/// Why an access is needed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason {
    /// The hook that needs it. None if it is needed for HookBundles, replicas or the console, independent of the hooks.
    pub hook: Option<HookName>,
    /// The part of the document that needs it.
    pub part: Part,
}

/// A part of a hook's document, or of the operator's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The binding of this name, which watches objects.
    Binding(String),
    /// The binding of this name, which selects namespaces by label.
    Namespaces(String),
    /// The binding of this name, whose kind may be defined later than the hook is loaded.
    Definitions(String),
    /// The item of `permissions.kubernetes` at this index.
    Permission(usize),
    /// The binding of this name, which answers the API server.
    Reviews(String),
    /// The webhooks of its bindings, and their certificates.
    Webhooks,
    /// The conversion of this CustomResourceDefinition.
    Conversion(String),
    /// Kubernetes Events about failed runs.
    Failures,
    /// Impersonation of the hook's ServiceAccount.
    Identity,
    /// HookBundles, their status and finalizers.
    HookBundles,
    /// The CustomResourceDefinitions of HookBundles and of the kinds that their hooks bind.
    Kinds,
    /// The rights of the ServiceAccounts of HookBundles.
    Rights,
    /// Secrets that HookBundles name.
    Logins,
    /// Kubernetes Events about HookBundles.
    Told,
    /// Impersonation of the ServiceAccounts of HookBundles.
    Identities,
    /// The Lease of the operator's replicas.
    Election,
    /// The questions about visitors of the console.
    Console,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hook {
            Some(hook) => write!(f, "hook {hook}: ")?,
            None if self.part == Part::Election => f.write_str("replicas: ")?,
            None if self.part == Part::Console => f.write_str("console: ")?,
            None => f.write_str("HookBundles: ")?,
        }
        match &self.part {
            Part::Binding(name) => write!(f, "binding {name}"),
            Part::Namespaces(name) => write!(f, "binding {name}, namespaces by label"),
            Part::Definitions(name) => write!(f, "binding {name}, whose kind may come and go"),
            Part::Permission(index) => write!(f, "permissions.kubernetes[{index}]"),
            Part::Reviews(name) => write!(f, "binding {name}, whose answers take the right"),
            Part::Webhooks => f.write_str("its webhooks"),
            Part::Conversion(crd) => write!(f, "conversion of {crd}"),
            Part::Failures => f.write_str("Events about failed runs"),
            Part::Identity => f.write_str("its calls are made as its ServiceAccount"),
            Part::HookBundles => f.write_str("they, their status and their finalizer"),
            Part::Kinds => f.write_str("kinds that come and go"),
            Part::Rights => f.write_str("whether ServiceAccounts have the rights that bindings take"),
            Part::Logins => f.write_str("logins, keys and certificates that they name"),
            Part::Told => f.write_str("Events about them"),
            Part::Election => f.write_str("the Lease that elects one of them"),
            Part::Console => f.write_str("who a visitor is, and whether they may see it"),
            Part::Identities => f.write_str("ServiceAccounts are looked for, and calls of hooks made as them"),
        }
    }
}

/// The user whose access is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// The user that sends the request.
    Myself,
    /// Another user. RBAC must allow the request for others.
    User(String),
}

/// Path and body of the request.
pub fn review(asker: &Asker, access: &Access) -> (&'static str, Value) {
    let (resource, subresource) = match access.resource.split_once('/') {
        Some((resource, sub)) => (resource, Some(sub)),
        None => (access.resource.as_str(), None),
    };
    let mut attributes = json!({ "verb": access.verb, "group": access.group, "resource": resource });
    let rest =
        [("namespace", access.place.namespace()), ("name", access.name.as_deref()), ("subresource", subresource)];
    if let Some(fields) = attributes.as_object_mut() {
        fields.extend(rest.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))));
    }
    let mut spec = json!({ "resourceAttributes": attributes });
    let (path, kind) = match asker {
        Asker::Myself => ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        Asker::User(user) => {
            if let Some(fields) = spec.as_object_mut() {
                fields.insert("user".to_owned(), user.as_str().into());
                fields.insert("groups".to_owned(), groups(user).into());
            }
            ("/apis/authorization.k8s.io/v1/subjectaccessreviews", "SubjectAccessReview")
        }
    };
    (path, json!({ "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec }))
}

/// The groups that the API server adds to a user by itself. Roles may be bound to them.
fn groups(user: &str) -> Vec<String> {
    let mut groups = vec!["system:authenticated".to_owned()];
    if let Some((namespace, _)) = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':')) {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups
}

/// The result in the response. None if it is not a valid response.
pub fn allowed(answer: &Value) -> Option<bool> {
    answer.pointer("/status/allowed")?.as_bool()
}

#[cfg(test)]
mod tests {
    use super::{super::access::Place, *};

    #[test]
    fn a_question_names_everything() {
        let access = Access {
            place: Place::Namespace("n".into()),
            group: "apps".into(),
            resource: "deployments/scale".into(),
            name: Some("web".into()),
            verb: "patch".into(),
        };
        let (path, body) = review(&Asker::Myself, &access);
        assert!(path.ends_with("/selfsubjectaccessreviews"));
        let attributes = json!({"verb": "patch", "group": "apps", "resource": "deployments", "namespace": "n", "name": "web", "subresource": "scale"});
        assert_eq!(body["spec"], json!({ "resourceAttributes": attributes }));
        let (_, body) = review(&Asker::User("system:serviceaccount:ops:b".into()), &access);
        assert_eq!(body["kind"], "SubjectAccessReview");
        assert_eq!(body["spec"]["user"], "system:serviceaccount:ops:b");
        assert_eq!(
            body["spec"]["groups"],
            json!(["system:authenticated", "system:serviceaccounts", "system:serviceaccounts:ops"])
        );
    }
}

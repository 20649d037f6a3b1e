//! One access to the API, as RBAC tells them apart, and why it is needed.

use std::fmt;

use crate::model::HookName;

/// Where objects are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Cluster-scoped objects, and those of all namespaces.
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

/// One verb on one resource in one place: what one SubjectAccessReview asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// Where.
    pub place: Place,
    /// API group; `""` is the core group, `*` all.
    pub group: String,
    /// Plural, with `/sub` for a subresource; `*` is all of them, `*/sub` this subresource of all.
    pub resource: String,
    /// Only the object of this name.
    pub name: Option<String>,
    /// `get`, `watch`, …
    pub verb: String,
}

impl Access {
    /// The accesses that would include this one: the access itself first, and each before those that include it.
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

/// Whose rights.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// The operator's own ServiceAccount.
    Host,
    /// That of one hook, which the operator impersonates.
    Hook(HookName),
}

/// Why an access is needed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason {
    /// For which hook.
    pub hook: HookName,
    /// For what of it.
    pub part: Part,
}

/// A part of a hook's document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The binding of this name, which follows objects.
    Binding(String),
    /// The binding of this name, which chooses namespaces by their labels.
    Namespaces(String),
    /// The binding of this name, whose kind may come later than the hook.
    Definitions(String),
    /// The item of `permissions.kubernetes` at this place.
    Permission(usize),
    /// The webhooks of its bindings, and their certificates.
    Webhooks,
    /// The conversion of this CustomResourceDefinition.
    Conversion(String),
    /// Kubernetes Events about failed runs.
    Failures,
    /// Acting as the hook's ServiceAccount.
    Identity,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hook {}: ", self.hook)?;
        match &self.part {
            Part::Binding(name) => write!(f, "binding {name}"),
            Part::Namespaces(name) => write!(f, "binding {name}, namespaces by label"),
            Part::Definitions(name) => write!(f, "binding {name}, whose kind may come and go"),
            Part::Permission(index) => write!(f, "permissions.kubernetes[{index}]"),
            Part::Webhooks => f.write_str("its webhooks"),
            Part::Conversion(crd) => write!(f, "conversion of {crd}"),
            Part::Failures => f.write_str("Events about failed runs"),
            Part::Identity => f.write_str("its calls are made as its ServiceAccount"),
        }
    }
}

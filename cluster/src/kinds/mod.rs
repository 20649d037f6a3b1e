//! The served resources by path, from the built-in table and from CustomResourceDefinitions. They describe how objects
//! are named, stored, selected, merged and shown.

mod builtin;
pub(crate) mod crd;
pub(crate) mod custom;
pub(crate) mod definition;
pub(crate) mod discovery;
mod form;
pub(crate) mod openapi;
pub(crate) mod published;
pub(crate) mod rules;
pub(crate) mod scale;
pub(crate) mod schema;
mod selectable;
pub(crate) mod shape;
pub(crate) mod structural;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use self::schema::Schema;
use crate::names::Naming;
use crate::status::{Cause, Failure, GroupResource};
use crate::store::{Index, Stored};

/// A subresource of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sub {
    Status,
    Scale,
    Eviction,
    Binding,
    Finalize,
    EphemeralContainers,
    /// Resources of a pod's containers.
    Resize,
    /// Logs of a pod's containers.
    Log,
    /// Tokens of a service account.
    Token,
}

impl Sub {
    /// All served subresources.
    const ALL: &[Self] = &[
        Self::Status,
        Self::Scale,
        Self::Eviction,
        Self::Binding,
        Self::Finalize,
        Self::EphemeralContainers,
        Self::Resize,
        Self::Log,
        Self::Token,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|sub| sub.name() == name).copied()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Eviction => "eviction",
            Self::Binding => "binding",
            Self::Finalize => "finalize",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
            Self::Log => "log",
            Self::Token => "token",
        }
    }
}

/// How a stored object is converted to the requested version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// The stored object is used unchanged.
    Same,
    /// Only `apiVersion` differs.
    ApiVersion,
    /// events.k8s.io/v1 on core/v1 events.
    Events,
    /// autoscaling/v1 on autoscaling/v2 autoscalers.
    Autoscaler,
}

/// One served resource: a plural in a group and version.
#[derive(Debug)]
pub(crate) struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub list_kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    pub subresources: Vec<Sub>,
    /// The collection's name, `plural.group`.
    pub storage: Arc<str>,
    pub stored_api_version: String,
    pub conversion: Conversion,
    /// `metadata.generation` counts changes of the desired state.
    pub generation: bool,
    pub naming: Naming,
    pub selectable: Vec<selectable::Selectable>,
    /// Only for custom resources.
    pub custom: Option<crd::Custom>,
    pub delete_returns_object: bool,
    pub create_on_update: bool,
    /// The table of built-in types.
    pub schema: Arc<schema::Schema>,
    /// The index of this kind's type in the table. None for custom resources.
    pub root_type: Option<usize>,
}

impl Resource {
    pub(crate) fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    /// The version in which managed fields are recorded. Fields may have other names in each version.
    pub(crate) fn written_api_version(&self) -> String {
        let by_webhook = self.custom.as_ref().is_some_and(|custom| custom.converter.is_some());
        if by_webhook || matches!(self.conversion, Conversion::Events | Conversion::Autoscaler) {
            self.api_version()
        } else {
            self.stored_api_version.clone()
        }
    }

    pub(crate) fn gr(&self) -> GroupResource<'_> {
        GroupResource { group: &self.group, resource: &self.plural }
    }

    pub(crate) fn has(&self, sub: Sub) -> bool {
        self.subresources.contains(&sub)
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// Kinds whose dependents stay by default, for compatibility with old clients.
    pub(crate) fn orphans_by_default(&self) -> bool {
        self.is("batch", "jobs") || self.is("", "replicationcontrollers")
    }

    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        if self.custom.is_some() {
            &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        } else if self.is("", "namespaces") {
            &["create", "delete", "get", "list", "patch", "update", "watch"]
        } else {
            &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        }
    }

    pub(crate) fn invalid(&self, name: &str, causes: &[Cause]) -> Failure {
        // Errors name the core group, whichever form an event has.
        let group = if self.conversion == Conversion::Events { "" } else { &self.group };
        Failure::invalid(group, &self.kind, name, causes)
    }

    /// The problem of a field selector on `path`, if there is one.
    pub(crate) fn field_problem(&self, path: &str) -> Option<String> {
        let offered =
            matches!(path, "metadata.name" | "metadata.namespace") || self.selectable.iter().any(|s| *s.path == *path);
        if offered {
            return None;
        }
        if self.selectable.is_empty() && self.custom.is_none() {
            let known = "only \"metadata.name\", \"metadata.namespace\"";
            return Some(format!("\"{path}\" is not a known field selector: {known}"));
        }
        Some(format!("field label not supported: {path}"))
    }

    /// The selector index of an object in its storage version.
    pub(crate) fn index(&self, object: &Value) -> Index {
        let fields = self.selectable.iter().map(|s| (s.path.clone(), s.value(object).into()));
        Index { labels: Index::labels_of(object), fields: fields.collect() }
    }

    /// Converts the body of a request to its storage version.
    pub(crate) fn to_storage(&self, object: &mut Value) {
        match self.conversion {
            Conversion::Same => {}
            Conversion::ApiVersion => self.set_api_version(object, &self.stored_api_version),
            Conversion::Events => form::to_core(object),
            Conversion::Autoscaler => form::to_v2(object),
        }
    }

    /// Converts a stored object to this resource's version.
    pub(crate) fn show_stored(&self, object: &mut Value) {
        match self.conversion {
            Conversion::Same => {}
            Conversion::ApiVersion => self.set_api_version(object, &self.api_version()),
            Conversion::Events => form::from_core(object),
            Conversion::Autoscaler => form::to_v1(object),
        }
    }

    fn set_api_version(&self, object: &mut Value, to: &str) {
        crate::json::object(object).insert("apiVersion".into(), to.into());
    }

    /// A stored object as a value in this version.
    pub(crate) fn value(&self, stored: &Stored) -> Value {
        let mut value = stored.value();
        self.show_stored(&mut value);
        value
    }
}

/// `v1` or `group/v1`.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The Kubernetes version whose behaviour this server follows.
pub(crate) const VERSION: &str = "v1.36.0";

pub(crate) use builtin::{review, storage as builtin_storage};

/// One API group, in the order of discovery.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    /// The preferred version is first.
    pub versions: Vec<String>,
}

/// The served resources at one moment.
#[derive(Debug)]
pub(crate) struct Registry {
    resources: Vec<Arc<Resource>>,
    by_path: HashMap<(String, String, String), Arc<Resource>>,
    groups: Vec<Group>,
}

impl Registry {
    /// The built-in table and `custom`. A built-in resource has precedence over a custom one with the same path.
    pub(crate) fn new(schema: &Arc<Schema>, custom: impl IntoIterator<Item = Arc<Resource>>) -> Self {
        let mut registry = Self { resources: Vec::new(), by_path: HashMap::new(), groups: Vec::new() };
        for (group, version) in published::discovery().iter().map(published::ResourceList::split) {
            registry.add_version(group, version);
        }
        let builtin = registry.groups.len();
        for resource in builtin::resources(schema).into_iter().map(Arc::new).chain(custom) {
            registry.add(resource);
        }
        for group in &mut registry.groups {
            group.versions.sort_by_key(|v| std::cmp::Reverse(crd::version_rank(v)));
        }
        if let Some(custom) = registry.groups.get_mut(builtin..) {
            custom.sort_by(|a, b| a.name.cmp(&b.name));
        }
        registry
    }

    fn add(&mut self, resource: Arc<Resource>) {
        let path = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
        if self.by_path.contains_key(&path) {
            return;
        }
        self.by_path.insert(path, resource.clone());
        self.add_version(&resource.group, &resource.version);
        self.resources.push(resource);
    }

    fn add_version(&mut self, group: &str, version: &str) {
        match self.groups.iter_mut().find(|g| g.name == group) {
            Some(group) if group.versions.iter().any(|v| v == version) => {}
            Some(group) => group.versions.push(version.to_owned()),
            None => self.groups.push(Group { name: group.to_owned(), versions: vec![version.to_owned()] }),
        }
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_path.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter()
    }

    /// A resource of the group, in any version.
    pub(crate) fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|r| r.group == group && r.plural == plural)
    }

    /// A resource of the collection, in any version.
    pub(crate) fn of_storage(&self, storage: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|r| *r.storage == *storage)
    }

    /// The resource of a kind. `api_version` is `v1` or `group/v1`.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.in_version(group, version).find(|r| r.kind == kind)
    }

    /// Collections with a version here that `later` does not serve.
    pub(crate) fn missing_in(&self, later: &Self) -> Vec<Arc<str>> {
        let gone = self.by_path.iter().filter(|(path, _)| !later.by_path.contains_key(*path));
        gone.map(|(_, resource)| resource.storage.clone()).collect()
    }

    /// The core group has an empty name.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Whether the group is built in. Unknown paths below such a group are answered with a Status.
    pub(crate) fn has_group(&self, name: &str) -> bool {
        published::discovery().iter().any(|list| list.split().0 == name)
    }

    pub(crate) fn in_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter().filter(move |r| r.group == group && r.version == version)
    }

    /// One resource for each collection.
    pub(crate) fn collections(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let mut seen = std::collections::HashSet::new();
        self.resources.iter().filter(move |r| seen.insert(r.storage.clone()))
    }
}

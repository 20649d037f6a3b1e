//! All served resources, by path, by kind and by group. A registry is immutable: a change of a CustomResourceDefinition
//! creates a new one.

use std::collections::HashMap;
use std::sync::Arc;

use super::schema::Schema;
use super::{Resource, builtin, published};

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
            group.versions.sort_by_key(|v| std::cmp::Reverse(super::crd::version_rank(v)));
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

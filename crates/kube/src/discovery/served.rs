//! One served resource and its names. Pure.

use std::sync::Arc;

use boathook_core::model::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::core::discovery::v2::{APIResourceDiscovery, APIVersionDiscovery};

/// What one version serves.
pub(super) type Resources = Arc<[Served]>;

/// A resource and its other names.
#[derive(Debug, Clone)]
pub(super) struct Served {
    pub resource: Arc<Resource>,
    singular: String,
    short_names: Vec<String>,
}

impl Served {
    /// Whether this is its kind, plural or singular.
    pub fn is_called(&self, name: &str) -> bool {
        [&self.resource.kind, &self.resource.plural, &self.singular]
            .into_iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Whether this is one of its short names.
    pub fn is_short_for(&self, name: &str) -> bool {
        self.short_names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// Reads what a version's resource list serves, without subresources.
pub(super) fn from_list(list: APIResourceList) -> Vec<Served> {
    let (group, version) = match list.group_version.split_once('/') {
        Some((group, version)) => (group.to_owned(), version.to_owned()),
        None => (String::new(), list.group_version.clone()),
    };
    list.resources
        .into_iter()
        .filter(|resource| !resource.name.contains('/') && !resource.verbs.is_empty())
        .map(|resource| Served {
            resource: Arc::new(Resource {
                group: group.clone(),
                version: version.clone(),
                kind: resource.kind,
                plural: resource.name,
                namespaced: resource.namespaced,
            }),
            singular: resource.singular_name,
            short_names: resource.short_names.unwrap_or_default(),
        })
        .collect()
}

/// Reads what aggregated discovery reports for a version, without kinds that have only subresources.
pub(super) fn from_discovery(group: &str, version: APIVersionDiscovery) -> Vec<Served> {
    let name = version.version.unwrap_or_default();
    let served = |resource: APIResourceDiscovery| {
        let kind = resource.response_kind?.kind.filter(|kind| !kind.is_empty())?;
        let found = Resource {
            group: group.to_owned(),
            version: name.clone(),
            kind,
            plural: resource.resource?,
            namespaced: resource.scope.as_deref() == Some("Namespaced"),
        };
        Some(Served {
            resource: Arc::new(found),
            singular: resource.singular_resource.unwrap_or_default(),
            short_names: resource.short_names,
        })
        .filter(|_| !resource.verbs.is_empty())
    };
    version.resources.into_iter().filter_map(served).collect()
}

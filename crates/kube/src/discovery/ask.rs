//! The requests that discovery sends, each with a deadline, and what an answer says is served. Nothing is cached here.

use std::{collections::HashSet, sync::Arc, time::Duration};

use boathook_core::model::{ListedKind, Resource};
use http::{Request, header::ACCEPT};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use kube::{
    Client,
    core::discovery::v2::{
        ACCEPT_AGGREGATED_DISCOVERY_V2, APIGroupDiscovery, APIResourceDiscovery, APIVersionDiscovery,
    },
};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::timeout;

use super::{DiscoveryError, Server};

/// What one version serves.
pub(super) type Resources = Arc<[Served]>;

/// A resource and its other names.
#[derive(Debug, Clone)]
pub(super) struct Served {
    pub resource: Arc<Resource>,
    /// Its objects have a `status` subresource.
    pub status: bool,
    singular: String,
    short_names: Vec<String>,
    verbs: Vec<String>,
    categories: Vec<String>,
}

impl Served {
    /// Whether this is its kind, plural or singular.
    pub fn is_called(&self, name: &str) -> bool {
        [&self.resource.kind, &self.resource.plural, &self.singular]
            .into_iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    }

    /// What a list of kinds shows of it.
    pub fn listed(&self) -> ListedKind {
        let Self { resource, short_names, verbs, categories, .. } = self;
        ListedKind {
            resource: Resource::clone(resource),
            short_names: short_names.clone(),
            verbs: verbs.clone(),
            categories: categories.clone(),
        }
    }

    /// Whether this is one of its short names.
    pub fn is_short_for(&self, name: &str) -> bool {
        self.short_names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// The deadline of one response. An aggregated API server that accepts requests and never answers is an ordinary fault.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// One group in the version that the server prefers.
pub(super) struct Group {
    /// `v1` or `apps/v1`.
    pub api_version: String,
    /// What the version serves, if that came with the list of groups.
    pub resources: Option<Resources>,
    /// Whether to request the group's resources separately. If not, the API server has already requested them, and
    /// `resources` is `None` if the group did not answer.
    pub asked_for: bool,
}

/// Returns what a version serves. It is empty if the server has no such version.
pub(super) async fn version(client: &Client, api_version: &str) -> Result<Vec<Served>, DiscoveryError> {
    if !is_api_version(api_version) {
        return Ok(Vec::new());
    }
    let path = if api_version.contains('/') { format!("/apis/{api_version}") } else { format!("/api/{api_version}") };
    match get::<APIResourceList>(client, &path, "application/json").await {
        Ok(list) => Ok(from_list(list)),
        Err(DiscoveryError::Unavailable(error)) if is_404(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn is_404(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Both forms of the response. Servers before Kubernetes 1.27 know only the second one.
#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    items: Vec<APIGroupDiscovery>,
    #[serde(default)]
    groups: Vec<APIGroup>,
}

/// Returns all groups, the core group first.
pub(super) async fn groups(client: &Client) -> Result<Vec<Group>, DiscoveryError> {
    let all = |path| get::<Groups>(client, path, ACCEPT_AGGREGATED_DISCOVERY_V2);
    let (core, others) = futures::try_join!(all("/api"), all("/apis"))?;
    let mut found: Vec<Group> = core.items.into_iter().filter_map(aggregated).collect();
    if found.is_empty() {
        found.push(Group { api_version: "v1".to_owned(), resources: None, asked_for: true });
    }
    found.extend(others.items.into_iter().filter_map(aggregated));
    found.extend(others.groups.into_iter().filter_map(plain));
    Ok(found)
}

/// What the API server is, and everything that it serves.
pub(super) async fn server(client: &Client) -> Result<Server, DiscoveryError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        git_version: String,
        major: String,
        minor: String,
    }
    let all = |path| get::<Groups>(client, path, ACCEPT_AGGREGATED_DISCOVERY_V2);
    let version = get::<Version>(client, "/version", "application/json");
    let (version, core, others) = futures::try_join!(version, all("/api"), all("/apis"))?;
    let mut api_versions = Vec::new();
    let mut add = |api_version: String, served: Vec<Served>| {
        let kinds = served.iter().map(|served| format!("{api_version}/{}", served.resource.kind));
        api_versions.extend(kinds.collect::<Vec<_>>());
        api_versions.push(api_version);
    };
    let mut separate = if core.items.is_empty() { vec!["v1".to_owned()] } else { Vec::new() };
    for group in core.items.into_iter().chain(others.items) {
        let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        for of in group.versions {
            let Some(version) = of.version.clone() else { continue };
            let api_version = if name.is_empty() { version } else { format!("{name}/{version}") };
            add(api_version, from_discovery(&name, of));
        }
    }
    separate.extend(others.groups.into_iter().flat_map(|group| group.versions).map(|version| version.group_version));
    for api_version in separate {
        let served = self::version(client, &api_version).await?;
        add(api_version, served);
    }
    api_versions.sort();
    api_versions.dedup();
    let Version { git_version, major, minor } = version;
    Ok(Server { version: git_version, major, minor, api_versions })
}

fn plain(group: APIGroup) -> Option<Group> {
    let version = group.preferred_version.or_else(|| group.versions.into_iter().next())?;
    Some(Group { api_version: version.group_version, resources: None, asked_for: true })
}

fn aggregated(group: APIGroupDiscovery) -> Option<Group> {
    let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
    // The first version is the preferred one.
    let preferred = group.versions.into_iter().next()?;
    let version = preferred.version.clone()?;
    let api_version = if name.is_empty() { version } else { format!("{name}/{version}") };
    // Stale resources are the last ones that the API server received from the group, if it ever received any.
    let stale = preferred.freshness.as_deref() == Some("Stale");
    let resources = from_discovery(&name, preferred);
    let resources = (!stale || !resources.is_empty()).then(|| Arc::from(resources));
    Some(Group { api_version, resources, asked_for: false })
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str, accept: &str) -> Result<T, DiscoveryError> {
    let unavailable = |error| DiscoveryError::Unavailable(Arc::new(error));
    let request = Request::get(path).header(ACCEPT, accept).body(Vec::new());
    let request = request.map_err(|error| unavailable(kube::Error::HttpError(error)))?;
    match timeout(ANSWER, client.request(request)).await {
        Ok(answer) => answer.map_err(unavailable),
        Err(_) => Err(DiscoveryError::Silent(ANSWER)),
    }
}

/// Whether the text is `version` or `group/version` in the characters that Kubernetes allows there. A hook chooses this
/// text, and it becomes part of a URL.
fn is_api_version(text: &str) -> bool {
    let mut parts = text.split('/');
    let valid = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-'))
    };
    parts.next().is_some_and(valid) && parts.next().is_none_or(valid) && parts.next().is_none()
}

/// Reads what a version's resource list serves. Of subresources, it only keeps whether there is a `status`.
fn from_list(list: APIResourceList) -> Vec<Served> {
    let api_version = list.group_version;
    let with_status = list.resources.iter().filter_map(|resource| resource.name.strip_suffix("/status"));
    let with_status: HashSet<_> = with_status.map(str::to_owned).collect();
    list.resources
        .into_iter()
        .filter(|resource| !resource.name.contains('/') && !resource.verbs.is_empty())
        .map(|resource| Served {
            resource: Arc::new(Resource::of(&api_version, &resource.kind, &resource.name, resource.namespaced)),
            status: with_status.contains(&resource.name),
            singular: resource.singular_name,
            short_names: resource.short_names.unwrap_or_default(),
            verbs: resource.verbs,
            categories: resource.categories.unwrap_or_default(),
        })
        .collect()
}

/// Reads what aggregated discovery reports for a version, without kinds that have only subresources.
fn from_discovery(group: &str, version: APIVersionDiscovery) -> Vec<Served> {
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
            status: resource.subresources.iter().any(|one| one.subresource.as_deref() == Some("status")),
            singular: resource.singular_resource.unwrap_or_default(),
            short_names: resource.short_names,
            verbs: resource.verbs,
            categories: resource.categories,
        })
        .filter(|served| !served.verbs.is_empty())
    };
    version.resources.into_iter().filter_map(served).collect()
}

#[cfg(test)]
mod tests {
    use super::is_api_version;

    #[test]
    fn only_a_version_becomes_a_part_of_a_url() {
        for good in ["v1", "apps/v1", "networking.k8s.io/v1", "stable.example-1.com/v1beta1"] {
            assert!(is_api_version(good), "{good}");
        }
        for bad in ["", "/", "v1/", "/v1", "a/b/c", "../api/v1", "v1?x=y", "apps/v1#", "Apps/v1", "apps/..", "a b/v1"] {
            assert!(!is_api_version(bad), "{bad}");
        }
    }
}

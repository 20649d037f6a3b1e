//! Remembers what the API server said it serves. One request per version at a time.

use std::{collections::HashMap, sync::Arc, time::Duration};

use kube::Client;
use tokio::{sync::Mutex, time::Instant};

use super::{
    DiscoveryError,
    served::{Served, from_list},
};

struct Entry {
    resources: Arc<[Served]>,
    asked: Instant,
}

/// Hooks choose what is asked for. Beyond so many versions, those that the server does not have
/// are forgotten.
const MAX_VERSIONS: usize = 512;

pub(super) struct Cache {
    client: Client,
    refresh_after: Duration,
    versions: Mutex<HashMap<String, Entry>>,
}

impl Cache {
    pub fn new(client: Client, refresh_after: Duration) -> Self {
        Self { client, refresh_after, versions: Mutex::default() }
    }

    /// What `api_version` serves, as it was when last asked. Empty if the server has no such
    /// version.
    pub async fn resources(&self, api_version: &str) -> Result<Arc<[Served]>, DiscoveryError> {
        self.at_most_as_old(api_version, Duration::MAX).await
    }

    /// The same, asked anew unless that was done a moment ago.
    pub async fn refreshed(&self, api_version: &str) -> Result<Arc<[Served]>, DiscoveryError> {
        self.at_most_as_old(api_version, self.refresh_after).await
    }

    /// Whatever is known of it may be wrong by now.
    pub async fn forget(&self, api_version: &str) {
        self.versions.lock().await.remove(api_version);
    }

    /// The same, of all versions of some groups. The core group is the empty one.
    pub async fn forget_groups(&self, forgotten: impl Fn(&str) -> bool) {
        let group = |api_version: &str| forgotten(api_version.split_once('/').map_or("", |(group, _)| group));
        self.versions.lock().await.retain(|api_version, _| !group(api_version));
    }

    async fn at_most_as_old(&self, api_version: &str, age: Duration) -> Result<Arc<[Served]>, DiscoveryError> {
        let mut versions = self.versions.lock().await;
        if let Some(entry) = versions.get(api_version).filter(|entry| entry.asked.elapsed() < age) {
            return Ok(entry.resources.clone());
        }
        let resources: Arc<[Served]> = self.ask(api_version).await?.into();
        if versions.len() >= MAX_VERSIONS {
            versions.retain(|_, entry| !entry.resources.is_empty());
        }
        versions.insert(api_version.to_owned(), Entry { resources: resources.clone(), asked: Instant::now() });
        Ok(resources)
    }

    async fn ask(&self, api_version: &str) -> Result<Vec<Served>, DiscoveryError> {
        if !is_api_version(api_version) {
            return Ok(Vec::new());
        }
        let answer = if api_version.contains('/') {
            self.client.list_api_group_resources(api_version).await
        } else {
            self.client.list_core_api_resources(api_version).await
        };
        match answer {
            Ok(list) => Ok(from_list(list)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(DiscoveryError::Unavailable(error)),
        }
    }

    /// `v1`, then each group's preferred version.
    pub async fn preferred_versions(&self) -> Result<Vec<String>, DiscoveryError> {
        let groups = self.client.list_api_groups().await.map_err(DiscoveryError::Unavailable)?.groups;
        let preferred = groups.into_iter().filter_map(|group| {
            group.preferred_version.or_else(|| group.versions.into_iter().next()).map(|version| version.group_version)
        });
        Ok(std::iter::once("v1".to_owned()).chain(preferred).collect())
    }
}

/// `version` or `group/version` in the characters that Kubernetes allows there. A hook chooses
/// this text, and it becomes a part of a URL.
fn is_api_version(text: &str) -> bool {
    let mut parts = text.split('/');
    let valid = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-'))
    };
    parts.next().is_some_and(valid) && parts.next().is_none_or(valid) && parts.next().is_none()
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

//! Which kinds the API server serves: finds a kind by the names that authors use.
//!
//! Asks the server as late as possible and remembers the answer; a name that is not found makes
//! it ask again, since a CustomResourceDefinition may have come. It never guesses a plural.

mod cache;
mod changes;
mod served;

use std::{sync::Arc, time::Duration};

use kube::Client;

use crate::model::Resource;
use cache::Cache;
pub use changes::Changes;
use served::Served;

/// A kind could not be found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The API server answered, and does not serve it.
    #[error("the API server serves no kind, plural or short name {name:?}{}", in_version(.api_version))]
    Unknown {
        /// What was looked for.
        name: String,
        /// Where, if that was given.
        api_version: Option<String>,
    },
    /// The API server did not answer.
    #[error("the API server could not be asked for its kinds")]
    Unavailable(#[source] kube::Error),
}

fn in_version(api_version: &Option<String>) -> String {
    match api_version {
        Some(version) => format!(" in {version}; see `kubectl api-resources`"),
        None => "; see `kubectl api-resources`".to_owned(),
    }
}

/// A name that is not found is asked for again after this time at the earliest.
const REFRESH_AFTER: Duration = Duration::from_secs(1);

/// Finds kinds. Cheap to share behind an `Arc`.
pub struct Discovery {
    cache: Cache,
    changes: changes::Board,
}

impl Discovery {
    /// Nothing is asked yet.
    pub fn new(client: Client) -> Self {
        Self { cache: Cache::new(client, REFRESH_AFTER), changes: changes::Board::default() }
    }

    /// The resource of exactly this kind, as it stands in an object.
    pub async fn resolve(&self, api_version: &str, kind: &str) -> Result<Arc<Resource>, DiscoveryError> {
        self.look(api_version, |served| served.resource.kind == kind)
            .await?
            .ok_or_else(|| DiscoveryError::Unknown { name: kind.to_owned(), api_version: Some(api_version.to_owned()) })
    }

    /// The resource with this kind, plural, singular or short name, in any letter case. Without
    /// `api_version`, the first group that has it, the core group before the others, each in its
    /// preferred version.
    pub async fn find(&self, api_version: Option<&str>, name: &str) -> Result<Arc<Resource>, DiscoveryError> {
        let versions = match api_version {
            Some(version) => vec![version.to_owned()],
            None => self.cache.preferred_versions().await?,
        };
        // A kind or plural anywhere wins over a short name in an earlier group.
        for by in [Served::is_called, Served::is_short_for] {
            for version in &versions {
                if let Some(found) = self.look(version, |served| by(served, name)).await? {
                    return Ok(found);
                }
            }
        }
        Err(DiscoveryError::Unknown { name: name.to_owned(), api_version: api_version.map(str::to_owned) })
    }

    /// Asks the server anew when it is next asked for this version: there is reason to think that
    /// what was remembered is no longer so.
    pub async fn forget(&self, api_version: &str) {
        self.cache.forget(api_version).await;
    }

    /// For those who wait for a kind that is not there. It may come without notice too: look again now and
    /// then all the same.
    pub fn changes(&self) -> Changes {
        self.changes.wait()
    }

    /// The API server may serve other kinds now in the API groups that `changed` says: what is known of
    /// these is forgotten, and those who wait look again.
    pub async fn invalidate(&self, changed: impl Fn(&str) -> bool) {
        self.cache.forget_groups(changed).await;
        self.changes.tell();
    }

    /// Waits until somebody holds [`Changes`].
    pub async fn awaited(&self) {
        self.changes.awaited(true).await;
    }

    /// Waits until nobody holds [`Changes`].
    pub async fn abandoned(&self) {
        self.changes.awaited(false).await;
    }

    async fn look(
        &self,
        api_version: &str,
        wanted: impl Fn(&Served) -> bool,
    ) -> Result<Option<Arc<Resource>>, DiscoveryError> {
        let pick = |all: &[Served]| all.iter().find(|served| wanted(served)).map(|served| served.resource.clone());
        if let Some(found) = pick(&self.cache.resources(api_version).await?) {
            return Ok(Some(found));
        }
        Ok(pick(&self.cache.refreshed(api_version).await?))
    }
}

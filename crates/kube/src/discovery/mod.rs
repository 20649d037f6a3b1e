//! Which kinds the API server serves: finds a kind by the names that authors use.
//!
//! Asks the server as late as possible and remembers the answer; a name that is not found makes
//! it ask again, since a CustomResourceDefinition may have come. It never guesses a plural.
//!
//! | file | its job |
//! | --- | --- |
//! | `ask` | the questions, each with a deadline |
//! | `flights` | one question at a time about the same |
//! | `cache` | what was answered |
//! | `served` | a kind and its names; pure |
//! | `changes` | who waits for a kind |

mod ask;
mod cache;
mod changes;
mod flights;
mod served;

use std::{sync::Arc, time::Duration};

use boathook_core::model::Resource;
use kube::Client;

use cache::Cache;
pub use changes::Changes;
use served::Served;

/// A kind could not be found.
#[derive(Debug, Clone, thiserror::Error)]
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
    Unavailable(#[source] Arc<kube::Error>),
    /// The API server took the question, and did not answer in time.
    #[error("the API server did not say within {} s which kinds it serves", .0.as_secs())]
    Silent(Duration),
    /// The API server answers, and some groups of it do not, as when an aggregated API server is away. The kind is in
    /// none of the others.
    #[error(
        "no kind, plural or short name {name:?} is served by the API groups that answer; {} not, see `kubectl get \
         apiservices`", do_not(.groups)
    )]
    Partial {
        /// What was looked for.
        name: String,
        /// The groups, in versions.
        groups: Vec<String>,
    },
}

fn do_not(groups: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = groups.get(..SHOWN).unwrap_or(groups).join(", ");
    match groups.len() {
        1 => format!("{shown} does"),
        count if count > SHOWN => format!("{shown} and {} others do", count - SHOWN),
        _ => format!("{shown} do"),
    }
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
    /// preferred version. Groups that do not answer are left out.
    pub async fn find(&self, api_version: Option<&str>, name: &str) -> Result<Arc<Resource>, DiscoveryError> {
        match api_version {
            Some(version) => self.find_in(version, name).await,
            None => self.find_anywhere(name).await,
        }
    }

    async fn find_in(&self, version: &str, name: &str) -> Result<Arc<Resource>, DiscoveryError> {
        // A kind or plural anywhere wins over a short name.
        let mut found = self.look(version, |served| served.is_called(name)).await;
        if let Ok(None) = found {
            found = self.look(version, |served| served.is_short_for(name)).await;
        }
        let unknown = || DiscoveryError::Unknown { name: name.to_owned(), api_version: Some(version.to_owned()) };
        match found {
            Ok(found) => found.ok_or_else(unknown),
            // It matters to others whether that is this group's affair.
            Err(error) if version.contains('/') => match self.cache.everything(true).await {
                Ok(_) => Err(DiscoveryError::Partial { name: name.to_owned(), groups: vec![version.to_owned()] }),
                Err(_) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    async fn find_anywhere(&self, name: &str) -> Result<Arc<Resource>, DiscoveryError> {
        let mut silent = Vec::new();
        for fresh in [false, true] {
            let all = self.cache.everything(fresh).await?;
            // A kind or plural anywhere wins over a short name in an earlier group.
            for by in [Served::is_called, Served::is_short_for] {
                let found = all.versions.iter().flat_map(|version| version.iter()).find(|served| by(served, name));
                if let Some(found) = found {
                    return Ok(found.resource.clone());
                }
            }
            silent = all.silent;
        }
        if silent.is_empty() {
            return Err(DiscoveryError::Unknown { name: name.to_owned(), api_version: None });
        }
        Err(DiscoveryError::Partial { name: name.to_owned(), groups: silent })
    }

    /// Asks the server anew when it is next asked for this version: there is reason to think that
    /// what was remembered is no longer so.
    pub fn doubt(&self, api_version: &str) {
        self.cache.doubt(api_version);
    }

    /// For those who wait for a kind that is not there. It may come without notice too: look again now and
    /// then all the same.
    pub fn changes(&self) -> Changes {
        self.changes.wait()
    }

    /// The API server may serve other kinds now in the API groups that `changed` says: it is asked anew about
    /// these, and those who wait look again.
    pub fn invalidate(&self, changed: impl Fn(&str) -> bool) {
        self.cache.doubt_groups(changed);
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

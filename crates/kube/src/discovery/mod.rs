//! Which kinds the API server serves. Finds a kind by the names that authors use.
//!
//! Discovery queries the server as late as possible and remembers the response. If a name is not found, it queries the
//! server again, because a CustomResourceDefinition may have been created. It never guesses a plural.
//!
//! | file | its job |
//! | --- | --- |
//! | `ask` | the requests, each with a deadline, and what an answer says is served |
//! | `cache` | the responses, and one request at a time for the same thing |

mod ask;
mod cache;

use std::{sync::Arc, time::Duration};

use boathook_core::model::{KindListing, Resource};
use kube::Client;
use tokio::sync::watch;

use ask::Served;
use cache::{Cache, Everything};

/// Why a kind was not found.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DiscoveryError {
    /// The API server answered, and does not serve the kind.
    #[error("the API server serves no kind, plural or short name {name:?}{}", in_version(.api_version))]
    Unknown {
        name: String,
        /// The version to which the search was limited, if it was.
        api_version: Option<String>,
    },
    /// The API server did not answer.
    #[error("the API server did not list its kinds")]
    Unavailable(#[source] Arc<kube::Error>),
    /// The API server accepted the request, and did not answer in time.
    #[error("the API server did not list its kinds within {} s", .0.as_secs())]
    Silent(Duration),
    /// The API server answers, but some of its groups do not, for example because an aggregated API server is
    /// unreachable. The kind is in none of the other groups.
    #[error(
        "the API groups that answer serve no kind, plural or short name {name:?}, and {} not answer: see `kubectl get \
         apiservices`", do_not(.groups)
    )]
    Partial {
        name: String,
        /// The groups that do not answer, as `group/version`.
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

/// What templates of charts see of an API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// `v1.36.0`
    pub version: String,
    pub major: String,
    pub minor: String,
    /// All versions of all groups, and the kinds in them: `apps/v1`, `apps/v1/Deployment`.
    pub api_versions: Vec<String>,
}

/// If a name is not found, discovery requests it again after this time at the earliest.
const REFRESH_AFTER: Duration = Duration::from_secs(1);

/// Finds kinds. Cheap to share behind an `Arc`.
pub struct Discovery {
    cache: Cache,
    changes: Board,
}

impl Discovery {
    /// Sends no request yet.
    pub fn new(client: Client) -> Self {
        Self { cache: Cache::new(client, REFRESH_AFTER), changes: Board::default() }
    }

    /// Finds the resource of exactly this kind, as it is written in an object.
    pub async fn resolve(&self, api_version: &str, kind: &str) -> Result<Arc<Resource>, DiscoveryError> {
        self.look(api_version, |served| served.resource.kind == kind)
            .await?
            .ok_or_else(|| DiscoveryError::Unknown { name: kind.to_owned(), api_version: Some(api_version.to_owned()) })
    }

    /// Whether objects of this kind have a `status` subresource.
    pub async fn has_status(&self, resource: &Resource) -> Result<bool, DiscoveryError> {
        let wanted = |served: &Served| served.status && *served.resource == *resource;
        Ok(self.look(&resource.api_version(), wanted).await?.is_some())
    }

    /// Finds the resource with this kind, plural, singular or short name, in any letter case. Without `api_version`, it
    /// returns the first group that has it, the core group first, each group in its preferred version. It leaves out
    /// groups that do not answer.
    pub async fn find(&self, api_version: Option<&str>, name: &str) -> Result<Arc<Resource>, DiscoveryError> {
        match api_version {
            Some(version) => self.find_in(version, name).await,
            None => self.find_anywhere(name, None).await,
        }
    }

    /// Finds a resource as kubectl names it: like [`Discovery::find`], and also `deployments.apps` and
    /// `deployments.v1.apps`.
    pub async fn named(&self, name: &str) -> Result<Arc<Resource>, DiscoveryError> {
        let Some((resource, rest)) = name.split_once('.') else { return self.find_anywhere(name, None).await };
        if let Some((version, group)) = rest.split_once('.')
            && is_version(version)
        {
            let version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
            match self.find_in(&version, resource).await {
                Err(DiscoveryError::Unknown { .. }) => {}
                found => return found,
            }
        }
        self.find_anywhere(resource, Some(rest)).await
    }

    /// Lists all kinds, each group in its preferred version. It queries the server again unless that was done a moment
    /// ago.
    pub async fn all(&self) -> Result<KindListing, DiscoveryError> {
        let Everything { versions, silent } = self.cache.everything(true).await?;
        let kinds = versions.iter().flat_map(|version| version.iter()).map(Served::listed).collect();
        Ok(KindListing { kinds, silent })
    }

    /// The version of the API server, and everything that it serves now. It always queries the server.
    pub async fn server(&self) -> Result<Server, DiscoveryError> {
        self.cache.server().await
    }

    async fn find_in(&self, version: &str, name: &str) -> Result<Arc<Resource>, DiscoveryError> {
        // A kind or plural wins over a short name.
        let mut found = self.look(version, |served| served.is_called(name)).await;
        if let Ok(None) = found {
            found = self.look(version, |served| served.is_short_for(name)).await;
        }
        let unknown = || DiscoveryError::Unknown { name: name.to_owned(), api_version: Some(version.to_owned()) };
        match found {
            Ok(found) => found.ok_or_else(unknown),
            // Other groups are only affected if the whole API server does not answer. The error says which one it is.
            Err(error) if version.contains('/') => match self.cache.everything(true).await {
                Ok(_) => Err(DiscoveryError::Partial { name: name.to_owned(), groups: vec![version.to_owned()] }),
                Err(_) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    async fn find_anywhere(&self, name: &str, group: Option<&str>) -> Result<Arc<Resource>, DiscoveryError> {
        let within = |served: &&Served| group.is_none_or(|group| served.resource.group == group);
        let mut silent = Vec::new();
        for fresh in [false, true] {
            let all = self.cache.everything(fresh).await?;
            // A kind or plural in any group wins over a short name in an earlier group.
            for by in [Served::is_called, Served::is_short_for] {
                let mut served = all.versions.iter().flat_map(|version| version.iter()).filter(within);
                let found = served.find(|served| by(served, name));
                if let Some(found) = found {
                    return Ok(found.resource.clone());
                }
            }
            silent = all.silent;
        }
        if silent.is_empty() {
            let api_version = group.map(str::to_owned);
            return Err(DiscoveryError::Unknown { name: name.to_owned(), api_version });
        }
        Err(DiscoveryError::Partial { name: name.to_owned(), groups: silent })
    }

    /// Has the next caller query the server again for this version's group, because there is reason to believe that the
    /// remembered answer is wrong.
    pub fn doubt(&self, api_version: &str) {
        self.cache.doubt(api_version);
    }

    /// For callers that wait for a kind that does not exist yet. A kind may also come without a notification, so such
    /// callers must also check from time to time.
    pub fn changes(&self) -> Changes {
        self.changes.wait()
    }

    /// The API server may now serve other kinds in the API groups for which `changed` is true. Queries the server again
    /// about these, and notifies the callers that wait.
    pub fn invalidate(&self, changed: impl Fn(&str) -> bool) {
        self.cache.doubt_groups(changed);
        self.changes.notify();
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

/// Whether the text has the form of a version: `v1`, `v1beta1`.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Counts the notifications and the callers that wait for them.
#[derive(Debug, Default)]
struct Board {
    news: watch::Sender<u64>,
    waiting: Arc<watch::Sender<usize>>,
}

impl Board {
    fn notify(&self) {
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn wait(&self) -> Changes {
        self.waiting.send_modify(|count| *count = count.saturating_add(1));
        Changes { news: self.news.subscribe(), waiting: self.waiting.clone() }
    }

    /// Waits until somebody waits for kinds or, with `wanted` false, until nobody does.
    async fn awaited(&self, wanted: bool) {
        // The sender is held here, so the channel cannot be closed.
        let _ = self.waiting.subscribe().wait_for(|count| (*count > 0) == wanted).await;
    }
}

/// Waits for kinds to come or go. While this value lives, it counts as a caller that waits.
#[derive(Debug)]
pub struct Changes {
    news: watch::Receiver<u64>,
    waiting: Arc<watch::Sender<usize>>,
}

impl Changes {
    /// Returns when the API server may serve other kinds than it did when this value was created or when this function
    /// last returned. Cancel-safe.
    pub async fn next(&mut self) {
        if self.news.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.waiting.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn news_reach_all_who_waited_when_they_came_and_none_later() {
        let board = Board::default();
        let (mut one, mut two) = (board.wait(), board.wait());
        assert!(one.next().now_or_never().is_none());
        board.notify();
        board.notify();
        for changes in [&mut one, &mut two] {
            assert!(changes.next().now_or_never().is_some());
            assert!(changes.next().now_or_never().is_none(), "several news at once are one");
        }
        assert!(board.wait().next().now_or_never().is_none());
    }

    #[test]
    fn it_is_known_whether_somebody_waits() {
        let board = Board::default();
        let awaited = |wanted| board.awaited(wanted).now_or_never().is_some();
        assert!(!awaited(true) && awaited(false));
        let (one, two) = (board.wait(), board.wait());
        assert!(awaited(true) && !awaited(false));
        drop(one);
        assert!(awaited(true));
        drop(two);
        assert!(!awaited(true) && awaited(false));
    }
}

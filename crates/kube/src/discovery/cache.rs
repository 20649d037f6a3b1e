//! Remembers what the API server serves. It sends one request at a time for the same thing. A caller that needs
//! something known never waits.
//!
//! If a request fails, what was known stays valid. An API server or an API group that is unreachable must not remove
//! kinds that were found.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt as _, StreamExt as _,
    future::{BoxFuture, Shared, WeakShared},
    stream,
};
use kube::Client;
use tokio::time::Instant;

use super::{
    DiscoveryError, Server,
    ask::{self, Group, Resources},
};

/// Hooks choose which versions are requested. Beyond this many versions, the cache forgets those that the server does
/// not have.
const MAX_VERSIONS: usize = 512;
/// How many versions are requested at the same time from a server without aggregated discovery.
const AT_A_TIME: usize = 8;

/// Cheap to clone. Callers that wait for the same response share it.
#[derive(Clone)]
pub(super) struct Cache {
    client: Client,
    refresh_after: Duration,
    known: Arc<Mutex<Known>>,
    versions: Flights<String, Resources>,
    groups: Flights<(), Arc<[Group]>>,
}

#[derive(Default)]
struct Known {
    versions: HashMap<String, Entry<Resources>>,
    groups: Option<Entry<Arc<[Group]>>>,
}

#[derive(Clone)]
struct Entry<T> {
    what: T,
    asked: Instant,
    /// There is reason to believe that this has changed.
    doubtful: bool,
}

impl<T: Clone> Entry<T> {
    fn new(what: T) -> Self {
        Self { what, asked: Instant::now(), doubtful: false }
    }

    fn if_at_most_as_old(&self, age: Duration) -> Option<T> {
        (!self.doubtful && self.asked.elapsed() < age).then(|| self.what.clone())
    }
}

/// What the preferred versions of all groups serve, the core group first.
pub(super) struct Everything {
    /// The resources of each group that answered, or whose answer is remembered.
    pub versions: Vec<Resources>,
    /// Groups that do not answer, and of which nothing is known.
    pub silent: Vec<String>,
}

impl Cache {
    pub fn new(client: Client, refresh_after: Duration) -> Self {
        let (versions, groups) = (Flights::default(), Flights::default());
        Self { client, refresh_after, known: Arc::default(), versions, groups }
    }

    /// This lock is never held during a request.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what `api_version` serves, as of the last request. It is empty if the server has no such version.
    pub async fn resources(&self, api_version: &str) -> Result<Resources, DiscoveryError> {
        let asked = self.at_most_as_old(api_version, Duration::MAX).await;
        asked.or_else(|error| self.remembered(api_version).ok_or(error))
    }

    /// Like [`Self::resources`], but requests it again unless that was done a moment ago.
    pub async fn refreshed(&self, api_version: &str) -> Result<Resources, DiscoveryError> {
        self.at_most_as_old(api_version, self.refresh_after).await
    }

    fn remembered(&self, api_version: &str) -> Option<Resources> {
        self.known().versions.get(api_version).map(|entry| entry.what.clone())
    }

    async fn at_most_as_old(&self, api_version: &str, age: Duration) -> Result<Resources, DiscoveryError> {
        let known = self.known().versions.get(api_version).and_then(|entry| entry.if_at_most_as_old(age));
        if let Some(known) = known {
            return Ok(known);
        }
        let (cache, version) = (self.clone(), api_version.to_owned());
        let ask = move |number| async move {
            let resources: Resources = ask::version(&cache.client, &version).await?.into();
            let mut known = cache.known();
            // After a doubt, the response to an earlier request counts only for the callers that wait for it.
            if cache.versions.landed(&version, number) {
                known.keep(version, resources.clone());
            }
            Ok::<_, DiscoveryError>(resources)
        };
        self.versions.join(api_version.to_owned(), ask).await
    }

    /// Marks what is known of this version's group as possibly wrong.
    pub fn doubt(&self, api_version: &str) {
        self.doubt_groups(|group| group == group_of(api_version));
    }

    /// Marks all versions of some groups as possibly wrong. The core group's name is empty.
    pub fn doubt_groups(&self, doubted: impl Fn(&str) -> bool) {
        let mut known = self.known();
        let of_groups = known.versions.iter_mut().filter(|(version, _)| doubted(group_of(version)));
        of_groups.for_each(|(_, entry)| entry.doubtful = true);
        known.groups.iter_mut().for_each(|entry| entry.doubtful = true);
        self.versions.forget(|version| doubted(group_of(version)));
        self.groups.forget(|()| true);
    }

    /// Nothing of this is remembered.
    pub async fn server(&self) -> Result<Server, DiscoveryError> {
        ask::server(&self.client).await
    }

    /// Returns what all preferred versions serve. With `fresh`, requests it again unless that was done a moment ago.
    /// Without, requests only what was never requested.
    pub async fn everything(&self, fresh: bool) -> Result<Everything, DiscoveryError> {
        let age = if fresh { self.refresh_after } else { Duration::MAX };
        let groups = match self.groups(age).await {
            Ok(groups) => groups,
            Err(error) => match self.known().groups.clone().filter(|_| !fresh) {
                Some(known) => known.what,
                None => return Err(error),
            },
        };
        let each = |group: &Group| {
            let (cache, version, said) = (self.clone(), group.api_version.clone(), group.resources.clone());
            let asked_for = group.asked_for;
            async move {
                match said {
                    Some(said) => Ok(said),
                    // The API server has just reported that this group does not answer.
                    None if !asked_for => cache.remembered(&version).ok_or(version),
                    None if fresh => cache.refreshed(&version).await.map_err(|_| version),
                    None => cache.resources(&version).await.map_err(|_| version),
                }
            }
        };
        let asked: Vec<_> = groups.iter().map(each).collect();
        let asked: Vec<_> = stream::iter(asked).buffered(AT_A_TIME).collect().await;
        let (mut versions, mut silent) = (Vec::new(), Vec::new());
        for answer in asked {
            match answer {
                Ok(resources) => versions.push(resources),
                Err(version) => silent.push(version),
            }
        }
        Ok(Everything { versions, silent })
    }

    async fn groups(&self, age: Duration) -> Result<Arc<[Group]>, DiscoveryError> {
        let known = self.known().groups.as_ref().and_then(|entry| entry.if_at_most_as_old(age));
        if let Some(known) = known {
            return Ok(known);
        }
        let cache = self.clone();
        let ask = move |number| async move {
            let groups: Arc<[Group]> = ask::groups(&cache.client).await?.into();
            let mut known = cache.known();
            if cache.groups.landed(&(), number) {
                for group in groups.iter() {
                    if let Some(resources) = &group.resources {
                        known.keep(group.api_version.clone(), resources.clone());
                    }
                }
                known.groups = Some(Entry::new(groups.clone()));
            }
            Ok::<_, DiscoveryError>(groups)
        };
        self.groups.join((), ask).await
    }
}

impl Known {
    fn keep(&mut self, api_version: String, resources: Resources) {
        if self.versions.len() >= MAX_VERSIONS {
            self.versions.retain(|_, entry| !entry.what.is_empty());
        }
        self.versions.insert(api_version, Entry::new(resources));
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

type Answer<T> = BoxFuture<'static, Result<T, DiscoveryError>>;

/// Requests under way, by their topic. A caller that needs the same thing in the meantime waits for the same response.
/// Cheap to clone.
struct Flights<K, T>(Arc<Mutex<Table<K, T>>>);

struct Table<K, T> {
    under_way: HashMap<K, (u64, WeakShared<Answer<T>>)>,
    next: u64,
}

impl<K, T> Default for Flights<K, T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Table { under_way: HashMap::new(), next: 0 })))
    }
}

impl<K, T> Clone for Flights<K, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Eq + Hash, T: Clone> Flights<K, T> {
    fn table(&self) -> MutexGuard<'_, Table<K, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The response to the request that is under way, or to one that is sent now. `ask` receives the request's number. A
    /// request that nobody waits for any more is canceled.
    fn join<F>(&self, about: K, ask: impl FnOnce(u64) -> F) -> Shared<Answer<T>>
    where
        F: Future<Output = Result<T, DiscoveryError>> + Send + 'static,
    {
        let mut table = self.table();
        let found = table.under_way.get(&about).and_then(|(_, answer)| answer.upgrade());
        if let Some(found) = found.filter(|answer| answer.peek().is_none()) {
            return found;
        }
        table.under_way.retain(|_, (_, answer)| answer.upgrade().is_some_and(|answer| answer.peek().is_none()));
        let number = table.next;
        table.next += 1;
        let answer = ask(number).boxed().shared();
        if let Some(weak) = answer.downgrade() {
            table.under_way.insert(about, (number, weak));
        }
        answer
    }

    /// Ends a request. Returns whether it was still the one that other callers would join.
    fn landed(&self, about: &K, number: u64) -> bool {
        let mut table = self.table();
        let is = table.under_way.get(about).is_some_and(|(known, _)| *known == number);
        if is {
            table.under_way.remove(about);
        }
        is
    }

    /// Lets new callers no longer join these requests.
    fn forget(&self, forgotten: impl Fn(&K) -> bool) {
        self.table().under_way.retain(|about, _| !forgotten(about));
    }
}

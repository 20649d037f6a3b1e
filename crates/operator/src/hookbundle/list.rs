//! Lists the HookBundles at the start, after each watch that ended early, and from time to time, for two reasons. The operator
//! must not wait for a HookBundle that was deleted before the controller saw it. And the list finds changes that the watch
//! missed: after a restore of etcd, a watch continues over the gap as if nothing had happened, and kube's runtime does not
//! check. A restore breaks the watches, so an operator with nothing to do sends no list for half an hour.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::model::{BundleId, HookBundlesNews, Installer};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource as _,
    api::ListParams,
    core::{ObjectList, Request},
    runtime::reflector::Store,
};
use serde::Deserialize;
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};
use tower::service_fn;
use tracing::warn;

use super::trimmed::{PAGE, TrimmedHookBundle, metadata};

/// When all HookBundles are listed.
#[derive(Debug, Clone, Copy)]
pub struct Lists {
    /// The time between two lists, if the watch does not break in the meantime.
    pub every: Duration,
    /// When a list is repeated that differs from what the watch reported: the watch may only be behind.
    pub confirm: Duration,
}

impl Default for Lists {
    fn default() -> Self {
        Self { every: Duration::from_secs(1_800), confirm: Duration::from_secs(60) }
    }
}

/// The controller's watch lasts for 290 s. One that begins sooner follows one that broke.
const LASTS: Duration = Duration::from_secs(280);
/// How long to wait for a page of a list.
const ANSWER: Duration = Duration::from_secs(30);
/// How long to wait after a list that failed.
const RETRY: Duration = Duration::from_secs(5);

/// Each object's uid and resourceVersion.
type Versions = BTreeMap<BundleId, (String, String)>;

fn version(of: &ObjectMeta) -> (BundleId, (String, String)) {
    let id = BundleId { namespace: of.namespace.clone(), name: of.name.clone().unwrap_or_default() };
    (id, (of.uid.clone().unwrap_or_default(), of.resource_version.clone().unwrap_or_default()))
}

#[derive(Clone, Deserialize)]
struct Listed {
    #[serde(deserialize_with = "metadata")]
    metadata: ObjectMeta,
}

/// Lists all objects, in pages, because a tenant can write much metadata. Returns `None` if that failed.
async fn listed(client: &kube::Client) -> Option<Versions> {
    let (request, mut params) =
        (Request::new(TrimmedHookBundle::url_path(&(), None)), ListParams::default().limit(PAGE));
    let mut all = Versions::new();
    loop {
        let page = client.request::<ObjectList<Listed>>(request.list_metadata(&params).ok()?);
        let page = timeout(ANSWER, page).await.ok()?.ok()?;
        all.extend(page.items.iter().map(|object| version(&object.metadata)));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Some(all),
        }
    }
}

/// Notices that a watch broke.
#[derive(Debug, Default)]
pub(super) struct Breaks {
    begun: Mutex<Option<Instant>>,
    broke: Notify,
}

impl Breaks {
    /// A client for the controller's watch. A watch ends without an error, whatever the reason is, and kube's runtime begins
    /// the next one by itself. So only the requests show it.
    pub fn noticed_by(self: &Arc<Self>, client: &kube::Client) -> kube::Client {
        let (inner, breaks, namespace) = (client.clone(), self.clone(), client.default_namespace().to_owned());
        let send = move |request: http::Request<kube::client::Body>| {
            if request.uri().query().is_some_and(|query| query.contains("watch=")) {
                breaks.begins(Instant::now());
            }
            let inner = inner.clone();
            async move { inner.send(request).await }
        };
        kube::Client::new(service_fn(send), namespace)
    }

    fn begins(&self, now: Instant) {
        let before = self.begun.lock().unwrap_or_else(PoisonError::into_inner).replace(now);
        if before.is_some_and(|before| now.saturating_duration_since(before) < LASTS) {
            self.broke.notify_one();
        }
    }
}

/// What the watch had reported before a list, and the list.
#[derive(Default)]
struct Round {
    reported: Versions,
    listed: Versions,
}

impl Round {
    fn differs(&self) -> bool {
        self.reported != self.listed
    }

    /// Returns objects whose listed state differs from the reported one, and for which nothing was reported since then.
    /// A watch is behind a list for a moment, but not until the next list.
    fn unreported(&self, reported: &Versions) -> BTreeSet<&BundleId> {
        let all = self.reported.keys().chain(self.listed.keys());
        let is_unreported =
            |id: &&BundleId| self.reported.get(id) != self.listed.get(id) && self.reported.get(id) == reported.get(id);
        all.filter(is_unreported).collect()
    }
}

/// Reports which HookBundles exist. If the watch, which fills the `store`, missed some, it sends those that are gone to
/// `unreported`. The code cannot wait for the controller's own list, because its store wakes only one waiter. `known`: the
/// HookBundles that have hooks.
pub(super) async fn list(
    client: kube::Client,
    installer: Arc<dyn Installer>,
    store: Store<TrimmedHookBundle>,
    (lists, breaks): (Lists, Arc<Breaks>),
    unreported: watch::Sender<Option<Vec<BundleId>>>,
    known: impl Fn() -> Vec<BundleId> + Send,
) {
    let mut last = Round::default();
    loop {
        let mut reported: Versions = store.state().iter().map(|object| version(object.meta())).collect();
        // One that is gone since the last controller ended is in no list and in no store.
        for id in known() {
            reported.entry(id).or_default();
        }
        let missed = last.unreported(&reported);
        if !missed.is_empty() {
            warn!(
                bundles = missed.len(),
                "HookBundles changed without a watch event: was etcd restored from a snapshot? listing all of them again"
            );
            let gone = missed.into_iter().filter(|id| !last.listed.contains_key(id)).cloned().collect();
            unreported.send_replace(Some(gone));
        }
        let Some(listed) = listed(&client).await else {
            sleep(RETRY).await;
            continue;
        };
        installer.note_hook_bundles(HookBundlesNews::Listed(listed.keys().cloned().collect()));
        last = Round { reported, listed };
        if last.differs() {
            sleep(lists.confirm).await;
        } else {
            tokio::select! {
                () = sleep(lists.every) => {}
                () = breaks.broke.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a:1 b:2` are names and versions. `a#u:1` is another object with the name `a`.
    fn versions(text: &str) -> Versions {
        let version = |text: &str| {
            let (object, version) = text.split_once(':').unwrap();
            let (name, uid) = object.split_once('#').unwrap_or((object, ""));
            (BundleId { namespace: None, name: name.to_owned() }, (uid.to_owned(), version.to_owned()))
        };
        text.split_whitespace().map(version).collect()
    }

    #[test]
    fn what_the_watch_never_tells_is_found_out() {
        for (reported, listed, reported_since, unreported) in [
            ("a:1 b:2", "a:1 b:2", "a:1 b:2", ""),
            // The watch was behind the list, or ahead of it.
            ("a:1 b:2", "a:3 c:4", "a:3 c:4", ""),
            ("a:1", "a:3", "a:5", ""),
            ("", "a:1", "", "a"),
            ("a:1 b:2", "b:2", "a:1 b:2", "a"),
            ("a:1 b:2", "a:1 b:3", "a:1 b:2", "b"),
            // etcd went back to an earlier time.
            ("a:5 b:2", "a:4 b:2", "a:5 b:2", "a"),
            ("a:5 b:2", "a#u:5 b:2", "a:5 b:2", "a"),
            ("a:5 b:2", "a:4 c:4", "a:6 b:2", "b c"),
        ] {
            let round = Round { reported: versions(reported), listed: versions(listed) };
            let names: Vec<_> = round.unreported(&versions(reported_since)).iter().map(|id| id.name.clone()).collect();
            assert_eq!(
                names.join(" "),
                unreported,
                "reported {reported}, listed {listed}, then reported {reported_since}"
            );
        }
    }

    #[tokio::test]
    async fn a_watch_that_ends_at_its_time_is_no_break() {
        let (breaks, start) = (Breaks::default(), Instant::now());
        let told = async || timeout(Duration::ZERO, breaks.broke.notified()).await.is_ok();
        for (seconds, is_break) in [(0, false), (290, false), (580, false), (600, true), (601, true), (891, false)] {
            breaks.begins(start + Duration::from_secs(seconds));
            assert_eq!(told().await, is_break, "after {seconds} s");
        }
    }
}

//! Notifies discovery at once when CustomResourceDefinitions are added, changed or removed, so that bindings that wait
//! for their kind need not poll.
//!
//! This module follows definitions only while a binding waits, and only their metadata, because the name contains the
//! group. It does not follow the kinds of aggregated API servers, because they hardly ever change. Bindings that wait
//! for one of those poll, as they do if the operator may not watch definitions.

use std::{collections::BTreeSet, pin::pin, sync::Arc, time::Duration};

use boathook_core::model::{Change, Resource};
use boathook_kube::watch::{Selection, Subscription, WatchErrorKind};
use futures::StreamExt as _;
use tokio::time::{Instant, interval, sleep_until, timeout};
use tracing::{debug, warn};

use super::Services;

/// A definition changes several times while it is added. This is the minimum time between two notifications.
const PAUSE: Duration = Duration::from_millis(300);
/// How long definitions are followed after the last binding stopped waiting.
const LINGER: Duration = Duration::from_secs(60);
/// Between two checks whether definitions may be watched.
const GLANCE: Duration = Duration::from_millis(250);
/// How long to wait before definitions that may not be watched are tried again.
const AFTER_REFUSAL: Duration = Duration::from_secs(600);

/// The operator may not watch definitions.
struct Refused;

/// Runs until it is dropped.
pub(super) async fn run(services: Arc<Services>) {
    let mut said = false;
    loop {
        services.discovery.awaited().await;
        debug!("following CustomResourceDefinitions: a binding waits for its kind");
        if let Err(Refused) = follow(&services).await {
            if !std::mem::replace(&mut said, true) {
                warn!(
                    "the operator may not list and watch customresourcedefinitions: bindings whose kind is not \
                     served look for it every 10 s at most"
                );
            }
            tokio::time::sleep(AFTER_REFUSAL).await;
        }
    }
}

/// Follows definitions until no binding has waited for a while.
async fn follow(services: &Services) -> Result<(), Refused> {
    let mut definitions = services.streams.subscribe(definitions());
    let mut news = News::default();
    let mut glance = interval(GLANCE);
    let mut done = pin!(nobody_waits(services));
    loop {
        tokio::select! {
            change = definitions.next() => match change {
                Some(change) => news.add(change),
                None => return Ok(()),
            },
            () = sleep_until(news.not_before), if news.waiting() => news.notify(services).await,
            _ = glance.tick() => refused(&definitions)?,
            () = &mut done => return Ok(()),
        }
    }
}

fn refused(definitions: &Subscription) -> Result<(), Refused> {
    if definitions.trouble() == Some(WatchErrorKind::Forbidden) { Err(Refused) } else { Ok(()) }
}

/// Returns when no binding has waited for the whole of [`LINGER`].
async fn nobody_waits(services: &Services) {
    loop {
        services.discovery.abandoned().await;
        if timeout(LINGER, services.discovery.awaited()).await.is_err() {
            return;
        }
    }
}

fn definitions() -> Selection {
    let resource = Resource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
        namespaced: false,
    };
    Selection { metadata_only: true, ..Selection::of(resource.into()) }
}

/// Changes that discovery was not notified of yet.
struct News {
    groups: BTreeSet<String>,
    /// The definitions were listed, so it is not known what changed before that.
    all: bool,
    listing: bool,
    not_before: Instant,
}

impl Default for News {
    fn default() -> Self {
        Self { groups: BTreeSet::new(), all: false, listing: false, not_before: Instant::now() }
    }
}

impl News {
    fn add(&mut self, change: Change) {
        match change {
            Change::ListStarted => self.listing = true,
            Change::ListDone => (self.listing, self.all) = (false, true),
            Change::Unserved => self.listing = false,
            Change::Upsert(definition) | Change::Delete(definition) if !self.listing => {
                if let Some((_, group)) = definition.key.name.split_once('.') {
                    self.groups.insert(group.to_owned());
                }
            }
            Change::Upsert(_) | Change::Delete(_) => {}
        }
    }

    fn waiting(&self) -> bool {
        self.all || !self.groups.is_empty()
    }

    async fn notify(&mut self, services: &Services) {
        let groups = std::mem::take(&mut self.groups);
        let all = std::mem::take(&mut self.all);
        services.discovery.invalidate(|group| all || groups.contains(group));
        services.streams.retry_unserved();
        self.not_before = Instant::now() + PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use boathook_core::model::Object;

    use super::*;

    fn definition(name: &str) -> Arc<Object> {
        let json = format!("{{\"metadata\":{{\"name\":\"{name}\"}}}}");
        Arc::new(Object::from_json(&json, &"v1".into(), &"CustomResourceDefinition".into()).unwrap())
    }

    #[test]
    fn a_list_is_news_of_everything_and_a_change_of_its_group() {
        let mut news = News::default();
        news.add(Change::ListStarted);
        news.add(Change::Upsert(definition("boats.example.com")));
        assert!(!news.waiting(), "a half list says nothing");
        news.add(Change::ListDone);
        assert!(news.waiting() && news.all && news.groups.is_empty());
        let mut news = News::default();
        news.add(Change::Upsert(definition("boats.example.com")));
        news.add(Change::Delete(definition("ships.sea.example.com")));
        news.add(Change::Upsert(definition("boats.example.com")));
        assert!(!news.all);
        assert_eq!(Vec::from_iter(&news.groups), ["example.com", "sea.example.com"]);
    }
}

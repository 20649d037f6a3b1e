//! Maps changes of objects to the keys that controllers must reconcile.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::select_all;
use tokio::sync::watch;

use super::{Controller, namespaces, roles};
use crate::json;
use crate::store::{Query, Store, Stored};

/// Maximum number of changes to take from a collection at a time.
const AT_ONCE: usize = 256;

/// The changes of one collection.
pub(super) struct Feed {
    storage: Arc<str>,
    changes: watch::Receiver<u64>,
    /// None before the first full read.
    seen: Option<u64>,
}

pub(super) struct Feeds(pub Vec<Feed>);

impl Feeds {
    /// The keys to reconcile, for all changes that were not taken yet.
    pub(super) fn due(&mut self, store: &Store, controllers: &BTreeSet<Controller>) -> BTreeSet<(Controller, String)> {
        let mut due = BTreeSet::new();
        let first = self.0.iter().all(|feed| feed.seen.is_none());
        if first && controllers.contains(&Controller::KubernetesService) {
            due.insert((Controller::KubernetesService, String::new()));
        }
        for feed in &mut self.0 {
            for object in feed.take(store) {
                for controller in controllers {
                    due.extend(key(*controller, &feed.storage, &object).map(|key| (*controller, key)));
                }
            }
        }
        due
    }

    /// Waits for a change in any of the collections.
    pub(super) async fn changed(&mut self, store: &Store) {
        let waits = self.0.iter_mut().map(|feed| Box::pin(feed.changes.changed()));
        let (ended, index) = {
            let (result, index, _) = select_all(waits).await;
            (result.is_err(), index)
        };
        if let Some(feed) = self.0.get_mut(index).filter(|_| ended) {
            feed.changes = store.subscribe(&feed.storage);
        }
    }
}

impl Feed {
    pub(super) fn new(store: &Store, storage: &str) -> Self {
        let storage: Arc<str> = storage.into();
        Self { changes: store.subscribe(&storage), storage, seen: None }
    }

    /// The objects that changed. All objects, if too many changes were missed.
    fn take(&mut self, store: &Store) -> Vec<Arc<Stored>> {
        if let Some(seen) = self.seen
            && let Ok(changes) = store.changes(&self.storage, seen, AT_ONCE)
        {
            self.seen = Some(changes.seen);
            return changes.events.into_iter().map(|event| event.object).collect();
        }
        let query = Query { prefix: "", after: None, at: None, limit: 0, matches: &|_| true };
        let page = store.list(&self.storage, &query).unwrap_or_default();
        self.seen = Some(page.revision);
        page.items
    }
}

/// The key that a controller must reconcile after a change of an object of a collection.
fn key(controller: Controller, storage: &str, object: &Stored) -> Option<String> {
    let own = || Some(object.key.to_string());
    let owner = |kind| owner(object, kind);
    match (controller, storage) {
        (Controller::ClusterRoles, _) => Some(roles::ALL.to_owned()),
        (Controller::Deployments, "deployments.apps")
        | (Controller::Jobs, "jobs.batch")
        | (Controller::Pods, "pods")
        | (Controller::ReplicaSets, "replicasets.apps") => own(),
        (Controller::Deployments, "replicasets.apps") => owner("Deployment"),
        (Controller::Jobs, "pods") => owner("Job"),
        (Controller::ReplicaSets, "pods") => owner("ReplicaSet"),
        (Controller::RootCa | Controller::ServiceAccounts, "namespaces") => own(),
        (Controller::KubernetesService, "services") if &*object.key == namespaces::KUBERNETES => own(),
        (Controller::RootCa, "configmaps") if object.name() == namespaces::ROOT_CA => {
            Some(object.namespace().to_owned())
        }
        (Controller::ServiceAccounts, "serviceaccounts") if object.name() == "default" => {
            Some(object.namespace().to_owned())
        }
        _ => None,
    }
}

/// The key of the controlling owner, if it has this kind.
fn owner(object: &Stored, kind: &str) -> Option<String> {
    if !object.owners.iter().any(|o| *o.kind == *kind) {
        return None;
    }
    let value = object.value();
    let owners = json::list(&value, &["metadata", "ownerReferences"]);
    let owner = owners.iter().find(|o| o.get("controller") == Some(&true.into()))?;
    let name = json::text(owner, &["name"]);
    (json::text(owner, &["kind"]) == kind).then(|| crate::store::key(object.namespace(), name))
}

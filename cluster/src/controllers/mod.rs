//! Small versions of a cluster's controllers, each of which can be enabled by name. They do not poll: changes of
//! objects trigger them. Failed reconciliations are retried with a growing delay.

mod act;
mod deployments;
mod jobs;
mod replicas;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::select_all;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use self::act::Actor;
use crate::json;
use crate::selectors::LabelSelector;
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::{Query, Store, Stored, key};

/// Maximum number of parallel reconciliations. Several are needed, because webhooks may delay one of them.
const AT_ONCE: usize = 32;

/// A controller of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Controller {
    /// Fills ClusterRoles that have an `aggregationRule`. Always on with RBAC.
    ClusterRoles,
    /// Rolls out Deployments with ReplicaSets.
    Deployments,
    /// Creates Pods for Jobs until enough of them succeeded.
    Jobs,
    /// Marks Pods as running. Pods of Jobs succeed at once, and all others become ready.
    Pods,
    /// Keeps the number of Pods that ReplicaSets want.
    ReplicaSets,
    /// Creates a ConfigMap `kube-root-ca.crt` with the cluster's certificate in each namespace.
    RootCa,
    /// Creates a ServiceAccount `default` in each namespace.
    ServiceAccounts,
    /// Creates the Service `kubernetes` in the namespace `default`.
    KubernetesService,
}

impl Controller {
    /// All controllers.
    pub const ALL: [Self; 8] = [
        Self::ClusterRoles,
        Self::Deployments,
        Self::Jobs,
        Self::Pods,
        Self::ReplicaSets,
        Self::RootCa,
        Self::ServiceAccounts,
        Self::KubernetesService,
    ];

    /// The name on the command line, the name in the cluster, and the collections whose changes trigger it.
    fn traits(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::ClusterRoles => ("clusterroles", "clusterrole-aggregation-controller", &[CLUSTER_ROLES]),
            Self::Deployments => ("deployments", "deployment-controller", &["deployments.apps", "replicasets.apps"]),
            Self::Jobs => ("jobs", "job-controller", &["jobs.batch", "pods"]),
            Self::Pods => ("pods", "kubelet", &["pods"]),
            Self::ReplicaSets => ("replicasets", "replicaset-controller", &["replicasets.apps", "pods"]),
            Self::RootCa => ("root-ca", "root-ca-cert-publisher", &["namespaces", "configmaps"]),
            Self::ServiceAccounts => {
                ("serviceaccounts", "service-account-controller", &["namespaces", "serviceaccounts"])
            }
            Self::KubernetesService => ("kubernetes-service", "kube-apiserver", &["services"]),
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.traits().0
    }

    fn component(self) -> &'static str {
        self.traits().1
    }

    fn sources(self) -> &'static [&'static str] {
        self.traits().2
    }

    /// After an error, it is retried later.
    async fn reconcile(self, shared: &Arc<Shared>, key: &str) -> Result<(), Failure> {
        let actor = Actor::new(shared, self);
        match self {
            Self::ClusterRoles => reconcile_roles(&actor).await,
            Self::Deployments => deployments::reconcile(&actor, key).await,
            Self::Jobs => jobs::reconcile(&actor, key).await,
            Self::Pods => replicas::reconcile_pod(&actor, key).await,
            Self::ReplicaSets => replicas::reconcile(&actor, key).await,
            Self::RootCa => root_ca(&actor, key).await,
            Self::ServiceAccounts => service_account(&actor, key).await,
            Self::KubernetesService => kubernetes(&actor).await,
        }
    }
}

/// There is no controller with this name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no controller {0:?}; there are {all}", all = Controller::ALL.map(Controller::name).join(", "))]
pub struct UnknownController(String);

impl FromStr for Controller {
    type Err = UnknownController;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|c| c.name() == name).ok_or_else(|| UnknownController(name.to_owned()))
    }
}

/// Runs the controllers until the cluster stops.
pub(crate) async fn run(shared: Arc<Shared>, controllers: BTreeSet<Controller>) {
    if controllers.is_empty() {
        return;
    }
    let sources: BTreeSet<&str> = controllers.iter().flat_map(|c| c.sources()).copied().collect();
    let mut feeds = Feeds(sources.into_iter().map(|storage| Feed::new(&shared.store, storage)).collect());
    let (mut work, mut running) = (Work::default(), FuturesUnordered::new());
    loop {
        work.add(feeds.due(&shared.store, &controllers));
        while running.len() < AT_ONCE
            && let Some(task) = work.next()
        {
            let shared = &shared;
            running.push(async move {
                let ended = task.0.reconcile(shared, &task.1).await;
                (task, ended.is_ok())
            });
        }
        tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            Some((task, done)) = running.next() => work.ended(task, done, Instant::now()),
            () = feeds.changed(&shared.store) => {}
            () = work.due() => {}
        }
        tokio::task::yield_now().await;
    }
}

const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
/// A single key, because any change may affect every aggregated role.
const ALL: &str = "";

async fn reconcile_roles(actor: &Actor<'_>) -> Result<(), Failure> {
    let roles = actor.shared.store.all(CLUSTER_ROLES, "");
    for role in roles.iter().map(|stored| stored.value()) {
        let selectors = json::list(&role, &["aggregationRule", "clusterRoleSelectors"]);
        if selectors.is_empty() {
            continue;
        }
        let rules = gathered(json::text(&role, &["metadata", "name"]), selectors, &roles);
        let rules = if rules.is_empty() { Value::Null } else { rules.into() };
        if role.get("rules").unwrap_or(&Value::Null) != &rules {
            let change = |role: &mut Value| {
                json::object(role).insert("rules".into(), rules.clone());
            };
            actor.edit(CLUSTER_ROLES, &role, None, change).await?;
        }
    }
    Ok(())
}

/// The rules of all matching roles without duplicates, in the order of the selectors and of the roles' names.
fn gathered(own: &str, selectors: &[Value], roles: &[std::sync::Arc<Stored>]) -> Vec<Value> {
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors {
        let text = crate::kinds::scale::selector_text(Some(selector));
        let Ok(selector) = LabelSelector::parse(&text) else {
            continue;
        };
        for role in roles.iter().filter(|role| role.name() != own && selector.matches(|label| role.label(label))) {
            for rule in json::list(&role.value(), &["rules"]) {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    rules
}

/// The ConfigMap with the cluster's certificate.
const ROOT_CA: &str = "kube-root-ca.crt";
/// The key of the API server's own Service.
const KUBERNETES: &str = "default/kubernetes";

fn is_living(actor: &Actor<'_>, namespace: &str) -> bool {
    actor.living("namespaces", namespace).is_some()
}

async fn service_account(actor: &Actor<'_>, namespace: &str) -> Result<(), Failure> {
    let there = actor.shared.store.get("serviceaccounts", &key(namespace, "default")).is_some();
    if there || !is_living(actor, namespace) {
        return Ok(());
    }
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
    actor.make("serviceaccounts", namespace, account).await
}

async fn root_ca(actor: &Actor<'_>, namespace: &str) -> Result<(), Failure> {
    if !is_living(actor, namespace) {
        return Ok(());
    }
    let data = json!({ "ca.crt": actor.shared.tls.certificate() });
    let Some(found) = actor.living("configmaps", &key(namespace, ROOT_CA)) else {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": ROOT_CA }, "data": data });
        return actor.make("configmaps", namespace, map).await;
    };
    let change = |map: &mut Value| {
        json::object(map).insert("data".into(), data.clone());
    };
    actor.edit("configmaps", &found, None, change).await.map(drop)
}

async fn kubernetes(actor: &Actor<'_>) -> Result<(), Failure> {
    if actor.shared.store.get("services", KUBERNETES).is_some() {
        return Ok(());
    }
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    let port = json!({ "name": "https", "port": 443, "targetPort": actor.shared.address.port() });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "kubernetes", "labels": labels },
        "spec": { "ports": [port] },
    });
    actor.make("services", "default", service).await
}

/// Delay of the first retry. It doubles with each retry.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);

/// A controller, and the key of an object.
type Task = (Controller, String);

#[derive(Debug, Default)]
struct Work {
    due: BTreeSet<Task>,
    /// Running tasks.
    busy: BTreeSet<Task>,
    /// When a task is retried, and how often it has failed.
    later: BTreeMap<Task, (Instant, u32)>,
}

impl Work {
    fn add(&mut self, due: BTreeSet<Task>) {
        self.due.extend(due);
    }

    /// A task that is due and not running.
    fn next(&mut self) -> Option<Task> {
        let task = self.due.difference(&self.busy).next().cloned()?;
        self.due.remove(&task);
        self.busy.insert(task.clone());
        Some(task)
    }

    fn ended(&mut self, task: Task, done: bool, now: Instant) {
        self.busy.remove(&task);
        if done {
            self.later.remove(&task);
        } else {
            let failures = self.later.get(&task).map_or(0, |(_, failures)| *failures);
            let wait = FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST);
            self.later.insert(task, (now + wait, failures + 1));
        }
    }

    /// Waits until a task must be retried, and marks it as due. Never returns if there is no such task.
    async fn due(&mut self) {
        let waiting = self.later.iter().filter(|(task, _)| !self.due.contains(*task) && !self.busy.contains(*task));
        let first = waiting.min_by_key(|(_, (at, _))| *at).map(|(task, (at, _))| (task.clone(), *at));
        match first {
            Some((task, at)) => {
                sleep_until(at).await;
                self.due.insert(task);
            }
            None => std::future::pending().await,
        }
    }
}

/// Maximum number of changes to take from a collection at a time.
const CHANGES_AT_ONCE: usize = 256;

/// The changes of one collection.
struct Feed {
    storage: Arc<str>,
    changes: watch::Receiver<u64>,
    /// None before the first full read.
    seen: Option<u64>,
}

struct Feeds(pub Vec<Feed>);

impl Feeds {
    /// The keys to reconcile, for all changes that were not taken yet.
    fn due(&mut self, store: &Store, controllers: &BTreeSet<Controller>) -> BTreeSet<(Controller, String)> {
        let mut due = BTreeSet::new();
        let first = self.0.iter().all(|feed| feed.seen.is_none());
        if first && controllers.contains(&Controller::KubernetesService) {
            due.insert((Controller::KubernetesService, String::new()));
        }
        for feed in &mut self.0 {
            for object in feed.take(store) {
                for controller in controllers {
                    due.extend(key_of(*controller, &feed.storage, &object).map(|key| (*controller, key)));
                }
            }
        }
        due
    }

    /// Waits for a change in any of the collections.
    async fn changed(&mut self, store: &Store) {
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
    fn new(store: &Store, storage: &str) -> Self {
        let storage: Arc<str> = storage.into();
        Self { changes: store.subscribe(&storage), storage, seen: None }
    }

    /// The objects that changed. All objects, if too many changes were missed.
    fn take(&mut self, store: &Store) -> Vec<Arc<Stored>> {
        if let Some(seen) = self.seen
            && let Ok(changes) = store.changes(&self.storage, seen, CHANGES_AT_ONCE)
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
fn key_of(controller: Controller, storage: &str, object: &Stored) -> Option<String> {
    let own = || Some(object.key.to_string());
    let owner = |kind| owner(object, kind);
    match (controller, storage) {
        (Controller::ClusterRoles, _) => Some(ALL.to_owned()),
        (Controller::Deployments, "deployments.apps")
        | (Controller::Jobs, "jobs.batch")
        | (Controller::Pods, "pods")
        | (Controller::ReplicaSets, "replicasets.apps") => own(),
        (Controller::Deployments, "replicasets.apps") => owner("Deployment"),
        (Controller::Jobs, "pods") => owner("Job"),
        (Controller::ReplicaSets, "pods") => owner("ReplicaSet"),
        (Controller::RootCa | Controller::ServiceAccounts, "namespaces") => own(),
        (Controller::KubernetesService, "services") if &*object.key == KUBERNETES => own(),
        (Controller::RootCa, "configmaps") if object.name() == ROOT_CA => Some(object.namespace().to_owned()),
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
    (json::text(owner, &["kind"]) == kind).then(|| key(object.namespace(), name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_lead_back() {
        for controller in Controller::ALL {
            assert_eq!(controller.name().parse(), Ok(controller));
        }
        assert!("pod".parse::<Controller>().is_err_and(|e| e.to_string().contains("there are clusterroles, deploy")));
    }

    fn task(key: &str) -> Task {
        (Controller::Pods, key.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn what_went_wrong_is_tried_again_ever_more_seldom() {
        let mut work = Work::default();
        work.add([task("a"), task("b")].into());
        let mut waits = Vec::new();
        for _ in 0..12 {
            let first = work.next().unwrap();
            assert_eq!(first, task("a"));
            work.ended(first, false, Instant::now());
            let began = Instant::now();
            work.due().await;
            waits.push(began.elapsed().as_millis());
        }
        assert_eq!(waits.iter().take(4).copied().collect::<Vec<_>>(), [50, 100, 200, 400]);
        assert_eq!(waits.last(), Some(&10_000));
        let first = work.next().unwrap();
        work.ended(first, true, Instant::now());
        assert!(work.later.is_empty(), "what went well is forgotten");
    }

    #[test]
    fn an_object_is_looked_at_by_one_at_a_time_and_once_more_for_a_change_meanwhile() {
        let mut work = Work::default();
        work.add([task("a")].into());
        let first = work.next().unwrap();
        work.add([task("a")].into());
        assert_eq!(work.next(), None);
        work.ended(first, true, Instant::now());
        assert_eq!(work.next(), Some(task("a")));
    }
}

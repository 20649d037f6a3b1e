//! Small versions of a cluster's controllers, each of which can be enabled by name. They do not poll: changes of
//! objects trigger them. Failed reconciliations are retried with a growing delay.

mod act;
mod deployments;
mod feed;
mod jobs;
mod namespaces;
mod pods;
mod replicas;
mod roles;
mod rollout;
mod work;

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use crate::shared::Shared;
use crate::status::Failure;
use act::Actor;
use feed::{Feed, Feeds};
use work::Work;

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

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterRoles => "clusterroles",
            Self::Deployments => "deployments",
            Self::Jobs => "jobs",
            Self::Pods => "pods",
            Self::ReplicaSets => "replicasets",
            Self::RootCa => "root-ca",
            Self::ServiceAccounts => "serviceaccounts",
            Self::KubernetesService => "kubernetes-service",
        }
    }

    /// The collections whose changes trigger it.
    fn sources(self) -> &'static [&'static str] {
        match self {
            Self::ClusterRoles => &[roles::STORAGE],
            Self::Deployments => &["deployments.apps", "replicasets.apps"],
            Self::Jobs => &["jobs.batch", "pods"],
            Self::Pods => &["pods"],
            Self::ReplicaSets => &["replicasets.apps", "pods"],
            Self::RootCa => &["namespaces", "configmaps"],
            Self::ServiceAccounts => &["namespaces", "serviceaccounts"],
            Self::KubernetesService => &["services"],
        }
    }

    /// After an error, it is retried later.
    async fn reconcile(self, shared: &Arc<Shared>, key: &str) -> Result<(), Failure> {
        let actor = Actor::new(shared, self);
        match self {
            Self::ClusterRoles => roles::reconcile(&actor).await,
            Self::Deployments => deployments::reconcile(&actor, key).await,
            Self::Jobs => jobs::reconcile(&actor, key).await,
            Self::Pods => pods::reconcile(&actor, key).await,
            Self::ReplicaSets => replicas::reconcile(&actor, key).await,
            Self::RootCa => namespaces::root_ca(&actor, key).await,
            Self::ServiceAccounts => namespaces::service_account(&actor, key).await,
            Self::KubernetesService => namespaces::kubernetes(&actor).await,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for controller in Controller::ALL {
            assert_eq!(controller.name().parse(), Ok(controller));
        }
        assert!("pod".parse::<Controller>().is_err_and(|e| e.to_string().contains("there are clusterroles, deploy")));
    }
}

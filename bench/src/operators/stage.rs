//! HelloApps in the API server, and what the bench's own watches see of them and of their children.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};
use serde_json::json;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Duration, Instant, timeout},
};

const NAMESPACE: &str = "default";
const AT_ONCE: usize = 16;
/// Of the slowest contender with a thousand parents.
const PATIENCE: Duration = Duration::from_secs(600);

/// One HelloApp.
#[derive(Default)]
pub struct Row {
    /// The generation that its status says was observed, and when that was first seen.
    pub observed: Option<(i64, Instant)>,
    /// Its condition `Ready`.
    pub ready: Option<bool>,
    generation: i64,
    /// The Deployment's `spec.replicas`, its resource version, and when that was seen.
    pub deployment: Option<(i32, u64, Instant)>,
    /// The Service's uid.
    pub service: Option<(String, Instant)>,
    /// When both children existed, and the status of the newest generation with a condition.
    pub done: Option<Instant>,
}

type Rows = HashMap<String, Row>;

enum Seen {
    App(Box<DynamicObject>),
    Deployment(Box<Deployment>),
    Service(Box<Service>),
}

/// The HelloApps of one contender's turn.
pub struct Stage {
    apps: Api<DynamicObject>,
    deployments: Api<Deployment>,
    services: Api<Service>,
    rows: Rows,
    arriving: mpsc::UnboundedReceiver<(Seen, Instant)>,
    /// Ends the watches when dropped.
    _watches: JoinSet<()>,
}

impl Stage {
    pub fn new(client: &Client) -> Self {
        let kind = GroupVersionKind::gvk("example.com", "v1alpha1", "HelloApp");
        let apps = Api::namespaced_with(client.clone(), NAMESPACE, &ApiResource::from_gvk(&kind));
        let deployments = Api::namespaced(client.clone(), NAMESPACE);
        let services = Api::namespaced(client.clone(), NAMESPACE);
        let (sender, arriving) = mpsc::unbounded_channel();
        let mut watches = JoinSet::new();
        watches.spawn(follow(apps.clone(), sender.clone(), |app| Seen::App(Box::new(app))));
        watches.spawn(follow(deployments.clone(), sender.clone(), |one| Seen::Deployment(Box::new(one))));
        watches.spawn(follow(services.clone(), sender, |one| Seen::Service(Box::new(one))));
        Self { apps, deployments, services, rows: Rows::new(), arriving, _watches: watches }
    }

    /// Creates HelloApps, sixteen at once.
    pub async fn create(&self, names: &[String]) -> Result<()> {
        stream::iter(names)
            .map(Ok)
            .try_for_each_concurrent(AT_ONCE, async |name| {
                let app = json!({
                    "apiVersion": "example.com/v1alpha1", "kind": "HelloApp", "metadata": {"name": name},
                    "spec": {"image": "registry.example.com/team/app:1.0.0", "size": 1},
                });
                let app = serde_json::from_value(app)?;
                self.apps
                    .create(&PostParams::default(), &app)
                    .await
                    .with_context(|| format!("cannot create {name}"))?;
                Ok(())
            })
            .await
    }

    /// Sets `spec.size`. Returns the generation that the HelloApp has then.
    pub async fn scale(&self, name: &str, size: i32) -> Result<i64> {
        let patch = Patch::Merge(json!({"spec": {"size": size}}));
        let app = self.apps.patch(name, &PatchParams::default(), &patch).await?;
        app.metadata.generation.context("a HelloApp without a generation")
    }

    /// Sets the Deployment's `spec.replicas` as a person does. Returns the resource version that it has then.
    pub async fn edit(&self, name: &str, replicas: i32) -> Result<u64> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let params = PatchParams { field_manager: Some("by-hand".to_owned()), ..PatchParams::default() };
        version(&self.deployments.patch(name, &params, &patch).await?)
    }

    /// Waits until the contender has done all its work for a HelloApp.
    pub async fn done(&mut self, name: &str) -> Result<Instant> {
        self.wait(name, "its children and its status", |row| row.done).await
    }

    /// Waits until `found` gives something for a HelloApp.
    pub async fn wait<T>(&mut self, name: &str, what: &str, mut found: impl FnMut(&Row) -> Option<T>) -> Result<T> {
        loop {
            if let Some(found) = self.rows.get(name).and_then(&mut found) {
                return Ok(found);
            }
            let next = timeout(PATIENCE, self.arriving.recv()).await;
            let (seen, at) =
                next.with_context(|| format!("{name}: {what} did not come"))?.context("the watch ended")?;
            self.see(&seen, at)?;
        }
    }

    fn see(&mut self, seen: &Seen, at: Instant) -> Result<()> {
        let name = match seen {
            Seen::App(app) => app.name_any(),
            Seen::Deployment(deployment) => deployment.name_any(),
            Seen::Service(service) => service.name_any(),
        };
        let row = self.rows.entry(name).or_default();
        match seen {
            Seen::App(app) => {
                row.generation = app.metadata.generation.unwrap_or_default();
                let status = app.data.get("status");
                let observed = status.and_then(|status| status.get("observedGeneration")?.as_i64());
                if let Some(observed) = observed.filter(|now| row.observed.is_none_or(|(before, _)| before != *now)) {
                    row.observed = Some((observed, at));
                }
                let conditions = status.and_then(|status| status.get("conditions")?.as_array());
                let ready = conditions.into_iter().flatten().find(|one| one["type"] == "Ready");
                row.ready = ready.map(|one| one["status"] == "True");
            }
            Seen::Deployment(deployment) => {
                let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default();
                row.deployment = Some((replicas, version(&**deployment)?, at));
            }
            Seen::Service(service) => {
                row.service = service.uid().map(|uid| (uid, at));
            }
        }
        let is_observed = row.observed.is_some_and(|(generation, _)| generation == row.generation);
        if row.done.is_none() && row.deployment.is_some() && row.service.is_some() && row.ready.is_some() && is_observed
        {
            row.done = Some(at);
        }
        Ok(())
    }

    /// Checks that the contender does everything that is compared: owner references, the Deployment's status in that of the
    /// HelloApp, a child that was deleted.
    pub async fn check(&mut self, name: &str) -> Result<()> {
        let app = self.apps.get(name).await?;
        let (deployment, service) = (self.deployments.get(name).await?, self.services.get(name).await?);
        for owners in [deployment.owner_references(), service.owner_references()] {
            let owns = |owner: &&_| is_controller(owner, &app);
            owners.iter().find(owns).with_context(|| format!("{name} does not own its children"))?;
        }
        // What a Deployment's controller writes when all Pods are ready.
        let condition = |of: &str, reason: &str| json!({"type": of, "status": "True", "reason": reason});
        let status = json!({"status": {
            "observedGeneration": deployment.metadata.generation, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
            "availableReplicas": 1,
            "conditions": [condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable")],
        }});
        self.deployments.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
        self.wait(name, "the condition Ready", |row| (row.ready == Some(true)).then_some(())).await?;
        let deleted = service.uid().unwrap_or_default();
        self.services.delete(name, &DeleteParams::default()).await?;
        let again = |row: &Row| row.service.as_ref().is_some_and(|(uid, _)| *uid != deleted).then_some(());
        self.wait(name, "the Service that was deleted", again).await
    }

    /// Deletes everything, for the next contender.
    pub async fn clear(self) -> Result<()> {
        self.apps.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        let left = self.apps.list(&ListParams::default()).await?;
        // Finalizers of a contender that does not run any more.
        let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        stream::iter(left)
            .map(Ok::<_, anyhow::Error>)
            .try_for_each_concurrent(AT_ONCE, async |app| {
                self.apps.patch(&app.name_any(), &PatchParams::default(), &none).await?;
                Ok(())
            })
            .await?;
        let owned = |object: &kube::api::ObjectMeta| object.owner_references.is_some();
        self.deployments.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        // The Service `kubernetes` is the API server's own.
        let services = self.services.list(&ListParams::default()).await?;
        stream::iter(services.items.into_iter().filter(|service| owned(&service.metadata)))
            .map(Ok::<_, anyhow::Error>)
            .try_for_each_concurrent(AT_ONCE, async |service| {
                self.services.delete(&service.name_any(), &DeleteParams::default()).await?;
                Ok(())
            })
            .await?;
        if !self.apps.list(&ListParams::default()).await?.items.is_empty() {
            bail!("HelloApps are left over");
        }
        Ok(())
    }
}

fn is_controller(owner: &k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference, app: &DynamicObject) -> bool {
    owner.controller == Some(true) && app.metadata.uid.as_ref() == Some(&owner.uid)
}

fn version(object: &impl Resource) -> Result<u64> {
    let version = object.meta().resource_version.as_deref().unwrap_or_default();
    version.parse().with_context(|| format!("the resource version {version:?} is not a number"))
}

async fn follow<K>(api: Api<K>, sender: mpsc::UnboundedSender<(Seen, Instant)>, seen: impl Fn(K) -> Seen)
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    // An error is followed by another try.
    let mut changes = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff().applied_objects());
    while let Some(change) = changes.next().await {
        if let Ok(object) = change {
            // Nobody listens any more when the turn is over.
            let _ = sender.send((seen(object), Instant::now()));
        }
    }
}

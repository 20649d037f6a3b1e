//! The yardstick: what somebody who knows kube-rs would write by hand, one program for each job.
//!
//! They do that one job and nothing else: no opt-out, no repair of copies, no retries of their own.

use std::{
    collections::BTreeMap,
    sync::{Arc, RwLock},
};

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, future};
use k8s_openapi::api::core::v1::{Namespace, Pod, Secret};
use kube::{
    Api, Client, Config,
    api::{Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};

const NAME: &str = "registry-credentials";
const AT_ONCE: usize = 16;

/// A client for the cluster of a kubeconfig.
pub async fn connect(kubeconfig: &str) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Watches namespaces and the source Secret, and applies the copy into each namespace, sixteen at
/// once, over one client.
pub async fn copy_secret(kubeconfig: &str) -> Result<()> {
    let client = connect(kubeconfig).await?;
    let source: Api<Secret> = Api::namespaced(client.clone(), "default");
    let current = Arc::new(RwLock::new(source.get(NAME).await?));
    println!("ready");
    future::try_join(follow(source, current.clone()), copy(client, current)).await?;
    Ok(())
}

/// Keeps the source up to date.
async fn follow(source: Api<Secret>, current: Arc<RwLock<Secret>>) -> Result<()> {
    let only = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
    let mut changes = std::pin::pin!(watcher(source, only).default_backoff().applied_objects());
    while let Some(secret) = changes.try_next().await? {
        if let Ok(mut current) = current.write() {
            *current = secret;
        }
    }
    Ok(())
}

async fn copy(client: Client, current: Arc<RwLock<Secret>>) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    watcher(namespaces, watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .map_err(anyhow::Error::from)
        .try_for_each_concurrent(AT_ONCE, |namespace| apply(client.clone(), namespace, current.clone()))
        .await
}

async fn apply(client: Client, namespace: Namespace, current: Arc<RwLock<Secret>>) -> Result<()> {
    let name = namespace.metadata.name.unwrap_or_default();
    if name == "default" || namespace.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let mut copy = Secret::default();
    copy.metadata.name = Some(NAME.to_owned());
    if let Ok(source) = current.read() {
        copy.type_.clone_from(&source.type_);
        copy.data.clone_from(&source.data);
    }
    let api: Api<Secret> = Api::namespaced(client, &name);
    api.patch(NAME, &PatchParams::apply("bare-loop").force(), &Patch::Apply(&copy)).await?;
    Ok(())
}

/// Keeps the labels of all Pods.
pub async fn keep_labels(kubeconfig: &str) -> Result<()> {
    let pods: Api<Pod> = Api::all(connect(kubeconfig).await?);
    let mut labels = BTreeMap::new();
    let mut events = std::pin::pin!(watcher(pods, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        match event? {
            watcher::Event::Init => labels.clear(),
            watcher::Event::InitApply(pod) | watcher::Event::Apply(pod) => {
                labels.insert((pod.metadata.namespace, pod.metadata.name), pod.metadata.labels);
            }
            watcher::Event::Delete(pod) => {
                labels.remove(&(pod.metadata.namespace, pod.metadata.name));
            }
            watcher::Event::InitDone => println!("ready"),
        }
    }
    Ok(())
}

//! The yardstick: what somebody who knows kube-rs would write by hand for this one job. Watches
//! namespaces and the source Secret, and applies the copy into each namespace, sixteen at once.

use std::sync::{Arc, RwLock};

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, future};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Client, Config,
    api::{Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{WatchStreamExt as _, watcher},
};

const NAME: &str = "registry-credentials";
const AT_ONCE: usize = 16;

pub async fn run(kubeconfig: &str) -> Result<()> {
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(kubeconfig)?, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
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

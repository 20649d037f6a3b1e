//! Namespace created → Secret exists there: one at a time, and a thousand at once.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::{
    ByteString,
    api::core::v1::{Namespace, Secret},
};
use kube::{
    Api, ResourceExt as _,
    api::PostParams,
    runtime::{WatchStreamExt as _, watcher},
};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use crate::{backend::Backend, contender::Contender, stats::Percentiles};

const NAME: &str = "registry-credentials";
const ONE_AT_A_TIME: usize = 300;
const BURST: usize = 1000;
/// Namespaces are created so many at once.
const CREATED_AT_ONCE: usize = 16;
const PATIENCE: Duration = Duration::from_secs(120);

/// What was measured of one contender.
pub struct Figures {
    /// Resident memory when idle, in MB.
    pub idle: f64,
    /// Create request sent → Secret seen by a watch, one namespace at a time.
    pub one: Percentiles,
    /// First create request sent → last of the Secrets seen.
    pub burst: Duration,
    /// How long creating the burst's namespaces took by itself.
    pub burst_created: Duration,
}

/// The Secret that is copied.
pub async fn create_source(backend: &Backend) -> Result<()> {
    let mut source = Secret { type_: Some("kubernetes.io/dockerconfigjson".into()), ..Secret::default() };
    source.metadata.name = Some(NAME.to_owned());
    let config = br#"{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNz"}}}"#.to_vec();
    source.data = Some([(".dockerconfigjson".to_owned(), ByteString(config))].into());
    Api::namespaced(backend.client.clone(), "default").create(&PostParams::default(), &source).await?;
    Ok(())
}

/// Measures one contender.
pub async fn measure(backend: &Backend, contender: &Contender) -> Result<Figures> {
    let mut copies = Copies::watch(backend);
    // The first namespace shows that the contender works, and warms every connection.
    for i in 0..10 {
        create(backend, &format!("warm-{i}")).await?;
        copies.wait_for(&format!("warm-{i}")).await?;
    }
    let idle = contender.idle_megabytes().await?;
    let one = one_at_a_time(backend, &mut copies).await?;
    let (burst_created, burst) = burst(backend, &mut copies).await?;
    Ok(Figures { idle, one, burst, burst_created })
}

async fn one_at_a_time(backend: &Backend, copies: &mut Copies) -> Result<Percentiles> {
    let mut times = Vec::with_capacity(ONE_AT_A_TIME);
    for i in 0..ONE_AT_A_TIME {
        let name = format!("one-{i}");
        let started = Instant::now();
        create(backend, &name).await?;
        times.push(copies.wait_for(&name).await? - started);
    }
    Ok(Percentiles::of(times))
}

async fn burst(backend: &Backend, copies: &mut Copies) -> Result<(Duration, Duration)> {
    let started = Instant::now();
    let names: Vec<_> = (0..BURST).map(|i| format!("burst-{i}")).collect();
    stream::iter(&names).map(Ok).try_for_each_concurrent(CREATED_AT_ONCE, |name| create(backend, name)).await?;
    let created = started.elapsed();
    let mut last = started;
    for name in &names {
        last = last.max(copies.wait_for(name).await?);
    }
    Ok((created, last - started))
}

async fn create(backend: &Backend, name: &str) -> Result<()> {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    Api::all(backend.client.clone()).create(&PostParams::default(), &namespace).await.context("create namespace")?;
    Ok(())
}

/// When each namespace's copy was first seen.
struct Copies {
    seen: HashMap<String, Instant>,
    arriving: mpsc::UnboundedReceiver<(String, Instant)>,
}

impl Copies {
    fn watch(backend: &Backend) -> Self {
        let (sender, arriving) = mpsc::unbounded_channel();
        let secrets: Api<Secret> = Api::all(backend.client.clone());
        let only = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
        tokio::spawn(async move {
            let mut changes = std::pin::pin!(watcher(secrets, only).default_backoff().applied_objects());
            while let Some(Ok(secret)) = changes.next().await {
                // Nobody listens any more when the measurement is over.
                let _ = sender.send((secret.namespace().unwrap_or_default(), Instant::now()));
            }
        });
        Self { seen: HashMap::new(), arriving }
    }

    async fn wait_for(&mut self, namespace: &str) -> Result<Instant> {
        loop {
            if let Some(at) = self.seen.get(namespace) {
                return Ok(*at);
            }
            let next = timeout(PATIENCE, self.arriving.recv()).await;
            let (name, at) = next.with_context(|| format!("no copy in {namespace}"))?.context("the watch ended")?;
            self.seen.entry(name).or_insert(at);
        }
    }
}

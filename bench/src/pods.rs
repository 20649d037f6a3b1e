//! 20 000 Pods of 5 kB, of which only the labels are wanted: memory, and time until all are known.

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::PostParams};
use serde_json::json;
use tokio::time::{Duration, sleep, timeout};

use crate::{
    Paths,
    backend::Backend,
    contender::{self, Contender, Job, KINDS, Kind},
    report::{Report, Rounds},
    stats::ms,
};

const PODS: usize = 20_000;
const CREATED_AT_ONCE: usize = 32;
/// As the API server prints one, on one line.
const BYTES: usize = 5_000;
const QUIET: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(30);

/// What was measured of one contender.
pub struct Figures {
    ready: Duration,
    resident: f64,
    peak: f64,
}

/// Adds the table's rows.
pub fn report(report: &mut Report, rounds: &Rounds<Figures>) {
    report.compare("20 000 Pods of 5 kB, labels only: synchronized", "ms", "≤ 4 s", rounds, |f| ms(f.ready));
    report.compare("– resident", "MB", "≤ 64 MB", rounds, |f| f.resident);
    report.compare("– most that was resident", "MB", "", rounds, |f| f.peak);
}

/// Measures all contenders in turns on one API server: they only read.
pub async fn measure(paths: &Paths, rounds: usize) -> Result<Rounds<Figures>> {
    let backend = Backend::start(paths).await?;
    create(&backend).await?;
    // Compiles the hook, fills the API server's caches, and shows that Boathook has all Pods.
    holds_all(&Contender::start(Kind::Boathook, paths, &backend, &job()).await?).await?;
    let mut figures = Rounds::default();
    for _ in 0..rounds {
        for kind in KINDS {
            figures.add(kind, start(kind, paths, &backend).await?);
        }
    }
    Ok(figures)
}

fn job() -> Job<'static> {
    let hooks = vec![("pod-labels".to_owned(), "test/pod-labels.wasm")];
    Job { hooks, bare: "bare-pods", ..Job::default() }
}

/// Boathook's own count has to come to that of the Pods; it is taken every ten seconds.
async fn holds_all(contender: &Contender) -> Result<()> {
    let address = contender.address.as_deref().context("no address")?;
    let all = format!("}} {PODS}");
    let counted = timeout(PATIENCE, async {
        loop {
            let metrics = contender::get(address, "/metrics").await.unwrap_or_default();
            if metrics.lines().any(|line| line.starts_with("boathook_kube_snapshot_objects{") && line.ends_with(&all)) {
                return;
            }
            sleep(Duration::from_millis(200)).await;
        }
    });
    counted.await.context("Boathook does not hold all Pods")
}

async fn start(kind: Kind, paths: &Paths, backend: &Backend) -> Result<Figures> {
    let contender = Contender::start(kind, paths, backend, &job()).await?;
    sleep(QUIET).await;
    let process = &contender.process;
    Ok(Figures {
        ready: contender.ready_after,
        resident: process.resident_megabytes()?,
        peak: process.peak_megabytes()?,
    })
}

async fn create(backend: &Backend) -> Result<()> {
    let pods: &Api<Pod> = &Api::namespaced(backend.client.clone(), "default");
    let bare = pods.create(&PostParams::default(), &pod(0, 0)?).await.context("cannot create a Pod")?;
    let filler = BYTES.saturating_sub(serde_json::to_string(&bare)?.len());
    stream::iter(1..PODS)
        .map(Ok)
        .try_for_each_concurrent(CREATED_AT_ONCE, async |i| {
            pods.create(&PostParams::default(), &pod(i, filler)?).await.context("cannot create a Pod")?;
            Ok(())
        })
        .await
}

fn pod(i: usize, filler: usize) -> Result<Pod> {
    let env: Vec<_> = (0..20).map(|i| json!({"name": format!("SETTING_{i}"), "value": format!("value-{i}")})).collect();
    let pod = json!({
        "metadata": {
            "name": format!("pod-{i}"),
            "labels": {"app": format!("app-{}", i % 100), "tier": "backend", "pod-template-hash": format!("{i:010x}")},
            "annotations": {"example.com/filler": "x".repeat(filler)},
        },
        "spec": {"containers": [
            {"name": "main", "image": "registry.example.com/team/app:1.0.0", "env": env},
            {"name": "sidecar", "image": "registry.example.com/team/sidecar:1.0.0"},
        ]},
    });
    Ok(serde_json::from_value(pod)?)
}

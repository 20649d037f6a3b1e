//! Charts, rendered by the component with Helm's library: the same bytes as Helm's own, bounds, and the command line.
//!
//! Left out where there is no Go, because the component is not built there.

mod cases;
mod cli;
mod hostile;
mod installed;
mod lookups;
mod random;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use boathook_core::fair::Tenant;
use boathook_sandbox::{
    Capabilities, Chart, ChartConfig, ChartFile, KubeVersion, NoCluster, Operation, Release, RenderError,
    RenderRequest, Rendered, Sandbox, SandboxConfig, Secret, interpreters_in,
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    sandbox::support::small,
    support::guests::{cache_dir, has_go},
};

/// Whether the component is not there, because nothing could build it. Otherwise it is compiled, once for all tests and for the
/// commands that they run.
pub async fn left_out() -> bool {
    static COMPILED: OnceCell<()> = OnceCell::const_new();
    if !has_go() {
        eprintln!("left out: there is no Go to build the chart engine with");
        return true;
    }
    let found = interpreters_in(&[interpreters()]).into_iter().any(|one| one.name == "helm");
    assert!(found, "interpreters/dist has no helm-VERSION.wasm: run make interpreters");
    let compiled = async || drop(rendered(&sandbox(), request(template("a: b"))).await.unwrap());
    COMPILED.get_or_init(compiled).await;
    false
}

fn interpreters() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interpreters/dist")
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interpreters/helm/differential/testdata")
}

/// Time for a debug build.
fn bounds() -> ChartConfig {
    ChartConfig { cpu_time: Duration::from_secs(120), ..ChartConfig::default() }
}

fn sandbox_with(charts: ChartConfig) -> Sandbox {
    let interpreters = vec![interpreters()];
    Sandbox::new(SandboxConfig { interpreters, cache_dir: Some(cache_dir()), charts, ..small() }).unwrap()
}

fn sandbox() -> Sandbox {
    sandbox_with(bounds())
}

fn tenant() -> Tenant {
    Tenant::hook("module")
}

/// The files of a directory.
fn read(directory: &Path) -> Vec<ChartFile> {
    let mut files = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let below = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
                files.push(ChartFile { path: below, content: fs::read(&path).unwrap() });
            }
        }
    }
    files
}

/// A chart of the folder that the comparison with Helm uses.
fn chart(name: &str) -> Arc<Chart> {
    Arc::new(Chart::of_directory(read(&testdata().join("charts").join(name))))
}

/// A chart with this template.
fn template(text: &str) -> Arc<Chart> {
    let file = |path: &str, text: &str| ChartFile { path: path.to_owned(), content: text.into() };
    let metadata = "apiVersion: v2\nname: one\nversion: 0.1.0\n";
    Arc::new(Chart::of_directory(vec![file("Chart.yaml", metadata), file("templates/a.yaml", text)]))
}

fn request(chart: Arc<Chart>) -> RenderRequest {
    RenderRequest {
        chart,
        values: json!({}),
        release: Release { name: "rel".into(), namespace: "web".into(), revision: 1, operation: Operation::Install },
        capabilities: Arc::new(Capabilities::assumed(KubeVersion::parse("v1.36.0").unwrap())),
        skip_schema: false,
        now: noon(),
        secret: Secret([7; 32]),
    }
}

/// 2026-01-02T12:00:00Z
fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_767_355_200)
}

async fn rendered(sandbox: &Sandbox, request: RenderRequest) -> Result<Arc<Rendered>, RenderError> {
    sandbox.charts().render(&tenant(), request, Arc::new(NoCluster)).await
}

/// The first manifest as data.
fn first(rendered: &Rendered) -> Value {
    yaml_serde::from_str(&rendered.manifests[0].text).unwrap()
}

//! What one more operator costs in a process of Boathook that has others already.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{Patch, PatchParams},
    runtime::wait::{await_condition, conditions},
};
use tokio::time::{sleep, timeout};

use super::contenders::{self, HOOK};
use crate::{Paths, backend::Backend};

/// As many as one process has in the end. With fewer, what the allocator keeps by chance is a tenth of the figure.
pub const OPERATORS: usize = 50;
const DEFINITION: &str = "hooks-wasm/hello-app/crd.yaml";
const KIND: &str = "HelloApp";
const PATIENCE: Duration = Duration::from_secs(30);
/// The operator gives code back that was idle for two sweeps, which are 10 s apart.
const IDLE: Duration = Duration::from_secs(40);

/// Resident memory of the process when idle, in MB.
pub struct Figures {
    one: Resident,
    many: Resident,
}

struct Resident {
    all: f64,
    /// Of that, what is no page of a file.
    anonymous: f64,
}

impl Figures {
    /// What each further operator costs.
    pub fn each(&self) -> f64 {
        (self.many.all - self.one.all) / (OPERATORS - 1) as f64
    }

    /// Of that, what is no page of a file.
    pub fn each_anonymous(&self) -> f64 {
        (self.many.anonymous - self.one.anonymous) / (OPERATORS - 1) as f64
    }
}

/// Measures a process with one, and then one with all.
pub async fn measure(paths: &Paths, backend: &Backend) -> Result<Figures> {
    for i in 0..OPERATORS {
        define(backend, &kind(i)).await?;
    }
    // Components that were compiled in the same process would leave memory behind.
    drop(start(paths, backend, OPERATORS).await?);
    let one = resident(&start(paths, backend, 1).await?).await?;
    let many = resident(&start(paths, backend, OPERATORS).await?).await?;
    Ok(Figures { one, many })
}

/// Makes the API server serve the HelloApp or a copy of it under another kind.
pub async fn define(backend: &Backend, kind: &str) -> Result<()> {
    let text = std::fs::read_to_string(DEFINITION).with_context(|| format!("cannot read {DEFINITION}"))?;
    let text = text.replace(KIND, kind).replace(&KIND.to_lowercase(), &kind.to_lowercase());
    let definition: CustomResourceDefinition = yaml_serde::from_str(&text)?;
    let name = definition.metadata.name.clone().unwrap_or_default();
    let definitions: Api<CustomResourceDefinition> = Api::all(backend.client.clone());
    definitions.patch(&name, &PatchParams::apply("bench").force(), &Patch::Apply(&definition)).await?;
    let established = await_condition(definitions, &name, conditions::is_crd_established());
    timeout(PATIENCE, established).await.with_context(|| format!("{kind} is not served"))??;
    Ok(())
}

/// As long as the name of the original, which is replaced in the component.
fn kind(i: usize) -> String {
    format!("HelloA{i:02}")
}

async fn start(paths: &Paths, backend: &Backend, operators: usize) -> Result<contenders::Running> {
    let directory = tempfile::tempdir()?;
    let hooks = directory.path().join("hooks");
    std::fs::create_dir(&hooks)?;
    let component = paths.guest(HOOK)?;
    for i in 0..operators {
        write(&hooks.join(format!("hello-{i}.wasm")), &component, &kind(i))?;
    }
    contenders::boathook(paths, backend, directory).await
}

/// Each copy has a kind, and so a digest and code, of its own.
fn write(path: &Path, component: &[u8], kind: &str) -> Result<()> {
    let mut copy = component.to_vec();
    let mut replaced = false;
    for at in 0..copy.len() {
        if let Some(place) = copy.get_mut(at..at + KIND.len()).filter(|place| *place == KIND.as_bytes()) {
            place.copy_from_slice(kind.as_bytes());
            replaced = true;
        }
    }
    anyhow::ensure!(replaced, "{HOOK} does not name {KIND}");
    std::fs::write(path, copy)?;
    Ok(())
}

async fn resident(running: &contenders::Running) -> Result<Resident> {
    sleep(IDLE).await;
    let process = &running.process;
    Ok(Resident { all: process.resident_megabytes()?, anonymous: process.anonymous_megabytes()? })
}

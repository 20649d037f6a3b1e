//! `boathook modules render`: prints manifests as `helm template` does.

use std::{path::Path, sync::Arc, time::SystemTime};

use anyhow::{Context as _, bail};
use boathook_author::module::{request, shown};
use boathook_core::fair::Tenant;
use boathook_modules::{
    chart::{self, ChartFiles},
    read_values,
};
use boathook_sandbox::{
    Capabilities, KubeVersion, NoCluster, Release, RenderError, RenderRequest, Rendered, Sandbox, SandboxConfig,
};
use serde_json::{Map, Value};

use super::{Loaded, catalogue, named, read};
use crate::{
    cli::{
        Output,
        modules::{Render, Sources},
    },
    cmd::{runtime::block_on, sandbox},
};

/// Whether the chart renders.
pub(super) fn run(args: &Render) -> anyhow::Result<bool> {
    let kube = KubeVersion::parse(&args.kube_version)
        .with_context(|| format!("--kube-version {}: write it like 1.36", args.kube_version))?;
    let Some((files, values, release)) = given(args)? else { return Ok(false) };
    let mut capabilities = Capabilities::assumed(kube);
    capabilities.api_versions.clone_from(&args.api_versions);
    let plain = request(files, values, &args.release.clone().unwrap_or(release));
    let request = RenderRequest {
        release: Release { namespace: args.namespace.clone(), ..plain.release },
        capabilities: Arc::new(capabilities),
        now: args.now.unwrap_or_else(SystemTime::now),
        ..plain
    };
    let config = sandbox::config(None).map(compiles)?;
    let rendered = block_on(render(config, request))?;
    let rendered = match rendered {
        Ok(rendered) => rendered,
        Err(error @ (RenderError::Chart(_) | RenderError::Limit(_))) => {
            eprintln!("boathook: {}: {error}", place(args));
            return Ok(false);
        }
        Err(error) => bail!("{}: {error}", place(args)),
    };
    for warning in &rendered.warnings {
        eprintln!("boathook: warning: {}: {warning}", place(args));
    }
    print!("{}", text(&rendered, args)?);
    Ok(true)
}

/// Says what takes long.
pub(super) fn compiles(config: SandboxConfig) -> SandboxConfig {
    let compiles_interpreter: Option<fn()> = Some(|| {
        eprintln!("compiling the chart engine for this machine: it takes up to a minute, once, and is kept");
    });
    SandboxConfig { compiles_interpreter, ..config }
}

/// What is rendered, for errors.
fn place(args: &Render) -> String {
    match (&args.name, &args.chart) {
        (_, Some(chart)) => format!("the chart {}", chart.display()),
        (name, None) => format!("the chart of the module {}", name.as_deref().unwrap_or_default()),
    }
}

async fn render(config: SandboxConfig, request: RenderRequest) -> anyhow::Result<Result<Arc<Rendered>, RenderError>> {
    let sandbox = Sandbox::new(config)?;
    // The name has a character that a module's name does not have.
    Ok(sandbox.charts().render(&Tenant::hook("modules render"), request, Arc::new(NoCluster)).await)
}

/// The files, the values and the name of the release. `None` if the values are wrong, which is printed.
fn given(args: &Render) -> anyhow::Result<Option<(ChartFiles, Value, String)>> {
    if let Some(directory) = &args.chart {
        let mut values = Value::Object(Map::new());
        for path in &args.values {
            merge(&mut values, of_file(path)?);
        }
        return Ok(Some((chart::of_directory(directory)?, values, "release-name".to_owned())));
    }
    let name = args.name.as_deref().unwrap_or_default();
    let sources = Sources {
        modules: args.modules.clone(),
        global_hooks: args.global_hooks.clone(),
        config: args.config.clone(),
        global_patch: args.global_patch.clone(),
        unnumbered_order: 1,
        strict: false,
        output: Output::Text,
    };
    let catalogue = catalogue(&sources)?;
    let module = named(&catalogue, name)?;
    let files = chart::of_module(module)?;
    if files.is_empty() {
        bail!(
            "the module {name} has no chart: it needs a Chart.yaml or a folder templates/ in {}",
            module.path.display()
        );
    }
    let mut loaded = Loaded::new(&catalogue);
    loaded.take(&sources, Some(&module.name))?;
    for path in &args.patch {
        loaded.patch(path, Some(&module.name))?;
    }
    for key in ["global", module.name.key()] {
        let found = loaded.store.problems(key, true)?;
        loaded.problems.extend(found.iter().map(ToString::to_string));
    }
    if !loaded.problems.is_empty() {
        loaded.report();
        eprintln!("boathook: the chart is not rendered: correct the values, and name what hooks write with --patch");
        return Ok(None);
    }
    let values = loaded.store.values(module.name.key()).context("the module has no values")??;
    Ok(Some((files, values, name.to_owned())))
}

fn of_file(path: &Path) -> anyhow::Result<Value> {
    let value = read_values(&read(path)?);
    let value = value.map_err(|why| anyhow::anyhow!("{} {why}", path.display()))?;
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(value),
        _ => bail!("{} is not a mapping: write `key: value` lines", path.display()),
    }
}

/// Later values win, and mappings are merged key by key.
fn merge(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                match below.get_mut(&key) {
                    Some(known) => merge(known, value),
                    None => drop(below.insert(key, value)),
                }
            }
        }
        (below, above) => *below = above,
    }
}

/// The manifests, each with its template in a comment.
fn text(rendered: &Rendered, args: &Render) -> anyhow::Result<String> {
    let definitions = rendered.definitions.iter().filter(|_| args.include_crds);
    let hooks = rendered.hooks.iter().map(|hook| &hook.manifest);
    let all = definitions.chain(&rendered.manifests).chain(hooks);
    let path = |source: &str| source.split_once('/').map_or(source, |(_, path)| path).to_owned();
    let mut text = String::new();
    for manifest in all.clone() {
        let wanted = args.show_only.is_empty() || args.show_only.contains(&path(&manifest.source));
        if wanted {
            text.push_str(&shown(manifest));
        }
    }
    for wanted in &args.show_only {
        if !all.clone().any(|manifest| path(&manifest.source) == *wanted) {
            let mut known: Vec<String> = all.clone().map(|manifest| path(&manifest.source)).collect();
            known.dedup();
            bail!("--show-only {wanted}: no template of this name renders anything; there are: {}", known.join(", "));
        }
    }
    Ok(text)
}

//! jq filters: in the sandbox, and the same program compiled for this machine, without bounds of time and memory.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use boathook_core::fair::Tenant;
use boathook_sandbox::{Sandbox, SandboxConfig};
use serde_json::{Value, json};

use crate::{
    contender::Kind,
    report::{Report, Rounds},
    stats::us,
};

const WARM_UP: usize = 200;
const RUNS: usize = 2_000;

/// What it is, the program, and the size of the Pod in kB.
const FILTERS: [(&str, &str, usize); 7] = [
    ("jq filter: labels of 5 kB", ".metadata.labels", 5),
    ("– labels of 50 kB", ".metadata.labels", 50),
    ("– the name of the node, of 5 kB", ".spec.nodeName", 5),
    ("– name and images, of 5 kB", "{name: .metadata.name, images: [.spec.containers[].image]}", 5),
    ("– whether it is ready, of 5 kB", ".status.conditions[] | select(.type == \"Ready\") | .status", 5),
    ("– all strings, of 5 kB", "[.. | strings]", 5),
    (
        "– sorted, grouped and matched, of 5 kB",
        "[.spec.containers[].env[] | select(.name | test(\"^VAR_[0-9]+$\"))] | group_by(.value | length) | map(sort_by(.name) | .[0].name)",
        5,
    ),
];

/// The medians of one filter.
pub struct Figures(Vec<Duration>);

/// Adds the table's rows.
pub fn report(report: &mut Report, rounds: &Rounds<Figures>) {
    for (index, (what, ..)) in FILTERS.iter().enumerate() {
        let median = |figures: &Figures| us(figures.0.get(index).copied().unwrap_or_default());
        report.compare(what, "µs", "≤ 2 ×", rounds, median);
    }
}

/// Measures one round of both.
pub async fn measure(rounds: &mut Rounds<Figures>) -> Result<()> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let (mut sandboxed, mut native) = (Vec::new(), Vec::new());
    for (what, program, size) in FILTERS {
        let pod: Arc<str> = pod(size * 1000).to_string().into();
        let filter = sandbox.filters().compile(&Tenant::hook("bench"), program).await?;
        let compiled = jq::compile(program).map_err(|error| anyhow!("{what}: {error:?}"))?;
        let expected = jq::run(&compiled, &pod).map_err(|error| anyhow!("{what}: {error:?}"))?;
        let (mut of_sandbox, mut of_native) = (Vec::with_capacity(RUNS), Vec::with_capacity(RUNS));
        for _ in 0..WARM_UP + RUNS {
            let began = Instant::now();
            let outputs = filter.run(&pod).await?;
            of_sandbox.push(began.elapsed());
            ensure!(outputs.values().eq(expected.lines()), "{what}: {outputs:?} is not {expected:?}");
            let began = Instant::now();
            let result = jq::run(&compiled, &pod);
            of_native.push(began.elapsed());
            ensure!(result.is_ok(), "{what}");
        }
        sandboxed.push(median(of_sandbox));
        native.push(median(of_native));
    }
    rounds.add(Kind::Boathook, Figures(sandboxed));
    rounds.add(Kind::Bare, Figures(native));
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    let mut times = times.split_off(WARM_UP);
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A Pod of about this many bytes of JSON.
fn pod(bytes: usize) -> Value {
    let mut env = Vec::new();
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "default", "uid": "7d5b9c1e-0001", "resourceVersion": "4711",
            "labels": {"app": "web", "tier": "front", "app.kubernetes.io/managed-by": "bench"}},
        "spec": {"nodeName": "node-7", "containers": [{"name": "web", "image": "registry.example.com/web:1.2.3"},
            {"name": "side", "image": "registry.example.com/side:4.5.6", "env": []}]},
        "status": {"phase": "Running", "conditions": [{"type": "Initialized", "status": "True"},
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}]},
    });
    let mut size = pod.to_string().len();
    while size < bytes {
        let variable = json!({"name": format!("VAR_{}", env.len()), "value": "x".repeat(20 + env.len() % 7)});
        size += variable.to_string().len() + 1;
        env.push(variable);
    }
    for container in pod.pointer_mut("/spec/containers").and_then(Value::as_array_mut).into_iter().flatten() {
        container["env"] = Value::Array(std::mem::take(&mut env));
    }
    pod
}

//! `docs/admin/sizing.md` against the code and what is shipped: the parts of memory fit the Pod's limit.

use boathook_core::{
    memory::{BINDING, FILTER, FILTER_BASE, Parts, SERIES, SETTINGS, WARM, WATCH},
    queue::QueueConfig,
};
use boathook_sandbox::{Sandbox, SandboxConfig};

use super::Page;

const MIB: u64 = 1024 * 1024;

/// The container's limits in `deploy/install.yaml`: `memory`, `ephemeral-storage`.
fn limit(of: &str) -> u64 {
    let manifests = Page::read("deploy/install.yaml").text;
    let deployment = manifests.split("\n---\n").find(|manifest| manifest.contains("\nkind: Deployment\n")).unwrap();
    let limits = deployment.split_once("limits:\n").unwrap().1;
    let line = limits.lines().find_map(|line| line.trim().strip_prefix(of)?.strip_prefix(": ")).unwrap();
    line.strip_suffix("Gi").unwrap_or_else(|| panic!("{of} is {line}, no number of Gi")).parse::<u64>().unwrap()
        * 1024
        * MIB
}

// mutant: crates/core/src/memory.rs: `let quarter = limit.max(LEAST) / 4;` => `let quarter = limit.max(LEAST) / 2;`
#[test]
fn what_is_shipped_fits_the_pods_limit_and_the_page_says_how() {
    let (memory, page) = (limit("memory"), Page::read("docs/admin/sizing.md").text);
    let parts = Parts::of(memory);
    assert!(parts.bytes() <= memory / 4 * 3, "{parts:?} of {memory}");
    let runs_at_once = QueueConfig::default().max_parallel_runs as u64;
    let of_runs = parts.runs / 4 * 3;
    let run = Sandbox::new(SandboxConfig { memory: parts.runs, ..SandboxConfig::default() }).unwrap().max_memory();
    for said in [
        format!("allow {} GiB", memory / MIB / 1024),
        format!("| part | of {} GiB |", memory / MIB / 1024),
        format!("| {} MiB | the operator counts", parts.runs / MIB),
        format!("one tenant has {} MiB at most, and one run's `limits.memory` {} MiB", of_runs / MIB, run / MIB),
        format!("| {} MiB | the kernel (`RLIMIT_DATA`)", parts.compiler / MIB),
        format!("settings against a schema, {} MiB", SETTINGS / MIB),
        format!(
            "| {} MiB | the operator counts; one filter has {} MiB at most for its values, and one tenant {} MiB",
            parts.filters / MIB,
            FILTER / MIB,
            parts.filters / MIB / 4 * 3
        ),
        format!("A filter takes {} MiB in addition", FILTER_BASE / MIB),
        format!(
            "| {} MiB | the operator counts; one tenant has {} MiB at most",
            parts.kept / MIB,
            parts.kept / MIB / 4 * 3
        ),
        format!(
            "| {} MiB | the operator counts; one tenant has {} MiB at most |\n| what ended runs leave in place for the next ones | {} MiB |",
            parts.queues / MIB,
            parts.queues / MIB / 4 * 3,
            parts.runs / WARM / MIB
        ),
        format!("| the rest, {} MiB |", (memory / 4 - parts.own_bytes()) / MIB),
        format!("A run takes {} KiB of such states", parts.queues / 1024 / runs_at_once),
        format!(
            "| {} KiB for a binding to objects with its metrics, and {} KiB for each of its watches |",
            BINDING / 1024,
            WATCH / 1024
        ),
        format!("| metrics of schedules and webhooks | {} KiB for each;", SERIES / 1024),
    ] {
        assert!(page.contains(&said), "docs/admin/sizing.md does not say {said:?}");
    }
    let cache = SandboxConfig::default().cache_bytes;
    assert!(page.contains(&format!("compiled` | {} GiB;", cache / MIB / 1024)) && cache < limit("ephemeral-storage"));
}

//! Real components in Rust, ordinary and hostile, as `make guests` builds them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use boathook_core::model::{Failure, FailureKind, Limit, Limits};
use boathook_sandbox::{LoadedHook, Sandbox, SandboxConfig};

use super::support::{self, Lines, guest, load, plenty, run, sandbox};

async fn noop(sandbox: &Sandbox) -> LoadedHook {
    load(sandbox, "noop", &guest("noop")).await
}

/// Runs a hostile guest and the next hook after it.
async fn failure(name: &str, limits: Limits) -> Failure {
    let sandbox = sandbox();
    let bad = load(&sandbox, name, &guest(name)).await;
    let good = noop(&sandbox).await;
    let report = run(&sandbox, &bad, limits).await;
    assert_eq!(run(&sandbox, &good, plenty()).await.outcome, Ok(()), "after {name}");
    report.outcome.unwrap_err()
}

async fn config_failure(name: &str) -> Failure {
    let config_limits = Limits { time: Duration::from_millis(200), ..support::small().config_limits };
    let sandbox = Sandbox::new(SandboxConfig { config_limits, ..support::small() }).unwrap();
    let bad = load(&sandbox, name, &guest(name)).await;
    let good = noop(&sandbox).await;
    let failure = sandbox.config(&bad).await.unwrap_err();
    assert_eq!(run(&sandbox, &good, plenty()).await.outcome, Ok(()), "after {name}");
    failure
}

#[tokio::test]
async fn an_ordinary_hook() {
    let sandbox = sandbox();
    let hook = noop(&sandbox).await;
    assert!(sandbox.config(&hook).await.unwrap().contains("configVersion"));
    let report = run(&sandbox, &hook, plenty()).await;
    assert_eq!(report.outcome, Ok(()));
    assert!(report.memory_peak > 0 && report.memory_peak < 4 * 1024 * 1024, "{}", report.memory_peak);
    // What it does not use it does not import.
    assert!(!hook.imports().iter().any(|import| import.starts_with("boathook:hook/kube")), "{:?}", hook.imports());
}

#[tokio::test]
async fn hostile_runs() {
    let spin = Limits { time: Duration::from_millis(200), ..Limits::default() };
    let table = [
        ("hostile-spin-run", spin, FailureKind::Limit(Limit::Time), "limits.time of 200ms"),
        ("hostile-memory-bomb", plenty(), FailureKind::Limit(Limit::Memory), "limits.memory of 64Mi"),
        ("hostile-deep-recursion", plenty(), FailureKind::Limit(Limit::Stack), "calls itself too deeply"),
        ("hostile-many-calls", plenty(), FailureKind::Limit(Limit::HostCalls), "limits.hostCalls of 10000 calls"),
        ("hostile-many-logs", plenty(), FailureKind::Limit(Limit::HostCalls), "limits.hostCalls of 10000 calls"),
        ("hostile-huge-log", plenty(), FailureKind::Trap, "out"),
    ];
    for (name, limits, kind, text) in table {
        let failure = failure(name, limits).await;
        assert_eq!(failure.kind, kind, "{name}: {failure}");
        assert!(failure.message.contains(text), "{name}: {failure}");
    }
}

#[tokio::test]
async fn hostile_configs() {
    let table = [
        ("hostile-spin-config", FailureKind::Limit(Limit::Time), "limits.time of 200ms"),
        ("hostile-huge-config", FailureKind::Trap, "out"),
        ("hostile-panic-config", FailureKind::Trap, "no configuration today"),
    ];
    for (name, kind, text) in table {
        let failure = config_failure(name).await;
        assert_eq!(failure.kind, kind, "{name}: {failure}");
        assert!(failure.message.contains(text), "{name}: {failure}");
    }
}

#[tokio::test]
async fn ten_megabytes_of_stdout_are_cut() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "flood", &guest("hostile-stdout-flood")).await;
    let (lines, _guard) = Lines::collect();
    let report = run(&sandbox, &hook, plenty()).await;
    assert_eq!(report.outcome, Ok(()));
    assert!(report.log_bytes <= Limits::default().log_bytes);
    let lines = lines.of_hooks();
    let last = lines.last().unwrap()["message"].as_str().unwrap();
    assert!(last.starts_with("limits.logBytes of 1Mi reached"), "{last}");
}

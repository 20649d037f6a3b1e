//! All runs share one number of bytes, tenant by tenant.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use boathook_core::{
    fair::Tenant,
    model::{FailureKind, Limit, Limits},
};
use boathook_sandbox::{LoadedHook, RunReport, Sandbox, SandboxConfig};
use futures::future::join_all;

use super::support::{self, Memory, component, hostile, name, plenty, request, run};

const MIB: u64 = 1024 * 1024;

fn sandbox() -> Sandbox {
    let config = SandboxConfig { memory: 128 * MIB, max_concurrent_runs: 32, ..SandboxConfig::default() };
    Sandbox::new(config).unwrap()
}

async fn load(sandbox: &Sandbox, tenant: &str, bytes: &[u8]) -> LoadedHook {
    sandbox.load_for(&Tenant::namespace(tenant), &name(tenant), bytes).await.unwrap()
}

/// A guest that grows by so many pages, and then asks for an object.
fn grows(pages: u32) -> Vec<u8> {
    component(&format!(
        "(func (export \"config\") (type $config) (global.get $document))
         (func (export \"run\") (type $run)
           (drop (memory.grow (i32.const {pages})))
           (call $get (i32.const 1024) (i32.const 2) (i32.const 1024) (i32.const 6)
             (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 3)
             (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
           (global.get $success))"
    ))
}

fn crowded(report: &RunReport) -> bool {
    let Err(failure) = &report.outcome else { return false };
    failure.kind == FailureKind::Host && failure.message.contains("--memory-limit")
}

// mutant: crates/sandbox/src/limits.rs: `self.room.grow(growth).map_err(|refused| refused.error(Limit::Memory))?;` => ``
#[tokio::test]
async fn greedy_guests_of_one_tenant_leave_memory_for_the_others() {
    let sandbox = Arc::new(sandbox());
    let greedy = load(&sandbox, "team-a", &grows(20 * 16)).await;
    let good = load(&sandbox, "team-b", &grows(10 * 16)).await;
    let host = Arc::new(Memory { never_answers: true, ..Memory::default() });
    let held: Vec<_> = (0..16)
        .map(|_| {
            let (sandbox, greedy, host) = (sandbox.clone(), greedy.clone(), host.clone());
            tokio::spawn(async move { sandbox.run(&greedy, request(&greedy, plenty()), host).await })
        })
        .collect();
    let with_memory = || host.gets.lock().unwrap().len();
    support::until("some have their memory, and wait for an answer with it", || with_memory() >= 3).await;
    assert_eq!(run(&sandbox, &good, plenty()).await.outcome, Ok(()), "another tenant's share is free");
    assert!(with_memory() <= 96 / 20, "{} have 20 MiB each, of 96", with_memory());
    for run in held {
        run.abort();
        if let Ok(report) = run.await {
            assert!(crowded(&report), "{:?}", report.outcome);
        }
    }
    assert_eq!(run(&sandbox, &greedy, plenty()).await.outcome, Ok(()), "what they had has come back");
}

// mutant: crates/sandbox/src/room.rs: `self.0.store(next, Ordering::Relaxed);` => `drop(next);`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_a_known_size_wait_for_each_other() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "team-a", &grows(40 * 16)).await;
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    let reports = join_all((0..24).map(|_| run(&sandbox, &hook, plenty()))).await;
    assert!(reports.iter().all(|report| report.outcome == Ok(())), "{reports:?}");
}

#[tokio::test]
async fn what_no_tenant_could_have_is_the_hooks_own_limit() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "team-a", &grows(90 * 16)).await;
    let failure = run(&sandbox, &hook, Limits { memory: 512 * MIB, ..plenty() }).await.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::Memory), "{failure}");
    assert!(failure.message.contains("the host allows no hook more"), "{failure}");
}

// mutant: crates/sandbox/src/limits.rs: `.unwrap_or(CALL).min(CALL)` => `.unwrap_or(CALL)`
#[tokio::test]
async fn one_call_copies_little_whatever_a_run_may_pass() {
    let sandbox = support::sandbox();
    let hook = load(&sandbox, "team-a", &hostile("huge-argument")).await;
    let limits = Limits { host_bytes: 1024 * MIB, memory: 128 * MIB, ..plenty() };
    let failure = run(&sandbox, &hook, limits).await.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::HostBytes), "{failure}");
    assert!(failure.message.contains("one call passes more than 8Mi"), "{failure}");
}

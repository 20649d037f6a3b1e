//! Ordinary runs: fresh instances, interruption, without a pool.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use boathook_core::model::{Failure, FailureKind, Limits};
use boathook_sandbox::{Sandbox, SandboxConfig};

use super::support::{self, Memory, component, hostile, load, plenty, request, run, sandbox};

/// Fails when it finds what an earlier run left in its memory.
const REMEMBERS: &str = r#"
    (func (export "config") (type $config) (global.get $document))
    (func (export "run") (type $run)
      (if (i32.load (i32.const 3000)) (then unreachable))
      (i32.store (i32.const 3000) (i32.const 1))
      (global.get $success))"#;

// mutant: crates/sandbox/src/invoke.rs: `Ok(hook.call_run(store, info, &contexts).await?.map_err(own_failure))` => `let _ = hook.call_run(&mut *store, self::info(&caller, attempt), &contexts).await?; Ok(hook.call_run(store, info, &contexts).await?.map_err(own_failure))`
#[tokio::test]
async fn nothing_is_kept_between_runs() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "remembers", &component(REMEMBERS)).await;
    for _ in 0..20 {
        assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    }
}

#[tokio::test]
async fn the_document_is_what_the_guest_returns() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "good", &hostile("good")).await;
    assert_eq!(sandbox.config(&hook).await.unwrap(), "configVersion: v1\nonStartup: 1\n");
}

/// What `wit/README.md` promises: a component that was built for the first version, which imports all of its functions and
/// exports all of its answers, loads and runs. The file never changes.
#[tokio::test]
async fn a_component_of_the_first_version_of_the_contract_runs() {
    let sandbox = sandbox();
    for (file, document) in
        [("hook", "configVersion: v1\nonStartup: 1\n"), ("module-hook", "{configVersion: v1, onStartup: 1}")]
    {
        let path = format!("{}/tests/fixtures/wit/{file}-0.1.0.wasm", env!("CARGO_MANIFEST_DIR"));
        let hook = load(&sandbox, "first", &std::fs::read(path).unwrap()).await;
        assert_eq!(sandbox.config(&hook).await.unwrap(), document);
        assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    }
}

/// `run` returns `retry-after` of 1500 ms with a text.
const RETRY_AFTER: &str = r#"
    (data (i32.const 3000) "\01\00\00\00\00\00\00\00" "\01\00\00\00\00\00\00\00"
      "\dc\05\00\00\00\00\00\00" "\00\04\00\00" "\0d\00\00\00")
    (func (export "config") (type $config) (global.get $document))
    (func (export "run") (type $run) (i32.const 3000))"#;

#[tokio::test]
async fn a_hooks_own_failure_is_handed_on() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "later", &component(RETRY_AFTER)).await;
    let kind = FailureKind::RetryAfter(Duration::from_millis(1500));
    let expected = Failure { kind, message: "configVersion".into(), backtrace: None };
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Err(expected));
}

#[tokio::test]
async fn a_dropped_run_frees_its_slot() {
    let sandbox = Sandbox::new(SandboxConfig { max_concurrent_runs: 1, ..support::small() }).unwrap();
    let hook = load(&sandbox, "waiting-call", &hostile("waiting-call")).await;
    for _ in 0..10 {
        let host = Arc::new(Memory { never_answers: true, ..Memory::default() });
        let waiting = sandbox.run(&hook, request(&hook, Limits::default()), host.clone());
        tokio::select! {
            _ = waiting => panic!("answered"),
            () = host.asked() => {}
        }
    }
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
}

#[tokio::test]
async fn further_runs_wait_for_a_slot() {
    let sandbox = Sandbox::new(SandboxConfig { max_concurrent_runs: 2, ..support::small() }).unwrap();
    let hook = load(&sandbox, "good", &hostile("good")).await;
    let runs = (0..50).map(|_| run(&sandbox, &hook, plenty()));
    for report in futures::future::join_all(runs).await {
        assert_eq!(report.outcome, Ok(()));
    }
}

// mutant: crates/sandbox/src/lib.rs: `let slot = slots.clone().acquire_owned().await.ok();` => `let slot = None::<OwnedSemaphorePermit>;`
#[tokio::test]
async fn no_more_runs_are_at_work_than_there_are_slots() {
    // A pool would refuse a third run, and not only have it wait.
    let config = SandboxConfig { max_concurrent_runs: 2, pooling: false, ..support::small() };
    let sandbox = Sandbox::new(config).unwrap();
    let hook = load(&sandbox, "waiting-call", &hostile("waiting-call")).await;
    let host = Arc::new(Memory { answers_after: Duration::from_millis(20), ..Memory::default() });
    let runs = (0..20).map(|_| sandbox.run(&hook, request(&hook, plenty()), host.clone()));
    for report in futures::future::join_all(runs).await {
        assert_eq!(report.outcome, Ok(()));
    }
    assert_eq!(host.gets.lock().unwrap().len(), 20);
    let most = host.most.load(Ordering::SeqCst);
    assert!(most <= 2, "{most} runs were at work at the same time");
}

#[tokio::test]
async fn without_a_pool_all_is_the_same() {
    let sandbox = Sandbox::new(SandboxConfig { pooling: false, ..support::small() }).unwrap();
    assert!(!sandbox.pooled());
    let good = load(&sandbox, "good", &hostile("good")).await;
    assert_eq!(run(&sandbox, &good, plenty()).await.outcome, Ok(()));
    let bomb = load(&sandbox, "memory-bomb", &hostile("memory-bomb")).await;
    assert!(run(&sandbox, &bomb, plenty()).await.outcome.is_err());
}

#[tokio::test]
async fn a_pool_that_does_not_fit_is_done_without() {
    // 16 TiB for each 1 024 runs: more than a process can address.
    let sandbox = Sandbox::new(SandboxConfig { max_concurrent_runs: 40_000, ..support::small() }).unwrap();
    assert!(!sandbox.pooled());
    let good = load(&sandbox, "good", &hostile("good")).await;
    assert_eq!(run(&sandbox, &good, plenty()).await.outcome, Ok(()));
}

#[tokio::test]
async fn a_hook_of_another_sandbox_is_refused() {
    let hook = load(&sandbox(), "good", &hostile("good")).await;
    let failure = run(&sandbox(), &hook, plenty()).await.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Host);
}

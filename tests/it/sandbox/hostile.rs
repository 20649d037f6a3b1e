//! Each hostile hook ends in its own clear error, and the next hook is served.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use boathook_core::{
    fair::Tenant,
    model::{Failure, FailureKind, HookName, Limit, Limits},
};
use boathook_sandbox::{LoadedHook, RunReport, Sandbox, SandboxConfig};

use super::support::{self, Memory, hostile, load, plenty, request, run, sandbox};

/// Runs a hostile hook, checks that the next one is served, and gives the failure.
async fn failure(fixture: &str, limits: Limits) -> Failure {
    let sandbox = sandbox();
    let report = ended(&sandbox, fixture, limits).await;
    report.outcome.unwrap_err()
}

async fn ended(sandbox: &Sandbox, fixture: &str, limits: Limits) -> RunReport {
    let bad = load(sandbox, fixture, &hostile(fixture)).await;
    let good = load(sandbox, "good", &hostile("good")).await;
    let report = run(sandbox, &bad, limits).await;
    assert_eq!(run(sandbox, &good, plenty()).await.outcome, Ok(()), "after {fixture}");
    report
}

fn soon() -> Limits {
    Limits { time: Duration::from_millis(100), ..Limits::default() }
}

#[track_caller]
fn assert_limit(failure: &Failure, limit: Limit, text: &str) {
    assert_eq!(failure.kind, FailureKind::Limit(limit), "{failure}");
    assert!(failure.message.contains(text), "{failure}");
}

// mutant: crates/sandbox/src/store.rs: `if Instant::now() >= deadline {` => `if false {`
#[tokio::test]
async fn a_spinning_run_is_stopped_at_its_deadline() {
    let failure = failure("spin-run", soon()).await;
    assert_limit(&failure, Limit::Time, "limits.time of 100ms reached");
    assert!(failure.backtrace.unwrap().contains("spin"));
}

#[tokio::test]
async fn a_spinning_start_function_is_stopped_too() {
    let failure = failure("spin-start", soon()).await;
    assert_limit(&failure, Limit::Time, "limits.time of 100ms reached");
    assert!(failure.backtrace.unwrap().contains("begin"));
}

#[tokio::test]
async fn a_spinning_config_is_stopped_by_its_own_limit() {
    let config_limits = Limits { time: Duration::from_millis(50), ..support::small().config_limits };
    let sandbox = Sandbox::new(SandboxConfig { config_limits, ..support::small() }).unwrap();
    let hook = load(&sandbox, "spin-config", &hostile("spin-config")).await;
    let failure = sandbox.config(&hook).await.unwrap_err();
    assert_limit(&failure, Limit::Time, "limits.time of 50ms reached; config cannot have more");
    let good = load(&sandbox, "good", &hostile("good")).await;
    assert!(sandbox.config(&good).await.unwrap().starts_with("configVersion: v1"));
}

// mutant: crates/sandbox/src/store.rs: `Ok(UpdateDeadline::YieldCustom(1, Box::pin(turn.clone().next(deadline))))` => `Ok(UpdateDeadline::Continue(1))`
#[tokio::test]
async fn spinning_hooks_share_the_one_worker_with_others() {
    let sandbox = Arc::new(sandbox());
    let bad = load(&sandbox, "spin-run", &hostile("spin-run")).await;
    let good = load(&sandbox, "good", &hostile("good")).await;
    let spinning: Vec<_> = (0..4)
        .map(|_| {
            let (sandbox, bad) = (sandbox.clone(), bad.clone());
            // Longer than the good one may take.
            let limits = Limits { time: plenty().time * 10, ..Limits::default() };
            tokio::spawn(async move { run(&sandbox, &bad, limits).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let report = run(&sandbox, &good, plenty()).await;
    assert_eq!(report.outcome, Ok(()));
    for run in spinning {
        assert!(!run.is_finished());
        run.abort();
        assert!(run.await.unwrap_err().is_cancelled());
    }
}

/// Guests of one tenant that compute without end, and a guest of another.
// mutant: crates/sandbox/src/turns.rs: `share = timeout_at(deadline.into(), turn).await.ok().and_then(Result::ok);` => `drop(timeout_at(deadline.into(), turn).await);`
#[tokio::test]
async fn tenants_take_turns_at_the_cpu() {
    const GREEDY: usize = 24;
    let config = SandboxConfig { max_concurrent_runs: GREEDY + 1, ..support::small() };
    let sandbox = Arc::new(Sandbox::new(config).unwrap());
    let limits = Limits { time: Duration::from_secs(4), memory: 1 << 20, ..Limits::default() };
    let (name, component) = (HookName::new("spin").unwrap(), hostile("spin-run"));
    let greedy = sandbox.load_for(&Tenant::namespace("greedy"), &name, &component).await.unwrap();
    let modest = sandbox.load_for(&Tenant::namespace("modest"), &name, &component).await.unwrap();
    let spin = |hook: &LoadedHook| {
        let (sandbox, hook) = (sandbox.clone(), hook.clone());
        tokio::spawn(async move { run(&sandbox, &hook, limits).await })
    };
    let runs: Vec<_> = (0..GREEDY).map(|_| spin(&greedy)).collect();
    let modest = spin(&modest);
    let modest = modest.await.unwrap().cpu;
    let mut greedy = Duration::ZERO;
    for run in runs {
        greedy += run.await.unwrap().cpu;
    }
    assert!(modest * 3 > greedy, "the modest tenant's guest computed {modest:?}, all of the greedy one's {greedy:?}");
}

// mutant: crates/sandbox/src/turns.rs: `Poll::Pending if self.0.long.load(Ordering::Relaxed)` => `Poll::Pending if false`
#[tokio::test]
async fn a_guest_that_computes_for_long_leaves_the_threads_of_the_runtime() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "spin", &hostile("spin-run")).await;
    let run = tokio::spawn(async move { run(&sandbox, &hook, plenty()).await });
    let (mut polls, mut lowered, own) = (0_u32, false, rustix::process::getpriority_process(None).unwrap());
    // On the runtime's one thread, there would be a tick of 5 ms between two polls.
    while !(run.is_finished() || lowered && polls > 5000) {
        tokio::task::yield_now().await;
        polls += 1;
        if polls.is_multiple_of(1000) {
            lowered |= threads_of_guests().iter().any(|nice| *nice > own);
        }
    }
    run.abort();
    assert!(lowered && polls > 5000, "the operator itself goes first: {lowered}, {polls}");
}

/// The nice values of this test's threads in which guests compute.
fn threads_of_guests() -> Vec<i32> {
    let nice = |id: &str| {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{id}/stat")).ok()?;
        let (before, after) = stat.rsplit_once(')')?;
        before.ends_with("(guest").then(|| after.split(' ').nth(17)?.parse().ok())?
    };
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(|task| nice(task.unwrap().file_name().to_str()?)).collect()
}

// mutant: crates/sandbox/src/turns.rs: `() = ended.closed() => None,` => ``
#[tokio::test]
async fn a_run_that_is_dropped_ends_in_its_thread() {
    let sandbox = Arc::new(Sandbox::new(SandboxConfig { max_concurrent_runs: 1, ..support::small() }).unwrap());
    let hook = load(&sandbox, "spin", &hostile("spin-and-ask")).await;
    for _ in 0..3 {
        let limits = Limits { time: Duration::from_secs(600), host_calls: u64::MAX, ..Limits::default() };
        let host = Arc::new(Memory { answers_after: Duration::from_nanos(1), ..Memory::default() });
        let (sandbox, hook, asked) = (sandbox.clone(), hook.clone(), host.clone());
        let spinning = tokio::spawn(async move { sandbox.run(&hook, request(&hook, limits), asked).await });
        support::until("its thread asks", || host.apart.load(Ordering::Relaxed) > 0).await;
        spinning.abort();
        assert!(spinning.await.unwrap_err().is_cancelled());
    }
    // It has the only place, when those that were dropped have given it back.
    let good = load(&sandbox, "good", &hostile("good")).await;
    assert_eq!(run(&sandbox, &good, plenty()).await.outcome, Ok(()));
}

// mutant: crates/sandbox/src/limits.rs: `if used > self.limit {` => `if used > u64::from(u32::MAX) {`
#[tokio::test]
async fn a_memory_bomb_stops_at_the_limit() {
    let limits = Limits { memory: 16 * 1024 * 1024, ..plenty() };
    let sandbox = sandbox();
    let report = ended(&sandbox, "memory-bomb", limits).await;
    let failure = report.outcome.unwrap_err();
    assert_limit(&failure, Limit::Memory, "limits.memory of 16Mi reached");
    assert!(failure.backtrace.is_some());
    assert!(report.memory_peak <= limits.memory && report.memory_peak > limits.memory / 2, "{}", report.memory_peak);
}

// mutant: crates/sandbox/src/limits.rs: `memory: asked.memory.min(maxima.memory),` => `memory: asked.memory.min(u64::from(u32::MAX)),`
#[tokio::test]
async fn the_hosts_maximum_holds_where_a_hook_asks_for_more() {
    let limits = Limits { memory: u64::MAX, time: Duration::from_secs(60), ..Limits::default() };
    let failure = failure("memory-bomb", limits).await;
    assert_limit(&failure, Limit::Memory, "limits.memory of 256Mi reached; the host allows no hook more");
}

#[tokio::test]
async fn a_table_bomb_counts_as_memory() {
    let limits = Limits { memory: 256 * 1024, ..plenty() };
    assert_limit(&failure("table-bomb", limits).await, Limit::Memory, "limits.memory of 256Ki reached");
}

// mutant: crates/sandbox/src/engine.rs: `.max_wasm_stack(memory::STACK)` => `.max_wasm_stack(32 << 20).async_stack_size(64 << 20)`
#[tokio::test]
async fn deep_recursion_is_named() {
    let failure = failure("recursion", plenty()).await;
    assert_limit(&failure, Limit::Stack, "call stack of 512Ki");
    assert!(failure.backtrace.unwrap().contains("deeper"));
}

#[tokio::test]
async fn a_gigabyte_is_not_made_for_a_guest() {
    let failure = failure("huge-request", plenty()).await;
    assert_eq!(failure.kind, FailureKind::Trap);
    assert!(failure.message.contains("1073741824"), "{failure}");
}

// mutant: crates/sandbox/src/store.rs: `store.set_hostcall_fuel(call_bytes.saturating_add(SURPLUS));` => `let _ = call_bytes.saturating_add(SURPLUS);`
#[tokio::test]
async fn a_huge_argument_is_not_copied() {
    let limits = Limits { host_bytes: 1024 * 1024, ..plenty() };
    assert_limit(&failure("huge-argument", limits).await, Limit::HostBytes, "limits.hostBytes of 1Mi reached");
}

// mutant: crates/sandbox/src/budget.rs: `if total > spent.max_calls {` => `if false {`
// mutant: crates/sandbox/src/budget.rs: `if spent.refusals > PATIENCE { Err(reached) } else { Ok(reached.0) }` => `Ok(reached.0)`
#[tokio::test]
async fn a_flood_of_host_calls_is_refused_then_ended() {
    let sandbox = sandbox();
    let report = ended(&sandbox, "host-call-flood", plenty()).await;
    assert_limit(&report.outcome.unwrap_err(), Limit::HostCalls, "limits.hostCalls of 10000 calls reached");
    assert_eq!(report.host_calls, 10_000);
}

// mutant: crates/sandbox/src/imports/mod.rs: `self.spend(message.len() + bytes)?;` => `let _ = bytes;`
#[tokio::test]
async fn a_flood_of_log_lines_is_ended() {
    let sandbox = sandbox();
    let report = ended(&sandbox, "log-flood", plenty()).await;
    assert_limit(&report.outcome.unwrap_err(), Limit::HostCalls, "limits.hostCalls of 10000 calls reached");
    assert!(report.log_bytes <= Limits::default().log_bytes);
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_with_its_name() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "waiting-call", &hostile("waiting-call")).await;
    let host = Arc::new(Memory { never_answers: true, ..Memory::default() });
    let report = sandbox.run(&hook, support::request(&hook, soon()), host).await;
    assert_limit(&report.outcome.unwrap_err(), Limit::Time, "waiting for kube.get");
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
}

#[tokio::test]
async fn a_crash_shows_where() {
    let failure = failure("crash", plenty()).await;
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Trap, "the hook crashed: integer divide by zero")
    );
    let frames: Vec<_> = failure.backtrace.as_deref().unwrap().lines().collect();
    assert!(frames[0].contains("inner_fault") && frames[1].contains("outer_step"), "{frames:?}");
}

#[tokio::test]
async fn what_breaks_the_calling_convention_is_a_trap() {
    for fixture in ["bad-pointer", "bad-utf8", "invalid-result"] {
        let failure = failure(fixture, plenty()).await;
        assert_eq!(failure.kind, FailureKind::Trap, "{fixture}: {failure}");
        assert!(failure.message.len() > 20, "{fixture}: {failure}");
    }
}

#[tokio::test]
async fn a_flood_on_stdout_is_dropped_and_harms_no_one() {
    let sandbox = sandbox();
    let limits = plenty();
    // Of a line without an end the beginning is kept.
    for (fixture, least) in [("stdout-flood", limits.log_bytes / 2), ("endless-line", 10_000)] {
        let report = ended(&sandbox, fixture, limits).await;
        assert_eq!(report.outcome, Ok(()), "{fixture}");
        let used = least..=limits.log_bytes;
        assert!(used.contains(&report.log_bytes), "{fixture}: {}", report.log_bytes);
    }
}

// mutant: crates/sandbox/src/limits.rs: `pub(super) const HANDLES: usize = 1024;` => `pub(super) const HANDLES: usize = 1 << 20;`
#[tokio::test]
async fn handles_are_bounded() {
    let failure = failure("handle-flood", plenty()).await;
    assert_eq!(failure.kind, FailureKind::Trap, "{failure}");
    assert!(failure.message.contains("handle") || failure.message.contains("table"), "{failure}");
}

#[tokio::test]
async fn an_exit_is_no_success() {
    let failure = failure("exit", plenty()).await;
    assert_eq!((failure.kind, failure.message.contains("exited with code 1")), (FailureKind::Trap, true), "{failure}");
}

#[tokio::test]
async fn a_panic_is_reported_with_its_text() {
    let failure = failure("panic", plenty()).await;
    assert_eq!(failure.kind, FailureKind::Trap);
    let expected = "the hook panicked at src/lib.rs:7:9: no source secret";
    assert_eq!(failure.message, expected);
    assert!(failure.backtrace.unwrap().contains("panic"));
}

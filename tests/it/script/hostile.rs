//! A script can waste nothing but its own budget, and reach nothing but its own files.

use std::{sync::Arc, time::Duration};

use boathook_core::model::{FailureKind, Limit, Limits};
use boathook_sandbox::{LoadError, Sandbox, SandboxConfig};

use super::{config, loaded, packed, running, sandbox};
use crate::sandbox::support::{Memory, load, name, plenty, request, run};

const MIB: u64 = 1024 * 1024;

/// What came of a run with these limits.
async fn reached(body: &str, limits: Limits) -> (FailureKind, String) {
    let sandbox = sandbox();
    let hook = loaded(&sandbox, &running(body)).await;
    let failure = run(&sandbox, &hook, limits).await.outcome.unwrap_err();
    (failure.kind, failure.message)
}

#[tokio::test]
async fn an_endless_loop_ends_at_the_deadline() {
    let limits = Limits { time: Duration::from_millis(300), ..plenty() };
    for body in ["run() { for (;;) {} }", "async run() { for (;;) await null }"] {
        let sandbox = sandbox();
        let hook = loaded(&sandbox, &running(body)).await;
        let failure = run(&sandbox, &hook, limits).await.outcome.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Limit(Limit::Time), "{failure}");
        // Frames would be the interpreter's own.
        assert_eq!(failure.backtrace, None);
        assert!(failure.message.contains("where in the script is not known"), "{failure}");
    }
}

#[tokio::test]
async fn a_memory_bomb_ends_at_the_limit() {
    let limits = Limits { memory: 32 * MIB, ..plenty() };
    let (kind, message) =
        reached("run() { const a = []; for (;;) a.push(new Array(1000).fill(a.length)) }", limits).await;
    assert_eq!(kind, FailureKind::Limit(Limit::Memory), "{message}");
    assert!(message.contains("limits.memory of 32Mi"), "{message}");
}

#[tokio::test]
async fn a_gigabyte_of_text_is_not_made() {
    let (kind, message) =
        reached("run() { let a = 'x'; while (a.length < 2 ** 29) a += a; a.split('') }", plenty()).await;
    assert_eq!(kind, FailureKind::Limit(Limit::Memory), "{message}");
    let (kind, message) = reached("run() { 'x'.repeat(2 ** 30) }", plenty()).await;
    assert!(kind == FailureKind::Limit(Limit::Memory) || message.contains("RangeError"), "{message}");
}

#[tokio::test]
async fn deep_recursion_is_named() {
    let (kind, message) = reached("run() { const f = () => f() + 1; f() }", plenty()).await;
    let caught = kind == FailureKind::Retry && message.contains("RangeError: Maximum call stack size exceeded");
    assert!(caught || kind == FailureKind::Limit(Limit::Stack), "{kind:?} {message}");
}

#[tokio::test]
async fn a_pattern_that_backtracks_for_ever_ends_at_the_deadline() {
    let limits = Limits { time: Duration::from_millis(300), ..plenty() };
    let (kind, message) = reached("run() { /^(a+)+$/.test('a'.repeat(64) + '!') }", limits).await;
    assert_eq!(kind, FailureKind::Limit(Limit::Time), "{message}");
}

#[tokio::test]
async fn a_deep_document_is_an_error() {
    for body in
        ["JSON.parse('['.repeat(2 ** 20))", "let a = []; for (let i = 0; i < 2 ** 18; i++) a = [a]; JSON.stringify(a)"]
    {
        let (kind, message) = reached(&format!("run() {{ {body} }}"), plenty()).await;
        let caught = kind == FailureKind::Retry && message.contains("Error: ");
        assert!(caught || matches!(kind, FailureKind::Limit(_)), "{body}: {kind:?} {message}");
    }
}

/// A script is asked what it is, at load, within bounds of its own.
#[tokio::test]
async fn what_never_ends_before_the_first_run_is_refused_at_load() {
    let usual = config().config_limits;
    let short = Limits { time: Duration::from_millis(300), ..usual };
    let small = Limits { time: Duration::from_secs(60), memory: 32 * MIB, ..usual };
    let bounded = |config_limits| Sandbox::new(SandboxConfig { config_limits, ..config() }).unwrap();
    for (text, limits, limit) in [
        ("for (;;) {}", short, Limit::Time),
        ("export default { config() { for (;;) {} }, run() {} }", short, Limit::Time),
        ("await (async () => { for (;;) await null })(); export default 1", short, Limit::Time),
        ("const a = []; for (;;) a.push(new Array(1000).fill(a.length))", small, Limit::Memory),
    ] {
        let error = bounded(limits).load(&name("h"), &packed(&[("hook.js", text)])).await.unwrap_err();
        let LoadError::Script { failure, .. } = error else { panic!("{text}: {error}") };
        assert_eq!(failure.kind, FailureKind::Limit(limit), "{text}: {failure}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_run() {
    let sandbox = sandbox();
    let body = "run() { if (({}).mine || globalThis.mine) throw new Error('kept'); Object.prototype.mine = 1; globalThis.mine = 1 }";
    let hook = loaded(&sandbox, &running(body)).await;
    let other = load(&sandbox, "other", &running("run() { if (({}).mine) throw new Error('kept') }")).await;
    for hook in [&hook, &hook, &other] {
        assert_eq!(run(&sandbox, hook, plenty()).await.outcome, Ok(()));
    }
}

// mutant: crates/sandbox/src/imports/mod.rs: `let file = source.script.file(&path);` => `static ALL: std::sync::Mutex<Vec<std::sync::Arc<boathook_core::model::Script>>> = std::sync::Mutex::new(Vec::new()); let mut all = ALL.lock().map_err(|_| wasmtime::Error::msg(""))?; all.push(source.script.clone()); let file = all.iter().find_map(|script| script.file(&path));`
#[tokio::test]
async fn another_hooks_files_are_out_of_reach() {
    let sandbox = sandbox();
    // What finds a file of its own finds none of another's.
    let text = "export default { config: {}, async run() { \
                for (const path of ['./secret.js', '/secret.js', './../mine/secret.js']) { \
                try { await import(path) } catch { continue } throw new Error('read ' + path) } } }";
    let mine = load(&sandbox, "mine", &packed(&[("hook.js", text), ("secret.js", "export default 1")])).await;
    let found = run(&sandbox, &mine, plenty()).await.outcome.unwrap_err();
    assert!(found.message.contains("read ./secret.js"), "{found}");
    let theirs = load(&sandbox, "theirs", &packed(&[("hook.js", text)])).await;
    assert_eq!(run(&sandbox, &theirs, plenty()).await.outcome, Ok(()));
}

#[tokio::test]
async fn a_flood_of_calls_ends_at_the_budget() {
    let limits = Limits { host_calls: 100, ..plenty() };
    let body = "run() { for (;;) try { host.get({apiVersion: 'v1', kind: 'Pod', name: 'a'}) } catch {} }";
    let sandbox = sandbox();
    let hook = loaded(&sandbox, &running(body)).await;
    let report = sandbox.run(&hook, request(&hook, limits), Arc::new(Memory::default())).await;
    assert_eq!(report.host_calls, 100);
    let failure = report.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::HostCalls), "{failure}");
}

#[tokio::test]
async fn wrong_arguments_are_errors_and_no_traps() {
    for (call, told) in [
        ("host.get({})", "TypeError: apiVersion is missing"),
        ("host.get(1)", "TypeError"),
        ("host.write({verb: 'eat'})", "it is create, update, patch or delete"),
        ("host.write({verb: 'create', object: undefined})", "TypeError: object is missing"),
        ("host.write({verb: 'create', get object() { throw new Error('mine') }})", "mine"),
        ("host.snapshotNext(7, 1)", "RangeError: no such snapshot is open"),
        ("host.metricAdd('a', 1n)", "TypeError"),
        ("{ const a = {}; a.a = a; host.write({verb: 'update', object: a}) }", "TypeError"),
    ] {
        let (kind, message) = reached(&format!("run() {{ {call} }}"), plenty()).await;
        assert_eq!(kind, FailureKind::Retry, "{call}: {message}");
        assert!(message.contains(told), "{call}: {message}");
    }
}

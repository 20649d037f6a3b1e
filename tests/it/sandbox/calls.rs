//! Host calls: what reaches the host, and what the budget does to them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use boathook_core::model::{
    BindingName, Cause, FailureKind, Item, Items, Limit, Limits, ObjectKey, ObjectRef, Operation, SnapshotSet,
};
use boathook_sandbox::{RunReport, RunRequest};

use super::support::{self, Memory, caller, component, guest, load, opening, plenty, sandbox, trigger};

/// Gets `v1 config vconf/con` `times` times; then crashes unless the last answer's first bytes
/// are `discriminant`, and for an error `reason`.
fn gets(times: u32, check: &str) -> Vec<u8> {
    spins_and_gets(0, times, check)
}

/// The same, and counts to `spins` before each of them.
fn spins_and_gets(spins: u32, times: u32, check: &str) -> Vec<u8> {
    component(&text_of(spins, times, check))
}

fn text_of(spins: u32, times: u32, check: &str) -> String {
    format!(
        r#"
    (func $spin (param $n i32)
      (loop $more
        (if (local.get $n) (then (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br $more)))))
    (data (i32.const 3000) "v1configvconfcon")
    (func $call
      (call $get (i32.const 3000) (i32.const 2) (i32.const 3002) (i32.const 6)
        (i32.const 1) (i32.const 3008) (i32.const 5) (i32.const 3013) (i32.const 3)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
      (call $forget))
    (func $all (param $n i32)
      (loop $more
        (call $spin (i32.const {spins}))
        (call $call)
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br_if $more (local.get $n)))
      {check})
    (func (export "config") (type $config) (call $all (i32.const {times})) (global.get $document))
    (func (export "run") (type $run) (call $all (i32.const {times})) (global.get $success))"#
    )
}

const IS_OK: &str = "(if (i32.load8_u (i32.const 0)) (then unreachable))";
const IS_BUDGET_EXCEEDED: &str = "(if (i32.ne (i32.load8_u (i32.const 4)) (i32.const 8)) (then unreachable))";
const IS_FORBIDDEN_BY_GRANT: &str = "(if (i32.ne (i32.load8_u (i32.const 4)) (i32.const 4)) (then unreachable))";

async fn calls(bytes: &[u8], limits: Limits, host: Arc<Memory>) -> RunReport {
    let sandbox = sandbox();
    let hook = load(&sandbox, "caller", bytes).await;
    sandbox.run(&hook, support::request(&hook, limits), host).await
}

#[tokio::test]
async fn a_call_reaches_the_host_and_its_answer_the_guest() {
    let host = Arc::new(Memory { answer_bytes: 100, ..Memory::default() });
    let report = calls(&gets(3, IS_OK), plenty(), host.clone()).await;
    assert_eq!(report.outcome, Ok(()));
    assert_eq!(report.host_calls, 3);
    assert_eq!(report.host_bytes, 3 * (16 + 100));
    let target = ObjectRef {
        api_version: "v1".into(),
        kind: "config".into(),
        namespace: Some("vconf".into()),
        name: "con".into(),
    };
    assert_eq!(*host.gets.lock().unwrap(), vec![target; 3]);
}

/// Ticks come while it waits, and it does nothing else. A thread of its own would cost each call a change of threads.
// mutant: crates/sandbox/src/turns.rs: `if self.cpu_time() > SHORT {` => `if true {`
#[tokio::test]
async fn a_guest_that_waits_for_its_host_stays_on_the_threads_of_the_runtime() {
    let host = Arc::new(Memory { answers_after: Duration::from_millis(12), ..Memory::default() });
    let report = calls(&gets(20, IS_OK), plenty(), host.clone()).await;
    assert_eq!((report.outcome, report.host_calls), (Ok(()), 20));
    assert_eq!(host.apart.load(Ordering::Relaxed), 0);
}

/// It computes for less than a tick, and waits, again and again.
// mutant: crates/sandbox/src/turns.rs: `self.0.used() + Duration::from_nanos(self.0.of_this_poll())` => `Duration::from_nanos(self.0.of_this_poll())`
#[tokio::test]
async fn a_guest_that_computes_for_long_in_small_parts_leaves_the_threads_of_the_runtime() {
    let host = Arc::new(Memory { answers_after: Duration::from_millis(1), ..Memory::default() });
    let sandbox = sandbox();
    let hook = load(&sandbox, "caller", &spins_and_gets(1_000_000, 5000, IS_OK)).await;
    let run = tokio::spawn({
        let host = host.clone();
        async move { sandbox.run(&hook, support::request(&hook, plenty()), host).await }
    });
    support::until("it has left them", || host.apart.load(Ordering::Relaxed) > 0).await;
    run.abort();
}

#[tokio::test]
async fn calls_over_the_budget_are_answered_and_not_made() {
    let host = Arc::new(Memory::default());
    let limits = Limits { host_calls: 10, ..plenty() };
    let report = calls(&gets(500, IS_BUDGET_EXCEEDED), limits, host.clone()).await;
    assert_eq!(report.outcome, Ok(()));
    assert_eq!((report.host_calls, host.gets.lock().unwrap().len()), (10, 10));
}

#[tokio::test]
async fn a_hook_that_does_not_listen_is_ended() {
    let host = Arc::new(Memory::default());
    let limits = Limits { host_calls: 10, ..plenty() };
    let failure = calls(&gets(1011, IS_BUDGET_EXCEEDED), limits, host).await.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::HostCalls));
    assert!(failure.message.contains("limits.hostCalls of 10 calls"), "{failure}");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_not_passed() {
    let host = Arc::new(Memory { answer_bytes: 1000, ..Memory::default() });
    let limits = Limits { host_bytes: 3000, ..plenty() };
    let report = calls(&gets(3, IS_BUDGET_EXCEEDED), limits, host.clone()).await;
    assert_eq!(report.outcome, Ok(()));
    assert!(report.host_bytes <= 3000);
    assert_eq!(host.gets.lock().unwrap().len(), 3);
}

// mutant: crates/sandbox/src/host.rs: `self.refuse("get")` => `Box::pin(std::future::ready(Ok(String::new())))`
#[tokio::test]
async fn config_may_call_nothing() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "caller", &gets(1, IS_FORBIDDEN_BY_GRANT)).await;
    assert!(sandbox.config(&hook).await.is_ok());
}

fn items(objects: &[(&str, &str, &str)]) -> Items {
    let item = |(namespace, name, filter_result): &(&str, &str, &str)| {
        let namespace = Some(*namespace).filter(|namespace| !namespace.is_empty()).map(Arc::from);
        let key = ObjectKey { namespace, name: (*name).into() };
        let item = Item {
            key: key.clone(),
            uid: "u".into(),
            resource_version: "1".into(),
            object: None,
            filter_result: Some((*filter_result).into()),
        };
        (key, item.into())
    };
    objects.iter().map(item).collect()
}

/// A real hook, from synchronisation through its snapshots to its writes.
#[tokio::test]
async fn a_hook_reads_its_snapshots_of_one_moment() {
    let namespaces: Vec<_> = (0..50).map(|number| format!("team-{number:02}")).collect();
    let active = r#"{"skip":null,"phase":"Active"}"#;
    let objects: Vec<_> = namespaces.iter().map(|name| ("", name.as_str(), active)).collect();
    let source = r#"{"type":"Opaque","data":{"a":"YQ=="}}"#;
    let moment = SnapshotSet::new(
        [
            (BindingName::new("namespaces"), items(&objects)),
            (BindingName::new("source"), items(&[("default", "registry-credentials", source)])),
            (BindingName::new("copies"), items(&[])),
        ]
        .into(),
    );
    let host = Arc::new(Memory { moment, ..Memory::default() });
    let sandbox = sandbox();
    let hook = load(&sandbox, "registry-secret", &guest("registry-secret")).await;
    let mut trigger = trigger("registry-secret", "namespaces", Cause::Synchronization);
    trigger.snapshots = ["namespaces", "source", "copies"].map(BindingName::new).into();
    let limits = plenty();
    let request = RunRequest { caller: caller("registry-secret"), attempt: 1, triggers: vec![trigger], limits };
    let report = sandbox.run(&hook, request, host.clone()).await;
    assert_eq!(report.outcome, Ok(()));
    assert_eq!(host.moments.load(Ordering::Relaxed), 1);
    let operations = host.operations.lock().unwrap();
    let created = operations.iter().filter(|operation| matches!(operation, Operation::Create(_))).count();
    assert_eq!(created, namespaces.len(), "{operations:?}");
}

/// A run that first calls, and then opens, must not see what came after the call.
#[tokio::test]
// mutant: crates/sandbox/src/snapshots.rs: `if opens_snapshots { self }` => `if true { self }`
// mutant: crates/sandbox/src/store.rs: `let snapshots = snapshots.at(|| host.snapshot_set(&caller.hook));` => ``
async fn the_moment_of_the_snapshots_is_the_beginning_of_the_run() {
    let sandbox = sandbox();
    let (opens, does_not) = (opening(&text_of(0, 1, "")), gets(1, ""));
    let pods = || vec![BindingName::new("pods")];
    for (component, snapshots, moments) in [(&opens, pods(), 1), (&opens, vec![], 0), (&does_not, pods(), 0)] {
        let hook = load(&sandbox, "caller", component).await;
        let host = Arc::new(Memory { never_answers: true, ..Memory::default() });
        let mut request = support::request(&hook, plenty());
        request.triggers[0].snapshots = snapshots.into();
        tokio::select! {
            report = sandbox.run(&hook, request, host.clone()) => panic!("{:?}", report.outcome),
            () = host.asked() => {}
        }
        assert_eq!(host.moments.load(Ordering::Relaxed), moments);
    }
}

#[tokio::test]
async fn a_snapshot_that_no_context_lists_can_not_be_opened() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "registry-secret", &guest("registry-secret")).await;
    let mut trigger = trigger("registry-secret", "namespaces", Cause::Synchronization);
    trigger.snapshots = ["copies", "namespaces"].map(BindingName::new).into();
    let request =
        RunRequest { caller: caller("registry-secret"), attempt: 1, triggers: vec![trigger], limits: plenty() };
    let failure = sandbox.run(&hook, request, Arc::new(Memory::default())).await.outcome.unwrap_err();
    assert!(failure.message.contains("it can open: copies, namespaces"), "{failure}");
}

//! Filters that never end or grow without bound: each ends in its own error, and others go on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use boathook_core::{
    fair::Tenant,
    filter::{FilterError, FilterLimit},
};
use boathook_sandbox::{FilterConfig, Filters, Program};

use super::{compile, filters};
use crate::support;

const MIB: u64 = 1024 * 1024;

fn strict() -> Filters {
    support::filters::filters(FilterConfig { values: 64 * MIB, ..FilterConfig::default() })
}

#[derive(Debug, PartialEq)]
enum End {
    Time,
    Memory,
    Stack,
    Large,
    /// Any limit that comes first on this machine.
    Any,
    Result,
    /// jaq refuses large regular expressions, and does not backtrack: it gives a result, or reaches a limit.
    Regex,
}

fn matches(end: &End, result: &Result<String, FilterError>) -> bool {
    match result {
        Ok(_) | Err(FilterError::Program(_) | FilterError::Limit(_)) if *end == End::Regex => true,
        Err(FilterError::Limit(FilterLimit::Time(_))) => matches!(end, End::Time | End::Any),
        Err(FilterError::Limit(FilterLimit::Memory(_))) => matches!(end, End::Memory | End::Any),
        Err(FilterError::Limit(FilterLimit::Stack)) => matches!(end, End::Stack | End::Any),
        Err(FilterError::TooLarge(_)) => matches!(end, End::Large | End::Any),
        Err(_) => false,
        Ok(_) => *end == End::Result,
    }
}

/// A filter of another tenant.
async fn goes_on(other: &Program) {
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(300) {
        let outputs = other.run(&r#"{"a":1}"#.into()).await.unwrap();
        assert_eq!(&*outputs.combined(), "2");
    }
}

// mutant: crates/sandbox/src/filters/instance.rs: `if terms.turn.cpu_time() >= terms.cpu_time {` => `if false {`
// mutant: crates/sandbox/src/filters/instance.rs: `if self.grown > terms.values {` => `if false {`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_hostile_filter_ends_and_others_go_on() {
    let filters = strict();
    let other = filters.compile(&Tenant::hook("other"), ".a + 1").await.unwrap();
    goes_on(&other).await;
    for (program, end) in [
        ("def f: f; f", End::Time),
        ("last(range(1e15))", End::Time),
        ("[.[] | until(false; .)]", End::Time),
        ("range(1e12)", End::Any),
        ("repeat(1)", End::Any),
        ("[limit(1e9; repeat(1))]", End::Any),
        ("[range(1e9)]", End::Any),
        ("\"x\" * 1000000000", End::Memory),
        ("\"x\" * 4000000000", End::Memory),
        ("\"x\" * 2000000", End::Large),
        ("def f: 1 + f; f", End::Stack),
        ("def f: [f]; f", End::Stack),
        ("reduce range(1e6) as $i (1; [.])", End::Any),
        ("reduce range(60) as $i (1; [.,.])", End::Large),
        ("reduce range(60) as $i (1; [.,.]) | tojson", End::Any),
        ("reduce range(60) as $i (\"x\"; . + .)", End::Memory),
        ("\"a\" * 100000 | test(\"(a*)*b\")", End::Regex),
        ("\"a\" * 100 | test(\"((a{1,100}){1,100}){1,100}b\")", End::Regex),
        ("\"1e999\" | tonumber", End::Result),
    ] {
        let hostile = compile(&filters, program).await;
        let object = r#"{"a":1}"#.into();
        let (result, ()) = tokio::join!(hostile.run(&object), goes_on(&other));
        let result = result.map(|outputs| outputs.combined().into_string());
        assert!(matches(&end, &result), "{program}: {result:?}, not {end:?}");
    }
}

#[tokio::test]
async fn results_are_bounded() {
    let program = compile(&filters(), ".a, .a").await;
    let object = format!("{{\"a\":\"{}\"}}", "x".repeat(600_000));
    let error = program.run(&object.into()).await.unwrap_err();
    assert!(matches!(error, FilterError::TooLarge(_)), "{error}");
}

// mutant: crates/sandbox/src/filters/mod.rs: `if sound && instance.is_small() {` => `if sound {`
#[tokio::test]
async fn an_instance_is_kept_unless_a_filter_let_it_grow() {
    let filters = filters();
    let cheap = compile(&filters, ".a").await;
    for _ in 0..100 {
        cheap.run(&"{}".into()).await.unwrap();
    }
    assert_eq!(filters.instances(), 1);
    compile(&filters, "[range(1000000)] | length").await.run(&"{}".into()).await.unwrap();
    cheap.run(&"{}".into()).await.unwrap();
    assert_eq!(filters.instances(), 2);
    // Nor does one that had to be stopped.
    compile(&filters, "def f: 1 + f; f").await.run(&"{}".into()).await.unwrap_err();
    cheap.run(&"{}".into()).await.unwrap();
    assert_eq!(filters.instances(), 3);
}

/// Long filters of one tenant take turns with one of another that comes last.
// mutant: crates/sandbox/src/filters/mod.rs: `let turn = self.0.turns.of(tenant);` => `let turn = self.0.turns.of(&Tenant::hook(""));`
#[tokio::test]
async fn filters_of_one_tenant_leave_turns_for_another() {
    let filters = strict();
    let (order, tenants) = (std::sync::Mutex::new(Vec::new()), ["team-a", "team-b"].map(Tenant::namespace));
    let mut many = Vec::new();
    for _ in 0..8 {
        many.push(filters.compile(&tenants[0], "last(range(1500000))").await.unwrap());
    }
    let one = filters.compile(&tenants[1], "last(range(1500000))").await.unwrap();
    let run = async |name: &'static str, program: &Program| {
        let result = program.run(&"{}".into()).await;
        order.lock().unwrap().push(name);
        result
    };
    // All ask in this order before any has ended.
    let all = futures::future::join_all(many.iter().map(|program| run("many", program)));
    let (_, result) = tokio::join!(all, run("one", &one));
    assert_eq!(&*result.unwrap().combined(), "1499999");
    let order = order.into_inner().unwrap();
    assert!(order.iter().position(|name| *name == "one").unwrap() < 3, "{order:?}");
}

/// What other tenants have is not what this one gets: its filter is tried again, and is not at fault.
// mutant: crates/sandbox/src/filters/instance.rs: `if terms.share.grow(growth) {` => `if true {`
#[tokio::test]
async fn the_memory_of_filters_is_shared() {
    let memory = boathook_core::fair::Pool::new(128 * MIB);
    let filters = support::filters::filters(FilterConfig { memory: memory.clone(), ..FilterConfig::default() });
    let large = compile(&filters, "[range(1000000)] | length").await;
    let others = memory.try_take(&Tenant::namespace("team-b"), 90 * MIB).unwrap();
    let error = large.run(&"{}".into()).await.unwrap_err();
    assert!(matches!(error, FilterError::Crowded(_)) && error.is_transient(), "{error}");
    drop(others);
    assert_eq!(&*large.run(&"{}".into()).await.unwrap().combined(), "1000000");
    // What no tenant can have is the program's fault.
    let error = compile(&filters, "[range(1e9)]").await.run(&"{}".into()).await.unwrap_err();
    assert!(matches!(error, FilterError::Limit(FilterLimit::Memory(_))), "{error}");
    assert_eq!(memory.free(), memory.capacity());
}

// mutant: crates/sandbox/src/turns.rs: `self.0.long.store(true, Ordering::Relaxed);` => ``
#[tokio::test]
async fn a_filter_that_computes_for_long_leaves_the_threads_of_the_runtime() {
    let (filters, polls) = (strict(), Arc::new(AtomicUsize::new(0)));
    let count = polls.clone();
    let other = tokio::spawn(async move {
        loop {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    let program = compile(&filters, "def f: f; if .hang then f else 1 end").await;
    // Neither what compiles it nor what makes its instance counts.
    program.run(&"{}".into()).await.unwrap();
    polls.store(0, Ordering::SeqCst);
    program.run(&r#"{"hang":true}"#.into()).await.unwrap_err();
    // In its second there are 200 ticks. If it stayed in this thread, the other task would be polled once in each.
    assert!(polls.load(Ordering::SeqCst) > 2000);
    other.abort();
}

#[tokio::test]
async fn a_filter_that_keeps_hanging_has_to_wait() {
    let config = FilterConfig { cpu_time: Duration::from_millis(100), ..FilterConfig::default() };
    let program = compile(&support::filters::filters(config), "def f: f; if .hang then f else 1 end").await;
    for _ in 0..3 {
        let error = program.run(&r#"{"hang":true}"#.into()).await.unwrap_err();
        assert!(matches!(error, FilterError::Limit(FilterLimit::Time(_))), "{error}");
    }
    let error = program.run(&"{}".into()).await.unwrap_err();
    let FilterError::BackingOff { wait, failures: 3, ref last } = error else { panic!("{error}") };
    assert!(last.contains("did not end within 100ms of CPU time"), "{last}");
    tokio::time::sleep(wait).await;
    // One success, and it is forgotten, however slow the machine is.
    assert_eq!(&*program.run(&"{}".into()).await.unwrap().combined(), "1");
}

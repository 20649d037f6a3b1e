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
    filter::{Evaluator, FilterError, FilterLimit, Program, WorkerConfig, compile},
};

use super::{config, evaluator, eventually};

const MIB: u64 = 1024 * 1024;

fn strict() -> Arc<Evaluator> {
    Arc::new(Evaluator::new(WorkerConfig { cpu_time: Duration::from_secs(1), memory: 64 * MIB, ..config() }))
}

#[derive(Debug, PartialEq)]
enum End {
    Time,
    Memory,
    Stack,
    Large,
    /// Whichever limit comes first on this machine.
    Any,
}

fn matches(end: &End, error: &FilterError) -> bool {
    match error {
        FilterError::Limit(FilterLimit::Time(_)) => matches!(end, End::Time | End::Any),
        FilterError::Limit(FilterLimit::Memory(_)) => matches!(end, End::Memory | End::Any),
        FilterError::Limit(FilterLimit::Stack) => matches!(end, End::Stack | End::Any),
        FilterError::TooLarge(_) => matches!(end, End::Large | End::Any),
        _ => false,
    }
}

/// A filter of another binding, which also needs a worker.
async fn goes_on(evaluator: &Evaluator, other: &Program) {
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(300) {
        let outputs = evaluator.evaluate(other, r#"{"a":1}"#).await.unwrap();
        assert_eq!(&*outputs.combined(), "2");
    }
}

// mutant: crates/core/src/filter/worker/mod.rs: `limits.allow_cpu()?;` => `let _ = limits;`
// mutant: crates/core/src/child.rs: `lower(Resource::Data, self.memory, self.memory)?;` => ``
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_hostile_filter_ends_and_others_go_on() {
    let evaluator = strict();
    let other = compile("def f: .a + 1; f").unwrap();
    goes_on(&evaluator, &other).await;
    for (program, end) in [
        ("def f: f; f", End::Time),
        ("last(range(1e15))", End::Time),
        ("[.[] | until(false; .)]", End::Time),
        ("range(1e12)", End::Any),
        ("repeat(1)", End::Any),
        ("[limit(1e9; repeat(1))]", End::Any),
        ("[range(1e9)]", End::Any),
        ("\"x\" * 1000000000", End::Memory),
        ("\"x\" * 2000000", End::Large),
        ("def f: 1 + f; f", End::Stack),
        ("def f: [f]; f", End::Stack),
        ("reduce range(60) as $i (1; [.,.])", End::Large),
        ("reduce range(60) as $i (1; [.,.]) | tojson", End::Any),
        ("reduce range(60) as $i (\"x\"; . + .)", End::Memory),
        ("\"a\" * 100000 | test(\"(a*)*b\")", End::Any),
    ] {
        let hostile = compile(program).unwrap();
        assert!(!hostile.is_native(), "{program}");
        let (result, ()) = tokio::join!(evaluator.evaluate(&hostile, r#"{"a":1}"#), goes_on(&evaluator, &other));
        match result {
            Err(error) => assert!(matches(&end, &error), "{program}: {error}, not {end:?}"),
            // jaq's regular expressions don't backtrack.
            Ok(_) => assert!(program.contains("test("), "{program} gave a result"),
        }
    }
}

#[tokio::test]
async fn results_are_bounded_here_too() {
    let program = compile(".a, .a").unwrap();
    assert!(program.is_native());
    let object = format!("{{\"a\":\"{}\"}}", "x".repeat(600_000));
    let error = evaluator().evaluate(&program, &object).await.unwrap_err();
    assert!(matches!(error, FilterError::TooLarge(_)), "{error}");
}

#[tokio::test]
async fn no_process_without_need() {
    let evaluator = Evaluator::new(WorkerConfig { idle: Duration::from_millis(50), ..config() });
    let native = compile(".a").unwrap();
    evaluator.evaluate(&native, "{}").await.unwrap();
    assert_eq!(evaluator.workers(), 0);
    let other = compile("def f: .a; f").unwrap();
    evaluator.evaluate(&other, "{}").await.unwrap();
    eventually("the idle worker is stopped", || evaluator.workers() == 0).await;
    // Started again when needed.
    evaluator.evaluate(&other, "{}").await.unwrap();
    drop(other);
    eventually("the worker goes with its program", || evaluator.workers() == 0).await;
}

#[tokio::test]
async fn workers_are_bounded_and_places_are_passed_on() {
    let evaluator = Evaluator::new(WorkerConfig { max_workers: 2, ..config() });
    let programs: Vec<_> = (0..6).map(|n| compile(&format!("def f: {n}; f")).unwrap()).collect();
    for _ in 0..3 {
        let all = programs.iter().map(|program| evaluator.evaluate(program, "{}"));
        let results = futures::future::join_all(all).await;
        for (n, result) in results.into_iter().enumerate() {
            assert_eq!(&*result.unwrap().combined(), n.to_string());
        }
        assert!(evaluator.workers() <= 2);
    }
}

// mutant: crates/core/src/filter/evaluator.rs: `let _place = self.place(program.tenant()).await;` => `let _place = self.place(&Tenant::hook("")).await;`
#[tokio::test]
async fn filters_of_one_tenant_leave_a_worker_for_another() {
    let evaluator = Evaluator::new(WorkerConfig { max_workers: 2, cpu_time: Duration::from_secs(1), ..config() });
    let (order, tenants) = (std::sync::Mutex::new(Vec::new()), ["team-a", "team-b"].map(Tenant::namespace));
    let mut many = Vec::new();
    for n in 0..6 {
        many.push(evaluator.compile(&tenants[0], &format!("def f: f; {n} | f")).await.unwrap());
    }
    let one = evaluator.compile(&tenants[1], "def f: .a; f").await.unwrap();
    let evaluate = async |name: &'static str, program: &Program| {
        let result = evaluator.evaluate(program, r#"{"a":1}"#).await;
        order.lock().unwrap().push(name);
        result
    };
    // All ask in this order before any has ended.
    let all = futures::future::join_all(many.iter().map(|program| evaluate("many", program)));
    let (_, result) = tokio::join!(all, evaluate("one", &one));
    assert_eq!(&*result.unwrap().combined(), "1");
    let order = order.into_inner().unwrap();
    assert!(order.iter().position(|name| *name == "one").unwrap() < 3, "{order:?}");
}

/// A program that takes a while to compile, and evaluates to no object.
fn large() -> String {
    format!("\"{}\"", "\\(.a)".repeat(5000))
}

// mutant: crates/core/src/filter/evaluator.rs: `spawn_blocking(work).await.unwrap` => `Ok::<_, tokio::task::JoinError>(work()).unwrap`
#[tokio::test]
async fn a_large_program_is_compiled_while_others_go_on() {
    let (evaluator, polls) = (evaluator(), Arc::new(AtomicUsize::new(0)));
    let count = polls.clone();
    let other = tokio::spawn(async move {
        loop {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    evaluator.compile(&Tenant::namespace("team-a"), &large()).await.unwrap();
    assert!(polls.load(Ordering::SeqCst) > 1);
    other.abort();
}

// mutant: crates/core/src/filter/evaluator.rs: `let turn = self.compiles.take(tenant, 1).await;` => `let turn = self.compiles.take(&Tenant::hook(""), 1).await;`
#[tokio::test]
async fn programs_of_one_tenant_are_compiled_in_turns_with_those_of_another() {
    let (evaluator, order) = (evaluator(), std::sync::Mutex::new(Vec::new()));
    let compile = async |namespace: &'static str| {
        evaluator.compile(&Tenant::namespace(namespace), &large()).await.unwrap();
        order.lock().unwrap().push(namespace);
    };
    let at_a_time = usize::try_from(boathook_core::fair::threads()).unwrap();
    // All ask in this order before any is compiled.
    let many = futures::future::join_all((0..6 * at_a_time).map(|_| compile("team-a")));
    tokio::join!(many, compile("team-b"));
    let order = order.into_inner().unwrap();
    assert!(order.iter().position(|namespace| *namespace == "team-b").unwrap() < 3 * at_a_time, "{order:?}");
}

#[tokio::test]
async fn a_filter_that_keeps_hanging_has_to_wait() {
    let evaluator = Evaluator::new(WorkerConfig { cpu_time: Duration::from_millis(200), ..config() });
    let program = compile("def f: f; if .hang then f else 1 end").unwrap();
    for _ in 0..3 {
        let error = evaluator.evaluate(&program, r#"{"hang":true}"#).await.unwrap_err();
        assert!(matches!(error, FilterError::Limit(FilterLimit::Time(_))), "{error}");
    }
    let error = evaluator.evaluate(&program, "{}").await.unwrap_err();
    let FilterError::BackingOff { wait, failures: 3, ref last } = error else { panic!("{error}") };
    assert!(last.contains("did not end within 1s of CPU time"), "{last}");
    tokio::time::sleep(wait).await;
    // One success, and it is forgotten, however slow the machine is.
    assert_eq!(&*evaluator.evaluate(&program, "{}").await.unwrap().combined(), "1");
}

#[tokio::test]
async fn a_worker_that_can_not_be_started_is_an_error() {
    let program = compile("def f: 1; f").unwrap();
    let missing = Evaluator::new(WorkerConfig::new("/nonexistent/boathook"));
    let error = missing.evaluate(&program, "{}").await.unwrap_err();
    assert!(matches!(error, FilterError::Worker(_)), "{error}");
    // One that is no worker: it ends at once.
    let wrong = Evaluator::new(WorkerConfig { args: vec!["--version".into()], ..config() });
    let error = wrong.evaluate(&program, "{}").await.unwrap_err();
    assert!(matches!(error, FilterError::Killed(_) | FilterError::Worker(_)), "{error}");
    assert_eq!(wrong.workers(), 0);
}

#[test]
fn a_worker_ends_with_its_input_even_while_it_evaluates() {
    use std::{
        io::{Read as _, Write as _},
        process::{Command, Stdio},
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_boathook"))
        .args(["filter-worker", "--memory", "500000000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let frame = |tag: u8, payload: &[u8]| {
        let mut frame = u32::try_from(payload.len()).unwrap().to_le_bytes().to_vec();
        frame.push(tag);
        frame.extend(payload);
        frame
    };
    let mut program = (256 * MIB).to_le_bytes().to_vec();
    program.extend(600_u32.to_le_bytes());
    program.extend(b"def f: f; f");
    let mut input = child.stdin.take().unwrap();
    input.write_all(&frame(1, &program)).unwrap();
    let mut ready = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    assert_eq!(ready[4], 3);
    input.write_all(&frame(2, b"{}")).unwrap();
    drop(input);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("the worker outlives its parent");
        }
        std::thread::yield_now();
    }
}

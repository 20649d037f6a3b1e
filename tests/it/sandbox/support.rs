//! A sandbox, components from `tests/fixtures/hostile`, and a host that answers from memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use boathook_core::model::{
    BindingName, CallError, CallReason, Caller, Cause, EmitEvent, HookName, Limits, ListQuery, ObjectRef, Operation,
    Page, QueueName, RetryPolicy, RunId, SnapshotSet, Trigger,
};
use boathook_operator::telemetry::{LogFormat, log};
use boathook_sandbox::{Host, LoadedHook, RunReport, RunRequest, Sandbox, SandboxConfig, Written};
use futures::future::{self, BoxFuture, FutureExt};
use tracing_subscriber::{Registry, layer::SubscriberExt};

/// A component around a core module's body.
pub fn component(body: &str) -> Vec<u8> {
    let template = read(&fixture("template.wat")).replace(";; <body>", body);
    wat::parse_str(&template).unwrap()
}

/// The same, and it could open snapshots.
pub fn opening(body: &str) -> Vec<u8> {
    let template = read(&fixture("template.wat")).replace(";; <body>", body);
    let import = "(component\n  (import \"boathook:hook/snapshots@0.1.0\" (instance))";
    wat::parse_str(template.replacen("(component", import, 1)).unwrap()
}

/// A component out of `tests/fixtures/hostile`.
pub fn hostile(name: &str) -> Vec<u8> {
    component(&read(&fixture(&format!("{name}.wat"))))
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile").join(name)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A guest that `make guests` built: `noop`, `registry-secret`.
pub fn guest(name: &str) -> Vec<u8> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-wasm/dist");
    let found = [dist.join(format!("{name}.wasm")), dist.join(format!("test/{name}.wasm"))];
    let path = found.iter().find(|path| path.exists());
    let path = path.unwrap_or_else(|| panic!("hooks-wasm/dist has no {name}.wasm: run make guests"));
    std::fs::read(path).unwrap()
}

pub fn sandbox() -> Sandbox {
    Sandbox::new(small()).unwrap()
}

/// Few slots: many sandboxes live at the same time in this process.
pub fn small() -> SandboxConfig {
    SandboxConfig { max_concurrent_runs: 8, ..SandboxConfig::default() }
}

pub fn name(name: &str) -> HookName {
    HookName::new(name).unwrap()
}

pub async fn load(sandbox: &Sandbox, hook: &str, bytes: &[u8]) -> LoadedHook {
    sandbox.load(&name(hook), bytes).await.unwrap()
}

pub fn caller(hook: &str) -> Caller {
    Caller::new(name(hook), RunId::new("test", 1), Arc::new([]), false)
}

pub fn trigger(hook: &str, binding: &str, cause: Cause) -> Trigger {
    Trigger {
        hook: name(hook),
        binding: BindingName::new(binding),
        queue: QueueName::Own(name(hook)),
        cause,
        group: None,
        snapshots: Arc::new([]),
        allow_failure: false,
        retry: RetryPolicy::default(),
        debounce: std::time::Duration::ZERO,
        created: Instant::now(),
    }
}

pub fn request(hook: &LoadedHook, limits: Limits) -> RunRequest {
    let name = hook.name().as_str();
    RunRequest { caller: caller(name), attempt: 1, triggers: vec![trigger(name, "onStartup", Cause::Startup)], limits }
}

pub async fn run(sandbox: &Sandbox, hook: &LoadedHook, limits: Limits) -> RunReport {
    sandbox.run(hook, request(hook, limits), Arc::new(Memory::default())).await
}

/// Limits for runs that are not about time.
pub fn plenty() -> Limits {
    Limits { time: Duration::from_secs(60), ..Limits::default() }
}

/// Waits for a condition.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(300);
    while !holds() {
        assert!(Instant::now() < patience, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Answers `get` with the object's name, or never; counts what it is asked.
#[derive(Default)]
pub struct Memory {
    pub never_answers: bool,
    /// How long each answer takes.
    pub answers_after: Duration,
    pub answer_bytes: usize,
    pub moment: SnapshotSet,
    pub gets: Mutex<Vec<ObjectRef>>,
    pub operations: Mutex<Vec<Operation>>,
    pub moments: AtomicUsize,
    /// How many guests wait for an answer that takes long, and the most that did so at the same time.
    pub waiting: AtomicUsize,
    pub most: AtomicUsize,
    /// How often `get` was asked by a thread of a guest.
    pub apart: Arc<AtomicUsize>,
}

impl Memory {
    /// Ends when a guest waits in `kube.get`.
    pub async fn asked(&self) {
        while self.gets.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

fn no() -> CallError {
    CallError { reason: CallReason::NotFound, message: "not here".into(), code: Some(404), status: None }
}

impl Host for Memory {
    fn get<'a>(
        &'a self,
        _: &'a Caller,
        target: ObjectRef,
        _: Option<String>,
    ) -> BoxFuture<'a, Result<String, CallError>> {
        self.gets.lock().unwrap().push(target);
        if self.never_answers {
            return future::pending().boxed();
        }
        let answer = Ok("x".repeat(self.answer_bytes));
        if self.answers_after.is_zero() {
            return future::ready(answer).boxed();
        }
        let (apart, after) = (self.apart.clone(), self.answers_after);
        async move {
            apart.fetch_add(usize::from(std::thread::current().name() == Some("guest")), Ordering::Relaxed);
            let waiting = self.waiting.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(waiting, Ordering::SeqCst);
            tokio::time::sleep(after).await;
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            answer
        }
        .boxed()
    }

    fn list<'a>(&'a self, _: &'a Caller, _: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        future::ready(Err(no())).boxed()
    }

    fn write<'a>(&'a self, _: &'a Caller, operation: Operation) -> BoxFuture<'a, Written> {
        self.operations.lock().unwrap().push(operation);
        future::ready(Ok(None)).boxed()
    }

    fn batch<'a>(&'a self, _: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        let answers = operations.iter().map(|_| Ok(None)).collect();
        self.operations.lock().unwrap().extend(operations);
        future::ready(answers).boxed()
    }

    fn emit_event<'a>(&'a self, _: &'a Caller, _: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        future::ready(Ok(())).boxed()
    }

    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
        self.moments.fetch_add(1, Ordering::Relaxed);
        self.moment.clone()
    }
}

/// Collects the log of this thread as JSON lines.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// Collects until the guard is dropped.
    pub fn collect() -> (Self, tracing::subscriber::DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        let (layer, _) = log::layer(LogFormat::Json, "debug", false, move || writer.clone()).unwrap();
        (lines, tracing::subscriber::set_default(Registry::default().with(layer)))
    }

    /// The lines of hooks so far: level and fields.
    pub fn of_hooks(&self) -> Vec<serde_json::Value> {
        let bytes = self.0.lock().unwrap();
        let lines = String::from_utf8(bytes.clone()).unwrap();
        lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|line| line["target"] == "hook")
            .collect()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

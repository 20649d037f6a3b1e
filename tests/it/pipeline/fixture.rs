//! An operator with some hooks on a cluster of its own, and its log.
//!
//! Tests that use it run on a current-thread runtime: the log is that of the thread.

use std::{path::Path, time::Duration};

use boathook_core::queue::Drained;
use boathook_operator::{
    app::{App, Options, SettingsConfig},
    telemetry::Readiness,
};
use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tracing::subscriber::DefaultGuard;

use crate::support::{
    cluster::TestCluster,
    guests::{cache_dir, guest, hooks_dir},
    log::Log,
    until,
};

pub struct Pipeline {
    pub cluster: TestCluster,
    pub operator: Operator,
}

/// An operator that is not on a cluster of its own.
pub struct Operator {
    pub app: App,
    pub log: Log,
    hooks: TempDir,
    _collecting: DefaultGuard,
}

/// Guests that `make guests` built, as hooks of the same name.
pub fn guests<const N: usize>(names: [&str; N]) -> Vec<(&str, Vec<u8>)> {
    names.into_iter().map(|name| (name, guest(name))).collect()
}

impl Pipeline {
    /// Starts guests on an empty cluster, and waits until they are ready.
    pub async fn start<const N: usize>(names: [&str; N]) -> Self {
        let pipeline = Self::on(TestCluster::start().await, &guests(names), |_| ()).await;
        pipeline.operator.ready().await;
        pipeline
    }

    /// Starts hooks on a cluster, with other options. Waits for nothing.
    pub async fn on(cluster: TestCluster, hooks: &[(&str, Vec<u8>)], adjust: impl FnOnce(&mut Options)) -> Self {
        let operator = Operator::start(cluster.admin.client.clone(), hooks, adjust).await;
        Self { cluster, operator }
    }

    pub async fn create(&self, object: Value) -> Value {
        self.cluster.admin.create(&object).await.unwrap()
    }

    pub async fn apply(&self, object: Value) -> Value {
        self.cluster.admin.apply(&object).await.unwrap()
    }

    pub async fn delete(&self, object: Value) {
        self.cluster.admin.delete(&object).await.unwrap();
    }

    pub async fn get(&self, object: Value) -> Option<Value> {
        self.cluster.admin.get(&object).await.unwrap()
    }
}

/// The options of an operator with the hooks of a directory.
pub fn options(client: Client, hooks: &Path, adjust: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::new(client, hooks).unwrap();
    options.settings = SettingsConfig::new(env!("CARGO_BIN_EXE_boathook"));
    options.sandbox.cache_dir = Some(cache_dir());
    // Many operators live in this process at the same time.
    options.sandbox.max_concurrent_runs = 8;
    options.queue.max_parallel_runs = 8;
    options.streams.backoff_initial = Duration::from_millis(20);
    options.streams.backoff_max = Duration::from_millis(200);
    adjust(&mut options);
    options
}

impl Operator {
    pub async fn start(client: Client, hooks: &[(&str, Vec<u8>)], adjust: impl FnOnce(&mut Options)) -> Self {
        let (log, collecting) = Log::collect();
        let directory = hooks_dir(hooks).await;
        let app = App::start(options(client, directory.path(), adjust)).await.unwrap();
        Self { app, log, hooks: directory, _collecting: collecting }
    }

    /// The directory of its hooks.
    pub fn hooks(&self) -> &std::path::Path {
        self.hooks.path()
    }

    /// Waits until all hooks are ready.
    pub async fn ready(&self) {
        // Those of tenants, too, for which the operator itself does not wait.
        let all = |operator: &Self| {
            let readiness = operator.app.readiness();
            (readiness.ready() && readiness.hooks.iter().all(|hook| hook.missing.is_empty())).then_some(())
        };
        self.until("all hooks are ready", all).await;
    }

    /// Waits until `look` finds something; shows the end of the log when it never does.
    pub async fn until<T>(&self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let shown = ShowLog(&self.log);
        let found = until(what, async || look(self)).await;
        std::mem::forget(shown);
        found
    }

    /// The operator's lines with this message about a hook, once there are so many.
    pub async fn told(&self, message: &str, hook: &str, count: usize) -> Vec<Value> {
        let what = format!("{count} lines {message:?} of {hook}");
        let of_hook = |operator: &Self| {
            let mut lines = operator.log.told(message);
            lines.retain(|line| line["hook"] == hook);
            (lines.len() >= count).then_some(lines)
        };
        self.until(&what, of_hook).await
    }

    /// Waits until a hook has logged this.
    pub async fn said(&self, hook: &str, line: &str) {
        let holds = |operator: &Self| operator.log.said(hook).iter().any(|said| said == line).then_some(());
        self.until(&format!("{hook} says {line:?}"), holds).await;
    }

    pub async fn shutdown(self) -> (Drained, Log) {
        (self.app.shutdown().await, self.log)
    }
}

/// What a hook still waits for.
pub fn missing(readiness: &Readiness, hook: &str) -> String {
    let found = readiness.hooks.iter().find(|known| known.hook == hook);
    found.unwrap_or_else(|| panic!("hook {hook} is not known: {readiness:?}")).missing.join("; ")
}

struct ShowLog<'a>(&'a Log);

impl Drop for ShowLog<'_> {
    fn drop(&mut self) {
        eprintln!("the end of the operator's log:\n{}", self.0.tail());
    }
}

/// A ConfigMap in `default` with one label.
pub fn config_map(name: &str, label: (&str, &str), data: Value) -> Value {
    let metadata = json!({"namespace": "default", "name": name, "labels": {label.0: label.1}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

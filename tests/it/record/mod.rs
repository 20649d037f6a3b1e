//! Runs that are recorded by an operator on a local cluster, and replayed by the real binary.
//!
//! Never looks into a file but through `record::read`.

mod advice;
mod answers;
mod bad;
mod causes;
mod directories;
mod http;
mod post_mortems;
mod reconciled;
mod replays;
mod rings;
mod scenario;
mod secrets;

use std::path::{Path, PathBuf};

use boathook_operator::{
    app::Options,
    record::{FileName, Record, RecordConfig, read},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    pipeline::fixture::{Operator, Pipeline},
    support::{
        cluster::TestCluster,
        guests::cache_dir,
        process::{Ended, boathook, run},
    },
};

/// An operator that records, and where to.
struct Recorded {
    pipeline: Pipeline,
    records: TempDir,
}

impl Recorded {
    async fn start(hooks: &[(&str, Vec<u8>)], adjust: impl FnOnce(&mut RecordConfig)) -> Self {
        let (pipeline, records) = Self::begin(hooks, adjust).await;
        pipeline.operator.ready().await;
        Self { pipeline, records }
    }

    /// The same on an operator with other options.
    async fn start_with(hooks: &[(&str, Vec<u8>)], adjust: impl FnOnce(&mut Options)) -> Self {
        let records = tempfile::tempdir().unwrap();
        let directory = records.path().to_owned();
        let record = |options: &mut Options| {
            options.record = Some(RecordConfig::new(directory.join("records"), options.hooks.clone().unwrap()));
            adjust(options);
        };
        let pipeline = Pipeline::on(TestCluster::start().await, hooks, record).await;
        pipeline.operator.ready().await;
        Self { pipeline, records }
    }

    /// Waits for nothing.
    async fn begin(hooks: &[(&str, Vec<u8>)], adjust: impl FnOnce(&mut RecordConfig)) -> (Pipeline, TempDir) {
        let records = tempfile::tempdir().unwrap();
        let directory = records.path().to_owned();
        let record = |options: &mut Options| {
            let mut config = RecordConfig::new(directory.join("records"), options.hooks.clone().unwrap());
            config.keep = 5000;
            adjust(&mut config);
            options.record = Some(config);
        };
        (Pipeline::on(TestCluster::start().await, hooks, record).await, records)
    }

    fn path(&self) -> PathBuf {
        self.records.path().join("records")
    }

    fn operator(&self) -> &Operator {
        &self.pipeline.operator
    }

    /// Waits until there are so many records of a hook.
    async fn until(&self, hook: &str, count: usize) {
        let there = |_: &Operator| (of_hook(&self.path(), hook).len() >= count).then_some(());
        self.operator().until(&format!("{count} records of {hook}"), there).await;
    }

    /// Ends the operator, and with it the recording.
    async fn stop(self) -> (TempDir, PathBuf) {
        let path = self.path();
        self.pipeline.operator.shutdown().await;
        (self.records, path)
    }
}

/// The names of the records in a directory, by time.
fn names(directory: &Path) -> Vec<FileName> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.filter_map(|entry| FileName::parse(entry.unwrap().file_name().to_str().unwrap())).collect();
    names.sort_by_key(ToString::to_string);
    names
}

fn of_hook(directory: &Path, hook: &str) -> Vec<FileName> {
    let mut names = names(directory);
    names.retain(|name| name.hook == hook);
    names
}

fn records(directory: &Path) -> Vec<Record> {
    names(directory).iter().map(|name| read(&directory.join(name.to_string())).unwrap()).collect()
}

async fn replay(arguments: &[&str]) -> Ended {
    let mut command = boathook(["replay"]);
    command.args(arguments).arg("--cache-dir").arg(cache_dir());
    run(command).await
}

/// What `replay -o json` has to say.
async fn replayed(arguments: &[&str]) -> (Option<i32>, Value) {
    let ended = replay(&[arguments, &["-o", "json"]].concat()).await;
    let value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    (ended.code, value)
}

fn labelled(kind: &str, name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels}})
}

/// The component with one text for another of the same length.
pub fn altered(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = component.to_vec();
    let places: Vec<_> = (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{from} is not in the component");
    places.iter().for_each(|at| bytes[*at..*at + to.len()].copy_from_slice(to.as_bytes()));
    bytes
}

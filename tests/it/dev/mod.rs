//! `boathook dev`, as an author has it: the real binary, its lines, and the cluster that it starts.
//!
//! Never looks into the operator.

mod component;
mod project;
mod stop;
mod webhooks;

use std::{
    collections::HashMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use tokio::{process::Command, time::timeout};

use crate::support::{
    cluster::{Admin, client},
    guests::cache_dir,
    process::{Ended, Process, boathook, terminate},
};

/// A first build compiles Rust's library too, where it does not come with the tool chain.
const PATIENCE: Duration = Duration::from_secs(400);

/// `boathook dev -o json`, with tools of the test's own choice.
fn command(folder: &Path, arguments: impl IntoIterator<Item: Into<OsString>>) -> Command {
    let fixed = ["dev", "-o", "json"].map(OsString::from);
    let mut command = boathook(fixed.into_iter().chain(arguments.into_iter().map(Into::into)));
    // The binary's own cache, which is beside that of the tests.
    command.current_dir(folder).env("XDG_CACHE_HOME", cache_dir().parent().unwrap());
    command
}

struct Dev {
    process: Process,
    /// Lines of stdout that were looked at for lines of a type: those of two types come in no certain order.
    seen: HashMap<String, usize>,
}

impl Dev {
    fn start(command: Command) -> Self {
        Self { process: Process::start(command), seen: HashMap::new() }
    }

    /// The next line of this type for which `find` finds something; those of the type before it are passed.
    async fn next<T>(&mut self, kind: &str, find: impl Fn(&Value) -> Option<T>) -> T {
        let (from, mut found) = (self.seen.get(kind).copied().unwrap_or_default(), None);
        let wait = self.process.stdout.wait_for(|lines| {
            let new = lines.iter().enumerate().skip(from);
            let parsed = new.map(|(at, line)| (at, serde_json::from_str::<Value>(line).unwrap()));
            let mut fitting = parsed.filter(|(_, line)| line["type"] == kind);
            found = fitting.find_map(|(at, line)| Some((at, find(&line)?)));
            found.is_some()
        });
        let ended = timeout(PATIENCE, wait).await.map(|ended| drop(ended.unwrap()));
        let Some((at, found)) = found else {
            let err = self.process.stderr.borrow().join("\n");
            panic!("never a line {kind} ({ended:?}):\n{}\n{err}", self.told());
        };
        self.seen.insert(kind.to_owned(), at + 1);
        found
    }

    async fn line(&mut self, kind: &str) -> Value {
        self.next(kind, |line| Some(line.clone())).await
    }

    /// The next run that a hook logged this in.
    async fn said(&mut self, what: &str) -> Value {
        self.next("run", |run| {
            let logs = run["logs"].as_array()?;
            logs.iter().any(|line| line["message"] == what).then(|| run.clone())
        })
        .await
    }

    /// All that it told so far.
    fn told(&self) -> String {
        self.process.stdout.borrow().join("\n")
    }

    /// The cluster that it started.
    async fn admin(&mut self) -> Admin {
        let server = self.next("started", |line| line["server"].as_str().map(str::to_owned)).await;
        Admin::new(client(&server))
    }

    async fn ended(self) -> Ended {
        terminate(&self.process);
        self.process.ended().await
    }
}

/// As a build puts it there: whole, at once.
fn put(path: &Path, bytes: &[u8]) {
    let beside: PathBuf = path.with_extension("part");
    std::fs::write(&beside, bytes).unwrap();
    std::fs::rename(beside, path).unwrap();
}

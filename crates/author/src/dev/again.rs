//! Runs of the loop again, for its console: replayed from their records, and as scenarios.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use boathook_core::model::{HookName, error_chain};
use boathook_operator::{
    admin::Refused,
    app::load,
    console::{Repeats, ReplayView, ScenarioView},
    record::{
        FileName, Record, read, read_key,
        replay::{Components, Unusable, repeat},
    },
};
use boathook_sandbox::Sandbox;
use futures::{FutureExt as _, future::BoxFuture};
use tokio::sync::Semaphore;

use crate::scenario::of_record;

/// The records of an operator, and a sandbox that repeats them.
pub struct Repeating {
    records: PathBuf,
    sandbox: Sandbox,
    /// Runs are repeated one after another, so that a person who clicks often does not slow down the hooks.
    turn: Semaphore,
}

impl Repeating {
    /// The records in this directory.
    pub fn new(records: PathBuf, sandbox: Sandbox) -> Self {
        Self { records, sandbox, turn: Semaphore::new(1) }
    }

    /// The file of a run. None if there is none yet, or none any more.
    async fn file(&self, run: &str) -> Result<Option<PathBuf>, Refused> {
        let (records, run) = (self.records.clone(), run.to_owned());
        blocking(move || find(&records, &run).map_err(|error| Refused::Failed(error.to_string()))).await
    }

    async fn record(&self, run: &str) -> Result<(PathBuf, Record), Refused> {
        let Some(file) = self.file(run).await? else {
            return Err(Refused::Conflict(format!(
                "there is no record of run {run}: it has not ended, or records of newer runs of its hook took its place; \
                 choose a newer run"
            )));
        };
        let path = file.clone();
        let record = blocking(move || read(&path).map_err(|error| Refused::Failed(error_chain(&error)))).await?;
        Ok((file, record))
    }

    /// The component that ran.
    async fn component(&self, record: &Record) -> Result<(HookName, Vec<u8>), Refused> {
        let name = HookName::new(&record.header.hook).map_err(|error| Refused::Failed(error.to_string()))?;
        let (records, digest, hook) = (self.records.clone(), record.header.component.clone(), name.clone());
        let find = move || {
            let found = Components::default().find(&records, &digest, hook.as_str());
            found.map_err(|error| Refused::Conflict(error_chain(&error)))
        };
        Ok((name, blocking(find).await?))
    }

    async fn replayed(&self, run: &str) -> Result<ReplayView, Refused> {
        let _turn = self.turn.acquire().await.map_err(|_| Refused::Ending)?;
        let (_, record) = self.record(run).await?;
        let (name, bytes) = self.component(&record).await?;
        let component = self.sandbox.load(&name, &bytes).await;
        let component = component.map_err(|error| Refused::Failed(error_chain(&error)))?;
        let key = read_key(&self.records).map_err(|error| Refused::Failed(error_chain(&error)))?;
        let view = |result: &str| ReplayView {
            run: run.to_owned(),
            result: result.to_owned(),
            reason: None,
            differences: Vec::new(),
            log: Vec::new(),
        };
        match repeat(&self.sandbox, &component, Arc::new(record), None, key.as_ref()).await {
            Ok(repeated) => {
                let result = if repeated.differences.is_empty() { "same" } else { "differs" };
                let line = |line: &boathook_operator::record::LogLine| format!("{} {}", line.level, line.message);
                Ok(ReplayView {
                    differences: repeated.differences.iter().map(ToString::to_string).collect(),
                    log: repeated.log.iter().map(line).collect(),
                    ..view(result)
                })
            }
            Err(error @ (Unusable::Incomplete(_) | Unusable::Directories)) => {
                Ok(ReplayView { reason: Some(error.to_string()), ..view("incomplete") })
            }
            Err(error) => Err(Refused::Failed(error_chain(&error))),
        }
    }

    async fn as_scenario(&self, run: &str) -> Result<ScenarioView, Refused> {
        let _turn = self.turn.acquire().await.map_err(|_| Refused::Ending)?;
        let (_, record) = self.record(run).await?;
        let (name, bytes) = self.component(&record).await?;
        let hook = load(&name, &bytes, &self.sandbox).await.map_err(|error| Refused::Failed(error_chain(&error)))?;
        let text = of_record(&record, &hook.spec);
        let text = text.map_err(|error| {
            Refused::Conflict(format!("run {run} does not become a scenario: {}", error_chain(&error)))
        })?;
        Ok(ScenarioView { run: run.to_owned(), file: format!("{run}.yaml"), text })
    }
}

impl Repeats for Repeating {
    fn is_recorded<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, Refused>> {
        async move { Ok(self.file(run).await?.is_some()) }.boxed()
    }

    fn replay<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<ReplayView, Refused>> {
        self.replayed(run).boxed()
    }

    fn scenario<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<ScenarioView, Refused>> {
        self.as_scenario(run).boxed()
    }
}

/// The run decides which file it is only by comparison with the names of files that are there.
fn find(records: &Path, run: &str) -> std::io::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(records)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().and_then(FileName::parse).is_some_and(|name| name.run == run) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Refused> + Send + 'static) -> Result<T, Refused> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|error| Refused::Failed(format!("reading the record ended because of a defect: {error}")))?
}

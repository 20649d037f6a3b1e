//! Runs a recorded run again: the same component, which must do the same, or another one, whose writes are compared. It
//! never contacts a cluster. Only `shadow` does: it compares a run that has just ended, and sends what that run did not
//! request to the API server, as dry runs.

mod compare;
mod host;
mod shadow;

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use boathook_bundle::Digest;
use boathook_core::model::{
    CallError, Caller, Failure, FailureKind, HookName, InvalidName, Limit, Limits, Permission, RunId,
};
use boathook_sandbox::{LoadedHook, RunReport, RunRequest, Sandbox};

use super::{
    Asked, Given, LogLine, Record, RecordedAnswer, Request,
    recorder::{COMPONENTS, component_file},
    secrets::Key,
    tape::metric_line,
};
use compare::Secrets;
use host::{Mode, ReplayHost, Replayed, Seen};

pub use compare::{Change, Difference};
pub use shadow::{Compared, Noted, Original};

/// The minimum time limit of a replayed run, because this machine may be slower than the one that recorded it.
const TIME: Duration = Duration::from_secs(60);

/// Why a valid record cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("the record is incomplete: {0}")]
    Incomplete(String),
    #[error("the hook reads files of a directory, and a record has none: repeat the run with `boathook run --dir`")]
    Directories,
    #[error("the record's hook name is not valid")]
    Hook(#[from] InvalidName),
    #[error("the record has an invalid run ID {0:?}")]
    Run(String),
    #[error("the record's random values are not hexadecimal numbers")]
    Random,
}

/// What the host refuses by a hook's permissions, as the error that the hook receives. It is called separately for each
/// write of a batch.
pub type Refuses = dyn Fn(&Request) -> Option<CallError> + Send + Sync;

/// The document of another component, which replaces the recorded one.
#[derive(Clone)]
pub struct Tried {
    /// The permissions that the document requests.
    pub permissions: Arc<[Permission]>,
    pub limits: Limits,
    /// What these permissions refuse.
    pub refuses: Arc<Refuses>,
}

/// Replays a run. If nothing differs, the result is empty. `tried` is set if the component is not the recorded one.
/// `key` is the key of the record's placeholders.
pub async fn replay(
    sandbox: &Sandbox,
    component: &LoadedHook,
    record: Arc<Record>,
    tried: Option<&Tried>,
    key: Option<&Key>,
) -> Result<Vec<Difference>, Unusable> {
    Ok(repeat(sandbox, component, record, tried, key).await?.differences)
}

/// A run that was replayed.
#[derive(Debug, Clone, Default)]
pub struct Repeated {
    pub differences: Vec<Difference>,
    /// The lines that the hook logged this time.
    pub log: Vec<LogLine>,
}

impl From<Vec<Difference>> for Repeated {
    fn from(differences: Vec<Difference>) -> Self {
        Self { differences, log: Vec::new() }
    }
}

/// Like [`replay`], with the log.
pub async fn repeat(
    sandbox: &Sandbox,
    component: &LoadedHook,
    record: Arc<Record>,
    tried: Option<&Tried>,
    key: Option<&Key>,
) -> Result<Repeated, Unusable> {
    let mode = if tried.is_some() { Mode::Matching } else { Mode::Exact };
    let asked = asked(&record, tried)?;
    if interrupted(&record) && mode == Mode::Matching {
        let why = "the run was interrupted, so what it would have written is not known";
        return Err(Unusable::Incomplete(why.to_owned()));
    }
    if interrupted(&record) && record.calls.is_empty() {
        return Ok(Repeated::default());
    }
    let ambient = Replayed::new(&record.ambient, record.header.started).ok_or(Unusable::Random)?;
    let key = key.filter(|_| record.header.redacted);
    let host =
        Arc::new(ReplayHost::new(record.clone(), key.cloned(), tried.map(|tried| tried.refuses.clone()), ambient));
    let report = tokio::select! {
        biased;
        () = host.stopped() => None,
        report = asked.call(sandbox, component, host.clone()) => Some(report),
    };
    let mut seen = host.seen();
    if let Some(difference) = seen.difference {
        return Ok(vec![difference].into());
    }
    let log = std::mem::take(&mut seen.log);
    if seen.over {
        return Ok(Repeated { differences: Vec::new(), log });
    }
    let secrets = Secrets { key, made: record.header.redacted && record.ambient.random.is_none() };
    let differences = report.map(|report| differences(&record, &seen, &report, mode, secrets)).unwrap_or_default();
    Ok(Repeated { differences, log })
}

/// The differences of a run that ended.
fn differences(
    record: &Record,
    seen: &Seen,
    report: &RunReport<Given>,
    mode: Mode,
    secrets: Secrets<'_>,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    match mode {
        Mode::Exact => differences.extend(unmade(record, seen.made.len())),
        Mode::Matching => {
            let (recorded, now) = (compare::made(&record.calls), compare::made(&seen.made));
            differences.extend(compare::writes(&recorded, &now, secrets));
        }
    }
    if !interrupted(record) {
        let now = report.outcome.as_ref().ok().and_then(RecordedAnswer::of);
        differences.extend(compare::answers(record.end.answer.as_ref(), now.as_ref(), secrets));
        differences.extend(ends(record, report, mode));
    }
    differences
}

fn unmade(record: &Record, made: usize) -> Option<Difference> {
    let call = record.calls.get(made)?;
    Some(Difference::Call {
        number: made + 1,
        recorded: Some(Box::new(call.request.clone())),
        now: None,
        fields: Vec::new(),
    })
}

/// It is not known what such a run would have done next.
fn interrupted(record: &Record) -> bool {
    record.end.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Interrupted)
}

fn ends(record: &Record, report: &RunReport<Given>, mode: Mode) -> Vec<Difference> {
    let now = report.outcome.as_ref().err();
    let recorded = record.end.failure.as_ref();
    let mut differences = Vec::new();
    if said(recorded, mode) != said(now, mode) {
        differences.push(Difference::Outcome { recorded: said(recorded, Mode::Exact), now: said(now, Mode::Exact) });
    }
    let metrics: Vec<_> = report.metrics.iter().map(metric_line).collect();
    differences.extend(compare::lines(&record.end.metrics, &metrics));
    differences
}

/// Another component may describe a failure in other words.
fn said(failure: Option<&Failure>, mode: Mode) -> String {
    match failure {
        None => "success".to_owned(),
        Some(failure) if mode == Mode::Matching => failure.kind.label().to_owned(),
        Some(failure) => format!("{}: {}", failure.kind.label(), failure.message),
    }
}

fn asked(record: &Record, tried: Option<&Tried>) -> Result<Asked, Unusable> {
    let header = &record.header;
    if let Some(reason) = &header.incomplete {
        return Err(Unusable::Incomplete(reason.clone()));
    }
    let tried_permissions = tried.map(|tried| &*tried.permissions);
    let directory = |permissions: &[Permission]| permissions.iter().any(|permission| permission.directory.is_some());
    if directory(&header.permissions) || tried_permissions.is_some_and(directory) {
        return Err(Unusable::Directories);
    }
    let hook = HookName::new(&header.hook)?;
    let number = header.run.rsplit_once('-').and_then(|(process, number)| Some((process, number.parse().ok()?)));
    let (process, number) = number.ok_or_else(|| Unusable::Run(header.run.clone()))?;
    let ran_out = record.end.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Limit(Limit::Time));
    let limits = tried.map_or(header.limits, |tried| tried.limits);
    let permissions = tried.map_or_else(|| header.permissions.clone().into(), |tried| tried.permissions.clone());
    let time = if ran_out { limits.time } else { limits.time.max(TIME) };
    let limits = Limits { time, ..limits };
    let caller = Caller {
        settings: header.settings.as_deref().unwrap_or("{}").into(),
        ..Caller::new(hook.clone(), RunId::new(process, number), permissions, header.dry_run)
    };
    Ok(match &record.question {
        Some(question) => question.restore(caller, limits, header),
        None => Asked::Run(RunRequest {
            caller,
            attempt: header.attempt,
            triggers: record.triggers.iter().map(|trigger| trigger.restore(&hook, &header.queue)).collect(),
            limits,
        }),
    })
}

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    #[error(
        "the component {digest} of hook {hook} is not in {places}: name a directory that has it with --component-dir, or another component with --with"
    )]
    Missing {
        /// The digest, `sha256:…`.
        digest: String,
        hook: String,
        /// The directories that were searched.
        places: String,
    },
    #[error("cannot read {path}")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Directories with components. A file with another digest than the wanted one is never used.
#[derive(Debug, Default)]
pub struct Components {
    directories: Vec<PathBuf>,
    /// Files with other names, by digest.
    named: HashMap<String, PathBuf>,
}

impl Components {
    /// Searches these directories, in addition to the folders next to records.
    pub fn new(directories: &[PathBuf]) -> Result<Self, ComponentError> {
        let mut named = HashMap::new();
        for directory in directories {
            let failed = |source| ComponentError::File { path: directory.clone(), source };
            for entry in fs::read_dir(directory).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if path.extension().is_some_and(|extension| extension == "wasm") {
                    named.insert(Digest::of(&read(&path)?).to_string(), path);
                }
            }
        }
        Ok(Self { directories: directories.to_vec(), named })
    }

    /// Finds the component of a record in this directory.
    pub fn find(&self, records: &Path, wanted: &str, hook: &str) -> Result<Vec<u8>, ComponentError> {
        let beside = records.join(COMPONENTS);
        let kept = beside.join(component_file(wanted));
        let places = [Some(&kept), self.named.get(wanted)];
        for path in places.into_iter().flatten().filter(|path| path.exists()) {
            let bytes = read(path)?;
            if Digest::of(&bytes).as_str() == wanted {
                return Ok(bytes);
            }
        }
        let places: Vec<_> =
            std::iter::once(&beside).chain(&self.directories).map(|path| path.display().to_string()).collect();
        Err(ComponentError::Missing { digest: wanted.to_owned(), hook: hook.to_owned(), places: places.join(", ") })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ComponentError> {
    fs::read(path).map_err(|source| ComponentError::File { path: path.to_owned(), source })
}

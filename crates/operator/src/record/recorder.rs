//! Records runs: notes what happens in them, and passes the notes to a thread that writes.
//!
//! A run never waits for this. What the thread cannot take is dropped, and the drop is reported. The thread makes a record
//! from the notes, and writes it into the directory.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime},
};

use boathook_bundle::Digest;
use boathook_core::{
    model::{BindingName, Failure, FailureKind, HookName, Items, Trigger},
    tasks::Tasks,
};
use boathook_sandbox::{ENGINE, Host, RunReport};

use super::{
    content::{
        Asked, End, Given, Header, Record, RecordedAnswer, RecordedCauses, RecordedQuestion, RecordedSnapshot,
        RecordedTrigger, item_bytes,
    },
    format::{FileName, encode},
    secrets::{Key, redact},
    tape::{Notes, Recording, metric_line},
};

const MIB: usize = 1024 * 1024;

/// The maximum number of records that wait for the writer.
const WAITING: usize = 256;

/// The maximum number of bytes in these records.
const WAITING_BYTES: usize = 64 * MIB;

/// The writer rests for this long after each write, unless there are many records.
const REST: Duration = Duration::from_millis(25);

/// Which runs are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// All runs.
    #[default]
    All,
    /// Only runs that failed.
    Failed,
    /// Only runs that trapped or exceeded a limit.
    Crashed,
}

impl Which {
    fn wants(self, failure: Option<&Failure>) -> bool {
        match (self, failure) {
            (Self::All, _) | (Self::Failed, Some(_)) => true,
            (Self::Crashed, Some(failure)) => matches!(failure.kind, FailureKind::Trap | FailureKind::Limit(_)),
            (Self::Failed | Self::Crashed, None) => false,
        }
    }
}

/// How to record.
#[derive(Debug, Clone)]
pub struct RecordConfig {
    /// The directory for records. If it is missing, it is created so that no other user can access it.
    pub directory: PathBuf,
    /// The directory that hooks were loaded from, to copy each component.
    pub hooks: PathBuf,
    /// Which runs to record. Default: all.
    pub which: Which,
    /// The number of records to keep of each hook's successful runs, and as many of its failed runs. Default: 100.
    pub keep: usize,
    /// Whether the values of Secrets are written, too. Default: false.
    pub secrets: bool,
    /// The maximum size of a record before it is compressed. The rest of a larger record is left out. Default: 16 MiB.
    pub max_bytes: usize,
}

impl RecordConfig {
    /// Returns the defaults.
    pub fn new(directory: impl Into<PathBuf>, hooks: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            hooks: hooks.into(),
            which: Which::All,
            keep: 100,
            secrets: false,
            max_bytes: 16 * MIB,
        }
    }
}

/// Receives what happens to records.
pub trait RecordObserver: Send + Sync + 'static {
    /// A record was written.
    fn written(&self, hook: &HookName, bytes: u64);
    /// A record was dropped, because the writer is behind.
    fn dropped(&self, hook: &HookName);
    /// A record could not be written, or not completely.
    fn failed(&self, hook: &HookName, error: &str);
}

/// Records runs until it is closed.
pub struct Recorder {
    which: Vec<Which>,
    max_bytes: usize,
    observer: Arc<dyn RecordObserver>,
    waiting: Arc<Waiting>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// Records that wait for the writer. A channel would wake the writer for each record, and the wake-up and the writer's work
/// would cost a short run more than its own work does. A run wakes only a writer that has nothing to do.
#[derive(Default)]
struct Waiting {
    line: Mutex<Line>,
    news: Condvar,
    /// Of all records that are not written yet.
    bytes: AtomicUsize,
}

#[derive(Default)]
struct Line {
    records: VecDeque<Box<Taken>>,
    /// The writer waits for a record.
    idle: bool,
    closed: bool,
}

impl Waiting {
    /// Returns whether there was room.
    fn push(&self, taken: Box<Taken>) -> bool {
        let bytes = taken.bytes();
        let fits = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= WAITING_BYTES;
        let mut line = self.line();
        if !fits || line.closed || line.records.len() >= WAITING {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        line.records.push_back(taken);
        let wake = line.idle || line.records.len() == WAITING / 2;
        drop(line);
        if wake {
            self.news.notify_one();
        }
        true
    }

    /// Waits for records. Returns none if it is closed and all were taken.
    fn take(&self) -> VecDeque<Box<Taken>> {
        let few = |line: &mut Line| !line.closed && line.records.len() < WAITING / 2;
        let rested = self.news.wait_timeout_while(self.line(), REST, few);
        let (mut line, _) = rested.unwrap_or_else(PoisonError::into_inner);
        line.idle = true;
        let nothing = |line: &mut Line| !line.closed && line.records.is_empty();
        let mut line = self.news.wait_while(line, nothing).unwrap_or_else(PoisonError::into_inner);
        line.idle = false;
        std::mem::take(&mut line.records)
    }

    fn written(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn close(&self) {
        self.line().closed = true;
        self.news.notify_all();
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run or an answer that is being recorded. If it is dropped before its end, it is recorded as interrupted.
pub struct Begun {
    recorder: Arc<Recorder>,
    host: Arc<Recording>,
    causes: Option<RecordedCauses>,
    asked: Option<Asked>,
    component: String,
    secrets: Vec<BindingName>,
    started: SystemTime,
}

impl Begun {
    /// The host to give to the run.
    pub fn host(&self) -> Arc<dyn Host> {
        self.host.clone()
    }

    /// Records the run, and what led to it. Call it when the run has ended.
    pub fn end<T: Clone + Into<Given>>(
        mut self,
        report: &RunReport<T>,
        causes: impl FnOnce() -> Option<RecordedCauses>,
    ) {
        if self.recorder.wants(report.outcome.as_ref().err()) {
            self.causes = causes();
            self.take(report.clone().map(Into::into));
        }
        self.asked = None;
    }

    fn take(&mut self, report: RunReport<Given>) {
        let Some(asked) = self.asked.take().filter(|_| self.recorder.wants(report.outcome.as_ref().err())) else {
            return;
        };
        let (notes, hook) = (self.host.take(), asked.caller().hook.clone());
        let (component, secrets) = (std::mem::take(&mut self.component), std::mem::take(&mut self.secrets));
        let given = asked.bytes() + report.outcome.as_ref().map_or(0, Given::bytes);
        let (started, causes) = (self.started, self.causes.take());
        let taken = Box::new(Taken { asked, component, secrets, started, notes, report, given, causes });
        if !self.recorder.waiting.push(taken) {
            self.recorder.observer.dropped(&hook);
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let message = "it was interrupted before its end".to_owned();
        self.take(RunReport::interrupted(message, self.started.elapsed().unwrap_or_default()));
    }
}

impl Recorder {
    /// Opens the directories, and starts the writer. A run is noted once, and written into each directory that wants it.
    pub fn start(
        configs: Vec<RecordConfig>,
        observer: Arc<dyn RecordObserver>,
        tasks: &Tasks,
    ) -> Result<Self, DirectoryError> {
        let max_bytes = configs.iter().map(|config| config.max_bytes).max().unwrap_or_default();
        let which = configs.iter().map(|config| config.which).collect();
        let place = configs.first().map(|config| config.directory.clone()).unwrap_or_default();
        let stores = configs.into_iter().map(Store::open).collect::<Result<_, _>>()?;
        let mut writer = Writer { stores, max_bytes, observer: observer.clone() };
        let waiting = Arc::new(Waiting::default());
        let line = waiting.clone();
        let work = move || {
            loop {
                let records = line.take();
                if records.is_empty() {
                    return;
                }
                for taken in records {
                    let bytes = taken.bytes();
                    writer.take(*taken);
                    line.written(bytes);
                }
            }
        };
        let spawned = tasks.thread("records", work);
        let thread = spawned.map_err(|source| DirectoryError::Io { path: place, source })?;
        Ok(Self { which, max_bytes, observer, waiting, writer: Mutex::new(Some(thread)) })
    }

    /// Starts to record a run. `component` is its digest. `secrets` are the hook's bindings that match Secrets.
    pub fn begin(
        self: &Arc<Self>,
        host: Arc<dyn Host>,
        component: &str,
        secrets: Vec<BindingName>,
        asked: impl Into<Asked>,
    ) -> Begun {
        Begun {
            recorder: self.clone(),
            host: Arc::new(Recording::new(host, self.max_bytes)),
            causes: None,
            asked: Some(asked.into()),
            component: component.to_owned(),
            secrets,
            started: SystemTime::now(),
        }
    }

    fn wants(&self, failure: Option<&Failure>) -> bool {
        self.which.iter().any(|which| which.wants(failure))
    }

    /// Waits until everything is written. Runs that end later are dropped. Blocks.
    pub fn close(&self) {
        self.waiting.close();
        if let Some(thread) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

/// A run that has ended.
pub(super) struct Taken {
    pub asked: Asked,
    pub component: String,
    pub secrets: Vec<BindingName>,
    pub started: SystemTime,
    pub notes: Notes,
    pub report: RunReport<Given>,
    /// The bytes of the question and the answer.
    pub given: usize,
    pub causes: Option<RecordedCauses>,
}

impl Taken {
    /// The bytes that wait for the writer.
    fn bytes(&self) -> usize {
        self.notes.bytes.saturating_add(self.given)
    }
}

pub(super) struct Writer {
    pub stores: Vec<Store>,
    pub max_bytes: usize,
    pub observer: Arc<dyn RecordObserver>,
}

/// A directory, and which runs it gets.
pub(super) struct Store {
    directory: Directory,
    which: Which,
    /// `None` if the values of Secrets are kept.
    key: Option<Key>,
    hooks: PathBuf,
}

impl Store {
    fn open(config: RecordConfig) -> Result<Self, DirectoryError> {
        let RecordConfig { directory, hooks, which, keep, secrets, .. } = config;
        let directory = Directory::open(&directory, keep)?;
        let key = if secrets { None } else { Some(directory.key()?) };
        Ok(Self { directory, which, key, hooks })
    }

    /// Writes a record, and keeps the component with it. Returns the bytes of the record.
    fn put(&mut self, record: Record, secrets: &[BindingName]) -> io::Result<u64> {
        let record = match &self.key {
            Some(key) => redact(record, key, secrets)?,
            None => record,
        };
        let Header { started, hook, run, .. } = &record.header;
        let name = FileName::new(*started, hook, run, record.end.failure.is_some());
        let bytes = encode(&record)?;
        self.directory.put(name, &bytes)?;
        Ok(bytes.len() as u64)
    }
}

impl Writer {
    /// Writes one record, and reports the result.
    pub fn take(&mut self, taken: Taken) {
        let hook = taken.asked.caller().hook.clone();
        let (component, secrets) = (taken.component.clone(), taken.secrets.clone());
        let record = record(taken, self.max_bytes);
        let failure = record.end.failure.clone();
        let mut wanting = self.stores.iter_mut().filter(|store| store.which.wants(failure.as_ref())).peekable();
        let mut left = Some(record);
        while let Some(store) = wanting.next() {
            let record = if wanting.peek().is_some() { left.clone() } else { left.take() };
            let Some(record) = record else { break };
            match store.put(record, &secrets) {
                Ok(bytes) => self.observer.written(&hook, bytes),
                Err(error) => self.observer.failed(&hook, &format!("a run was not recorded: {error}")),
            }
            let source = store.hooks.join(format!("{hook}.wasm"));
            if let Err(error) = store.directory.keep_component(hook.as_str(), &component, &source) {
                let error = format!("the component of its runs is not kept with their records: {error}");
                self.observer.failed(&hook, &error);
            }
        }
    }
}

fn record(taken: Taken, max_bytes: usize) -> Record {
    let Taken { asked, component, started, mut notes, report, given, causes, .. } = taken;
    let triggered: &[Trigger] = if let Asked::Run(request) = &asked { &request.triggers } else { &[] };
    let triggers: Vec<RecordedTrigger> = triggered.iter().map(RecordedTrigger::from).collect();
    let (mut question, caller) = (RecordedQuestion::of(&asked), asked.caller());
    let mut end = end(&report);
    let mut header = Header {
        boathook: env!("CARGO_PKG_VERSION").to_owned(),
        engine: ENGINE.to_owned(),
        component,
        hook: caller.hook.to_string(),
        binding: asked.binding().map(ToString::to_string).unwrap_or_default(),
        queue: asked.waited().first().map(|trigger| trigger.queue.to_string()).unwrap_or_default(),
        run: caller.run.to_string(),
        attempt: asked.attempt(),
        started: millis(started),
        limits: asked.limits(),
        permissions: caller.permissions.to_vec(),
        settings: Some(caller.settings.to_string()).filter(|settings| settings != "{}"),
        dry_run: caller.dry_run,
        redacted: false,
        incomplete: None,
    };
    let shared: usize = notes.snapshots.iter().filter_map(|(_, items)| items.as_ref()).map(size).sum();
    let reported: usize = triggers.iter().map(RecordedTrigger::bytes).sum();
    if notes.full || notes.bytes.saturating_add(shared).saturating_add(reported).saturating_add(given) > max_bytes {
        header.incomplete = Some(format!("it would have more than {max_bytes} bytes"));
        notes.snapshots.clear();
        question.iter_mut().for_each(RecordedQuestion::clear);
        end.answer = None;
    }
    let ambient = notes.ambient();
    Record {
        header,
        triggers,
        question,
        snapshots: snapshots(&notes),
        calls: notes.calls,
        ambient,
        log: notes.log,
        causes,
        end,
    }
}

fn end(report: &RunReport<Given>) -> End {
    End {
        failure: report.outcome.as_ref().err().cloned(),
        answer: report.outcome.as_ref().ok().and_then(RecordedAnswer::of),
        metrics: report.metrics.iter().map(metric_line).collect(),
        duration_us: micros(report.duration),
        cpu_us: micros(report.cpu),
        memory_peak: report.memory_peak,
        host_calls: report.host_calls,
        host_bytes: report.host_bytes,
    }
}

fn snapshots(notes: &Notes) -> Vec<RecordedSnapshot> {
    let items = |items: &Items| items.values().map(|kept| kept.item.clone()).collect();
    let snapshot = |(binding, found): &(BindingName, Option<Items>)| RecordedSnapshot {
        binding: binding.clone(),
        items: found.as_ref().map(items),
    };
    notes.snapshots.iter().map(snapshot).collect()
}

fn size(items: &Items) -> usize {
    items.values().map(|item| item_bytes(item)).sum()
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The folder of components in a directory of records.
pub const COMPONENTS: &str = "components";

/// The file with the key of placeholders.
pub const KEY: &str = "redaction.key";

/// The maximum number of components to keep. The oldest are removed.
const MAX_COMPONENTS: usize = 64;

const TEMPORARY: &str = ".tmp-";

/// Why a directory cannot be used for records.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error("cannot use {path} for records")]
    Io {
        /// The directory, or a file in it.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot use {path} for records: {reason}; name another directory, or let boathook create it")]
    NotPrivate {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    #[error("{path} is not a key of {} bytes: remove it; new records then get a new key", Key::LEN)]
    Key { path: PathBuf },
}

/// The records of one operator, in a private directory. For each hook it has a ring of files for runs that succeeded and
/// another for runs that failed. It also has the components that ran. A file appears only when it is complete.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    keep: usize,
    rings: BTreeMap<(String, bool), VecDeque<FileName>>,
    /// The stored component of each hook.
    components: BTreeMap<String, String>,
    number: u64,
}

impl Directory {
    /// Creates the directory if it is missing, and reads its content. Each ring keeps `keep` files.
    pub fn open(path: &Path, keep: usize) -> Result<Self, DirectoryError> {
        private(path)?;
        private(&path.join(COMPONENTS))?;
        let mut directory = Self {
            path: path.to_owned(),
            keep: keep.max(1),
            rings: BTreeMap::new(),
            components: BTreeMap::new(),
            number: 0,
        };
        directory.look_around().map_err(|source| DirectoryError::Io { path: path.to_owned(), source })?;
        Ok(directory)
    }

    fn look_around(&mut self) -> io::Result<()> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(TEMPORARY) {
                // Another process was killed while it wrote the file.
                let _ = fs::remove_file(entry.path());
            }
            found.extend(FileName::parse(name));
        }
        found.sort_by(|one, other| one.started.cmp(&other.started));
        found.into_iter().for_each(|name| self.enter(name));
        Ok(())
    }

    /// The key of the directory's placeholders. It is created if there is none.
    pub fn key(&self) -> Result<Key, DirectoryError> {
        let path = self.path.join(KEY);
        if let Some(key) = read_key(&self.path)? {
            return Ok(key);
        }
        let key = Key::random();
        self.write(&path, key.bytes()).map_err(|source| DirectoryError::Io { path, source })?;
        Ok(key)
    }

    /// Writes a record, and removes the oldest one if its ring is full.
    pub fn put(&mut self, name: FileName, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name.to_string());
        self.number += 1;
        self.write(&path, bytes)?;
        self.enter(name);
        Ok(())
    }

    fn enter(&mut self, name: FileName) {
        let ring = self.rings.entry((name.hook.clone(), name.failed)).or_default();
        ring.push_back(name);
        while ring.len() > self.keep {
            if let Some(oldest) = ring.pop_front() {
                // Somebody may have removed the file.
                let _ = fs::remove_file(self.path.join(oldest.to_string()));
            }
        }
    }

    /// Stores the component of a hook, copied from the file that the hook was loaded from.
    pub fn keep_component(&mut self, hook: &str, digest: &str, source: &Path) -> io::Result<()> {
        if self.components.get(hook).is_some_and(|known| known == digest) {
            return Ok(());
        }
        // The code remembers a failure, too. Otherwise each run would repeat it, and nobody reads messages that often.
        self.components.insert(hook.to_owned(), digest.to_owned());
        let to = self.path.join(COMPONENTS).join(component_file(digest));
        if !to.exists() {
            let bytes = fs::read(source)?;
            if Digest::of(&bytes).as_str() != digest {
                return Err(io::Error::other(format!("{} is another component by now", source.display())));
            }
            self.write(&to, &bytes)?;
            self.forget_components()?;
        }
        Ok(())
    }

    fn forget_components(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.path.join(COMPONENTS))? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        files.sort();
        for (_, path) in files.iter().take(files.len().saturating_sub(MAX_COMPONENTS)) {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn write(&self, to: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.path.join(format!("{TEMPORARY}{}-{}", std::process::id(), self.number));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, to));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// The key of a directory's placeholders, if there is one.
pub fn read_key(directory: &Path) -> Result<Option<Key>, DirectoryError> {
    let path = directory.join(KEY);
    let mut bytes = Vec::new();
    let file = match fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(DirectoryError::Io { path, source }),
    };
    let read = file.take(Key::LEN as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|source| DirectoryError::Io { path: path.clone(), source })?;
    bytes.try_into().map(|bytes| Some(Key::new(bytes))).map_err(|_| DirectoryError::Key { path })
}

/// The name of a component's file: `sha256-….wasm`.
pub fn component_file(digest: &str) -> String {
    format!("{}.wasm", digest.replace(':', "-"))
}

fn private(path: &Path) -> Result<(), DirectoryError> {
    let failed = |source| DirectoryError::Io { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let meta = fs::metadata(path).map_err(failed)?;
    let us = rustix::process::geteuid().as_raw();
    let reason = match (meta.uid(), meta.mode() & 0o777) {
        (owner, _) if owner != us => format!("it belongs to user {owner}, boathook runs as user {us}"),
        (_, mode) if mode & 0o077 != 0 => {
            format!("its mode {mode:03o} lets others in, and records tell what hooks see")
        }
        _ => return Ok(()),
    };
    Err(DirectoryError::NotPrivate { path: path.to_owned(), reason })
}

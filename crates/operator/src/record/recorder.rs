//! Records runs: notes what happens in them, and passes the notes to a thread that writes.
//!
//! A run never waits for this. What the thread cannot take is dropped, and the drop is reported.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::SystemTime,
};

use boathook_core::{
    model::{BindingName, HookName},
    tasks::Tasks,
};
use boathook_sandbox::{Host, RunReport};

use super::{
    asked::{Asked, Given},
    directory::{Directory, DirectoryError},
    recording::Recording,
    writer::{Taken, Writer},
};

const MIB: usize = 1024 * 1024;

/// The maximum number of records that wait for the writer.
const WAITING: usize = 256;

/// The maximum number of bytes in these records.
const WAITING_BYTES: usize = 64 * MIB;

/// Which runs are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// All runs.
    #[default]
    All,
    /// Only runs that failed.
    Failed,
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

/// The channel to the writer, and its thread.
type WriterThread = (SyncSender<Box<Taken>>, JoinHandle<()>);

/// Records runs until it is closed.
pub struct Recorder {
    which: Which,
    max_bytes: usize,
    observer: Arc<dyn RecordObserver>,
    waiting: Arc<AtomicUsize>,
    writer: Mutex<Option<WriterThread>>,
}

/// A run or an answer that is being recorded. If it is dropped before its end, it is recorded as interrupted.
pub struct Begun {
    recorder: Arc<Recorder>,
    host: Arc<Recording>,
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

    /// Records the run. Call it when the run has ended.
    pub fn end<T: Clone + Into<Given>>(mut self, report: &RunReport<T>) {
        if self.recorder.which == Which::All || report.outcome.is_err() {
            self.take(report.clone().map(Into::into));
        }
        self.asked = None;
    }

    fn take(&mut self, report: RunReport<Given>) {
        let Some(asked) = self.asked.take() else { return };
        let (notes, hook) = (self.host.take(), asked.caller().hook.clone());
        let (component, secrets) = (std::mem::take(&mut self.component), std::mem::take(&mut self.secrets));
        let bytes = notes.bytes;
        let taken = Box::new(Taken { asked, component, secrets, started: self.started, notes, report });
        if !self.recorder.send(taken, bytes) {
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
    /// Opens the directory, and starts the writer.
    pub fn start(
        config: RecordConfig,
        observer: Arc<dyn RecordObserver>,
        tasks: &Tasks,
    ) -> Result<Self, DirectoryError> {
        let directory = Directory::open(&config.directory, config.keep)?;
        let key = if config.secrets { None } else { Some(directory.key()?) };
        let mut writer =
            Writer { directory, key, hooks: config.hooks, max_bytes: config.max_bytes, observer: observer.clone() };
        let waiting = Arc::new(AtomicUsize::new(0));
        let (to, from) = sync_channel::<Box<Taken>>(WAITING);
        let done = waiting.clone();
        let work = move || {
            for taken in from {
                let bytes = taken.notes.bytes;
                writer.take(*taken);
                done.fetch_sub(bytes, Ordering::Relaxed);
            }
        };
        let spawned = tasks.thread("records", work);
        let thread = spawned.map_err(|source| DirectoryError::Io { path: config.directory, source })?;
        Ok(Self {
            which: config.which,
            max_bytes: config.max_bytes,
            observer,
            waiting,
            writer: Mutex::new(Some((to, thread))),
        })
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
            asked: Some(asked.into()),
            component: component.to_owned(),
            secrets,
            started: SystemTime::now(),
        }
    }

    fn send(&self, taken: Box<Taken>, bytes: usize) -> bool {
        if self.waiting.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > WAITING_BYTES {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        match writer.as_ref().map(|(to, _)| to.try_send(taken)) {
            Some(Ok(())) => true,
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | None => {
                self.waiting.fetch_sub(bytes, Ordering::Relaxed);
                false
            }
        }
    }

    /// Waits until everything is written. Runs that end later are dropped. Blocks.
    pub fn close(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((to, thread)) = writer {
            drop(to);
            let _ = thread.join();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

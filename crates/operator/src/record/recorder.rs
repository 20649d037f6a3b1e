//! Records runs: notes them as they happen, and hands them to a thread that writes.
//!
//! Never keeps a run waiting: what the thread can't take is dropped, and that is told.

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

/// Records that wait for the writer.
const WAITING: usize = 256;

/// Bytes of those.
const WAITING_BYTES: usize = 64 * MIB;

/// Which runs are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// All.
    #[default]
    All,
    /// Those that failed.
    Failed,
}

/// How to record.
#[derive(Debug, Clone)]
pub struct RecordConfig {
    /// Where to. Made, if it is missing, for nobody else to look into.
    pub directory: PathBuf,
    /// Where hooks were loaded from, for a copy of each component.
    pub hooks: PathBuf,
    /// Which runs. Default all.
    pub which: Which,
    /// Records that are kept of each hook's runs that succeeded, and as many of those that failed.
    /// Default 100.
    pub keep: usize,
    /// Values of Secrets are written, too. Default false.
    pub secrets: bool,
    /// The largest record, before it is packed; of a larger one the rest is left out. Default 16 MiB.
    pub max_bytes: usize,
}

impl RecordConfig {
    /// The defaults.
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

/// Is told what becomes of records.
pub trait RecordObserver: Send + Sync + 'static {
    /// One was written.
    fn written(&self, hook: &HookName, bytes: u64);
    /// One was dropped, because the writer is behind.
    fn dropped(&self, hook: &HookName);
    /// One could not be written, or not wholly.
    fn failed(&self, hook: &HookName, error: &str);
}

/// The way to the writer, and its thread.
type WriterThread = (SyncSender<Box<Taken>>, JoinHandle<()>);

/// Records runs, until it is closed.
pub struct Recorder {
    which: Which,
    max_bytes: usize,
    observer: Arc<dyn RecordObserver>,
    waiting: Arc<AtomicUsize>,
    writer: Mutex<Option<WriterThread>>,
}

/// A run or an answer that is being recorded. Dropped before its end, it was interrupted, and is recorded so.
pub struct Begun {
    recorder: Arc<Recorder>,
    host: Arc<Recording>,
    asked: Option<Asked>,
    component: String,
    secrets: Vec<BindingName>,
    started: SystemTime,
}

impl Begun {
    /// What the run must have as its host.
    pub fn host(&self) -> Arc<dyn Host> {
        self.host.clone()
    }

    /// After the run.
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

    /// Before a run. `component` is its digest; `secrets` are its hook's bindings that match Secrets.
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

    /// Waits until all is written. What ends afterwards is dropped. Blocks.
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

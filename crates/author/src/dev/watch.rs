//! Waits for changes of sources and groups changes that arrive together, because editors often write a file in several
//! steps.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, CreateKind, ModifyKind},
};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use super::source::Scope;

/// Changes are reported after this time without another one.
const QUIET: Duration = Duration::from_millis(25);
/// Changes are reported after this time at the latest.
const LONGEST: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
#[error("cannot watch {} for changes", path.display())]
pub struct WatchError {
    path: PathBuf,
    source: notify::Error,
}

/// Changes that were not reported yet.
#[derive(Default)]
struct News {
    /// Sources, by index.
    changed: BTreeSet<usize>,
    /// New folders, with the sources that they belong to.
    folders: BTreeSet<(usize, PathBuf)>,
}

struct Shared {
    scopes: Vec<Scope>,
    news: Mutex<News>,
    came: Notify,
}

/// Watches a folder with all that is in it, except hidden files and what editors write next to a file, and files elsewhere.
pub struct Folder(Watch);

impl Folder {
    /// The files need not exist yet, but their folders do.
    ///
    /// # Errors
    /// The folder, or that of a file, cannot be watched.
    pub fn new(folder: &Path, files: &[PathBuf]) -> Result<Self, WatchError> {
        let unreadable = |path: &Path, error| WatchError { path: path.to_owned(), source: notify::Error::io(error) };
        // Changes are reported with the whole paths of files.
        let whole = folder.canonicalize().map_err(|error| unreadable(folder, error))?;
        let mut scopes = vec![Scope::Project { folder: whole, written: Vec::new(), locks: &[] }];
        for file in files {
            let above = file.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let above = above.canonicalize().map_err(|error| unreadable(file, error))?;
            scopes.push(Scope::File(above.join(file.file_name().unwrap_or_default())));
        }
        Watch::new(scopes).map(Self)
    }

    /// Returns after a change. Cancel-safe.
    pub async fn changed(&mut self) {
        self.0.changed().await;
    }
}

/// Watches several sources.
pub(super) struct Watch {
    shared: Arc<Shared>,
    watcher: RecommendedWatcher,
}

impl Watch {
    pub fn new(scopes: Vec<Scope>) -> Result<Self, WatchError> {
        let first = |path: &Path, source: notify::Error| WatchError { path: path.to_owned(), source };
        let shared = Arc::new(Shared { scopes, news: Mutex::default(), came: Notify::new() });
        let reported = shared.clone();
        let watcher = notify::recommended_watcher(move |event| reported.heard(event));
        let mut watch = Self { watcher: watcher.map_err(|error| first(Path::new("files"), error))?, shared };
        for scope in watch.shared.clone().scopes.iter() {
            for folder in scope.folders().map_err(|error| first(Path::new("the project"), notify::Error::io(error)))? {
                watch.add(&folder).map_err(|error| first(&folder, error))?;
            }
        }
        Ok(watch)
    }

    fn add(&mut self, folder: &Path) -> notify::Result<()> {
        self.watcher.watch(folder, RecursiveMode::NonRecursive)
    }

    /// The sources that changed, by index. Cancel-safe.
    pub async fn changed(&mut self) -> BTreeSet<usize> {
        while self.shared.news().changed.is_empty() {
            self.shared.came.notified().await;
        }
        let began = Instant::now();
        while began.elapsed() < LONGEST && timeout(QUIET, self.shared.came.notified()).await.is_ok() {}
        let folders = std::mem::take(&mut self.shared.news().folders);
        for (source, folder) in folders {
            let below = self.shared.scopes.get(source).and_then(|scope| scope.below(&folder).ok());
            for folder in below.unwrap_or_default() {
                // The folder may be deleted again.
                let _ = self.add(&folder);
            }
        }
        std::mem::take(&mut self.shared.news().changed)
    }
}

impl Shared {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self, event: notify::Result<Event>) {
        // An error may hide a change.
        let Ok(event) = event else { return self.all_changed() };
        if event.need_rescan() {
            return self.all_changed();
        }
        if !is_change(&event.kind) {
            return;
        }
        let mut came = false;
        let mut news = self.news();
        for (index, scope) in self.scopes.iter().enumerate() {
            for path in event.paths.iter().filter(|path| scope.concerns(path)) {
                came = true;
                news.changed.insert(index);
                if is_new(&event.kind) && path.is_dir() {
                    news.folders.insert((index, path.clone()));
                }
            }
        }
        drop(news);
        if came {
            self.came.notify_one();
        }
    }

    fn all_changed(&self) {
        self.news().changed.extend(0..self.scopes.len());
        self.came.notify_one();
    }
}

fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(access) => *access == AccessKind::Close(AccessMode::Write),
        EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => true,
    }
}

fn is_new(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Create(CreateKind::Folder | CreateKind::Any) | EventKind::Modify(ModifyKind::Name(_)))
}

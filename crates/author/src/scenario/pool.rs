//! Plays many scenarios at the same time. Each has its own thread and runtime, so that its log contains no other lines.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use boathook_core::model::{HookName, error_chain};
use boathook_sandbox::Sandbox;
use tempfile::TempDir;

use super::{Failure, Played, Scenario, Settings, log::Log, play::play};

/// A scenario to play.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    pub scenario: &'s Scenario,
    pub hook: &'s HookName,
    /// Path of the component.
    pub component: &'s Path,
}

/// Plays all scenarios, at most `jobs` at the same time. Reports each one when it ends: its index, its result and its
/// duration. Returns an error if a hook's file cannot be read or a thread cannot be started.
pub fn play_all(
    subjects: &[Subject<'_>],
    settings: &Settings,
    jobs: usize,
    mut ended: impl FnMut(usize, Result<Played, Failure>, Duration),
) -> io::Result<()> {
    let folders = folders(subjects)?;
    compile(subjects, settings)?;
    let next = AtomicUsize::new(0);
    let (results, received) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, subjects.len().max(1)) {
            let (results, next, folders) = (results.clone(), &next, &folders);
            scope.spawn(move || {
                while let Some((index, subject)) = take(next, subjects) {
                    let began = Instant::now();
                    let folder = folders.get(subject.component).map(|folder| folder.path());
                    let played = alone(subject, folder.unwrap_or(Path::new("")), settings);
                    if results.send((index, played, began.elapsed())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results);
        received.iter().for_each(|(index, played, took)| ended(index, played, took));
    });
    Ok(())
}

fn take<'s>(next: &AtomicUsize, subjects: &'s [Subject<'s>]) -> Option<(usize, &'s Subject<'s>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, subjects.get(index)?))
}

fn alone(subject: &Subject<'_>, folder: &Path, settings: &Settings) -> Result<Played, Failure> {
    let silent = Log::default();
    let early = |error: &dyn std::error::Error| Failure::early(error_chain(error), &silent);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| early(&error))?;
    let (log, guard) = Log::collect().map_err(|error| early(&error))?;
    let played = runtime.block_on(play(subject.hook, folder, subject.scenario, settings, &log));
    // The runtime's shutdown is still logged.
    drop(runtime);
    drop(guard);
    played
}

/// A directory for each component that contains only this component.
fn folders(subjects: &[Subject<'_>]) -> io::Result<BTreeMap<PathBuf, TempDir>> {
    let mut folders = BTreeMap::new();
    for subject in subjects {
        if !folders.contains_key(subject.component) {
            let folder = tempfile::tempdir()?;
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", subject.component.display()));
            std::fs::copy(subject.component, folder.path().join(format!("{}.wasm", subject.hook))).map_err(named)?;
            folders.insert(subject.component.to_owned(), folder);
        }
    }
    Ok(folders)
}

/// Fills the cache for all operators. Each scenario reports a component that does not compile.
fn compile(subjects: &[Subject<'_>], settings: &Settings) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Ok(sandbox) = Sandbox::new(settings.sandbox.clone()) else { return Ok(()) };
    let sandbox = Arc::new(sandbox);
    let mut seen = BTreeMap::new();
    for subject in subjects {
        if seen.insert(subject.component, ()).is_none() {
            let bytes = std::fs::read(subject.component)?;
            let _ = runtime.block_on(sandbox.load(subject.hook, &bytes));
        }
    }
    Ok(())
}

//! The loop: builds changed sources and swaps them into the operator. A newer change cancels the running build. If a
//! build fails or its component cannot be used, the old version stays active.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    convert::Infallible,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use boathook_core::model::error_chain;
use boathook_operator::app::App;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;
use tracing::warn;

use super::{
    show::{Note, Show},
    source::{Origin, Source},
    watch::{Watch, WatchError},
};
use crate::{
    author::{BuildError, Project, Tools, nothing},
    rbac::{Kinds, suspects},
};

/// Why a session ends by itself.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Changes cannot be observed.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// Without the toolchain, no build can succeed.
    #[error(transparent)]
    ToolChain(BuildError),
}

#[derive(Debug)]
pub struct Session {
    /// The hooks' sources, at least one.
    pub sources: Vec<Source>,
    pub tools: Tools,
    /// The operator's directory of hooks, for built components.
    pub hooks: PathBuf,
    /// The kinds of Kubernetes itself, to find misspelt names.
    pub kinds: Kinds,
    /// Repeats the hook's last run after a swap.
    pub rerun: bool,
    /// Why the cluster does not call hooks' webhooks, if it does not.
    pub no_webhooks: Option<&'static str>,
}

impl Session {
    /// Builds and swaps until a problem that no change of a source can fix. Also reports runs that take long.
    pub async fn run(&self, app: &App, show: &Show) -> Result<(), SessionError> {
        tokio::select! {
            ended = self.follow(app, show) => ended,
            never = watch_silence(app, show) => match never {},
        }
    }

    async fn follow(&self, app: &App, show: &Show) -> Result<(), SessionError> {
        let mut watch = Watch::new(self.sources.iter().map(Source::scope).collect())?;
        let mut due: BTreeSet<usize> = (0..self.sources.len()).collect();
        let mut unasked = self.no_webhooks;
        loop {
            while let Some(index) = due.pop_first() {
                let Some(source) = self.sources.get(index) else { continue };
                let began = Instant::now();
                show.note(&Note::Building { source });
                let mut building = std::pin::pin!(build(source, &self.tools));
                let built = loop {
                    tokio::select! {
                        biased;
                        changed = watch.changed() => {
                            let newer = changed.contains(&index);
                            due.extend(changed);
                            if newer {
                                break None;
                            }
                        }
                        built = &mut building => break Some(built),
                    }
                };
                match built {
                    None => show.note(&Note::Outdated { source }),
                    Some(Ok(component)) => {
                        self.swap(source, &component, began, app, show).await;
                        if let Some(why) = unasked.take_if(|_| app.binds_webhooks()) {
                            show.note(&Note::Unasked { why });
                        }
                    }
                    Some(Err(error)) if error.is_of_the_machine() => {
                        return Err(SessionError::ToolChain(error));
                    }
                    Some(Err(error)) => show.note(&Note::Failed { source, error: &error_chain(&error) }),
                }
            }
            due.extend(watch.changed().await);
        }
    }

    async fn swap(&self, source: &Source, component: &Path, began: Instant, app: &App, show: &Show) {
        let built = began.elapsed();
        let refused = |error: &(dyn std::error::Error + 'static)| {
            show.note(&Note::Failed { source, error: &error_chain(error) });
        };
        let place = self.hooks.join(format!("{}.wasm", source.name));
        if let Err(error) = put(component, &place) {
            return refused(&error);
        }
        match app.swap(place).await {
            Ok(swapped) => {
                let same = swapped.from.as_ref() == Some(&swapped.to);
                let first = swapped.from.is_none();
                show.note(&Note::Swapped { source, swapped: &swapped, built });
                if let Some(hook) = app.hook(&source.name).filter(|_| !same) {
                    for warning in suspects(&hook.spec, &self.kinds) {
                        warn!(hook = %source.name, warning, "the hook's document should be changed");
                    }
                }
                // Restarted bindings receive the whole state anyway.
                if self.rerun && !same && !first && swapped.begun == 0 {
                    app.run_again(&source.name, |triggers| show.note(&Note::Again { source, triggers }));
                }
            }
            Err(error) => refused(&error),
        }
    }
}

/// Writes with a rename, so that a reader sees the old file or the new one, and never a part.
fn put(component: &Path, place: &Path) -> io::Result<()> {
    let beside = place.with_extension("new");
    std::fs::copy(component, &beside)?;
    std::fs::rename(&beside, place)
}

/// The path of the component. A component that other tools build is already there.
pub(super) async fn build(source: &Source, tools: &Tools) -> Result<PathBuf, BuildError> {
    match &source.origin {
        Origin::Component(path) => Ok(path.clone()),
        Origin::Project(project) => build_project(tools, project).await,
    }
}

async fn build_project(tools: &Tools, project: &Project) -> Result<PathBuf, BuildError> {
    let Some(command) = tools.building(project) else {
        return tools.built(project, Ok(nothing()));
    };
    let mut command = Command::from(command);
    // Ctrl-C is for this process, which ends the compilers that it has started.
    let child = match command.process_group(0).kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => return tools.built(project, Err(error)),
    };
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let output = child.wait_with_output().await;
    group.0 = None;
    tools.built(project, output)
}

/// Killed when it is dropped, if it has not ended.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // The whole group may have ended already.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// A hook's run is reported after this time without output.
const LONG: Duration = Duration::from_secs(2);
/// Time between two checks.
const LOOK: Duration = Duration::from_millis(250);
/// Maximum number of triggers to check in each queue. Running ones come first.
const MOST: usize = 64;

/// Checks the active runs until it is dropped.
pub(super) async fn watch_silence(app: &App, show: &Show) -> Infallible {
    let mut silences = Silences::default();
    let mut looks = tokio::time::interval(LOOK);
    loop {
        let now = looks.tick().await;
        let dumps = app.queue().dump(MOST);
        let running = dumps.iter().flat_map(|queue| &queue.triggers).filter(|trigger| trigger.running);
        let running: HashMap<_, _> = running.map(|trigger| (trigger.hook.as_str(), trigger.binding.as_str())).collect();
        for hook in silences.look(now, running.keys().map(|hook| (*hook, show.runs(hook)))) {
            let binding = running.get(hook.as_str()).copied().unwrap_or_default();
            show.note(&Note::Slow { hook: &hook, binding, taken: LONG });
        }
    }
}

/// Hooks with an active run and no output, by name.
#[derive(Default)]
struct Silences(HashMap<String, Silence>);

struct Silence {
    since: tokio::time::Instant,
    /// The number of the hook's ended runs at that time.
    runs: u64,
    reported: bool,
}

impl Silences {
    /// `running` contains the hooks with an active run, and the number of their ended runs. Returns the hooks to
    /// report, each once per silence.
    fn look<'a>(&mut self, now: tokio::time::Instant, running: impl Iterator<Item = (&'a str, u64)>) -> Vec<String> {
        let (mut still, mut long) = (HashMap::new(), Vec::new());
        for (hook, runs) in running {
            let mut silence = match self.0.entry(hook.to_owned()) {
                Entry::Occupied(known) if known.get().runs == runs => known.remove(),
                _ => Silence { since: now, runs, reported: false },
            };
            if !silence.reported && now.duration_since(silence.since) >= LONG {
                silence.reported = true;
                long.push(hook.to_owned());
            }
            still.insert(hook.to_owned(), silence);
        }
        self.0 = still;
        long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_reported_once_when_it_takes_long() {
        let (mut silences, start) = (Silences::default(), tokio::time::Instant::now());
        let mut look = |ms: u64, running: &[(&str, u64)]| {
            silences.look(start + Duration::from_millis(ms), running.iter().copied()).concat()
        };
        assert_eq!(look(0, &[("a", 0)]), "");
        assert_eq!(look(1_000, &[("a", 0), ("b", 7)]), "");
        assert_eq!(look(2_000, &[("a", 0), ("b", 7)]), "a");
        assert_eq!(look(2_500, &[("a", 0), ("b", 7)]), "");
        // A run of it has ended in the meantime.
        assert_eq!(look(3_000, &[("a", 0), ("b", 8)]), "");
        // Nothing of it ran in the meantime.
        assert_eq!(look(4_000, &[("b", 8)]), "");
        assert_eq!(look(5_000, &[("a", 0), ("b", 8)]), "b");
    }
}

//! The loop: what changed is built, and swapped into the operator. A newer change ends the build under way; what does
//! not build or can't be used leaves the old version at work.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use boathook_core::model::error_chain;
use boathook_operator::app::App;

use super::{
    build::build,
    show::{Note, Show},
    slow,
    source::Source,
    watch::{Watch, WatchError},
};
use crate::{author::BuildError, author::Tools};

/// Why a session ends by itself.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Changes would not be seen.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// Without it nothing can be built, now or later.
    #[error(transparent)]
    ToolChain(BuildError),
}

/// What is worked on, and how.
#[derive(Debug)]
pub struct Session {
    /// The hooks' sources; at least one.
    pub sources: Vec<Source>,
    /// Builds projects.
    pub tools: Tools,
    /// The operator's directory of hooks, where components are put.
    pub hooks: PathBuf,
    /// After a swap, the hook's last run is run again.
    pub rerun: bool,
    /// Why the cluster does not ask hooks, if it does not.
    pub no_webhooks: Option<&'static str>,
}

impl Session {
    /// Builds and swaps until something is wrong that no change of a source can fix. Tells of runs that take long.
    pub async fn run(&self, app: &App, show: &Show) -> Result<(), SessionError> {
        tokio::select! {
            ended = self.follow(app, show) => ended,
            never = slow::tell(app, show) => match never {},
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
                // Bindings that begin anew are told of everything as it is.
                if self.rerun && !same && !first && swapped.begun == 0 {
                    app.run_again(&source.name, |triggers| show.note(&Note::Again { source, triggers }));
                }
            }
            Err(error) => refused(&error),
        }
    }
}

/// Whoever reads it finds the old one or the new one, whole.
fn put(component: &Path, place: &Path) -> io::Result<()> {
    let beside = place.with_extension("new");
    std::fs::copy(component, &beside)?;
    std::fs::rename(&beside, place)
}

//! The loop: builds changed sources and swaps them into the operator. A newer change cancels the running build. If a
//! build fails or its component cannot be used, the old version stays active.

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

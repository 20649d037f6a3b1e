//! One version of a hook takes the place of another while the operator runs: of what did not change no event is lost,
//! none is told twice, and it goes on. All that can fail comes first, while the old version works.

use std::{sync::Arc, time::Duration};

use boathook_core::{
    hooks::HookFile,
    model::{HookName, InvalidName, error_chain},
    queue,
};
use tokio::time::{Instant, timeout};
use tracing::{error, info, warn};

use super::{
    crew,
    fleet::Fleet,
    hooks::{Hook, Quarantine, load_file},
    ms,
    roster::Registrations,
    schedules,
    swap::Plan,
};

/// A new version that did not take the place of the old one.
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    /// The file's name is no hook's name.
    #[error("the file can't be a hook")]
    Name(#[source] InvalidName),
    /// It can't be used. If there is an old version, that goes on.
    #[error("the new version of hook {name} can't be used")]
    Refused {
        /// The hook.
        name: HookName,
        /// Why.
        #[source]
        reason: Quarantine,
    },
    /// The old version was taken out meanwhile.
    #[error("hook {0} was quarantined while it was replaced")]
    Gone(HookName),
    /// It ended by a defect of the operator.
    #[error("the hook could not be replaced")]
    Defect(#[source] tokio::task::JoinError),
}

/// A hook whose file was not read again, or to no effect.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// Its file is a bundle's.
    #[error("hook {0} is from a bundle: another version of it comes with another version of the bundle")]
    Bundled(String),
    /// The operator has no directory of hooks, or the directory no such file.
    #[error("there is no file {file} for hook {name}: put its component there")]
    NoFile {
        /// The hook.
        name: String,
        /// Where it would be.
        file: String,
    },
    /// What is in it does not take the place of what runs.
    #[error(transparent)]
    Swap(#[from] SwapError),
}

/// What a swap came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swapped {
    /// The hook.
    pub hook: HookName,
    /// Digest of the version before, `sha256:…`; absent when none was at work.
    pub from: Option<String>,
    /// Digest of the version that works now.
    pub to: String,
    /// `kubernetes` bindings that watch on as they did.
    pub kept: usize,
    /// `kubernetes` bindings that began, or began anew.
    pub begun: usize,
    /// Triggers that were dropped: of bindings that are gone, or that begin anew.
    pub dropped: usize,
    /// Runs had to be interrupted; their triggers run again.
    pub interrupted: bool,
    /// From the call to the end, the wait for runs included.
    pub took: Duration,
}

/// Nothing of the hook starts while this is there.
pub(super) struct Held<'a> {
    queue: &'a queue::Handle,
    hook: &'a HookName,
}

impl<'a> Held<'a> {
    fn new(queue: &'a queue::Handle, hook: &'a HookName) -> Self {
        queue.hold(hook);
        Self { queue, hook }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.queue.release(self.hook);
    }
}

impl Fleet {
    /// Has the hook in this file take the place of the version that is at work, or in quarantine, or of none.
    /// Goes on to its end when nobody waits for it.
    pub async fn swap(self: &Arc<Self>, file: HookFile) -> Result<Swapped, SwapError> {
        let fleet = self.clone();
        tokio::spawn(async move { fleet.swap_now(file).await }).await.map_err(SwapError::Defect)?
    }

    /// Reads the hook's file in the directory again, and has it take the place of the version that is at work: its
    /// queues and its dead letters stay. A file that is new becomes a new hook.
    pub(super) async fn reload(self: &Arc<Self>, name: &str) -> Result<Swapped, ReloadError> {
        if self.is_bundled(name) {
            return Err(ReloadError::Bundled(name.to_owned()));
        }
        let file = format!("{name}.wasm");
        let path = self.directory.as_ref().map(|directory| directory.join(&file));
        let Some(path) = path.filter(|path| HookName::new(name).is_ok() && path.is_file()) else {
            let directory = self.directory.as_ref().map_or("--hooks".into(), |directory| directory.to_string_lossy());
            return Err(ReloadError::NoFile { name: name.to_owned(), file: format!("{directory}/{file}") });
        };
        Ok(self.swap(HookFile::of(path)).await?)
    }

    async fn swap_now(&self, file: HookFile) -> Result<Swapped, SwapError> {
        let _one_at_a_time = self.swapping.lock().await;
        let began = Instant::now();
        let name = file.name.clone().map_err(SwapError::Name)?;
        let loaded = match load_file(file, &self.sandbox).await {
            Ok(hook) => Ok(self.replace(hook).await?),
            Err(reason) => Err(SwapError::Refused { name: name.clone(), reason }),
        };
        self.metrics.hook_swapped(loaded.is_ok());
        match loaded {
            Ok(swapped) => {
                let swapped = Swapped { took: began.elapsed(), ..swapped };
                describe(&swapped);
                Ok(swapped)
            }
            Err(error) => {
                let reason = error_chain(&error);
                warn!(hook = %name, reason, "hook not swapped");
                if self.roster.is_quarantined(name.as_str()) {
                    self.roster.quarantine(name.as_str(), reason, Registrations::Stay);
                }
                Err(error)
            }
        }
    }

    /// As [`Fleet::swap`], with a hook that is loaded. One at a time for each hook.
    pub(super) async fn take_over(&self, hook: Hook) -> Result<Swapped, SwapError> {
        let began = Instant::now();
        let replaced = self.replace(hook).await;
        self.metrics.hook_swapped(replaced.is_ok());
        let swapped = Swapped { took: began.elapsed(), ..replaced? };
        describe(&swapped);
        Ok(swapped)
    }

    async fn replace(&self, hook: Hook) -> Result<Swapped, SwapError> {
        let (name, to) = (hook.spec.name.clone(), hook.component.digest().to_owned());
        let begun = hook.spec.kubernetes.len();
        let nothing = Swapped {
            hook: name.clone(),
            from: None,
            to,
            kept: 0,
            begun,
            dropped: 0,
            interrupted: false,
            took: Duration::ZERO,
        };
        match self.roster.hook(&name) {
            Some(old) => self.replace_live(old, hook, nothing).await,
            None => {
                self.begin(hook);
                Ok(nothing)
            }
        }
    }

    /// Lets what runs of the hook end, or interrupts it after the grace period. Nothing of it begins meanwhile, nor
    /// as long as what it gives is there.
    pub(super) async fn quieted<'a>(&'a self, hook: &'a Hook) -> (Held<'a>, bool) {
        let (queue, name) = (&self.stages.queue, &hook.spec.name);
        let held = Held::new(queue, name);
        let interrupted = timeout(self.grace_period, queue.quiet(name)).await.is_err();
        if interrupted {
            hook.interrupt.cancel();
            queue.quiet(name).await;
        }
        (held, interrupted)
    }

    async fn replace_live(&self, old: Arc<Hook>, new: Hook, swapped: Swapped) -> Result<Swapped, SwapError> {
        let (name, plan) = (&old.spec.name, Arc::new(Plan::new(&old.spec, &new.spec)));
        let gone = || SwapError::Gone(name.clone());
        let queue = &self.stages.queue;
        let (_held, interrupted) = self.quieted(&old).await;
        let stopping = self.running().get(name).map(|crew| crew.stop(plan.clone())).ok_or_else(gone)?;
        let Some(stopped) = stopping.await else {
            return self.replace_dead(&old, new, Swapped { interrupted, ..swapped });
        };
        // From here to the end nobody can take the hook out, and nothing waits.
        let running = self.running();
        if !running.contains_key(name) || !self.roster.is_live(&old) {
            return Err(gone());
        }
        self.report_loaded(&new);
        let new = Arc::new(new);
        let keep = &mut |trigger: &mut _| plan.keeps(&old.spec, &new.spec, trigger);
        let dropped = queue.revise(name, new.terms(), keep);
        for binding in &plan.stopped {
            queue.listed(name, binding);
            queue.complete(name, binding);
        }
        self.describe(&new);
        self.roster.admit(new.clone());
        if plan.starts {
            schedules::push_startups(std::slice::from_ref(&new), queue);
        }
        crew::expect(&self.stages, &new, |binding| !plan.watching.contains(binding));
        stopped.go_on(new.clone());
        drop(running);
        let (kept, begun) = (plan.watching.len(), plan.begun.len());
        let from = Some(old.component.digest().to_owned());
        Ok(Swapped { from, kept, begun, dropped, interrupted, ..swapped })
    }

    /// The tasks of the old version ended by a defect of the operator. It watches nothing any more and its runs are
    /// interrupted, so that it can't go on: the new one begins as at the operator's start.
    fn replace_dead(&self, old: &Arc<Hook>, new: Hook, swapped: Swapped) -> Result<Swapped, SwapError> {
        let name = &old.spec.name;
        let mut running = self.running();
        if !running.contains_key(name) || !self.roster.is_live(old) {
            return Err(SwapError::Gone(name.clone()));
        }
        error!(hook = %name, "the hook's tasks had ended: its new version begins with a synchronization");
        running.remove(name);
        drop(running);
        let dropped = self.drop_traces(name);
        self.begin(new);
        Ok(Swapped { from: Some(old.component.digest().to_owned()), dropped, ..swapped })
    }
}

fn describe(swapped: &Swapped) {
    let Swapped { hook, from, to, kept, begun, dropped, interrupted, took } = swapped;
    let (from, ms) = (from.as_deref().unwrap_or("none"), ms(*took));
    info!(%hook, from, to, kept, begun, dropped, interrupted, ms, "hook swapped");
}

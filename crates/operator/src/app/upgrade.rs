//! Replaces one version of a hook with another while the operator runs. Bindings that did not change continue: no event
//! is lost, and none is delivered twice. Everything that can fail comes first, while the old version runs.

use std::{sync::Arc, time::Duration};

use boathook_core::{
    hooks::HookFile,
    model::{HookName, InvalidName, error_chain},
    queue,
};
use tokio::time::{Instant, timeout};
use tracing::{error, info, warn};

use super::{
    hook_manager::HookManager,
    hook_registry::Registrations,
    hook_tasks,
    hooks::{Hook, Quarantine, load_file},
    ms, schedules,
    upgrade_plan::Plan,
};

/// Why a new version did not replace the old one.
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    /// The file's name is not a valid hook name.
    #[error("the file can't be a hook")]
    Name(#[source] InvalidName),
    /// The new version cannot be used. The old version continues, if there is one.
    #[error("the new version of hook {name} can't be used")]
    Refused {
        name: HookName,
        #[source]
        reason: Quarantine,
    },
    /// The old version was taken out in the meantime.
    #[error("hook {0} was quarantined while it was replaced")]
    Gone(HookName),
    /// The task of the swap ended by a defect of the operator.
    #[error("the hook could not be replaced")]
    Defect(#[source] tokio::task::JoinError),
}

/// Why a hook's file was not read again, or had no effect.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The hook belongs to a bundle.
    #[error("hook {0} is from a bundle: another version of it comes with another version of the bundle")]
    Bundled(String),
    /// The operator has no directory of hooks, or there is no such file in it.
    #[error("there is no file {file} for hook {name}: put its component there")]
    NoFile {
        name: String,
        /// The path of the missing file.
        file: String,
    },
    /// The content of the file does not replace what runs.
    #[error(transparent)]
    Swap(#[from] SwapError),
}

/// The result of a swap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swapped {
    pub hook: HookName,
    /// The digest of the previous version, `sha256:…`. Absent if none was running.
    pub from: Option<String>,
    /// The digest of the version that runs now.
    pub to: String,
    /// The number of `kubernetes` bindings that kept their watch.
    pub kept: usize,
    /// The number of `kubernetes` bindings that were started or restarted.
    pub begun: usize,
    /// The number of triggers that were dropped, because their bindings were removed or restarted.
    pub dropped: usize,
    /// Whether runs had to be interrupted. Their triggers run again.
    pub interrupted: bool,
    /// The duration of the call, including the wait for runs.
    pub took: Duration,
}

/// While this exists, no run of the hook starts.
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

impl HookManager {
    /// Replaces the version of the hook that runs with the one in this file. A hook that is in quarantine or unknown
    /// starts. The swap continues to its end even if the caller stops waiting.
    pub async fn swap(self: &Arc<Self>, file: HookFile) -> Result<Swapped, SwapError> {
        let hook_manager = self.clone();
        tokio::spawn(async move { hook_manager.swap_now(file).await }).await.map_err(SwapError::Defect)?
    }

    /// Reads the hook's file in the directory again, and replaces the version that runs. The hook's queues and its dead
    /// letters stay. A new file becomes a new hook.
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
                if self.hook_registry.is_quarantined(name.as_str()) {
                    self.hook_registry.quarantine(name.as_str(), reason, Registrations::Stay);
                }
                Err(error)
            }
        }
    }

    /// Like [`HookManager::swap`], with a hook that is already loaded. Call it only once at a time for each hook.
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
        match self.hook_registry.hook(&name) {
            Some(old) => self.replace_live(old, hook, nothing).await,
            None => {
                self.begin(hook);
                Ok(nothing)
            }
        }
    }

    /// Lets the hook's runs end, or interrupts them after the grace period. No new run starts in the meantime, or while
    /// the result exists.
    pub(super) async fn quieted<'a>(&'a self, hook: &'a Hook) -> (Held<'a>, bool) {
        let (queue, name) = (&self.services.queue, &hook.spec.name);
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
        let queue = &self.services.queue;
        let (_held, interrupted) = self.quieted(&old).await;
        let stopping = self.running().get(name).map(|hook_tasks| hook_tasks.stop(plan.clone())).ok_or_else(gone)?;
        let Some(stopped) = stopping.await else {
            return self.replace_dead(&old, new, Swapped { interrupted, ..swapped });
        };
        // From here to the end nothing can take the hook out, and nothing waits.
        let running = self.running();
        if !running.contains_key(name) || !self.hook_registry.is_live(&old) {
            return Err(gone());
        }
        self.report_loaded(&new);
        let new = Arc::new(new);
        let keep = &mut |trigger: &mut _| plan.keeps(&old.spec, &new.spec, trigger);
        let dropped = queue.update_hook(name, new.terms(), keep);
        for binding in &plan.stopped {
            queue.listed(name, binding);
            queue.complete(name, binding);
        }
        self.describe(&new);
        self.hook_registry.admit(new.clone());
        if plan.starts {
            schedules::push_startups(std::slice::from_ref(&new), queue);
        }
        hook_tasks::expect(&self.services, &new, |binding| !plan.watching.contains(binding));
        stopped.go_on(new.clone());
        drop(running);
        let (kept, begun) = (plan.watching.len(), plan.begun.len());
        let from = Some(old.component.digest().to_owned());
        Ok(Swapped { from, kept, begun, dropped, interrupted, ..swapped })
    }

    /// The tasks of the old version ended by a defect of the operator. The old version cannot continue, because it
    /// watches nothing any more and its runs are interrupted. The new version starts as at the operator's start.
    fn replace_dead(&self, old: &Arc<Hook>, new: Hook, swapped: Swapped) -> Result<Swapped, SwapError> {
        let name = &old.spec.name;
        let mut running = self.running();
        if !running.contains_key(name) || !self.hook_registry.is_live(old) {
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

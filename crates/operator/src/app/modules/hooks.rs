//! The hooks of modules: which files they are, their start, and their runs at the stages of a module's life.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::{
    fair::Tenant,
    hooks::{HookFile, read_directory},
    model::{
        BindingName, BundleId, Cause, HookName, HookPhase, HookSource, Job, JobId, QueueName, RetryPolicy, Stage,
        Trigger, error_chain,
    },
};
use boathook_modules::{ModuleName, life::Subject};
use futures::future::{join_all, select_all};
use tracing::warn;

use super::{
    super::{
        Services,
        hold_reason::{Held, Origin},
        hook_manager::HookManager,
        hooks::{self, Hook, HookLoadError},
        reconcile,
        runs::Runs,
        scope::Terms,
    },
    Cancelled,
    shelf::{Shelved, Sourced},
};
use crate::hookbundle::Problem;

/// Starts, runs and stops the hooks of modules.
pub(super) struct ModuleHooks {
    services: Arc<Services>,
    hook_manager: Arc<HookManager>,
    runs: Runs,
    global: Option<PathBuf>,
    /// Modules whose hooks stand still.
    paused: Mutex<BTreeSet<ModuleName>>,
    /// Replicas that do not lead answer the API server, too.
    stands_in: bool,
}

/// The files of hooks, and what is wrong with others.
type Files = Vec<Result<(HookName, HookFile), String>>;

/// A hook that cannot be loaded.
struct NotLoaded(String);

impl ModuleHooks {
    pub fn new(
        services: Arc<Services>,
        hook_manager: Arc<HookManager>,
        global: Option<PathBuf>,
        stands_in: bool,
    ) -> Self {
        let runs = Runs::new(services.clone());
        Self { services, hook_manager, runs, global, paused: Mutex::default(), stands_in }
    }

    /// The hooks of these modules stand still from now on, and those of all others do not.
    pub fn pause(&self, modules: BTreeSet<ModuleName>) {
        *self.paused() = modules;
        self.services.hook_registry.live().iter().for_each(|hook| self.suspend(hook));
    }

    fn paused(&self) -> MutexGuard<'_, BTreeSet<ModuleName>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn suspend(&self, hook: &Hook) {
        if let Some(Subject::Module(name)) = &hook.module {
            let paused = self.paused().contains(name);
            self.services.queue.suspend(&hook.spec.name, paused);
        }
    }

    /// The hooks that are loaded.
    fn loaded(&self, of: &Subject) -> Vec<Arc<Hook>> {
        let mut all = self.services.hook_registry.live();
        all.retain(|hook| hook.module.as_ref() == Some(of));
        all
    }

    /// The hooks that run.
    fn live(&self, of: &Subject) -> Vec<Arc<Hook>> {
        let mut all = self.loaded(of);
        all.retain(|hook| !hook.stands_in);
        all
    }

    /// Loads the hooks that answer the API server, on a replica that does not lead: requests reach each replica. Whether the
    /// module is on is decided elsewhere, and the API server asks only for what is registered. What cannot be loaded does not
    /// answer here.
    pub async fn stand_in(&self, of: &Subject, module: Option<&Shelved>) {
        let mut all = Vec::new();
        for file in self.files(of, module).unwrap_or_else(|why| vec![Err(why)]) {
            match self.read_one(of, file).await {
                Ok(hook) if hook.spec.answers() => all.push(hook.standing_in()),
                Ok(_) => {}
                Err(NotLoaded(why)) => {
                    warn!(%of, why, "a hook cannot be loaded: if it answers the API server, it does not on this replica");
                }
            }
        }
        self.hook_manager.begin_all(all);
    }

    /// Whether any hook is loaded that stands in.
    pub fn has_stand_ins(&self) -> bool {
        self.services.hook_registry.live().iter().any(|hook| hook.stands_in)
    }

    /// Takes the hooks of a module away that stand in.
    pub async fn end_stand_ins(&self, of: &Subject) {
        for hook in self.loaded(of).iter().filter(|hook| hook.stands_in) {
            self.hook_manager.forget(&hook.spec.name).await;
        }
    }

    /// The values of a module or those of all have changed: what its hooks answered about their parents may be another answer
    /// now.
    pub fn ask_again(&self, of: &Subject) {
        let concerned = |hook: &&Arc<Hook>| match of {
            Subject::Global => hook.module.is_some(),
            of => hook.module.as_ref() == Some(of),
        };
        let all = self.services.hook_registry.live();
        for hook in all.iter().filter(concerned).filter(|hook| hook.reads_values()) {
            reconcile::ask_again(&self.services, &hook.spec);
        }
    }

    /// The hooks' files. An error names one that is no hook.
    fn files(&self, of: &Subject, module: Option<&Shelved>) -> Result<Files, String> {
        let module = module.map(|shelved| &shelved.module);
        let (directory, suffix) = match (of, module) {
            (Subject::Global, _) => match &self.global {
                Some(directory) => {
                    (Some(directory.join("hooks")).filter(|it| it.is_dir()).unwrap_or(directory.clone()), "global")
                }
                None => return Ok(Vec::new()),
            },
            (Subject::Module(name), Some(module)) => (module.path.join("hooks"), name.as_str()),
            (Subject::Module(_), None) => return Ok(Vec::new()),
        };
        if !directory.is_dir() {
            return Ok(Vec::new());
        }
        let files = read_directory(&directory).map_err(|error| error_chain(&error))?;
        let unknown = |path: &&PathBuf| !files.iter().any(|file| file.path == **path) && !is_source(path);
        let other = module.into_iter().flat_map(|module| &module.hooks).find(unknown).map(|path| {
            Err(format!(
                "{} is executable, and is neither a component NAME.wasm nor a script of bash: build it, or take away its mode",
                path.display()
            ))
        });
        let owner = BundleId { namespace: None, name: suffix.to_owned() };
        let named = |file: HookFile| match &file.name {
            Ok(name) => Ok((name.in_bundle(&owner), file)),
            Err(error) => Err(format!("{}: {error}", file.path.display())),
        };
        Ok(other.into_iter().chain(files.into_iter().map(named)).collect())
    }

    async fn read(&self, of: &Subject, name: &HookName, file: HookFile) -> Result<Hook, HookLoadError> {
        let (_, bytes) = hooks::component(file, &self.services.sandbox).await?;
        let hook = hooks::load_for(&Tenant::hook(name.as_str()), name, &bytes, &self.services.sandbox).await?;
        self.hook_manager.fitted(Hook { module: Some(of.clone()), ..hook })
    }

    /// Whether all hooks of a version from a registry can be loaded and may do what they request.
    pub async fn check(&self, source: &Sourced) -> Result<(), Problem> {
        for hook in &source.fetched.hooks {
            let origin = origin(&source.terms, hook);
            let judged = self.hook_manager.judge(&origin).await.map_err(|held| {
                let text = format!("hook {}: {}", hook.name, error_chain(&held));
                match &held {
                    Held::Ungranted(_) => Problem::refused("MissingGrants", format!("{text}; see spec.grants")),
                    held if held.phase() == HookPhase::Pending => Problem::passing("RightsUnknown", text),
                    held if held.phase() == HookPhase::Forbidden => Problem::refused("ServiceAccountForbidden", text),
                    _ => Problem::refused("HookRefused", text),
                }
            })?;
            if self.stands_in && judged.spec.answers() {
                let text = format!(
                    "hook {}: it answers the API server, and the replicas that do not lead have no modules from registries: put \
                     the module into a directory that --modules names, or run one replica without --leader-elect",
                    hook.name
                );
                return Err(Problem::refused("HookRefused", text));
            }
        }
        Ok(())
    }

    async fn load_sourced(&self, terms: &Arc<Terms>, hook: &HookSource) -> Result<Hook, NotLoaded> {
        let origin = origin(terms, hook);
        let name = &origin.name;
        let other = self.services.hook_registry.hook(name).filter(|known| known.module != terms.module);
        if other.is_some() {
            return Err(NotLoaded(format!("there is another hook {name}: rename one of them")));
        }
        let failed = |error: &dyn std::error::Error| NotLoaded(format!("hook {name}: {}", error_chain(error)));
        let hook = self.hook_manager.judge(&origin).await.map_err(|held| failed(&held))?;
        let claim = self.hook_manager.claim(&hook.spec).await.map_err(|error| failed(&error))?;
        Ok(Hook { claim: Some(claim), ..hook })
    }

    async fn load_all(&self, of: &Subject, module: Option<&Shelved>) -> Result<Vec<Hook>, NotLoaded> {
        let mut loaded = Vec::new();
        if let Some((terms, hooks)) = module.and_then(Shelved::hooks) {
            for hook in hooks {
                loaded.push(self.load_sourced(terms, hook).await?);
            }
            return Ok(loaded);
        }
        for file in self.files(of, module).map_err(NotLoaded)? {
            loaded.push(self.load_one(of, file).await?);
        }
        Ok(loaded)
    }

    async fn load_one(&self, of: &Subject, file: Result<(HookName, HookFile), String>) -> Result<Hook, NotLoaded> {
        let hook = self.read_one(of, file).await?;
        let claim = self.hook_manager.claim(&hook.spec).await;
        let claim = claim.map_err(|error| NotLoaded(format!("hook {}: {}", hook.spec.name, error_chain(&error))))?;
        Ok(Hook { claim: Some(claim), ..hook })
    }

    /// Loads a hook that reconciles nothing yet.
    async fn read_one(&self, of: &Subject, file: Result<(HookName, HookFile), String>) -> Result<Hook, NotLoaded> {
        let (name, file) = file.map_err(NotLoaded)?;
        let other = self.services.hook_registry.hook(&name).filter(|known| known.module.as_ref() != Some(of));
        if other.is_some() {
            return Err(NotLoaded(format!("there is another hook {name}: rename one of them")));
        }
        let hook = self.read(of, &name, file).await;
        hook.map_err(|error| NotLoaded(format!("hook {name}: {}", error_chain(&error))))
    }

    /// Loads the hooks for a deletion. One that cannot be loaded does not run, because a module that is broken can be turned
    /// off, too.
    async fn load_what_can_be(&self, of: &Subject, module: Option<&Shelved>) -> Vec<Hook> {
        let mut loaded = Vec::new();
        if let Some((terms, hooks)) = module.and_then(Shelved::hooks) {
            for hook in hooks {
                match self.load_sourced(terms, hook).await {
                    Ok(hook) => loaded.push(hook),
                    Err(NotLoaded(why)) => {
                        warn!(%of, why, "a hook cannot be loaded, and does not run for the deletion");
                    }
                }
            }
            return loaded;
        }
        for file in self.files(of, module).unwrap_or_else(|why| vec![Err(why)]) {
            match self.load_one(of, file).await {
                Ok(hook) => loaded.push(hook),
                Err(NotLoaded(why)) => warn!(%of, why, "a hook cannot be loaded, and does not run for the deletion"),
            }
        }
        loaded
    }

    /// Starts all hooks, and returns when their start-up and their synchronizations have succeeded. `tell` receives the first
    /// failure in the meantime.
    pub async fn start(
        &self,
        of: &Subject,
        module: Option<&Shelved>,
        tell: impl FnOnce(String) + Send,
    ) -> Result<(), String> {
        // Some of them run if an earlier start was given up.
        self.stop_these(self.live(of)).await;
        let loaded = self.load_all(of, module).await.map_err(|NotLoaded(why)| why)?;
        // What stands in answers until then.
        self.stop(of).await;
        let names: Vec<_> = loaded.iter().map(|hook| hook.spec.name.clone()).collect();
        self.hook_manager.begin_all(loaded);
        // The pause may have come after the step had begun.
        self.live(of).iter().for_each(|hook| self.suspend(hook));
        let started = join_all(names.iter().map(async |name| {
            if let Some(states) = self.services.health.states(name) {
                states.passed().await;
            }
            self.services.queue.synchronised(name).await;
        }));
        if names.is_empty() {
            return Ok(());
        }
        let failing =
            select_all(names.iter().map(|name| {
                Box::pin(async move { format!("hook {name}: {}", self.services.queue.failing(name).await) })
            }));
        let mut started = std::pin::pin!(started);
        tokio::select! {
            _ = &mut started => {}
            (why, ..) = failing => {
                tell(why);
                started.await;
            }
        }
        Ok(())
    }

    /// Runs the hooks of a stage, in order.
    pub async fn run(&self, of: &Subject, module: Option<&Shelved>, stage: Stage) -> Result<(), String> {
        let mut all = self.live(of);
        if all.is_empty() && matches!(stage, Stage::BeforeDeleteHelm | Stage::AfterDeleteHelm) {
            // After a restart, nothing has started the hooks of a module that is off.
            for hook in self.load_what_can_be(of, module).await {
                let hook = Arc::new(hook);
                self.services.hook_registry.admit(hook.clone());
                all.push(hook);
            }
        }
        let order = |hook: &Arc<Hook>| hook.spec.stages.iter().find(|one| one.stage == stage).map(|one| one.order);
        let mut bound: Vec<_> = all.iter().filter_map(|hook| Some((order(hook)?, hook))).collect();
        bound.sort_by(|(a, one), (b, other)| (a, &one.spec.name).cmp(&(b, &other.spec.name)));
        for (_, hook) in bound {
            self.run_one(hook, stage).await?;
        }
        Ok(())
    }

    async fn run_one(&self, hook: &Hook, stage: Stage) -> Result<(), String> {
        let name = &hook.spec.name;
        let own = hook.spec.kubernetes.iter().filter(|binding| binding.role.is_none());
        let mut snapshots: Vec<BindingName> = own.map(|binding| binding.name.clone()).collect();
        if self.services.health.states(name).is_none() {
            snapshots.clear();
        }
        // A snapshot that is missing objects would be taken for the truth.
        let mut changes = self.services.health.changes();
        while !self.services.health.incomplete(name, &snapshots).is_empty() {
            if changes.changed().await.is_err() {
                return Err(Cancelled.to_string());
            }
        }
        let trigger = Trigger {
            hook: name.clone(),
            binding: BindingName::new(stage.key()),
            queue: QueueName::main(),
            cause: Cause::Startup,
            group: None,
            snapshots: snapshots.into(),
            allow_failure: false,
            retry: RetryPolicy::default(),
            debounce: Duration::ZERO,
            created: Instant::now(),
        };
        // It waits in no queue, because the life of its module waits for it.
        let job =
            Job { id: JobId(0), hook: name.clone(), queue: QueueName::main(), attempt: 1, triggers: vec![trigger] };
        let failed = |failure: boathook_core::model::Failure| format!("hook {name}: {}", failure.message);
        self.runs.run_with_report(job).await.map_err(failed)?.outcome.map_err(failed)
    }

    /// Stops all hooks.
    pub async fn stop(&self, of: &Subject) {
        self.stop_these(self.loaded(of)).await;
        if !self.loaded(of).is_empty() {
            warn!(%of, "hooks still run after they were stopped");
        }
    }

    async fn stop_these(&self, hooks: Vec<Arc<Hook>>) {
        for hook in hooks {
            self.hook_manager.forget(&hook.spec.name).await;
        }
    }
}

fn origin(terms: &Arc<Terms>, hook: &HookSource) -> Origin {
    let name = hook.name.in_bundle(&terms.bundle);
    Origin { name, source: hook.clone(), terms: terms.clone(), changing: Arc::default() }
}

/// Whether a component was built from a file, which is no hook itself then.
fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm") || path.with_extension("wasm").is_file()
}

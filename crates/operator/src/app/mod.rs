//! The operator: creates the services, connects them, and shuts them down. This is the only module that names every
//! stage. The rules here are about how stages meet; a stage's own rules are in its crate.
//!
//! | modules | content |
//! | --- | --- |
//! | `options`, `services`, `sources`, `uninstall` | what an operator is started with, and what its parts share |
//! | `hooks`, `hook_manager`, `hook_tasks`, `upgrade_plan` | which hooks run: they are loaded, started, upgraded and stopped |
//! | `binding_states`, `bindings`, `schedules` | from the watches and the clock to triggers, and what a hook waits for |
//! | `reconcile`, `claims`, `applying` | parents and their sets, which hook has them, and the requests of a set |
//! | `runs`, `host`, `jq_patch`, `run_once`, `reconcile_once` | from a job to a run, and from a guest's call to the API server |
//! | `modules`, `module_values`, `module_settings` | add-ons: their hooks, values and charts, and reviews of settings |
//! | `operators` | the revisions of parents, for commands |
//! | `bundles`, `scope`, `service_account`, `credentials`, `hold_reason` | hooks of bundles: what they may do, and why they do not run |
//! | `shadows` | new versions of bundles that run beside the installed ones, to be compared |
//! | `answers`, `webhooks` | reviews and conversions, and their registration |
//! | `causes`, `loops`, `why` | what caused what, loops of hooks, and why a hook did not run |
//! | `admin`, `details`, `health`, `history`, `api_server_health`, `observers`, `events`, `crd_watcher` | what people, probes and metrics see |

mod admin;
mod answers;
mod api_server_health;
mod applying;
mod binding_states;
mod bindings;
mod bundles;
mod causes;
mod claims;
mod crd_watcher;
mod credentials;
mod definitions;
mod details;
mod events;
mod health;
mod history;
mod hold_reason;
mod hook_manager;
mod hook_tasks;
mod hooks;
mod host;
mod jq_patch;
mod loops;
mod module_settings;
mod module_values;
mod modules;
mod observers;
mod operators;
mod options;
mod reconcile;
mod reconcile_once;
pub mod run_once;
mod runs;
mod schedules;
mod scope;
mod service_account;
mod services;
mod shadows;
mod sources;
mod uninstall;
mod upgrade_plan;
mod webhooks;
mod why;

use std::{
    future::pending,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use boathook_core::{
    causes::{Bounds, Causes},
    fair::Pool,
    filter::Snapshots,
    hooks::{DirectoryError, HookFile},
    memory::UNIT,
    model::{HookName, Installer, Job},
    queue::{self, Drained, Runner},
    tasks::{Task, Tasks},
};
use boathook_kube::{
    access::Access,
    discovery::Discovery,
    election::{Candidacy, Election, Leadership},
    watch::{Streams, notify_of_jumps},
};
use boathook_sandbox::{Sandbox, SandboxError};
use futures::FutureExt as _;
use tokio::sync::watch;
use tracing::info;

use crate::{
    admin::SocketError,
    console::{self, KeptEffects},
    record::{self, Recorder},
    registration::PendingModules,
    telemetry::{
        Converge, HookMetrics, Metrics, Readiness, Server,
        metrics::{HookCounts, MetricsError},
        server::{Probe, ServerError, Shown},
    },
    webhook::Answerer,
};
use answers::Answers;
use api_server_health::Contact;
use bundles::Bundles;
use claims::Claims;
use credentials::SecretsOfAccounts;
use health::Health;
use history::{History, LastRuns};
use hook_manager::HookManager;
use hooks::HookRegistry;
use host::HostCalls;
use jq_patch::PatchPrograms;
use loops::LoopWatch;
use module_settings::SettingsReviewer;
use module_values::ModuleValues;
use modules::{Modules, charts::Charts};
use observers::Report;
use runs::Runs;
use services::{RunIds, Services};
use shadows::Shadows;
use webhooks::Webhooks;

pub use bundles::{SettingsConfig, serve_settings};
pub use hold_reason::Held;
pub use hook_manager::{ReleaseError, SwapError, Swapped};
pub use hooks::{Bundled, Hook, HookLoadError, bad_conditions, component, load};
pub use modules::{
    Adoption as ModuleAdoption, Changed as ModuleChange, CommandError as ModuleCommandError, Entry as ModuleRevision,
    InCluster as ModulesInCluster, ModulesError, Planned as ModulePlanned, Preview as ModulePreview,
    node as module_node,
};
pub use operators::{Kept as KeptRevision, OfParent as RevisionsOfParent};
pub use options::{LoopPolicy, ModuleResources, ModulesOptions, Options, RunEnded};
pub use service_account::{BadAccount, NotWatched};
pub use sources::Awaited;
pub use uninstall::{Left, UninstallError, release, uninstall};
pub use webhooks::{CertificateSource, Reached, WebhookError, WebhookOptions};

/// How long to wait after the last run for records that are not written yet.
const RECORDS_GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
#[error("the operator cannot start")]
pub enum AppError {
    Sandbox(#[from] SandboxError),
    Metrics(#[from] MetricsError),
    Server(#[from] ServerError),
    Admin(#[from] SocketError),
    Console(#[from] console::ServerError),
    Records(#[from] record::DirectoryError),
    Hooks(#[from] DirectoryError),
    Webhooks(#[from] WebhookError),
    Modules(#[from] ModulesError),
    Settings(#[from] boathook_core::hooks::DocumentError),
}

/// A running operator. Dropping it ends it at once. [`App::shutdown`] lets runs end.
pub struct App {
    /// This field is first, so that a task that ends with the operator does not count as a defect.
    tasks: AllTasks,
    server: Server,
    admin: Option<crate::admin::Server>,
    console: Option<console::Server>,
    runner: Runner,
    runs: Runs,
    services: Arc<Services>,
    hook_manager: Arc<HookManager>,
    bundles: Bundles,
    answers: Arc<Answers>,
    webhooks: Option<Webhooks>,
    modules: Option<Modules>,
    election: Option<Election>,
    own: Vec<Task<()>>,
    options: Options,
}

impl App {
    /// Loads the hooks and starts everything. If the API server does not answer, the operator waits for it in the
    /// background. If this future is dropped, what has started ends.
    pub async fn start(options: Options) -> Result<Self, AppError> {
        let tasks = Tasks::default();
        let mut starting = Box::pin(Self::start_with(options, tasks.clone()));
        // Declared last, so that it is dropped first: what ends with a start that was given up is no defect.
        let mut beginning = Beginning { tasks, is_over: false };
        let app = starting.as_mut().await?;
        beginning.is_over = true;
        Ok(app)
    }

    async fn start_with(mut options: Options, tasks: Tasks) -> Result<Self, AppError> {
        let metrics = Arc::new(Metrics::new(&options.metrics_prefix)?);
        let contact = Contact::new();
        options.client = api_server_health::counted(options.client, metrics.clone(), contact.clone());
        let candidacy = options.election.clone().map(Candidacy::new);
        let leadership = candidacy.as_ref().map_or_else(Leadership::alone, Candidacy::leadership);
        let health =
            Arc::new(Health::new(metrics.clone(), leadership.clone(), &options.awaited, tasks.clone(), contact));
        if options.modules.is_some() {
            health.sources().note_modules(PendingModules::Unknown);
            health.note_converge(Converge::default());
        }
        let stands_in = options.modules.is_some()
            && options.webhooks.is_some()
            && !options.plan
            && !options.hold
            && !leadership.is_alone();
        health.sources().note_without_stand_ins(stands_in);
        let hook_registry = Arc::new(HookRegistry::default());
        let shown = Shown {
            metrics: metrics.clone(),
            hook_metrics: Arc::new(HookMetrics::new(options.hook_metrics_series)),
            probe: probe(&health, &hook_registry),
        };
        let server = Server::start(options.listen, shown.clone(), &tasks).await?;
        let admin = options.admin_socket.as_ref();
        let mut admin = admin.map(|socket| admin::listen(socket, &tasks)).transpose()?.flatten();
        let admin_socket = admin.as_ref().map(|admin| admin.path().display().to_string());
        let mut console = match &options.console {
            Some(console) => Some(console::Server::start(console, options.client.clone(), &tasks).await?),
            None => None,
        };
        let console_address = console.as_ref().map(|console| tracing::field::display(console.address()));
        info!(listen = %server.address(), admin_socket, console = console_address, "listening");
        let kept_effects = kept_effects(&mut options);

        options.sandbox.tasks = tasks.clone();
        let sandbox = Arc::new(Sandbox::new(options.sandbox.clone())?);
        let (failures, reported) = events::Outlet::new();
        let report = Arc::new(Report::new(metrics.clone(), hook_registry.clone(), failures));
        let recorded: Vec<_> = options.record.iter().chain(&options.post_mortems).cloned().collect();
        let recorder = Some(recorded)
            .filter(|configs| !configs.is_empty())
            .map(|configs| Recorder::start(configs, report.clone(), &tasks));
        let recorder = recorder.transpose()?.map(Arc::new);
        let modules = match options.modules.clone() {
            Some(modules) => Some(modules::Read::of(modules).await?),
            None => None,
        };
        let (values, news) = modules.as_ref().map(|modules| modules.values(&options, &leadership)).unzip();
        let values = values.map(Arc::new);
        let parts = (hook_registry, sandbox, values.clone());
        let (services, of_answers) = connect(&options, parts, report, &shown, health, recorder);
        let services = Arc::new(services);
        let runs = Runs::new(services.clone());
        let runner = runner(&services, &runs);
        let left_out = options.webhooks.as_ref().map(|webhooks| webhooks.left_out.clone()).unwrap_or_default();
        let reviewed = options.modules.as_ref().is_some_and(|modules| modules.resources.is_some());
        let checks = modules.as_ref().map(|modules| modules.checks(&services));
        let settings = match values.clone().zip(checks).filter(|_| reviewed && options.webhooks.is_some()) {
            Some((values, checks)) => Some(Arc::new(SettingsReviewer::new(values, checks)?)),
            None => None,
        };
        let answers = Arc::new(Answers::new(services.clone(), left_out, settings.clone()));
        let hook_manager = Arc::new(HookManager::new(options.hooks.clone(), services.clone(), options.grace_period));
        hook_manager.load().await?;
        hook_manager.start();
        let modules = match (modules, values, news) {
            (Some(read), Some(values), Some(news)) => {
                let (services, hook_manager) = (services.clone(), hook_manager.clone());
                let namespace = options.client.default_namespace().to_owned();
                let charts = Charts::new(services.clone(), namespace, read.chart_timeout());
                Some(Modules::start(read, services, values, news, hook_manager, Arc::new(charts), stands_in))
            }
            _ => None,
        };
        let seen = modules.as_ref().map(Modules::seen);
        let kept = admin::Kept { lines: options.kept_lines.clone(), effects: kept_effects };
        let operator = Arc::new(admin::Admin::new(hook_manager.clone(), options.log.clone(), seen, kept));
        if let Some(admin) = &mut admin {
            admin.operate(operator.clone());
        }
        if let Some(console) = &mut console {
            console.operate(operator);
        }

        let webhooks = options.webhooks.clone().filter(|_| !options.plan && !options.hold);
        let webhooks = webhooks.map(|webhooks| webhooks::Parts {
            client: options.client.clone(),
            options: webhooks,
            answers: answers.clone(),
            services: services.clone(),
            settings,
        });
        let webhooks = match webhooks {
            Some(parts) => Some(Webhooks::start(parts).await?),
            None => None,
        };

        let mut own = Vec::new();
        let namespace = options.client.default_namespace().to_owned();
        if !options.plan {
            // Each has its own queue, so that Events of answers do not keep failures from being reported.
            let events = events::send(reported, services.clone(), namespace.clone());
            own.push(tasks.spawn("failure Events", events));
            own.push(tasks.spawn("Events of answers", events::send(of_answers, services.clone(), namespace)));
        }
        own.push(tasks.spawn("news of kinds", crd_watcher::run(services.clone())));
        let leading = follow(leadership, runner.handle(), metrics.clone());
        own.push(tasks.spawn("what follows from leading", leading));
        // The election starts last, because a leader that is still loading hooks would keep them from running.
        let election = candidacy.map(|candidacy| candidacy.start(options.client.clone(), &tasks));
        let bundles = Bundles::new(hook_manager.clone(), options.settings.clone());
        own.push(tasks.spawn("hooks that wait for others", bundles.clone().try_waiting()));
        observers::refresh(&services);
        own.push(tasks.spawn("live ticks", observers::tick(metrics)));
        own.push(tasks.spawn("idle code", runs::give_back_idle_code(services.sandbox.clone())));
        own.push(tasks.spawn("jumps of the clock", notify_of_jumps(jiff::Timestamp::now, services.jumps.clone())));
        services.health.started(runner.handle(), &services);
        Ok(Self {
            tasks: AllTasks(tasks),
            server,
            admin,
            console,
            runner,
            runs,
            services,
            bundles,
            hook_manager,
            answers,
            webhooks,
            modules,
            election,
            own,
            options,
        })
    }

    /// The address of health and metrics.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The address of the console, if there is one.
    pub fn console_address(&self) -> Option<SocketAddr> {
        self.console.as_ref().map(console::Server::address)
    }

    /// The address of webhooks, once they are served.
    pub fn webhook_address(&self) -> Option<SocketAddr> {
        self.webhooks.as_ref().and_then(Webhooks::address)
    }

    /// Whether a hook has bindings for requests of the API server.
    pub fn binds_webhooks(&self) -> bool {
        webhooks::needed(&self.services.hook_registry)
    }

    /// What is still waited for, and the hooks that do not run.
    pub fn readiness(&self) -> Readiness {
        Readiness { quarantined: self.hook_manager.quarantined(), ..self.services.health.readiness() }
    }

    pub fn queue(&self) -> queue::Handle {
        self.runner.handle()
    }

    /// All hooks that run, those of modules included.
    pub fn hooks(&self) -> Vec<Arc<Hook>> {
        self.services.hook_registry.live()
    }

    /// Finds a hook that runs.
    pub fn hook(&self, name: &HookName) -> Option<Arc<Hook>> {
        self.services.hook_registry.hook(name)
    }

    /// Answers reviews and conversions with the operator's hooks, as the webhook server does.
    pub fn answerer(&self) -> Arc<dyn Answerer> {
        self.answers.clone()
    }

    /// Runs bundles in addition to the hooks of the directory. Drop it before a shutdown.
    pub fn installer(&self) -> Arc<dyn Installer> {
        Arc::new(self.bundles.clone())
    }

    /// Fires the schedules of this name now. With [`Options::schedules_tick`] off, they fire only by this call. Returns
    /// how many there are. If there are none, the hook does not run or has no such schedule.
    pub fn tick(&self, hook: &HookName, schedule: &str) -> usize {
        self.hook_manager.tick(hook, schedule)
    }

    /// Lets the time from one moment to another pass at once. What waits in queues is due earlier by that much, and
    /// schedules of these hooks fire at their times in between (in UTC if they name no zone). For tests, with
    /// [`Options::schedules_tick`] off. The schedules of a hook fire at most `most` times. Returns false if there were more.
    pub fn pass(&self, hooks: &[HookName], from: jiff::Timestamp, to: jiff::Timestamp, most: usize) -> bool {
        self.runner.handle().pass(Duration::try_from(to.duration_since(from)).unwrap_or_default());
        // Each hook's schedules fire, whatever those of another one do.
        let fits: Vec<_> = hooks.iter().map(|hook| self.hook_manager.tick_within(hook, from, to, most)).collect();
        fits.into_iter().all(|fits| fits)
    }

    /// Takes a hook out; see [`App::release`]. Returns false if no such hook runs.
    pub fn quarantine(&self, hook: &HookName, reason: &str) -> bool {
        self.hook_manager.quarantine(hook, reason)
    }

    /// Loads a quarantined hook again, and starts it.
    pub async fn release(&self, hook: &str) -> Result<(), ReleaseError> {
        self.hook_manager.release(hook).await
    }

    /// Runs the triggers of the hook's last run again, except those whose bindings the hook no longer has; see
    /// [`Options::keep_last_run`]. Before the first of them can begin, it passes their number to `tell`.
    pub fn run_again(&self, hook: &HookName, tell: impl FnOnce(usize)) {
        self.hook_manager.run_again(hook, tell);
    }

    /// Replaces the version of a hook that runs with the one in a file `NAME.wasm`, or starts the hook if it does not
    /// run. Bindings that are the same in both documents keep their watches and their triggers. The others restart.
    /// Runs of the old version may end within the grace period. If the new version cannot be used, the old one
    /// continues.
    pub async fn swap(&self, path: impl Into<PathBuf>) -> Result<Swapped, SwapError> {
        self.hook_manager.swap(HookFile::of(path.into())).await
    }

    /// Whether this replica leads. After it has lost the lead, no hook runs by itself any more, and the operator has to
    /// be shut down.
    pub fn leadership(&self) -> Leadership {
        self.services.leadership.clone()
    }

    /// The operator's long-lived tasks. If one has ended by itself, the operator only appears to work, and it has to be
    /// shut down.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks.0
    }

    /// Takes no more triggers, lets runs end within the grace period, and interrupts the others.
    pub async fn shutdown(mut self) -> Drained {
        // The Service sends reviews until each node knows that this Pod ends. Hooks run in the meantime, too, because
        // another replica becomes the leader only after that.
        let served = self.options.webhooks.as_ref().filter(|_| self.webhooks.is_some());
        if let Some(linger) = served.and_then(|webhooks| webhooks.reached.linger()) {
            tokio::time::sleep(linger).await;
        }
        self.tasks.0.close();
        // Steps end first, because they start runs.
        drop(self.modules.take());
        if let Some(webhooks) = self.webhooks.take() {
            webhooks.shutdown().await;
        }
        // Runs end first, because they read the snapshots that bindings keep.
        let drained = self.runner.drain(self.options.grace_period).await;
        match self.election {
            Some(election) if drained.interrupted == 0 => election.release().await,
            // The last write of an interrupted run may still take effect. The Lease is therefore not given back, and
            // expires.
            election => drop(election),
        }
        self.hook_manager.shutdown().await;
        if let Some(recorder) = self.services.recorder.clone() {
            // Records that take longer to write are not worth the wait.
            let written = tokio::task::spawn_blocking(move || recorder.close());
            let _ = tokio::time::timeout(RECORDS_GRACE, written).await;
        }
        drop(self.own);
        if let Some(console) = self.console {
            console.shutdown().await;
        }
        if let Some(admin) = self.admin {
            admin.shutdown().await;
        }
        self.server.shutdown().await;
        drained
    }
}

/// The tasks of an operator that starts. Dropping this before the start is over allows them to end.
struct Beginning {
    tasks: Tasks,
    is_over: bool,
}

impl Drop for Beginning {
    fn drop(&mut self) {
        if !self.is_over {
            self.tasks.close();
        }
    }
}

/// The operator's tasks. Dropping this allows them to end.
struct AllTasks(Tasks);

impl Drop for AllTasks {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn probe(health: &Arc<Health>, hook_registry: &Arc<HookRegistry>) -> Probe {
    let (health, hook_registry) = (health.clone(), hook_registry.clone());
    Arc::new(move || Readiness { quarantined: hook_registry.quarantined(), ..health.readiness() })
}

/// Keeps effects for the console, if somebody wants them anyway.
fn kept_effects(options: &mut Options) -> Option<Arc<KeptEffects>> {
    let kept = Arc::new(KeptEffects::new(options.effects.clone().filter(|_| options.console.is_some())?));
    options.effects = Some(kept.clone());
    Some(kept)
}

/// Counts the states of hooks for their metric.
fn count(readiness: &Readiness, quarantined: usize) -> HookCounts {
    let ready = readiness.hooks.iter().filter(|hook| hook.missing.is_empty()).count();
    HookCounts { loading: 0, pending: readiness.hooks.len() - ready, ready, quarantined }
}

/// Milliseconds for log lines, with three decimals.
fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Creates the services, and gives each stage what it calls.
fn connect(
    options: &Options,
    (hook_registry, sandbox, module_values): (Arc<HookRegistry>, Arc<Sandbox>, Option<Arc<ModuleValues>>),
    report: Arc<Report>,
    shown: &Shown,
    health: Arc<Health>,
    recorder: Option<Arc<Recorder>>,
) -> (Services, events::Inlet) {
    let (leadership, tasks) = (health.leadership().clone(), health.tasks().clone());
    let filters = sandbox.filters().clone();
    let snapshots = Arc::new(Snapshots::default());
    let discovery = Arc::new(Discovery::new(options.client.clone()));
    let programs = Arc::new(PatchPrograms::new(filters.clone(), hook_registry.clone()));
    let causes = Arc::new(Causes::new(Bounds::default()));
    let queue = queue::Handle::new(options.queue, report.clone());
    let (events, of_answers) = events::Outlet::new();
    let loops = Arc::new(LoopWatch {
        policy: options.loops,
        causes: causes.clone(),
        metrics: shown.metrics.clone(),
        hook_registry: hook_registry.clone(),
        queue: queue.clone(),
        events: events.clone(),
        paused: Mutex::default(),
    });
    let writes = Arc::new(causes::Writes {
        effects: options.effects.clone(),
        causes: causes.clone(),
        loops: loops.clone(),
        metrics: shown.metrics.clone(),
    });
    let access = Access::new(options.client.clone(), discovery.clone(), programs, options.access.clone(), writes);
    let operator = HostCalls {
        access: access.fenced(leadership.clone()),
        http: options.http.with_secrets(Arc::new(SecretsOfAccounts(access.clone()))),
        directories: options.directories.clone(),
        leadership: leadership.clone(),
        snapshots: snapshots.clone(),
        metrics: shown.metrics.clone(),
        hook_metrics: shown.hook_metrics.clone(),
    };
    if !leadership.is_alone() {
        queue.stand_by();
    }
    let services = Services {
        server: options.server.clone(),
        hook_registry,
        sandbox,
        discovery,
        streams: Streams::new(options.client.clone(), options.streams.clone(), report),
        kept: Pool::new(options.kept / UNIT),
        filters,
        snapshots,
        queue,
        // Each request of the API server reaches only one replica, so answers are not fenced.
        answering: Arc::new(HostCalls { access, leadership: Leadership::alone(), ..operator.clone() }),
        operator: Arc::new(operator),
        leadership,
        health,
        metrics: shown.metrics.clone(),
        history: Arc::new(History::new(options.run_ended.clone())),
        causes,
        loops,
        recorder,
        run_ids: RunIds::new(),
        last: LastRuns::new(options.keep_last_run),
        reconcilers: Arc::default(),
        claims: Claims::default(),
        shadows: Shadows::default(),
        module_values,
        events,
        effects: options.effects.clone(),
        schedules_tick: options.schedules_tick,
        plan: options.plan,
        hold: options.hold,
        node_agent: options.node_agent,
        variables: options.variables.clone(),
        tasks,
        jumps: watch::Sender::default(),
    };
    (services, of_answers)
}

/// Drives the queues: each job is a run.
fn runner(services: &Services, runs: &Runs) -> Runner {
    let runs = runs.clone();
    let action = move |job: Job| {
        let runs = runs.clone();
        async move { runs.run(job).await }.boxed()
    };
    Runner::of(services.queue.clone(), Arc::new(action), &services.tasks)
}

/// What starts when this replica becomes the leader, and what ends when it loses the lead: the queues, and the metric. Runs
/// until it is dropped.
async fn follow(leadership: Leadership, queue: queue::Handle, metrics: Arc<Metrics>) {
    if leadership.is_alone() {
        metrics.leads();
        return pending().await;
    }
    leadership.gained().await;
    queue.begin();
    metrics.leads();
    info!("hooks run from here on: this replica leads");
    leadership.lost().await;
    queue.stand_by();
    metrics.leads_no_more();
    // The code that runs the operator ends it now.
    pending().await
}

//! Modules: carries out what their life decides, and reports what happened. The rules are in `boathook_modules::life`.

mod adopt;
pub(super) mod charts;
mod commands;
mod configuration;
mod hooks;
mod keeper;
pub(super) mod preview;
pub(super) mod releases;
mod resources;
mod scripts;
mod seen;
mod settings_check;
mod shelf;
mod statuses;
mod steps;
mod supply;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{model::Stage, tasks::Task};
use boathook_modules::{
    Catalogue, Layout, LayoutError, Maintenance, ModuleName, Store,
    graph::{Graph, GraphError},
    layout::Class,
    life::{End, Event, Life, Report, Step, Subject, TaskId},
};
use tokio::{
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
};
use tracing::{error, info, warn};

use super::{
    Services,
    hook_manager::HookManager,
    hooks::source_name,
    module_values::{CheckSettings, ModuleValues, News},
    options::ModulesOptions,
};
use crate::{
    module::Fetcher,
    registration::PendingModules,
    telemetry::{Converge, metrics::ModuleInfo},
};
pub use adopt::Adoption;
pub use charts::revisions::Entry;
pub use commands::{CommandError, InCluster};
use configuration::Configuration;
use keeper::Heard;
pub use preview::{Changed, Planned, Preview};
use releases::Releases;
use resources::Resources;
pub(super) use seen::Seen;
pub use seen::node;
use settings_check::SettingsChecks;
use shelf::Shelf;
use steps::Steps;

/// How long to wait before the API server is asked again for what the start needs.
const START_RETRY: Duration = Duration::from_secs(2);

/// Modules that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ModulesError {
    #[error("the modules cannot be read")]
    Layout(#[from] LayoutError),
    #[error("the modules cannot be ordered")]
    Graph(#[from] GraphError),
    /// The operator is ending.
    #[error("the modules were not read completely")]
    Unread(#[from] tokio::task::JoinError),
}

/// The step is given up, because the operator ends.
struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operator ends")
    }
}

/// Modules that were read, before they run.
pub(super) struct Read {
    catalogue: Catalogue,
    shelf: Arc<Shelf>,
    graph: Graph,
    options: ModulesOptions,
}

impl Read {
    pub async fn of(options: ModulesOptions) -> Result<Self, ModulesError> {
        let layout = Layout {
            modules: options.directories.clone(),
            global: options.global_hooks.clone(),
            unnumbered: options.unnumbered_order,
            strict: options.strict,
            ..Layout::default()
        };
        let reading = move || -> Result<_, ModulesError> {
            let catalogue = Catalogue::read(&layout)?;
            let graph = Graph::of(&catalogue)?;
            Ok((catalogue, graph))
        };
        let (catalogue, graph) = tokio::task::spawn_blocking(reading).await??;
        for (name, error) in &catalogue.broken {
            let (module, reason) = (name.as_ref().map(ToString::to_string), boathook_core::model::error_chain(error));
            error!(module, reason, "this module cannot be used, others can");
        }
        for warning in &catalogue.warnings {
            warn!(warning, "the modules should be changed");
        }
        info!(modules = catalogue.modules.len(), broken = catalogue.broken.len(), "modules read");
        let shelf = Arc::new(Shelf::of_directories(catalogue.modules.clone()));
        Ok(Self { catalogue, shelf, graph, options })
    }

    /// How long a chart's objects may take to become ready.
    pub fn chart_timeout(&self) -> Duration {
        self.options.chart_timeout
    }

    /// What the scripts of these modules say about settings.
    pub fn checks(&self, services: &Arc<Services>) -> Arc<dyn CheckSettings> {
        Arc::new(SettingsChecks::new(services.clone(), self.shelf.clone()))
    }

    /// The values of these modules, and what receives their changes.
    pub fn values(
        &self,
        services: &super::Options,
        leadership: &boathook_kube::election::Leadership,
    ) -> (ModuleValues, mpsc::UnboundedReceiver<News>) {
        let store = Store::new(&self.catalogue);
        let config = (self.options.config_map.clone(), self.options.resources.is_some());
        ModuleValues::new(store, &self.graph, services.client.clone(), config, leadership.clone())
    }
}

/// Modules that run. They end when this is dropped.
pub(super) struct Modules {
    _task: Task<()>,
    reports: watch::Receiver<Vec<Report>>,
    shelf: Arc<Shelf>,
    releases: Arc<dyn Releases>,
}

impl Modules {
    pub fn start(
        read: Read,
        services: Arc<Services>,
        values: Arc<ModuleValues>,
        news: mpsc::UnboundedReceiver<News>,
        hook_manager: Arc<HookManager>,
        releases: Arc<dyn Releases>,
        stands_in: bool,
    ) -> Self {
        let Read { shelf, graph, options, .. } = read;
        let checks = SettingsChecks::new(services.clone(), shelf.clone());
        let (shown, reports) = watch::channel(Vec::new());
        releases.announce(graph.order());
        let broken = graph.broken().clone();
        let life = Life::new(graph, |name| shelf.parts(name));
        let global = options.global_hooks.clone();
        let hooks = Arc::new(hooks::ModuleHooks::new(services.clone(), hook_manager, global, stands_in));
        let (events, inbox) = mpsc::unbounded_channel();
        let steps = Steps {
            services: services.clone(),
            values: values.clone(),
            checks,
            hooks,
            shelf: shelf.clone(),
            releases: releases.clone(),
            events,
        };
        let driver = Driver {
            life,
            services: services.clone(),
            values,
            steps: Arc::new(steps),
            running: JoinSet::new(),
            tasks: BTreeMap::new(),
            places: BTreeMap::new(),
            options,
            shown,
            shelf: shelf.clone(),
            broken,
            resources: None,
            leaving: BTreeSet::new(),
            begun: false,
            stands_in,
            converging: None,
            measured: BTreeSet::new(),
        };
        let task = services.tasks.spawn("modules", driver.run(news, inbox));
        Self { _task: task, reports, shelf, releases }
    }
}

/// A step that runs.
struct Running {
    handle: AbortHandle,
    subject: Subject,
    step: Step,
    since: Instant,
}

struct Driver {
    life: Life,
    services: Arc<Services>,
    values: Arc<ModuleValues>,
    steps: Arc<Steps>,
    /// Steps, and times that are waited for. Each returns what its end means.
    running: JoinSet<Event>,
    tasks: BTreeMap<TaskId, Running>,
    /// A step has the place of its subject until it has really ended.
    places: BTreeMap<Subject, Arc<tokio::sync::Mutex<()>>>,
    options: ModulesOptions,
    shown: watch::Sender<Vec<Report>>,
    shelf: Arc<Shelf>,
    /// Modules of directories that cannot be read.
    broken: BTreeMap<ModuleName, String>,
    /// The cluster's Modules, if the operator follows them.
    resources: Option<Resources>,
    /// Modules that are turned off because their Modules are deleted. They are taken away when they are off.
    leaving: BTreeSet<ModuleName>,
    /// The life of modules has begun.
    begun: bool,
    /// Hooks may be loaded that answered before this replica led.
    stands_in: bool,
    /// When the round began that goes on.
    converging: Option<Instant>,
    /// The modules that have metrics.
    measured: BTreeSet<ModuleName>,
}

impl Driver {
    async fn run(mut self, mut news: mpsc::UnboundedReceiver<News>, mut inbox: mpsc::UnboundedReceiver<Event>) {
        stand_by(&self.services.clone(), &self.steps.clone(), self.stands_in).await;
        while let Err(reason) = self.values.restore().await {
            let reason = boathook_core::model::error_chain(&reason);
            warn!(reason, "cannot read the Secrets with what hooks wrote: modules wait");
            tokio::time::sleep(START_RETRY).await;
        }
        let installed = loop {
            match self.steps.releases.installed().await {
                Ok(installed) => break installed,
                Err(reason) => {
                    warn!(%reason, "cannot find the modules that are in the cluster: modules wait");
                    tokio::time::sleep(START_RETRY).await;
                }
            }
        };
        let mut config = Configuration::watch(&self.services, &self.values);
        config.listed(&self.values).await;
        if let Some(resources) = &self.options.resources {
            let (client, sources) = (self.values.client(), resources.sources.clone());
            let fetcher = sources.map(|sources| Arc::new(Fetcher::new(client.clone(), sources)));
            self.resources = Some(Resources::watch(&self.services, client, fetcher));
            self.resources_listed().await;
        }
        // Nothing has seen the values before.
        while news.try_recv().is_ok() {}
        if self.life.has_no_modules() && self.resources.is_none() && !installed.is_empty() {
            let installed: Vec<_> = installed.iter().map(ModuleName::as_str).collect();
            warn!(
                installed = installed.join(", "),
                "there is no module in the directories, and modules are in the cluster: their objects stay. Give the directory \
                 with the modules, or turn modules off in the configuration before you take the last directory away"
            );
        }
        self.take(Event::Installed(installed));
        self.flags();
        self.begun = true;
        self.take(Event::Begin);
        loop {
            self.end_stand_ins().await;
            tokio::select! {
                Some(news) = news.recv() => self.news(news),
                Some(event) = inbox.recv() => self.take(event),
                () = config.changed(&self.values) => {}
                Some(ended) = self.running.join_next_with_id() => {
                    // What a step changed comes before its end.
                    while let Ok(news) = news.try_recv() {
                        self.news(news);
                    }
                    self.ended(ended);
                }
                heard = heard(self.resources.as_mut()) => {
                    self.heard(heard);
                    // The status must not say of a spec what is true of the one before.
                    while let Ok(news) = news.try_recv() {
                        self.news(news);
                    }
                    self.show_resources();
                }
                name = self.steps.releases.drifted() => {
                    info!(module = %name, "the module is applied again: its objects or its Secret are no longer as they were");
                    self.services.metrics.module_drifted(name.as_str());
                    self.take(Event::Drifted(name));
                }
            }
        }
    }

    /// Takes hooks away that stand in, where their module is off. The others end when their module starts.
    async fn end_stand_ins(&mut self) {
        if !self.stands_in || !self.life.were_tried() {
            return;
        }
        let reports = self.shown.borrow().clone();
        let off = reports.iter().filter(|report| report.at == "off" && report.on == Some(false));
        for report in off {
            self.steps.hooks.end_stand_ins(&report.subject).await;
        }
        self.stands_in = self.steps.hooks.has_stand_ins();
    }

    fn flags(&mut self) {
        self.maintain();
        self.take(Event::Votes(self.values.votes()));
    }

    /// Has modules kept as the configuration and Modules say. Hooks stand still before the steps of their module end.
    fn maintain(&mut self) {
        let maintained = self.values.maintained();
        let paused = maintained.iter().filter(|(_, how)| **how == Maintenance::Paused);
        self.steps.hooks.pause(paused.map(|(name, _)| name.clone()).collect());
        self.take(Event::Maintained(maintained));
    }

    /// How far modules are, for people and probes.
    fn converge(&self, now: &[Report]) -> Converge {
        let rests = |report: &&Report| match report.at {
            "ready" | "waiting for modules" => true,
            "off" => report.on.is_some(),
            _ => report.paused,
        };
        let moving = now.iter().filter(|report| !rests(report)).count();
        Converge { begun: self.begun, tried: self.life.were_tried(), moving }
    }

    fn news(&mut self, news: News) {
        match news {
            News::Flags => self.flags(),
            News::Values(of, stage) => {
                self.steps.hooks.ask_again(&of);
                self.take(Event::Changed(of, stage.map(step)));
            }
        }
    }

    fn ended(&mut self, ended: Result<(tokio::task::Id, Event), tokio::task::JoinError>) {
        match ended {
            Ok((_, event)) => self.take(event),
            Err(error) if error.is_panic() => {
                let found = self.tasks.iter().find(|(_, running)| running.handle.id() == error.id());
                let Some(task) = found.map(|(task, _)| *task) else { return };
                error!(%error, "a step of a module panicked: it is tried again");
                self.take(Event::Ended(task, End::Failed("a defect of the operator: see its log".to_owned())));
            }
            // It was given up.
            Err(_) => {}
        }
    }

    /// Takes an event, and does what follows.
    fn take(&mut self, event: Event) {
        if let Event::Ended(task, end) = &event {
            let running = self.tasks.remove(task);
            if let Some(running) = &running {
                self.measure(running, end);
            }
            if let (Some(Running { subject, .. }), End::Failed(reason) | End::Refused(reason)) = (running, end) {
                warn!(%subject, reason, "a step failed");
            }
        }
        let actions = self.life.handle(event);
        self.act(actions);
    }

    fn wait(&mut self, task: TaskId, failures: u32) {
        let pause = pause(&self.options, failures, rand::random());
        self.running.spawn(async move {
            tokio::time::sleep(pause).await;
            Event::Due(task)
        });
    }

    fn start(&mut self, task: TaskId, subject: Subject, step: Step) {
        let steps = self.steps.clone();
        let place = match &step {
            // It may run while the module does.
            Step::Script { .. } => None,
            _ => Some(self.places.entry(subject.clone()).or_default().clone()),
        };
        let (of, shown) = (subject.clone(), step.clone());
        let handle = self.running.spawn(async move {
            let _alone = match &place {
                Some(place) => Some(place.lock().await),
                None => None,
            };
            Event::Ended(task, steps.run(task, &of, step).await)
        });
        self.tasks.insert(task, Running { handle, subject, step: shown, since: Instant::now() });
    }

    /// Counts a step of a module that ended.
    fn measure(&self, running: &Running, end: &End) {
        let Subject::Module(module) = &running.subject else { return };
        let failed = matches!(end, End::Failed(_) | End::Refused(_));
        let (step, deletion) = match running.step {
            Step::Script { .. } => ("enabled", false),
            Step::Start => ("Start", false),
            Step::BeforeHelm => ("BeforeHelm", false),
            Step::Chart => ("Chart", false),
            Step::AfterHelm => ("AfterHelm", false),
            Step::BeforeDeleteHelm => ("BeforeDeleteHelm", true),
            Step::Delete => ("Delete", true),
            Step::AfterDeleteHelm => ("AfterDeleteHelm", true),
            Step::Stop => ("Stop", true),
            Step::BeforeAll | Step::AfterAll => return,
        };
        self.services.metrics.module_step(module.as_str(), step, running.since.elapsed(), failed, deletion);
    }

    /// Shows all modules as metrics.
    fn show_metrics(&mut self, now: &[Report]) {
        let maintained = self.values.maintained();
        let mut shown = BTreeSet::new();
        for report in now {
            let Subject::Module(name) = &report.subject else {
                match (report.at, self.converging) {
                    ("ready", Some(since)) => {
                        self.services.metrics.converged(since.elapsed());
                        self.converging = None;
                    }
                    ("ready", None) => {}
                    (_, None) => self.converging = Some(Instant::now()),
                    _ => {}
                }
                continue;
            };
            let critical =
                self.shelf.get(name).is_none_or(|shelved| shelved.module.definition.class == Class::Critical);
            self.services.metrics.set_module(ModuleInfo {
                name: name.as_str(),
                enabled: report.on,
                critical,
                ready: report.at == "ready",
                maintenance: maintained.get(name).copied().unwrap_or_default().as_str(),
            });
            shown.insert(name.clone());
        }
        for gone in std::mem::replace(&mut self.measured, shown).difference(&self.measured) {
            self.services.metrics.forget_module(gone.as_str());
        }
    }

    /// Modules whose hooks may not be loaded: what these registered at the API server stays. Hooks that are loaded say
    /// themselves what they need, also while their chart waits, which an old webhook may be the reason for.
    fn pending(&self, now: &[Report]) -> PendingModules {
        const LOADED: [&str; 4] = ["BeforeHelm", "Chart", "AfterHelm", "ready"];
        if !self.life.were_tried() {
            return PendingModules::Unknown;
        }
        let starts = |report: &&Report| match report.subject {
            Subject::Global => report.at == "Start",
            Subject::Module(_) => report.on != Some(false) && !LOADED.contains(&report.at),
        };
        let mut pending: BTreeSet<_> = now.iter().filter(starts).map(|report| source_name(&report.subject)).collect();
        let broken = self.broken.keys().filter(|name| !self.values.is_turned_off(name));
        pending.extend(broken.map(|name| name.as_str().to_owned()));
        let missing = self
            .resources
            .iter()
            .flat_map(Resources::iter)
            .filter(|(name, known)| known.is_sourced() && !known.is_deleting() && self.shelf.get(name).is_none());
        pending.extend(missing.map(|(name, _)| name.as_str().to_owned()));
        PendingModules::Named(pending)
    }

    /// Shows what changed to people.
    fn show(&mut self) {
        let now = self.life.reports();
        self.services.health.sources().note_modules(self.pending(&now));
        self.services.health.note_converge(self.converge(&now));
        let before = self.shown.borrow().clone();
        for report in &now {
            let old = before.iter().find(|old| old.subject == report.subject);
            if old.map(|old| old.at) == Some(report.at) {
                continue;
            }
            match (&report.subject, report.at) {
                (Subject::Module(module), "ready") => info!(%module, "module is ready"),
                (Subject::Module(module), "off") if old.is_some_and(|old| old.at != "off") => {
                    info!(%module, why = report.why, "module is off");
                }
                (Subject::Global, "ready") => info!("modules have settled"),
                _ => {}
            }
        }
        if before != now {
            self.show_metrics(&now);
            self.shown.send_replace(now);
            self.finish();
            self.show_resources();
        }
    }
}

/// How long to wait after so many failures. `jitter`: between 0 and 1, so that what failed together is not tried together.
fn pause(options: &ModulesOptions, failures: u32, jitter: f64) -> Duration {
    let doubled = options.retry_initial.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let pause = doubled.min(options.retry_max);
    pause + pause.mul_f64(jitter * 0.1)
}

/// Waits until this replica leads. Until then, hooks of modules answer the API server here, too.
async fn stand_by(services: &Services, steps: &Steps, stands_in: bool) {
    let sources = services.health.sources();
    let load = async {
        if stands_in {
            let all = steps.shelf.names().into_iter().map(Subject::Module).chain([Subject::Global]);
            for of in all {
                steps.stand_in(&of).await;
            }
            sources.note_without_stand_ins(false);
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = services.leadership.gained() => {}
        () = load => {}
    }
    sources.note_without_stand_ins(false);
}

/// What is heard of Modules next, if they are followed.
async fn heard(resources: Option<&mut Resources>) -> Heard {
    match resources {
        Some(resources) => resources.next().await,
        None => std::future::pending().await,
    }
}

fn step(stage: Stage) -> Step {
    match stage {
        Stage::BeforeAll => Step::BeforeAll,
        Stage::AfterAll => Step::AfterAll,
        Stage::BeforeHelm => Step::BeforeHelm,
        Stage::AfterHelm => Step::AfterHelm,
        Stage::BeforeDeleteHelm => Step::BeforeDeleteHelm,
        Stage::AfterDeleteHelm => Step::AfterDeleteHelm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // mutant: crates/operator/src/app/modules/mod.rs: `let pause = doubled.min(options.retry_max);` => `let pause = doubled;`
    // mutant: crates/operator/src/app/modules/mod.rs: `failures.saturating_sub(1).min(16)` => `0`
    #[test]
    fn the_pause_doubles_with_each_failure_until_its_bound() {
        let options = ModulesOptions::new(Vec::new());
        let seconds = |failures, jitter| pause(&options, failures, jitter).as_secs_f64();
        let first: Vec<f64> = (1..=5).map(|failures| seconds(failures, 0.0)).collect();
        assert_eq!(first, [5.0, 10.0, 20.0, 32.0, 32.0]);
        assert_eq!((seconds(u32::MAX, 0.0), seconds(u32::MAX, 1.0)), (32.0, 35.2));
    }
}

//! The operator as admins see it. This module makes views of the facts and passes commands on. It has no rules of its
//! own.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use boathook_core::{
    filter::{BindingStatus, Changes},
    model::{
        BindingName, BindingRef, HookName, KubernetesBinding, QueueName, ScheduleBinding, StageBinding, StartupBinding,
        error_chain,
    },
    queue::{self, DeadLetter, HookStats, QueueDump, QueueState, QueueStats, TriggerDump},
    tasks::Tasks,
};
use boathook_modules::life::{Report, Subject};
use futures::{FutureExt as _, future::BoxFuture};
use jiff::Timestamp;
use serde_json::Value;
use tracing::{info, warn};

use super::{
    Services, details,
    history::{first, stamp},
    hook_manager::{HookManager, ReloadError},
    hooks::Hook,
    module_values::ModuleValues,
    modules::Seen,
    why,
};
use crate::{
    admin::{
        Letters, Operator, Refused, Server, SnapshotQuery, Socket, SocketError,
        bill::{BillView, HookUse, Used},
        details::{EffectsView, LiveRunsView, LogsView, SetsView, WritesQuery, WritesView},
        modules::{GraphView, ModuleView, ModulesView, Part},
        pages,
        views::{
            BindingKind, BindingView, DeadLetterView, DeadLettersView, HookState, HookView, HooksView, LogLevelView,
            OperationCounts, Operations, QueueView, QueuesView, RetriedView, RunCounts, RunsView, SnapshotsView,
            TaskView,
        },
        why::{WhyNotView, WhyView},
    },
    console::{KeptEffects, KeptLines},
    telemetry::{LogControl, Role, log::Setting},
};

/// The maximum number of triggers to show for each queue.
const SHOWN_TASKS: usize = 100;

/// Takes the socket before hooks are loaded, because the operator must not start if another one serves it.
pub(super) fn listen(socket: &Socket, tasks: &Tasks) -> Result<Option<Server>, SocketError> {
    let (server, errors) = Server::start(socket, tasks)?;
    if server.is_none() {
        let reasons: Vec<_> = errors.iter().map(|error| error_chain(error)).collect();
        warn!(reasons = reasons.join("; "), "no admin socket: give one with --admin-socket PATH");
    }
    Ok(server)
}

/// Answers requests of admins.
pub(super) struct Admin {
    hook_manager: Arc<HookManager>,
    services: Arc<Services>,
    log: Option<LogControl>,
    modules: Option<Seen>,
    kept: Kept,
}

/// What is kept of runs for the console. `None`: the operator keeps none.
#[derive(Clone, Default)]
pub(super) struct Kept {
    pub lines: Option<KeptLines>,
    pub effects: Option<Arc<KeptEffects>>,
}

impl Admin {
    pub fn new(hook_manager: Arc<HookManager>, log: Option<LogControl>, modules: Option<Seen>, kept: Kept) -> Self {
        Self { services: hook_manager.services.clone(), hook_manager, log, modules, kept }
    }

    fn log(&self) -> Result<&LogControl, Refused> {
        self.log.as_ref().ok_or(Refused::Unsupported("tell or change what is logged: it did not set up its log"))
    }

    fn seen(&self) -> Result<(&Seen, &ModuleValues), Refused> {
        match (&self.modules, &self.services.module_values) {
            (Some(seen), Some(values)) => Ok((seen, values)),
            _ => Err(Refused::Unsupported("show modules: it runs none; start it with --modules")),
        }
    }

    fn subject(&self, module: &str) -> Result<Subject, Refused> {
        let found = self.seen()?.1.subject(module);
        found.map_err(|known| Refused::UnknownModule { name: module.to_owned(), known })
    }

    /// Finds a hook that runs.
    fn live(&self, name: &str) -> Result<Arc<Hook>, Refused> {
        let hook = HookName::new(name).ok().and_then(|name| self.services.hook_registry.hook(&name));
        match hook {
            Some(hook) => Ok(hook),
            None if self.services.hook_registry.is_quarantined(name) => Err(Refused::Conflict(format!(
                "hook {name} is in quarantine: `boathook release {name}` starts it again"
            ))),
            None => Err(self.unknown(name)),
        }
    }

    /// Checks that the hook runs or is in quarantine.
    fn known(&self, name: &str) -> Result<(), Refused> {
        if self.names().any(|known| known == name) { Ok(()) } else { Err(self.unknown(name)) }
    }

    fn unknown(&self, name: &str) -> Refused {
        Refused::UnknownHook { name: name.to_owned(), known: self.names().collect() }
    }

    /// Checks that the letters or their hook exist.
    fn which(&self, letters: &Letters) -> Result<queue::Letters, Refused> {
        letters.check()?;
        if let Some(hook) = &letters.hook {
            return Ok(queue::Letters::Hook(self.live(hook)?.spec.name.clone()));
        }
        if letters.all {
            return Ok(queue::Letters::All);
        }
        let there: HashSet<u64> = self.services.queue.dead_letters().into_iter().map(|letter| letter.id).collect();
        let missing: Vec<u64> = letters.ids.iter().copied().filter(|id| !there.contains(id)).collect();
        if missing.is_empty() {
            Ok(queue::Letters::Ids(letters.ids.clone()))
        } else {
            Err(Refused::UnknownLetter(missing))
        }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let live = self.services.hook_registry.live().into_iter().map(|hook| hook.spec.name.to_string());
        live.chain(self.services.hook_registry.quarantined().into_iter().map(|(name, _)| name))
    }
}

/// Whether a binding's objects are Secrets, judged by the kind as its author wrote it.
fn of_secrets(binding: &KubernetesBinding) -> bool {
    ["secret", "secrets"].iter().any(|name| binding.kind.eq_ignore_ascii_case(name))
}

fn log_level(setting: Setting) -> LogLevelView {
    let Some((left, default)) = setting.until else {
        return LogLevelView { default: setting.filter.clone(), level: setting.filter, until: None };
    };
    // A time that the calendar cannot represent counts as permanent.
    let until = Timestamp::now().checked_add(left).map(stamp).ok();
    LogLevelView { level: setting.filter, default, until }
}

impl Operator for Admin {
    fn hooks(&self) -> HooksView {
        let readiness = self.services.health.readiness();
        let stats: HashMap<_, _> =
            self.services.queue.stats().hooks.into_iter().map(|stats| (stats.hook.clone(), stats)).collect();
        let loops = self.services.causes.loops(SystemTime::now());
        let missing: HashMap<&str, &[String]> =
            readiness.hooks.iter().map(|known| (known.hook.as_str(), known.missing.as_slice())).collect();
        let live = self.services.hook_registry.live().into_iter().map(|hook| {
            let name = &hook.spec.name;
            let facts = Facts {
                loops: self.services.loops.of(name, &loops),
                missing: missing.get(name.as_str()).map(|missing| missing.to_vec()).unwrap_or_default(),
                bindings: self.services.health.bindings(name),
                stats: stats.get(name),
                runs: self.services.history.counts(name.as_str()),
            };
            live(&hook, facts)
        });
        let quarantined = self.services.hook_registry.quarantined().into_iter().map(|(name, reason)| {
            let runs = self.services.history.counts(&name);
            quarantined(name, reason, runs)
        });
        let mut hooks: Vec<_> = live.chain(quarantined).collect();
        hooks.sort_by(|a, b| a.name.cmp(&b.name));
        HooksView { standby: readiness.role == Role::Standby, api_server: readiness.api_server, hooks }
    }

    fn bill(&self) -> BillView {
        let hooks = self.services.hook_registry.live().into_iter().map(|hook| {
            let name = &hook.spec.name;
            let (requests, sent_bytes, received_bytes) = self.services.metrics.exchanged(name);
            let mut used = Used { requests, sent_bytes, received_bytes, ..self.services.history.used(name) };
            for (status, _) in self.services.health.bindings(name) {
                used.kept_objects += status.objects() as u64;
                used.kept_bytes += status.bytes() as u64;
            }
            let bundle = hook.bundled.as_ref().map(|bundled| &bundled.bundle);
            HookUse {
                name: name.to_string(),
                bundle: bundle.map(ToString::to_string),
                namespace: bundle.and_then(|bundle| bundle.namespace.clone()),
                used,
            }
        });
        BillView::of(self.services.history.since(), hooks.collect())
    }

    fn queues(&self) -> QueuesView {
        let stats = self.services.queue.stats().queues;
        let why = |hook: &HookName, binding: &BindingName| self.services.health.why_binding_incomplete(hook, binding);
        queues(self.services.queue.dump(SHOWN_TASKS), &stats, &why)
    }

    fn snapshots(&self, hook: &str, query: &SnapshotQuery) -> Result<SnapshotsView, Refused> {
        let hook = self.live(hook)?;
        let (name, bindings) = (&hook.spec.name, &hook.spec.kubernetes);
        if let Some(asked) = &query.binding
            && bindings.iter().all(|binding| binding.name.as_str() != asked)
        {
            let known = bindings.iter().map(|binding| binding.name.to_string()).collect();
            return Err(Refused::UnknownBinding { hook: name.to_string(), name: asked.clone(), known });
        }
        let asked_for = |name: &BindingName| query.binding.as_deref().is_none_or(|asked| asked == name.as_str());
        // Read first, so that a snapshot that becomes complete now is not shown as complete with what it had before.
        let incomplete = self.services.health.why_incomplete(name);
        let moment = self.services.snapshots.snapshot_set(name);
        let statuses = self.services.health.bindings(name);
        let mut shown = BTreeMap::new();
        for (index, binding) in bindings.iter().enumerate().filter(|(_, binding)| asked_for(&binding.name)) {
            // A binding that waits for memory has published nothing.
            let items = moment.items(&binding.name).cloned().unwrap_or_default();
            let mut page = pages::page(&items, query, of_secrets(binding))?;
            page.incomplete = incomplete.get(index).cloned().flatten();
            page.operations = statuses.get(index).map(|(status, _)| operations(status));
            shown.insert(binding.name.to_string(), page);
        }
        Ok(SnapshotsView { hook: name.to_string(), bindings: shown })
    }

    fn runs(&self, hook: Option<&str>, failed: bool, most: Option<usize>) -> Result<RunsView, Refused> {
        hook.map(|hook| self.known(hook)).transpose()?;
        Ok(RunsView { runs: self.services.history.runs(hook, failed, most.unwrap_or(usize::MAX)) })
    }

    fn dead_letters(&self, hook: Option<&str>) -> Result<DeadLettersView, Refused> {
        hook.map(|hook| self.known(hook)).transpose()?;
        let letters = self.services.queue.dead_letters();
        let wanted = letters.iter().filter(|letter| hook.is_none_or(|hook| letter.hook.as_str() == hook));
        let now = (Instant::now(), SystemTime::now());
        Ok(DeadLettersView { dead_letters: wanted.map(|letter| view(letter, now)).collect() })
    }

    fn retry_dead(&self, letters: &Letters) -> Result<RetriedView, Refused> {
        let queue::Retried { letters, triggers, superseded } = self.services.queue.retry_dead(&self.which(letters)?);
        info!(letters, triggers, superseded, "an admin retried dead letters");
        Ok(RetriedView { letters, triggers, superseded })
    }

    fn drop_dead(&self, letters: &Letters) -> Result<usize, Refused> {
        let dropped = self.services.queue.drop_dead(&self.which(letters)?);
        info!(letters = dropped, "an admin dropped dead letters");
        Ok(dropped)
    }

    fn modules(&self) -> Result<ModulesView, Refused> {
        let (seen, values) = self.seen()?;
        Ok(ModulesView { modules: seen.reports().iter().map(module).collect(), problems: values.problems() })
    }

    fn graph(&self) -> Result<GraphView, Refused> {
        Ok(GraphView { modules: self.seen()?.0.graph() })
    }

    fn hooks_of(&self, module: &str) -> Result<Vec<String>, Refused> {
        let subject = self.subject(module)?;
        let live = self.services.hook_registry.live().into_iter();
        let mut names: Vec<_> =
            live.filter(|hook| hook.module.as_ref() == Some(&subject)).map(|hook| hook.spec.name.to_string()).collect();
        names.sort();
        Ok(names)
    }

    fn section(&self, module: &str, part: Part, show_secrets: bool) -> Result<Value, Refused> {
        let (subject, (_, values)) = (self.subject(module)?, self.seen()?);
        if self.services.health.readiness().role == Role::Standby {
            let why = "this replica does not lead, and knows neither the configuration nor what hooks changed: ask the leader";
            return Err(Refused::Conflict(why.to_owned()));
        }
        let mut data = match part {
            Part::Values => values.values(&subject).map_err(Refused::Failed)?,
            Part::Config => values.configuration(&subject),
            Part::Patches => values.patches(&subject),
        };
        if !show_secrets {
            part.hide(&mut data);
        }
        Ok(data)
    }

    fn why<'a>(&'a self, object: &'a str) -> BoxFuture<'a, Result<WhyView, Refused>> {
        async move {
            let object = why::Named::find(&self.services, object).await?;
            Ok(why::why(&self.services, &object))
        }
        .boxed()
    }

    fn why_not<'a>(&'a self, hook: &'a str, object: &'a str) -> BoxFuture<'a, Result<WhyNotView, Refused>> {
        async move {
            let hook = self.live(hook)?;
            let object = why::Named::find(&self.services, object).await?;
            why::why_not(&self.services, &hook, &object).await
        }
        .boxed()
    }

    fn why_run(&self, run: &str) -> WhyView {
        why::why_run(&self.services.causes, run)
    }

    fn writes(&self, query: &WritesQuery) -> Result<WritesView, Refused> {
        details::writes(&self.services.causes, query)
    }

    fn live_runs(&self) -> LiveRunsView {
        details::live_runs(&self.services.causes)
    }

    fn logs(&self, run: &str) -> Result<LogsView, Refused> {
        let lines = self.kept.lines.as_ref();
        let lines =
            lines.ok_or(Refused::Unsupported("show lines of a run: it keeps them only for a console, --console"))?;
        Ok(lines.of(run))
    }

    fn effects(&self, run: &str) -> Result<EffectsView, Refused> {
        const NONE: &str = "show differences: it keeps none; `boathook dev` and `serve --plan` with a console do";
        Ok(self.kept.effects.as_ref().ok_or(Refused::Unsupported(NONE))?.of(run))
    }

    fn sets(&self) -> SetsView {
        details::sets(&self.services)
    }

    fn log_level(&self) -> Result<LogLevelView, Refused> {
        Ok(log_level(self.log()?.current()))
    }

    fn set_log_level(&self, level: &str, lasts: Option<Duration>) -> Result<LogLevelView, Refused> {
        let set = self.log()?.set(level, lasts);
        let setting = set.map_err(|error| Refused::Bad(error_chain(&error)))?;
        let view = log_level(setting);
        info!(level = view.level, until = view.until, "an admin changed what is logged");
        Ok(view)
    }

    fn pause(&self, hook: &str) -> Result<(), Refused> {
        let name = &self.live(hook)?.spec.name;
        if !self.services.queue.pause(name) {
            return Err(self.unknown(hook));
        }
        self.services.loops.stays_paused(name);
        info!(%hook, "an admin paused the hook");
        Ok(())
    }

    fn resume(&self, hook: &str) -> Result<(), Refused> {
        let found = self.live(hook)?;
        let name = &found.spec.name;
        if let (Some(values), Some(Subject::Module(module))) = (&self.services.module_values, &found.module)
            && values.is_paused(module)
        {
            return Err(Refused::Conflict(format!(
                "the module {module} of the hook {hook} is paused, and so is the hook: change the module's maintenance, which \
                 is Paused"
            )));
        }
        if !self.services.queue.resume(name) {
            return Err(self.unknown(hook));
        }
        info!(%hook, "an admin resumed the hook");
        self.services.loops.changed(name);
        Ok(())
    }

    fn quarantine<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>> {
        async move {
            if self.hook_manager.withdraw(hook) {
                return Ok(());
            }
            let found = self.live(hook)?;
            if self.hook_manager.quarantine(&found.spec.name, "an admin put it there") {
                return Ok(());
            }
            // Another command was faster.
            Err(Refused::Conflict(format!("hook {hook} is in quarantine already")))
        }
        .boxed()
    }

    fn release<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>> {
        async move {
            self.known(hook)?;
            self.hook_manager.release(hook).await.map_err(|error| Refused::Conflict(error_chain(&error)))
        }
        .boxed()
    }

    fn reload<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>> {
        async move {
            match self.hook_manager.reload(hook).await {
                Ok(_) => Ok(()),
                Err(ReloadError::NoFile { .. }) if self.known(hook).is_err() => Err(self.unknown(hook)),
                Err(error) => Err(Refused::Conflict(error_chain(&error))),
            }
        }
        .boxed()
    }
}

/// What is known about a hook that runs.
struct Facts<'a> {
    /// What the hook waits for.
    pub missing: Vec<String>,
    /// For each `kubernetes` binding, in the document's order: its status, and why its kind cannot be watched yet.
    pub bindings: Vec<(Arc<BindingStatus>, Option<String>)>,
    pub stats: Option<&'a HookStats>,
    pub runs: RunCounts,
    /// The loops that it is in.
    pub loops: Vec<String>,
}

/// The view of a hook that runs.
fn live(hook: &Hook, facts: Facts<'_>) -> HookView {
    let state = match facts.stats {
        Some(stats) if stats.paused => HookState::Paused,
        _ if facts.missing.is_empty() => HookState::Ready,
        _ => HookState::Pending,
    };
    let spec = &hook.spec;
    let mut statuses = facts.bindings.into_iter();
    let bindings = spec.bindings().filter_map(|binding| match binding {
        BindingRef::Startup(binding) => Some(startup(binding)),
        BindingRef::Stage(binding) => Some(stage(binding)),
        BindingRef::Schedule(binding) => Some(schedule(binding)),
        BindingRef::Kubernetes(binding) => Some(kubernetes(binding, statuses.next())),
        // Its informers are `kubernetes` bindings, which are shown.
        BindingRef::Reconcile(_) => None,
        // `may` shows them.
        BindingRef::Admission(_) | BindingRef::Conversion(_) => None,
    });
    let bindings = bindings.collect();
    HookView {
        name: spec.name.to_string(),
        digest: Some(hook.component.digest().to_owned()),
        interpreter: hook.component.script().map(|script| script.interpreter.in_full()),
        state,
        reasons: facts.missing,
        warnings: spec.warnings.iter().cloned().chain(facts.loops).collect(),
        may: spec.asks().iter().map(ToString::to_string).collect(),
        bindings,
        outstanding: facts.stats.map_or(0, |stats| stats.outstanding),
        runs: facts.runs,
    }
}

/// The view of a module.
fn module(report: &Report) -> ModuleView {
    ModuleView {
        name: match &report.subject {
            Subject::Global => "global".to_owned(),
            Subject::Module(name) => name.to_string(),
        },
        on: report.on,
        why: report.why.clone(),
        at: report.at.to_owned(),
        waits_for: report.waits.clone(),
        error: report.error.clone(),
        failures: report.failures,
    }
}

/// The view of a hook that does not run.
fn quarantined(name: String, reason: String, runs: RunCounts) -> HookView {
    HookView {
        name,
        digest: None,
        interpreter: None,
        state: HookState::Quarantined,
        reasons: vec![reason],
        warnings: Vec::new(),
        may: Vec::new(),
        bindings: Vec::new(),
        outstanding: 0,
        runs,
    }
}

fn binding(name: String, kind: BindingKind, selection: String, queue: &QueueName) -> BindingView {
    BindingView { name, kind, selection, queue: queue.to_string(), ..BindingView::default() }
}

fn startup(spec: &StartupBinding) -> BindingView {
    let selection = format!("order {}", spec.order);
    binding("onStartup".to_owned(), BindingKind::OnStartup, selection, &spec.queue)
}

fn stage(spec: &StageBinding) -> BindingView {
    let selection = format!("order {}", spec.order);
    binding(spec.stage.key().to_owned(), BindingKind::Stage, selection, &QueueName::main())
}

fn schedule(spec: &ScheduleBinding) -> BindingView {
    let zone = spec.time_zone.as_deref().map(|zone| format!(" {zone}")).unwrap_or_default();
    let selection = format!("{}{zone}", spec.crontab);
    BindingView {
        group: spec.group.as_deref().map(str::to_owned),
        ..binding(spec.name.to_string(), BindingKind::Schedule, selection, &spec.queue)
    }
}

fn kubernetes(spec: &KubernetesBinding, status: Option<(Arc<BindingStatus>, Option<String>)>) -> BindingView {
    let (status, pending) = status.unwrap_or_default();
    BindingView {
        group: spec.group.as_deref().map(str::to_owned),
        pending,
        synchronised: Some(status.is_synchronised()),
        objects: Some(status.objects()),
        bytes: Some(status.bytes()),
        failing: Some(status.failing()),
        late: Some(status.late()),
        filter_errors: Some(status.filter_errors()),
        last_error: status.last_error().map(|error| error.to_string()),
        ..binding(spec.name.to_string(), BindingKind::Kubernetes, selection(spec), &spec.queue)
    }
}

fn selection(spec: &KubernetesBinding) -> String {
    let mut out = match &spec.api_version {
        Some(version) => format!("{version} {}", spec.kind),
        None => spec.kind.clone(),
    };
    let (names, namespaces) = (spec.names.join(","), spec.namespaces.join(","));
    let parts = [
        ("named", Some(names.as_str()).filter(|names| !names.is_empty())),
        ("in", Some(namespaces.as_str()).filter(|names| !names.is_empty())),
        ("in namespaces with", spec.namespace_labels.as_deref()),
        ("with", spec.label_selector.as_deref()),
        ("where", spec.field_selector.as_deref()),
    ];
    for (word, value) in parts {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = write!(out, " {word} {value}");
        }
    }
    out
}

/// Counts what happened to a binding's objects.
fn operations(status: &BindingStatus) -> Operations {
    let Changes { added, modified, deleted } = status.changes();
    Operations { since_start: OperationCounts { count: status.objects(), added, modified, deleted } }
}

/// The view of one dead letter. `now` is the current time of both clocks.
fn view(letter: &DeadLetter, (now, wall): (Instant, SystemTime)) -> DeadLetterView {
    DeadLetterView {
        id: letter.id,
        hook: letter.hook.to_string(),
        queue: letter.queue.to_string(),
        binding: letter.binding.to_string(),
        triggers_count: letter.triggers.len(),
        triggers: first(&letter.triggers),
        superseded: letter.superseded,
        attempts: letter.attempts,
        since: Timestamp::try_from(letter.since_by(now, wall)).map(stamp).unwrap_or_default(),
        kind: letter.failure.kind.label().to_owned(),
        message: letter.failure.message.clone(),
    }
}

/// Makes the view of queues from their dumps and their statistics. A queue that was added between the two has no
/// statistics yet.
fn queues(dumps: Vec<QueueDump>, stats: &[QueueStats], why: &WhyIncomplete<'_>) -> QueuesView {
    let stats: HashMap<_, _> = stats.iter().map(|stats| (&stats.queue, stats)).collect();
    QueuesView::of(dumps.into_iter().map(|dump| queue(&dump, stats.get(&dump.queue).copied(), why)).collect())
}

/// Why a binding's snapshot does not contain all objects, if it still does not.
type WhyIncomplete<'a> = dyn Fn(&HookName, &BindingName) -> Option<String> + 'a;

fn queue(dump: &QueueDump, stats: Option<&QueueStats>, why: &WhyIncomplete<'_>) -> QueueView {
    let name = dump.queue.to_string();
    let tasks = dump.triggers.iter().enumerate().map(|(index, trigger)| task(index + 1, &name, trigger)).collect();
    QueueView {
        tasks_count: dump.total,
        status: status(&dump.state, why),
        running: stats.map_or(0, |stats| stats.running),
        retrying: stats.map_or(0, |stats| stats.retrying),
        bytes: stats.map_or(0, |stats| stats.bytes),
        oldest_seconds: stats.and_then(|stats| stats.oldest).map(|age| age.as_secs_f64()),
        tasks,
        name,
    }
}

/// Uses shell-operator's words where it has some.
fn status(state: &QueueState, why: &WhyIncomplete<'_>) -> String {
    let left = |left: &Duration| format!("{:.1}s left", left.as_secs_f64());
    match state {
        QueueState::Empty => String::new(),
        QueueState::Debounced(delay) => format!("waiting for an object to be quiet ({})", left(delay)),
        QueueState::Running => "run first task".to_owned(),
        QueueState::Ready => "waiting for a free place to run".to_owned(),
        QueueState::WaitingForStartup => "waiting for the start-up of the hook".to_owned(),
        QueueState::WaitingForSynchronization(binding) => format!("waiting for the synchronization of {binding}"),
        QueueState::WaitingForList(binding) => format!("waiting for the objects of {binding}"),
        QueueState::WaitingForSnapshot(hook, binding) => {
            let why = why(hook, binding).map(|why| format!(" ({why})")).unwrap_or_default();
            format!("waiting for the complete snapshot of {binding}{why}")
        }
        QueueState::WaitingForToken(delay) => format!("waiting for the rate limit of the hook ({})", left(delay)),
        QueueState::Retry(delay) => format!("sleep after fail ({})", left(delay)),
        QueueState::Paused => "paused".to_owned(),
        QueueState::Held => "waiting for the next version of the hook to take over".to_owned(),
        QueueState::Standby => "waiting for this replica to lead".to_owned(),
    }
}

fn task(index: usize, queue: &str, trigger: &TriggerDump) -> TaskView {
    TaskView {
        index,
        description: description(queue, trigger),
        hook: trigger.hook.to_string(),
        binding: trigger.binding.to_string(),
        cause: capital(trigger.cause),
        group: trigger.group.as_deref().map(str::to_owned),
        object: trigger.object.as_ref().map(|(_, key)| key.to_string()),
        age_seconds: trigger.age.as_secs_f64(),
        failures: trigger.attempts,
        last_failure: trigger.failure.as_deref().map(str::to_owned),
    }
}

/// The task, queue, kind of binding, hook, group, binding and failures are in shell-operator's format. The event is our
/// addition.
fn description(queue: &str, trigger: &TriggerDump) -> String {
    let kind = match trigger.cause {
        "startup" => "onStartup",
        "schedule" => "schedule",
        _ => "kubernetes",
    };
    let mut out = format!("HookRun:{queue}:{kind}:{}", trigger.hook);
    // Writing to a String cannot fail.
    if let Some(group) = &trigger.group {
        let _ = write!(out, ":group={group}");
    }
    let _ = write!(out, ":{}", trigger.binding);
    if kind == "kubernetes" {
        let _ = write!(out, ":{}", capital(trigger.cause));
    }
    if let Some((kind, key)) = &trigger.object {
        let _ = write!(out, " {kind} {key}");
    }
    if trigger.attempts > 0 {
        let _ = write!(out, ":failures {}", trigger.attempts);
    }
    if let Some(failure) = &trigger.failure {
        let _ = write!(out, ":{failure}");
    }
    out
}

/// Writes causes as in binding contexts.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use boathook_core::model::{BindingName, HookName, ObjectKey, QueueName};

    use super::*;

    fn trigger(cause: &'static str) -> TriggerDump {
        TriggerDump {
            hook: HookName::new("h").unwrap(),
            binding: BindingName::new("pods"),
            cause,
            group: None,
            object: None,
            age: Duration::from_millis(1_500),
            running: false,
            attempts: 0,
            failure: None,
        }
    }

    fn dump(queue: QueueName, state: QueueState, triggers: Vec<TriggerDump>) -> QueueDump {
        QueueDump { queue, state, total: triggers.len(), triggers }
    }

    #[test]
    fn tasks_are_described_as_in_shell_operator() {
        let key = ObjectKey { namespace: Some("a".into()), name: "b".into() };
        let failed = TriggerDump {
            group: Some("g".into()),
            object: Some(("Pod".to_owned(), key)),
            attempts: 2,
            failure: Some("no".into()),
            ..trigger("modified")
        };
        let main = dump(QueueName::main(), QueueState::Running, vec![trigger("schedule"), failed]);
        let view = queues(vec![main], &[], &|_, _| None);
        let tasks = &view.active[0].tasks;
        assert_eq!(tasks[0].description, "HookRun:main:schedule:h:pods");
        assert_eq!(tasks[1].description, "HookRun:main:kubernetes:h:group=g:pods:Modified Pod a/b:failures 2:no");
        assert_eq!((tasks[1].index, tasks[1].cause.as_str(), tasks[1].age_seconds), (2, "Modified", 1.5));
    }

    /// An admin who asks why nothing happens sees the reason, which is not always the filter.
    #[test]
    fn queues_say_what_they_wait_for() {
        let memory = |hook: &HookName, binding: &BindingName| Some(format!("no memory for {hook}, {binding}"));
        let hook = HookName::new("h").unwrap();
        let incomplete = QueueState::WaitingForSnapshot(hook, BindingName::new("pods"));
        assert_eq!(status(&incomplete, &memory), "waiting for the complete snapshot of pods (no memory for h, pods)");
        assert_eq!(status(&incomplete, &|_, _| None), "waiting for the complete snapshot of pods");
        assert_eq!(status(&QueueState::Held, &memory), "waiting for the next version of the hook to take over");
        assert_eq!(status(&QueueState::Standby, &memory), "waiting for this replica to lead");
        let quiet = QueueState::Debounced(Duration::from_millis(1_500));
        assert_eq!(status(&quiet, &memory), "waiting for an object to be quiet (1.5s left)");
    }

    #[test]
    fn queues_are_sorted_and_counted() {
        let own = |name: &str| QueueName::Own(HookName::new(name).unwrap());
        let retry = QueueState::Retry(Duration::from_millis(3_210));
        let view = queues(
            vec![
                dump(own("a"), QueueState::Empty, vec![]),
                dump(own("b"), retry, vec![trigger("added")]),
                dump(QueueName::main(), QueueState::Running, vec![trigger("startup"), trigger("startup")]),
            ],
            &[],
            &|_, _| None,
        );
        let names: Vec<_> = view.active.iter().map(|queue| (queue.name.as_str(), queue.status.as_str())).collect();
        assert_eq!(names, [("main", "run first task"), ("hook/b", "sleep after fail (3.2s left)")]);
        assert_eq!((view.empty.len(), view.empty[0].status.as_str()), (1, ""));
        assert_eq!((view.summary.main_queue_tasks, view.summary.total_tasks), (2, 3));
        let others = &view.summary.other_queues;
        assert_eq!((others.active, others.empty, others.tasks), (1, 1, 1));
    }
}

//! The operator of a scenario: its start, its restarts and crashes, and its time.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    model::{Failure, HookName, Reconcile, Reconciled, Variables, error_chain},
    queue,
};
use boathook_egress::HttpConfig;
use boathook_modules::{
    ModuleName,
    life::{self, Report},
};
use boathook_operator::{
    app::{App, Hook, ModulesOptions, Options},
    record::RecordConfig,
    webhook::Answerer,
};
use boathook_sandbox::Directories;
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;

use super::{
    super::{faults::Faults, http::Servers, log::Log, subject::Subject},
    Settings,
};

/// The first second of 2026 in UTC: the time of schedules at the beginning of a scenario.
const BEGINNING: i64 = 1_767_225_600;
/// Maximum number of ticks when time passes.
const MAX_TICKS: usize = 1000;
/// Time limit for a hook's synchronization.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for the start of a module. Its hooks may wait for each other, and its chart for the chart engine.
const PATIENCE_WITH_MODULES: Duration = Duration::from_secs(120);
/// Time between two checks.
const GLANCE: Duration = Duration::from_millis(2);
/// The number of checks in a row after which a module counts as at rest: between two of its steps, it seems to be for a moment.
const CALM: usize = 5;

/// Where an operator finds what it runs.
pub(super) enum Source<'s> {
    Hooks(&'s Path),
    Modules(Box<ModulesOptions>),
}

/// Why a module does not get on.
pub(super) struct Trouble {
    pub why: String,
    /// Another try fails, too, as far as is known.
    pub goes_on: bool,
}

/// What an operator reaches.
pub(super) struct Outside {
    pub client: Client,
    pub faults: Faults,
    pub servers: Servers,
    pub directories: Directories,
    pub variables: Variables,
}

pub struct Operator {
    app: App,
    options: Options,
    subject: Subject,
    /// The client without faults.
    client: Client,
    faults: Faults,
    pub log: Log,
    /// The time of schedules, which advances when a scenario lets time pass.
    now: Timestamp,
}

impl Operator {
    /// Starts the operator with a hook or a module. Waits until the hook has synchronized or failed, or until the module is
    /// ready, waits for something, or has failed.
    pub async fn start(
        subject: &Subject,
        source: Source<'_>,
        outside: Outside,
        settings: &Settings,
        ticks: bool,
        log: Log,
    ) -> Result<Self, String> {
        let loaded = match &source {
            Source::Hooks(directory) => directory.to_path_buf(),
            Source::Modules(options) => options.directories.first().cloned().unwrap_or_default(),
        };
        let client = outside.faults.client(outside.client.clone());
        let mut options = Options::new(client, loaded.clone()).map_err(|error| error.to_string())?;
        if let Source::Modules(modules) = source {
            (options.hooks, options.modules) = (None, Some(*modules));
        }
        let http = HttpConfig { answers: Some(Arc::new(outside.servers.clone())), ..HttpConfig::default() };
        options.http = boathook_egress::Client::new(http).map_err(|error| error_chain(&error))?;
        options.directories = outside.directories.clone();
        options.variables = outside.variables.clone();
        options.sandbox = settings.sandbox.clone();
        options.schedules_tick = ticks;
        options.keep_last_run = true;
        options.grace_period = Duration::from_secs(10);
        if let Some(directory) = &settings.record {
            // Each operator has its own. The name is free again here, because the operator makes the directory itself, so
            // that no other user can read the records.
            let own = tempfile::tempdir_in(directory).map_err(|error| error.to_string())?.path().to_owned();
            options.record = Some(RecordConfig::new(own, loaded));
        }
        let app = started(&options).await?;
        let now = Timestamp::from_second(BEGINNING).unwrap_or_default();
        let Outside { client, faults, .. } = outside;
        let operator = Self { app, options, subject: subject.clone(), client, faults, log, now };
        operator.synchronised().await?;
        Ok(operator)
    }

    /// Shuts the operator down, starts it again with an empty log, and waits as [`Operator::start`] does.
    pub async fn restarted(self) -> Result<Self, String> {
        self.app.shutdown().await;
        self.log.clear();
        let app = started(&self.options).await?;
        let operator = Self { app, ..self };
        operator.synchronised().await?;
        Ok(operator)
    }

    /// Starts again after a crash, with an empty log, and waits as [`Operator::start`] does.
    pub async fn revive(&mut self) -> Result<(), String> {
        while self.faults.has_crashed() {
            self.log.clear();
            self.options.client = self.faults.client(self.client.clone());
            // This ends the operator that has crashed. It has no client since then.
            self.app = started(&self.options).await?;
            self.synchronised().await?;
        }
        Ok(())
    }

    pub async fn shutdown(self) {
        self.app.shutdown().await;
    }

    /// Fires the schedules of this name, and returns their number.
    pub fn tick(&self, schedule: &str) -> usize {
        self.names().iter().map(|hook| self.app.tick(hook, schedule)).sum()
    }

    /// The triggers of the last run of each hook arrive again.
    pub fn run_again(&self) {
        self.names().iter().for_each(|hook| self.app.run_again(hook, |_| {}));
    }

    pub fn queue(&self) -> queue::Handle {
        self.app.queue()
    }

    /// Lets time pass at once, for schedules and for triggers in queues.
    pub fn pass(&mut self, time: Duration) -> Result<(), String> {
        let until = self.now.checked_add(time).map_err(|error| error.to_string())?;
        let all = self.app.pass(&self.names(), self.now, until, MAX_TICKS);
        self.now = until;
        if all { Ok(()) } else { Err(format!("the hook's schedules strike more than {MAX_TICKS} times in it")) }
    }

    /// The names of the hooks: of the only one, whether it runs or not, or of those of a module.
    fn names(&self) -> Vec<HookName> {
        match &self.subject {
            Subject::Hook { name, .. } => vec![name.clone()],
            Subject::Module { .. } => self.app.hooks().iter().map(|hook| hook.spec.name.clone()).collect(),
        }
    }

    /// The hooks that run.
    pub fn hooks(&self) -> Vec<Arc<Hook>> {
        self.names().iter().filter_map(|name| self.app.hook(name)).collect()
    }

    /// The part of the operator that answers requests of the API server.
    pub fn answerer(&self) -> Arc<dyn Answerer> {
        self.app.answerer()
    }

    /// A hook's answer about a parent, or its failure.
    pub async fn reconcile(&self, hook: &HookName, asked: Reconcile) -> Result<Result<Reconciled, Failure>, String> {
        self.app.reconcile_once(hook, asked).await.map_err(|error| error_chain(&error))
    }

    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The values of a module, with `global`.
    pub fn module_values(&self, module: &ModuleName) -> Result<Value, String> {
        self.app.module_values(module)
    }

    /// What the module does, with the global hooks before it.
    fn reports(&self) -> Vec<Report> {
        if self.subject.is_module() { self.app.modules() } else { Vec::new() }
    }

    /// Why the module, or the global hooks that it waits for, do not get on.
    pub fn trouble(&self) -> Option<Trouble> {
        self.reports().into_iter().find_map(|report| {
            let error = report.error?;
            let why = match report.subject {
                life::Subject::Global => format!("the global hooks fail: {error}"),
                life::Subject::Module(_) => error,
            };
            // Hooks that start are tried again in their queue, and their module waits for them.
            Some(Trouble { why, goes_on: report.refused || report.failures != 1 || report.at == "Start" })
        })
    }

    /// What the module does, if it is not ready.
    pub fn state(&self) -> Option<String> {
        let module = self.reports().into_iter().find(|report| matches!(report.subject, life::Subject::Module(_)))?;
        match (module.at, module.waits) {
            ("ready", _) => None,
            ("off", _) => Some(format!("it is off: {}", module.why)),
            (at, None) => Some(format!("it is at {at}")),
            (at, Some(what)) => Some(format!("it is at {at}, and waits for {what}")),
        }
    }

    /// Whether nothing of modules goes on by itself: they are ready or off, wait for something, or have failed.
    pub fn rests(&self) -> bool {
        let rests = |report: &Report| match report.at {
            "ready" | "waiting for modules" => true,
            "off" => report.on == Some(false),
            _ => report.waits.is_some() || report.error.is_some(),
        };
        let reports = self.reports();
        reports.iter().all(rests) && (!reports.is_empty() || !self.subject.is_module())
    }

    async fn synchronised(&self) -> Result<(), String> {
        match &self.subject {
            Subject::Hook { name, .. } => self.hook_synchronised(name).await,
            Subject::Module { name, .. } => self.module_started(name).await,
        }
    }

    async fn module_started(&self, name: &ModuleName) -> Result<(), String> {
        let (began, mut calm) = (Instant::now(), 0);
        while calm < CALM && !self.faults.has_crashed() {
            if began.elapsed() > PATIENCE_WITH_MODULES {
                let state = self.state().unwrap_or_else(|| "global hooks still run".to_owned());
                return Err(format!("the module {name} did not start: {state}"));
            }
            tokio::time::sleep(GLANCE).await;
            calm = if self.rests() { calm + 1 } else { 0 };
        }
        Ok(())
    }

    /// Waits until the hook has synchronized or one of its runs has failed. A retry would wait for time to pass.
    async fn hook_synchronised(&self, name: &HookName) -> Result<(), String> {
        let began = Instant::now();
        loop {
            if self.faults.has_crashed() || !self.log.failures(&self.subject).is_empty() {
                return Ok(());
            }
            let readiness = self.app.readiness();
            if let Some((_, reason)) = readiness.quarantined.first() {
                return Err(format!("the hook cannot be used: {reason}"));
            }
            let missing = readiness.hooks.iter().find(|hook| hook.hook == name.as_str()).map(|hook| &hook.missing);
            match missing {
                Some(missing) if missing.is_empty() && readiness.started => return Ok(()),
                Some(missing) if began.elapsed() > PATIENCE => {
                    return Err(format!("the hook did not synchronise, it waits for {}", missing.join(", ")));
                }
                None if began.elapsed() > PATIENCE => return Err("the hook was not loaded".to_owned()),
                _ => tokio::time::sleep(GLANCE).await,
            }
        }
    }

    /// The series that hooks have reported, as the operator shows them.
    pub async fn metrics(&self) -> Result<String, String> {
        let failed =
            |error: &dyn std::error::Error| format!("the hook's metrics cannot be read: {}", error_chain(error));
        let url = format!("http://{}", self.app.address());
        let config = kube::Config::new(url.parse().map_err(|error: http::uri::InvalidUri| failed(&error))?);
        let client = Client::try_from(config).map_err(|error| failed(&error))?;
        let request = http::Request::get("/metrics/hooks").body(Vec::new()).map_err(|error| failed(&error))?;
        client.request_text(request).await.map_err(|error| failed(&error))
    }
}

async fn started(options: &Options) -> Result<App, String> {
    App::start(options.clone()).await.map_err(|error| error_chain(&error))
}

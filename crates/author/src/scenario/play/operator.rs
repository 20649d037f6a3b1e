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
use boathook_operator::{
    app::{App, Hook, Options},
    record::RecordConfig,
    webhook::Answerer,
};
use boathook_sandbox::Directories;
use jiff::Timestamp;
use kube::Client;

use super::{
    super::{faults::Faults, http::Servers, log::Log},
    Settings,
};

/// The first second of 2026 in UTC: the time of schedules at the beginning of a scenario.
const BEGINNING: i64 = 1_767_225_600;
/// Maximum number of ticks when time passes.
const MAX_TICKS: usize = 1000;
/// Time limit for a hook's synchronization.
const PATIENCE: Duration = Duration::from_secs(30);

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
    hook: HookName,
    /// The client without faults.
    client: Client,
    faults: Faults,
    pub log: Log,
    /// The time of schedules, which advances when a scenario lets time pass.
    now: Timestamp,
}

impl Operator {
    /// Starts the operator with the hook of a directory, and waits until the hook has synchronized or failed.
    pub async fn start(
        hook: &HookName,
        hooks: &Path,
        outside: Outside,
        settings: &Settings,
        ticks: bool,
        log: Log,
    ) -> Result<Self, String> {
        let mut options =
            Options::new(outside.faults.client(outside.client.clone()), hooks).map_err(|error| error.to_string())?;
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
            options.record = Some(RecordConfig::new(own, hooks));
        }
        let app = started(&options).await?;
        let now = Timestamp::from_second(BEGINNING).unwrap_or_default();
        let Outside { client, faults, .. } = outside;
        let operator = Self { app, options, hook: hook.clone(), client, faults, log, now };
        operator.synchronised().await?;
        Ok(operator)
    }

    /// Shuts the operator down, starts it again with an empty log, and waits until the hook has synchronized.
    pub async fn restarted(self) -> Result<Self, String> {
        self.app.shutdown().await;
        self.log.clear();
        let app = started(&self.options).await?;
        let operator = Self { app, ..self };
        operator.synchronised().await?;
        Ok(operator)
    }

    /// Starts again after a crash, with an empty log, and waits until the hook has synchronized.
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
        self.app.tick(&self.hook, schedule)
    }

    /// The triggers of the last run arrive again.
    pub fn run_again(&self) {
        self.app.run_again(&self.hook, |_| {});
    }

    pub fn queue(&self) -> queue::Handle {
        self.app.queue()
    }

    /// Lets time pass at once, for schedules and for triggers in queues.
    pub fn pass(&mut self, time: Duration) -> Result<(), String> {
        let until = self.now.checked_add(time).map_err(|error| error.to_string())?;
        let all = self.app.pass(&self.hook, self.now, until, MAX_TICKS);
        self.now = until;
        if all { Ok(()) } else { Err(format!("the hook's schedules strike more than {MAX_TICKS} times in it")) }
    }

    /// The hook, if it runs.
    pub fn loaded(&self) -> Option<Arc<Hook>> {
        self.app.hook(&self.hook)
    }

    /// The part of the operator that answers requests of the API server.
    pub fn answerer(&self) -> Arc<dyn Answerer> {
        self.app.answerer()
    }

    /// The hook's answer about a parent, or its failure.
    pub async fn reconcile(&self, asked: Reconcile) -> Result<Result<Reconciled, Failure>, String> {
        self.app.reconcile_once(&self.hook, asked).await.map_err(|error| error_chain(&error))
    }

    pub fn hook(&self) -> &str {
        self.hook.as_str()
    }

    /// Waits until the hook has synchronized or one of its runs has failed. A retry would wait for time to pass.
    async fn synchronised(&self) -> Result<(), String> {
        let began = Instant::now();
        loop {
            if self.faults.has_crashed() || !self.log.failures(self.hook.as_str()).is_empty() {
                return Ok(());
            }
            let readiness = self.app.readiness();
            if let Some((_, reason)) = readiness.quarantined.first() {
                return Err(format!("the hook cannot be used: {reason}"));
            }
            let missing = readiness.hooks.iter().find(|hook| hook.hook == self.hook.as_str()).map(|hook| &hook.missing);
            match missing {
                Some(missing) if missing.is_empty() && readiness.started => return Ok(()),
                Some(missing) if began.elapsed() > PATIENCE => {
                    return Err(format!("the hook did not synchronise, it waits for {}", missing.join(", ")));
                }
                None if began.elapsed() > PATIENCE => return Err("the hook was not loaded".to_owned()),
                _ => tokio::time::sleep(Duration::from_millis(2)).await,
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

//! The operator of one scenario, with one hook, in this process and on this thread. It is observed only through its
//! log, its health and its metrics.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{HookName, error_chain};
use boathook_operator::{
    app::{App, Hook, Options},
    webhook::Answerer,
};
use jiff::Timestamp;
use kube::Client;

use super::{super::log::Log, Settings};

/// The first second of 2026 in UTC: the time of schedules at the beginning of a scenario.
const BEGINNING: i64 = 1_767_225_600;
/// Maximum number of ticks when time passes.
const MAX_TICKS: usize = 1000;
/// Time limit for a hook's synchronization.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Operator {
    app: App,
    options: Options,
    hook: HookName,
    pub log: Log,
    /// The time of schedules, which advances when a scenario lets time pass.
    now: Timestamp,
}

impl Operator {
    /// Starts the operator with the hook of a directory, and waits until the hook has synchronized or failed.
    pub async fn start(
        hook: &HookName,
        hooks: &Path,
        client: Client,
        settings: &Settings,
        ticks: bool,
        log: Log,
    ) -> Result<Self, String> {
        let mut options = Options::new(client, hooks).map_err(|error| error.to_string())?;
        options.sandbox = settings.sandbox.clone();
        options.schedules_tick = ticks;
        options.grace_period = Duration::from_secs(10);
        let app = started(&options).await?;
        let now = Timestamp::from_second(BEGINNING).unwrap_or_default();
        let operator = Self { app, options, hook: hook.clone(), log, now };
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

    pub async fn shutdown(self) {
        self.app.shutdown().await;
    }

    /// Fires the schedules of this name, and returns their number.
    pub fn tick(&self, schedule: &str) -> usize {
        self.app.tick(&self.hook, schedule)
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

    pub fn hook(&self) -> &str {
        self.hook.as_str()
    }

    /// Waits until the hook has synchronized or one of its runs has failed. A retry would wait for time to pass.
    async fn synchronised(&self) -> Result<(), String> {
        let began = Instant::now();
        loop {
            if !self.log.failures(self.hook.as_str()).is_empty() {
                return Ok(());
            }
            let readiness = self.app.readiness();
            if let Some((_, reason)) = readiness.quarantined.first() {
                return Err(format!("the hook can't be used: {reason}"));
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
            |error: &dyn std::error::Error| format!("the hook's metrics can't be read: {}", error_chain(error));
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

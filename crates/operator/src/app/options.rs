//! What an operator is made of: one value for each stage. Knows no flag and no environment.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use boathook_core::{effect::Sink, filter::WorkerConfig, queue::QueueConfig};
use boathook_kube::{access::AccessConfig, election::ElectionConfig, watch::StreamConfig};
use boathook_sandbox::SandboxConfig;

use super::{SettingsConfig, sources::Awaited, webhooks::WebhookOptions};
use crate::{
    admin::{Socket, views::RunView},
    record::RecordConfig,
    telemetry::{HookMetrics, LogControl, Metrics},
};

/// Told of a run.
pub type RunEnded = Arc<dyn Fn(&RunView) + Send + Sync>;

/// How to run an operator.
#[derive(Clone)]
pub struct Options {
    /// The cluster; built with `kube::Config::default_retry` off, since retries are decided here.
    pub client: kube::Client,
    /// The cluster's address, for messages.
    pub server: String,
    /// Directory of hooks. None: only bundles.
    pub hooks: Option<PathBuf>,
    /// Sources that are loaded after the start, by [`App::installer`](super::App::installer). Until they are, nothing
    /// is removed that their hooks may have registered at the API server. Default none.
    pub awaited: Awaited,
    /// Address of health and metrics; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where admins ask it. None: nowhere.
    pub admin_socket: Option<Socket>,
    /// Changes what the process logs, when admins ask for that. None: they can't.
    pub log: Option<LogControl>,
    /// Prefix of the operator's metrics.
    pub metrics_prefix: String,
    /// Series of metrics that each hook may report.
    pub hook_metrics_series: usize,
    /// Schedules tick by the clock. Without it, only when [`App::tick`](super::App::tick) is called: for
    /// tests, which need not wait then. Default true.
    pub schedules_tick: bool,
    /// Every write is a server-side dry run, hooks are told so, and a run that failed is not tried again. Default
    /// false.
    pub plan: bool,
    /// Is told what each write did to its object; costs one more read for most writes. Default nobody.
    pub effects: Option<Arc<dyn Sink>>,
    /// No hook runs by itself. Default false.
    pub hold: bool,
    /// On shutdown, or when a hook is replaced, how long runs may take to end.
    pub grace_period: Duration,
    /// Is told of each run when it has ended. It is called from within runs, so it must not wait. Default nobody.
    pub run_ended: Option<RunEnded>,
    /// Keeps what each hook's last run was told, objects included, so that
    /// [`App::run_again`](super::App::run_again) works. Default false.
    pub keep_last_run: bool,
    /// Records runs. Default: none.
    pub record: Option<RecordConfig>,
    /// Takes part in the election of a leader: until it leads, no hook runs by itself and nothing is registered.
    /// Default: none, there is no other replica.
    pub election: Option<ElectionConfig>,
    /// Serves webhooks and registers hooks for them, unless it is a plan or holds its hooks. Default: none.
    pub webhooks: Option<WebhookOptions>,
    /// How settings are checked against bundles' schemas.
    pub settings: SettingsConfig,
    /// Bytes that bindings keep: themselves, their watches and their objects. Tenants have fair shares of them. Default: no
    /// bound.
    pub kept: u64,
    /// Stage 1.
    pub streams: StreamConfig,
    /// Stage 2.
    pub filter: WorkerConfig,
    /// Stage 3.
    pub queue: QueueConfig,
    /// Stage 4.
    pub sandbox: SandboxConfig,
    /// Stage 5.
    pub access: AccessConfig,
}

impl Options {
    /// Defaults for everything but the cluster and the hooks; health on a free loopback port; no admin
    /// socket; filters and settings in workers of this process's own executable. Fails if that can't be found.
    pub fn new(client: kube::Client, hooks: impl Into<PathBuf>) -> std::io::Result<Self> {
        Ok(Self {
            client,
            server: "unknown".to_owned(),
            hooks: Some(hooks.into()),
            awaited: Awaited::default(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            admin_socket: None,
            log: None,
            metrics_prefix: Metrics::DEFAULT_PREFIX.to_owned(),
            hook_metrics_series: HookMetrics::DEFAULT_MAX_SERIES,
            schedules_tick: true,
            plan: false,
            effects: None,
            hold: false,
            grace_period: Duration::from_secs(20),
            run_ended: None,
            keep_last_run: false,
            record: None,
            election: None,
            webhooks: None,
            settings: SettingsConfig::of_this_process()?,
            kept: u64::MAX,
            streams: StreamConfig::default(),
            filter: WorkerConfig::of_this_process()?,
            queue: QueueConfig::default(),
            sandbox: SandboxConfig::default(),
            access: AccessConfig::default(),
        })
    }
}

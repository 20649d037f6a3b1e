//! The configuration of an operator, with one value for each stage. It knows neither flags nor the environment.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use boathook_core::{effect::Sink, model::Variables, queue::QueueConfig};
use boathook_kube::{access::AccessConfig, election::ElectionConfig, watch::StreamConfig};
use boathook_sandbox::{Directories, SandboxConfig};

use super::{SettingsConfig, sources::Awaited, webhooks::WebhookOptions};
use crate::{
    admin::{Socket, views::RunView},
    console::{self, KeptLines},
    hookbundle::SourceOptions,
    record::RecordConfig,
    telemetry::{HookMetrics, LogControl, Metrics},
};

/// Called with each run that ended.
pub type RunEnded = Arc<dyn Fn(&RunView) + Send + Sync>;

/// Which modules run, and where their configuration is.
#[derive(Debug, Clone)]
pub struct ModulesOptions {
    /// Directories of modules, in addon-operator's layout.
    pub directories: Vec<PathBuf>,
    /// The directory of global hooks.
    pub global_hooks: Option<PathBuf>,
    /// The ConfigMap with the configuration, in the operator's namespace.
    pub config_map: String,
    /// The place in the order of modules without a number.
    pub unnumbered_order: u32,
    /// Each directory of modules, and each module, needs a `values.yaml`.
    pub strict: bool,
    /// The pause after the first failure of a module. It doubles with each failure, up to `retry_max`.
    pub retry_initial: Duration,
    pub retry_max: Duration,
    /// How long a chart's objects may take to become ready, and each of its hooks to end.
    pub chart_timeout: Duration,
    /// Follows the cluster's Modules. Default: none, only directories and the ConfigMap count.
    pub resources: Option<ModuleResources>,
}

/// How the cluster's Modules are followed.
#[derive(Debug, Clone)]
pub struct ModuleResources {
    /// What sources may be, and where what they give is stored. If `None`, Modules with a source are refused.
    pub sources: Option<SourceOptions>,
}

impl ModulesOptions {
    /// The modules of these directories, without global hooks.
    pub fn new(directories: Vec<PathBuf>) -> Self {
        Self {
            directories,
            global_hooks: None,
            config_map: "addon-operator".to_owned(),
            unnumbered_order: 1,
            strict: false,
            retry_initial: Duration::from_secs(5),
            retry_max: Duration::from_secs(32),
            chart_timeout: Duration::from_secs(20 * 60),
            resources: None,
        }
    }
}

/// What happens to hooks that cause each other's writes again and again. It is the admin's to decide: a loop has several
/// hooks, whose documents could say different things, and a tenant must not switch it off for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoopPolicy {
    /// The operator only reports them.
    #[default]
    Warn,
    /// Events of the loop's objects wait longer with each turn.
    Slow,
    /// The hooks are paused.
    Stop,
}

#[derive(Clone)]
pub struct Options {
    /// The client of the cluster. Build it with `kube::Config::default_retry` off, because the operator decides about
    /// retries.
    pub client: kube::Client,
    /// The cluster's address, for messages.
    pub server: String,
    /// The directory of hooks. If `None`, there are only bundles.
    pub hooks: Option<PathBuf>,
    /// Sources that [`App::installer`](super::App::installer) loads after the start. Until they are loaded, nothing is
    /// removed that their hooks may have registered at the API server. Default: none.
    pub awaited: Awaited,
    /// The address of health and metrics. Port 0 takes a free port.
    pub listen: SocketAddr,
    /// The admin socket. If `None`, there is none.
    pub admin_socket: Option<Socket>,
    /// Serves the console. Default: none.
    pub console: Option<console::Options>,
    /// The log lines that the console shows. The process's log has its layer. Default: none are kept.
    pub kept_lines: Option<KeptLines>,
    /// Changes the log level at the request of admins. If `None`, they cannot change it.
    pub log: Option<LogControl>,
    /// The prefix of the operator's metrics.
    pub metrics_prefix: String,
    /// The maximum number of series that each hook may report.
    pub hook_metrics_series: usize,
    /// Whether schedules fire by the clock. If not, they fire only when [`App::tick`](super::App::tick) is called, so
    /// that tests need not wait. Default: true.
    pub schedules_tick: bool,
    /// Whether every write is a server-side dry run. Hooks can see that, and a failed run is not retried. Default:
    /// false.
    pub plan: bool,
    /// Receives what each write did to its object. It costs one more read for most writes. Default: none.
    pub effects: Option<Arc<dyn Sink>>,
    /// Whether no hook runs by itself. Default: false.
    pub hold: bool,
    /// How long runs may take to end, on shutdown or when a hook is replaced.
    pub grace_period: Duration,
    /// Called with each run when it has ended. It must not block, because it is called from within runs. Default: none.
    pub run_ended: Option<RunEnded>,
    /// Whether to keep the triggers of each hook's last run, including objects, so that
    /// [`App::run_again`](super::App::run_again) works. Default: false.
    pub keep_last_run: bool,
    /// What happens to hooks that are in a loop. Default: the operator only reports them.
    pub loops: LoopPolicy,
    /// Records runs. Default: none.
    pub record: Option<RecordConfig>,
    /// Records runs that trap or exceed a limit. Default: none.
    pub post_mortems: Option<RecordConfig>,
    /// Takes part in the election of a leader. Until this replica leads, no hook runs by itself and nothing is
    /// registered. Default: none, there is no other replica.
    pub election: Option<ElectionConfig>,
    /// Serves webhooks and registers hooks for them, unless `plan` or `hold` is set. Default: none.
    pub webhooks: Option<WebhookOptions>,
    /// How settings are checked against bundles' schemas.
    pub settings: SettingsConfig,
    /// The bytes that bindings may keep: for themselves, their watches and their objects. Tenants have fair shares of
    /// them. Default: no limit.
    pub kept: u64,
    pub streams: StreamConfig,
    pub queue: QueueConfig,
    pub sandbox: SandboxConfig,
    pub access: AccessConfig,
    /// Sends the HTTP requests of hooks. Default: to public addresses, with TLS.
    pub http: boathook_egress::Client,
    /// The directories of this machine that hooks may request. Default: none.
    pub directories: Directories,
    /// The values of variables in selectors. Default: none.
    pub variables: Variables,
    /// Runs modules. Default: none.
    pub modules: Option<ModulesOptions>,
    /// Whether this is one of several replicas that all run their hooks, each for its node. Hooks that reconcile or answer the
    /// API server are refused. Default: false.
    pub node_agent: bool,
}

impl Options {
    /// Returns defaults for everything except the cluster and the hooks: health on a free loopback port, no admin
    /// socket, no console, and settings in a worker of this process's own executable. Fails if the executable cannot be found.
    pub fn new(client: kube::Client, hooks: impl Into<PathBuf>) -> std::io::Result<Self> {
        Ok(Self {
            client,
            server: "unknown".to_owned(),
            hooks: Some(hooks.into()),
            awaited: Awaited::default(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            admin_socket: None,
            console: None,
            kept_lines: None,
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
            loops: LoopPolicy::default(),
            record: None,
            post_mortems: None,
            election: None,
            webhooks: None,
            settings: SettingsConfig::of_this_process()?,
            kept: u64::MAX,
            streams: StreamConfig::default(),
            queue: QueueConfig::default(),
            sandbox: SandboxConfig::default(),
            access: AccessConfig::default(),
            http: boathook_egress::Client::default(),
            directories: Directories::default(),
            variables: Variables::default(),
            modules: None,
            node_agent: false,
        })
    }
}

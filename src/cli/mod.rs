//! The command line: subcommands, flags, their defaults and help. No other code uses clap.

pub mod addons;
pub mod admin;
pub mod author;
pub mod bundle;
pub mod dev;
pub mod directories;
pub mod hookbundle;
pub mod http;
pub mod interpreters;
#[cfg(feature = "author")]
pub mod modules;
pub mod node;
#[cfg(feature = "author")]
pub mod operators;
pub mod rbac;
pub mod record;
pub mod run;
pub mod webhooks;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

/// Run Kubernetes hooks as WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "boathook", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads the command line and the environment. Ends the process if they are wrong, or ask for help.
    pub fn read() -> Self {
        let has = |name: &str| std::env::var_os(name).is_some();
        let matches = addons::with_variables_of_addon_operator(Self::command(), has).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator: watch the cluster and run hooks
    Serve(Box<Serve>),
    /// Run a Kubernetes API server in this process, for development and tests
    #[cfg(feature = "cluster")]
    Cluster(Cluster),
    /// Show what a component is, what triggers it and what it requests
    #[cfg(feature = "author")]
    Inspect(Inspect),
    /// Print the JSON Schema of the document that a hook's `config` returns
    #[command(after_help = "Examples:
  boathook schema > hook-document.schema.json    # then, in a YAML file: # yaml-language-server: $schema=…")]
    Schema,
    /// Print the CustomResourceDefinition of HookBundle
    #[command(after_help = "Examples:
  boathook crd | kubectl apply --server-side -f -
  boathook crd -o json | jq '.items[].spec.versions[].schema'")]
    Crd(Crd),
    /// Run scenario files: given objects, what happens to them, and the expected result
    #[cfg(feature = "author")]
    Test(Test),
    /// Develop a hook: build it, run it, show its runs, and rebuild it when its source changes
    #[cfg(feature = "author")]
    Dev(dev::Dev),
    /// Run a component once, without a cluster, and show what it writes
    #[cfg(feature = "author")]
    Run(run::Run),
    /// Show a hook running on a local cluster, in ten seconds
    #[cfg(feature = "cluster")]
    Demo(Demo),
    /// Print the least-privilege roles for hooks, or with --check the differences from them
    #[cfg(feature = "author")]
    Rbac(rbac::Rbac),
    /// Manage bundles, sets of hooks as one artifact in a registry: pack, push, pull, inspect, verify, sign,
    /// save, load
    #[cfg(feature = "author")]
    #[command(arg_required_else_help = true)]
    Bundle(bundle::Bundle),
    /// Read modules in addon-operator's layout: list and check them, render their charts, show their graph
    #[cfg(feature = "author")]
    #[command(arg_required_else_help = true)]
    Modules(modules::Modules),
    /// Show and roll back the revisions of what hooks made of custom resources: history, diff, rollback
    #[cfg(feature = "author")]
    #[command(arg_required_else_help = true)]
    Operators(operators::Operators),
    /// Manage the interpreters of script hooks: list, compile, pull, push
    #[command(arg_required_else_help = true)]
    Interpreters(interpreters::Interpreters),
    /// Commands for authors of hooks.
    #[cfg(feature = "author")]
    #[command(flatten)]
    Author(author::Author),
    /// Commands for records of runs.
    #[cfg(feature = "author")]
    #[command(flatten)]
    Record(record::Record),
    /// The command that removes an operator from a cluster.
    #[command(flatten)]
    Remove(webhooks::Remove),
    /// Commands that query and control a running operator.
    #[command(flatten)]
    Admin(admin::Admin),
    /// Check settings against a schema for a parent process
    #[command(hide = true)]
    SettingsWorker(WorkerBounds),
    /// Compile a component for a parent process
    #[command(hide = true)]
    CompileWorker(CompileWorker),
}

/// `boathook serve`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook serve --hooks ./hooks                      # the cluster of the current kubeconfig context
  boathook serve --hooks /hooks --log-format json     # in a cluster, with the Pod's ServiceAccount
  boathook serve --kubeconfig dev.yaml --hooks hooks-wasm/dist --listen 127.0.0.1:0
  boathook serve --hooks ./hooks --webhook-url https://10.0.0.7:9443      # webhooks, from outside the cluster
  boathook serve --bundle registry.example.com/team/hooks:v1 --key team.pub   # re-resolves v1 periodically
  boathook serve --hooks ./hooks --leader-elect       # as one of several replicas
  boathook serve --hooks ./hooks --plan               # shows what hooks would write, and writes nothing
  boathook serve --hooks ./hooks --console 127.0.0.1:9117   # a page for a browser

Exit codes: 0 after SIGTERM or SIGINT, 1 when it cannot start, 3 when shutdown interrupted runs, 4 when
another replica may lead now, 5 when one of its long-lived tasks ended by itself, which is a defect.")]
pub struct Serve {
    /// Directory with the hooks: each NAME.wasm in it is a hook, and each executable bash script in it or below it.
    /// Without it, hooks come from bundles and HookBundles
    #[arg(long, value_name = "DIR", env = "BOATHOOK_HOOKS")]
    pub hooks: Option<PathBuf>,
    /// Address for health and metrics endpoints, which are listed at /discovery. Port 0 picks a free port and logs it.
    /// The shipped manifests use 0.0.0.0:9115
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9115", env = "BOATHOOK_LISTEN")]
    pub listen: SocketAddr,
    /// Dry run: send every write with `dryRun=All` and print a diff per object; failed runs are not retried
    #[arg(long, env = "BOATHOOK_PLAN")]
    pub plan: bool,
    /// Unix socket for `boathook hooks`, `boathook queues` and similar commands. Its directory is private and created
    /// if missing. `none` for no socket [default: the first usable path of $XDG_RUNTIME_DIR/boathook/admin.sock,
    /// /run/boathook/admin.sock, boathook-UID/admin.sock in the temporary directory]
    #[arg(long, value_name = "PATH", env = "BOATHOOK_ADMIN_SOCKET")]
    pub admin_socket: Option<PathBuf>,
    /// Address for the console: a page for a browser that shows hooks, runs, writes and their causes, and changes nothing.
    /// Visitors give a token, and the API server says whether they may see it [default: no console]. Choose a loopback
    /// address, for example 127.0.0.1:9117, and reach it with `kubectl port-forward`
    #[arg(long, value_name = "ADDR", env = "BOATHOOK_CONSOLE")]
    pub console: Option<SocketAddr>,
    /// Directory for compiled components; must be owned by, and writable only by, the current user; created if missing
    /// [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Directory with the interpreters of script hooks, NAME-VERSION.wasm; several are allowed [default:
    /// share/boathook/interpreters next to this program's bin]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_INTERPRETERS", value_delimiter = ':')]
    pub interpreters: Vec<PathBuf>,
    /// What to do about a loop, in which hooks cause each other's writes again and again: report it, delay the events of its
    /// objects longer with each turn, or pause its hooks until `boathook resume`
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = Loops::Warn, env = "BOATHOOK_LOOPS")]
    pub loops: Loops,
    /// How long hooks that run may take to end on shutdown (at most 30s)
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = grace, env = "BOATHOOK_GRACE_PERIOD")]
    pub grace_period: std::time::Duration,
    /// Flags for bundles.
    #[command(flatten)]
    pub bundles: bundle::Served,
    /// Flags for HookBundles.
    #[command(flatten)]
    pub hook_bundles: hookbundle::HookBundles,
    /// Flags for modules.
    #[command(flatten)]
    pub addons: addons::Addons,
    /// Flags for HTTP requests.
    #[command(flatten)]
    pub http: http::Http,
    /// Flags for directories.
    #[command(flatten)]
    pub directories: directories::Directories,
    /// Flags for an operator of one node.
    #[command(flatten)]
    pub node: node::NodeAgent,
    /// Flags for the connection to the cluster.
    #[command(flatten, next_help_heading = "Cluster")]
    pub connection: Connection,
    /// The operator's namespace: of its Lease and its Secret, of the configuration and state of modules, and of objects that
    /// have none [default: the namespace of the kubeconfig's context, or the Pod's]
    #[arg(short, long, help_heading = "Cluster", value_name = "NAME", value_parser = rbac::label, env = "BOATHOOK_NAMESPACE")]
    pub namespace: Option<String>,
    /// Flags for the log.
    #[command(flatten, next_help_heading = "Logging")]
    pub log: Log,
    /// Maximum number of runs at the same time, of all hooks together. One namespace of HookBundles, or one hook of the
    /// admin, gets at most three quarters of them
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096), env = "BOATHOOK_MAX_PARALLEL_RUNS")]
    pub max_parallel_runs: u16,
    /// Maximum number of runs of one hook at the same time, regardless of its `concurrency`
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=1000), env = "BOATHOOK_MAX_CONCURRENCY")]
    pub max_concurrency: u16,
    /// Memory limit for the operator and its child processes, in MiB: a quarter each for runs, for compiling, for
    /// filters, and for the operator itself [default: the container's limit, or the machine's memory]
    #[arg(long, help_heading = "Limits", value_name = "MIB", value_parser = clap::value_parser!(u32).range(1024..), env = "BOATHOOK_MEMORY_LIMIT")]
    pub memory_limit: Option<u32>,
    /// Maximum memory for compiling a component, in MiB. Components are compiled one at a time [default: a quarter of
    /// the memory limit, at most 1024]
    #[arg(long, help_heading = "Limits", value_name = "MIB", value_parser = clap::value_parser!(u32).range(128..=65536), env = "BOATHOOK_COMPILE_MEMORY")]
    pub compile_memory: Option<u32>,
    /// Upper bound for a hook's `limits.memory`, in MiB. It cannot exceed a tenant's share of the memory for runs, which
    /// is three quarters
    #[arg(long, help_heading = "Limits", value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096), env = "BOATHOOK_MAX_MEMORY")]
    pub max_memory: u32,
    /// Prefix of the operator's own metrics
    #[arg(
        long,
        help_heading = "Metrics and traces",
        value_name = "TEXT",
        default_value = "boathook_",
        env = "BOATHOOK_METRICS_PREFIX"
    )]
    pub metrics_prefix: String,
    /// Send traces of runs, host calls and filters to this OpenTelemetry collector (OTLP over HTTP), for example
    /// http://collector:4318 [default: $OTEL_EXPORTER_OTLP_ENDPOINT, or none]
    #[arg(long, help_heading = "Metrics and traces", value_name = "URL", env = "BOATHOOK_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
    /// Maximum number of metric series that each hook may report at /metrics/hooks
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000), env = "BOATHOOK_HOOK_METRICS_SERIES")]
    pub hook_metrics_series: u32,
    /// Flags for records of runs.
    #[command(flatten, next_help_heading = "Recording")]
    pub recording: record::Recording,
    /// Flags for post-mortems.
    #[command(flatten)]
    pub post_mortems: record::PostMortems,
    /// Flags for webhooks.
    #[command(flatten, next_help_heading = "Webhooks")]
    pub webhooks: webhooks::Webhooks,
    /// Flags for replicas.
    #[command(flatten, next_help_heading = "Replicas")]
    pub election: Election,
}

/// What to do about a loop of hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Loops {
    /// Report them.
    Warn,
    /// Delay the events of their objects.
    Slow,
    /// Pause them.
    Stop,
}

/// Flags for the connection to the cluster.
#[derive(Debug, Args)]
pub struct Connection {
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the Pod's ServiceAccount]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Flags for the log.
#[derive(Debug, Args)]
pub struct Log {
    /// Format of log lines, which go to stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Text, env = "BOATHOOK_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// error, warn, info, debug or trace, or a level per target: info,hook=debug. The default hides the log lines of
    /// the Kubernetes client library, because Boathook logs the same errors with more context
    #[arg(long, value_name = "FILTER", default_value = "info,kube_client=off", env = "BOATHOOK_LOG_LEVEL")]
    pub log_level: String,
}

/// Formats of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Human-readable.
    Text,
    /// One JSON object per line.
    Json,
}

/// `boathook cluster`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook cluster --write-kubeconfig dev.yaml &
  kubectl --kubeconfig dev.yaml create namespace x
  boathook cluster --write-kubeconfig dev.yaml --controllers all &    # Deployments roll out
  boathook cluster --write-kubeconfig dev.yaml --rbac &
  kubectl --kubeconfig dev.yaml --as system:serviceaccount:x:hook auth can-i create secrets -n x
  boathook cluster --service policy/webhook=127.0.0.1:9443 &    # manifests with clientConfig.service work

Prints `ready` when it serves requests. Keeps all objects in memory, and ends on SIGTERM or Ctrl-C.
--load reads what --save wrote.")]
pub struct Cluster {
    /// Write a kubeconfig for kubectl and Boathook to this file
    #[arg(long, value_name = "FILE")]
    pub write_kubeconfig: Option<PathBuf>,
    /// Loopback address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Start with the objects of this YAML file, or of the *.yaml, *.yml and *.json files of this folder; may be
    /// repeated
    #[arg(long, value_name = "FILE|DIR")]
    pub load: Vec<PathBuf>,
    /// On exit, write all objects, including Secrets, to this YAML file
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Keep dependents when their owners are deleted
    #[arg(long)]
    pub no_garbage_collection: bool,
    /// Authorize requests with RBAC; the kubeconfig is then an administrator's and uses TLS
    #[arg(long)]
    pub rbac: bool,
    /// Call webhooks of this Service at this address, for any port; may be repeated
    #[arg(long = "service", value_name = "NAMESPACE/NAME=ADDR", value_parser = webhooks::mapped)]
    pub services: Vec<webhooks::Mapped>,
    /// Controllers to run: all, or some of clusterroles, deployments, jobs, kubernetes-service, pods, replicasets,
    /// root-ca, serviceaccounts
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub controllers: Vec<String>,
}

/// `boathook inspect`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook inspect hooks-wasm/dist/registry-secret.wasm
  boathook inspect hook.wasm -o json | jq .document.permissions

Exit codes: 0 when the hook is valid, 1 when it is not. The reasons go to stderr.")]
pub struct Inspect {
    /// The component
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Formats of printed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Human-readable.
    Text,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// `boathook crd`
#[derive(Debug, Args)]
pub struct Crd {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    pub output: Output,
}

/// `boathook test`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook test hooks-wasm                            # NAME/scenarios/*.yaml, with dist/NAME.wasm
  boathook test target/wasm32-wasip2/release/copy.wasm --scenarios scenarios
  boathook test web/scenarios/shop.yaml
  boathook test hooks --filter 'new namespace' -o json
  boathook test hooks --update                        # expects the actual objects from now on
  boathook test hooks --sweep                         # each scenario again with one fault
  boathook test modules/010-web                       # a module, with its scenarios/*.yaml
  boathook test --schema > scenario.schema.json

Each scenario has its own empty cluster in this process, and an operator with only its hook or module.

Exit codes: 0 when all scenarios passed, 1 when one failed, 2 when there is no scenario or a file is invalid.
With exit code 2, no scenario has run.")]
pub struct Test {
    /// Directory with the folders of hooks or modules, folder of one of them, component, or one scenario
    #[arg(value_name = "DIR|FILE.wasm|FILE.yaml", default_value = ".")]
    pub path: PathBuf,
    /// Directory of the components, each NAME.wasm [default: the folder that contains `scenarios`, its
    /// `target/boathook`, or a folder `dist` in it or in a parent folder]
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
    /// Scenarios of a component [default: the folder `scenarios` next to it, or NAME/scenarios next to it or above]
    #[arg(long, value_name = "DIR|FILE.yaml")]
    pub scenarios: Option<PathBuf>,
    /// Run only scenarios whose file or name contains this text
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// List the scenarios and run none
    #[arg(long)]
    pub list: bool,
    /// Update the scenario files: where objects, values or manifests differ, expect the actual ones
    #[arg(long)]
    pub update: bool,
    /// Play each scenario again with one fault, for each fault that is possible, or for N of them, and compare the final states
    #[arg(long, value_name = "N", require_equals = true, conflicts_with_all = ["update", "list"])]
    pub sweep: Option<Option<u16>>,
    /// Seed for the choice of the faults of `--sweep=N` [default: 0]
    #[arg(long, value_name = "S", requires = "sweep")]
    pub seed: Option<u64>,
    /// Number of scenarios at the same time [default: twice the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// Directory for compiled components [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Print the JSON Schema of scenario files
    #[arg(long)]
    pub schema: bool,
}

/// `boathook demo`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  make demo                 # builds the hook first
  boathook demo --keep      # then: kubectl --kubeconfig FILE create namespace x

Exit codes: 0 when the hook worked, 1 when it did not, 130 when it was interrupted.")]
pub struct Demo {
    /// The component of the hook to show
    #[arg(long, value_name = "FILE", default_value = "hooks-wasm/dist/registry-secret.wasm")]
    pub hook: PathBuf,
    /// Keep serving afterwards, to try things with kubectl, until Ctrl-C
    #[arg(long)]
    pub keep: bool,
}

/// The lower bound protects the registry from constant requests.
fn pause(text: &str) -> Result<std::time::Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration.as_secs() < 1 { Err("at least 1s is needed".to_owned()) } else { Ok(duration) }
}

/// The whole shutdown is bounded by 30 s, and runs take a part of it.
fn grace(text: &str) -> Result<std::time::Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration.as_secs() > 30 { Err("at most 30s are allowed".to_owned()) } else { Ok(duration) }
}

/// Flags for replicas.
#[derive(Debug, Args)]
pub struct Election {
    /// Run as one of several replicas: a Lease elects the replica that runs hooks. The others answer webhooks and are
    /// ready to take over
    #[arg(long, conflicts_with = "plan", env = "BOATHOOK_LEADER_ELECT")]
    pub leader_elect: bool,
    /// Name of the Lease that all replicas of this operator share [default: boathook, with --instance
    /// boathook-INSTANCE]
    #[arg(long, value_name = "NAME", value_parser = object_name, env = "BOATHOOK_LEASE_NAME")]
    pub lease_name: Option<String>,
    /// Namespace of the Lease [default: the operator's own]
    #[arg(long, value_name = "NAME", value_parser = object_name, env = "BOATHOOK_LEASE_NAMESPACE")]
    pub lease_namespace: Option<String>,
    /// Lease duration, from 2s to 5m: how long standbys wait after the last observed renewal. A leader that cannot
    /// renew the Lease for two thirds of this time ends
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration, env = "BOATHOOK_LEASE_DURATION")]
    pub lease_duration: Duration,
}

/// Checks for a valid name of a Kubernetes object.
fn object_name(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.len() <= 253 && text.chars().all(inner) && text.starts_with(edge) && text.ends_with(edge) {
        return Ok(text.to_owned());
    }
    Err("use lower-case letters, digits, '-' and '.', a letter or digit first and last".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (2..=300).contains(&duration.as_secs()) { Ok(duration) } else { Err("must be from 2s to 5m".to_owned()) }
}

/// Resource limits of a worker process.
#[derive(Debug, Clone, Copy, Args)]
pub struct WorkerBounds {
    /// Memory limit in bytes
    #[arg(long, value_name = "BYTES")]
    pub memory: u64,
    /// CPU time limit in seconds [default: as the parent process sets it later]
    #[arg(long, value_name = "SECONDS")]
    pub cpu: Option<u64>,
    /// Seconds until the process ends itself [default: it ends with its input]
    #[arg(long, value_name = "SECONDS")]
    pub time: Option<u64>,
}

/// `boathook compile-worker`
#[derive(Debug, Args)]
pub struct CompileWorker {
    /// Resource limits.
    #[command(flatten)]
    pub bounds: WorkerBounds,
    /// Which engine to compile for.
    #[command(flatten)]
    pub engine: CompileFor,
    /// Also write the code to this file of the cache
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
}

/// Which engine a component is compiled for.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct CompileFor {
    /// For an engine with a pool of instances
    #[arg(long)]
    pub pooled: bool,
    /// For an engine without one
    #[arg(long)]
    pub on_demand: bool,
    /// For the engine of filters
    #[arg(long)]
    pub filters: bool,
    /// For the engine of charts
    #[arg(long)]
    pub charts: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{duration, object_name};

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn a_lease_is_neither_too_short_nor_too_long() {
        for (text, fits) in [("2s", true), ("15s", true), ("5m", true), ("1s", false), ("6m", false), ("15", false)] {
            assert_eq!(duration(text).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn a_lease_has_the_name_of_an_object() {
        for (text, fits) in
            [("boathook", true), ("a.b-1", true), ("", false), ("A", false), ("-a", false), ("a/b", false)]
        {
            assert_eq!(object_name(text).is_ok(), fits, "{text}");
        }
    }
}

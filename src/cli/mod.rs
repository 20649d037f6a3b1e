//! What is typed: subcommands, flags, their defaults and help. The only user of clap.

pub mod admin;
pub mod author;
pub mod bundle;
pub mod dev;
pub mod election;
pub mod hookbundle;
pub mod interpreters;
pub mod rbac;
pub mod record;
pub mod run;
pub mod webhooks;
pub mod worker;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Runs Kubernetes hooks as WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "boathook", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator: watch the cluster and run hooks
    Serve(Box<Serve>),
    /// Run a Kubernetes API server in this process, for development and tests
    #[cfg(feature = "author")]
    Cluster(Cluster),
    /// Show what a component is, what wakes it and what it asks for
    #[cfg(feature = "author")]
    Inspect(Inspect),
    /// Print the JSON Schema of the document that a hook's `config` returns
    #[command(after_help = "Examples:
  boathook schema > hook-document.schema.json    # then, in a YAML file: # yaml-language-server: $schema=…")]
    Schema,
    /// Print the CustomResourceDefinition of HookBundle
    #[command(after_help = "Examples:
  boathook crd | kubectl apply --server-side -f -
  boathook crd -o json | jq '.spec.versions[].schema'")]
    Crd(Crd),
    /// Play scenario files: given objects, what happens to them, what must come of it
    #[cfg(feature = "author")]
    Test(Test),
    /// Work on a hook: build it, run it, show its runs, and begin anew when its source changes
    #[cfg(feature = "author")]
    Dev(dev::Dev),
    /// Run a component once, without a cluster, and show what it writes
    #[cfg(feature = "author")]
    Run(run::Run),
    /// See a hook at work on a local cluster, in ten seconds
    #[cfg(feature = "author")]
    Demo(Demo),
    /// Print the least roles for hooks, or with --check what differs from them
    #[cfg(feature = "author")]
    Rbac(rbac::Rbac),
    /// Sets of hooks as one artifact in a registry: pack, push, pull, inspect, verify, sign
    #[cfg(feature = "author")]
    #[command(arg_required_else_help = true)]
    Bundle(bundle::Bundle),
    /// What runs script hooks: list, compile, pull, push
    #[command(arg_required_else_help = true)]
    Interpreters(interpreters::Interpreters),
    /// From nothing to a component.
    #[cfg(feature = "author")]
    #[command(flatten)]
    Author(author::Author),
    /// Records of runs.
    #[cfg(feature = "author")]
    #[command(flatten)]
    Record(record::Record),
    /// What takes an operator's traces out of a cluster.
    #[command(flatten)]
    Remove(webhooks::Remove),
    /// What is asked of a running operator.
    #[command(flatten)]
    Admin(admin::Admin),
    /// Evaluate jq filters for a parent process
    #[command(hide = true)]
    FilterWorker(worker::WorkerBounds),
    /// Check settings against a schema for a parent process
    #[command(hide = true)]
    SettingsWorker(worker::WorkerBounds),
    /// Compile a component for a parent process
    #[command(hide = true)]
    CompileWorker(worker::CompileWorker),
}

/// `boathook serve`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook serve --hooks ./hooks                      # the cluster of the current kubeconfig context
  boathook serve --hooks /hooks --log-format json     # in a cluster, with the Pod's ServiceAccount
  boathook serve --kubeconfig dev.yaml --hooks hooks-wasm/dist --listen 127.0.0.1:0
  boathook serve --hooks ./hooks --webhook-url https://10.0.0.7:9443      # hooks that validate, from outside
  boathook serve --bundle registry.example.com/team/hooks:v1 --key team.pub   # looks for another v1 in time
  boathook serve --hooks ./hooks --leader-elect       # one of several replicas
  boathook serve --hooks ./hooks --plan               # shows what hooks would write, and writes nothing

Exit codes: 0 after SIGTERM or SIGINT, 1 when it can't start, 3 when runs had to be interrupted on shutdown, 4 when
another replica may lead now, 5 when one of its long-lived tasks ended by itself, which is a defect.")]
pub struct Serve {
    /// Directory with the hooks: each NAME.wasm in it is one. Without it, hooks come from bundles and HookBundles
    #[arg(long, value_name = "DIR", env = "BOATHOOK_HOOKS")]
    pub hooks: Option<PathBuf>,
    /// Bundles.
    #[command(flatten)]
    pub bundles: bundle::Served,
    /// HookBundles.
    #[command(flatten)]
    pub hook_bundles: hookbundle::HookBundles,
    /// Connection to the cluster.
    #[command(flatten)]
    pub connection: Connection,
    /// Address of health and metrics, which it lists at /discovery; port 0 takes a free one and logs it. In a Pod it is
    /// 0.0.0.0:9115, as the shipped manifests have it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9115", env = "BOATHOOK_LISTEN")]
    pub listen: SocketAddr,
    /// Keep hands off: every write is a server-side dry run, and is shown as a difference per object; a run that
    /// fails is not tried again
    #[arg(long, env = "BOATHOOK_PLAN")]
    pub plan: bool,
    /// Unix socket for `boathook hooks`, `queues` and the like; its directory is private, and made if it is
    /// missing. `none` for no socket [default: the first that can be used of
    /// $XDG_RUNTIME_DIR/boathook/admin.sock, /run/boathook/admin.sock, boathook-UID/admin.sock in the
    /// temporary directory]
    #[arg(long, value_name = "PATH", env = "BOATHOOK_ADMIN_SOCKET")]
    pub admin_socket: Option<PathBuf>,
    /// Logging.
    #[command(flatten)]
    pub log: Log,
    /// Directory for compiled components, owned by and writable for nobody else; created if
    /// missing [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Directory with the interpreters of script hooks, NAME-VERSION.wasm; several are allowed [default:
    /// share/boathook/interpreters beside this program's bin]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_INTERPRETERS", value_delimiter = ':')]
    pub interpreters: Vec<PathBuf>,
    /// Hooks that run at the same time, all together; one namespace of HookBundles, or one hook of the admin's, gets
    /// three quarters of them at most
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096), env = "BOATHOOK_MAX_PARALLEL_RUNS")]
    pub max_parallel_runs: u16,
    /// Runs of one hook at the same time, whatever its `concurrency` says
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=1000), env = "BOATHOOK_MAX_CONCURRENCY")]
    pub max_concurrency: u16,
    /// Memory for the operator and the processes that it starts, in MiB: a quarter each for runs, for compiling, for
    /// filters, and for the operator itself [default: the container's limit, or the machine's memory]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1024..), env = "BOATHOOK_MEMORY_LIMIT")]
    pub memory_limit: Option<u32>,
    /// Most memory for compiling a component, in MiB; one is compiled at a time [default: a quarter of the memory limit,
    /// at most 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(128..=65536), env = "BOATHOOK_COMPILE_MEMORY")]
    pub compile_memory: Option<u32>,
    /// Most memory that a hook's `limits.memory` can allow, in MiB; never more than one tenant's share of what all runs
    /// have, three quarters of it
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096), env = "BOATHOOK_MAX_MEMORY")]
    pub max_memory: u32,
    /// Prefix of the operator's own metrics
    #[arg(long, value_name = "TEXT", default_value = "boathook_", env = "BOATHOOK_METRICS_PREFIX")]
    pub metrics_prefix: String,
    /// Send traces of runs, host calls and filters to this OpenTelemetry collector (OTLP over HTTP),
    /// like http://collector:4318 [default: $OTEL_EXPORTER_OTLP_ENDPOINT, or none]
    #[arg(long, value_name = "URL", env = "BOATHOOK_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
    /// Series of metrics that each hook may report at /metrics/hooks
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000), env = "BOATHOOK_HOOK_METRICS_SERIES")]
    pub hook_metrics_series: u32,
    /// Records of runs.
    #[command(flatten)]
    pub recording: record::Recording,
    /// Webhooks.
    #[command(flatten)]
    pub webhooks: webhooks::Webhooks,
    /// Replicas.
    #[command(flatten)]
    pub election: election::Election,
    /// On shutdown, how long running hooks may take to end (at most 30s)
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = grace, env = "BOATHOOK_GRACE_PERIOD")]
    pub grace_period: std::time::Duration,
}

/// How to reach the cluster.
#[derive(Debug, Args)]
pub struct Connection {
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the Pod's ServiceAccount]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// How to log.
#[derive(Debug, Args)]
pub struct Log {
    /// Format of log lines, which go to stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Text, env = "BOATHOOK_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// error, warn, info, debug or trace; or a level for each target: info,hook=debug. By default
    /// without the client library's lines, which say again what Boathook says with its context
    #[arg(long, value_name = "FILTER", default_value = "info,kube_client=off", env = "BOATHOOK_LOG_LEVEL")]
    pub log_level: String,
}

/// Formats of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
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

Prints `ready` when it serves. It keeps everything in memory and ends with SIGTERM or Ctrl-C.
--load takes what --save wrote.")]
pub struct Cluster {
    /// Write a kubeconfig for kubectl and Boathook to this file
    #[arg(long, value_name = "FILE")]
    pub write_kubeconfig: Option<PathBuf>,
    /// Loopback address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Start with the objects of this YAML file, or of a folder's *.yaml, *.yml and *.json; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    pub load: Vec<PathBuf>,
    /// Write all objects, Secrets included, to this YAML file at the end
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Leave dependents alone when their owners are deleted
    #[arg(long)]
    pub no_garbage_collection: bool,
    /// Decide by RBAC what a request may do; the kubeconfig is then an administrator's, over TLS
    #[arg(long)]
    pub rbac: bool,
    /// Call webhooks of this Service at this address, whatever port they name; may be repeated
    #[arg(long = "service", value_name = "NAMESPACE/NAME=ADDR", value_parser = webhooks::mapped)]
    pub services: Vec<webhooks::Mapped>,
    /// What the cluster does by itself: all, or some of clusterroles, deployments, jobs, kubernetes-service, pods,
    /// replicasets, root-ca, serviceaccounts
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub controllers: Vec<String>,
}

/// `boathook inspect`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook inspect hooks-wasm/dist/registry-secret.wasm
  boathook inspect hook.wasm -o json | jq .document.permissions

Exit codes: 0 when the hook can be used, 1 when it can't; the reasons go to stderr.")]
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
    /// For people.
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
  boathook test hooks --update                        # takes the objects that are found for the expected ones
  boathook test --schema > scenario.schema.json

Each scenario has an empty cluster of its own in this process, and an operator with just its hook.

Exit codes: 0 when all scenarios passed, 1 when one did not, 2 when there is none, or a file is wrong: nothing is played then.")]
pub struct Test {
    /// A directory with hooks' folders, a hook's folder, a component, or one scenario
    #[arg(value_name = "DIR|FILE.wasm|FILE.yaml", default_value = ".")]
    pub path: PathBuf,
    /// Directory of the components, each NAME.wasm [default: beside the scenarios' folder, in
    /// `target/boathook` there, or in a folder `dist` at or above it]
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
    /// A component's scenarios [default: the folder `scenarios` beside it, or NAME/scenarios beside it or
    /// above]
    #[arg(long, value_name = "DIR|FILE.yaml")]
    pub scenarios: Option<PathBuf>,
    /// Play only scenarios whose file or name contains this
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Show the scenarios and play none
    #[arg(long)]
    pub list: bool,
    /// Change files to expect the objects that are found in place of those that differ
    #[arg(long)]
    pub update: bool,
    /// Scenarios at the same time [default: twice the number of cores]
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

Exit codes: 0 when the hook did its work, 1 when it did not, 130 when it was interrupted.")]
pub struct Demo {
    /// The component of the hook to show
    #[arg(long, value_name = "FILE", default_value = "hooks-wasm/dist/registry-secret.wasm")]
    pub hook: PathBuf,
    /// Go on serving afterwards, to try things with kubectl, until Ctrl-C
    #[arg(long)]
    pub keep: bool,
}

/// A registry is not to be asked all the time.
fn pause(text: &str) -> Result<std::time::Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration.as_secs() < 1 { Err("at least 1s is needed".to_owned()) } else { Ok(duration) }
}

/// The whole shutdown is bounded by 30 s, runs take a part of it.
fn grace(text: &str) -> Result<std::time::Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration.as_secs() > 30 { Err("at most 30s are allowed".to_owned()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}

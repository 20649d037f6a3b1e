//! `boathook run`: one run of one component. Never runs it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Output;

/// `boathook run`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook run hook.wasm --state objects.yaml         # the hook's only binding, synchronised with these objects
  boathook run hook.wasm --state objects.yaml --binding pods --event Modified --object pod.yaml
  boathook run hook.wasm --binding pods --event Deleted --object web/nginx --state objects.yaml
  boathook run hook.wasm --context context.json       # a binding context as shell-operator writes it
  kubectl get pod nginx -o yaml | boathook run hook.wasm --event Added --object -
  boathook run hook.wasm --kubeconfig prod.yaml --plan # what it would write there

The run has a cluster of its own in this process, with the objects of --state and those of the context, unless
--kubeconfig names another one. Snapshots are what the hook's own bindings make of that cluster. Lines that the hook
logs go to stderr.

Exit codes: 0 when the run succeeded or an API server's question was answered, yes or no; 1 when it failed, 2 when it could not be made of what was given, 130 when it was
interrupted.")]
pub struct Run {
    /// The component
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What the hook is told: binding contexts in JSON or YAML, as in the file at BINDING_CONTEXT_PATH; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["binding", "event", "object"])]
    pub context: Option<PathBuf>,
    /// Binding to run for [default: the only one that it can be]
    #[arg(long, value_name = "NAME")]
    pub binding: Option<String>,
    /// What happens [default: the binding's start-up, tick or synchronization]
    #[arg(long, value_name = "EVENT", value_enum, ignore_case = true)]
    pub event: Option<Event>,
    /// The object that it happens to: NAME or NAMESPACE/NAME of one in the cluster, a file with it, or `-` for
    /// stdin
    #[arg(long, value_name = "NAME|FILE", requires = "event")]
    pub object: Option<String>,
    /// Objects of the run's own cluster: a YAML file, or a folder's *.yaml, *.yml and *.json; may be repeated
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "kubeconfig")]
    pub state: Vec<PathBuf>,
    /// Run on the cluster of this kubeconfig
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub kube_context: Option<String>,
    /// Write nothing: every write is a server-side dry run, and the hook is told so
    #[arg(long)]
    pub plan: bool,
    /// Show values of Secrets as they are
    #[arg(long)]
    pub show_secrets: bool,
    /// Directory for compiled components [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum Event {
    /// An object appeared
    Added,
    /// An object changed
    Modified,
    /// An object is gone
    Deleted,
    /// All objects of a binding are known
    Synchronization,
    /// A schedule strikes
    Schedule,
    /// The operator starts
    #[value(name = "OnStartup")]
    OnStartup,
}

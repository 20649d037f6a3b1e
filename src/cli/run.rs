//! The command line of `boathook run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Output, directories::Directories, http::Http, node::Variables};

/// `boathook run`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook run hook.wasm --state objects.yaml         # synchronizes the hook's only binding with them
  boathook run hook.wasm --state objects.yaml --binding pods --event Modified --object pod.yaml
  boathook run hook.wasm --binding pods --event Deleted --object web/nginx --state objects.yaml
  boathook run hook.wasm --context context.json       # a binding context as shell-operator writes it
  kubectl get pod nginx -o yaml | boathook run hook.wasm --event Added --object -
  boathook run hook.wasm --kubeconfig prod.yaml --plan # what it would write there

The run has its own cluster in this process, with the objects of --state and those of the context, unless
--kubeconfig names another one. Snapshots contain what the hook's own bindings select in that cluster. Lines
that the hook logs go to stderr.

Exit codes: 0 when the run succeeded, or when the hook answered an API server's request, whether it allowed or
denied it; 1 when the run failed; 2 when the input cannot be used; 130 when the run was interrupted.")]
pub struct Run {
    /// The component
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Binding contexts for the hook, in JSON or YAML, as in the file at BINDING_CONTEXT_PATH; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["binding", "event", "object"])]
    pub context: Option<PathBuf>,
    /// Binding to run [default: the only possible one]
    #[arg(long, value_name = "NAME")]
    pub binding: Option<String>,
    /// Event to run the hook for [default: the binding's start-up, tick or synchronization]
    #[arg(long, value_name = "EVENT", value_enum, ignore_case = true)]
    pub event: Option<Event>,
    /// Object of the event: NAME or NAMESPACE/NAME of an object in the cluster, a file that contains it, or `-` for
    /// stdin
    #[arg(long, value_name = "NAME|FILE", requires = "event")]
    pub object: Option<String>,
    /// Objects of the run's own cluster: a YAML file, or a folder with *.yaml, *.yml and *.json files; may be repeated
    #[arg(long, value_name = "FILE|DIR", conflicts_with = "kubeconfig")]
    pub state: Vec<PathBuf>,
    /// Run on the cluster of this kubeconfig
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub kube_context: Option<String>,
    /// Write nothing: send every write as a server-side dry run, and report this to the hook
    #[arg(long)]
    pub plan: bool,
    /// Show the values of Secrets
    #[arg(long)]
    pub show_secrets: bool,
    /// Directory for compiled components [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BOATHOOK_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Flags for HTTP requests.
    #[command(flatten)]
    pub http: Http,
    /// Flags for directories.
    #[command(flatten)]
    pub directories: Directories,
    /// Flags for variables.
    #[command(flatten)]
    pub variables: Variables,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum Event {
    /// An object appeared
    Added,
    /// An object changed
    Modified,
    /// An object was deleted
    Deleted,
    /// All objects of a binding are known
    Synchronization,
    /// A schedule fires
    Schedule,
    /// The operator starts
    #[value(name = "OnStartup")]
    OnStartup,
}

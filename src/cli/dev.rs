//! The command line of `boathook dev`.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};

use super::{directories::Directories, http::Http, node::Variables, webhooks::https};

/// `boathook dev`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook dev                                      # the project in this folder, on a local cluster
  boathook dev --open                               # and the console in a browser
  boathook dev --rerun --state fixtures/            # with initial objects; each save repeats the last run
  boathook dev target/boathook/web.wasm             # a component that another tool builds
  boathook dev --kubeconfig dev.yaml --plan         # a real cluster, without writes
  boathook dev --kubeconfig dev.yaml --webhook-url https://10.0.0.7:9443   # with webhooks
  boathook dev modules/010-web                      # a module: its chart is rendered with each save

Projects are built as with `boathook build`. If a build fails or its component is not a valid hook, the old
version stays active. Of a module, only the chart is rendered, without a cluster, and the difference to the
last rendering is shown. Its hooks do not run.

Exit codes: 0 after SIGTERM or Ctrl-C, 1 when it cannot start or cannot build at all.")]
pub struct Dev {
    /// Folders of projects, components NAME.wasm that other tools build, or one directory of a module
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Use the cluster of this kubeconfig instead of a local one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["state", "save", "write_kubeconfig"])]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub context: Option<String>,
    /// Write nothing: send each write as a server-side dry run, and show it
    #[arg(long)]
    pub plan: bool,
    /// Repeat the hook's last run after a new version has taken over
    #[arg(long)]
    pub rerun: bool,
    /// Start the local cluster with the objects of this YAML file, or of the files of this folder; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    pub state: Vec<PathBuf>,
    /// On exit, write all objects of the local cluster, including Secrets, to this YAML file
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// File for the local cluster's kubeconfig [default: a temporary file]
    #[arg(long, value_name = "FILE")]
    pub write_kubeconfig: Option<PathBuf>,
    /// URL at which the cluster of the kubeconfig reaches this machine, so that hooks can answer its webhooks:
    /// https://HOST:PORT. The local cluster does not need it
    #[arg(long, value_name = "URL", value_parser = https, requires = "kubeconfig", conflicts_with = "plan")]
    pub webhook_url: Option<String>,
    /// Address to listen on for webhooks
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:9443", requires = "webhook_url")]
    pub webhook_listen: SocketAddr,
    /// Name that distinguishes the webhook registrations of this session from others in the cluster
    #[arg(long, value_name = "NAME", default_value = "boathook-dev", requires = "webhook_url")]
    pub instance: String,
    /// Serve no console: the page for a browser, whose address the command prints
    #[arg(long)]
    pub no_console: bool,
    /// Open the console in the browser: with $BROWSER, or else with the desktop's own command
    #[arg(long, conflicts_with = "no_console")]
    pub open: bool,
    /// Flags for HTTP requests.
    #[command(flatten)]
    pub http: Http,
    /// Flags for directories.
    #[command(flatten)]
    pub directories: Directories,
    /// Flags for variables.
    #[command(flatten)]
    pub variables: Variables,
    /// Also run the hooks of this directory, which are not watched for changes
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
    /// With a module: file with the ConfigMap in which users configure it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// With a module: file that one of its hooks wrote to VALUES_JSON_PATCH_PATH; may be repeated
    #[arg(long, value_name = "FILE")]
    pub patch: Vec<PathBuf>,
    /// Output format; `json` prints one object per line, for editors and programs
    #[arg(short, long, value_enum, default_value_t = DevOutput::Text)]
    pub output: DevOutput,
}

/// Formats of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DevOutput {
    /// Human-readable.
    Text,
    /// One JSON object per line.
    Json,
}

//! What is typed for the author's loop. Never runs it.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};

use super::webhooks::https;

/// `boathook dev`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook dev                                      # the project in this folder, on a local cluster
  boathook dev --rerun --state fixtures/            # with objects to begin with; each save runs the last run again
  boathook dev target/boathook/web.wasm             # a component that something else builds
  boathook dev --kubeconfig dev.yaml --plan         # a real cluster, and nothing is written
  boathook dev --kubeconfig dev.yaml --webhook-url https://10.0.0.7:9443   # and it asks hooks that validate

Projects are built as `boathook build` does it. What does not build, or can't be used, leaves the old
version at work.

Exit codes: 0 after SIGTERM or Ctrl-C, 1 when it can't start or can't build at all.")]
pub struct Dev {
    /// Folders of projects, or components NAME.wasm that are watched for what others build
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Work on this kubeconfig's cluster instead of a local one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["state", "save", "write_kubeconfig"])]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub context: Option<String>,
    /// Write nothing: each write is a server-side dry run, and is shown
    #[arg(long)]
    pub plan: bool,
    /// When a new version has taken over, run the hook's last run again
    #[arg(long)]
    pub rerun: bool,
    /// Start the local cluster with the objects of this YAML file, or of a folder's files; may be repeated
    #[arg(long, value_name = "FILE|DIR")]
    pub state: Vec<PathBuf>,
    /// Write all objects of the local cluster, Secrets included, to this YAML file at the end
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Where to put the local cluster's kubeconfig [default: a temporary file]
    #[arg(long, value_name = "FILE")]
    pub write_kubeconfig: Option<PathBuf>,
    /// URL by which the cluster of the kubeconfig reaches this machine, so that hooks answer its webhooks:
    /// https://HOST:PORT. The local cluster needs none
    #[arg(long, value_name = "URL", value_parser = https, requires = "kubeconfig", conflicts_with = "plan")]
    pub webhook_url: Option<String>,
    /// Address to listen on for them
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:9443", requires = "webhook_url")]
    pub webhook_listen: SocketAddr,
    /// Tells this session's registrations from those of others in the cluster
    #[arg(long, value_name = "NAME", default_value = "boathook-dev", requires = "webhook_url")]
    pub instance: String,
    /// Run the hooks of this directory, too; they are not watched
    #[arg(long, value_name = "DIR")]
    pub hooks: Option<PathBuf>,
    /// Output format; `json` is one object a line, for editors and programs
    #[arg(short, long, value_enum, default_value_t = DevOutput::Text)]
    pub output: DevOutput,
}

/// Formats of what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DevOutput {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

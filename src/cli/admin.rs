//! The command line of the commands that query and control a running operator.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::Output;

/// The commands of the admin socket.
#[derive(Debug, Subcommand)]
pub enum Admin {
    /// Show the hooks of a running operator and their state
    Hooks(Hooks),
    /// Show the queues of a running operator and the waiting triggers
    Queues(Queues),
    /// Show the objects that a hook's bindings match
    Snapshots(Snapshots),
    /// Show the last runs of hooks
    Runs(Runs),
    /// Show what hooks, bundles and namespaces use: CPU time, memory, runs, requests and what they keep
    Top(Top),
    /// Show what led to the last writes of hooks to an object
    Why(Why),
    /// Show why a hook did not run for an object
    WhyNot(WhyNot),
    /// Show, retry or drop triggers that the operator has given up on
    DeadLetters(DeadLetters),
    /// Show or change the log level of a running operator
    LogLevel(LogLevel),
    /// Start no more runs of a hook until it is resumed
    Pause(Pause),
    /// Resume a paused hook
    Resume(Resume),
    /// Stop a hook and drop its triggers until it is released
    Quarantine(Quarantine),
    /// Load a quarantined hook again and start it
    Release(Release),
    /// Load a hook's file again: the new version takes over, and waiting triggers are kept
    Reload(Reload),
    /// Print the response of the admin socket for a path
    Raw(Raw),
}

/// Which operator to contact.
#[derive(Debug, Args)]
pub struct At {
    /// The operator's admin socket [default: the one of `boathook serve` in $XDG_RUNTIME_DIR/boathook, /run/boathook,
    /// or the temporary directory]
    #[arg(long, value_name = "PATH", env = "BOATHOOK_ADMIN_SOCKET")]
    pub socket: Option<PathBuf>,
}

/// How to print the response.
#[derive(Debug, Args)]
pub struct Show {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Repeat until Ctrl-C: in place on a terminal, otherwise as one document after the other
    #[arg(short, long)]
    pub watch: bool,
    /// Time between repetitions with --watch
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = interval)]
    pub interval: Duration,
    /// Which operator to contact.
    #[command(flatten)]
    pub at: At,
}

/// `boathook hooks`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook hooks                      # all hooks, one per line
  boathook hooks registry-secret      # one hook in full: bindings, reasons, warnings
  boathook hooks -o json | jq '.hooks[] | select(.state != \"ready\") | .name'

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Hooks {
    /// Show only this hook, in full
    #[arg(value_name = "HOOK")]
    pub hook: Option<String>,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook queues`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook queues --watch
  boathook queues --show-empty -o yaml

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Queues {
    /// Also show empty queues
    #[arg(short = 'e', long)]
    pub show_empty: bool,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook top`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook top --watch
  boathook top -o json | jq '.namespaces[] | {name, cpuMs, requests}'

Hooks with the most CPU time are first. All numbers are since the operator started, except OBJECTS and KEPT.
Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Top {
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook snapshots`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook snapshots node-taint
  boathook snapshots registry-secret --binding copies --namespace team-a -o yaml
  boathook snapshots registry-secret --binding copies --limit 1000 --continue team-b/registry-credentials

Values of Secrets, and what filters made of them, are hidden unless --show-secrets is given.
Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Snapshots {
    /// Name of the hook
    #[arg(value_name = "HOOK")]
    pub hook: String,
    /// Show only this binding
    #[arg(long, value_name = "NAME")]
    pub binding: Option<String>,
    /// Show only objects of this namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Number of objects per page for each binding [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: Option<u16>,
    /// Show the page after this object, with the token that the previous page printed
    #[arg(long = "continue", value_name = "TOKEN", requires = "binding")]
    pub continue_token: Option<String>,
    /// Show the values of Secrets
    #[arg(long)]
    pub show_secrets: bool,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook runs`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook runs
  boathook runs registry-secret --failed     # with messages and back-traces
  boathook runs -o json | jq '.runs[] | .durationMs'

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Runs {
    /// Show only runs of this hook
    #[arg(value_name = "HOOK")]
    pub hook: Option<String>,
    /// Show only failed runs, which are kept longer than others
    #[arg(long)]
    pub failed: bool,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook why`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook why secret/team-a/registry-credentials
  boathook why deployments.apps/default/web -o yaml
  boathook why namespace/team-a

The operator remembers the last writes of its hooks, and forgets them when it ends. What a webhook changed in a request is
not among them, because the response to the request goes to somebody else.
Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Why {
    /// The object: KIND/NAME or KIND/NAMESPACE/NAME. The kind is written as for kubectl
    #[arg(value_name = "OBJECT")]
    pub object: String,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook why-not`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook why-not registry-secret namespace/team-a
  boathook why-not node-taint node/worker-1 --watch

The response names each stage on the way from the cluster to a run: the hook, the selectors, the filter, the events, the
queue, and the runs that are remembered.
Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct WhyNot {
    /// Name of the hook
    #[arg(value_name = "HOOK")]
    pub hook: String,
    /// The object: KIND/NAME or KIND/NAMESPACE/NAME. The kind is written as for kubectl
    #[arg(value_name = "OBJECT")]
    pub object: String,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook dead-letters`
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  boathook dead-letters
  boathook dead-letters retry 17 18
  boathook dead-letters drop --hook registry-secret

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers."
)]
pub struct DeadLetters {
    /// Without an action, the command lists the dead letters.
    #[command(subcommand)]
    pub action: Option<LettersAction>,
    /// Show only dead letters of this hook
    #[arg(value_name = "HOOK")]
    pub hook: Option<String>,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// Actions on dead letters.
#[derive(Debug, Subcommand)]
pub enum LettersAction {
    /// Put dead letters back into their queues
    Retry(Letters),
    /// Drop dead letters
    Drop(Letters),
}

/// Which dead letters.
#[derive(Debug, Args)]
pub struct Letters {
    /// Selects the dead letters.
    #[command(flatten)]
    pub which: Which,
    /// Which operator to contact.
    #[command(flatten)]
    pub at: At,
}

/// Exactly one of the three selectors.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Which {
    /// IDs of the dead letters
    #[arg(value_name = "ID")]
    pub ids: Vec<u64>,
    /// All dead letters of this hook
    #[arg(long, value_name = "HOOK")]
    pub hook: Option<String>,
    /// All dead letters
    #[arg(long)]
    pub all: bool,
}

/// `boathook log-level`
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  boathook log-level
  boathook log-level set debug --for 10m
  boathook log-level set info,boathook_kube::watch=debug

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers."
)]
pub struct LogLevel {
    /// Without an action, the command shows the level.
    #[command(subcommand)]
    pub action: Option<LogLevelAction>,
    /// How to print the response.
    #[command(flatten)]
    pub show: Show,
}

/// Actions on the log level.
#[derive(Debug, Subcommand)]
pub enum LogLevelAction {
    /// Change the log level
    Set(SetLogLevel),
}

/// `boathook log-level set`
#[derive(Debug, Args)]
pub struct SetLogLevel {
    /// error, warn, info, debug or trace, or a level per target: info,hook=debug
    #[arg(value_name = "LEVEL")]
    pub level: String,
    /// How long the level lasts, after which the previous one is restored. Without this, debug and trace last 30
    /// minutes, and other levels stay
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub lasts: Option<Duration>,
    /// Which operator to contact.
    #[command(flatten)]
    pub at: At,
}

/// One hook of one operator.
#[derive(Debug, Args)]
pub struct OneHook {
    /// Name of the hook
    #[arg(value_name = "HOOK")]
    pub hook: String,
    /// Which operator to contact.
    #[command(flatten)]
    pub at: At,
}

/// `boathook pause`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook pause registry-secret      # an active run finishes; new triggers wait in the queue
  boathook resume registry-secret

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Pause {
    /// The hook, and the operator to contact.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook resume`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook resume registry-secret

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Resume {
    /// The hook, and the operator to contact.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook quarantine`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook quarantine registry-secret     # drops its triggers; it stays stopped until it is released
  boathook release registry-secret

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Quarantine {
    /// The hook, and the operator to contact.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook release`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook release registry-secret     # loads its file again; a synchronization covers what it missed

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Release {
    /// The hook, and the operator to contact.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook reload`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook reload registry-secret      # after you replaced its file in the hooks' directory
  boathook dead-letters retry --hook registry-secret

Waiting triggers, dead letters and unchanged bindings are kept. If the new file is not a valid hook, the old
version stays active, and the error says why. If no hook has this name yet, the file is loaded as a new hook.

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Reload {
    /// The hook, and the operator to contact.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook raw`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook raw /queue/list.yaml
  boathook raw '/hooks/registry-secret/snapshots?limit=10'

Exit codes: 0 on success, 1 when the operator refused the request, 4 when no operator answers.")]
pub struct Raw {
    /// Path on the admin socket
    #[arg(value_name = "PATH")]
    pub path: String,
    /// Which operator to contact.
    #[command(flatten)]
    pub at: At,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| error.to_string())
}

/// The lower bound protects the operator from constant requests.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval < Duration::from_millis(100) { Err("at least 100ms are needed".to_owned()) } else { Ok(interval) }
}

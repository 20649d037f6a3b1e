//! The commands that ask and tell a running operator. Never asks anything itself.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::Output;

/// The commands of the admin socket.
#[derive(Debug, Subcommand)]
pub enum Admin {
    /// Show the hooks of a running operator, and how they are doing
    Hooks(Hooks),
    /// Show the queues of a running operator, and what waits in them
    Queues(Queues),
    /// Show the objects that a hook's bindings match
    Snapshots(Snapshots),
    /// Show the last runs of hooks
    Runs(Runs),
    /// Show, retry or drop triggers that were given up
    DeadLetters(DeadLetters),
    /// Show or change what a running operator logs
    LogLevel(LogLevel),
    /// Start no more runs of a hook, until it is resumed
    Pause(Pause),
    /// Go on running a paused hook
    Resume(Resume),
    /// Stop a hook and forget its triggers, until it is released
    Quarantine(Quarantine),
    /// Load a hook in quarantine anew, and start it
    Release(Release),
    /// Read a hook's file again: the new version takes over, and what waits stays
    Reload(Reload),
    /// Print what the admin socket answers under a path
    Raw(Raw),
}

/// Which operator.
#[derive(Debug, Args)]
pub struct At {
    /// The operator's admin socket [default: where `boathook serve` has it: in $XDG_RUNTIME_DIR/boathook,
    /// /run/boathook, or the temporary directory]
    #[arg(long, value_name = "PATH", env = "BOATHOOK_ADMIN_SOCKET")]
    pub socket: Option<PathBuf>,
}

/// How it is shown.
#[derive(Debug, Args)]
pub struct Show {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Show it again and again, until Ctrl-C: in place on a terminal, else one document after the other
    #[arg(short, long)]
    pub watch: bool,
    /// How often, with --watch
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = interval)]
    pub interval: Duration,
    /// Where.
    #[command(flatten)]
    pub at: At,
}

/// `boathook hooks`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook hooks                      # all of them, one a line
  boathook hooks registry-secret      # one in full: bindings, reasons, warnings
  boathook hooks -o json | jq '.hooks[] | select(.state != \"ready\") | .name'

Exit codes: 0 when it was answered, 1 when the operator refused, 4 when no operator answers.")]
pub struct Hooks {
    /// Only this hook, in full
    #[arg(value_name = "HOOK")]
    pub hook: Option<String>,
    /// How.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook queues`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook queues --watch
  boathook queues --show-empty -o yaml

Exit codes: 0 when it was answered, 1 when the operator refused, 4 when no operator answers.")]
pub struct Queues {
    /// Also queues without tasks
    #[arg(short = 'e', long)]
    pub show_empty: bool,
    /// How.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook snapshots`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook snapshots node-taint
  boathook snapshots registry-secret --binding copies --namespace team-a -o yaml
  boathook snapshots registry-secret --binding copies --limit 1000 --continue team-b/registry-credentials

Values of Secrets are hidden unless --show-secrets is given; so is what a filter made of them.
Exit codes: 0 when it was answered, 1 when the operator refused, 4 when no operator answers.")]
pub struct Snapshots {
    /// The hook
    #[arg(value_name = "HOOK")]
    pub hook: String,
    /// Only this binding
    #[arg(long, value_name = "NAME")]
    pub binding: Option<String>,
    /// Only objects of this namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Objects of a page for each binding [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: Option<u16>,
    /// The page after this object: what the page before said
    #[arg(long = "continue", value_name = "TOKEN", requires = "binding")]
    pub continue_token: Option<String>,
    /// Show values of Secrets
    #[arg(long)]
    pub show_secrets: bool,
    /// How.
    #[command(flatten)]
    pub show: Show,
}

/// `boathook runs`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook runs
  boathook runs registry-secret --failed     # with messages and back-traces
  boathook runs -o json | jq '.runs[] | .durationMs'

Exit codes: 0 when it was answered, 1 when the operator refused, 4 when no operator answers.")]
pub struct Runs {
    /// Only of this hook
    #[arg(value_name = "HOOK")]
    pub hook: Option<String>,
    /// Only runs that failed; they are remembered longer than others
    #[arg(long)]
    pub failed: bool,
    /// How.
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

Exit codes: 0 when it was done, 1 when the operator refused, 4 when no operator answers."
)]
pub struct DeadLetters {
    /// Without one: list them.
    #[command(subcommand)]
    pub action: Option<LettersAction>,
    /// Only of this hook
    #[arg(value_name = "HOOK")]
    pub hook: Option<String>,
    /// How.
    #[command(flatten)]
    pub show: Show,
}

/// What becomes of dead letters.
#[derive(Debug, Subcommand)]
pub enum LettersAction {
    /// Put them back into their queues
    Retry(Letters),
    /// Forget them
    Drop(Letters),
}

/// Which dead letters.
#[derive(Debug, Args)]
pub struct Letters {
    /// Which of them
    #[command(flatten)]
    pub which: Which,
    /// Where.
    #[command(flatten)]
    pub at: At,
}

/// One of the three.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Which {
    /// These
    #[arg(value_name = "ID")]
    pub ids: Vec<u64>,
    /// All of this hook
    #[arg(long, value_name = "HOOK")]
    pub hook: Option<String>,
    /// All of them
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

Exit codes: 0 when it was done, 1 when the operator refused, 4 when no operator answers."
)]
pub struct LogLevel {
    /// Without one: show it.
    #[command(subcommand)]
    pub action: Option<LogLevelAction>,
    /// How.
    #[command(flatten)]
    pub show: Show,
}

/// What becomes of the log level.
#[derive(Debug, Subcommand)]
pub enum LogLevelAction {
    /// Change it
    Set(SetLogLevel),
}

/// `boathook log-level set`
#[derive(Debug, Args)]
pub struct SetLogLevel {
    /// error, warn, info, debug or trace; or a level for each target: info,hook=debug
    #[arg(value_name = "LEVEL")]
    pub level: String,
    /// How long; then it is as it was. Without this debug and trace go back after 30 minutes, others stay
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub lasts: Option<Duration>,
    /// Where.
    #[command(flatten)]
    pub at: At,
}

/// One hook of one operator.
#[derive(Debug, Args)]
pub struct OneHook {
    /// The hook
    #[arg(value_name = "HOOK")]
    pub hook: String,
    /// Where.
    #[command(flatten)]
    pub at: At,
}

/// `boathook pause`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook pause registry-secret      # a run that is under way ends; triggers go on queueing
  boathook resume registry-secret

Exit codes: 0 when it was done, 1 when the operator refused, 4 when no operator answers.")]
pub struct Pause {
    /// Which.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook resume`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook resume registry-secret

Exit codes: 0 when it was done, 1 when the operator refused, 4 when no operator answers.")]
pub struct Resume {
    /// Which.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook quarantine`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook quarantine registry-secret     # its triggers are dropped; it stays out until it is released
  boathook release registry-secret

Exit codes: 0 when it was done, 1 when the operator refused, 4 when no operator answers.")]
pub struct Quarantine {
    /// Which.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook release`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook release registry-secret     # reads its file anew; what it missed comes as a synchronization

Exit codes: 0 when it was done, 1 when the operator refused, 4 when no operator answers.")]
pub struct Release {
    /// Which.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook reload`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook reload registry-secret      # after its file in the hooks' directory was replaced
  boathook dead-letters retry --hook registry-secret

What waits, its dead letters and the bindings that did not change go on. When the new file is no hook that can be used, the
old version goes on, and the error says why. A file that is new becomes a new hook.

Exit codes: 0 when it was done, 1 when the operator refused, 4 when no operator answers.")]
pub struct Reload {
    /// Which.
    #[command(flatten)]
    pub one: OneHook,
}

/// `boathook raw`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook raw /queue/list.yaml
  boathook raw '/hooks/registry-secret/snapshots?limit=10'

Exit codes: 0 when it was answered, 1 when the operator refused, 4 when no operator answers.")]
pub struct Raw {
    /// A path of the admin socket
    #[arg(value_name = "PATH")]
    pub path: String,
    /// Where.
    #[command(flatten)]
    pub at: At,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| error.to_string())
}

/// An operator has better things to do than to be asked without a break.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval < Duration::from_millis(100) { Err("at least 100ms are needed".to_owned()) } else { Ok(interval) }
}

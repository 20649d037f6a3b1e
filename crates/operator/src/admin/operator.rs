//! What is asked of a running operator. Implemented by the wiring; never by a stage.

use std::{
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::views::{DeadLettersView, HooksView, LogLevelView, QueuesView, RetriedView, RunsView, SnapshotsView};

/// What routes work with: the operator, once it has started, and as long as the server lives. A
/// connection that lingers must not keep an operator.
pub(super) type Shared = Arc<OnceLock<Weak<dyn Operator>>>;

/// Why the operator does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such hook.
    #[error("no hook is called {name:?}: {}", listed("the hooks are", known))]
    UnknownHook {
        /// What was asked for.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// No such binding.
    #[error("hook {hook} has no kubernetes binding {name:?}: {}", listed("it has", known))]
    UnknownBinding {
        /// The hook.
        hook: String,
        /// What was asked for.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// No such dead letter.
    #[error("no dead letter has the id {}: `boathook dead-letters` lists those there are", ids(.0))]
    UnknownLetter(Vec<u64>),
    /// Nothing has this path.
    #[error("nothing is at {0}: try /hooks, /queues, /runs, /dead-letters, /log-level")]
    UnknownPath(String),
    /// The hooks are being loaded.
    #[error("the operator is still loading its hooks: try again soon")]
    Starting,
    /// It is being shut down.
    #[error("the operator is shutting down")]
    Ending,
    /// The question can't be understood.
    #[error("{0}")]
    Bad(String),
    /// It can be done, but not in the present state.
    #[error("{0}")]
    Conflict(String),
    /// This operator can't do it.
    #[error("this operator can't {0}")]
    Unsupported(&'static str),
    /// It was tried and failed.
    #[error("{0}")]
    Failed(String),
}

fn listed(what: &str, names: &[String]) -> String {
    if names.is_empty() { "there is none".to_owned() } else { format!("{what} {}", names.join(", ")) }
}

fn ids(ids: &[u64]) -> String {
    ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Which part of a hook's snapshots to show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SnapshotQuery {
    /// Only this binding. Default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// Only objects of this namespace. Default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Items of a page for each binding: 1 to 1 000. Default 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The `continue` of the page before; needs `binding`.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<String>,
    /// Show values of Secrets. Default false.
    pub show_secrets: bool,
}

/// Which dead letters. Exactly one of the fields is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Letters {
    /// These.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u64>,
    /// Those of this hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// All of them.
    pub all: bool,
}

impl Letters {
    /// That one of the fields is given, and no other.
    pub fn check(&self) -> Result<(), Refused> {
        let given = [!self.ids.is_empty(), self.hook.is_some(), self.all].into_iter().filter(|given| *given).count();
        if given == 1 {
            return Ok(());
        }
        Err(Refused::Bad("say which dead letters: by ids, by hook, or all; one of these".to_owned()))
    }
}

/// A running operator. Questions change nothing and do not block.
pub trait Operator: Send + Sync {
    /// All hooks, those in quarantine among them.
    fn hooks(&self) -> HooksView;

    /// All queues; those without a task under `empty`.
    fn queues(&self) -> QueuesView;

    /// The objects that a hook's bindings match.
    fn snapshots(&self, hook: &str, query: &SnapshotQuery) -> Result<SnapshotsView, Refused>;

    /// The last runs, newest first: of one hook or of all, all of them or those that failed.
    fn runs(&self, hook: Option<&str>, failed: bool) -> Result<RunsView, Refused>;

    /// Triggers that were given up: of one hook or of all, oldest first.
    fn dead_letters(&self, hook: Option<&str>) -> Result<DeadLettersView, Refused>;

    /// Puts the triggers of dead letters back into their queues.
    fn retry_dead(&self, letters: &Letters) -> Result<RetriedView, Refused>;

    /// Forgets dead letters; how many.
    fn drop_dead(&self, letters: &Letters) -> Result<usize, Refused>;

    /// What is logged.
    fn log_level(&self) -> Result<LogLevelView, Refused>;

    /// Changes what is logged: a level, or a list of `target=level`; for a time, or for good.
    fn set_log_level(&self, level: &str, lasts: Option<Duration>) -> Result<LogLevelView, Refused>;

    /// Starts no more runs of a hook until it is resumed. Its triggers go on queueing.
    fn pause(&self, hook: &str) -> Result<(), Refused>;

    /// Ends a pause.
    fn resume(&self, hook: &str) -> Result<(), Refused>;

    /// Stops a hook, forgets its triggers, and keeps it stopped.
    fn quarantine<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>>;

    /// Loads and starts a hook that is in quarantine.
    fn release<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>>;

    /// Reads the file of a hook again: what is in it takes the place of the version that runs.
    fn reload<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>>;
}

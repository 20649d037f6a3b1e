//! What can be requested from a running operator. The wiring implements it, and no stage does.

use std::{
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::bill::BillView;
use super::details::{EffectsView, LiveRunsView, LogsView, SetsView, WritesQuery, WritesView};
use super::modules::{GraphView, ModulesView, Part};
use super::views::{DeadLettersView, HooksView, LogLevelView, QueuesView, RetriedView, RunsView, SnapshotsView};
use super::why::{WhyNotView, WhyView};

/// What the routes work with: the operator, once it has started, and while its server lives. It is weak, because a
/// connection that lingers must not keep an operator alive.
pub(crate) type Shared = Arc<OnceLock<Weak<dyn Operator>>>;

/// Why the operator refuses a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("hook {name:?} does not exist: {}", listed("the hooks are", known))]
    UnknownHook { name: String, known: Vec<String> },
    #[error("module {name:?} does not exist: {}", listed("the modules are", known))]
    UnknownModule { name: String, known: Vec<String> },
    #[error("hook {hook} has no kubernetes binding {name:?}: {}", listed("it has", known))]
    UnknownBinding { hook: String, name: String, known: Vec<String> },
    #[error("no dead letter has the ID {}: `boathook dead-letters` lists the existing ones", ids(.0))]
    UnknownLetter(Vec<u64>),
    #[error(
        "there is no {0}: try /hooks, /queues, /runs, /live-runs, /writes, /top, /why, /why-not, /logs, /effects, /modules, /graph, \
         /sets, /dead-letters, /log-level"
    )]
    UnknownPath(String),
    #[error("the operator is still loading its hooks: try again soon")]
    Starting,
    #[error("the operator is shutting down")]
    Ending,
    /// The request cannot be understood.
    #[error("{0}")]
    Bad(String),
    /// The request is valid, but the current state does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// This operator does not have the function.
    #[error("this operator cannot {0}")]
    Unsupported(&'static str),
    /// The operator tried and failed.
    #[error("{0}")]
    Failed(String),
}

fn listed(what: &str, names: &[String]) -> String {
    if names.is_empty() { "there is none".to_owned() } else { format!("{what} {}", names.join(", ")) }
}

fn ids(ids: &[u64]) -> String {
    ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SnapshotQuery {
    /// Only the snapshot of this binding. Default: all bindings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// Only objects in this namespace. Default: all namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The number of items in a page of each binding: 1 to 1 000. Default: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The `continue` of the previous page. Needs `binding`.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<String>,
    /// Whether to show the values of Secrets. Default: false.
    pub show_secrets: bool,
}

/// Which dead letters a command is for. Exactly one of the fields is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Letters {
    /// The dead letters with these IDs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u64>,
    /// All dead letters of this hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// All dead letters.
    pub all: bool,
}

impl Letters {
    /// Checks that exactly one of the fields is set.
    pub fn check(&self) -> Result<(), Refused> {
        let given = [!self.ids.is_empty(), self.hook.is_some(), self.all].into_iter().filter(|given| *given).count();
        if given == 1 {
            return Ok(());
        }
        Err(Refused::Bad("say which dead letters: by ids, by hook, or all; one of these".to_owned()))
    }
}

/// A running operator. Queries change nothing and do not block. Those that return a future may ask the API server.
pub trait Operator: Send + Sync {
    /// Lists all hooks, including those in quarantine.
    fn hooks(&self) -> HooksView;

    /// What the loaded hooks used since the operator started.
    fn bill(&self) -> BillView;

    /// Lists all queues. Those without a task are under `empty`.
    fn queues(&self) -> QueuesView;

    /// Shows the objects that a hook's bindings match.
    fn snapshots(&self, hook: &str, query: &SnapshotQuery) -> Result<SnapshotsView, Refused>;

    /// Lists the last runs, newest first: of one hook or of all, all runs or only those that failed, and at most `most`.
    fn runs(&self, hook: Option<&str>, failed: bool, most: Option<usize>) -> Result<RunsView, Refused>;

    /// Shows what modules do.
    fn modules(&self) -> Result<ModulesView, Refused> {
        Err(Refused::Unsupported("show modules: it runs none; start it with --modules"))
    }

    /// Shows in which order modules run, what they need, and whether they are on.
    fn graph(&self) -> Result<GraphView, Refused> {
        Err(Refused::Unsupported("show modules: it runs none; start it with --modules"))
    }

    /// Lists the hooks of a module that run, or those of `global`.
    fn hooks_of(&self, _module: &str) -> Result<Vec<String>, Refused> {
        Err(Refused::Unsupported("show modules: it runs none; start it with --modules"))
    }

    /// Shows the values, the configuration or the patches of a module, or of `global`. What may be secret is hidden, unless
    /// `show_secrets` is set.
    fn section(&self, _module: &str, _part: Part, _show_secrets: bool) -> Result<serde_json::Value, Refused> {
        Err(Refused::Unsupported("show values of modules: it runs none; start it with --modules"))
    }

    /// Shows the last writes of hooks to an object, `KIND/NAME` or `KIND/NAMESPACE/NAME`, each with what led to it.
    fn why<'a>(&'a self, object: &'a str) -> BoxFuture<'a, Result<WhyView, Refused>>;

    /// Shows why a hook did not run for an object.
    fn why_not<'a>(&'a self, hook: &'a str, object: &'a str) -> BoxFuture<'a, Result<WhyNotView, Refused>>;

    /// Shows the last writes of a run, each with what led to it.
    fn why_run(&self, run: &str) -> WhyView;

    /// Lists the last writes of hooks, newest first.
    fn writes(&self, query: &WritesQuery) -> Result<WritesView, Refused>;

    /// Lists the runs that have not ended.
    fn live_runs(&self) -> LiveRunsView;

    /// Shows the log lines of a run that are kept.
    fn logs(&self, run: &str) -> Result<LogsView, Refused>;

    /// Shows what the writes of a run did to their objects.
    fn effects(&self, run: &str) -> Result<EffectsView, Refused>;

    /// Lists the sets of the parents of `reconcile` bindings.
    fn sets(&self) -> SetsView;

    /// Lists triggers that were given up, of one hook or of all, oldest first.
    fn dead_letters(&self, hook: Option<&str>) -> Result<DeadLettersView, Refused>;

    /// Puts the triggers of dead letters back into their queues.
    fn retry_dead(&self, letters: &Letters) -> Result<RetriedView, Refused>;

    /// Drops dead letters, and returns how many.
    fn drop_dead(&self, letters: &Letters) -> Result<usize, Refused>;

    /// Shows what is logged.
    fn log_level(&self) -> Result<LogLevelView, Refused>;

    /// Changes what is logged, to a level or a list of `target=level`, for a time or permanently.
    fn set_log_level(&self, level: &str, lasts: Option<Duration>) -> Result<LogLevelView, Refused>;

    /// Starts no more runs of a hook until it is resumed. Its triggers continue to queue.
    fn pause(&self, hook: &str) -> Result<(), Refused>;

    fn resume(&self, hook: &str) -> Result<(), Refused>;

    /// Stops a hook, drops its triggers, and keeps it stopped.
    fn quarantine<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>>;

    /// Loads and starts a hook that is in quarantine.
    fn release<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>>;

    /// Reads a hook's file again. Its content replaces the version that runs.
    fn reload<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>>;
}

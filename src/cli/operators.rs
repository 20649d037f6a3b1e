//! The command line of `boathook operators`.

use clap::{Args, Subcommand};

use super::{Connection, Output};

/// `boathook operators`
#[derive(Debug, Args)]
pub struct Operators {
    /// What to do.
    #[command(subcommand)]
    pub command: OperatorsCommand,
}

/// The commands for parents of hooks.
#[derive(Debug, Subcommand)]
pub enum OperatorsCommand {
    /// List the revisions of a custom resource's children that are kept in the cluster
    History(History),
    /// Show how the children of two revisions differ, as `kubectl diff` does
    Diff(Diff),
    /// Have the operator apply the children of an earlier revision again
    Rollback(Rollback),
}

/// The object whose children are meant.
#[derive(Debug, Args)]
pub struct Parent {
    /// The custom resource, as kubectl names it: TYPE/NAME
    #[arg(value_name = "TYPE/NAME")]
    pub parent: String,
    /// The cluster.
    #[command(flatten)]
    pub connection: Connection,
    /// Namespace of the custom resource [default: that of the context]
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
}

/// `boathook operators history`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook operators history helloapp/web
  boathook operators history helloapps.example.com/web -n shop -o json

A hook keeps revisions if its `reconcile` binding has `revisions`. GENERATION is that of the custom
resource when the hook returned these children. CURRENT marks the revision that the operator applies.

Exit codes: 0 when the history is shown, 2 when there is no such object, or the cluster cannot be read.")]
pub struct History {
    /// The object.
    #[command(flatten)]
    pub of: Parent,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `boathook operators diff`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook operators diff helloapp/web
  boathook operators diff helloapp/web --from 2 --to 5

The values of Secrets are hidden.

Exit codes: 0 when nothing differs, 1 when something does, 2 when there is no such revision, or the
cluster cannot be read.")]
pub struct Diff {
    /// The object.
    #[command(flatten)]
    pub of: Parent,
    /// Revision to compare with [default: the one before the other]
    #[arg(long, value_name = "REVISION")]
    pub from: Option<u64>,
    /// Revision that is compared [default: the current one]
    #[arg(long, value_name = "REVISION")]
    pub to: Option<u64>,
}

/// `boathook operators rollback`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  boathook operators rollback helloapp/web
  boathook operators rollback helloapp/web --to 3
  boathook operators rollback helloapp/web --end

The operator applies the children of the revision in place of those that the hook returns, also if the
hook fails now. That is over when the spec of the custom resource changes, or with --end. The hook is
called as before: its status and its conditions count, and what it does outside the cluster is not undone.

Exit codes: 0 when the operator was asked, 2 when there is no such revision, or the cluster cannot be written.")]
pub struct Rollback {
    /// The object.
    #[command(flatten)]
    pub of: Parent,
    /// Revision whose children are applied [default: the one before the current one]
    #[arg(long, value_name = "REVISION", conflicts_with = "end")]
    pub to: Option<u64>,
    /// End a rollback: apply what the hook returns
    #[arg(long)]
    pub end: bool,
}

//! The flags for variables, and for operators that work for one node.

use clap::Args;

/// Flags for variables.
#[derive(Debug, Clone, Default, Args)]
pub struct Variables {
    /// Value for `$(NAME)` in the selectors of hooks' bindings; may be repeated. NODE_NAME is also taken from the
    /// environment
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
}

/// Flags for an operator of one node.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Node agent")]
pub struct NodeAgent {
    /// Run every hook for the node in NODE_NAME, as in a Pod of a DaemonSet: without an election, HookBundles and webhooks.
    /// Hooks with `reconcile` or webhook bindings do not run
    #[arg(
        long,
        env = "BOATHOOK_NODE_AGENT",
        conflicts_with_all = ["leader_elect", "webhook_service", "webhook_url"]
    )]
    pub node_agent: bool,
    /// Flags for variables.
    #[command(flatten)]
    pub variables: Variables,
}

//! What is typed of HookBundles: flags of `boathook serve`.

use clap::{Args, ValueEnum};

/// Flags of `boathook serve`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "HookBundles")]
pub struct HookBundles {
    /// Keep the cluster's HookBundles at work. --policy, --key and --digest hold for them besides what each says
    #[arg(long, value_enum, default_value_t = Mode::Auto, value_name = "WHEN", env = "BOATHOOK_HOOK_BUNDLES")]
    pub hook_bundles: Mode,
    /// Let the hooks of this namespace's HookBundles watch and act beyond it, as far as their ServiceAccounts may; may
    /// be repeated
    #[arg(long, value_name = "NAME", env = "BOATHOOK_UNCONFINED_NAMESPACES", value_delimiter = ',')]
    pub unconfined_namespace: Vec<String>,
}

/// When HookBundles are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// As soon as the cluster serves them
    Auto,
    /// Always: without their definition the operator does not start
    On,
    /// Never
    Off,
}

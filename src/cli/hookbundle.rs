//! What is typed of HookBundles: flags of `boathook serve`.

use clap::{Args, ValueEnum};
use ipnet::IpNet;

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
    /// Registry that HookBundles may name although it is at an address that is not public, as one in the cluster is:
    /// HOST or HOST:PORT, as in references; may be repeated. So may registries that the policy names. One of them may
    /// send to another, as for tokens or layers
    #[arg(long, value_name = "HOST", env = "BOATHOOK_PRIVATE_REGISTRIES", value_delimiter = ',')]
    pub private_registry: Vec<String>,
    /// The same, and HookBundles may say `insecure` of it: HTTP without TLS; may be repeated
    #[arg(long, value_name = "HOST", env = "BOATHOOK_INSECURE_REGISTRIES", value_delimiter = ',')]
    pub insecure_registry: Vec<String>,
    /// Network that is not public, besides loopback, link-local and private ones, as the Services' is in some clusters:
    /// 34.118.224.0/20; may be repeated
    #[arg(long, value_name = "CIDR", env = "BOATHOOK_PRIVATE_NETWORKS", value_delimiter = ',')]
    pub private_network: Vec<IpNet>,
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

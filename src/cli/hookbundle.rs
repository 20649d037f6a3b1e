//! The HookBundle flags of `boathook serve`.

use clap::{Args, ValueEnum};
use ipnet::IpNet;

/// Flags for HookBundles.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "HookBundles")]
pub struct HookBundles {
    /// Run the cluster's HookBundles. --policy, --key and --digest apply to them in addition to what each one specifies
    #[arg(long, value_enum, default_value_t = Mode::Auto, value_name = "WHEN", env = "BOATHOOK_HOOK_BUNDLES")]
    pub hook_bundles: Mode,
    /// Let the hooks of this namespace's HookBundles watch and act outside it, as far as their ServiceAccounts may;
    /// may be repeated
    #[arg(long, value_name = "NAME", env = "BOATHOOK_UNCONFINED_NAMESPACES", value_delimiter = ',')]
    pub unconfined_namespace: Vec<String>,
    /// Registry that HookBundles may use despite its non-public address, for example a registry in the cluster: HOST or
    /// HOST:PORT, as in references; may be repeated. Registries that the policy names are also allowed. These
    /// registries may redirect to each other, for example for tokens or layers
    #[arg(long, value_name = "HOST", env = "BOATHOOK_PRIVATE_REGISTRIES", value_delimiter = ',')]
    pub private_registry: Vec<String>,
    /// Like --private-registry, and HookBundles may also set `insecure` to use this registry without TLS. --plain-http
    /// does the same for --bundle. May be repeated
    #[arg(long, value_name = "HOST", env = "BOATHOOK_INSECURE_REGISTRIES", value_delimiter = ',')]
    pub insecure_registry: Vec<String>,
    /// Network to treat as non-public, in addition to loopback, link-local and private networks, for example the
    /// Services' network of some clusters: 34.118.224.0/20; may be repeated
    #[arg(long, value_name = "CIDR", env = "BOATHOOK_PRIVATE_NETWORKS", value_delimiter = ',')]
    pub private_network: Vec<IpNet>,
}

/// When the operator runs HookBundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// As soon as the cluster serves them
    Auto,
    /// Always: the operator does not start without the CustomResourceDefinition
    On,
    /// Never
    Off,
}

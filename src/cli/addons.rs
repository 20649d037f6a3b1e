//! The flags of `boathook serve` for modules.

use std::path::PathBuf;

use clap::Args;

/// Flags for modules.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Modules")]
pub struct Addons {
    /// Run the modules of a directory, in addon-operator's layout. May be repeated, and may be a list with `:`. If two
    /// directories have the same module, the first one wins
    #[arg(
        long,
        value_name = "DIR",
        env = "BOATHOOK_MODULES",
        value_delimiter = ':',
        conflicts_with_all = ["plan", "node_agent"]
    )]
    pub modules: Vec<PathBuf>,
    /// Follow the cluster's Modules: they configure the modules of directories, and bring modules from registries.
    /// --policy, --key and --digest apply to those in addition to what each one specifies, and --private-registry and
    /// --insecure-registry name the registries that may be used
    #[arg(long, env = "BOATHOOK_MODULE_RESOURCES", conflicts_with_all = ["plan", "node_agent"])]
    pub module_resources: bool,
    /// Directory of global hooks, whose values all modules see
    #[arg(long, value_name = "DIR", env = "BOATHOOK_GLOBAL_HOOKS", requires = "modules")]
    pub global_hooks: Option<PathBuf>,
    /// ConfigMap with the configuration of modules, in the operator's namespace
    #[arg(long, value_name = "NAME", default_value = "addon-operator", env = "BOATHOOK_MODULES_CONFIG_MAP")]
    pub modules_config_map: String,
    /// Place in the order of modules whose directories have no number
    #[arg(long, value_name = "N", default_value_t = 1, env = "BOATHOOK_UNNUMBERED_ORDER")]
    pub unnumbered_order: u32,
    /// Each directory of modules and each module needs a `values.yaml`
    #[arg(long, env = "BOATHOOK_STRICT_MODULES")]
    pub strict_modules: bool,
}

//! The flags of `boathook serve` for modules.

use std::path::PathBuf;

use clap::{Args, Command};

/// Arguments of `boathook serve`, the variable of each, and addon-operator's variables for the same: that which its code
/// reads, and that which its documentation names.
const ADDON_OPERATOR: [(&str, &str, &[&str]); 7] = [
    ("modules", "BOATHOOK_MODULES", &["ADDON_OPERATOR_MODULES_DIR", "MODULES_DIR"]),
    ("global_hooks", "BOATHOOK_GLOBAL_HOOKS", &["ADDON_OPERATOR_GLOBAL_HOOKS_DIR", "GLOBAL_HOOKS_DIR"]),
    (
        "unnumbered_order",
        "BOATHOOK_UNNUMBERED_ORDER",
        &["ADDON_OPERATOR_UNNUMBERED_MODULES_ORDER", "UNNUMBERED_MODULES_ORDER"],
    ),
    (
        "strict_modules",
        "BOATHOOK_STRICT_MODULES",
        &["ADDON_OPERATOR_STRICT_CHECK_VALUES_MODE_ENABLED", "STRICT_CHECK_VALUES_MODE_ENABLED"],
    ),
    ("modules_config_map", "BOATHOOK_MODULES_CONFIG_MAP", &["ADDON_OPERATOR_CONFIG_MAP"]),
    ("namespace", "BOATHOOK_NAMESPACE", &["ADDON_OPERATOR_NAMESPACE"]),
    ("metrics_prefix", "BOATHOOK_METRICS_PREFIX", &["ADDON_OPERATOR_PROMETHEUS_METRICS_PREFIX"]),
];

/// Lets `serve` read addon-operator's variables where its own is not set. The environment of a Deployment of addon-operator
/// can stay as it is. `has` says which variables are set.
pub(super) fn with_variables_of_addon_operator(mut command: Command, has: impl Fn(&str) -> bool) -> Command {
    for (argument, own, others) in ADDON_OPERATOR {
        if let Some(other) = others.iter().find(|other| has(other)).filter(|_| !has(own)) {
            let serve = |serve: Command| serve.mut_arg(argument, |argument| argument.env(*other));
            command = command.mut_subcommand("serve", serve);
        }
    }
    command
}

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    fn variable(argument: &str, set: &[&str]) -> String {
        let command = with_variables_of_addon_operator(Cli::command(), |name| set.contains(&name));
        let serve = command.find_subcommand("serve").unwrap();
        let found = serve.get_arguments().find(|known| known.get_id() == argument).unwrap();
        found.get_env().unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn variables_of_addon_operator_count_where_ours_are_not_set() {
        for (argument, own, others) in ADDON_OPERATOR {
            assert_eq!(variable(argument, &[]), own);
            for other in others {
                assert_eq!(variable(argument, &[other]), *other);
                assert_eq!(variable(argument, &[other, own]), own);
            }
        }
    }
}

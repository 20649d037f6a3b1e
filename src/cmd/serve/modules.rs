//! Modules from the command line.

use boathook_operator::app::{ModuleResources, ModulesOptions};

use crate::cli::addons::Addons;

/// None if the flags name no directory of modules, and the cluster's Modules are not followed. What their sources may be
/// depends on the cluster.
pub(super) fn options(args: Addons) -> Option<ModulesOptions> {
    if args.modules.is_empty() && !args.module_resources {
        return None;
    }
    let mut options = ModulesOptions::new(args.modules);
    options.global_hooks = args.global_hooks;
    options.config_map = args.modules_config_map;
    options.unnumbered_order = args.unnumbered_order;
    options.strict = args.strict_modules;
    options.resources = args.module_resources.then_some(ModuleResources { sources: None });
    Some(options)
}

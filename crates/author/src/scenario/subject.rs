//! What a scenario is about.

use std::path::PathBuf;

use boathook_core::model::HookName;
use boathook_modules::ModuleName;

/// A hook, or a module with its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Hook {
        name: HookName,
        /// Path of the component.
        component: PathBuf,
    },
    Module {
        name: ModuleName,
        /// Path of its directory.
        directory: PathBuf,
    },
}

impl Subject {
    pub fn name(&self) -> &str {
        match self {
            Self::Hook { name, .. } => name.as_str(),
            Self::Module { name, .. } => name.as_str(),
        }
    }

    /// What it is, for texts.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hook { .. } => "hook",
            Self::Module { .. } => "module",
        }
    }

    pub fn is_module(&self) -> bool {
        matches!(self, Self::Module { .. })
    }

    /// Whether a scenario counts what this hook does. For a module, it counts its hooks and the global ones. What its chart
    /// does has the name `module.NAME`.
    pub(super) fn counts(&self, hook: &str) -> bool {
        match self {
            Self::Hook { name, .. } => name.as_str() == hook,
            Self::Module { name, .. } => match hook.rsplit_once('.') {
                Some((own, of)) => (of == name.as_str() && own != "module") || of == "global",
                None => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_module_counts_its_hooks_and_the_global_ones() {
        let hook = Subject::Hook { name: HookName::new("web").unwrap(), component: PathBuf::new() };
        assert!(hook.counts("web") && !hook.counts("main.web"));
        let module = Subject::Module { name: "web".parse().unwrap(), directory: PathBuf::new() };
        assert!(module.counts("main.web") && module.counts("first.global"));
        assert!(!module.counts("module.web") && !module.counts("main.db") && !module.counts("web"));
    }
}

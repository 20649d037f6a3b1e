//! The life of objects: prepared, committed, finalized, removed; namespaces and definitions that empty themselves.
//!
//! Never speaks HTTP.

mod admit;
pub(crate) mod collect;
pub(crate) mod commit;
pub(crate) mod create;
mod defaults;
mod definitions;
pub(crate) mod delete;
mod drain;
mod frozen;
mod kinds;
pub(crate) mod plugins;
mod protect;
mod remains;
mod resize;
pub(crate) mod seed;
pub(crate) mod update;

pub(crate) use defaults::apply as defaults;
pub(crate) use seed::seed;

/// What happens to fields that a kind does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Validation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// Who writes, when, and whether it counts.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub now: jiff::Timestamp,
    pub manager: String,
    pub dry_run: bool,
    pub validation: Validation,
}

impl Context {
    pub(crate) fn stamp(&self) -> String {
        crate::time::seconds(self.now)
    }
}

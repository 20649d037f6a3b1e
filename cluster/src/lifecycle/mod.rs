//! The life of objects: prepared, committed, finalized, removed; namespaces and definitions that empty themselves.
//!
//! Never speaks HTTP.

mod admit;
pub(crate) mod collect;
pub(crate) mod commit;
pub(crate) mod create;
mod defaults;
mod frozen;
mod kinds;
pub(crate) mod plugins;
mod resize;
pub(crate) mod seed;
pub(crate) mod update;

pub(crate) use commit::delete;
pub(crate) use defaults::apply as defaults;
pub(crate) use seed::seed;

//! The lifecycle of objects: they are prepared, committed, finalized and removed. Namespaces and definitions empty
//! themselves.

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

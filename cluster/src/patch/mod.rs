//! Patches of all kinds, and who owns which field.
//!
//! Never stores anything.

pub(crate) mod json;
pub(crate) mod managed;
pub(crate) mod merge;

//! Checks of names, labels and required fields, with the real server's wording.
//!
//! Never changes an object.

pub(crate) mod metadata;
mod names;
pub(crate) mod objects;
pub(crate) mod typed;

pub(crate) use names::{Naming, label_value, qualified_name};

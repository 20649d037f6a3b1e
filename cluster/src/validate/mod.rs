//! Checks of names, labels and required fields, with the real server's wording.
//!
//! Never changes an object.

mod events;
mod kinds;
pub(crate) mod metadata;
mod names;
pub(crate) mod objects;
mod pods;
mod quantity;
pub(crate) mod typed;
mod webhooks;

pub(crate) use names::{Naming, label_value, qualified_name};

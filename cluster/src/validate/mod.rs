//! Checks of names, labels and required fields, with the real server's wording.
//!
//! Never changes an object.

mod batch;
mod common;
pub(crate) mod data;
mod events;
mod kinds;
mod limits;
pub(crate) mod metadata;
mod names;
mod network;
pub(crate) mod objects;
mod pods;
pub(crate) mod quantity;
pub(crate) mod status;
mod storage;
pub(crate) mod typed;
mod webhooks;

pub use webhooks::match_condition;

pub(crate) use names::{Naming, label_value, qualified_name};

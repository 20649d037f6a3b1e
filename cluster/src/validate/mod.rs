//! Checks of names, labels and required fields, in the real server's words.

pub(crate) mod data;
mod events;
pub(crate) mod metadata;
mod network;
pub(crate) mod objects;
mod pods;
pub(crate) mod quantity;
pub(crate) mod typed;
mod webhooks;

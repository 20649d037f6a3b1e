//! Checks of names, labels and required fields, in the real server's words.

mod batch;
mod common;
pub(crate) mod data;
mod events;
mod kinds;
mod limits;
pub(crate) mod metadata;
mod network;
pub(crate) mod objects;
mod pods;
pub(crate) mod quantity;
pub(crate) mod status;
mod storage;
pub(crate) mod typed;
mod webhooks;

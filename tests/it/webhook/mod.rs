//! The webhook server over real TLS, with answers of the tests' own in place of hooks.

mod certificates;
pub mod client;
mod corpus;
mod frames;
mod hostile;
mod questions;
mod siege;
mod stage;

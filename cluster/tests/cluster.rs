//! The local API server, seen by its clients: kube-rs and the real kubectl.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "suite/mod.rs"]
mod suite;

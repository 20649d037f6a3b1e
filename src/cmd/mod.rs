//! Stub.
pub mod filter_worker;

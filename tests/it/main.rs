//! In-process integration tests.
mod access;

//! In-process integration tests.

mod filter;

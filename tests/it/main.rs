//! In-process integration tests.

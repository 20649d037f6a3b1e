//! In-process integration tests.

mod sandbox;

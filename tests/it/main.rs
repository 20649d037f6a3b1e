//! In-process integration tests.

mod watch;

//! What time it is.
//!
//! In a component this is the clock of WASI, as `SystemTime::now` is; in a test of the
//! `testing` module it is the test's.

use crate::host;
use std::time::SystemTime;

/// The time now.
pub fn now() -> SystemTime {
    host::now()
}

//! What the tests of the whole pipeline share: guests, a cluster with an admin, the binary as a child.
//!
//! Never used by the tests of single stages, which have fixtures of their own.

pub mod cluster;
pub mod filters;
pub mod guests;
pub mod log;
pub mod process;

use std::time::{Duration, Instant};

/// How long a test waits for what must happen. Long, because machines are slow; a test that passes
/// never gets near it.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Waits until `look` finds something; panics with `what` after a while.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

//! Waiting for a condition with a deadline: the only way in which the tests let time pass.
//! It never sleeps for a fixed time in the hope that something has happened by then.

use std::fmt::Display;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

/// For what takes milliseconds when it works: long enough for a machine that is busy with other tests.
pub const SOON: Duration = Duration::from_secs(120);

const INTERVAL: Duration = Duration::from_millis(50);

/// Asks again and again until the probe answers `Ok`, and returns that. The last `Err` tells what was
/// seen instead when [`SOON`] has passed.
pub async fn eventually<T, E: Display>(what: &str, probe: impl AsyncFnMut() -> Result<T, E>) -> T {
    eventually_within(SOON, what, probe).await
}

/// [`eventually`] with a deadline of its own.
pub async fn eventually_within<T, E: Display>(
    within: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let deadline = Instant::now() + within;
    loop {
        let last = match tokio::time::timeout(within, probe()).await {
            Ok(Ok(value)) => return value,
            Ok(Err(seen)) => seen.to_string(),
            Err(_) => "the question itself got no answer".to_owned(),
        };
        assert!(Instant::now() < deadline, "not within {within:?}: {what}\n  last seen: {last}");
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Lets a fault last: how long it takes is a part of it, and nothing is expected to have happened then.
pub async fn last(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Runs the same work for many items, as many at once as `width` says, and fails with the first.
pub async fn for_each<I, F>(items: impl IntoIterator<Item = I>, width: usize, work: impl Fn(I) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut running = JoinSet::new();
    for item in items {
        if running.len() >= width {
            running.join_next().await.expect("one is running").expect("the work of one item");
        }
        running.spawn(work(item));
    }
    while let Some(done) = running.join_next().await {
        done.expect("the work of one item");
    }
}

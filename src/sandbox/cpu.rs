//! How much CPU time a future uses: its thread's, while it is polled. Never counts what other threads do
//! for it.

use std::{future::poll_fn, pin::pin, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// Runs a future, and says how much CPU time its polls took.
pub(super) async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let (mut future, mut used) = (pin!(future), Duration::ZERO);
    let output = poll_fn(|context| {
        let before = now();
        let polled = future.as_mut().poll(context);
        used += now().saturating_sub(before);
        polled
    })
    .await;
    (output, used)
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Neither is negative.
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_costs_nothing_and_work_does() {
        let ((), waited) = timed(tokio::time::sleep(Duration::from_secs(5))).await;
        assert!(waited < Duration::from_secs(1), "{waited:?}");
        let begin = now();
        let ((), worked) = timed(async {
            while now().saturating_sub(begin) < Duration::from_millis(20) {
                std::hint::spin_loop();
            }
        })
        .await;
        assert!(worked > Duration::from_millis(10), "{worked:?}");
    }
}

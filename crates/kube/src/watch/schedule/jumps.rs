//! Notices that the wall clock was set or that the machine slept, so that whatever waits for a time of day checks the
//! time again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

/// The time between two checks.
const LOOK: Duration = Duration::from_secs(1);
/// Smaller differences are the small steps that keep a clock right, not a clock that was set.
const JUMP: SignedDuration = SignedDuration::from_secs(2);

/// Reports jumps until it is dropped.
pub async fn tell_jumps(clock: impl Fn() -> Timestamp + Send, told: watch::Sender<()>) {
    let (mut wall, mut steady) = (clock(), Instant::now());
    loop {
        sleep(LOOK).await;
        let (now, passed) = (clock(), steady.elapsed());
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        if (now.duration_since(wall) - passed).abs() > JUMP {
            told.send_replace(());
        }
        (wall, steady) = (now, Instant::now());
    }
}

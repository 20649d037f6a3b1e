//! Clocks and random numbers of a run that its host controls.
//!
//! Runs whose host does not control them use the system's own.

use std::{convert::Infallible, sync::Arc, time::Duration};

use rand_core::TryRng;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// The source of a run's time and random numbers. It is queried for each reading, in order.
pub trait Ambient: Send + Sync + 'static {
    /// Time since the Unix epoch.
    fn wall(&self) -> Duration;
    /// Nanoseconds since some moment before the run.
    fn monotonic(&self) -> u64;
    /// Fills `bytes` with random bytes that are fit for keys.
    fn random(&self, bytes: &mut [u8]);
    /// Fills `bytes` with random bytes that are not fit for keys.
    fn insecure_random(&self, bytes: &mut [u8]);
    /// The seed of guests' hash maps. It is queried once, before the run.
    fn insecure_seed(&self) -> u128;
}

const RESOLUTION: Duration = Duration::from_nanos(1);

struct Wall(Arc<dyn Ambient>);

impl HostWallClock for Wall {
    fn resolution(&self) -> Duration {
        RESOLUTION
    }

    fn now(&self) -> Duration {
        self.0.wall()
    }
}

struct Monotonic(Arc<dyn Ambient>);

impl HostMonotonicClock for Monotonic {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        self.0.monotonic()
    }
}

struct Random {
    from: Arc<dyn Ambient>,
    secure: bool,
}

impl Random {
    fn fill(&self, bytes: &mut [u8]) {
        if self.secure { self.from.random(bytes) } else { self.from.insecure_random(bytes) }
    }
}

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes);
        Ok(())
    }
}

/// Makes the guest use these clocks and numbers.
pub(super) fn put_in(wasi: &mut WasiCtxBuilder, ambient: &Arc<dyn Ambient>) {
    let random = |secure| Random { from: ambient.clone(), secure };
    wasi.wall_clock(Wall(ambient.clone()))
        .monotonic_clock(Monotonic(ambient.clone()))
        .secure_random(random(true))
        .insecure_random(random(false))
        .insecure_random_seed(ambient.insecure_seed());
}

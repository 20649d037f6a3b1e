//! The clock and the random numbers of one rendering, which depend on nothing but the request.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use crate::Ambient;

/// Go's monotonic clock must not go back behind what the snapshot of the component has.
const BEGIN: u64 = 1_000_000;

/// Time that stands still, and numbers that a seed determines.
pub(super) struct Fixed {
    now: Duration,
    seed: [u8; 32],
    blocks: AtomicU64,
    ticks: AtomicU64,
}

impl Fixed {
    pub(super) fn new(now: Duration, seed: [u8; 32]) -> Self {
        Self { now, seed, blocks: AtomicU64::new(0), ticks: AtomicU64::new(BEGIN) }
    }

    fn block(&self) -> [u8; 32] {
        let number = self.blocks.fetch_add(1, Ordering::Relaxed);
        Sha256::new().chain_update(self.seed).chain_update(number.to_le_bytes()).finalize().into()
    }
}

impl Ambient for Fixed {
    fn wall(&self) -> Duration {
        self.now
    }

    fn monotonic(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    fn random(&self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(32) {
            part.iter_mut().zip(self.block()).for_each(|(to, from)| *to = from);
        }
    }

    fn insecure_random(&self, bytes: &mut [u8]) {
        self.random(bytes);
    }

    fn insecure_seed(&self) -> u128 {
        let mut bytes = [0; 16];
        self.random(&mut bytes);
        u128::from_le_bytes(bytes)
    }
}

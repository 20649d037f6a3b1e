//! Gives a run the time and the random numbers of the record. It never queries the system: values that the record does
//! not have are made up, and always the same.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use boathook_sandbox::Ambient;

use crate::record::AmbientValues;

/// The step of the clocks when the record has no more readings.
const STEP: u64 = 1_000_000;

pub(super) struct Replayed {
    seed: u128,
    left: Mutex<Left>,
}

struct Left {
    wall: Clock,
    monotonic: Clock,
    random: Bytes,
    insecure_random: Bytes,
}

impl Replayed {
    /// Returns `None` if the values are not in a recorder's format.
    pub fn new(values: &AmbientValues, started: u64) -> Option<Self> {
        let started = started.saturating_mul(1_000_000);
        let left = Left {
            wall: Clock::new(&values.wall, started),
            monotonic: Clock::new(&values.monotonic, 0),
            random: Bytes::new(values.random.as_deref().unwrap_or_default())?,
            insecure_random: Bytes::new(&values.insecure_random)?,
        };
        Some(Self { seed: u128::from_str_radix(&values.insecure_seed, 16).ok()?, left: Mutex::new(left) })
    }

    fn with<T>(&self, take: impl FnOnce(&mut Left) -> T) -> T {
        take(&mut self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ambient for Replayed {
    fn wall(&self) -> Duration {
        Duration::from_nanos(self.with(|left| left.wall.read()))
    }

    fn monotonic(&self) -> u64 {
        self.with(|left| left.monotonic.read())
    }

    fn random(&self, bytes: &mut [u8]) {
        self.with(|left| left.random.fill(bytes));
    }

    fn insecure_random(&self, bytes: &mut [u8]) {
        self.with(|left| left.insecure_random.fill(bytes));
    }

    fn insecure_seed(&self) -> u128 {
        self.seed
    }
}

struct Clock {
    readings: VecDeque<u64>,
    last: u64,
}

impl Clock {
    fn new(readings: &[u64], start: u64) -> Self {
        Self { readings: readings.iter().copied().collect(), last: start }
    }

    fn read(&mut self) -> u64 {
        self.last = self.readings.pop_front().unwrap_or_else(|| self.last.saturating_add(STEP));
        self.last
    }
}

struct Bytes {
    recorded: std::vec::IntoIter<u8>,
    /// The state of the generator for further bytes. Never zero.
    state: u64,
}

impl Bytes {
    fn new(hex: &str) -> Option<Self> {
        if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let recorded: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
        Some(Self { recorded: recorded?.into_iter(), state: 0x9e37_79b9_7f4a_7c15 })
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.recorded.next().unwrap_or_else(|| self.next());
        }
    }

    /// The xorshift64 generator.
    fn next(&mut self) -> u8 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 32) as u8
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_come_in_order_and_then_go_on_alike() {
        let values = AmbientValues {
            wall: vec![5, 9],
            monotonic: vec![],
            random: Some("0aff".into()),
            insecure_random: String::new(),
            insecure_seed: "2a".into(),
        };
        let read = || {
            let ambient = Replayed::new(&values, 1).unwrap();
            let mut bytes = [0; 6];
            ambient.random(&mut bytes);
            let clocks = [ambient.wall(), ambient.wall(), ambient.wall()].map(|time| time.as_nanos());
            (clocks, ambient.monotonic(), bytes, ambient.insecure_seed())
        };
        let (clocks, monotonic, bytes, seed) = read();
        assert_eq!((clocks, monotonic, seed), ([5, 9, 1_000_009], 1_000_000, 42));
        assert_eq!(bytes.first_chunk(), Some(&[0x0a, 0xff]));
        assert_eq!(read().2, bytes);
        for bad in ["0", "zz", "é"] {
            let values = AmbientValues { random: Some(bad.into()), ..values.clone() };
            assert!(Replayed::new(&values, 1).is_none(), "{bad}");
        }
    }
}

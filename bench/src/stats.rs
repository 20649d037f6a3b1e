//! Percentiles of durations.

use std::time::Duration;

/// Of one series of measurements.
#[derive(Debug, Clone, Copy)]
pub struct Percentiles {
    /// Median.
    pub p50: Duration,
    /// 99 of 100 are not slower.
    pub p99: Duration,
}

impl Percentiles {
    /// Nearest rank.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let rank = |percent: usize| {
            let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(index).copied().unwrap_or_default()
        };
        Self { p50: rank(50), p99: rank(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let percentiles = Percentiles::of((1..=200).map(Duration::from_millis).collect());
        assert_eq!((percentiles.p50.as_millis(), percentiles.p99.as_millis()), (100, 198));
    }
}

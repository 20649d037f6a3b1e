//! Percentiles of one series, and the median of several rounds.

use std::{fmt, time::Duration};

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

/// One figure, from several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The middle one; of two, their mean.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

impl Spread {
    /// Of the rounds' figures; NaN if there are none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
        let last = figures.len().saturating_sub(1);
        Self { median: f64::midpoint(at(last / 2), at(last.div_ceil(2))), least: at(0), most: at(last) }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.median {
            ..10.0 => 2,
            10.0..100.0 => 1,
            _ => 0,
        };
        write!(f, "{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.least, self.most)
    }
}

/// In milliseconds.
pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// In microseconds.
pub fn us(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let percentiles = Percentiles::of((1..=200).map(Duration::from_millis).collect());
        assert_eq!((percentiles.p50.as_millis(), percentiles.p99.as_millis()), (100, 198));
    }

    #[test]
    fn the_middle_round() {
        assert_eq!(Spread::of([3.0, 1.0, 20.0]), Spread { median: 3.0, least: 1.0, most: 20.0 });
        assert_eq!(Spread::of([3.0, 1.0, 20.0, 5.0]).median, 4.0);
        assert!(Spread::of([]).median.is_nan());
    }
}

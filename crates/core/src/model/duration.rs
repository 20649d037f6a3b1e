//! Durations in Go's format: `90s`, `1h30m`, `1.5h`. There are no days, and no signs except `+`.

use std::{fmt::Write as _, time::Duration};

/// Reads a duration. `None` if the text is not a duration, or needs more than 64 bits of nanoseconds (584 years).
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let (unit, tail) = unit(tail)?;
        total = total.checked_add(amount(number, unit)?)?;
        rest = tail;
    }
    u64::try_from(total).ok().map(Duration::from_nanos)
}

/// Writes a duration so that it can be read back: `1h30m`, `1s500ms`, `0s`.
pub fn format_duration(duration: Duration) -> String {
    let mut rest = duration.as_nanos();
    let mut text = String::new();
    for (unit, nanos) in [("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)] {
        if rest >= nanos {
            // Writing to a String cannot fail.
            let _ = write!(text, "{}{unit}", rest / nanos);
            rest %= nanos;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

const SECOND: u128 = 1_000_000_000;
const MINUTE: u128 = 60 * SECOND;
const HOUR: u128 = 60 * MINUTE;

/// The nanoseconds of the unit that the text begins with, and the rest of the text.
fn unit(text: &str) -> Option<(u128, &str)> {
    // Longer units come first, because `ms` also begins with `m`.
    const UNITS: [(&str, u128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", SECOND),
        ("m", MINUTE),
        ("h", HOUR),
    ];
    UNITS.iter().find_map(|(name, nanos)| text.strip_prefix(name).map(|rest| (*nanos, rest)))
}

fn amount(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Further digits are less than a nanosecond.
    let fraction = fraction.get(..fraction.len().min(15))?;
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    whole.checked_mul(unit)?.checked_add(parts.checked_mul(unit)? / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500_000_000, "1s500ms"),
            (90_000_000_000, "1m30s"),
            (86_400_000_000_000, "24h"),
            (u64::MAX, "5124095h34m33s709ms551us615ns"),
        ] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(format_duration(duration), text);
            assert_eq!(parse_duration(text), Some(duration), "{text}");
        }
    }

    #[test]
    fn reads_what_go_reads() {
        for (text, ms) in [("1.5h", 5_400_000), ("+3s", 3000), ("0", 0), (".5s", 500), ("1h0m0.25s", 3_600_250)] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "+", "5", "-1s", "1d", "1 s", "1s ", "s", ".s", "1.2.3s", "99999999999999h", "1day"] {
            assert_eq!(parse_duration(text), None, "{text:?}");
        }
    }
}

//! Durations as Go writes them: `90s`, `1h30m`, `1.5h`. Nothing else.

use super::CrontabError;

const MAX_SECONDS: u64 = 100 * 366 * 24 * 3600;

/// Whole seconds, at least one: parts of a second are cut off.
pub(super) fn go_duration(text: &str) -> Result<i64, CrontabError> {
    let nanos = nanoseconds(text).filter(|&nanos| nanos > 0);
    let seconds = nanos.and_then(|nanos| u64::try_from(nanos / 1_000_000_000).ok());
    seconds
        .filter(|&seconds| seconds <= MAX_SECONDS)
        .and_then(|seconds| i64::try_from(seconds.max(1)).ok())
        .ok_or_else(|| CrontabError::Duration(text.chars().take(80).collect()))
}

fn nanoseconds(text: &str) -> Option<u128> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let (unit, tail) = unit(tail)?;
        total = total.checked_add(amount(number, unit)?)?;
        rest = tail;
    }
    Some(total)
}

/// Nanoseconds of the unit that the text begins with, and the rest.
fn unit(text: &str) -> Option<(u128, &str)> {
    // Longer ones first: `ms` is not `m`.
    const UNITS: [(&str, u128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    UNITS.iter().find_map(|(name, nanos)| text.strip_prefix(name).map(|rest| (*nanos, rest)))
}

fn amount(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // More digits than these are less than a nanosecond.
    let fraction = fraction.get(..fraction.len().min(15))?;
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    whole.checked_mul(unit)?.checked_add(parts.checked_mul(unit)? / scale)
}

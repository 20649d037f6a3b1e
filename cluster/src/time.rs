//! Timestamps in the API's format, and ages in kubectl's. Only `now` reads the clock.

use jiff::Timestamp;

/// The current time.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// `metav1.Time`: RFC 3339 in whole seconds.
pub(crate) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The age in printed tables. `<unknown>` if the time cannot be parsed.
pub(crate) fn age(since: &str, now: Timestamp) -> String {
    match since.parse::<Timestamp>() {
        Ok(then) => human(now.as_second() - then.as_second()),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// A duration in seconds, with at most two units.
pub(crate) fn human(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let s = seconds.max(0);
    let (minutes, hours, days) = (s / 60, s / 3600, s / 86400);
    let two = |big: i64, big_unit: &str, small: i64, unit: &str| {
        if small == 0 { format!("{big}{big_unit}") } else { format!("{big}{big_unit}{small}{unit}") }
    };
    match s {
        0..120 => format!("{s}s"),
        120..600 => two(minutes, "m", s % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn ages_read_like_kubectl() {
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (190, "3m10s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (-5, "<invalid>"),
        ];
        for (seconds, shown) in cases {
            assert_eq!(human(seconds), shown);
        }
    }
}

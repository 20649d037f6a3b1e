//! How long an answer may take. Pure. A request gets no more time than an API server can ask for.

use std::time::Duration;

use boathook_core::model::parse_duration;

/// The maximum `timeoutSeconds` in Kubernetes.
const LONGEST: Duration = Duration::from_secs(30);
/// The minimum time for a hook. With less, the time would be over before anything ran.
const SHORTEST: Duration = Duration::from_millis(100);
/// The maximum time that is reserved for the answer's way back.
const MARGIN: Duration = Duration::from_millis(500);

/// The API server's timeout from `?timeout=10s`, or `default`.
pub(super) fn patience(query: Option<&str>, default: Duration) -> Duration {
    let given = query.and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("timeout=")));
    given.and_then(parse_duration).unwrap_or(default).clamp(SHORTEST, LONGEST)
}

/// The time for the answer. A tenth of the timeout, but at most half a second, is for its way back.
pub(super) fn less_margin(patience: Duration) -> Duration {
    patience.saturating_sub((patience / 10).min(MARGIN))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn is_what_the_request_says_within_reason() {
        let table = [
            (None, 10_000),
            (Some(""), 10_000),
            (Some("timeout=3s"), 3_000),
            (Some("a=b&timeout=1m"), 30_000),
            (Some("timeout=1500ms&a"), 1_500),
            (Some("timeout=0s"), 100),
            (Some("timeout=soon"), 10_000),
            (Some("timeout=-3s"), 10_000),
            (Some("mytimeout=3s"), 10_000),
        ];
        for (query, expected) in table {
            let found = patience(query, Duration::from_secs(10));
            assert_eq!(found, Duration::from_millis(expected), "{query:?}");
        }
    }

    #[test]
    fn leaves_time_for_the_way_back() {
        assert_eq!(less_margin(Duration::from_secs(30)), Duration::from_millis(29_500));
        assert_eq!(less_margin(Duration::from_secs(1)), Duration::from_millis(900));
    }
}

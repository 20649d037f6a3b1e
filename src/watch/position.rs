//! Where a watch goes on. Pure.
//!
//! Versions of one kind grow with every change, and the API says so by now: they may be compared as
//! numbers. A server with other versions is served too, at the price of more lists.

/// How a stream goes on when a list for some subscribers is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// The watch is not past the list: it serves both.
    Keep,
    /// The watch starts at the list; the others have seen some of what comes.
    FromList,
    /// No one knows what the others missed: the watch starts at the list, and they need a list too.
    FromListAndRelist,
}

/// `watch` is where the watch of the others stands, if there are any.
pub(super) fn resume(watch: Option<&str>, list: &str) -> Resume {
    let Some(watch) = watch else { return Resume::FromList };
    match (number(watch), number(list)) {
        (Some(watch), Some(list)) if watch <= list => Resume::Keep,
        (Some(_), Some(_)) => Resume::FromList,
        _ => Resume::FromListAndRelist,
    }
}

/// A version as a number.
pub(super) fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_serves_whoever_knows_at_least_as_much() {
        for (watch, list, expected) in [
            (None, "5", Resume::FromList),
            (None, "five", Resume::FromList),
            (Some("5"), "5", Resume::Keep),
            (Some("9"), "10", Resume::Keep),
            (Some("10"), "9", Resume::FromList),
            (Some("nine"), "10", Resume::FromListAndRelist),
            (Some("9"), "ten", Resume::FromListAndRelist),
        ] {
            assert_eq!(resume(watch, list), expected, "{watch:?} {list}");
        }
    }
}

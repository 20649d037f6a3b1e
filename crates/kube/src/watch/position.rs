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

/// `watch` is where the watch of the others stands, if there are any, and `asked_at` where it stood when
/// the list was asked for. A list shows the newest state, so it can't be behind that, unless the server
/// was restored from an older one: then what the others know has never happened.
pub(super) fn resume(watch: Option<&str>, asked_at: &str, list: &str) -> Resume {
    let Some(watch) = watch else { return Resume::FromList };
    match (number(watch), number(list)) {
        (_, Some(list)) if number(asked_at).is_some_and(|asked_at| list < asked_at) => Resume::FromListAndRelist,
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
        for (watch, asked_at, list, expected) in [
            (None, "", "5", Resume::FromList),
            (None, "", "five", Resume::FromList),
            (Some("5"), "", "5", Resume::Keep),
            (Some("9"), "9", "10", Resume::Keep),
            (Some("10"), "8", "9", Resume::FromList),
            (Some("10"), "9", "9", Resume::FromList),
            (Some("nine"), "nine", "10", Resume::FromListAndRelist),
            (Some("9"), "9", "ten", Resume::FromListAndRelist),
            // The server went back in time.
            (Some("100"), "90", "80", Resume::FromListAndRelist),
        ] {
            assert_eq!(resume(watch, asked_at, list), expected, "{watch:?} {asked_at} {list}");
        }
    }
}

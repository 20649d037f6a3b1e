//! Where a watch continues. Pure.
//!
//! Versions of one kind grow with every change, and the Kubernetes API now allows clients to compare them as numbers. A
//! server whose versions are not numbers also works, but costs more lists.

/// How a stream continues when a list for some subscribers is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// The watch is not past the list, so it serves both.
    Keep,
    /// The watch starts at the list. The other subscribers have already seen some of what it sends.
    FromList,
    /// It is unknown what the other subscribers missed. The watch starts at the list, and they need a list too.
    FromListAndRelist,
}

/// `watch` is where the watch of the other subscribers stands, if there are any. `asked_at` is where it stood when the
/// list was requested. A list shows the newest state, so it cannot be older than that, unless the server was restored
/// from an older state. In that case, what the other subscribers know never happened.
pub(super) fn resume(watch: Option<&str>, asked_at: &str, list: &str) -> Resume {
    let Some(watch) = watch else { return Resume::FromList };
    match (number(watch), number(list)) {
        (_, Some(list)) if number(asked_at).is_some_and(|asked_at| list < asked_at) => Resume::FromListAndRelist,
        (Some(watch), Some(list)) if watch <= list => Resume::Keep,
        (Some(_), Some(_)) => Resume::FromList,
        _ => Resume::FromListAndRelist,
    }
}

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

//! Why a run did not succeed, and what should happen next.
//!
//! Every error type converts into it by `?`; it is no error type itself, as `?` would be
//! ambiguous then.

use crate::bindings::boathook::hook::types::Failure;
use crate::data::DataError;
use crate::kube;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// The result of a hook.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed run.
///
/// `?` makes one of every error type: to be retried, except where repeating cannot help, which
/// are calls that the hook's grants forbid, requests that Kubernetes found invalid, and objects
/// that do not have the shape that the hook expects. Those are permanent.
///
/// ```
/// use boathook_sdk::prelude::*;
///
/// fn parse(text: &str) -> Result<u16> {
///     Ok(text.parse()?) // would be retried
/// }
/// assert_eq!(parse("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
pub struct Error {
    next: Next,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Retry,
    RetryAfter(Duration),
    Give,
}

impl Error {
    /// Again, after the hook's back-off.
    pub fn retry(text: impl fmt::Display) -> Self {
        Self::new(Next::Retry, text)
    }

    /// Again, after this time (in whole milliseconds).
    pub fn retry_after(delay: Duration, text: impl fmt::Display) -> Self {
        Self::new(Next::RetryAfter(delay), text)
    }

    /// Never again: the triggers of this run are given up.
    pub fn permanent(text: impl fmt::Display) -> Self {
        Self::new(Next::Give, text)
    }

    /// Whether the run is not to be repeated.
    pub fn is_permanent(&self) -> bool {
        self.next == Next::Give
    }

    /// The delay that was asked for with [`Error::retry_after`].
    pub fn delay(&self) -> Option<Duration> {
        match self.next {
            Next::RetryAfter(delay) => Some(delay),
            Next::Retry | Next::Give => None,
        }
    }

    fn new(next: Next, text: impl fmt::Display) -> Self {
        Self { next, text: text.to_string() }
    }

    pub(crate) fn into_wire(self) -> Failure {
        match self.next {
            Next::Retry => Failure::Retry(self.text),
            Next::RetryAfter(delay) => {
                let ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                Failure::RetryAfter((ms, self.text))
            }
            Next::Give => Failure::Permanent(self.text),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.next, self.text)
    }
}

impl<E: StdError + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        let (text, hopeless) = read_chain(&error);
        Self { next: if hopeless { Next::Give } else { Next::Retry }, text }
    }
}

/// The texts of an error and its sources, and whether a retry cannot fix one of them.
fn read_chain(error: &(dyn StdError + 'static)) -> (String, bool) {
    let mut text = String::new();
    let mut hopeless = false;
    let mut next = Some(error);
    while let Some(error) = next {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        hopeless |=
            error.is::<DataError>() || error.downcast_ref::<kube::Error>().is_some_and(kube::Error::is_hopeless);
        next = error.source();
    }
    (text, hopeless)
}

/// Says what a hook was doing when something failed.
pub trait ResultExt<T> {
    /// Puts a text before the error's; whether it is retried stays.
    fn context(self, text: impl fmt::Display) -> Result<T>;

    /// Like [`context`](Self::context), with a text that is only made when needed.
    fn with_context<D: fmt::Display>(self, text: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Error>> ResultExt<T> for std::result::Result<T, E> {
    fn context(self, text: impl fmt::Display) -> Result<T> {
        self.with_context(|| text)
    }

    fn with_context<D: fmt::Display>(self, text: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| {
            let error = error.into();
            Error { text: format!("{}: {}", text(), error.text), ..error }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::kube::Reason;

    #[derive(Debug)]
    struct Outer(kube::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("outer")
        }
    }

    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn only_what_repeating_cannot_mend_is_permanent() {
        for (reason, permanent) in [
            (Reason::Invalid, true),
            (Reason::ForbiddenByGrant, true),
            (Reason::ForbiddenByCluster, false),
            (Reason::Conflict, false),
            (Reason::NotFound, false),
            (Reason::Unavailable, false),
        ] {
            let error = Error::from(kube::Error::new(reason, "no"));
            assert_eq!(error.is_permanent(), permanent, "{reason:?}");
        }
    }

    #[test]
    fn a_wrapped_api_error_still_decides_and_the_chain_is_told() {
        let error = Error::from(Outer(kube::Error::new(Reason::Invalid, "bad patch")));
        assert!(error.is_permanent());
        assert_eq!(error.to_string(), "outer: bad patch");
    }

    #[test]
    fn context_keeps_what_comes_next() {
        let delay = Duration::from_millis(1500);
        let error = Err::<(), _>(Error::retry_after(delay, "busy")).context("draining n1").unwrap_err();
        assert_eq!(error.delay(), Some(delay));
        assert_eq!(error.to_string(), "draining n1: busy");
        match error.into_wire() {
            Failure::RetryAfter((ms, text)) => assert_eq!((ms, text.as_str()), (1500, "draining n1: busy")),
            other => panic!("{other:?}"),
        }
    }
}

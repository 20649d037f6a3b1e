//! Chance: to spread work over time, to choose one of many.
//!
//! Not for secrets. In a test of the `testing` module the numbers are the same each time.

use crate::host;

/// A number that is as likely as any other.
pub fn number() -> u64 {
    host::random()
}

/// A number from 0 up to, not including, `end`; 0 if that is 0.
pub fn below(end: u64) -> u64 {
    // The bias is below one in a billion for any `end` up to 2^34.
    number().checked_rem(end).unwrap_or(0)
}

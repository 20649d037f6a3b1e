//! Reads the duration of `@every`.

use super::CrontabError;
use crate::model::parse_duration;

const MAX_SECONDS: u64 = 100 * 366 * 24 * 3600;

/// Whole seconds, at least one. Parts of a second are cut off.
pub(super) fn every(text: &str) -> Result<i64, CrontabError> {
    let duration = parse_duration(text).filter(|duration| !duration.is_zero());
    duration
        .map(|duration| duration.as_secs().max(1))
        .filter(|&seconds| seconds <= MAX_SECONDS)
        .and_then(|seconds| i64::try_from(seconds).ok())
        .ok_or_else(|| CrontabError::Duration(text.chars().take(80).collect()))
}

//! Reads `limits`, `retry` and `settings`: how much, how long, how often.

use std::{num::NonZeroU32, time::Duration};

use super::{quantity, reader::Fields};
use crate::model::{Limits, RateLimit, RetryPolicy};

const MILLISECOND: Duration = Duration::from_millis(1);

pub(super) fn limits(fields: &Fields<'_, '_>) -> Limits {
    let default = Limits::default();
    let bytes = |key, default| match fields.take(key).map(quantity::bytes) {
        Some(Ok(bytes)) => bytes,
        Some(Err(message)) => {
            fields.wrong(key, message);
            default
        }
        None => default,
    };
    let limits = Limits {
        memory: bytes("memory", default.memory),
        time: fields.duration("time", MILLISECOND).unwrap_or(default.time),
        host_calls: fields
            .integer_in("hostCalls", 0, i64::MAX)
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(default.host_calls),
        host_bytes: bytes("hostBytes", default.host_bytes),
        log_bytes: bytes("logBytes", default.log_bytes),
    };
    fields.finish();
    limits
}

/// The `retry` of a binding, or the hook's if the binding has none.
pub(super) fn binding_retry(fields: &Fields<'_, '_>, hook: RetryPolicy) -> RetryPolicy {
    fields.fields("retry").map_or(hook, |fields| retry(&fields))
}

pub(super) fn retry(fields: &Fields<'_, '_>) -> RetryPolicy {
    let default = RetryPolicy::default();
    let retry = RetryPolicy {
        initial: fields.duration("initial", MILLISECOND).unwrap_or(default.initial),
        max: fields.duration("max", MILLISECOND).unwrap_or(default.max),
        multiplier: fields.number_in("multiplier", 1.0, 100.0).unwrap_or(default.multiplier),
        jitter: fields.number_in("jitter", 0.0, 1.0).unwrap_or(default.jitter),
        attempts: fields.integer_in("attempts", 1, i64::from(u32::MAX)).and_then(count),
    };
    if retry.max < retry.initial && fields.has("max") {
        fields.wrong("max", "is less than `initial`");
    } else if retry.max < retry.initial {
        fields.wrong("max", "is 32s when it is left out, less than `initial`; give both");
    }
    fields.finish();
    retry
}

/// `settings`. Both keys are needed, as in shell-operator.
pub(super) fn rate(fields: &Fields<'_, '_>) -> Option<RateLimit> {
    let interval = fields.duration("executionMinInterval", Duration::ZERO);
    let interval = fields.need("executionMinInterval", interval);
    let burst = fields.integer_in("executionBurst", 0, i64::from(u32::MAX));
    let burst = fields.need("executionBurst", burst);
    fields.finish();
    Some(RateLimit { min_interval: interval?, burst: count(burst?).unwrap_or(NonZeroU32::MIN) })
}

fn count(number: i64) -> Option<NonZeroU32> {
    u32::try_from(number).ok().and_then(NonZeroU32::new)
}

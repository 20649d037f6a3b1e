//! Limits that are far above what runs used.

use std::time::Duration;

use boathook_core::model::{Limits, format_duration};

use super::{Item, Subject, document::Change};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Advice is at least half of the limit.
const WIDER: u64 = 2;

pub(super) fn advise(subject: &Subject<'_>) -> Vec<Item> {
    let (limits, most) = (subject.spec.limits, subject.seen.most);
    let Limits { memory, time, host_calls, host_bytes, log_bytes: _ } = limits;
    // Twice the memory, because it depends on the input. Time and calls depend on others, too.
    let memory_wanted = rounded(most.memory.saturating_mul(2), MIB).max(2 * MIB);
    let time_wanted = Duration::from_secs(rounded(millis(most.time).saturating_mul(10), 1000).max(1000) / 1000);
    let calls_wanted = rounded(most.host_calls.saturating_mul(4), 100).max(100);
    let bytes_wanted = rounded(most.host_bytes.saturating_mul(4), MIB).max(MIB);
    let all = [
        ("memory", memory, memory_wanted, bytes(memory), bytes(memory_wanted), used(most.memory)),
        (
            "time",
            millis(time),
            millis(time_wanted),
            format_duration(time),
            format_duration(time_wanted),
            format!("{} ms", millis(most.time)),
        ),
        (
            "hostCalls",
            host_calls,
            calls_wanted,
            host_calls.to_string(),
            calls_wanted.to_string(),
            most.host_calls.to_string(),
        ),
        ("hostBytes", host_bytes, bytes_wanted, bytes(host_bytes), bytes(bytes_wanted), used(most.host_bytes)),
    ];
    let mut items = Vec::new();
    for (key, limit, wanted, shown_limit, shown, used) in all {
        if wanted.saturating_mul(WIDER) > limit || subject.seen.reached.contains_key(key) {
            continue;
        }
        let value = if key == "hostCalls" { wanted.into() } else { shown.clone().into() };
        items.push(Item {
            at: format!("limits.{key}"),
            advice: format!("{shown} in place of {shown_limit}"),
            reason: format!("no run used more than {used}"),
            runs: subject.seen.runs,
            spares: 0,
            changes: vec![Change::set(&["limits", key], value)],
        });
    }
    items
}

/// Limits that runs reached.
pub(super) fn reached(subject: &Subject<'_>) -> Vec<String> {
    let told = |(key, runs): (&&str, &usize)| {
        let runs = if *runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        format!("{runs} reached limits.{key}: nothing is said of this limit")
    };
    subject.seen.reached.iter().filter(|(key, _)| **key != "stack").map(told).collect()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn rounded(number: u64, step: u64) -> u64 {
    number.div_ceil(step).saturating_mul(step)
}

/// Rounded up, for people.
fn used(number: u64) -> String {
    bytes(rounded(number, KIB))
}

/// As documents have it, if it is a round number.
fn bytes(number: u64) -> String {
    match number {
        0 => "0".to_owned(),
        _ if number.is_multiple_of(MIB) => format!("{}Mi", number / MIB),
        _ if number.is_multiple_of(KIB) => format!("{}Ki", number / KIB),
        _ => number.to_string(),
    }
}

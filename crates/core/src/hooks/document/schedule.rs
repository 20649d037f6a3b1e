//! Reads `schedule[]`, and the keys that it shares with `kubernetes[]`.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{fields::Fields, policy};
use crate::model::{BindingName, Crontab, HookName, MissedRuns, QueueName, RetryPolicy, ScheduleBinding};

pub(super) fn read(fields: &Fields<'_, '_>, hook: &HookName, retry: RetryPolicy) -> ScheduleBinding {
    let missed = [("skip", MissedRuns::Skip), ("once", MissedRuns::Once)];
    let (time_zone, crontab) = when(fields, fields.some_string("timeZone"));
    let binding = ScheduleBinding {
        name: name(fields, "schedule"),
        crontab: crontab.into(),
        time_zone: time_zone.map(Into::into),
        missed_runs: fields.word("missedRuns", &missed).unwrap_or_default(),
        jitter: fields.duration("jitter", Duration::ZERO).unwrap_or_default(),
        group: group(fields),
        queue: queue(fields, hook),
        allow_failure: fields.boolean("allowFailure").unwrap_or(false),
        include_snapshots_from: include_snapshots_from(fields),
        retry: policy::binding_retry(fields, retry),
    };
    fields.finish();
    binding
}

/// Reads an entry of a document without a version. It has fewer keys, and others are ignored with a warning.
pub(super) fn read_v0(fields: &Fields<'_, '_>, hook: &HookName) -> ScheduleBinding {
    let (time_zone, crontab) = when(fields, None);
    let binding = ScheduleBinding {
        name: name(fields, "schedule"),
        crontab: crontab.into(),
        time_zone: time_zone.map(Into::into),
        missed_runs: MissedRuns::Skip,
        jitter: Duration::ZERO,
        group: None,
        queue: QueueName::Own(hook.clone()),
        allow_failure: fields.boolean("allowFailure").unwrap_or(false),
        include_snapshots_from: Arc::new([]),
        retry: RetryPolicy::default(),
    };
    fields.finish_loosely();
    binding
}

/// `name`. Several bindings may have the same name.
pub(super) fn name(fields: &Fields<'_, '_>, default: &str) -> BindingName {
    BindingName::new(fields.some_string("name").unwrap_or(default))
}

pub(super) fn group(fields: &Fields<'_, '_>) -> Option<Arc<str>> {
    fields.some_string("group").map(Into::into)
}

/// The queue that the binding names, or else the hook's own.
pub(super) fn queue(fields: &Fields<'_, '_>, hook: &HookName) -> QueueName {
    let shared = fields.some_string("queue").map(|name| QueueName::Shared(name.into()));
    shared.unwrap_or_else(|| QueueName::Own(hook.clone()))
}

/// `includeSnapshotsFrom` as it is written, each name once.
pub(super) fn include_snapshots_from(fields: &Fields<'_, '_>) -> Arc<[BindingName]> {
    let names = fields.some_strings("includeSnapshotsFrom").unwrap_or_default();
    let mut known = HashSet::new();
    names.into_iter().filter(|name| known.insert(name.clone())).map(BindingName::new).collect()
}

/// The time zone, and the crontab without it.
fn when<'v>(fields: &Fields<'v, '_>, by_key: Option<&'v str>) -> (Option<&'v str>, &'v str) {
    if let Some(Err(error)) = by_key.map(Crontab::zone) {
        fields.wrong("timeZone", error.to_string());
    }
    let Some(text) = fields.required_string("crontab") else { return (by_key, "") };
    if let Err(error) = Crontab::parse(text) {
        fields.wrong("crontab", error.to_string());
    }
    let (by_prefix, crontab) = Crontab::split_zone(text);
    if by_key.is_some() && by_prefix.is_some() {
        fields.wrong("timeZone", "is given, and the crontab has a TZ= prefix; use one of them");
    }
    (by_key.or(by_prefix), crontab)
}

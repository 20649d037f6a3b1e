//! `schedule[]`.

use std::time::Duration;

use super::{kubernetes::include_snapshots_from, policy, queue, reader::Fields};
use crate::model::{BindingName, Crontab, HookName, MissedRuns, RetryPolicy, ScheduleBinding};

pub(super) fn read(fields: &Fields<'_, '_>, hook: &HookName, retry: RetryPolicy) -> Option<ScheduleBinding> {
    fields.not_yet("group", "groups are");
    fields.not_yet("jitter", "jitter of schedules is");
    let words = [("skip", MissedRuns::Skip), ("once", MissedRuns::Once)];
    if fields.word("missedRuns", &words) == Some(MissedRuns::Once) {
        fields.refuse_for_now("missedRuns", "`once` is");
    }
    let (time_zone, crontab) = when(fields);
    let binding = ScheduleBinding {
        name: BindingName::new(fields.string("name").unwrap_or("schedule")),
        crontab: crontab.into(),
        time_zone: time_zone.map(Into::into),
        missed_runs: MissedRuns::Skip,
        jitter: Duration::ZERO,
        group: None,
        queue: queue(fields, hook),
        allow_failure: fields.boolean("allowFailure").unwrap_or(false),
        include_snapshots_from: include_snapshots_from(fields),
        retry: policy::binding_retry(fields, retry),
    };
    fields.finish();
    Some(binding)
}

/// The zone and the crontab without it.
fn when<'v>(fields: &Fields<'v, '_>) -> (Option<&'v str>, &'v str) {
    let by_key = fields.string("timeZone");
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

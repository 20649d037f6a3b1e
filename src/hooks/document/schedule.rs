//! `schedule[]`.

use super::{kubernetes::include_snapshots_from, policy, queue, reader::Fields};
use crate::model::{BindingName, Crontab, HookName, RetryPolicy, ScheduleBinding};

pub(super) fn read(fields: &Fields<'_, '_>, hook: &HookName, retry: RetryPolicy) -> Option<ScheduleBinding> {
    fields.not_yet("group", "groups are");
    fields.not_yet("jitter", "jitter of schedules is");
    if fields.word("missedRuns", &[("skip", false), ("once", true)]) == Some(true) {
        fields.refuse_for_now("missedRuns", "`once` is");
    }
    let name = fields.string("name").unwrap_or("schedule");
    let crontab = crontab(fields);
    let binding = ScheduleBinding {
        name: BindingName::new(name),
        crontab: crontab.unwrap_or_default(),
        queue: queue(fields, hook),
        allow_failure: fields.boolean("allowFailure").unwrap_or(false),
        include_snapshots_from: include_snapshots_from(fields),
        retry: policy::binding_retry(fields, retry),
    };
    fields.finish();
    Some(binding)
}

fn crontab(fields: &Fields<'_, '_>) -> Option<Crontab> {
    let zone = fields.string("timeZone");
    let text = fields.required_string("crontab")?;
    match Crontab::parse(text) {
        Ok(crontab) => Some(crontab),
        Err(error) => {
            fields.wrong("crontab", error.to_string());
            None
        }
    }
}

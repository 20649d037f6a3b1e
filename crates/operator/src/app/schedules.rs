//! Start-up runs, and one task for each `schedule` binding.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    model::{BindingName, Cause, Crontab, HookName, ScheduleBinding, StartupBinding, Tick, Trigger},
    queue,
};
use boathook_kube::watch::Schedule;
use futures::StreamExt as _;
use jiff::{Timestamp, tz::TimeZone};
use tokio::sync::watch;
use tracing::error;

use super::hooks::Hook;

/// Puts the start-up runs into their queues (`main` outside of bundles): lower numbers first, then by name.
pub(super) fn push_startups(hooks: &[Arc<Hook>], queue: &queue::Handle) {
    let with_startup = |hook: &Arc<Hook>| Some((hook.spec.on_startup.clone()?, hook.spec.name.clone()));
    let mut startups: Vec<_> = hooks.iter().filter_map(with_startup).collect();
    startups.sort_by(|(a, x), (b, y)| (a.order, x).cmp(&(b.order, y)));
    for (binding, hook) in startups {
        queue.push(startup(hook, &binding));
    }
}

pub(super) fn startup(hook: HookName, binding: &StartupBinding) -> Trigger {
    Trigger {
        hook,
        binding: BindingName::new("onStartup"),
        queue: binding.queue.clone(),
        cause: Cause::Startup,
        group: None,
        snapshots: Arc::default(),
        allow_failure: false,
        retry: binding.retry,
        debounce: Duration::ZERO,
        created: Instant::now(),
    }
}

/// Fires a schedule now, whatever its crontab says.
pub(super) fn fire(queue: &queue::Handle, hook: HookName, binding: &ScheduleBinding) {
    strike_at(queue, hook, binding, Timestamp::now());
}

/// The times at which a schedule fires, after one time and up to another, without jitter. If the schedule has no zone,
/// the times are in UTC.
pub(super) fn times(binding: &ScheduleBinding, after: Timestamp, until: Timestamp) -> impl Iterator<Item = Timestamp> {
    // The check of the document rejects invalid crontabs and zones.
    let crontab = Crontab::parse(&binding.crontab).ok();
    let zone = binding.time_zone.as_deref().and_then(|zone| Crontab::zone(zone).ok()).unwrap_or(TimeZone::UTC);
    let mut last = after;
    std::iter::from_fn(move || {
        last = crontab.as_ref()?.next_after(last, &zone).filter(|next| *next <= until)?;
        Some(last)
    })
}

/// Fires a schedule as if it were this time.
pub(super) fn strike_at(queue: &queue::Handle, hook: HookName, binding: &ScheduleBinding, at: Timestamp) {
    let scheduled_at = u64::try_from(at.as_millisecond()).unwrap_or_default();
    queue.push(trigger(hook, binding, Tick { scheduled_at, missed: 0 }));
}

pub(super) fn trigger(hook: HookName, binding: &ScheduleBinding, tick: Tick) -> Trigger {
    Trigger {
        hook,
        binding: binding.name.clone(),
        queue: binding.queue.clone(),
        cause: Cause::Schedule(tick),
        group: binding.group.clone(),
        snapshots: binding.include_snapshots_from.clone(),
        allow_failure: binding.allow_failure,
        retry: binding.retry,
        debounce: Duration::ZERO,
        created: Instant::now(),
    }
}

/// Runs until it is dropped.
pub(super) async fn run(queue: queue::Handle, hook: HookName, binding: ScheduleBinding, jumps: watch::Receiver<()>) {
    keep_by(Timestamp::now, queue, hook, binding, jumps).await;
}

async fn keep_by(
    clock: impl Fn() -> Timestamp + Send + 'static,
    queue: queue::Handle,
    hook: HookName,
    binding: ScheduleBinding,
    jumps: watch::Receiver<()>,
) {
    let ScheduleBinding { crontab, time_zone, missed_runs, jitter, .. } = &binding;
    let schedule = match Schedule::new(crontab, time_zone.as_deref(), *missed_runs, *jitter) {
        Ok(schedule) => schedule,
        // The check of the document rejects such a crontab.
        Err(error) => return error!(%hook, binding = %binding.name, %error, "schedule cannot be used"),
    };
    let mut ticks = std::pin::pin!(schedule.ticks(clock, jumps));
    while let Some(tick) = ticks.next().await {
        queue.push(trigger(hook.clone(), &binding, tick));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use boathook_core::{
        model::{Job, MissedRuns, QueueName, RetryPolicy},
        queue::{HookQueueConfig, QueueConfig, Runner},
        tasks::Tasks,
    };
    use boathook_kube::watch::notify_of_jumps;
    use futures::FutureExt as _;
    use jiff::SignedDuration;
    use tokio::{
        sync::mpsc,
        time::{Instant, sleep},
    };

    use super::*;

    struct Nobody;

    impl queue::Observer for Nobody {}

    // mutant: crates/operator/src/app/schedules.rs: `schedule.ticks(clock, jumps)` => `schedule.ticks(clock, { drop(jumps); watch::channel(()).1 })`
    #[tokio::test(start_paused = true)]
    async fn a_schedule_follows_a_jump_of_the_clock() {
        let (start, began, set_by) = ("2026-01-30T12:00:30Z".parse::<Timestamp>(), Instant::now(), AtomicI64::new(0));
        let (start, set_by) = (start.unwrap(), Arc::new(set_by));
        let set = set_by.clone();
        let clock = move || {
            let passed = SignedDuration::try_from(began.elapsed()).unwrap();
            start + passed + SignedDuration::from_hours(set.load(Ordering::Relaxed))
        };
        let (ran, mut runs) = mpsc::unbounded_channel();
        let action = Arc::new(move |job: Job| {
            ran.send(job).unwrap();
            async { Ok(()) }.boxed()
        });
        let (tasks, hook) = (Tasks::default(), HookName::new("h").unwrap());
        let runner = Runner::new(QueueConfig::default(), action, Arc::new(Nobody), &tasks);
        runner.handle().add_hook(hook.clone(), HookQueueConfig::default());
        let binding = ScheduleBinding {
            name: BindingName::new("hourly"),
            crontab: "0 * * * *".into(),
            time_zone: Some("UTC".into()),
            missed_runs: MissedRuns::Once,
            jitter: Duration::ZERO,
            group: None,
            queue: QueueName::Own(hook.clone()),
            allow_failure: false,
            include_snapshots_from: Arc::default(),
            retry: RetryPolicy::default(),
        };
        // As in the operator.
        let jumps = watch::Sender::default();
        let _schedule =
            tasks.spawn("hook h", keep_by(clock.clone(), runner.handle(), hook, binding, jumps.subscribe()));
        let _telling = tasks.spawn("jumps of the clock", notify_of_jumps(clock, jumps));
        // In the middle of a sleep, whose end would also notice the jump.
        sleep(Duration::from_secs(630)).await;
        set_by.store(2, Ordering::Relaxed);
        let set = Instant::now();
        let job = runs.recv().await.unwrap();
        assert!(set.elapsed() <= Duration::from_secs(1), "{:?}", set.elapsed());
        let planned = "2026-01-30T14:00:00Z".parse::<Timestamp>().unwrap().as_millisecond();
        let tick = Tick { scheduled_at: planned.unsigned_abs(), missed: 1 };
        assert_eq!(job.triggers[0].cause, Cause::Schedule(tick));
    }
}

//! Triggers for the tests of this stage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use crate::model::{
    BindingName, Cause, Failure, FailureKind, HookName, Item, Job, ObjectEvent, ObjectKey, Outcome, QueueName,
    Resource, RetryPolicy, Tick, Trigger, WatchEventKind,
};

pub(super) static RESOURCE: LazyLock<Arc<Resource>> =
    LazyLock::new(|| Arc::new(Resource::of("v1", "ConfigMap", "configmaps", true)));

pub(super) fn hook(name: &str) -> HookName {
    HookName::new(name).unwrap()
}

pub(super) fn own(name: &str) -> QueueName {
    QueueName::Own(hook(name))
}

pub(super) fn shared(name: &str) -> QueueName {
    QueueName::Shared(name.into())
}

pub(super) fn trigger(hook_name: &str, queue: QueueName, binding: &str, cause: Cause) -> Trigger {
    Trigger {
        hook: hook(hook_name),
        binding: BindingName::new(binding),
        queue,
        cause,
        group: None,
        snapshots: Arc::new([]),
        allow_failure: false,
        retry: RetryPolicy { jitter: 0.0, ..RetryPolicy::default() },
        debounce: Duration::ZERO,
        created: Instant::now(),
    }
}

/// `version` distinguishes the events of an object. `a#2` is another object with the name `a`.
pub(super) fn event_of(kind: WatchEventKind, object: &str, version: u64) -> Cause {
    Cause::Event(ObjectEvent {
        kind,
        resource: RESOURCE.clone(),
        item: Arc::new(Item {
            key: ObjectKey { namespace: Some("ns".into()), name: object.split('#').next().unwrap().into() },
            uid: object.into(),
            resource_version: version.to_string().into(),
            object: Some("{}".into()),
            filter_result: None,
        }),
        previous_filter_result: None,
        previous_object: None,
        managers: None,
    })
}

pub(super) fn modified(object: &str, version: u64) -> Cause {
    event_of(WatchEventKind::Modified, object, version)
}

pub(super) fn tick(at: u64) -> Cause {
    Cause::Schedule(Tick { scheduled_at: at, missed: 0 })
}

/// For example `a1` for version 1 of object `a`, `t5` for a tick, `start`, `sync`.
pub(super) fn label(trigger: &Trigger) -> String {
    match &trigger.cause {
        Cause::Startup => "start".to_owned(),
        Cause::Synchronization => "sync".to_owned(),
        Cause::Schedule(tick) => format!("t{}", tick.scheduled_at),
        Cause::Event(event) => format!("{}{}", event.item.key.name, event.item.resource_version),
    }
}

pub(super) fn labels(job: &Job) -> Vec<String> {
    job.triggers.iter().map(label).collect()
}

pub(super) fn failed(kind: FailureKind) -> Outcome {
    Err(Failure { kind, message: "as the test wants".to_owned(), backtrace: None })
}

pub(super) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Runs `concurrency` jobs at once, as often as there is work.
pub(super) fn wide(concurrency: usize) -> super::HookQueueConfig {
    super::HookQueueConfig { concurrency, ..super::HookQueueConfig::default() }
}

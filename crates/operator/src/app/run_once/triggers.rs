//! What a hook receives for a requested event: the same trigger that its binding would make. It runs nothing but
//! filters.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    filter,
    model::{
        BindingName, Cause, HookSpec, KubernetesBinding, Object, ObjectEvent, QueueName, RetryPolicy, ScheduleBinding,
        Tick, Trigger, WatchEventKind,
    },
};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    OnceError,
    request::{Bound, STARTUP, TriggerRequest},
    target_objects::Set,
};
use crate::app::Services;

/// Makes the trigger for one requested event.
pub(super) async fn trigger(services: &Services, spec: &HookSpec, set: &Set) -> Result<Trigger, OnceError> {
    match set.asked.bound(spec)? {
        Bound::Startup(binding) => Ok(plain(spec, BindingName::new(STARTUP), Cause::Startup, binding.retry)),
        Bound::Schedule(binding) => Ok(schedule(spec, binding)),
        Bound::Kubernetes(binding) => {
            let cause = match (&set.asked.occasion, &set.object) {
                (TriggerRequest::Event { kind, filter_result, .. }, Some(object)) => {
                    Cause::Event(event(services, binding, *kind, object, filter_result.as_ref()).await?)
                }
                _ => Cause::Synchronization,
            };
            let mut snapshots = vec![binding.name.clone()];
            let more = binding.include_snapshots_from.iter().filter(|name| **name != binding.name);
            snapshots.extend(more.cloned());
            Ok(Trigger {
                queue: binding.queue.clone(),
                group: binding.group.clone(),
                snapshots: snapshots.into(),
                allow_failure: binding.allow_failure,
                ..plain(spec, binding.name.clone(), cause, binding.retry)
            })
        }
    }
}

fn plain(spec: &HookSpec, binding: BindingName, cause: Cause, retry: RetryPolicy) -> Trigger {
    Trigger {
        hook: spec.name.clone(),
        binding,
        queue: QueueName::main(),
        cause,
        group: None,
        snapshots: Arc::default(),
        allow_failure: false,
        retry,
        debounce: Duration::ZERO,
        created: Instant::now(),
    }
}

fn schedule(spec: &HookSpec, binding: &ScheduleBinding) -> Trigger {
    let scheduled_at = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
    let cause = Cause::Schedule(Tick { scheduled_at, missed: 0 });
    Trigger {
        queue: binding.queue.clone(),
        group: binding.group.clone(),
        snapshots: binding.include_snapshots_from.clone(),
        allow_failure: binding.allow_failure,
        ..plain(spec, binding.name.clone(), cause, binding.retry)
    }
}

async fn event(
    services: &Services,
    binding: &KubernetesBinding,
    kind: WatchEventKind,
    (object, before): &(Value, Option<Value>),
    filter_result: Option<&Value>,
) -> Result<ObjectEvent, OnceError> {
    let found = services.discovery.find(binding.api_version.as_deref(), &binding.kind).await;
    let resource = found.map_err(|source| OnceError::Kind { binding: binding.name.clone(), source })?;
    let (api_version, kind_name): (Arc<str>, Arc<str>) = (resource.api_version().into(), resource.kind.as_str().into());
    let read = |value: &Value| {
        let read = Object::from_json(&value.to_string(), &api_version, &kind_name);
        read.map_err(|source| OnceError::Object { binding: binding.name.clone(), source })
    };
    let object = read(object)?;
    let result = match (filter_result, &binding.jq_filter) {
        (Some(given), Some(_)) => Some(given.to_string().into()),
        _ => filtered(services, binding, &object).await?,
    };
    let item = filter::item(&object, binding.content, result);
    let (mut previous_filter_result, mut previous_object) = (None, None);
    if let Some(before) = before {
        let before = read(before)?;
        previous_filter_result = filtered(services, binding, &before).await?;
        previous_object = filter::item(&before, binding.content, None).object.filter(|_| binding.previous_object);
    }
    Ok(ObjectEvent { kind, resource, item: Arc::new(item), previous_filter_result, previous_object })
}

async fn filtered(
    services: &Services,
    binding: &KubernetesBinding,
    object: &Object,
) -> Result<Option<Arc<str>>, OnceError> {
    let Some(program) = &binding.jq_filter else { return Ok(None) };
    let failed = |source| OnceError::Filter { binding: binding.name.clone(), source };
    let program = filter::compile(program).map_err(|error| failed(filter::FilterError::Program(error.to_string())))?;
    let outputs = services.evaluator.evaluate(&program, &object.json).await.map_err(failed)?;
    Ok(Some(Arc::from(outputs.combined())))
}

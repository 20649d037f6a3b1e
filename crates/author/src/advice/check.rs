//! Whether a record contradicts a changed document: each call that the document allowed is still allowed, each run is within
//! the limits, and each event that led to something still runs the hook.

use std::sync::Arc;

use boathook_core::model::{Cause, HookSpec, Item, KubernetesBinding, Limits, WatchEventKind};
use boathook_egress::check;
use boathook_operator::record::{Call, Record, Request};

use super::seen::{led_to_something, place};
use crate::rbac::{Calls, Kinds, denied};

/// What a changed document would do to a recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It would be the same.
    Same,
    /// Its events would not run the hook. They led to nothing.
    Spared,
    /// What it did would not be possible any more, and why.
    Contradicted(String),
}

/// What the document `after` would do to a recorded run of `before`. `silent` as for [`super::Seen::add`].
pub fn judge(record: &Record, before: &HookSpec, after: &HookSpec, kinds: &Kinds, silent: bool) -> Verdict {
    if let Some(limit) = exceeded(record, after.limits).filter(|_| exceeded(record, before.limits).is_none()) {
        return Verdict::Contradicted(format!("run {} used more than limits.{limit}", record.header.run));
    }
    for call in &record.calls {
        if let Some(what) = refused(call, after, kinds).filter(|_| refused(call, before, kinds).is_none()) {
            return Verdict::Contradicted(format!("run {} needed to {what}", record.header.run));
        }
    }
    let mut spared = false;
    let led = silent || led_to_something(record);
    for trigger in &record.triggers {
        let Cause::Event(event) = &trigger.cause else { continue };
        let of = |spec: &HookSpec| spec.kubernetes.iter().find(|one| one.name == trigger.binding).cloned();
        let Some(old) = of(before) else { continue };
        let still = of(after).is_some_and(|new| delivers(&new, event.kind) && selects(&old, &new, &event.item));
        if !still && led {
            let object = event.item.key.to_string();
            return Verdict::Contradicted(format!("run {} acted because of {object}", record.header.run));
        }
        spared |= !still;
    }
    for snapshot in &record.snapshots {
        let of = |spec: &HookSpec| spec.kubernetes.iter().find(|one| one.name == snapshot.binding).cloned();
        let Some(old) = of(before) else { continue };
        let sees = |item: &Arc<Item>| of(after).is_some_and(|new| selects(&old, &new, item));
        if !snapshot.items.iter().flatten().all(sees) {
            let name = snapshot.binding.unique();
            return Verdict::Contradicted(format!("run {} opened the snapshot {name}", record.header.run));
        }
    }
    if spared { Verdict::Spared } else { Verdict::Same }
}

fn exceeded(record: &Record, limits: Limits) -> Option<&'static str> {
    let end = &record.end;
    let used = [
        ("memory", end.memory_peak, limits.memory),
        ("time", end.duration_us, u64::try_from(limits.time.as_micros()).unwrap_or(u64::MAX)),
        ("hostCalls", end.host_calls, limits.host_calls),
        ("hostBytes", end.host_bytes, limits.host_bytes),
    ];
    used.into_iter().find(|(_, used, limit)| used > limit).map(|(key, ..)| key)
}

/// What a call may not do.
fn refused(call: &Call, spec: &HookSpec, kinds: &Kinds) -> Option<String> {
    if let Request::Http { request } = &call.request {
        return check(&spec.name, &spec.permissions, request).err().map(|error| error.message);
    }
    let mut calls = Calls::default();
    calls.recorded(call);
    denied(&spec.permissions, &calls, kinds)
}

fn delivers(binding: &KubernetesBinding, kind: WatchEventKind) -> bool {
    binding.events.contains(&kind)
}

/// Whether the new binding selects an object that the old one selected.
fn selects(old: &KubernetesBinding, new: &KubernetesBinding, item: &Item) -> bool {
    let place = place(item);
    let named = |names: &[String], name: Option<&str>| {
        names.is_empty() || name.is_some_and(|name| names.iter().any(|own| own == name))
    };
    let by_label = new.label_selector == old.label_selector
        || new.label_selector.as_deref().is_some_and(|selector| {
            let labels = place.labels.as_ref();
            labels.is_some_and(|labels| {
                selector.split(',').all(|term| match term.split_once('=') {
                    Some((key, value)) => labels.get(key).is_some_and(|own| own == value),
                    None => labels.contains_key(term),
                })
            })
        });
    let same = (&new.kind, &new.api_version, &new.field_selector, &new.namespace_labels)
        == (&old.kind, &old.api_version, &old.field_selector, &old.namespace_labels);
    let in_namespace = new.namespaces == old.namespaces || named(&new.namespaces, place.namespace.as_deref());
    let by_name = new.names == old.names || named(&new.names, Some(&place.name));
    same && in_namespace && by_name && by_label
}

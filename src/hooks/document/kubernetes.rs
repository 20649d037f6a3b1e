//! `kubernetes[]`.

use std::sync::Arc;

use super::{policy, queue, reader::Fields, selector};
use crate::model::{BindingName, Content, HookName, KubernetesBinding, RetryPolicy, WatchEventKind};

const EVENTS: [(&str, WatchEventKind); 3] =
    [("Added", WatchEventKind::Added), ("Modified", WatchEventKind::Modified), ("Deleted", WatchEventKind::Deleted)];

pub(super) fn read(fields: &Fields<'_, '_>, hook: &HookName, retry: RetryPolicy) -> Option<KubernetesBinding> {
    not_yet(fields);
    let names = fields.fields("nameSelector").map(|s| selector::names(&s)).unwrap_or_default();
    let namespaces = fields.fields("namespace").map(|s| selector::namespaces(&s)).unwrap_or_default();
    let binding = KubernetesBinding {
        name: BindingName::new(fields.string("name").unwrap_or("kubernetes")),
        api_version: api_version(fields),
        kind: fields.required_string("kind").unwrap_or_default().to_owned(),
        field_selector: fields.fields("fieldSelector").and_then(|s| selector::fields(&s, !names.is_empty())),
        names,
        namespaces,
        namespace_labels: None,
        label_selector: fields.fields("labelSelector").and_then(|s| selector::labels(&s)),
        events: events(fields),
        on_synchronization: fields.boolean("executeHookOnSynchronization").unwrap_or(true),
        wait_for_synchronization: true,
        resynchronization_period: None,
        ignore_own_writes: false,
        content: content(fields),
        jq_filter: fields.filter("jqFilter").map(Arc::from),
        group: None,
        include_snapshots_from: include_snapshots_from(fields),
        queue: queue(fields, hook),
        allow_failure: fields.boolean("allowFailure").unwrap_or(false),
        retry: policy::binding_retry(fields, retry),
    };
    fields.finish();
    Some(binding)
}

/// What is known of shell-operator or of the design, and can't be done yet. Where a value asks
/// for nothing but what happens anyway, it is accepted.
fn not_yet(fields: &Fields<'_, '_>) {
    fields.not_yet("group", "groups are");
    fields.not_yet("resynchronizationPeriod", "periodic resynchronization is");
    if fields.boolean("waitForSynchronization") == Some(false) {
        fields.refuse_for_now("waitForSynchronization", "`false` is");
    }
    if fields.boolean("ignoreOwnWrites") == Some(true) {
        fields.refuse_for_now("ignoreOwnWrites", "`true` is");
    }
}

fn api_version(fields: &Fields<'_, '_>) -> Option<String> {
    let text = fields.string("apiVersion")?;
    let part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    if text.split('/').count() <= 2 && text.split('/').all(part) {
        return Some(text.to_owned());
    }
    fields.wrong("apiVersion", format!("is {text:?}; \"version\" or \"group/version\" is needed, such as \"apps/v1\""));
    None
}

/// `executeHookOnEvent`, or its older name `watchEvent`; all events when neither is there.
fn events(fields: &Fields<'_, '_>) -> Vec<WatchEventKind> {
    let older = read_events(fields, "watchEvent");
    let mut events = read_events(fields, "executeHookOnEvent")
        .or(older)
        .unwrap_or_else(|| EVENTS.iter().map(|(_, event)| *event).collect());
    events.sort_unstable();
    events.dedup();
    events
}

fn read_events(fields: &Fields<'_, '_>, key: &'static str) -> Option<Vec<WatchEventKind>> {
    let mut events = Vec::new();
    for (i, text) in fields.strings(key)?.iter().enumerate() {
        match EVENTS.iter().find(|(word, _)| word == text) {
            Some((_, event)) => events.push(*event),
            None => fields.wrong(&format!("{key}[{i}]"), format!("is {text:?}; allowed: Added, Modified, Deleted")),
        }
    }
    Some(events)
}

fn content(fields: &Fields<'_, '_>) -> Content {
    let words = [("full", Content::Full), ("metadata", Content::Metadata), ("none", Content::None)];
    let content = fields.word("content", &words);
    let keep = fields.boolean("keepFullObjectsInMemory");
    match (content, keep) {
        (Some(content), Some(keep)) if keep != (content == Content::Full) => {
            fields.wrong("keepFullObjectsInMemory", "contradicts `content`; remove one of them");
            content
        }
        (Some(content), _) => content,
        (None, Some(false)) => Content::None,
        (None, _) => Content::Full,
    }
}

pub(super) fn include_snapshots_from(fields: &Fields<'_, '_>) -> Arc<[BindingName]> {
    let names = fields.some_strings("includeSnapshotsFrom").unwrap_or_default();
    names.into_iter().map(BindingName::new).collect()
}

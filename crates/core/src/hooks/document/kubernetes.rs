//! Reads `kubernetes[]`, and `onKubernetesEvent[]` of documents without a version.

use std::{sync::Arc, time::Duration};

use super::{
    fields::{Fields, quoted},
    policy,
    schedule::{group, include_snapshots_from, name, queue},
    selector,
};
use crate::model::{Content, HookName, KubernetesBinding, MayWatch, QueueName, RetryPolicy, WatchEventKind};

use WatchEventKind::{Added, Deleted, Modified};

const EVENTS: [(&str, WatchEventKind); 3] = [("Added", Added), ("Modified", Modified), ("Deleted", Deleted)];
const EVENTS_V0: [(&str, WatchEventKind); 3] = [("add", Added), ("update", Modified), ("delete", Deleted)];

/// Each time, all objects of a kind are listed again. A shorter period would be a load, and not a safeguard.
const LEAST_RESYNCHRONIZATION: Duration = Duration::from_secs(1);
/// Each name in each namespace needs a watch of its own.
const MAX_WATCHES: usize = 1000;

pub(super) fn read(fields: &Fields<'_, '_>, hook: &HookName, retry: RetryPolicy) -> KubernetesBinding {
    let names = fields.fields("nameSelector").map(|s| selector::names(&s)).unwrap_or_default();
    let (namespaces, namespace_labels) =
        fields.fields("namespace").map(|s| selector::namespaces(&s)).unwrap_or_default();
    let binding = KubernetesBinding {
        name: name(fields, "kubernetes"),
        role: None,
        api_version: api_version(fields),
        kind: fields.required_string("kind").unwrap_or_default().to_owned(),
        field_selector: fields.fields("fieldSelector").and_then(|s| selector::fields(&s, !names.is_empty())),
        names,
        namespaces,
        namespace_labels,
        label_selector: fields.fields("labelSelector").and_then(|s| selector::labels(&s)),
        events: events(fields),
        on_synchronization: fields.boolean("executeHookOnSynchronization").unwrap_or(true),
        wait_for_synchronization: fields.boolean("waitForSynchronization").unwrap_or(true),
        resynchronization_period: fields.duration("resynchronizationPeriod", LEAST_RESYNCHRONIZATION),
        ignore_own_writes: fields.boolean("ignoreOwnWrites").unwrap_or(false),
        debounce: fields.duration("debounce", Duration::ZERO).unwrap_or_default(),
        previous_object: fields.boolean("previousObject").unwrap_or(false),
        content: content(fields),
        jq_filter: fields.filter("jqFilter").map(Arc::from),
        group: group(fields),
        include_snapshots_from: include_snapshots_from(fields),
        queue: queue(fields, hook),
        allow_failure: fields.boolean("allowFailure").unwrap_or(false),
        retry: policy::binding_retry(fields, retry),
        may_watch: MayWatch::default(),
    };
    check_watches(fields, "nameSelector", &binding);
    fields.finish();
    binding
}

/// Reads a binding that has no run for synchronization, and only the events that it names.
pub(super) fn read_v0(fields: &Fields<'_, '_>, hook: &HookName) -> KubernetesBinding {
    if !fields.has("event") {
        fields.warn("event", "is missing, so that no event runs the hook; name some of add, update, delete");
    }
    let mut events = read_events(fields, "event", &EVENTS_V0).unwrap_or_default();
    tidy(&mut events);
    let object = fields.string("objectName").filter(|name| !name.is_empty());
    let binding = KubernetesBinding {
        name: name(fields, "onKubernetesEvent"),
        role: None,
        api_version: None,
        kind: fields.required_string("kind").unwrap_or_default().to_owned(),
        names: object.map(str::to_owned).into_iter().collect(),
        namespaces: fields.fields("namespaceSelector").map(|s| selector::namespaces_v0(&s)).unwrap_or_default(),
        namespace_labels: None,
        label_selector: fields.fields("selector").and_then(|s| selector::labels_v0(&s)),
        field_selector: None,
        events,
        on_synchronization: false,
        wait_for_synchronization: true,
        resynchronization_period: None,
        ignore_own_writes: false,
        debounce: Duration::ZERO,
        previous_object: false,
        content: Content::Full,
        jq_filter: fields.filter("jqFilter").map(Arc::from),
        group: None,
        include_snapshots_from: Arc::new([]),
        queue: QueueName::Own(hook.clone()),
        allow_failure: fields.boolean("allowFailure").unwrap_or(false),
        retry: RetryPolicy::default(),
        may_watch: MayWatch::default(),
    };
    check_watches(fields, "objectName", &binding);
    fields.finish_loosely();
    binding
}

fn check_watches(fields: &Fields<'_, '_>, key: &str, binding: &KubernetesBinding) {
    let watches = binding.names.len().max(1).saturating_mul(binding.namespaces.len().max(1));
    fields.check(watches <= MAX_WATCHES, key, || {
        format!(
            "and the namespaces need {watches} watches, one for each name in each namespace; at most {MAX_WATCHES} \
             are allowed: select by labels"
        )
    });
}

/// `apiVersion`, if it is present and valid.
pub(super) fn api_version(fields: &Fields<'_, '_>) -> Option<String> {
    let text = fields.string("apiVersion")?;
    let part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    if text.split('/').count() <= 2 && text.split('/').all(part) {
        return Some(text.to_owned());
    }
    fields.wrong(
        "apiVersion",
        format!("is {}; \"version\" or \"group/version\" is needed, such as \"apps/v1\"", quoted(text)),
    );
    None
}

/// `executeHookOnEvent`, or its older name `watchEvent`. All events if neither is present.
fn events(fields: &Fields<'_, '_>) -> Vec<WatchEventKind> {
    let older = read_events(fields, "watchEvent", &EVENTS);
    let mut events = read_events(fields, "executeHookOnEvent", &EVENTS)
        .or(older)
        .unwrap_or_else(|| EVENTS.iter().map(|(_, event)| *event).collect());
    tidy(&mut events);
    events
}

fn read_events(
    fields: &Fields<'_, '_>,
    key: &'static str,
    words: &[(&str, WatchEventKind)],
) -> Option<Vec<WatchEventKind>> {
    let mut events = Vec::new();
    for (i, text) in fields.strings(key)?.iter().enumerate() {
        match words.iter().find(|(word, _)| word == text) {
            Some((_, event)) => events.push(*event),
            None => {
                let allowed: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                fields.wrong(&format!("{key}[{i}]"), format!("is {}; allowed: {}", quoted(text), allowed.join(", ")));
            }
        }
    }
    Some(events)
}

fn tidy(events: &mut Vec<WatchEventKind>) {
    events.sort_unstable();
    events.dedup();
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

//! Documents with `configVersion: v1`: the keys at the top.

use super::{kubernetes, permission, policy, reader::Fields, schedule};
use crate::model::{HookName, HookSpec, ObjectRef, StartupBinding};

/// The keys that say what the hook is.
const KEYS: [&str; 9] = [
    "onStartup",
    "schedule",
    "kubernetes",
    "settings",
    "permissions",
    "limits",
    "retry",
    "concurrency",
    "failureEvents",
];
const LATER: [(&str, &str); 3] = [
    ("kubernetesValidating", "admission hooks are"),
    ("kubernetesMutating", "admission hooks are"),
    ("kubernetesCustomResourceConversion", "conversion hooks are"),
];

/// Whether a key stands at the top of these documents, now or later.
pub(super) fn is_known(key: &str) -> bool {
    KEYS.contains(&key) || LATER.iter().any(|(later, _)| *later == key)
}

pub(super) fn read(document: &Fields<'_, '_>, hook: &HookName) -> HookSpec {
    LATER.iter().for_each(|(key, feature)| document.not_yet(key, feature));
    let retry = document.fields("retry").map(|fields| policy::retry(&fields)).unwrap_or_default();
    let spec = HookSpec {
        name: hook.clone(),
        on_startup: document.integer("onStartup").map(|order| StartupBinding { order, retry }),
        schedules: document.items("schedule").map(|item| schedule::read(&item, hook, retry)).collect(),
        kubernetes: document.items("kubernetes").map(|item| kubernetes::read(&item, hook, retry)).collect(),
        permissions: permission::read(document).into(),
        limits: document.fields("limits").map(|fields| policy::limits(&fields)).unwrap_or_default(),
        concurrency: document.integer_in("concurrency", 1, 1000).and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
        rate: document.fields("settings").and_then(|fields| policy::rate(&fields)),
        combine: true,
        failure_events: document.fields("failureEvents").and_then(|fields| failure_events(&fields)),
        warnings: Vec::new(),
    };
    document.finish();
    check_triggers(document, &spec);
    spec
}

/// As in shell-operator a document may do without bindings when it says something else.
fn check_triggers(document: &Fields<'_, '_>, spec: &HookSpec) {
    let reader = document.reader();
    if !KEYS.iter().any(|key| document.has(key)) && reader.is_clean() {
        reader.wrong("", "has no binding: add onStartup, schedule or kubernetes");
    } else if spec.on_startup.is_none() && spec.schedules.is_empty() && spec.kubernetes.is_empty() {
        reader.warn("", "has no binding, so that nothing runs this hook");
    }
}

/// `failureEvents`.
fn failure_events(fields: &Fields<'_, '_>) -> Option<ObjectRef> {
    let regarding = fields.need("regarding", fields.fields("regarding")).map(|object| {
        let text = |key| object.required_string(key).unwrap_or_default().to_owned();
        let reference = ObjectRef {
            api_version: object.need("apiVersion", kubernetes::api_version(&object)).unwrap_or_default(),
            kind: text("kind"),
            namespace: object.some_string("namespace").map(str::to_owned),
            name: text("name"),
        };
        object.finish();
        reference
    });
    fields.finish();
    regarding
}

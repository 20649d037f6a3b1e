//! The top-level keys of documents, of either version.

use super::{fields::Fields, kubernetes, policy, reconcile, schedule, webhooks};
use crate::model::{
    AdmissionBinding, AdmissionKind, HookName, HookSpec, ObjectRef, QueueName, RetryPolicy, Stage, StageBinding,
    StartupBinding,
};

/// The top-level keys of v1 other than `configVersion`.
const KEYS: [&str; 19] = [
    "onStartup",
    "beforeAll",
    "afterAll",
    "beforeHelm",
    "afterHelm",
    "beforeDeleteHelm",
    "afterDeleteHelm",
    "schedule",
    "kubernetes",
    "reconcile",
    "kubernetesValidating",
    "kubernetesMutating",
    "kubernetesCustomResourceConversion",
    "settings",
    "permissions",
    "limits",
    "retry",
    "concurrency",
    "failureEvents",
];

/// The default of `concurrency` with `reconcile`: parents are independent of each other.
const RECONCILES: usize = 8;

/// Documents with `configVersion: v1`.
pub(super) fn v1(document: &Fields<'_, '_>, hook: &HookName) -> HookSpec {
    let retry = document.fields("retry").map(|fields| policy::retry(&fields)).unwrap_or_default();
    let reconcilers: Vec<_> = document.items("reconcile").map(|item| reconcile::read(&item, hook, retry)).collect();
    let concurrency = document.integer_in("concurrency", 1, 1000).and_then(|n| usize::try_from(n).ok());
    let spec = HookSpec {
        name: hook.clone(),
        on_startup: startup(document, retry),
        stages: stages(document),
        schedules: document.items("schedule").map(|item| schedule::read(&item, hook, retry)).collect(),
        kubernetes: document.items("kubernetes").map(|item| kubernetes::read(&item, hook, retry)).collect(),
        admission: admission(document),
        conversions: document
            .items("kubernetesCustomResourceConversion")
            .map(|item| webhooks::conversion(&item))
            .collect(),
        permissions: policy::permissions(document).into(),
        limits: document.fields("limits").map(|fields| policy::limits(&fields)).unwrap_or_default(),
        concurrency: concurrency.unwrap_or(if reconcilers.is_empty() { 1 } else { RECONCILES }),
        rate: document.fields("settings").and_then(|fields| policy::rate(&fields)),
        // Each run of a reconciler has one parent, so that a parent that fails holds up no other.
        combine: reconcilers.is_empty(),
        reconcilers,
        failure_events: document.fields("failureEvents").and_then(|fields| failure_events(&fields)),
        warnings: Vec::new(),
    };
    document.finish();
    check_triggers(document, &spec);
    spec
}

fn startup(document: &Fields<'_, '_>, retry: RetryPolicy) -> Option<StartupBinding> {
    document.integer("onStartup").map(|order| StartupBinding { order, queue: QueueName::main(), retry })
}

fn stages(document: &Fields<'_, '_>) -> Vec<StageBinding> {
    let read = |stage: Stage| document.integer(stage.key()).map(|order| StageBinding { stage, order });
    Stage::ALL.into_iter().filter_map(read).collect()
}

fn admission(document: &Fields<'_, '_>) -> Vec<AdmissionBinding> {
    let read = |key, kind| document.items(key).map(move |item| webhooks::admission(&item, kind));
    let validating = read("kubernetesValidating", AdmissionKind::Validating);
    validating.chain(read("kubernetesMutating", AdmissionKind::Mutating)).collect()
}

/// As in shell-operator, a document needs no bindings if it has another key.
fn check_triggers(document: &Fields<'_, '_>, spec: &HookSpec) {
    let reader = document.reader();
    if !KEYS.iter().any(|key| document.has(key)) && reader.is_clean() {
        reader.wrong("", "has no binding: add onStartup, schedule, kubernetes, reconcile or one of the webhooks'");
    } else if spec.is_idle() {
        reader.warn("", "has no binding, so that nothing runs this hook");
    }
}

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

const DEPRECATED: &str = "has no configVersion, so that it is read as version v0, which is deprecated: write \
    \"configVersion: v1\", and \"kubernetes\" for \"onKubernetesEvent\" (in it executeHookOnEvent for event, \
    executeHookOnSynchronization: false, labelSelector for selector, nameSelector.matchNames for objectName, \
    namespace.nameSelector for namespaceSelector); `boathook inspect` prints it that way";

/// Documents without `configVersion`: the form of shell-operator's first articles. They are translated into what the
/// same would be in v1, with a warning. Their contexts are those of v1, too.
pub(super) fn v0(document: &Fields<'_, '_>, hook: &HookName) -> Option<HookSpec> {
    let spec = HookSpec {
        name: hook.clone(),
        on_startup: startup(document, RetryPolicy::default()),
        stages: Vec::new(),
        schedules: document.any_items("schedule").map(|item| schedule::read_v0(&item, hook)).collect(),
        kubernetes: document.any_items("onKubernetesEvent").map(|item| kubernetes::read_v0(&item, hook)).collect(),
        reconcilers: Vec::new(),
        admission: Vec::new(),
        conversions: Vec::new(),
        permissions: policy::permissions(document).into(),
        limits: document.fields("limits").map(|fields| policy::limits(&fields)).unwrap_or_default(),
        concurrency: 1,
        rate: None,
        combine: false,
        failure_events: None,
        warnings: Vec::new(),
    };
    if is_newer(document) {
        return None;
    }
    document.finish();
    check_triggers_v0(document, &spec);
    document.reader().warn("", DEPRECATED);
    Some(spec)
}

/// An author who writes keys of v1 has forgotten the version.
fn is_newer(document: &Fields<'_, '_>) -> bool {
    let newer = document.unknown().into_iter().find(|key| KEYS.contains(key));
    if let Some(key) = newer {
        let message = format!("is missing; \"{key}\" is known from v1 on: add \"configVersion: v1\"");
        document.wrong("configVersion", message);
    }
    newer.is_some()
}

fn check_triggers_v0(document: &Fields<'_, '_>, spec: &HookSpec) {
    let reader = document.reader();
    if spec.is_idle() && reader.is_clean() {
        reader.wrong(
            "",
            "has no configVersion and no binding: add \"configVersion: v1\" and onStartup, schedule or kubernetes",
        );
    }
}

//! Writes a [`HookSpec`] as a document, with every default in its place: the normalised form that `boathook inspect`
//! shows. Reading it gives the same hook. For a document without a version, it gives the same hook in v1.

mod selector;

use std::{collections::HashSet, fmt};

use serde_json::{Value, json};

pub(super) use selector::labels as label_selector;

use crate::model::{
    AdmissionBinding, AdmissionKind, AdmissionRule, Adopt, AnnotationRule, AnnotationTest, BindingName, Content,
    ConversionBinding, ConversionRule, HookSpec, KubernetesBinding, Limits, MatchCondition, MissedRuns, ObjectRef,
    OwnedKind, Permission, PruneLimits, QueueName, RateLimit, ReconcileBinding, Related, RetryPolicy, ScheduleBinding,
    format_duration,
};

/// The normalised document of a hook.
pub fn print(spec: &HookSpec) -> Value {
    // Every field is named here, so that a new type of binding cannot be forgotten.
    let HookSpec {
        on_startup,
        stages,
        schedules,
        kubernetes: watches,
        reconcilers,
        admission: webhooks,
        conversions,
        permissions: rules,
        limits: bounds,
        concurrency,
        rate: settings,
        failure_events,
        name: _,
        combine: _,
        warnings: _,
    } = spec;
    let mut known = HashSet::new();
    let written: Vec<_> = watches.iter().filter(|binding| binding.role.is_none()).collect();
    let names = written.iter().map(|binding| binding.name.as_str());
    let doubled: HashSet<_> = names.filter(|name| !known.insert(*name)).collect();
    let mut document = json!({ "configVersion": "v1" });
    set(&mut document, "onStartup", on_startup.as_ref().map(|startup| json!(startup.order)));
    for binding in stages {
        set(&mut document, binding.stage.key(), Some(json!(binding.order)));
    }
    set(&mut document, "schedule", list(schedules, |binding| schedule(binding, &doubled)));
    set(&mut document, "kubernetes", list(&written, |binding| kubernetes(binding, &doubled)));
    set(&mut document, "reconcile", list(reconcilers, |binding| reconcile(binding, &doubled)));
    for (key, kind) in
        [("kubernetesValidating", AdmissionKind::Validating), ("kubernetesMutating", AdmissionKind::Mutating)]
    {
        let bindings: Vec<_> = webhooks.iter().filter(|binding| binding.kind == kind).collect();
        set(&mut document, key, list(&bindings, |binding| admission(binding, &doubled)));
    }
    let converted = list(conversions, |binding| conversion(binding, &doubled));
    set(&mut document, "kubernetesCustomResourceConversion", converted);
    set(&mut document, "settings", settings.as_ref().map(rate));
    let mut permissions = json!({});
    let (kubernetes, others): (Vec<_>, Vec<_>) = rules.iter().partition(|rule| rule.is_of_kubernetes());
    let http: Vec<_> = others.iter().filter_map(|rule| rule.http.as_ref()).collect();
    let directories: Vec<_> = others.iter().filter_map(|rule| rule.directory.as_ref()).collect();
    set(&mut permissions, "kubernetes", list(&kubernetes, |rule| permission(rule)));
    set(&mut permissions, "http", list(&http, |rule| json!(rule)));
    set(&mut permissions, "directories", list(&directories, |rule| json!(rule)));
    set(&mut document, "permissions", (permissions != json!({})).then_some(permissions));
    set(&mut document, "limits", Some(limits(bounds)));
    set(&mut document, "retry", on_startup.as_ref().map(|startup| retry(&startup.retry)));
    set(&mut document, "concurrency", Some(json!(concurrency)));
    let regarding = failure_events.as_ref().map(|object| json!({ "regarding": reference(object) }));
    set(&mut document, "failureEvents", regarding);
    document
}

fn set(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(fields), Some(value)) = (object, value) {
        fields.insert(key.to_owned(), value);
    }
}

fn list<T>(items: &[T], print: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(print).collect())
}

/// `includeSnapshotsFrom` without names that several bindings have. A document cannot name these, and need not: only
/// the group includes them, and it does so after the others.
fn snapshots(names: &[BindingName], doubled: &HashSet<&str>) -> Option<Value> {
    let names: Vec<_> =
        names.iter().map(BindingName::as_str).take_while(|name| !doubled.contains(name)).map(Value::from).collect();
    (!names.is_empty()).then(|| names.into())
}

/// The document's word for a variant is the variant's name.
fn word(variant: &impl fmt::Debug) -> Value {
    json!(format!("{variant:?}"))
}

fn queue(queue: &QueueName) -> Option<Value> {
    match queue {
        QueueName::Own(_) => None,
        QueueName::Shared(name) => Some(json!(name)),
    }
}

fn schedule(binding: &ScheduleBinding, doubled: &HashSet<&str>) -> Value {
    let mut item = json!({ "name": binding.name.as_str(), "crontab": &*binding.crontab });
    set(&mut item, "timeZone", binding.time_zone.as_ref().map(|zone| json!(zone)));
    let missed = match binding.missed_runs {
        MissedRuns::Skip => "skip",
        MissedRuns::Once => "once",
    };
    set(&mut item, "missedRuns", Some(json!(missed)));
    set(&mut item, "jitter", Some(json!(format_duration(binding.jitter))));
    set(&mut item, "group", binding.group.as_ref().map(|group| json!(group)));
    set(&mut item, "queue", queue(&binding.queue));
    set(&mut item, "allowFailure", Some(json!(binding.allow_failure)));
    set(&mut item, "includeSnapshotsFrom", snapshots(&binding.include_snapshots_from, doubled));
    set(&mut item, "retry", Some(retry(&binding.retry)));
    item
}

fn kubernetes(binding: &KubernetesBinding, doubled: &HashSet<&str>) -> Value {
    let mut item = json!({ "name": binding.name.as_str() });
    set(&mut item, "apiVersion", binding.api_version.as_ref().map(|version| json!(version)));
    set(&mut item, "kind", Some(json!(binding.kind)));
    set(&mut item, "nameSelector", match_names(&binding.names));
    set(&mut item, "namespace", namespace(binding));
    set(&mut item, "labelSelector", binding.label_selector.as_deref().map(selector::labels));
    set(&mut item, "fieldSelector", binding.field_selector.as_deref().map(selector::fields));
    set(&mut item, "executeHookOnEvent", Some(binding.events.iter().map(word).collect()));
    set(&mut item, "executeHookOnSynchronization", Some(json!(binding.on_synchronization)));
    set(&mut item, "waitForSynchronization", Some(json!(binding.wait_for_synchronization)));
    let period = binding.resynchronization_period.map(|period| json!(format_duration(period)));
    set(&mut item, "resynchronizationPeriod", period);
    set(&mut item, "ignoreOwnWrites", Some(json!(binding.ignore_own_writes)));
    set(&mut item, "debounce", Some(json!(format_duration(binding.debounce))));
    set(&mut item, "previousObject", Some(json!(binding.previous_object)));
    let content = match binding.content {
        Content::Full => "full",
        Content::Metadata => "metadata",
        Content::None => "none",
    };
    set(&mut item, "content", Some(json!(content)));
    set(&mut item, "jqFilter", binding.jq_filter.as_ref().map(|filter| json!(filter)));
    set(&mut item, "group", binding.group.as_ref().map(|group| json!(group)));
    set(&mut item, "queue", queue(&binding.queue));
    set(&mut item, "allowFailure", Some(json!(binding.allow_failure)));
    set(&mut item, "includeSnapshotsFrom", snapshots(&binding.include_snapshots_from, doubled));
    set(&mut item, "retry", Some(retry(&binding.retry)));
    item
}

fn reconcile(binding: &ReconcileBinding, doubled: &HashSet<&str>) -> Value {
    let kind = |kind: &OwnedKind| json!({ "apiVersion": &*kind.api_version, "kind": &*kind.kind });
    let mut item = json!({ "name": binding.name.as_str() });
    set(&mut item, "apiVersion", Some(json!(&*binding.parent.api_version)));
    set(&mut item, "kind", Some(json!(&*binding.parent.kind)));
    set(&mut item, "namespace", match_names(&binding.namespaces).map(|names| json!({ "nameSelector": names })));
    set(&mut item, "labelSelector", binding.label_selector.as_deref().map(selector::labels));
    set(&mut item, "decorates", binding.decorates.then_some(json!(true)));
    let annotations = list(&binding.annotations, annotation_rule);
    set(&mut item, "annotationSelector", annotations.map(|rules| json!({ "matchExpressions": rules })));
    set(&mut item, "owns", list(&binding.owns, kind));
    set(&mut item, "related", list(&binding.related, related));
    let PruneLimits { max_share, max_objects } = binding.prune;
    set(&mut item, "prune", Some(json!({ "maxShare": format!("{max_share}%"), "maxObjects": max_objects })));
    let adopt = match binding.adopt {
        Adopt::Never => "never",
        Adopt::IfUnowned => "ifUnowned",
        Adopt::Always => "always",
    };
    set(&mut item, "adopt", Some(json!(adopt)));
    set(&mut item, "revisions", binding.revisions.map(|number| json!(number)));
    set(&mut item, "resync", binding.resync.map(|period| json!(format_duration(period))));
    set(&mut item, "includeSnapshotsFrom", snapshots(&binding.include_snapshots_from, doubled));
    set(&mut item, "retry", Some(retry(&binding.retry)));
    item
}

fn annotation_rule(rule: &AnnotationRule) -> Value {
    let (operator, values) = match &rule.test {
        AnnotationTest::In(values) => ("In", Some(values)),
        AnnotationTest::NotIn(values) => ("NotIn", Some(values)),
        AnnotationTest::Exists => ("Exists", None),
        AnnotationTest::DoesNotExist => ("DoesNotExist", None),
    };
    let mut item = json!({ "key": rule.key, "operator": operator });
    set(&mut item, "values", values.map(|values| json!(values)));
    item
}

fn related(related: &Related) -> Value {
    let OwnedKind { api_version, kind } = &related.kind;
    let mut item = json!({ "name": &*related.name, "apiVersion": &**api_version, "kind": &**kind });
    set(&mut item, "namespace", related.namespace.as_ref().map(|namespace| json!(namespace)));
    set(&mut item, "nameFrom", related.name_from.as_ref().map(|path| json!(path.to_string())));
    set(&mut item, "labelSelector", related.label_selector.as_deref().map(selector::labels));
    item
}

fn admission(binding: &AdmissionBinding, doubled: &HashSet<&str>) -> Value {
    let mut item = json!({ "name": binding.name.as_str() });
    set(&mut item, "rules", list(&binding.rules, rule));
    set(&mut item, "failurePolicy", Some(word(&binding.failure_policy)));
    set(&mut item, "sideEffects", Some(word(&binding.side_effects)));
    set(&mut item, "timeoutSeconds", Some(json!(binding.timeout.as_secs())));
    set(&mut item, "matchConditions", list(&binding.match_conditions, condition));
    set(&mut item, "matchPolicy", Some(word(&binding.match_policy)));
    let again = (binding.kind == AdmissionKind::Mutating).then(|| word(&binding.reinvocation_policy));
    set(&mut item, "reinvocationPolicy", again);
    set(&mut item, "labelSelector", binding.object_selector.clone());
    let mut namespace = json!({});
    set(&mut namespace, "labelSelector", binding.namespace_selector.clone());
    set(&mut namespace, "includeSystem", Some(json!(binding.include_system)));
    set(&mut item, "namespace", Some(namespace));
    let annotations = binding.audit_annotations.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    let annotations = (!binding.audit_annotations.is_empty()).then(|| Value::Object(annotations));
    set(&mut item, "auditAnnotations", annotations);
    set(&mut item, "group", binding.group.as_ref().map(|group| json!(group)));
    set(&mut item, "includeSnapshotsFrom", snapshots(&binding.include_snapshots_from, doubled));
    item
}

fn rule(rule: &AdmissionRule) -> Value {
    json!({
        "apiGroups": rule.api_groups,
        "apiVersions": rule.api_versions,
        "resources": rule.resources,
        "operations": rule.operations,
        "scope": rule.scope,
    })
}

fn condition(condition: &MatchCondition) -> Value {
    json!({ "name": condition.name, "expression": condition.expression })
}

fn conversion(binding: &ConversionBinding, doubled: &HashSet<&str>) -> Value {
    let step = |rule: &ConversionRule| json!({ "fromVersion": &*rule.from, "toVersion": &*rule.to });
    let mut item = json!({ "name": binding.name.as_str(), "crdName": &*binding.crd });
    set(&mut item, "conversions", list(&binding.conversions, step));
    set(&mut item, "group", binding.group.as_ref().map(|group| json!(group)));
    set(&mut item, "includeSnapshotsFrom", snapshots(&binding.include_snapshots_from, doubled));
    item
}

fn match_names(names: &[String]) -> Option<Value> {
    (!names.is_empty()).then(|| json!({ "matchNames": names }))
}

fn namespace(binding: &KubernetesBinding) -> Option<Value> {
    let mut namespace = json!({});
    set(&mut namespace, "nameSelector", match_names(&binding.namespaces));
    set(&mut namespace, "labelSelector", binding.namespace_labels.as_deref().map(selector::labels));
    (namespace != json!({})).then_some(namespace)
}

fn rate(rate: &RateLimit) -> Value {
    json!({ "executionMinInterval": format_duration(rate.min_interval), "executionBurst": rate.burst })
}

fn reference(object: &ObjectRef) -> Value {
    let mut reference = json!({ "apiVersion": object.api_version, "kind": object.kind });
    set(&mut reference, "namespace", object.namespace.as_ref().map(|namespace| json!(namespace)));
    set(&mut reference, "name", Some(json!(object.name)));
    reference
}

fn permission(permission: &Permission) -> Value {
    let mut rule = json!({
        "apiGroups": permission.api_groups,
        "resources": permission.resources,
        "verbs": permission.verbs,
    });
    let some = |names: &[String]| (!names.is_empty()).then(|| json!(names));
    set(&mut rule, "resourceNames", some(&permission.resource_names));
    set(&mut rule, "namespaces", some(&permission.namespaces));
    rule
}

fn limits(limits: &Limits) -> Value {
    json!({
        "memory": limits.memory,
        "time": format_duration(limits.time),
        "hostCalls": limits.host_calls,
        "hostBytes": limits.host_bytes,
        "logBytes": limits.log_bytes,
    })
}

fn retry(retry: &RetryPolicy) -> Value {
    let mut printed = json!({
        "initial": format_duration(retry.initial),
        "max": format_duration(retry.max),
        "multiplier": retry.multiplier,
        "jitter": retry.jitter,
    });
    set(&mut printed, "attempts", retry.attempts.map(|attempts| json!(attempts)));
    printed
}

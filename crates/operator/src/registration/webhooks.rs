//! The webhook configurations that a hook's document requests. Pure. Every field with a default is set, so that the
//! result can be compared with what the API server stores.

use boathook_core::model::{
    AdmissionBinding, AdmissionKind, FailurePolicy, HookName, MatchPolicy, ReinvocationPolicy, SideEffects,
};
use serde_json::{Map, Value, json};

use super::{HOOK, INSTANCE, MANAGED_BY, OWNERS, Owners, Registrant, Settings, Trust};
use crate::registration;

/// Kubernetes gives every namespace this label, with the namespace's name as its value.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The path of a binding's webhook.
pub(super) fn path(hook: &HookName, binding: &AdmissionBinding) -> String {
    let verb = match binding.kind {
        AdmissionKind::Validating => "validate",
        AdmissionKind::Mutating => "mutate",
    };
    format!("/{verb}/{}/{}", hook.subdomain(), binding.name)
}

/// The hook's name as a label's value. Its last character is a letter or a digit.
fn label(hook: &HookName) -> &str {
    hook.as_str().trim_end_matches(['-', '_', '.'])
}

/// The `kind` of a configuration.
pub(super) fn kind(kind: AdmissionKind) -> &'static str {
    match kind {
        AdmissionKind::Validating => "ValidatingWebhookConfiguration",
        AdmissionKind::Mutating => "MutatingWebhookConfiguration",
    }
}

/// The configuration of one kind. `None` if the hook has no such binding.
pub(super) fn configuration(
    hook: &Registrant,
    of: AdmissionKind,
    settings: &Settings,
    trust: Trust<'_>,
) -> Option<Value> {
    let spec = &hook.spec;
    let bindings = spec.admission.iter().filter(|binding| binding.kind == of);
    let webhooks: Vec<_> = bindings.map(|binding| webhook(&spec.name, binding, settings, trust)).collect();
    let labels = json!({MANAGED_BY.0: MANAGED_BY.1, INSTANCE: settings.instance, HOOK: label(&spec.name)});
    let annotations =
        json!({OWNERS: registration::owners_text(&Owners::from([(spec.name.to_string(), hook.source.clone())]))});
    (!webhooks.is_empty()).then(|| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind(of),
            "metadata": {"name": spec.name.configuration(), "labels": labels, "annotations": annotations},
            "webhooks": webhooks,
        })
    })
}

/// The desired configuration, without taking anything from the existing one: existing webhooks stay as they are except
/// for their `clientConfig`, and new ones are added.
pub(super) fn widened(known: &Value, mut desired: Value) -> Value {
    let name = |webhook: &Value| webhook.get("name").cloned();
    let mut wanted = match desired.get_mut("webhooks").map(Value::take) {
        Some(Value::Array(webhooks)) => webhooks,
        _ => Vec::new(),
    };
    let mut webhooks = known.get("webhooks").and_then(Value::as_array).cloned().unwrap_or_default();
    for webhook in &mut webhooks {
        let Some(at) = wanted.iter().position(|wanted| name(wanted) == name(webhook)) else { continue };
        let config = wanted.remove(at).get_mut("clientConfig").map(Value::take).unwrap_or_default();
        insert(webhook, "clientConfig", config);
    }
    webhooks.extend(wanted);
    insert(&mut desired, "webhooks", Value::Array(webhooks));
    desired
}

fn webhook(hook: &HookName, binding: &AdmissionBinding, settings: &Settings, trust: Trust<'_>) -> Value {
    let rules = binding.rules.iter().map(|rule| {
        json!({
            "apiGroups": rule.api_groups,
            "apiVersions": rule.api_versions,
            "resources": rule.resources,
            "operations": rule.operations,
            "scope": rule.scope,
        })
    });
    let conditions = binding.match_conditions.iter();
    let conditions = conditions.map(|one| json!({"name": one.name, "expression": one.expression}));
    let mut webhook = json!({
        "name": binding.name.as_str(),
        "clientConfig": settings.endpoint.client_config(&path(hook, binding), trust),
        "rules": rules.collect::<Vec<_>>(),
        "failurePolicy": match binding.failure_policy {
            FailurePolicy::Ignore => "Ignore",
            FailurePolicy::Fail => "Fail",
        },
        "matchPolicy": match binding.match_policy {
            MatchPolicy::Exact => "Exact",
            MatchPolicy::Equivalent => "Equivalent",
        },
        "sideEffects": match binding.side_effects {
            SideEffects::None => "None",
            SideEffects::NoneOnDryRun => "NoneOnDryRun",
        },
        "timeoutSeconds": binding.timeout.as_secs(),
        "admissionReviewVersions": ["v1"],
        "matchConditions": conditions.collect::<Vec<_>>(),
        "objectSelector": binding.object_selector.clone().unwrap_or_else(|| json!({})),
        "namespaceSelector": namespaces(binding, settings),
    });
    if binding.kind == AdmissionKind::Mutating {
        let policy = match binding.reinvocation_policy {
            ReinvocationPolicy::Never => "Never",
            ReinvocationPolicy::IfNeeded => "IfNeeded",
        };
        insert(&mut webhook, "reinvocationPolicy", json!(policy));
    }
    webhook
}

/// The document's selector, without the namespaces in which a broken hook could lock the cluster.
fn namespaces(binding: &AdmissionBinding, settings: &Settings) -> Value {
    let mut selector = binding.namespace_selector.clone().unwrap_or_else(|| json!({}));
    if binding.include_system || settings.left_out.is_empty() {
        return selector;
    }
    let left_out = json!({"key": NAMESPACE_NAME, "operator": "NotIn", "values": settings.left_out});
    match selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
        Some(expressions) => expressions.push(left_out),
        None => insert(&mut selector, "matchExpressions", json!([left_out])),
    }
    selector
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    } else {
        *object = Value::Object(Map::from_iter([(key.to_owned(), value)]));
    }
}

//! Prints the bindings of webhooks: admission and conversion.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{list, set, snapshots};
use crate::model::{
    AdmissionBinding, AdmissionKind, AdmissionRule, ConversionBinding, ConversionRule, FailurePolicy, MatchCondition,
    MatchPolicy, ReinvocationPolicy, SideEffects,
};

pub(super) fn admission(binding: &AdmissionBinding, doubled: &HashSet<&str>) -> Value {
    let mut item = json!({ "name": binding.name.as_str() });
    set(&mut item, "rules", list(&binding.rules, rule));
    let failure = match binding.failure_policy {
        FailurePolicy::Ignore => "Ignore",
        FailurePolicy::Fail => "Fail",
    };
    set(&mut item, "failurePolicy", Some(json!(failure)));
    let effects = match binding.side_effects {
        SideEffects::None => "None",
        SideEffects::NoneOnDryRun => "NoneOnDryRun",
    };
    set(&mut item, "sideEffects", Some(json!(effects)));
    set(&mut item, "timeoutSeconds", Some(json!(binding.timeout.as_secs())));
    set(&mut item, "matchConditions", list(&binding.match_conditions, condition));
    let matching = match binding.match_policy {
        MatchPolicy::Exact => "Exact",
        MatchPolicy::Equivalent => "Equivalent",
    };
    set(&mut item, "matchPolicy", Some(json!(matching)));
    let again = match binding.reinvocation_policy {
        ReinvocationPolicy::Never => "Never",
        ReinvocationPolicy::IfNeeded => "IfNeeded",
    };
    let again = (binding.kind == AdmissionKind::Mutating).then(|| json!(again));
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

pub(super) fn conversion(binding: &ConversionBinding, doubled: &HashSet<&str>) -> Value {
    let step = |rule: &ConversionRule| json!({ "fromVersion": &*rule.from, "toVersion": &*rule.to });
    let mut item = json!({ "name": binding.name.as_str(), "crdName": &*binding.crd });
    set(&mut item, "conversions", list(&binding.conversions, step));
    set(&mut item, "group", binding.group.as_ref().map(|group| json!(group)));
    set(&mut item, "includeSnapshotsFrom", snapshots(&binding.include_snapshots_from, doubled));
    item
}

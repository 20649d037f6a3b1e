//! Bindings of webhooks: `kubernetesValidating`, `kubernetesMutating`, `kubernetesCustomResourceConversion`.

use std::time::Duration;

use boathook_core::model::{AdmissionKind, FailurePolicy, MatchPolicy, ReinvocationPolicy, SideEffects};
use serde_json::json;

use super::{good, refused};

const RULES: &str = r#"rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]"#;

fn validating(fields: &str) -> String {
    format!("configVersion: v1\nkubernetesValidating: [{{name: a.b.c, {RULES}, {fields}}}]")
}

fn rule(rule: &str) -> String {
    format!("configVersion: v1\nkubernetesMutating: [{{name: a.b.c, rules: [{rule}]}}]")
}

fn conversion(fields: &str) -> String {
    format!(
        "configVersion: v1\nkubernetesCustomResourceConversion: [{{name: a, crdName: crontabs.example.com, {fields}}}]"
    )
}

#[test]
fn defaults_are_those_of_kubernetes() {
    let spec = good(&validating(""));
    let binding = &spec.admission[0];
    assert_eq!((binding.kind, binding.name.as_str()), (AdmissionKind::Validating, "a.b.c"));
    assert_eq!((binding.failure_policy, binding.side_effects), (FailurePolicy::Fail, SideEffects::None));
    assert_eq!((binding.match_policy, binding.timeout), (MatchPolicy::Equivalent, Duration::from_secs(10)));
    assert_eq!((binding.rules[0].scope.as_str(), binding.include_system), ("*", false));
    assert!(spec.warnings.is_empty(), "{:?}", spec.warnings);
}

#[test]
fn every_field_is_taken() {
    let spec = good(include_str!("full.yaml"));
    let [validating, mutating] = &*spec.admission else { panic!("{:?}", spec.admission) };
    let labels = json!({
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "env", "operator": "In", "values": ["a"]}, {"key": "b", "operator": "Exists"}],
    });
    assert_eq!((&validating.object_selector, &validating.namespace_selector), (&Some(labels.clone()), &Some(labels)));
    assert!(validating.include_system && !mutating.include_system);
    assert_eq!(validating.match_conditions[0].expression, "object.metadata.name != 'x'");
    assert_eq!(validating.audit_annotations, [("owner".to_owned(), "platform".to_owned())]);
    assert_eq!((mutating.kind, mutating.reinvocation_policy), (AdmissionKind::Mutating, ReinvocationPolicy::IfNeeded));
    let conversion = &spec.conversions[0];
    assert_eq!((&*conversion.crd, &*conversion.conversions[0].to), ("crontabs.stable.example.com", "v1beta1"));
    let snapshots = [&validating.include_snapshots_from, &mutating.include_snapshots_from];
    for names in snapshots.into_iter().chain([&conversion.include_snapshots_from]) {
        assert!(names.iter().any(|name| name.as_str() == "pods"), "{names:?}");
    }
}

#[test]
fn what_the_api_server_would_refuse_is_refused_with_its_place() {
    let at = |key: &str| format!("kubernetesValidating[0].{key}");
    let nameless = format!("configVersion: v1\nkubernetesValidating: [{{{RULES}}}]");
    refused(&nameless, &at("name"), "is missing");
    refused("configVersion: v1\nkubernetesValidating: [{name: a.b.c}]", &at("rules"), "is missing");
    let short = format!("configVersion: v1\nkubernetesValidating: [{{name: a.b, {RULES}}}]");
    refused(&short, &at("name"), "three parts");
    let twice = format!("configVersion: v1\nkubernetesMutating: [{{name: a.b.c, {RULES}}}, {{name: a.b.c, {RULES}}}]");
    refused(&twice, "kubernetesMutating[1].name", "once more");
    refused(&validating("timeoutSeconds: 31"), &at("timeoutSeconds"), "from 1 to 30");
    refused(&validating("failurePolicy: fail"), &at("failurePolicy"), "allowed: Ignore, Fail");
    refused(&validating("sideEffects: Some"), &at("sideEffects"), "NoneOnDryRun");
    refused(&validating("reinvocationPolicy: Never"), &at("reinvocationPolicy"), "not known here");
    refused(&validating("matchConditions: [{name: a}]"), &at("matchConditions[0].expression"), "is missing");
    let twice = "matchConditions: [{name: a, expression: 'true'}, {name: a, expression: 'true'}]";
    refused(&validating(twice), &at("matchConditions[1].name"), "once more");
    refused(&validating("auditAnnotations: {a/b: c}"), &at("auditAnnotations.a/b"), "plain word");
    refused(&validating("namespace: {nameSelector: {matchNames: [a]}}"), &at("namespace.nameSelector"), "not known");
    refused(&validating("includeSnapshotsFrom: [pods]"), &at("includeSnapshotsFrom[0]"), "names no kubernetes binding");
    refused(&validating("queue: main"), &at("queue"), "not known here");
}

#[test]
fn wildcards_stand_alone() {
    let groups = r#"apiGroups: [""], apiVersions: [v1], operations: [CREATE]"#;
    let at = |key: &str| format!("kubernetesMutating[0].rules[0].{key}");
    refused(&rule(&format!("{{{groups}, resources: ['*/*', pods]}}")), &at("resources[1]"), "\"*/*\" has already");
    refused(&rule(&format!("{{{groups}, resources: ['*', pods]}}")), &at("resources[1]"), "\"*\" has already");
    refused(&rule(&format!("{{{groups}, resources: [pods/*, pods/log]}}")), &at("resources[1]"), "has already");
    refused(&rule(&format!("{{{groups}, resources: ['*/scale', a/scale]}}")), &at("resources[1]"), "has already");
    good(&rule(&format!("{{{groups}, resources: ['*', '*/scale', pods/log]}}")));
    let many = "{apiGroups: ['*', apps], apiVersions: [v1], resources: [a], operations: ['*', CREATE]}";
    refused(&rule(many), &at("apiGroups"), "write one of them");
    refused(&rule(many), &at("operations"), "write one of them");
    refused(&rule(&format!("{{{groups}, resources: ['']}}")), &at("resources[0]"), "is empty");
}

#[test]
fn conversions_are_steps_within_one_group() {
    let at = |key: &str| format!("kubernetesCustomResourceConversion[0].{key}");
    refused(&conversion(""), &at("conversions"), "is missing");
    let step = |from: &str, to: &str| conversion(&format!("conversions: [{{fromVersion: {from}, toVersion: {to}}}]"));
    good(&step("v1", "example.com/v2"));
    refused(&step("v1", "other.com/v2"), &at("conversions[0].toVersion"), "group of crdName");
    refused(&step("v1", "example.com/v1"), &at("conversions[0].toVersion"), "same as fromVersion");
    refused(&step("V1", "v2"), &at("conversions[0].fromVersion"), "write a version");
    let twice = conversion("conversions: [{fromVersion: a, toVersion: b}, {fromVersion: a, toVersion: b}]");
    refused(&twice, &at("conversions[1].fromVersion"), "once more");
    let plain = "configVersion: v1\nkubernetesCustomResourceConversion: [{name: a, crdName: crontabs, conversions: [{fromVersion: a, toVersion: b}]}]";
    refused(plain, &at("crdName"), "PLURAL.GROUP");
}

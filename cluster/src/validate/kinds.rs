//! Rules of single kinds: jobs, services, network policies, leases, autoscalers, roles.
//!
//! Never checks metadata or pod specs.

use serde_json::Value;

use super::{names, pods};
use crate::json::{at, int, list, text};
use crate::status::Cause;

const RESTART: &str = r#"valid values: "OnFailure", "Never""#;

pub(super) fn job(spec: Option<&Value>, shown: &str) -> Vec<Cause> {
    let Some(spec) = spec else { return Vec::new() };
    let mut causes = Vec::new();
    for key in ["parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"] {
        if let Some(number) = int(spec, &[key]).filter(|n| *n < 0) {
            let why = "must be greater than or equal to 0";
            causes.push(Cause::invalid(format!("{shown}.{key}"), &number.into(), why));
        }
    }
    if let Some(template) = at(spec, &["template", "spec"]) {
        let shown = format!("{shown}.template.spec");
        causes.extend(pods::spec(template, &shown));
        if !matches!(text(template, &["restartPolicy"]), "OnFailure" | "Never") {
            causes.push(Cause::required(format!("{shown}.restartPolicy"), RESTART));
        }
    }
    causes
}

pub(super) fn cron_job(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let schedule = text(object, &["spec", "schedule"]);
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if schedule.is_empty() {
        causes.push(Cause::required("spec.schedule", ""));
    } else if !schedule.starts_with('@') && fields.len() != 5 {
        let why = format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" "));
        causes.push(Cause::invalid("spec.schedule", &schedule.into(), why));
    }
    let Some(spec) = at(object, &["spec"]) else { return causes };
    pods::one_of(spec, "concurrencyPolicy", "spec", &["Allow", "Forbid", "Replace"], &mut causes);
    causes.extend(job(at(spec, &["jobTemplate", "spec"]), "spec.jobTemplate.spec"));
    causes
}

pub(super) fn service(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let ports = list(object, &["spec", "ports"]);
    let kind = text(object, &["spec", "type"]);
    if ports.is_empty() && text(object, &["spec", "clusterIP"]) != "None" && kind != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    let mut seen = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let field = format!("spec.ports[{index}]");
        let name = text(port, &["name"]);
        if name.is_empty() && ports.len() > 1 {
            causes.push(Cause::required(format!("{field}.name"), ""));
        } else if !name.is_empty() {
            let wrong = names::dns_label(name);
            causes.extend(wrong.into_iter().map(|why| Cause::invalid(format!("{field}.name"), &name.into(), why)));
            if seen.contains(&name) {
                causes.push(Cause::duplicate(format!("{field}.name"), name));
            }
        }
        seen.push(name);
        pods::port_number(int(port, &["port"]).unwrap_or_default(), &format!("{field}.port"), &mut causes);
        pods::one_of(port, "protocol", &field, &["SCTP", "TCP", "UDP"], &mut causes);
        if let Some(number) = int(port, &["targetPort"]) {
            pods::port_number(number, &format!("{field}.targetPort"), &mut causes);
        }
    }
    if let Some(spec) = at(object, &["spec"]) {
        let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
        pods::one_of(spec, "type", "spec", &kinds, &mut causes);
        pods::one_of(spec, "sessionAffinity", "spec", &["ClientIP", "None"], &mut causes);
    }
    if kind == "ExternalName" && text(object, &["spec", "externalName"]).is_empty() {
        causes.push(Cause::required("spec.externalName", ""));
    }
    causes
}

pub(super) fn network_policy(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for direction in ["ingress", "egress"] {
        for (rule, each) in list(object, &["spec", direction]).iter().enumerate() {
            for (index, port) in list(each, &["ports"]).iter().enumerate() {
                let field = format!("spec.{direction}[{rule}].ports[{index}]");
                pods::one_of(port, "protocol", &field, &["SCTP", "TCP", "UDP"], &mut causes);
                if let Some(number) = int(port, &["port"]) {
                    pods::port_number(number, &format!("{field}.port"), &mut causes);
                }
            }
        }
    }
    causes
}

pub(super) fn lease(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, least) in [("leaseDurationSeconds", 1), ("leaseTransitions", 0)] {
        if let Some(number) = int(object, &["spec", key]).filter(|n| *n < least) {
            let why = if least == 1 { "must be greater than 0" } else { "must be greater than or equal to 0" };
            causes.push(Cause::invalid(format!("spec.{key}"), &number.into(), why));
        }
    }
    causes
}

pub(super) fn autoscaler(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let least = int(object, &["spec", "minReplicas"]);
    let most = int(object, &["spec", "maxReplicas"]).unwrap_or_default();
    if let Some(least) = least.filter(|least| *least < 1) {
        causes.push(Cause::invalid("spec.minReplicas", &least.into(), "must be greater than or equal to 1"));
    }
    if most < 1 {
        causes.push(Cause::required("spec.maxReplicas", "must be set and greater than 0"));
    }
    if least.is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &most.into(), why));
    }
    let target = |key: &str| text(object, &["spec", "scaleTargetRef", key]);
    for key in ["kind", "name"].into_iter().filter(|key| target(key).is_empty()) {
        causes.push(Cause::required(format!("spec.scaleTargetRef.{key}"), ""));
    }
    if target("apiVersion").is_empty() {
        let why = "apiVersion must specify API group";
        causes.push(Cause::invalid("spec.scaleTargetRef.apiVersion", &"".into(), why));
    }
    causes
}

/// Rules of roles.
pub(super) fn rules(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, rule) in list(object, &["rules"]).iter().enumerate() {
        let none = |key: &str| list(rule, &[key]).is_empty();
        if none("verbs") {
            let why = "verbs must contain at least one value";
            causes.push(Cause::required(format!("rules[{index}].verbs"), why));
        }
        if !none("nonResourceURLs") {
            continue;
        }
        if none("apiGroups") {
            let why = "resource rules must supply at least one api group";
            causes.push(Cause::required(format!("rules[{index}].apiGroups"), why));
        }
        if none("resources") {
            let why = "resource rules must supply at least one resource";
            causes.push(Cause::required(format!("rules[{index}].resources"), why));
        }
    }
    causes
}

/// A binding keeps its role.
pub(super) fn role_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let (before, after) = (old.get("roleRef"), new.get("roleRef"));
    if before == after {
        return Vec::new();
    }
    let part = |key: &str| after.map(|r| text(r, &[key])).unwrap_or_default();
    // The internal type, which has no names of its own in JSON.
    let shown = serde_json::json!({ "APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": part("name") });
    vec![Cause::invalid("roleRef", &shown, "cannot change roleRef")]
}

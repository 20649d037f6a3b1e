//! Rules of single kinds: leases, autoscalers, roles and their bindings.

use serde_json::Value;

use crate::json::{int, list, text};
use crate::status::Cause;

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

/// Rules of the role and the subjects of a binding.
pub(super) fn binding(object: &Value) -> Vec<Cause> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let role = |key: &str| text(object, &["roleRef", key]);
    let mut causes = Vec::new();
    if role("apiGroup") != GROUP {
        causes.push(Cause::unsupported("roleRef.apiGroup", &role("apiGroup").into(), &[GROUP]));
    }
    let clusterwide = text(object, &["kind"]) == "ClusterRoleBinding";
    let kinds: &[&str] = if clusterwide { &["ClusterRole"] } else { &["Role", "ClusterRole"] };
    if !kinds.contains(&role("kind")) {
        causes.push(Cause::unsupported("roleRef.kind", &role("kind").into(), kinds));
    }
    if role("name").is_empty() {
        causes.push(Cause::required("roleRef.name", ""));
    }
    for (index, subject) in list(object, &["subjects"]).iter().enumerate() {
        let field = |key: &str| format!("subjects[{index}].{key}");
        if text(subject, &["name"]).is_empty() {
            causes.push(Cause::required(field("name"), ""));
        }
        let kind = text(subject, &["kind"]);
        match kind {
            "User" | "Group" => {}
            "ServiceAccount" if clusterwide && text(subject, &["namespace"]).is_empty() => {
                causes.push(Cause::required(field("namespace"), ""));
            }
            "ServiceAccount" => {}
            kind => {
                let kinds = ["ServiceAccount", "User", "Group"];
                causes.push(Cause::unsupported(field("kind"), &kind.into(), &kinds));
            }
        }
    }
    causes
}

/// A binding cannot change its role.
pub(super) fn role_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let (before, after) = (old.get("roleRef"), new.get("roleRef"));
    if before == after {
        return Vec::new();
    }
    let part = |key: &str| after.map(|r| text(r, &[key])).unwrap_or_default();
    // The internal type, which has no JSON names.
    let shown = serde_json::json!({ "APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": part("name") });
    vec![Cause::invalid("roleRef", &shown, "cannot change roleRef")]
}

//! Rules of quotas, limit ranges, disruption budgets and priority classes.

use serde_json::{Map, Value, json};

use super::common::{selector, share};
use super::pods;
use super::quantity::Quantity;
use crate::json::{at, int, list, text};
use crate::names;
use crate::status::Cause;

/// Resources whose quantities must be whole numbers.
const WHOLE: [&str; 9] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

pub(super) fn quota(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (name, quantity) in entries(object, &["spec", "hard"]) {
        let field = format!("spec.hard[{name}]");
        let known = name.contains('/') || WHOLE.contains(&name.as_str()) || MEASURED.contains(&name.as_str());
        if !known && !name.starts_with("hugepages-") && !name.starts_with("requests.hugepages-") {
            for why in ["must be a standard resource type or fully qualified", "must be a standard resource for quota"]
            {
                causes.push(Cause::invalid(&field, &name.as_str().into(), why));
            }
        }
        let text = quantity.as_str().unwrap_or_default();
        if Quantity::parse(text).is_some_and(Quantity::is_negative) {
            causes.push(Cause::invalid(&field, quantity, super::common::NOT_NEGATIVE));
        }
        if WHOLE.contains(&name.as_str()) && text.ends_with('m') {
            causes.push(Cause::invalid(&field, quantity, "must be an integer"));
        }
    }
    let scopes = list(object, &["spec", "scopes"]);
    if scopes.iter().any(|scope| !scope.as_str().is_some_and(|scope| SCOPES.contains(&scope))) {
        causes.push(Cause::invalid("spec.scopes", &scopes.into(), "unsupported scope"));
    }
    causes
}

fn entries<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
    at(object, path).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

pub(super) fn limit_range(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, limit) in list(object, &["spec", "limits"]).iter().enumerate() {
        let field = format!("spec.limits[{index}]");
        let kind = text(limit, &["type"]);
        let wrong = names::qualified_name(kind).into_iter();
        causes.extend(wrong.map(|why| Cause::invalid(format!("{field}.type"), &kind.into(), why)));
        if kind == "Pod" {
            let given = ["default", "defaultRequest"].into_iter().filter(|key| limit.get(*key).is_some());
            let why = "may not be specified when `type` is 'Pod'";
            causes.extend(given.map(|key| Cause::forbidden(format!("{field}.{key}"), why)));
        }
        let mut names: Vec<&String> = Vec::new();
        for key in ["max", "min", "default", "defaultRequest"] {
            names.extend(
                entries(limit, &[key]).map(|(name, _)| name).filter(|name| !names.contains(name)).collect::<Vec<_>>(),
            );
        }
        for name in names {
            bounds(limit, name, &field, &mut causes);
        }
    }
    causes
}

/// Compares the bounds of one resource. In some errors, the real server shows the other value.
fn bounds(limit: &Value, name: &str, field: &str, causes: &mut Vec<Cause>) {
    let given = |key: &str| at(limit, &[key, name]).and_then(Value::as_str);
    let above = |a: Option<&str>, b: Option<&str>| match (a.and_then(Quantity::parse), b.and_then(Quantity::parse)) {
        (Some(a), Some(b)) => a > b,
        _ => false,
    };
    let (min, max, request, default) = (given("min"), given("max"), given("defaultRequest"), given("default"));
    let shown = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let mut refuse = |key: &str, value: Option<&str>, low: (&str, Option<&str>), high: (&str, Option<&str>)| {
        let why = format!("{} value {} is greater than {} value {}", low.0, shown(low.1), high.0, shown(high.1));
        causes.push(Cause::invalid(format!("{field}.{key}[{name}]"), &shown(value).into(), why));
    };
    if above(min, max) {
        refuse("min", min, ("min", min), ("max", max));
    }
    if above(min, request) {
        refuse("defaultRequest", request, ("min", min), ("default request", request));
    }
    if above(request, max) {
        refuse("defaultRequest", request, ("default request", request), ("max", max));
    }
    if above(request, default) {
        refuse("defaultRequest", request, ("default request", request), ("default limit", default));
    }
    if above(min, default) {
        refuse("default", min, ("min", min), ("default", default));
    }
    if above(default, max) {
        refuse("default", max, ("default", default), ("max", max));
    }
}

pub(super) fn budget(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let Some(spec) = at(object, &["spec"]) else { return causes };
    let (least, most) = (spec.get("minAvailable"), spec.get("maxUnavailable"));
    if least.is_some() && most.is_some() {
        let shown = json!({
            "MinAvailable": least, "Selector": spec.get("selector"), "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        });
        causes.push(Cause::invalid("spec", &shown, "minAvailable and maxUnavailable cannot be both set"));
    }
    causes.extend(share(least, "spec.minAvailable"));
    causes.extend(share(most, "spec.maxUnavailable"));
    causes.extend(selector(spec.get("selector"), "spec.selector"));
    pods::one_of(spec, "unhealthyPodEvictionPolicy", "spec", &["AlwaysAllow", "IfHealthyBudget"], &mut causes);
    causes
}

pub(super) fn priority(object: &Value) -> Vec<Cause> {
    const MOST: i64 = 1_000_000_000;
    let name = text(object, &["metadata", "name"]);
    let own = matches!(name, "system-node-critical" | "system-cluster-critical");
    let mut causes = Vec::new();
    if name.starts_with("system-") && !own {
        let why = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known \
             system priority class"
        );
        causes.push(Cause::forbidden("metadata.name", why));
    }
    if !own && int(object, &["value"]).is_some_and(|value| value > MOST) {
        let why = format!("maximum allowed value of a user defined priority is {MOST}");
        causes.push(Cause::forbidden("value", why));
    }
    causes
}

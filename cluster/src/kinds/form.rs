//! The versions of kinds that are stored in another version: conversion in both directions. Custom objects are
//! converted elsewhere.

use serde_json::{Map, Value, json};

use super::shape::Shape;
use super::{Conversion, Resource};
use crate::json;

/// One version of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    conversion: Conversion,
    pub shape: Shape<'a>,
}

impl Form<'_> {
    /// A stored object in this version.
    pub(crate) fn show(&self, object: &Value) -> Value {
        let mut shown = object.clone();
        match self.conversion {
            Conversion::Events => from_core(&mut shown),
            Conversion::Autoscaler => to_v1(&mut shown),
            Conversion::Same | Conversion::ApiVersion => {}
        }
        shown
    }

    /// Converts an object of this version to the storage version.
    pub(crate) fn store(&self, object: &mut Value) {
        match self.conversion {
            Conversion::Events => to_core(object),
            Conversion::Autoscaler => to_v2(object),
            Conversion::Same | Conversion::ApiVersion => {}
        }
    }
}

impl Resource {
    /// The version of this kind that `api_version` names.
    pub(crate) fn form(&self, api_version: &str) -> Form<'_> {
        let conversion = match (&*self.storage, api_version) {
            ("events", "events.k8s.io/v1") => Conversion::Events,
            ("horizontalpodautoscalers.autoscaling", "autoscaling/v1") => Conversion::Autoscaler,
            _ => return Form { conversion: Conversion::Same, shape: Shape::of(self) },
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let ty = self.schema.of_kind(group, version, &self.kind).and_then(|index| self.schema.get(index));
        let shape = ty.map_or(Shape::Unknown, |ty| Shape::Root { schema: &self.schema, ty });
        Form { conversion, shape }
    }
}

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";

/// v1 to v2.
pub(crate) fn to_v2(object: &mut Value) {
    let map = json::object(object);
    map.insert("apiVersion".into(), "autoscaling/v2".into());
    let kept = annotation(map).and_then(|text| serde_json::from_str::<Vec<Value>>(&text).ok());
    let spec = json::child(map, "spec");
    let mut metrics: Vec<Value> = Vec::new();
    if let Some(wanted) = spec.shift_remove("targetCPUUtilizationPercentage").filter(|v| !v.is_null()) {
        metrics.push(json!({
            "type": "Resource",
            "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": wanted } },
        }));
    }
    metrics.extend(kept.into_iter().flatten());
    if !metrics.is_empty() {
        spec.insert("metrics".into(), metrics.into());
    }
    let Some(Value::Object(status)) = map.get_mut("status") else { return };
    if let Some(current) = status.shift_remove("currentCPUUtilizationPercentage").filter(|v| !v.is_null()) {
        let metric = json!({
            "type": "Resource", "resource": { "name": "cpu", "current": { "averageUtilization": current } },
        });
        status.insert("currentMetrics".into(), json!([metric]));
    }
}

/// v2 to v1.
pub(crate) fn to_v1(object: &mut Value) {
    let map = json::object(object);
    map.insert("apiVersion".into(), "autoscaling/v1".into());
    let spec = json::child(map, "spec");
    let metrics = spec.shift_remove("metrics").unwrap_or_default();
    let mut others: Vec<Value> = Vec::new();
    for metric in metrics.as_array().into_iter().flatten() {
        let wanted = json::at(metric, &["resource", "target", "averageUtilization"]);
        match wanted.filter(|_| json::text(metric, &["resource", "name"]) == "cpu") {
            Some(wanted) => {
                spec.insert("targetCPUUtilizationPercentage".into(), wanted.clone());
            }
            None => others.push(metric.clone()),
        }
    }
    if !others.is_empty() {
        let text = Value::from(others).to_string();
        json::child(json::child(map, "metadata"), "annotations").insert(METRICS.into(), text.into());
    }
    let Some(Value::Object(status)) = map.get_mut("status") else { return };
    let current = status.shift_remove("currentMetrics").unwrap_or_default();
    let cpu = current.as_array().into_iter().flatten().find(|m| json::text(m, &["resource", "name"]) == "cpu");
    if let Some(used) = cpu.and_then(|m| json::at(m, &["resource", "current", "averageUtilization"])) {
        status.insert("currentCPUUtilizationPercentage".into(), used.clone());
    }
    json::default(status, "currentReplicas", 0);
}

/// Removes and returns the annotation with the metrics that v1 cannot express.
fn annotation(map: &mut Map<String, Value>) -> Option<String> {
    let annotations = map.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()?;
    annotations.shift_remove(METRICS)?.as_str().map(str::to_owned)
}

/// The name in events.k8s.io, and the name in the core group.
const RENAMED: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
];

fn rename(map: &mut Map<String, Value>, pairs: impl Iterator<Item = (&'static str, &'static str)>) {
    for (from, to) in pairs {
        if let Some(value) = map.shift_remove(from) {
            map.insert(to.to_owned(), value);
        }
    }
}

/// events.k8s.io/v1 to v1.
pub(crate) fn to_core(event: &mut Value) {
    let map = json::object(event);
    map.insert("apiVersion".into(), "v1".into());
    rename(map, RENAMED.iter().copied());
}

/// v1 to events.k8s.io/v1.
pub(crate) fn from_core(event: &mut Value) {
    let map = json::object(event);
    map.insert("apiVersion".into(), "events.k8s.io/v1".into());
    rename(map, RENAMED.iter().map(|(new, old)| (*old, *new)));
    for optional in ["reportingController", "reportingInstance"] {
        if map.get(optional).is_some_and(|v| v == "") {
            map.shift_remove(optional);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_survive_both_ways() {
        let v2 = json!({
            "apiVersion": "autoscaling/v2", "metadata": { "annotations": {} },
            "spec": { "metrics": [
                { "type": "Resource", "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 7 } } },
                { "type": "Resource", "resource": { "name": "memory", "target": { "type": "Value", "value": "1Gi" } } },
            ] },
        });
        let mut object = v2.clone();
        to_v1(&mut object);
        assert_eq!(json::int(&object, &["spec", "targetCPUUtilizationPercentage"]), Some(7));
        to_v2(&mut object);
        assert_eq!(object, v2);
    }
}

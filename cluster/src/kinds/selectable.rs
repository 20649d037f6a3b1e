//! Field selector paths of built-in kinds, in addition to `metadata.name` and `metadata.namespace`.

use serde_json::Value;

use crate::json;

type Read = fn(&Value) -> String;
type Field = (&'static str, Read);

macro_rules! field {
    ($path:literal, $($key:literal).+) => {
        ($path, (|o| json::text(o, &[$($key),+]).to_owned()) as Read)
    };
}

const PODS: &[Field] = &[
    field!("spec.nodeName", "spec"."nodeName"),
    field!("spec.restartPolicy", "spec"."restartPolicy"),
    field!("spec.schedulerName", "spec"."schedulerName"),
    field!("spec.serviceAccountName", "spec"."serviceAccountName"),
    ("spec.hostNetwork", |o| flag(o, &["spec", "hostNetwork"])),
    field!("status.phase", "status"."phase"),
    field!("status.podIP", "status"."podIP"),
    // Known, but never set.
    ("status.podIPs", |_| String::new()),
    field!("status.nominatedNodeName", "status"."nominatedNodeName"),
];

const EVENTS: &[Field] = &[
    field!("involvedObject.kind", "involvedObject"."kind"),
    field!("involvedObject.namespace", "involvedObject"."namespace"),
    field!("involvedObject.name", "involvedObject"."name"),
    field!("involvedObject.uid", "involvedObject"."uid"),
    field!("involvedObject.apiVersion", "involvedObject"."apiVersion"),
    field!("involvedObject.resourceVersion", "involvedObject"."resourceVersion"),
    field!("involvedObject.fieldPath", "involvedObject"."fieldPath"),
    // The same object under its name in events.k8s.io.
    field!("regarding.kind", "involvedObject"."kind"),
    field!("regarding.namespace", "involvedObject"."namespace"),
    field!("regarding.name", "involvedObject"."name"),
    field!("regarding.uid", "involvedObject"."uid"),
    field!("regarding.apiVersion", "involvedObject"."apiVersion"),
    field!("regarding.resourceVersion", "involvedObject"."resourceVersion"),
    field!("regarding.fieldPath", "involvedObject"."fieldPath"),
    field!("reason", "reason"),
    field!("reportingComponent", "reportingComponent"),
    field!("reportingController", "reportingComponent"),
    ("source", source),
    field!("type", "type"),
];

const NODES: &[Field] = &[("spec.unschedulable", |o| flag(o, &["spec", "unschedulable"]))];
const SECRETS: &[Field] = &[field!("type", "type")];
const NAMESPACES: &[Field] = &[field!("status.phase", "status"."phase")];
const SERVICES: &[Field] = &[field!("spec.clusterIP", "spec"."clusterIP"), field!("spec.type", "spec"."type")];
const REPLICATED: &[Field] = &[("status.replicas", |o| count(o, &["status", "replicas"]))];
const REQUESTS: &[Field] = &[field!("spec.signerName", "spec"."signerName")];
const JOBS: &[Field] = &[("status.successful", |o| count(o, &["status", "succeeded"]))];

fn flag(object: &Value, path: &[&str]) -> String {
    json::at(object, path).and_then(Value::as_bool).unwrap_or_default().to_string()
}

fn count(object: &Value, path: &[&str]) -> String {
    json::int(object, path).unwrap_or_default().to_string()
}

fn source(object: &Value) -> String {
    let component = json::text(object, &["source", "component"]);
    let shown = if component.is_empty() { json::text(object, &["reportingComponent"]) } else { component };
    shown.to_owned()
}

/// The selectable fields of a collection.
pub(crate) fn of(storage: &str) -> &'static [Field] {
    match storage {
        "pods" => PODS,
        "events" => EVENTS,
        "nodes" => NODES,
        "secrets" => SECRETS,
        "namespaces" => NAMESPACES,
        "services" => SERVICES,
        "replicationcontrollers" => REPLICATED,
        "certificatesigningrequests.certificates.k8s.io" => REQUESTS,
        "jobs.batch" => JOBS,
        _ => &[],
    }
}

//! The built-in resources: names from published discovery, behaviour from the table here. Resources that exist only as
//! requests, such as access reviews, are not included.

use std::sync::Arc;

use serde_json::Value;

use super::published::ResourceList;
use super::schema::Schema;
use super::{Conversion, Resource, Sub, group_version, published};
use crate::json;
use crate::names::Naming;

/// The special behaviour of a kind.
struct Behaviour {
    /// `metadata.generation` counts changes of the desired state.
    generation: bool,
    /// A deletion returns the object instead of a Status.
    returns: bool,
    /// PUT creates a missing object.
    upsert: bool,
}

const PLAIN: Behaviour = Behaviour { generation: false, returns: false, upsert: false };
const GENERATION: Behaviour = Behaviour { generation: true, ..PLAIN };
const RETURNS: Behaviour = Behaviour { returns: true, ..PLAIN };
const BOTH: Behaviour = Behaviour { generation: true, returns: true, ..PLAIN };
const UPSERT: Behaviour = Behaviour { upsert: true, ..PLAIN };

fn behaviour(group: &str, plural: &str) -> Behaviour {
    match (group, plural) {
        ("", "pods" | "podtemplates") => BOTH,
        ("", "persistentvolumeclaims" | "persistentvolumes" | "resourcequotas" | "serviceaccounts" | "services") => {
            RETURNS
        }
        ("", "endpoints" | "events" | "limitranges") => UPSERT,
        ("", "replicationcontrollers") => GENERATION,
        ("apps", "controllerrevisions") => PLAIN,
        ("events.k8s.io" | "coordination.k8s.io" | "rbac.authorization.k8s.io" | "node.k8s.io", _) => UPSERT,
        ("networking.k8s.io", "ipaddresses" | "servicecidrs") => PLAIN,
        ("storage.k8s.io", "csistoragecapacities") => PLAIN,
        ("storage.k8s.io", _) => RETURNS,
        ("resource.k8s.io", "resourceclaimtemplates") => RETURNS,
        ("resource.k8s.io", "resourceslices" | "deviceclasses") => BOTH,
        ("resource.k8s.io", _) => RETURNS,
        (
            "apps"
            | "batch"
            | "networking.k8s.io"
            | "policy"
            | "admissionregistration.k8s.io"
            | "apiextensions.k8s.io"
            | "scheduling.k8s.io"
            | "discovery.k8s.io"
            | "flowcontrol.apiserver.k8s.io",
            _,
        ) => GENERATION,
        _ => PLAIN,
    }
}

fn naming(group: &str, plural: &str) -> Naming {
    match (group, plural) {
        ("rbac.authorization.k8s.io", _) => Naming::PathSegment,
        ("", "namespaces" | "services") => Naming::Label,
        _ => Naming::Subdomain,
    }
}

/// All stored resources, in the order of discovery.
pub(crate) fn resources(schema: &Arc<Schema>) -> Vec<Resource> {
    let lists = published::discovery().iter();
    lists.flat_map(|list| list.resources.iter().filter_map(|entry| resource(list, entry, schema))).collect()
}

fn strings(entry: &Value, key: &str) -> Vec<String> {
    json::list(entry, &[key]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn resource(list: &ResourceList, entry: &Value, schema: &Arc<Schema>) -> Option<Resource> {
    let (group, version) = list.split();
    let plural = json::text(entry, &["name"]);
    let verbs = json::list(entry, &["verbs"]);
    if plural.contains('/') || !["create", "list"].iter().all(|verb| verbs.iter().any(|v| v == verb)) {
        return None;
    }
    let kind = json::text(entry, &["kind"]);
    let (stored_group, stored_version, conversion) = stored_as(group, version);
    let names = list.resources.iter().map(|r| json::text(r, &["name"]));
    let subs = names.filter_map(|name| name.strip_prefix(plural)?.strip_prefix('/').and_then(Sub::named));
    let behaviour = behaviour(group, plural);
    Some(Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        plural: plural.to_owned(),
        singular: json::text(entry, &["singularName"]).to_owned(),
        short_names: strings(entry, "shortNames"),
        categories: strings(entry, "categories"),
        namespaced: entry.get("namespaced") == Some(&Value::Bool(true)),
        subresources: subs.collect(),
        storage: storage(stored_group, plural).into(),
        stored_api_version: group_version(stored_group, stored_version),
        conversion,
        generation: behaviour.generation,
        naming: naming(group, plural),
        selectable: Vec::new(),
        custom: None,
        delete_returns_object: behaviour.returns,
        create_on_update: behaviour.upsert,
        schema: schema.clone(),
        root_type: schema.of_kind(stored_group, stored_version, kind),
    })
}

/// Group and version in which objects are stored.
fn stored_as<'a>(group: &'a str, version: &'a str) -> (&'a str, &'a str, Conversion) {
    match (group, version) {
        // Both event groups show one collection, which is stored in the core form.
        ("events.k8s.io", _) => ("", "v1", Conversion::Events),
        ("autoscaling", "v1") => (group, "v2", Conversion::Autoscaler),
        _ => (group, version, Conversion::Same),
    }
}

/// The name of a resource's collection.
pub(crate) fn storage(group: &str, plural: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

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

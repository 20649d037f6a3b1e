//! The built-in resources: names from published discovery, behaviour from the table here. Resources that exist only as
//! requests, such as access reviews, are not included.

use std::sync::Arc;

use serde_json::{Value, json};

use super::published::ResourceList;
use super::schema::Schema;
use super::selectable::Selectable;
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
    lists.flat_map(|list| list.resources.iter().filter_map(|entry| stored(list, entry, schema))).collect()
}

/// A resource that exists only as requests, and whose only verb is `create`.
pub(crate) fn review(schema: &Arc<Schema>, group: &str, version: &str, plural: &str) -> Option<Resource> {
    let list = published::discovery().iter().find(|list| list.split() == (group, version))?;
    let entry = list.resources.iter().find(|entry| json::text(entry, &["name"]) == plural)?;
    (entry.get("verbs")? == &json!(["create"])).then(|| resource(list, entry, schema))
}

fn strings(entry: &Value, key: &str) -> Vec<String> {
    json::list(entry, &[key]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn stored(list: &ResourceList, entry: &Value, schema: &Arc<Schema>) -> Option<Resource> {
    let verbs = json::list(entry, &["verbs"]);
    let is_stored = ["create", "list"].iter().all(|verb| verbs.iter().any(|v| v == verb));
    (is_stored && !json::text(entry, &["name"]).contains('/')).then(|| resource(list, entry, schema))
}

fn resource(list: &ResourceList, entry: &Value, schema: &Arc<Schema>) -> Resource {
    let (group, version) = list.split();
    let plural = json::text(entry, &["name"]);
    let kind = json::text(entry, &["kind"]);
    let (stored_group, stored_version, conversion) = stored_as(group, version);
    let names = list.resources.iter().map(|r| json::text(r, &["name"]));
    let subs = names.filter_map(|name| name.strip_prefix(plural)?.strip_prefix('/').and_then(Sub::named));
    let behaviour = behaviour(group, plural);
    let storage = storage(stored_group, plural);
    Resource {
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
        selectable: selectable(&storage),
        storage: storage.into(),
        stored_api_version: group_version(stored_group, stored_version),
        conversion,
        generation: behaviour.generation,
        naming: naming(group, plural),
        custom: None,
        delete_returns_object: behaviour.returns,
        create_on_update: behaviour.upsert,
        schema: schema.clone(),
        root_type: schema.of_kind(stored_group, stored_version, kind),
    }
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

/// The selectable fields of collections. `=` names the fields from which the value comes, the first of which that is set
/// counts, and `:` the value of one that is not set.
const FIELDS: &[(&str, &str)] = &[
    (
        "pods",
        // The last one is known, but never set.
        "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork:false status.phase \
         status.podIP status.nominatedNodeName status.podIPs=",
    ),
    (
        "events",
        "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion \
         involvedObject.resourceVersion involvedObject.fieldPath regarding.kind=involvedObject.kind \
         regarding.namespace=involvedObject.namespace regarding.name=involvedObject.name regarding.uid=involvedObject.uid \
         regarding.apiVersion=involvedObject.apiVersion regarding.resourceVersion=involvedObject.resourceVersion \
         regarding.fieldPath=involvedObject.fieldPath reason reportingComponent reportingController=reportingComponent \
         source=source.component=reportingComponent type",
    ),
    ("nodes", "spec.unschedulable:false"),
    ("secrets", "type"),
    ("namespaces", "status.phase"),
    ("services", "spec.clusterIP spec.type"),
    ("replicationcontrollers", "status.replicas:0"),
    ("certificatesigningrequests.certificates.k8s.io", "spec.signerName"),
    ("jobs.batch", "status.successful=status.succeeded:0"),
];

/// The selectable fields of a collection.
fn selectable(storage: &str) -> Vec<Selectable> {
    let found = FIELDS.iter().find(|(name, _)| *name == storage).map_or("", |(_, fields)| fields);
    let field = |field: &str| {
        let (fields, unset) = field.split_once(':').unwrap_or((field, ""));
        let (path, sources) = fields.split_once('=').unwrap_or((fields, fields));
        Selectable::new(path, sources.split('='), unset)
    };
    found.split(' ').filter(|field| !field.is_empty()).map(field).collect()
}

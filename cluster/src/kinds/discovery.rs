//! Discovery documents: groups, versions, resources, plain and aggregated.
//!
//! Never looks at stored objects.

use serde_json::{Value, json};

use super::registry::Group;
use super::{Registry, Resource, Sub, group_version};

/// `/api`.
pub(crate) fn api_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

fn group_json(group: &Group) -> Value {
    let version = |v: &String| json!({ "groupVersion": group_version(&group.name, v), "version": v });
    json!({
        "name": group.name,
        "versions": group.versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": group.versions.first().map(version),
    })
}

/// `/apis`.
pub(crate) fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> = registry.groups().iter().filter(|g| !g.name.is_empty()).map(group_json).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/GROUP`.
pub(crate) fn group(registry: &Registry, name: &str) -> Option<Value> {
    let group = registry.groups().iter().find(|g| g.name == name && !name.is_empty())?;
    let mut value = group_json(group);
    let map = crate::json::object(&mut value);
    map.insert("kind".into(), "APIGroup".into());
    map.insert("apiVersion".into(), "v1".into());
    Some(value)
}

struct SubKind {
    group: &'static str,
    version: &'static str,
    kind: String,
    verbs: &'static [&'static str],
}

fn sub_kind(resource: &Resource, sub: Sub) -> SubKind {
    let fixed = |group, version, kind: &str, verbs| SubKind { group, version, kind: kind.to_owned(), verbs };
    match sub {
        Sub::Status => fixed("", "", &resource.kind, &["get", "patch", "update"]),
        Sub::Scale => fixed("autoscaling", "v1", "Scale", &["get", "patch", "update"]),
        Sub::Eviction => fixed("policy", "v1", "Eviction", &["create"]),
        Sub::EphemeralContainers => fixed("", "", "Pod", &["get", "patch", "update"]),
        Sub::Binding => fixed("", "", "Binding", &["create"]),
        Sub::Finalize => fixed("", "", &resource.kind, &["update"]),
        Sub::Token => fixed("authentication.k8s.io", "v1", "TokenRequest", &["create"]),
    }
}

fn optional(map: &mut Value, key: &str, list: &[String]) {
    if !list.is_empty() {
        crate::json::object(map).insert(key.to_owned(), list.into());
    }
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for resource in registry.in_version(group, version) {
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": resource.verbs(),
        });
        optional(&mut entry, "shortNames", &resource.short_names);
        optional(&mut entry, "categories", &resource.categories);
        resources.push(entry);
        for sub in &resource.subresources {
            let kind = sub_kind(resource, *sub);
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, sub.name()), "singularName": "",
                "namespaced": resource.namespaced,
            });
            let map = crate::json::object(&mut entry);
            if !kind.version.is_empty() {
                map.insert("group".into(), kind.group.into());
                map.insert("version".into(), kind.version.into());
            }
            map.insert("kind".into(), kind.kind.into());
            map.insert("verbs".into(), json!(kind.verbs));
            resources.push(entry);
        }
    }
    if resources.is_empty() {
        return None;
    }
    resources.sort_by(|a, b| crate::json::text(a, &["name"]).cmp(crate::json::text(b, &["name"])));
    let mut list = json!({ "kind": "APIResourceList" });
    let map = crate::json::object(&mut list);
    if !group.is_empty() {
        map.insert("apiVersion".into(), "v1".into());
    }
    map.insert("groupVersion".into(), group_version(group, version).into());
    map.insert("resources".into(), resources.into());
    Some(list)
}

/// The aggregated form of `/api` (`core`) or `/apis`.
pub(crate) fn aggregated(registry: &Registry, core: bool) -> Value {
    let groups = registry.groups().iter().filter(|g| g.name.is_empty() == core);
    let items: Vec<Value> = groups.map(|g| aggregated_group(registry, g)).collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    })
}

fn aggregated_group(registry: &Registry, group: &Group) -> Value {
    let mut metadata = json!({ "creationTimestamp": null });
    if !group.name.is_empty() {
        crate::json::object(&mut metadata).insert("name".into(), group.name.clone().into());
    }
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> =
                registry.in_version(&group.name, version).map(|r| aggregated_resource(r)).collect();
            json!({ "version": version, "resources": resources, "freshness": "Current" })
        })
        .collect();
    json!({ "metadata": metadata, "versions": versions })
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({ "group": group, "version": version, "kind": kind });
    let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": scope, "singularResource": resource.singular, "verbs": resource.verbs(),
    });
    optional(&mut entry, "shortNames", &resource.short_names);
    optional(&mut entry, "categories", &resource.categories);
    let subs: Vec<Value> = resource
        .subresources
        .iter()
        .map(|sub| {
            let of = sub_kind(resource, *sub);
            let response = if of.version.is_empty() {
                kind(&resource.group, &resource.version, &of.kind)
            } else {
                kind(of.group, of.version, &of.kind)
            };
            json!({ "subresource": sub.name(), "responseKind": response, "verbs": of.verbs })
        })
        .collect();
    if !subs.is_empty() {
        crate::json::object(&mut entry).insert("subresources".into(), subs.into());
    }
    entry
}

//! Discovery documents: groups, versions and resources, plain and aggregated.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Group, Registry, Resource, Sub, group_version, published};
use crate::json::text;

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

fn optional(map: &mut Value, key: &str, list: &[String]) {
    if !list.is_empty() {
        crate::json::object(map).insert(key.to_owned(), list.into());
    }
}

/// Changes when objects are stored in another version.
fn storage_hash(resource: &Resource) -> String {
    let digest = Sha256::digest(format!("{}/{}", resource.stored_api_version, resource.kind));
    STANDARD.encode(digest.get(..8).unwrap_or_default())
}

/// The discovery entries of a custom resource and its subresources.
fn custom_entries(resource: &Resource) -> Vec<Value> {
    let mut entry = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": resource.verbs(),
    });
    optional(&mut entry, "shortNames", &resource.short_names);
    optional(&mut entry, "categories", &resource.categories);
    crate::json::object(&mut entry).insert("storageVersionHash".into(), storage_hash(resource).into());
    let subs = resource.subresources.iter().map(|sub| {
        let mut entry = json!({
            "name": format!("{}/{}", resource.plural, sub.name()), "singularName": "", "namespaced": resource.namespaced,
        });
        let map = crate::json::object(&mut entry);
        if *sub == Sub::Scale {
            map.insert("group".into(), "autoscaling".into());
            map.insert("version".into(), "v1".into());
        }
        let kind = if *sub == Sub::Scale { "Scale" } else { &resource.kind };
        map.insert("kind".into(), kind.into());
        map.insert("verbs".into(), json!(["get", "patch", "update"]));
        entry
    });
    std::iter::once(entry).chain(subs).collect()
}

/// The entries of a group and version in the plain document.
fn entries(registry: &Registry, group: &str, version: &str) -> Vec<Value> {
    let builtin = published::discovery().iter().filter(|list| list.split() == (group, version));
    let mut entries: Vec<Value> = builtin.flat_map(|list| list.resources.clone()).collect();
    let custom = registry.in_version(group, version).filter(|r| r.custom.is_some());
    entries.extend(custom.flat_map(|r| custom_entries(r)));
    entries
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let resources = entries(registry, group, version);
    if resources.is_empty() {
        return None;
    }
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
    let metadata = if group.name.is_empty() { json!({}) } else { json!({ "name": group.name }) };
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let entries = entries(registry, &group.name, version);
            let own = (group.name.as_str(), version.as_str());
            let whole = entries.iter().filter(|e| !text(e, &["name"]).contains('/'));
            let resources: Vec<Value> = whole.map(|e| aggregated_resource(registry, e, &entries, own)).collect();
            json!({ "version": version, "resources": resources, "freshness": "Current" })
        })
        .collect();
    json!({ "metadata": metadata, "versions": versions })
}

/// A built-in kind of the same group is shown without group and version.
fn response_kind(entry: &Value, custom: bool, own: (&str, &str)) -> Value {
    let (mut group, mut version) = (text(entry, &["group"]), text(entry, &["version"]));
    if custom && version.is_empty() {
        (group, version) = own;
    }
    json!({ "group": group, "version": version, "kind": text(entry, &["kind"]) })
}

fn aggregated_resource(registry: &Registry, entry: &Value, entries: &[Value], own: (&str, &str)) -> Value {
    let name = text(entry, &["name"]);
    let custom = registry.find(own.0, own.1, name).is_some_and(|r| r.custom.is_some());
    let scope = if entry.get("namespaced") == Some(&Value::Bool(true)) { "Namespaced" } else { "Cluster" };
    let mut shown = json!({
        "resource": name, "responseKind": response_kind(entry, custom, own), "scope": scope,
        "singularResource": entry.get("singularName"), "verbs": entry.get("verbs"),
    });
    let map = crate::json::object(&mut shown);
    for key in ["shortNames", "categories"] {
        if let Some(value) = entry.get(key) {
            map.insert(key.into(), value.clone());
        }
    }
    let subs: Vec<Value> = entries
        .iter()
        .filter_map(|sub| {
            let subresource = text(sub, &["name"]).strip_prefix(name)?.strip_prefix('/')?;
            let kind = response_kind(sub, custom, own);
            Some(json!({ "subresource": subresource, "responseKind": kind, "verbs": sub.get("verbs") }))
        })
        .collect();
    if !subs.is_empty() {
        map.insert("subresources".into(), subs.into());
    }
    shown
}

//! OpenAPI documents: published ones for built-in groups, and generated ones for custom resources. Documents are not
//! cached; each is unpacked or generated for its request.

use serde_json::{Map, Value, json};

use super::{Registry, Resource, Sub, group_version, published};
use crate::json;

pub(crate) enum Document {
    /// JSON in gzip.
    Packed(&'static [u8]),
    Made(Value),
}

fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{}", group_version(group, version)) }
}

/// `/openapi/v3`: the URL of each group version's document. The hash in the URL changes with the document.
pub(crate) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let path = path_of(&group.name, version);
            if let Some(hash) = hash(registry, &group.name, version) {
                let url = format!("/openapi/v3/{path}?hash={hash}");
                paths.insert(path, json!({ "serverRelativeURL": url }));
            }
        }
    }
    json!({ "paths": paths })
}

/// Identifies the content of a document.
pub(crate) fn hash(registry: &Registry, group: &str, version: &str) -> Option<String> {
    if let Some(packed) = published::openapi(&path_of(group, version)) {
        // gzip ends with a checksum and the length.
        let end = packed.get(packed.len().checked_sub(8)?..)?;
        return Some(end.iter().map(|byte| format!("{byte:02X}")).collect());
    }
    let made = seed(registry, group, version)?;
    let mut crc = flate2::Crc::new();
    crc.update(&json::bytes(&made));
    Some(format!("{:08X}{:08X}", crc.sum(), crc.amount()))
}

/// `/openapi/v3/...`.
pub(crate) fn document(registry: &Registry, group: &str, version: &str) -> Option<Document> {
    match published::openapi(&path_of(group, version)) {
        Some(packed) => Some(Document::Packed(packed)),
        None => custom_document(registry, group, version).map(Document::Made),
    }
}

/// `/openapi/v2`: all definitions. Paths are left out, because no known client needs them.
pub(crate) fn swagger(registry: &Registry) -> Value {
    let mut definitions = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let builtin = published::schemas(&path_of(&group.name, version));
            definitions.extend(builtin.into_iter().chain(schemas(registry, &group.name, version)));
        }
    }
    for definition in definitions.values_mut() {
        to_v2(definition);
    }
    json!({
        "swagger": "2.0", "info": { "title": "Kubernetes", "version": super::VERSION }, "paths": {},
        "definitions": definitions,
    })
}

/// Converts a schema in place.
fn to_v2(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            unwrap_reference(map);
            let quantity = map.contains_key("oneOf");
            if quantity || map.contains_key("anyOf") {
                map.shift_remove("oneOf");
                map.shift_remove("anyOf");
                if quantity {
                    map.insert("type".into(), "string".into());
                }
            }
            map.retain(|key, _| !matches!(key.as_str(), "default" | "nullable"));
            for (key, value) in map.iter_mut() {
                match (key.as_str(), value) {
                    // A map of schemas, whose keys are names.
                    ("properties", Value::Object(properties)) => properties.values_mut().for_each(to_v2),
                    ("items" | "additionalProperties", inner) => to_v2(inner),
                    ("$ref", Value::String(path)) => *path = path.replace("#/components/schemas/", "#/definitions/"),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(to_v2),
        _ => {}
    }
}

/// v3 wraps a reference that has a description.
fn unwrap_reference(map: &mut Map<String, Value>) {
    let inner = match map.get("allOf") {
        Some(Value::Array(items)) => items.first().and_then(|item| item.get("$ref")).cloned(),
        _ => None,
    };
    if let Some(inner) = inner {
        map.shift_remove("allOf");
        map.insert("$ref".into(), inner);
    }
}

/// The built-in kind whose document contains everything that a custom resource needs.
const MODEL: &str = "apis/autoscaling/v1";
const MODEL_KIND: &str = "HorizontalPodAutoscaler";
const MODEL_PLURAL: &str = "horizontalpodautoscalers";
const MODEL_SCHEMA: &str = "io.k8s.api.autoscaling.v1.";
const REFERENCE: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
    convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const CONVENTIONS: &str = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

fn customs<'a>(registry: &'a Registry, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Resource> {
    registry.in_version(group, version).map(AsRef::as_ref).filter(|r| r.custom.is_some())
}

/// Everything that the document depends on. None if the version has no custom resource.
fn seed(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let all: Vec<Value> = customs(registry, group, version)
        .map(|r| {
            let schema = r.custom.as_ref().and_then(|c| c.schema.clone());
            let subs: Vec<&str> = r.subresources.iter().map(|s| s.name()).collect();
            json!([r.plural, r.kind, r.list_kind, r.namespaced, subs, schema])
        })
        .collect();
    (!all.is_empty()).then(|| json!([group, version, all]))
}

/// The document of a version that has custom resources.
fn custom_document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    customs(registry, group, version).next()?;
    let model: Value = published::openapi(MODEL).map(published::unzip).map(|b| parsed(&b)).unwrap_or_default();
    let model_paths = json::at(&model, &["paths"]).and_then(Value::as_object);
    let mut paths = Map::new();
    for resource in customs(registry, group, version) {
        for (path, item) in model_paths.into_iter().flatten() {
            if let Some(path) = renamed_path(path, resource) {
                paths.insert(path, renamed(item, resource));
            }
        }
    }
    let mut components =
        json::at(&model, &["components", "schemas"]).and_then(Value::as_object).cloned().unwrap_or_default();
    components.retain(|name, _| !name.starts_with(MODEL_SCHEMA));
    components.extend(schemas(registry, group, version));
    Some(json!({
        "openapi": "3.0.0", "info": { "title": "Kubernetes CRD Swagger", "version": "v0.1.0" },
        "paths": paths, "components": { "schemas": components },
    }))
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// `example.com` and `Widget` become `com.example.v1.Widget`.
fn schema_name(resource: &Resource) -> String {
    let group: Vec<&str> = resource.group.split('.').rev().collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

/// The schemas of the custom kinds and their lists.
fn schemas(registry: &Registry, group: &str, version: &str) -> Vec<(String, Value)> {
    customs(registry, group, version)
        .flat_map(|resource| {
            let name = schema_name(resource);
            [(format!("{name}List"), list_schema(resource, &name)), (name, kind_schema(resource))]
        })
        .collect()
}

fn reference(name: &str, description: String) -> Value {
    json!({ "description": description, "allOf": [{ "$ref": format!("{REFERENCE}{META}{name}") }] })
}

fn gvk(resource: &Resource, kind: &str) -> Value {
    json!([{ "group": resource.group, "kind": kind, "version": resource.version }])
}

fn kind_schema(resource: &Resource) -> Value {
    let mut schema =
        resource.custom.as_ref().and_then(|c| c.schema.clone()).unwrap_or_else(|| json!({ "type": "object" }));
    expand(&mut schema);
    let map = json::object(&mut schema);
    let properties = json::child(map, "properties");
    properties.insert("apiVersion".into(), json!({ "description": API_VERSION, "type": "string" }));
    properties.insert("kind".into(), json!({ "description": KIND, "type": "string" }));
    let metadata = format!("Standard object's metadata. More info: {CONVENTIONS}#metadata");
    properties.insert("metadata".into(), reference("ObjectMeta", metadata));
    map.insert("x-kubernetes-group-version-kind".into(), gvk(resource, &resource.kind));
    schema
}

fn list_schema(resource: &Resource, name: &str) -> Value {
    json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": { "description": API_VERSION, "type": "string" },
            "items": {
                "description": format!("List of {}. More info: {CONVENTIONS}", resource.plural),
                "type": "array", "items": { "$ref": format!("{REFERENCE}{name}") },
            },
            "kind": { "description": KIND, "type": "string" },
            "metadata": reference("ListMeta", format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds")),
        },
        "x-kubernetes-group-version-kind": gvk(resource, &resource.list_kind),
    })
}

/// Adds what the extensions of a structural schema imply.
fn expand(schema: &mut Value) {
    let flag = |schema: &Value, key: &str| schema.get(key) == Some(&Value::Bool(true));
    if flag(schema, "x-kubernetes-int-or-string") && schema.get("anyOf").is_none() {
        json::object(schema).insert("anyOf".into(), json!([{ "type": "integer" }, { "type": "string" }]));
    }
    if flag(schema, "x-kubernetes-embedded-resource") {
        let map = json::object(schema);
        map.insert("required".into(), json!(["kind", "apiVersion"]));
        let properties = json::child(map, "properties");
        let metadata = format!("Standard object's metadata. More info: {CONVENTIONS}#metadata");
        properties.insert("apiVersion".into(), json!({ "type": "string" }));
        properties.insert("kind".into(), json!({ "type": "string" }));
        properties.insert("metadata".into(), reference("ObjectMeta", metadata));
    }
    let Value::Object(map) = schema else { return };
    for (key, inner) in map {
        match (key.as_str(), inner) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(expand),
            ("items" | "additionalProperties", inner @ Value::Object(_)) => expand(inner),
            _ => {}
        }
    }
}

/// The model's path with a resource's names. None for a path that the resource does not have.
fn renamed_path(path: &str, resource: &Resource) -> Option<String> {
    let rest = path.strip_prefix("/")?.strip_prefix(MODEL)?;
    if rest.starts_with("/watch/")
        || !rest.contains(MODEL_PLURAL)
        || rest.ends_with("/status") && !resource.has(Sub::Status)
    {
        return None;
    }
    let namespaced = rest.starts_with("/namespaces/");
    let rest = match (resource.namespaced, namespaced) {
        (true, _) => rest,
        (false, true) => rest.strip_prefix("/namespaces/{namespace}")?,
        // A list over all namespaces is the same as the list.
        (false, false) => return None,
    };
    Some(format!("/apis/{}{}", resource.api_version(), rest.replace(MODEL_PLURAL, &resource.plural)))
}

/// A path's operations with a resource's names.
fn renamed(item: &Value, resource: &Resource) -> Value {
    match item {
        Value::String(text) => text
            .replace(&format!("{MODEL_SCHEMA}{MODEL_KIND}"), &schema_name(resource))
            .replace(MODEL_KIND, &resource.kind)
            .replace("AutoscalingV1", &camel(resource, true))
            .replace("autoscaling_v1", &format!("{}_{}", camel_group(&resource.group, false), resource.version))
            .into(),
        Value::Array(items) => {
            let kept = items.iter().filter(|i| resource.namespaced || json::text(i, &["name"]) != "namespace");
            kept.map(|i| renamed(i, resource)).collect()
        }
        Value::Object(map) if map.contains_key("kind") && map.contains_key("group") && map.len() == 3 => {
            let own = json::text(item, &["kind"]) == MODEL_KIND;
            if own {
                json!({ "group": resource.group, "kind": resource.kind, "version": resource.version })
            } else {
                item.clone()
            }
        }
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| {
                !["protobuf", "cbor", "strategic-merge", "stream=watch"].iter().any(|media| key.contains(media))
            })
            .map(|(key, value)| (key.clone(), renamed(value, resource)))
            .collect(),
        other => other.clone(),
    }
}

fn camel(resource: &Resource, upper: bool) -> String {
    let mut version = resource.version.clone();
    if let Some(first) = version.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{}{version}", camel_group(&resource.group, upper))
}

/// `capi.test` becomes `CapiTest` or `capiTest`.
fn camel_group(group: &str, upper: bool) -> String {
    let mut name = String::new();
    for word in group.split(['.', '-']) {
        let start = name.len();
        name.push_str(word);
        if (upper || start > 0)
            && let Some(first) = name.get_mut(start..start + 1)
        {
            first.make_ascii_uppercase();
        }
    }
    name
}

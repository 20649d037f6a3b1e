//! CustomResourceDefinitions that bundles carry: which of them are valid, and which changes are safe. Pure.
//!
//! A change is safe if every object that the cluster may have is still valid, keeps its fields, and can be read in the
//! versions that clients use. The API server checks only that stored versions stay. It accepts a schema that drops fields,
//! and then drops them from objects. In doubt, a change is not safe.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::model::Permission;

/// The group of CustomResourceDefinitions.
pub const GROUP: &str = "apiextensions.k8s.io";
/// The plural of CustomResourceDefinitions.
pub const RESOURCE: &str = "customresourcedefinitions";
/// The most bytes of one, as JSON. The API server stores at most 1.5 MiB of an object.
pub const MAX_BYTES: usize = 1024 * 1024;
/// The most in one bundle.
pub const MAX_DEFINITIONS: usize = 32;
/// The most changes that an error names.
const MAX_CHANGES: usize = 10;

/// A definition that can be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    name: String,
    value: Value,
}

/// Why a document is no definition that a bundle may carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDefinition {
    #[error("it is not a CustomResourceDefinition of {GROUP}/v1: only these can be in crds/")]
    Kind,
    #[error("its metadata.name is {name:?}, and must be spec.names.plural and spec.group: {expected:?}")]
    Name { name: String, expected: String },
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{0} is not allowed in a bundle: {1}")]
    Extra(&'static str, &'static str),
    #[error("it has {0} bytes, and {MAX_BYTES} are allowed: shorten its descriptions")]
    TooLarge(usize),
}

impl Definition {
    /// Reads and checks a definition. The API server checks the rest when it is applied.
    pub fn read(mut value: Value) -> Result<Self, InvalidDefinition> {
        let text = |pointer: &'static str| {
            let text = value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.ok_or(InvalidDefinition::Missing(pointer.strip_prefix('/').unwrap_or(pointer)))
        };
        if value.get("apiVersion").and_then(Value::as_str) != Some("apiextensions.k8s.io/v1")
            || value.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition")
        {
            return Err(InvalidDefinition::Kind);
        }
        let name = text("/metadata/name")?.to_owned();
        let expected = format!("{}.{}", text("/spec/names/plural")?, text("/spec/group")?);
        if name != expected {
            return Err(InvalidDefinition::Name { name, expected });
        }
        text("/spec/names/kind")?;
        text("/spec/scope")?;
        if versions(&value).is_empty() {
            return Err(InvalidDefinition::Missing("spec.versions"));
        }
        let metadata = value.get("metadata").and_then(Value::as_object);
        let other = ["finalizers", "ownerReferences", "managedFields", "resourceVersion", "uid"];
        if let Some(key) = other.into_iter().find(|key| metadata.is_some_and(|metadata| metadata.contains_key(*key))) {
            return Err(InvalidDefinition::Extra(key, "leave it out of metadata"));
        }
        if value.pointer("/spec/conversion").is_some_and(|conversion| conversion["strategy"] != "None") {
            let remedy = "a hook that converts registers its webhook itself";
            return Err(InvalidDefinition::Extra("spec.conversion", remedy));
        }
        if let Some(all) = value.as_object_mut() {
            // Generators write an empty one.
            all.remove("status");
        }
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| ["name", "labels", "annotations"].contains(&key.as_str()));
        }
        let bytes = value.to_string().len();
        if bytes > MAX_BYTES {
            return Err(InvalidDefinition::TooLarge(bytes));
        }
        Ok(Self { name, value })
    }

    /// `PLURAL.GROUP`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.value.get("metadata")?.get("annotations")?.get(name)?.as_str()
    }

    /// The body of a server-side apply.
    pub fn json(&self) -> String {
        self.value.to_string()
    }

    /// Compares this with the definition that the cluster has. Returns what is not safe about the change.
    pub fn unsafe_changes(&self, live: &Value) -> Vec<String> {
        unsafe_changes(live, &self.value)
    }

    /// Whether the definition that the cluster has does all that this one does, for example because a newer version of the
    /// bundle applied it.
    pub fn is_covered_by(&self, live: &Value) -> bool {
        unsafe_changes(&self.value, live).is_empty()
    }
}

fn unsafe_changes(from: &Value, to: &Value) -> Vec<String> {
    let mut changes = Changes(Vec::new());
    for pointer in ["/spec/group", "/spec/names/kind", "/spec/names/plural", "/spec/scope"] {
        if from.pointer(pointer) != to.pointer(pointer) {
            changes.add(pointer.trim_start_matches('/').replace('/', "."), "changes");
        }
    }
    let new = versions(to);
    let find = |name: &str| new.iter().find(|version| version["name"] == name);
    let stored = from.pointer("/status/storedVersions").and_then(Value::as_array);
    for name in stored.into_iter().flatten().filter_map(Value::as_str) {
        if find(name).is_none() {
            changes.add(format!("version {name}"), "is removed, and objects may be stored in it");
        }
    }
    for old in versions(from) {
        let name = old["name"].as_str().unwrap_or_default();
        let path = format!("version {name}");
        let is = |version: &Value, key: &str| version.get(key).and_then(Value::as_bool) == Some(true);
        match find(name) {
            // Only who was warned can have stopped to use it.
            _ if !is(old, "served") => {}
            Some(new) if is(new, "served") => {}
            _ if is(old, "deprecated") => {}
            _ => changes.add(path.clone(), "is no longer served, and was not deprecated before"),
        }
        let Some(new) = find(name) else { continue };
        for subresource in ["status", "scale"] {
            let has = |version: &Value| version.pointer(&format!("/subresources/{subresource}")).is_some();
            if has(old) && !has(new) {
                changes.add(format!("{path}: subresource {subresource}"), "is removed");
            }
        }
        let schema = |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or(Value::Null);
        changes.schema(&path, &schema(old), &schema(new));
    }
    changes.0
}

/// What is needed to apply definitions.
pub fn permission<'n>(names: impl IntoIterator<Item = &'n str>) -> Permission {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Permission {
        api_groups: list(&[GROUP]),
        resources: list(&[RESOURCE]),
        verbs: list(&["get", "create", "patch"]),
        resource_names: names.into_iter().map(str::to_owned).collect(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    }
}

fn versions(definition: &Value) -> &[Value] {
    definition.pointer("/spec/versions").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The keywords that bound values from above: less is stricter.
const UPPER: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];
/// Those that bound them from below: more is stricter.
const LOWER: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
/// A new or another value of these may refuse what was valid.
const EXACT: [&str; 8] =
    ["pattern", "format", "multipleOf", "allOf", "anyOf", "oneOf", "not", "x-kubernetes-embedded-resource"];
/// These decide how objects are merged.
const MERGE: [&str; 3] = ["x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"];
/// If these are lost, values are refused or dropped.
const LAX: [&str; 3] = ["nullable", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"];
/// If these are new, values are refused.
const STRICT: [&str; 3] = ["uniqueItems", "exclusiveMaximum", "exclusiveMinimum"];

struct Changes(Vec<String>);

impl Changes {
    fn add(&mut self, path: impl AsRef<str>, what: &str) {
        match self.0.len() {
            len if len < MAX_CHANGES => self.0.push(format!("{} {what}", path.as_ref())),
            MAX_CHANGES => self.0.push("and more".to_owned()),
            _ => {}
        }
    }

    /// The JSON that both were parsed from bounds the depth.
    fn schema(&mut self, path: &str, old: &Value, new: &Value) {
        if old == new {
            return;
        }
        let flag = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
        let scalar = ["integer", "string"].into_iter().any(|name| old.get("type").is_some_and(|old| old == name));
        if old.get("type") != new.get("type") && !(scalar && flag(new, "x-kubernetes-int-or-string")) {
            return self.add(format!("{path}: type"), "changes");
        }
        for key in LAX.into_iter().filter(|key| flag(old, key) && !flag(new, key)) {
            self.add(format!("{path}: {key}"), "is removed");
        }
        for key in STRICT.into_iter().filter(|key| !flag(old, key) && flag(new, key)) {
            self.add(format!("{path}: {key}"), "is added");
        }
        let number = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_f64);
        for key in UPPER {
            let stricter = match (number(old, key), number(new, key)) {
                (Some(old), Some(new)) => new < old,
                (None, new) => new.is_some(),
                _ => false,
            };
            if stricter {
                self.add(format!("{path}: {key}"), "is lower than before");
            }
        }
        for key in LOWER {
            let stricter = match (number(old, key), number(new, key)) {
                (Some(old), Some(new)) => new > old,
                (None, new) => new.is_some_and(|new| key == "minimum" || new > 0.0),
                _ => false,
            };
            if stricter {
                self.add(format!("{path}: {key}"), "is higher than before");
            }
        }
        for key in EXACT.into_iter().filter(|key| new.get(key).is_some() && old.get(key) != new.get(key)) {
            self.add(format!("{path}: {key}"), "is new or changes");
        }
        for key in MERGE.into_iter().filter(|key| old.get(key) != new.get(key)) {
            self.add(format!("{path}: {key}"), "changes");
        }
        self.values(path, old, new);
        self.rules(path, old, new);
        self.fields(path, old, new);
        match (old.get("items"), new.get("items")) {
            (Some(old), Some(new)) => self.schema(&format!("{path}[]"), old, new),
            (old, new) if old != new => self.add(format!("{path}: items"), "is new or removed"),
            _ => {}
        }
    }

    fn values(&mut self, path: &str, old: &Value, new: &Value) {
        let Some(allowed) = new.get("enum").and_then(Value::as_array) else { return };
        match old.get("enum").and_then(Value::as_array) {
            Some(old) => {
                for value in old.iter().filter(|value| !allowed.contains(value)) {
                    self.add(path, &format!("no longer allows {value}"));
                }
            }
            None => self.add(format!("{path}: enum"), "is added"),
        }
    }

    fn rules(&mut self, path: &str, old: &Value, new: &Value) {
        let rules = |schema: &Value| -> BTreeSet<String> {
            let all = schema.get("x-kubernetes-validations").and_then(Value::as_array);
            all.into_iter().flatten().filter_map(|rule| Some(rule.get("rule")?.as_str()?.to_owned())).collect()
        };
        for rule in rules(new).difference(&rules(old)) {
            self.add(format!("{path}: the rule {rule:?}"), "is added");
        }
    }

    fn fields<'s>(&mut self, path: &str, old: &'s Value, new: &'s Value) {
        let none = Map::new();
        let fields = |schema: &'s Value| schema.get("properties").and_then(Value::as_object);
        let (before, after) = (fields(old).unwrap_or(&none), fields(new).unwrap_or(&none));
        let keeps = new.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
        let any = new.get("additionalProperties");
        for (name, old) in before {
            match after.get(name).or(any.filter(|any| any.is_object())) {
                Some(new) => self.schema(&format!("{path}.{name}"), old, new),
                None if keeps || any == Some(&Value::Bool(true)) => {}
                None => self.add(format!("{path}.{name}"), "is removed, and objects would lose it"),
            }
        }
        match (old.get("additionalProperties"), any) {
            (Some(old), Some(new)) => self.schema(&format!("{path}.*"), old, new),
            (Some(_), None) => self.add(format!("{path}: additionalProperties"), "is removed"),
            _ => {}
        }
        let names = |schema: &Value| -> BTreeSet<String> {
            let all = schema.get("required").and_then(Value::as_array);
            all.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let has_default = |name: &str| after.get(name).is_some_and(|field| field.get("default").is_some());
        for name in names(new).difference(&names(old)).filter(|name| !has_default(name)) {
            self.add(format!("{path}.{name}"), "becomes required, and has no default");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(schema: Value) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "apps.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"plural": "apps", "kind": "App"},
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
                }],
            },
            "status": {"storedVersions": ["v1"]},
        })
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let old = crd(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
        let mut new = old.clone();
        change(&mut new);
        Definition::read(new).unwrap().unsafe_changes(&old)
    }

    #[test]
    fn what_can_be_carried() {
        let good = crd(json!({"type": "object"}));
        let read = Definition::read(good.clone()).unwrap();
        assert_eq!(read.name(), "apps.example.com");
        assert!(!read.json().contains("storedVersions"), "the status is the API server's");
        for (part, pointer, wrong) in [
            ("only these can be in crds/", "/kind", json!("Role")),
            ("apiextensions.k8s.io/v1", "/apiVersion", json!("apiextensions.k8s.io/v1beta1")),
            ("must be spec.names.plural", "/metadata/name", json!("other.example.com")),
            ("spec/names/kind is missing", "/spec/names/kind", json!("")),
            ("spec.versions is missing", "/spec/versions", json!([])),
            ("finalizers is not allowed", "/metadata", json!({"name": "apps.example.com", "finalizers": ["a.b/c"]})),
            ("spec.conversion is not allowed", "/spec/conversion", json!({"strategy": "Webhook"})),
            ("are allowed", "/spec/preserveUnknownFields", json!("x".repeat(MAX_BYTES))),
        ] {
            let mut value = good.clone();
            for name in ["conversion", "preserveUnknownFields"] {
                value["spec"][name] = json!({"strategy": "None"});
            }
            *value.pointer_mut(pointer).unwrap() = wrong;
            let error = Definition::read(value).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    // mutant: crates/core/src/definition.rs: `if find(name).is_none() {` => `if false {`
    // mutant: crates/core/src/definition.rs: `if from.pointer(pointer) != to.pointer(pointer) {` => `if false {`
    #[test]
    fn a_version_that_is_stored_or_used_stays() {
        assert_eq!(changed(|_| ()), [""; 0]);
        let gone = changed(|new| new["spec"]["versions"][0]["name"] = json!("v2"));
        assert!(gone[0].contains("version v1 is removed, and objects may be stored in it"), "{gone:?}");
        let unserved = changed(|new| new["spec"]["versions"][0]["served"] = json!(false));
        assert_eq!(unserved, ["version v1 is no longer served, and was not deprecated before"]);
        let mut old = crd(json!({"type": "object"}));
        old["spec"]["versions"][0]["deprecated"] = json!(true);
        let mut new = old.clone();
        new["spec"]["versions"][0]["served"] = json!(false);
        assert_eq!(Definition::read(new).unwrap().unsafe_changes(&old), [""; 0]);
        assert_eq!(changed(|new| new["spec"]["scope"] = json!("Cluster")), ["spec.scope changes"]);
        let status = changed(|new| new["spec"]["versions"][0]["subresources"] = json!({}));
        assert_eq!(status, ["version v1: subresource status is removed"]);
    }

    fn schemas(old: Value, new: Value) -> Vec<String> {
        let prefix = "version v1.spec";
        let changes = Definition::read(crd(new)).unwrap().unsafe_changes(&crd(old));
        changes.into_iter().map(|change| change.replace(prefix, "$")).collect()
    }

    #[test]
    fn what_objects_would_lose_or_be_refused_for_is_named() {
        let of = |fields: Value| json!({"type": "object", "properties": fields});
        let text = json!({"type": "string"});
        for (old, new, expected) in [
            (of(json!({"a": text})), of(json!({})), "$.a is removed, and objects would lose it"),
            (of(json!({"a": text})), of(json!({"a": {"type": "integer"}})), "$.a: type changes"),
            (
                of(json!({})),
                json!({"type": "object", "properties": {"a": text}, "required": ["a"]}),
                "$.a becomes required, and has no default",
            ),
            (text.clone(), json!({"type": "string", "enum": ["x"]}), "$: enum is added"),
            (
                json!({"type": "string", "enum": ["x", "y"]}),
                json!({"type": "string", "enum": ["x"]}),
                "$ no longer allows \"y\"",
            ),
            (text.clone(), json!({"type": "string", "maxLength": 3}), "$: maxLength is lower than before"),
            (
                json!({"type": "string", "minLength": 1}),
                json!({"type": "string", "minLength": 2}),
                "$: minLength is higher than before",
            ),
            (text.clone(), json!({"type": "string", "pattern": "a"}), "$: pattern is new or changes"),
            (json!({"type": "string", "nullable": true}), text.clone(), "$: nullable is removed"),
            (
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
                of(json!({})),
                "$: x-kubernetes-preserve-unknown-fields is removed",
            ),
            (
                json!({"type": "array", "items": text}),
                json!({"type": "array", "items": {"type": "integer"}}),
                "$[]: type changes",
            ),
            (
                json!({"type": "array", "items": text}),
                json!({"type": "array", "items": text, "x-kubernetes-list-type": "set"}),
                "$: x-kubernetes-list-type changes",
            ),
            (
                json!({"type": "array", "items": text}),
                json!({"type": "array", "items": text, "uniqueItems": true}),
                "$: uniqueItems is added",
            ),
            (
                json!({"type": "object", "additionalProperties": text}),
                json!({"type": "object"}),
                "$: additionalProperties is removed",
            ),
            (
                of(json!({})),
                json!({"type": "object", "properties": {}, "x-kubernetes-validations": [{"rule": "1 > 2"}]}),
                "$: the rule \"1 > 2\" is added",
            ),
        ] {
            assert_eq!(schemas(old.clone(), new.clone()), [expected], "{old} {new}");
        }
    }

    #[test]
    fn a_rollback_is_covered_by_what_the_newer_version_applied() {
        let of = |fields: Value| crd(json!({"type": "object", "properties": fields}));
        let (old, new) = (of(json!({})), of(json!({"a": {"type": "string"}})));
        let rollback = Definition::read(old.clone()).unwrap();
        assert!(!rollback.unsafe_changes(&new).is_empty() && rollback.is_covered_by(&new));
        assert!(!Definition::read(new).unwrap().is_covered_by(&old));
    }

    #[test]
    fn what_accepts_more_is_safe() {
        let of = |fields: Value| json!({"type": "object", "properties": fields});
        let text = json!({"type": "string"});
        for (old, new) in [
            (of(json!({})), of(json!({"a": text}))),
            (
                of(json!({})),
                json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"]}),
            ),
            (of(json!({"a": text})), json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
            (of(json!({"a": text})), json!({"type": "object", "additionalProperties": text})),
            (json!({"type": "string", "enum": ["x"]}), json!({"type": "string", "enum": ["x", "y"]})),
            (json!({"type": "string", "enum": ["x"]}), text.clone()),
            (json!({"type": "string", "pattern": "a", "maxLength": 3}), json!({"type": "string", "maxLength": 4})),
            (json!({"type": "integer"}), json!({"x-kubernetes-int-or-string": true})),
            (
                of(json!({"a": {"type": "string", "description": "one"}})),
                of(json!({"a": {"type": "string", "description": "two"}})),
            ),
        ] {
            assert_eq!(schemas(old.clone(), new.clone()), [""; 0], "{old} {new}");
        }
    }

    #[test]
    fn an_error_names_only_some_changes() {
        let fields: Map<String, Value> = (0..50).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
        let old = json!({"type": "object", "properties": fields});
        let changes = schemas(old, json!({"type": "object"}));
        assert_eq!((changes.len(), changes.last().map(String::as_str)), (MAX_CHANGES + 1, Some("and more")));
    }
}

//! CustomResourceDefinitions: the resources that a stored definition serves, and its status.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::rules::Rules;
use super::schema::Schema;
use super::selectable::Selectable;
use super::{Conversion, Resource, Sub, builtin, group_version};
use crate::json;
use crate::names::Naming;

/// The paths of the replica counts of a custom resource.
#[derive(Debug, Clone)]
pub(crate) struct ScalePaths {
    pub spec: Vec<String>,
    pub status: Vec<String>,
    pub selector: Option<Vec<String>>,
}

/// The parts of a definition's version other than names.
#[derive(Debug, Clone)]
pub(crate) struct Custom {
    pub schema: Option<Value>,
    pub scale: Option<ScalePaths>,
    /// `additionalPrinterColumns`, unchanged.
    pub columns: Vec<Value>,
    /// The converter between versions. None if they differ only by name.
    pub converter: Option<Arc<Converter>>,
    rules: Arc<OnceLock<Rules>>,
}

impl Custom {
    /// The rules of the schema, which are compiled at their first use.
    pub(crate) fn rules(&self) -> &Rules {
        self.rules.get_or_init(|| self.schema.as_ref().map(Rules::compile).unwrap_or_default())
    }
}

/// The order of versions: `v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > anything else`.
pub(crate) fn version_rank(version: &str) -> (u8, u64, u64) {
    let parse = || -> Option<(u8, u64, u64)> {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, rest) = rest.split_at(digits);
        let major = major.parse().ok()?;
        if rest.is_empty() {
            return Some((3, major, 0));
        }
        let (class, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return None,
        };
        Some((class, major, minor.parse().ok()?))
    };
    parse().unwrap_or((0, 0, 0))
}

fn strings(value: &Value, path: &[&str]) -> Vec<String> {
    json::list(value, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn dotted(path: &str) -> Vec<String> {
    path.trim_start_matches('.').split('.').map(str::to_owned).collect()
}

/// The resources that a definition serves.
pub(crate) fn resources(definition: &Value, schema: &Arc<Schema>) -> Vec<Arc<Resource>> {
    if !is_established(definition) {
        return Vec::new();
    }
    let versions = json::list(definition, &["spec", "versions"]);
    let stored = versions.iter().find(|v| v.get("storage") == Some(&Value::Bool(true)));
    let Some(stored) = stored.map(|v| json::text(v, &["name"])) else {
        return Vec::new();
    };
    let served = versions.iter().filter(|v| v.get("served") == Some(&Value::Bool(true)));
    // With a converter, objects are converted when they are read and written, so no other conversion is needed.
    let alone = versions.len() == 1 || Converter::of(definition).is_some();
    let conversion = if alone { Conversion::Same } else { Conversion::ApiVersion };
    served.map(|version| Arc::new(resource(definition, version, stored, conversion, schema))).collect()
}

fn resource(
    definition: &Value,
    version: &Value,
    stored: &str,
    conversion: Conversion,
    schema: &Arc<Schema>,
) -> Resource {
    let name = |key: &str| json::text(definition, &["spec", "names", key]).to_owned();
    let group = json::text(definition, &["spec", "group"]);
    let plural = name("plural");
    let scale = scale_paths(version);
    let mut subresources = Vec::new();
    if json::at(version, &["subresources", "status"]).is_some_and(|v| !v.is_null()) {
        subresources.push(Sub::Status);
    }
    if scale.is_some() {
        subresources.push(Sub::Scale);
    }
    Resource {
        group: group.to_owned(),
        version: json::text(version, &["name"]).to_owned(),
        kind: name("kind"),
        list_kind: name("listKind"),
        singular: name("singular"),
        short_names: strings(definition, &["spec", "names", "shortNames"]),
        categories: strings(definition, &["spec", "names", "categories"]),
        namespaced: json::text(definition, &["spec", "scope"]) == "Namespaced",
        subresources,
        storage: builtin::storage(group, &plural).into(),
        stored_api_version: group_version(group, stored),
        conversion,
        generation: true,
        naming: Naming::Subdomain,
        selectable: selectable(version),
        custom: Some(Custom {
            schema: json::at(version, &["schema", "openAPIV3Schema"]).cloned(),
            scale,
            columns: json::list(version, &["additionalPrinterColumns"]).to_vec(),
            converter: Converter::of(definition).filter(|_| json::list(definition, &["spec", "versions"]).len() > 1),
            rules: Arc::default(),
        }),
        delete_returns_object: false,
        create_on_update: false,
        schema: schema.clone(),
        root_type: None,
        plural,
    }
}

fn selectable(version: &Value) -> Vec<Selectable> {
    let paths = json::list(version, &["selectableFields"]).iter().map(|field| json::text(field, &["jsonPath"]));
    let paths = paths.map(|path| path.trim_start_matches('.'));
    paths.map(|path| Selectable::new(path, std::iter::once(path), "")).collect()
}

fn scale_paths(version: &Value) -> Option<ScalePaths> {
    let scale = json::at(version, &["subresources", "scale"]).filter(|v| v.is_object())?;
    let path = |key: &str| dotted(json::text(scale, &[key]));
    let selector = json::at(scale, &["labelSelectorPath"]).and_then(Value::as_str).map(dotted);
    Some(ScalePaths { spec: path("specReplicasPath"), status: path("statusReplicasPath"), selector })
}

/// Sets the defaults of a definition.
pub(crate) fn set_defaults(definition: &mut Value) {
    let spec = json::child(json::object(definition), "spec");
    json::default(spec, "conversion", json!({ "strategy": "None" }));
    let names = json::child(spec, "names");
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !kind.is_empty() {
        json::default(names, "singular", kind.to_lowercase());
        json::default(names, "listKind", format!("{kind}List"));
    }
    if let Some(Value::Array(versions)) = spec.get_mut("versions") {
        for column in versions.iter_mut().filter_map(|v| v.get_mut("additionalPrinterColumns")) {
            for column in column.as_array_mut().into_iter().flatten() {
                json::default(json::object(column), "type", "string");
            }
        }
    }
}

/// Sets the status of a new definition.
pub(crate) fn pending(definition: &mut Value) {
    let status = json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": [] });
    json::object(definition).insert("status".into(), status);
    note_stored(definition);
}

/// Adds the storage version to the versions in which objects may be stored.
pub(crate) fn note_stored(definition: &mut Value) {
    let versions = json::list(definition, &["spec", "versions"]);
    let stored = versions.iter().find(|v| v.get("storage") == Some(&Value::Bool(true)));
    let Some(stored) = stored.and_then(|v| v.get("name")).cloned() else {
        return;
    };
    let status = json::child(json::object(definition), "status");
    let known = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Value::Array(list) = known
        && !list.contains(&stored)
    {
        list.push(stored);
    }
}

/// Whether the definition's resources are served.
fn is_established(definition: &Value) -> bool {
    let conditions = json::list(definition, &["status", "conditions"]).iter();
    conditions.filter(|c| json::text(c, &["type"]) == "Established").any(|c| json::text(c, &["status"]) == "True")
}

/// Sets a condition. Its transition time changes only with its status.
pub(crate) fn set_condition(definition: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    let holder = json::child(json::object(definition), "status");
    let conditions = holder.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let mut condition = json!({
        "lastTransitionTime": now, "message": message, "reason": reason, "status": status, "type": kind,
    });
    let Value::Array(list) = conditions else { return };
    match list.iter_mut().find(|c| json::text(c, &["type"]) == kind) {
        Some(known) => {
            if json::text(known, &["status"]) == status
                && let Some(since) = known.get("lastTransitionTime").cloned()
            {
                json::object(&mut condition).insert("lastTransitionTime".into(), since);
            }
            *known = condition;
        }
        None => list.push(condition),
    }
}

/// Accepts the names that none of `others` has, and establishes the resource if all names are accepted. The controllers
/// of the real server do this a moment later.
pub(crate) fn establish(definition: &mut Value, others: &[Value], now: &str) {
    let names = json::at(definition, &["spec", "names"]).cloned().unwrap_or_default();
    let conflicts = conflicts(&names, others);
    let status = json::child(json::object(definition), "status");
    let accepted = json::child(status, "acceptedNames");
    for key in NAMES.iter().map(|(key, ..)| *key).chain(["categories"]) {
        match names.get(key) {
            Some(name) if !conflicts.iter().any(|(taken, ..)| *taken == key) => {
                accepted.insert(key.into(), name.clone())
            }
            None => accepted.shift_remove(key),
            Some(_) => None,
        };
    }
    match conflicts.last() {
        None => {
            set_condition(definition, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
            let message = "the initial names have been accepted";
            set_condition(definition, "Established", "True", "InitialNamesAccepted", message, now);
        }
        Some((_, reason, message)) => {
            set_condition(definition, "NamesAccepted", "False", reason, message, now);
            if !is_established(definition) {
                set_condition(definition, "Established", "False", "NotAccepted", "not all names are accepted", now);
            }
        }
    }
}

/// Names in the order of their checks, the reason of their conflict, and the names that they can conflict with.
const NAMES: &[(&str, &str, &[&str])] = &[
    ("plural", "PluralConflict", RESOURCES),
    ("singular", "SingularConflict", RESOURCES),
    ("shortNames", "ShortNamesConflict", RESOURCES),
    ("kind", "KindConflict", KINDS),
    ("listKind", "ListKindConflict", KINDS),
];
const RESOURCES: &[&str] = &["plural", "singular", "shortNames"];
const KINDS: &[&str] = &["kind", "listKind"];

/// The names that another definition of the group has already accepted.
fn conflicts(names: &Value, others: &[Value]) -> Vec<(&'static str, &'static str, String)> {
    let as_list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let taken = |keys: &[&str], name: &Value| {
        let accepted = |other: &Value, key: &str| json::at(other, &["status", "acceptedNames", key]).map(as_list);
        others.iter().any(|other| keys.iter().any(|key| accepted(other, key).is_some_and(|list| list.contains(name))))
    };
    let conflict = |(key, reason, keys): &(&'static str, &'static str, &[&str])| {
        let wanted = names.get(key).filter(|name| !json::is_empty(Some(name))).map(as_list)?;
        let name = wanted.into_iter().find(|name| taken(keys, name))?;
        Some((*key, *reason, format!("{name} is already in use")))
    };
    NAMES.iter().filter_map(conflict).collect()
}

/// The conversion webhook of a definition.
#[derive(Clone, Debug)]
pub(crate) struct Converter {
    /// `spec.conversion.webhook.clientConfig`.
    pub client: Value,
    /// The version of the review that both sides support.
    pub review: String,
}

impl Converter {
    /// The webhook of a definition, if it has one.
    pub(crate) fn of(definition: &Value) -> Option<Arc<Self>> {
        let conversion = json::at(definition, &["spec", "conversion"])?;
        if json::text(conversion, &["strategy"]) != "Webhook" {
            return None;
        }
        let known = json::list(conversion, &["webhook", "conversionReviewVersions"]).iter().filter_map(Value::as_str);
        let review = known.into_iter().find(|version| matches!(*version, "v1" | "v1beta1"))?.to_owned();
        let client = json::at(conversion, &["webhook", "clientConfig"])?.clone();
        Some(Arc::new(Self { client, review }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rank_by_stability() {
        let mut list = vec!["v1alpha1", "foo", "v2", "v1", "v1beta2", "v10", "v1beta10"];
        list.sort_by_key(|v| std::cmp::Reverse(version_rank(v)));
        assert_eq!(list, ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "foo"]);
    }
}

//! Validates a CustomResourceDefinition: names, versions, subresources, columns, conversion. `structure` and
//! `validations` check the schemas.

mod columns;
mod conversion;
mod names;
mod structure;
mod validations;

use serde_json::{Value, json};

use crate::json;
use crate::names::Naming;
use crate::status::Cause;

/// All problems of a definition, which replaces `old`.
pub(crate) fn problems(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    name(definition, &mut causes);
    group(definition, &mut causes);
    scope(definition, &mut causes);
    versions(definition, &mut causes);
    names::check(definition, &mut causes);
    parts(definition, &mut causes);
    conversion::check(definition, &mut causes);
    stored_versions(definition, &mut causes);
    for path in [["spec", "scope"], ["spec", "names"]].iter().filter(|_| old.is_some()) {
        let key = if path == &["spec", "names"] { vec!["spec", "names", "kind"] } else { path.to_vec() };
        let before = old.and_then(|old| json::at(old, &key));
        if let Some(now) = json::at(definition, &key).filter(|now| before != Some(now)) {
            causes.push(Cause::invalid(key.join("."), now, "field is immutable"));
        }
    }
    causes
}

fn name(definition: &Value, causes: &mut Vec<Cause>) {
    let text = |path: &[&str]| json::text(definition, path);
    let wanted = format!("{}.{}", text(&["spec", "names", "plural"]), text(&["spec", "group"]));
    let name = text(&["metadata", "name"]);
    if name != wanted {
        causes.push(Cause::invalid("metadata.name", &name.into(), "must be spec.names.plural+\".\"+spec.group"));
    }
}

/// Groups of the Kubernetes project, in which only it may define kinds.
fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')))
}

fn group(definition: &Value, causes: &mut Vec<Cause>) {
    let group = json::text(definition, &["spec", "group"]);
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
        return;
    }
    let wrong = Naming::Subdomain.problems(group);
    let named = wrong.is_empty();
    causes.extend(wrong.into_iter().map(|why| Cause::invalid("spec.group", &group.into(), why)));
    if named && group.split('.').count() < 2 {
        causes.push(Cause::invalid("spec.group", &group.into(), "should be a domain with at least one dot"));
    }
    let approval = json::text(definition, &["metadata", "annotations", "api-approved.kubernetes.io"]);
    if !is_protected(group) || approval.starts_with("unapproved") || approval.contains("://") {
        return;
    }
    let field = "metadata.annotations[api-approved.kubernetes.io]";
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    causes.push(if approval.is_empty() {
        let why = format!("protected groups must have approval annotation \"api-approved.kubernetes.io\", {see}");
        Cause::required(field, &why)
    } else {
        let why = "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a \
            reason starting with \"unapproved\"";
        Cause::invalid(field, &approval.into(), format!("{why}, {see}"))
    });
}

fn scope(definition: &Value, causes: &mut Vec<Cause>) {
    match json::text(definition, &["spec", "scope"]) {
        "" => causes.push(Cause::required("spec.scope", "")),
        "Namespaced" | "Cluster" => {}
        other => causes.push(Cause::unsupported("spec.scope", &other.into(), &["Cluster", "Namespaced"])),
    }
    if definition.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        causes.push(Cause::invalid("spec.preserveUnknownFields", &true.into(), why));
    }
}

fn of_all(definition: &Value) -> &[Value] {
    json::list(definition, &["spec", "versions"])
}

fn is(version: &Value, key: &str) -> bool {
    version.get(key) == Some(&Value::Bool(true))
}

/// A part that is the same in all versions is at the top level in the real server's texts.
fn shared(definition: &Value, key: &str) -> bool {
    let versions = of_all(definition);
    versions.iter().all(|version| version.get(key) == versions.first().and_then(|first| first.get(key)))
}

fn versions(definition: &Value, causes: &mut Vec<Cause>) {
    let versions = of_all(definition);
    for (index, version) in versions.iter().enumerate() {
        let field = |key: &str| format!("spec.versions[{index}].{key}");
        let name = json::text(version, &["name"]);
        if let Some(why) = names::dns1035(name) {
            causes.push(Cause::invalid(field("name"), &name.into(), &why));
            if index == 0 {
                causes.push(Cause::invalid("spec.version", &name.into(), why));
            }
        }
        let warning = json::text(version, &["deprecationWarning"]);
        if !warning.is_empty() && !is(version, "deprecated") {
            let why = "can only be set for deprecated versions";
            causes.push(Cause::invalid(field("deprecationWarning"), &warning.into(), why));
        }
    }
    let names: Vec<&str> = versions.iter().map(|v| json::text(v, &["name"])).collect();
    if names.iter().enumerate().any(|(index, name)| names.iter().take(index).any(|other| other == name)) {
        causes.push(Cause::invalid("spec.versions", &shown(definition), "must contain unique version names"));
    }
    if versions.iter().filter(|v| is(v, "storage")).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &shown(definition), why));
    }
}

/// The versions as the real server's internal type shows them. The internal type has their other parts elsewhere.
fn shown(definition: &Value) -> Value {
    let one = |version: &Value| {
        json!({
            "Name": json::text(version, &["name"]), "Served": is(version, "served"), "Storage": is(version, "storage"),
            "Deprecated": is(version, "deprecated"), "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": null, "Subresources": null, "AdditionalPrinterColumns": null, "SelectableFields": null,
        })
    };
    of_all(definition).iter().map(one).collect()
}

/// Schemas, subresources, columns and selectable fields. They are checked once if all versions have the same.
fn parts(definition: &Value, causes: &mut Vec<Cause>) {
    let (schemas, scales) = (shared(definition, "schema"), shared(definition, "subresources"));
    let (columns, fields) = (shared(definition, "additionalPrinterColumns"), shared(definition, "selectableFields"));
    for (index, version) in of_all(definition).iter().enumerate() {
        let own = format!("spec.versions[{index}]");
        let schema = json::at(version, &["schema", "openAPIV3Schema"]).filter(|schema| schema.is_object());
        match schema {
            None => causes.push(Cause::required(format!("{own}.schema.openAPIV3Schema"), "")),
            Some(schema) if !schemas => structure::check(schema, &format!("{own}.schema.openAPIV3Schema"), causes),
            Some(schema) if index == 0 => structure::check(schema, "spec.validation.openAPIV3Schema", causes),
            Some(_) => {}
        }
        let place = |shared: bool, key: &str| match (shared, index) {
            (true, 0) => Some(format!("spec.{key}")),
            (true, _) => None,
            (false, _) => Some(format!("{own}.{key}")),
        };
        if let Some(path) = place(scales, "subresources") {
            columns::scale(version, &path, causes);
        }
        if let Some(path) = place(columns, "additionalPrinterColumns") {
            columns::check(version, &path, causes);
        }
        if let Some(path) = place(fields, "selectableFields") {
            columns::selectable(version, schema, &path, causes);
        }
    }
}

fn stored_versions(definition: &Value, causes: &mut Vec<Cause>) {
    let storage: Vec<&str> =
        of_all(definition).iter().filter(|v| is(v, "storage")).map(|v| json::text(v, &["name"])).collect();
    match storage.as_slice() {
        [] => {
            let why = "must have at least one stored version";
            causes.push(Cause::invalid("status.storedVersions", &Value::Null, why));
        }
        [first, .., last] if first != last => {
            let why = format!("must have the storage version {last}");
            causes.push(Cause::invalid("status.storedVersions", &json!([first]), why));
        }
        _ => {}
    }
    for (index, stored) in json::list(definition, &["status", "storedVersions"]).iter().enumerate() {
        if !of_all(definition).iter().any(|v| v.get("name") == Some(stored)) {
            let field = format!("status.storedVersions[{index}]");
            let why =
                "missing from spec.versions; either add the version or remove it from storedVersions after migrating";
            let why = why.split(';').next().unwrap_or(why);
            causes.push(Cause::invalid(field, stored, why));
        }
    }
}

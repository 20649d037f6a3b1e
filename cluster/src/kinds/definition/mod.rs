//! Validates a CustomResourceDefinition: names, versions, subresources, columns, conversion. `structure` and
//! `validations` check the schemas.

mod structure;

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
    check_names(definition, &mut causes);
    parts(definition, &mut causes);
    check_conversion(definition, &mut causes);
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
        if let Some(why) = dns1035(name) {
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
            scale(version, &path, causes);
        }
        if let Some(path) = place(columns, "additionalPrinterColumns") {
            check_columns(version, &path, causes);
        }
        if let Some(path) = place(fields, "selectableFields") {
            selectable(version, schema, &path, causes);
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

const TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
const FORMATS: &[&str] = &["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

fn dotted(path: &str) -> Option<&str> {
    path.strip_prefix('.')
}

fn scale(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(scale) = json::at(version, &["subresources", "scale"]).filter(|scale| scale.is_object()) else {
        return;
    };
    for (key, root) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let text = json::text(scale, &[key]);
        let field = format!("{path}.scale.{key}");
        if text.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if dotted(text).is_none() {
            causes.push(Cause::invalid(field, &text.into(), "must be a simple json path starting with ."));
        } else if !text.strip_prefix(root).is_some_and(|rest| rest.starts_with('.')) {
            causes.push(Cause::invalid(field, &text.into(), format!("should be a json path under {root}")));
        }
    }
    let selector = json::text(scale, &["labelSelectorPath"]);
    let field = format!("{path}.scale.labelSelectorPath");
    if selector.is_empty() {
        return;
    }
    if dotted(selector).is_none() {
        causes.push(Cause::invalid(field, &selector.into(), "must be a simple json path starting with ."));
    } else if ![".spec.", ".status."].iter().any(|root| selector.starts_with(root)) {
        let why = "should be a json path under either .spec or .status";
        causes.push(Cause::invalid(field, &selector.into(), why));
    }
}

fn check_columns(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (index, column) in json::list(version, &["additionalPrinterColumns"]).iter().enumerate() {
        let field = |key: &str| format!("{path}[{index}].{key}");
        let text = |key: &str| json::text(column, &[key]);
        if text("name").is_empty() {
            causes.push(Cause::required(field("name"), ""));
        }
        if text("type").is_empty() {
            causes.push(Cause::required(field("type"), &format!("must be one of {}", TYPES.join(","))));
        } else if !TYPES.contains(&text("type")) {
            let why = format!("must be one of {}", TYPES.join(","));
            causes.push(Cause::invalid(field("type"), &text("type").into(), why));
        }
        if !text("format").is_empty() && !FORMATS.contains(&text("format")) {
            let why = format!("must be one of {}", FORMATS.join(","));
            causes.push(Cause::invalid(field("format"), &text("format").into(), why));
        }
        let json_path = text("jsonPath");
        if json_path.is_empty() {
            causes.push(Cause::required(field("JSONPath"), ""));
        } else if dotted(json_path).is_none() {
            let why = "must be a simple json path starting with .";
            causes.push(Cause::invalid(field("JSONPath"), &json_path.into(), why));
        }
    }
}

fn selectable(version: &Value, schema: Option<&Value>, path: &str, causes: &mut Vec<Cause>) {
    let mut seen = Vec::new();
    for (index, selectable) in json::list(version, &["selectableFields"]).iter().enumerate() {
        let text = json::text(selectable, &["jsonPath"]);
        let field = format!("{path}[{index}].jsonPath");
        if text.is_empty() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        if let Some(why) = unselectable(text, schema) {
            causes.push(Cause::invalid(&field, &text.into(), why));
        }
        if seen.contains(&text) {
            let message = format!("Duplicate value: {}", Value::from(text));
            causes.push(Cause { reason: "FieldValueDuplicate", message, field });
        }
        seen.push(text);
    }
}

fn unselectable(path: &str, schema: Option<&Value>) -> Option<String> {
    let Some(steps) = dotted(path) else {
        return Some(format!("is an invalid path: expected [ or . but got: {path}"));
    };
    let unknown = || Some("is an invalid path: does not refer to a valid field".to_owned());
    let mut here = schema?;
    for (index, step) in steps.split('.').enumerate() {
        if index == 0 && step == "metadata" {
            return unknown();
        }
        match json::at(here, &["properties", step]) {
            Some(inner) => here = inner,
            None => return unknown(),
        }
    }
    let fits = matches!(json::text(here, &["type"]), "string" | "boolean" | "integer");
    let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats \
        are allowed.";
    (!fits).then(|| why.to_owned())
}

/// Why a text is not a DNS-1035 label.
fn dns1035(text: &str) -> Option<String> {
    let first = text.starts_with(|c: char| c.is_ascii_lowercase());
    let inner = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if first && inner && !text.ends_with('-') {
        return (text.len() > 63).then(|| "must be no more than 63 bytes".to_owned());
    }
    Some(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, \
         and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
         '[a-z]([-a-z0-9]*[a-z0-9])?')"
            .to_owned(),
    )
}

fn check_names(definition: &Value, causes: &mut Vec<Cause>) {
    let names = json::at(definition, &["spec", "names"]).unwrap_or(&Value::Null);
    let text = |key: &str| json::text(names, &[key]);
    for key in ["plural", "singular"] {
        label(key, text(key), key == "plural", causes);
    }
    kind("kind", text("kind"), causes);
    for (index, name) in json::list(names, &["shortNames"]).iter().enumerate() {
        label(&format!("shortNames[{index}]"), name.as_str().unwrap_or_default(), true, causes);
    }
    kind("listKind", text("listKind"), causes);
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        let why = "kind and listKind may not be the same";
        causes.push(Cause::invalid("spec.names.listKind", &text("listKind").into(), why));
    }
    for (index, name) in json::list(names, &["categories"]).iter().enumerate() {
        label(&format!("categories[{index}]"), name.as_str().unwrap_or_default(), true, causes);
    }
}

fn label(key: &str, text: &str, required: bool, causes: &mut Vec<Cause>) {
    let field = format!("spec.names.{key}");
    if text.is_empty() {
        if required {
            causes.push(Cause::required(field, ""));
        }
    } else if let Some(why) = dns1035(text) {
        causes.push(Cause::invalid(field, &text.into(), why));
    }
}

fn kind(key: &str, text: &str, causes: &mut Vec<Cause>) {
    let field = format!("spec.names.{key}");
    if text.is_empty() {
        causes.push(Cause::required(field, ""));
    } else if let Some(why) = dns1035(&text.to_lowercase()) {
        let why = format!("may have mixed case, but should otherwise match: {why}");
        causes.push(Cause::invalid(field, &text.into(), why));
    }
}

/// Versions of ConversionReview that the server can send.
const REVIEWS: &[&str] = &["v1", "v1beta1"];

fn check_conversion(definition: &Value, causes: &mut Vec<Cause>) {
    let Some(conversion) = json::at(definition, &["spec", "conversion"]) else {
        return;
    };
    let client = json::at(conversion, &["webhook", "clientConfig"]).filter(|client| client.is_object());
    let reviews = json::list(conversion, &["webhook", "conversionReviewVersions"]);
    match json::text(conversion, &["strategy"]) {
        "Webhook" => {
            match client {
                Some(client) => client_config(client, causes),
                None => {
                    let why = "required when strategy is set to Webhook";
                    causes.push(Cause::required("spec.conversion.webhookClientConfig", why));
                }
            }
            review_versions(reviews, causes);
        }
        "None" => {
            let why = "should not be set when strategy is not set to Webhook";
            if client.is_some() {
                causes.push(Cause::forbidden("spec.conversion.webhookClientConfig", why));
            }
            if !reviews.is_empty() {
                causes.push(Cause::forbidden("spec.conversion.conversionReviewVersions", why));
            }
        }
        "" => causes.push(Cause::required("spec.conversion.strategy", "")),
        other => causes.push(Cause::unsupported("spec.conversion.strategy", &other.into(), &["None", "Webhook"])),
    }
}

fn client_config(client: &Value, causes: &mut Vec<Cause>) {
    let field = "spec.conversion.webhookClientConfig";
    let service = client.get("service").filter(|service| service.is_object());
    match (client.get("url").and_then(Value::as_str), service) {
        (Some(url), None) => {
            let scheme = url.split_once("://").map(|(scheme, _)| scheme).unwrap_or_default();
            if scheme != "https" {
                let why = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
                causes.push(Cause::invalid(format!("{field}.url"), &scheme.into(), why));
            }
        }
        (None, Some(service)) => {
            for key in ["name", "namespace"] {
                if json::text(service, &[key]).is_empty() {
                    causes.push(Cause::required(format!("{field}.service.{key}"), "service name is required"));
                }
            }
        }
        _ => causes.push(Cause::required(field, "exactly one of url or service is required")),
    }
}

fn review_versions(reviews: &[Value], causes: &mut Vec<Cause>) {
    let field = "spec.conversion.conversionReviewVersions";
    if reviews.is_empty() {
        causes.push(Cause::required(field, ""));
    } else if !reviews.iter().filter_map(Value::as_str).any(|version| REVIEWS.contains(&version)) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        causes.push(Cause::invalid(field, &Value::from(reviews), why));
    }
}

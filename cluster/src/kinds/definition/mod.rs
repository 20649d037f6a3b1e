//! Validates a CustomResourceDefinition: names, versions, subresources, columns, conversion. `structure` checks the
//! schemas.

mod structure;

use serde_json::{Value, json};

use crate::field::Field;
use crate::json;
use crate::names::Naming;

/// Checks a definition, which replaces `old`.
pub(crate) fn check(definition: &Field<'_>, old: Option<&Value>) {
    let spec = definition.at("spec");
    let (name, group) = (definition.at("metadata.name"), spec.at("group"));
    if name.text() != format!("{}.{}", spec.at("names.plural").text(), group.text()) {
        name.invalid_as(name.text(), "must be spec.names.plural+\".\"+spec.group");
    }
    if group.need("") {
        check_group(&group, &definition.at("metadata.annotations").entry("api-approved.kubernetes.io"));
    }
    let scope = spec.at("scope");
    if scope.need("") {
        scope.one_of(&["Cluster", "Namespaced"]);
    }
    if spec.at("preserveUnknownFields").is_true() {
        spec.at("preserveUnknownFields").invalid(
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        );
    }
    let all: Vec<Field<'_>> = spec.each("versions").collect();
    versions(&spec, &all);
    names(&spec.at("names"));
    parts(&all);
    conversion(&spec.at("conversion"));
    stored_versions(&definition.at("status.storedVersions"), &all);
    for key in ["scope", "names.kind"].iter().filter(|_| old.is_some()) {
        let before = old.and_then(|old| old.pointer(&format!("/spec/{}", key.replace('.', "/"))));
        if spec.at(key).is_set() && before != spec.at(key).value {
            spec.at(key).invalid("field is immutable");
        }
    }
}

fn check_group(group: &Field<'_>, approval: &Field<'_>) {
    let wrong = Naming::Subdomain.problems(group.text());
    if wrong.is_empty() && !group.text().contains('.') {
        group.invalid("should be a domain with at least one dot");
    }
    group.check(|_| wrong);
    // Groups of the Kubernetes project, in which only it may define kinds.
    let is_protected =
        |domain: &&str| group.text().strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let given = approval.text();
    let is_approved = given.starts_with("unapproved") || given.contains("://");
    if is_approved || !["k8s.io", "kubernetes.io"].iter().any(is_protected) {
        return;
    }
    let why = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    if given.is_empty() {
        approval.required(&format!("{why}, {see}"));
    } else {
        let form = "with either a URL or a reason starting with \"unapproved\"";
        approval.invalid(format!("{why} {form}, {see}"));
    }
}

fn versions(spec: &Field<'_>, all: &[Field<'_>]) {
    let shown = || -> Value { all.iter().map(shown).collect() };
    for (index, version) in all.iter().enumerate() {
        let (name, warning) = (version.at("name"), version.at("deprecationWarning"));
        name.check(dns1035);
        if index == 0 {
            name.clone().named("spec.version").check(dns1035);
        }
        if !warning.is_empty() && !version.at("deprecated").is_true() {
            warning.invalid("can only be set for deprecated versions");
        }
    }
    let names: Vec<&str> = all.iter().map(|version| version.at("name").text()).collect();
    if names.iter().enumerate().any(|(index, name)| names.iter().take(index).any(|other| other == name)) {
        spec.at("versions").invalid_as(shown(), "must contain unique version names");
    }
    if all.iter().filter(|version| version.at("storage").is_true()).count() != 1 {
        spec.at("versions").invalid_as(shown(), "must have exactly one version marked as storage version");
    }
}

/// A version as the real server's internal type shows it. The internal type has its other parts elsewhere.
fn shown(version: &Field<'_>) -> Value {
    let is = |key: &str| version.at(key).is_true();
    json!({
        "Name": version.at("name").text(), "Served": is("served"), "Storage": is("storage"),
        "Deprecated": is("deprecated"), "DeprecationWarning": version.at("deprecationWarning").value,
        "Schema": null, "Subresources": null, "AdditionalPrinterColumns": null, "SelectableFields": null,
    })
}

/// Schemas, subresources, columns and selectable fields. A part that all versions have in common is checked once, and the
/// real server's texts have it at the top level.
fn parts(all: &[Field<'_>]) {
    for (index, version) in all.iter().enumerate() {
        let part = |key: &str, top: &str| {
            let own = version.at(key);
            match (all.iter().all(|other| other.at(key).value == own.value), index) {
                (false, _) => Some(own),
                (true, 0) => Some(own.named(format!("spec.{top}"))),
                (true, _) => None,
            }
        };
        let schema = version.at("schema.openAPIV3Schema");
        if !schema.is_object() {
            schema.required("");
        } else if let Some(part) = part("schema", "validation") {
            structure::check(&part.at("openAPIV3Schema"));
        }
        if let Some(part) = part("subresources", "subresources") {
            scale(&part.at("scale"));
        }
        if let Some(part) = part("additionalPrinterColumns", "additionalPrinterColumns") {
            part.items().for_each(|each| column(&each));
        }
        if let Some(part) = part("selectableFields", "selectableFields") {
            selectable(&part, schema.value.filter(|schema| schema.is_object()));
        }
    }
}

fn stored_versions(stored: &Field<'_>, all: &[Field<'_>]) {
    let storage: Vec<&str> = all.iter().filter(|v| v.at("storage").is_true()).map(|v| v.at("name").text()).collect();
    match storage.as_slice() {
        [] => stored.invalid_as(Value::Null, "must have at least one stored version"),
        [first, .., last] if first != last => {
            stored.invalid_as(json!([first]), format!("must have the storage version {last}"));
        }
        _ => {}
    }
    for version in stored.items() {
        if !all.iter().any(|v| v.at("name").value == version.value) {
            version.invalid("missing from spec.versions");
        }
    }
}

const TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
const FORMATS: &[&str] = &["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const SIMPLE: &str = "must be a simple json path starting with .";

fn scale(scale: &Field<'_>) {
    if !scale.is_object() {
        return;
    }
    for (key, root) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let path = scale.at(key);
        if path.need("") && !path.text().starts_with('.') {
            path.invalid(SIMPLE);
        } else if !path.is_empty() && !path.text().strip_prefix(root).is_some_and(|rest| rest.starts_with('.')) {
            path.invalid(format!("should be a json path under {root}"));
        }
    }
    let selector = scale.at("labelSelectorPath");
    if selector.is_empty() {
        return;
    }
    if !selector.text().starts_with('.') {
        selector.invalid(SIMPLE);
    } else if ![".spec.", ".status."].iter().any(|root| selector.text().starts_with(root)) {
        selector.invalid("should be a json path under either .spec or .status");
    }
}

fn column(column: &Field<'_>) {
    let known = |field: &Field<'_>, known: &[&str]| {
        if !field.is_empty() && !known.contains(&field.text()) {
            field.invalid(format!("must be one of {}", known.join(",")));
        }
    };
    column.at("name").need("");
    column.at("type").need(&format!("must be one of {}", TYPES.join(",")));
    known(&column.at("type"), TYPES);
    known(&column.at("format"), FORMATS);
    let path = column.at("jsonPath").named(format!("{}.JSONPath", column.path));
    if path.need("") && !path.text().starts_with('.') {
        path.invalid(SIMPLE);
    }
}

fn selectable(fields: &Field<'_>, schema: Option<&Value>) {
    let mut seen = Vec::new();
    for path in fields.items().map(|field| field.at("jsonPath")) {
        if path.need("") {
            path.check(|text| unselectable(text, schema));
            path.unique(&mut seen);
        }
    }
}

fn unselectable(path: &str, schema: Option<&Value>) -> Option<String> {
    let Some(steps) = path.strip_prefix('.') else {
        return Some(format!("is an invalid path: expected [ or . but got: {path}"));
    };
    let found = schema?;
    let found = steps.split('.').try_fold(found, |here, step| json::at(here, &["properties", step]));
    let why = match found.filter(|_| steps != "metadata" && !steps.starts_with("metadata.")) {
        None => "is an invalid path: does not refer to a valid field",
        Some(field) if matches!(json::text(field, &["type"]), "string" | "boolean" | "integer") => return None,
        Some(_) => {
            "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are \
             allowed."
        }
    };
    Some(why.to_owned())
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

fn names(names: &Field<'_>) {
    let label = |name: &Field<'_>| {
        if name.need("") {
            name.check(dns1035);
        }
    };
    let kind = |name: Field<'_>| {
        let mixed = |why| format!("may have mixed case, but should otherwise match: {why}");
        if name.need("") {
            name.check(|name| dns1035(&name.to_lowercase()).map(mixed));
        }
    };
    label(&names.at("plural"));
    if !names.at("singular").is_empty() {
        label(&names.at("singular"));
    }
    kind(names.at("kind"));
    names.each("shortNames").for_each(|name| label(&name));
    kind(names.at("listKind"));
    let list = names.at("listKind");
    if !list.is_empty() && list.text() == names.at("kind").text() {
        list.invalid("kind and listKind may not be the same");
    }
    names.each("categories").for_each(|name| label(&name));
}

fn conversion(conversion: &Field<'_>) {
    if !conversion.is_set() {
        return;
    }
    let of_webhook =
        |key: &str, shown: &str| conversion.at(&format!("webhook.{key}")).named(format!("{}.{shown}", conversion.path));
    let client = of_webhook("clientConfig", "webhookClientConfig");
    let reviews = of_webhook("conversionReviewVersions", "conversionReviewVersions");
    let strategy = conversion.at("strategy");
    match strategy.text() {
        "Webhook" => {
            if client.is_object() {
                client_config(&client);
            } else {
                client.required("required when strategy is set to Webhook");
            }
            let known = ["v1", "v1beta1"];
            let is_known = |version: &Value| version.as_str().is_some_and(|version| known.contains(&version));
            if reviews.need("") && !reviews.list().iter().any(is_known) {
                reviews.invalid("must include at least one of v1, v1beta1");
            }
        }
        "None" => {
            let why = "should not be set when strategy is not set to Webhook";
            if client.is_object() {
                client.forbidden(why);
            }
            if !reviews.is_empty() {
                reviews.forbidden(why);
            }
        }
        "" => strategy.required(""),
        _ => strategy.unsupported(&["None", "Webhook"]),
    }
}

fn client_config(client: &Field<'_>) {
    let (url, service) = (client.at("url"), client.at("service"));
    match (url.is_set(), service.is_object()) {
        (true, false) => {
            let scheme = url.text().split_once("://").map(|(scheme, _)| scheme).unwrap_or_default();
            if scheme != "https" {
                let why = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
                url.invalid_as(scheme, why);
            }
        }
        (false, true) => {
            service.at("name").need("service name is required");
            service.at("namespace").need("service name is required");
        }
        _ => client.required("exactly one of url or service is required"),
    }
}

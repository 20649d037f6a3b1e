//! Validates the names of a definition. Conflicts with other definitions are checked elsewhere.

use serde_json::Value;

use crate::json;
use crate::status::Cause;

/// Why a text is not a DNS-1035 label.
pub(super) fn dns1035(text: &str) -> Option<String> {
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

pub(super) fn check(definition: &Value, causes: &mut Vec<Cause>) {
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

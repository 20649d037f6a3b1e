//! Contexts of shell-operator that are requests of the API server: `Validating`, `Mutating` and `Conversion`, each with
//! its `review`.

use boathook_core::model::AdmissionKind;
use boathook_operator::app::run_once::Question;
use serde_json::Value;

use super::{
    document::ask::OPERATIONS,
    reader::{Fields, describe},
    tree::Kind,
};

/// The types of these contexts.
pub(super) const TYPES: [&str; 3] = ["Validating", "Mutating", "Conversion"];

/// The request in a context of this type.
pub(super) fn question(kind: &str, binding: &str, fields: &Fields<'_>) -> Option<Question> {
    // Not needed, because each object has its version.
    fields.take("fromVersion");
    let to = fields.text("toVersion").map(str::to_owned);
    let request = request(fields)?;
    let read = match kind {
        "Validating" => review(AdmissionKind::Validating, binding, request),
        "Mutating" => review(AdmissionKind::Mutating, binding, request),
        _ => conversion(binding, to, &request),
    };
    read.map_err(|problem| fields.wrong(format!("review.request: {problem}"))).ok()
}

/// `review.request`, a mapping.
fn request(fields: &Fields<'_>) -> Option<Value> {
    let review = fields.need("review")?;
    let request = match &review.kind {
        Kind::Map(entries) => entries.iter().find(|entry| entry.key == "request").map(|entry| &entry.node),
        _ => None,
    };
    let Some(request) = request.filter(|node| matches!(node.kind, Kind::Map(_))) else {
        let text = format!("review needs a request, a mapping, as an API server sends it; it is {}", describe(review));
        fields.wrong(text);
        return None;
    };
    Some(request.value())
}

fn review(kind: AdmissionKind, binding: &str, request: Value) -> Result<Question, String> {
    let operation = request.get("operation").and_then(Value::as_str).unwrap_or_default();
    if !OPERATIONS.contains(&operation) {
        return Err(format!("operation is {operation:?}; allowed: {}", OPERATIONS.join(", ")));
    }
    if ["object", "oldObject"].iter().all(|key| !request.get(key).is_some_and(Value::is_object)) {
        return Err("it has neither an object nor an oldObject".to_owned());
    }
    Ok(Question::Review { kind, binding: binding.to_owned(), request })
}

fn conversion(binding: &str, to: Option<String>, request: &Value) -> Result<Question, String> {
    let desired = request.get("desiredAPIVersion").and_then(Value::as_str).map(str::to_owned);
    let to = desired.or(to).ok_or("desiredAPIVersion is missing, and there is no toVersion")?;
    let objects = request.get("objects").and_then(Value::as_array).cloned().unwrap_or_default();
    if objects.is_empty() {
        return Err("objects is missing, a list of those to convert".to_owned());
    }
    let versioned = |object: &Value| object.get("apiVersion").and_then(Value::as_str).is_some_and(|it| !it.is_empty());
    match objects.iter().position(|object| !versioned(object)) {
        Some(n) => Err(format!("objects[{n}] has no apiVersion")),
        None => Ok(Question::Conversion { binding: binding.to_owned(), to, objects }),
    }
}

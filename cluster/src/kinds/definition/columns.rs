//! Validates the parts of a definition that refer to fields by path: scale, columns, selectable fields.

use serde_json::Value;

use crate::json;
use crate::status::Cause;

const TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
const FORMATS: &[&str] = &["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

fn dotted(path: &str) -> Option<&str> {
    path.strip_prefix('.')
}

pub(super) fn scale(version: &Value, path: &str, causes: &mut Vec<Cause>) {
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

pub(super) fn check(version: &Value, path: &str, causes: &mut Vec<Cause>) {
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

pub(super) fn selectable(version: &Value, schema: Option<&Value>, path: &str, causes: &mut Vec<Cause>) {
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

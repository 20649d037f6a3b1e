//! Whether a bundle's settings are what its hooks can read. Pure; a schema can't make it read anything else.

use serde_json::Value;

/// Bytes of settings.
const MAX_SETTINGS: usize = 256 * 1024;
/// Bytes of their schema.
const MAX_SCHEMA: usize = 1024 * 1024;
/// Where the schema says it is; nothing is ever loaded from there.
const PLACE: &str = "boathook:settings.schema.json";

/// The settings as hooks get them, in one line; or what is wrong, and where.
pub(super) fn check(settings: Option<&str>, schema: Option<&str>) -> Result<String, String> {
    let text = settings.unwrap_or("{}");
    if text.len() > MAX_SETTINGS {
        return Err(format!("they have {} bytes, and {MAX_SETTINGS} are allowed", text.len()));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| format!("they are no JSON: {error}"))?;
    if !value.is_object() {
        return Err("they must be a JSON object, with the settings' names as its keys".to_owned());
    }
    if let Some(schema) = schema {
        hold(&value, schema)?;
    }
    Ok(value.to_string())
}

fn hold(settings: &Value, schema: &str) -> Result<(), String> {
    let broken = |why: String| format!("the bundle's settings.schema.json can't be used: {why}");
    if schema.len() > MAX_SCHEMA {
        return Err(broken(format!("it has {} bytes, and {MAX_SCHEMA} are allowed", schema.len())));
    }
    let schema: Value = serde_json::from_str(schema).map_err(|error| broken(error.to_string()))?;
    let mut compiler = boon::Compiler::new();
    compiler.use_loader(Box::new(Nowhere));
    compiler.add_resource(PLACE, schema).map_err(|error| broken(error.to_string()))?;
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile(PLACE, &mut schemas).map_err(|error| broken(format!("{error:#}")))?;
    schemas.validate(settings, index).map_err(|error| problems(&error))
}

/// The innermost ones: the others only say that there are some.
fn problems(error: &boon::ValidationError<'_, '_>) -> String {
    let mut found = Vec::new();
    collect(error, &mut found);
    found.dedup();
    found.join("; ")
}

fn collect(error: &boon::ValidationError<'_, '_>, found: &mut Vec<String>) {
    if error.causes.is_empty() {
        let place = error.instance_location.to_string();
        let place = if place.is_empty() { "the settings".to_owned() } else { place };
        found.push(format!("{place}: {}", error.kind));
    }
    error.causes.iter().for_each(|cause| collect(cause, found));
}

/// A schema that refers to another place is a bad one: files and hosts are none of its business.
struct Nowhere;

impl boon::UrlLoader for Nowhere {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url:?} is not loaded: a schema must be complete in itself").into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SCHEMA: &str = r#"{"type": "object", "required": ["host"], "additionalProperties": false, "properties": {
        "host": {"type": "string", "minLength": 1}, "ports": {"type": "array", "items": {"type": "integer"}}}}"#;

    #[test]
    fn settings_are_an_object_that_fits() {
        assert_eq!(check(None, None).unwrap(), "{}");
        assert_eq!(check(Some("{\"b\": 1,\n\"a\": [2]}"), None).unwrap(), r#"{"b":1,"a":[2]}"#);
        assert_eq!(check(Some(r#"{"host": "x", "ports": [1]}"#), Some(SCHEMA)).unwrap(), r#"{"host":"x","ports":[1]}"#);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (settings, schema, part) in [
            ("[]", None, "a JSON object"),
            ("{", None, "no JSON"),
            ("{}", Some(SCHEMA), "host"),
            (r#"{"host": ""}"#, Some(SCHEMA), "/host: "),
            (r#"{"host": "x", "ports": [1, "2"]}"#, Some(SCHEMA), "/ports/1: "),
            (r#"{"host": "x", "more": 1}"#, Some(SCHEMA), "more"),
            ("{}", Some("["), "settings.schema.json can't be used"),
            ("{}", Some(r#"{"type": "objekt"}"#), "settings.schema.json can't be used"),
            ("{}", Some(r#"{"$ref": "file:///etc/hostname"}"#), "is not loaded"),
            ("{}", Some(r#"{"$ref": "https://example.com/x.json"}"#), "is not loaded"),
        ] {
            let problem = check(Some(settings), schema).unwrap_err();
            assert!(problem.contains(part), "{settings} {schema:?}: {problem}");
        }
        assert!(check(Some(&format!("{{\"a\": {:?}}}", "x".repeat(MAX_SETTINGS))), None).is_err());
    }

    /// None of these may take the process down.
    #[test]
    fn a_schema_without_an_end_is_refused_or_ends() {
        for schema in [r##"{"$ref": "#"}"##, r##"{"allOf": [{"$ref": "#"}]}"##] {
            let _ = check(Some("{}"), Some(schema));
        }
    }
}

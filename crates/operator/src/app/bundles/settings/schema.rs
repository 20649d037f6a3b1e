//! The settings worker's side: whether settings fit a schema. A schema is a program of its author's, so it is evaluated
//! in a separate process. Bounds that can be read off the schema are checked first.
//!
//! The worker never loads what a schema refers to outside of itself.

use std::process::ExitCode;

use boathook_core::child::{self, Bounds};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum depth of objects and arrays in a schema.
const MAX_DEPTH: usize = 64;
/// The maximum number of references in a schema.
const MAX_REFERENCES: usize = 1000;
/// The stack on which a schema is evaluated. Each reference and each nested value takes some of it.
pub(super) const STACK: usize = 64 * 1024 * 1024;
/// The maximum size of a refusal in bytes.
const MAX_TEXT: usize = 4096;
/// The URL of the schema itself. Nothing is ever loaded from it.
const PLACE: &str = "boathook:settings.schema.json";

/// The question to the worker.
#[derive(Serialize, Deserialize)]
pub(super) struct Question {
    pub settings: String,
    pub schema: String,
}

/// Answers one question on the standard streams. Call it from a process that does nothing else.
pub fn serve(bounds: Bounds) -> ExitCode {
    child::serve(bounds, STACK, |question| {
        let Question { settings, schema } = serde_json::from_slice(&question).map_err(|error| error.to_string())?;
        hold(&settings, &schema).map(|()| Vec::new()).map_err(cut)
    })
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str(" ...");
    }
    text
}

fn hold(settings: &str, schema: &str) -> Result<(), String> {
    let settings: Value = serde_json::from_str(settings).map_err(|error| format!("they are no JSON: {error}"))?;
    let schema: Value = serde_json::from_str(schema).map_err(|error| super::broken(&error.to_string()))?;
    bounded(&schema).map_err(|why| super::broken(&why))?;
    let mut compiler = boon::Compiler::new();
    compiler.use_loader(Box::new(Nowhere));
    compiler.add_resource(PLACE, schema).map_err(|error| super::broken(&error.to_string()))?;
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile(PLACE, &mut schemas).map_err(|error| super::broken(&format!("{error:#}")))?;
    schemas.validate(&settings, index).map_err(|error| problems(&error))
}

/// Checks what can be read off the schema. How long its evaluation takes cannot, so the process has a bound for that.
fn bounded(schema: &Value) -> Result<(), String> {
    let (mut references, mut waiting) = (0, vec![(schema, 1)]);
    while let Some((value, depth)) = waiting.pop() {
        if depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => {
                let refers = |key: &&String| ["$ref", "$dynamicRef", "$recursiveRef"].contains(&key.as_str());
                references += fields.keys().filter(refers).count();
                waiting.extend(fields.values().map(|field| (field, depth + 1)));
            }
            _ => {}
        }
    }
    if references > MAX_REFERENCES {
        return Err(format!("it has {references} references ($ref), and {MAX_REFERENCES} are allowed"));
    }
    Ok(())
}

/// Lists the innermost problems. The others only say that there are some.
fn problems(error: &boon::ValidationError<'_, '_>) -> String {
    let mut found = Vec::new();
    collect(error, &mut found);
    found.dedup();
    found.join("; ")
}

fn collect(error: &boon::ValidationError<'_, '_>, found: &mut Vec<String>) {
    // More text would be cut off anyway.
    if found.len() > MAX_TEXT / 4 {
        return;
    }
    if error.causes.is_empty() {
        let place = error.instance_location.to_string();
        let place = if place.is_empty() { "the settings".to_owned() } else { place };
        found.push(format!("{place}: {}", error.kind));
    }
    error.causes.iter().for_each(|cause| collect(cause, found));
}

/// Rejects a schema that refers to another place, because it must not read files or reach hosts.
struct Nowhere;

impl boon::UrlLoader for Nowhere {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url:?} is not loaded: a schema must be complete in itself").into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    const SCHEMA: &str = r#"{"type": "object", "required": ["host"], "additionalProperties": false, "properties": {
        "host": {"type": "string", "minLength": 1}, "ports": {"type": "array", "items": {"type": "integer"}}}}"#;

    // mutant: crates/operator/src/app/bundles/settings/schema.rs: `schemas.validate(&settings, index).map_err(|error| problems(&error))` => `schemas.validate(&settings, index).or(Ok(()))`
    // mutant: crates/operator/src/app/bundles/settings/schema.rs: `compiler.use_loader(Box::new(Nowhere));` => ``
    #[test]
    fn what_does_not_fit_is_named() {
        assert_eq!(hold(r#"{"host": "x", "ports": [1]}"#, SCHEMA), Ok(()));
        for (settings, schema, part) in [
            ("{}", SCHEMA, "host"),
            (r#"{"host": ""}"#, SCHEMA, "/host: "),
            (r#"{"host": "x", "ports": [1, "2"]}"#, SCHEMA, "/ports/1: "),
            (r#"{"host": "x", "more": 1}"#, SCHEMA, "more"),
            ("{}", "[", "settings.schema.json can't be used"),
            ("{}", r#"{"type": "objekt"}"#, "settings.schema.json can't be used"),
            ("{}", r#"{"$ref": "file:///etc/hostname"}"#, "is not loaded"),
            ("{}", r#"{"$ref": "https://example.com/x.json"}"#, "is not loaded"),
        ] {
            let problem = hold(settings, schema).unwrap_err();
            assert!(problem.contains(part), "{settings} {schema}: {problem}");
        }
    }

    #[test]
    fn a_schema_has_so_many_references_and_is_so_deep() {
        let refers = |count: usize| json!({"allOf": vec![json!({"$ref": "#/$defs/a"}); count], "$defs": {"a": true}});
        assert_eq!(bounded(&refers(MAX_REFERENCES)), Ok(()));
        assert!(bounded(&refers(MAX_REFERENCES + 1)).unwrap_err().contains("1001 references"));
        let deep = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({"not": inner}));
        assert_eq!(bounded(&deep(MAX_DEPTH)), Ok(()));
        assert!(bounded(&deep(MAX_DEPTH + 1)).unwrap_err().contains("64 levels"));
    }

    #[test]
    fn a_refusal_is_bounded() {
        let settings = json!({"ports": vec!["x"; 20_000], "host": "h"}).to_string();
        assert!(cut(hold(&settings, SCHEMA).unwrap_err()).len() <= MAX_TEXT + 4);
    }
}

//! `docs/reference/document.md`: the keys of the configuration document, out of its JSON Schema.

use std::fmt::Write as _;

use serde_json::Value;

use super::generated::head;

pub fn page() -> String {
    let schema: Value = serde_json::from_str(boathook_core::hooks::SCHEMA).unwrap();
    let about = "What a hook's `config` returns, as YAML or JSON. Keys in **bold** are required; unknown keys are refused, \
                 and all errors are\nreported at once, each with its path. Editors can use the \
                 [JSON Schema](hook-document.schema.json).";
    let mut page = head("The configuration document", about, "the JSON Schema `hook-document.schema.json`");
    section(&mut page, "The document", &schema);
    for (name, part) in schema["$defs"].as_object().unwrap() {
        section(&mut page, name, part);
    }
    page
}

/// A table of keys, or one line for what has none.
fn section(page: &mut String, name: &str, schema: &Value) {
    write!(page, "\n## {name}\n\n{}\n", described(schema)).unwrap();
    let Some(keys) = schema["properties"].as_object() else { return };
    page.push_str("\n| key | value | meaning |\n| --- | --- | --- |\n");
    rows(page, "", schema, keys);
}

fn rows(page: &mut String, prefix: &str, schema: &Value, keys: &serde_json::Map<String, Value>) {
    for (key, value) in keys {
        let needed = schema["required"].as_array().is_some_and(|needed| needed.iter().any(|name| name == key));
        let path = format!("{prefix}{key}");
        let shown = if needed { format!("**`{path}`**") } else { format!("`{path}`") };
        writeln!(page, "| {shown} | {} | {} |", kind(value), described(value)).unwrap();
        let (inner, prefix) = match value.get("items") {
            Some(items) => (items, format!("{path}[].")),
            None => (value, format!("{path}.")),
        };
        if let Some(keys) = inner["properties"].as_object() {
            rows(page, &prefix, inner, keys);
        }
    }
}

/// `list of kubernetes`, `string`, `"skip"` or `"once"`.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(items) = schema.get("items") {
        return format!("list of {}", kind(items));
    }
    let values = schema["enum"].as_array().cloned().or_else(|| schema.get("const").map(|value| vec![value.clone()]));
    if let Some(values) = values {
        return values.iter().map(|value| format!("`{}`", plain(value))).collect::<Vec<_>>().join(", ");
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[choice].as_array() {
            return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    match &schema["type"] {
        Value::Array(types) => types.iter().map(plain).collect::<Vec<_>>().join(" or "),
        Value::Null => "any".to_owned(),
        one => plain(one),
    }
}

/// What it means, its default and its bounds.
fn described(schema: &Value) -> String {
    let mut text = plain(&schema["description"]).replace('|', "\\|");
    if let Some(default) = schema.get("default") {
        write!(text, " Default `{}`.", plain(default)).unwrap();
    }
    for (key, word) in [("minimum", "At least"), ("maximum", "At most"), ("maxItems", "Entries at most")] {
        // The bounds of the number itself say nothing.
        if let Some(bound) = schema[key].as_i64().filter(|bound| bound.unsigned_abs() < 1 << 53) {
            write!(text, " {word} {bound}.").unwrap();
        }
    }
    if let Some(examples) = schema["examples"].as_array() {
        let examples: Vec<_> = examples.iter().map(|example| format!("`{}`", plain(example))).collect();
        write!(text, " Like {}.", examples.join(", ")).unwrap();
    }
    text.trim().to_owned()
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

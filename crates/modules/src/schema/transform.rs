//! What addon-operator makes of a schema's file before it uses it.

use serde_json::{Map, Value, json};

/// The most values in a schema after its references are replaced. A few of them can stand for millions.
const MAX_NODES: usize = 100_000;

/// Replaces references by what they stand for. A reference within itself stays.
pub(super) fn expanded(written: &Value) -> Result<Value, String> {
    if !written.is_object() {
        return Err("is not a schema: write a mapping with `type: object`".to_owned());
    }
    let mut nodes = 0;
    let mut open = Vec::new();
    let mut root = expand(written, written, &mut open, &mut nodes)?;
    if let Value::Object(fields) = &mut root {
        // They say how others read the file.
        fields.shift_remove("$schema");
        fields.shift_remove("id");
    }
    Ok(root)
}

fn expand<'a>(root: &'a Value, node: &'a Value, open: &mut Vec<&'a str>, nodes: &mut usize) -> Result<Value, String> {
    *nodes += 1;
    if *nodes > MAX_NODES {
        return Err(format!("stands for more than {MAX_NODES} values: use fewer references"));
    }
    match node {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                if open.contains(&reference) {
                    return Ok(node.clone());
                }
                let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                let Some(target) = target else {
                    return Err(format!(
                        "refers to {reference:?}, which is not in this file: write `#/definitions/NAME`"
                    ));
                };
                open.push(reference);
                let found = expand(root, target, open, nodes);
                open.pop();
                return found;
            }
            let mut copy = Map::new();
            for (key, value) in fields {
                copy.insert(key.clone(), expand(root, value, open, nodes)?);
            }
            Ok(Value::Object(copy))
        }
        Value::Array(items) => {
            let copy: Result<_, String> = items.iter().map(|item| expand(root, item, open, nodes)).collect();
            Ok(Value::Array(copy?))
        }
        value => Ok(value.clone()),
    }
}

/// Adds the schema of the configuration, if the schema says `x-extend`. Its own entries win.
pub(super) fn extended(mut own: Value, config: Option<&Value>) -> Result<Value, String> {
    let Some(extend) = own.get("x-extend") else { return Ok(own) };
    if !extend.get("schema").is_some_and(Value::is_string) {
        return Err("has an invalid x-extend: write `x-extend: {schema: config-values.yaml}`".to_owned());
    }
    let (Some(own_fields), Some(config)) = (own.as_object_mut(), config.and_then(Value::as_object)) else {
        return Ok(own);
    };
    for (key, theirs) in config {
        match key.as_str() {
            "definitions" | "properties" | "patternProperties" => {
                let ours = own_fields.entry(key.clone()).or_insert_with(|| json!({}));
                if let (Some(ours), Some(theirs)) = (ours.as_object_mut(), theirs.as_object()) {
                    for (name, schema) in theirs {
                        ours.entry(name.clone()).or_insert_with(|| schema.clone());
                    }
                }
            }
            "required" => require(own_fields, theirs),
            "title" | "description" => {
                own_fields.entry(key.clone()).or_insert_with(|| theirs.clone());
            }
            key if key.starts_with("x-") => {
                own_fields.entry(key.to_owned()).or_insert_with(|| theirs.clone());
            }
            _ => {}
        }
    }
    Ok(own)
}

/// Adds names to the required ones.
fn require(schema: &mut Map<String, Value>, names: &Value) {
    let names: Vec<Value> = match names {
        Value::Array(names) => names.clone(),
        name => vec![name.clone()],
    };
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        for name in names {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
}

/// Refuses keys that the schema does not have, where it does not say what to do with them.
pub(super) fn closed(mut schema: Value) -> Value {
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    let is_root_or_open = |schema: &Value| schema.is_object() && schema.get("additionalProperties").is_none();
    fields.entry("additionalProperties").or_insert(Value::Bool(false));
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().filter(|property| is_root_or_open(property)).for_each(close);
    }
    match fields.get_mut("items") {
        Some(Value::Array(items)) => items.iter_mut().filter(|item| is_root_or_open(item)).for_each(close),
        Some(item) if is_root_or_open(item) => close(item),
        _ => {}
    }
}

/// Requires what `x-required-for-helm` names, at each level of properties.
pub(super) fn required_for_helm(mut schema: Value) -> Value {
    fn walk(schema: &mut Value) {
        let Some(fields) = schema.as_object_mut() else { return };
        if let Some(names) = fields.get("x-required-for-helm").cloned() {
            require(fields, &names);
        }
        if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
            properties.values_mut().for_each(walk);
        }
    }
    walk(&mut schema);
    schema
}

/// Lets a type that is `nullable` be null, in the words of JSON Schema.
pub(super) fn nullable(mut schema: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if fields.get("nullable") == Some(&Value::Bool(true)) {
                    if let Some(Value::String(name)) = fields.get("type") {
                        let types = json!([name, "null"]);
                        fields.insert("type".to_owned(), types);
                    }
                    // An enumeration names all values that are allowed.
                    if let Some(Value::Array(values)) = fields.get_mut("enum")
                        && !values.contains(&Value::Null)
                    {
                        values.push(Value::Null);
                    }
                }
                fields.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut schema);
    schema
}

//! JSON Schema as a type has it, made structural: one type for each field, no references, only the keywords that a
//! CustomResourceDefinition may have.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// What is taken over as it is.
const KEPT: [&str; 14] = [
    "description",
    "default",
    "enum",
    "format",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];

/// What changes which values are valid, and cannot be in a definition.
const UNKNOWN: [&str; 11] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "patternProperties",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
    "unevaluatedItems",
    "uniqueItems",
];

const ANYTHING: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

type Found = Result<Map<String, Value>, String>;

/// The schema of a type.
pub(super) fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>()
}

/// The structural schema of an object.
pub(super) fn object(schema: Schema, place: &str) -> Found {
    let schema = structural(schema.as_value(), place)?;
    if schema.get("type") == Some(&json!("object")) {
        return Ok(schema);
    }
    Err(format!("{place}: its type must be a struct"))
}

/// The schema of a status, with what the operator writes. It also writes a status without the hook's fields, so that none
/// is required.
pub(super) fn status(own: Option<Map<String, Value>>) -> Map<String, Value> {
    let mut schema = own.unwrap_or_default();
    schema.insert("type".to_owned(), "object".into());
    schema.remove("required");
    let condition = json!({
        "type": "object",
        "required": ["type", "status"],
        "properties": {
            "type": {"type": "string"},
            "status": {"type": "string"},
            "observedGeneration": {"type": "integer"},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "reason": {"type": "string"},
            "message": {"type": "string"},
        },
    });
    let conditions = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": condition,
    });
    if let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({})) {
        properties.insert("observedGeneration".to_owned(), json!({"type": "integer"}));
        properties.insert("conditions".to_owned(), conditions);
    }
    schema
}

fn structural(schema: &Value, place: &str) -> Found {
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(true) => return Ok(one(ANYTHING, true.into())),
        _ => return Err(format!("{place}: no value is valid")),
    };
    if schema.contains_key("$ref") {
        let remedy = "use serde_json::Value for the inner one";
        return Err(format!("{place}: the type contains itself, which a definition cannot express: {remedy}"));
    }
    if schema.get(INT_OR_STRING) == Some(&Value::Bool(true)) {
        return Ok(described(one(INT_OR_STRING, true.into()), schema));
    }
    if let Some(keyword) = UNKNOWN.iter().find(|keyword| schema.get(**keyword).is_some_and(|value| *value != false)) {
        return Err(format!("{place}: a definition cannot have the keyword {keyword}"));
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(members)) = schema.get(keyword) {
            return Ok(described(alternatives(members, keyword, place)?, schema));
        }
    }
    let mut found = typed(schema, place)?;
    let is_kept = |key: &str| KEPT.contains(&key) || key.starts_with("x-kubernetes-");
    for (key, value) in schema.iter().filter(|(key, _)| is_kept(key)) {
        let is_left_out = key == "default" && value.is_null() || key == "format" && is_unknown_integer(schema, value);
        if !is_left_out {
            found.insert(key.clone(), value.clone());
        }
    }
    if let Some(Value::Array(values)) = found.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(value) = schema.get("const") {
        found.insert("enum".to_owned(), json!([value]));
    }
    for (key, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(value) = schema.get(key) {
            found.insert(bound.to_owned(), value.clone());
            found.insert(key.to_owned(), true.into());
        }
    }
    // Only a bound or a description of what is otherwise unknown.
    if !found.contains_key("type") && !found.keys().any(|key| key.starts_with("x-kubernetes-")) {
        match found.get("enum").and_then(Value::as_array).and_then(|values| kind(values)) {
            Some(kind) => found.insert("type".to_owned(), kind.into()),
            None => found.insert(ANYTHING.to_owned(), true.into()),
        };
    }
    Ok(found)
}

/// The type, and what belongs to it.
fn typed(schema: &Map<String, Value>, place: &str) -> Found {
    let mut found = Map::new();
    let types: Vec<_> = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        one => one.and_then(Value::as_str).into_iter().collect(),
    };
    let types: Vec<_> = types.into_iter().filter(|of| *of != "null").collect();
    match *types {
        [] => {}
        [of] => {
            found.insert("type".to_owned(), of.into());
        }
        ["integer", "string"] | ["string", "integer"] => return Ok(one(INT_OR_STRING, true.into())),
        _ => return Err(format!("{place}: a field has one type, and this one has {}", types.join(" and "))),
    }
    if let Some(Value::Object(properties)) = schema.get("properties").filter(|of| **of != json!({})) {
        let inner = |(name, schema): (&String, &Value)| {
            Ok((name.clone(), structural(schema, &format!("{place}.{name}"))?.into()))
        };
        let properties: Map<_, _> = properties.iter().map(inner).collect::<Result<_, String>>()?;
        found.insert("properties".to_owned(), properties.into());
    }
    if let Some(required) = schema.get("required") {
        found.insert("required".to_owned(), required.clone());
    }
    match schema.get("additionalProperties").or_else(|| schema.get("unevaluatedProperties")) {
        // The API server drops fields that are not there.
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            found.insert(ANYTHING.to_owned(), true.into());
        }
        Some(_) if found.contains_key("properties") => {
            let remedy = "put the map into a field of its own";
            return Err(format!("{place}: an object has fields with names, or any names, and not both: {remedy}"));
        }
        Some(inner) => {
            found.insert("additionalProperties".to_owned(), structural(inner, &format!("{place}.*"))?.into());
        }
    }
    if schema.contains_key("prefixItems") {
        return Err(format!("{place}: a definition cannot express a tuple: use a struct or a list of one type"));
    }
    if let Some(items) = schema.get("items") {
        found.insert("items".to_owned(), structural(items, &format!("{place}[]"))?.into());
    }
    Ok(found)
}

/// What several schemas are together: an optional one, an enum, or an enum whose variants have fields.
fn alternatives(members: &[Value], keyword: &str, place: &str) -> Found {
    let is_null = |member: &&Value| member.get("type") == Some(&json!("null"));
    let members: Vec<_> = members.iter().filter(|member| !is_null(member)).collect();
    if let [only] = *members {
        return structural(only, place);
    }
    let members: Vec<_> = members.into_iter().map(|member| structural(member, place)).collect::<Result<_, _>>()?;
    if keyword != "allOf" {
        let mut types: Vec<_> = members.iter().map(|member| member.get("type").and_then(Value::as_str)).collect();
        types.sort();
        if types == [Some("integer"), Some("string")] {
            return Ok(one(INT_OR_STRING, true.into()));
        }
        if let Some(values) = values(&members)
            && let Some(kind) = kind(&values)
        {
            return Ok(Map::from_iter([("type".to_owned(), kind.into()), ("enum".to_owned(), values.into())]));
        }
        if let Some(choice) = choice(&members) {
            return Ok(choice);
        }
    }
    let remedy = "use one type, or an enum whose variants have one name each, as serde writes them by default";
    Err(format!("{place}: a definition cannot express this choice of types: {remedy}"))
}

/// The values of an enum without fields whose variants have descriptions.
fn values(members: &[Map<String, Value>]) -> Option<Vec<Value>> {
    let all: Option<Vec<_>> = members.iter().map(|member| member.get("enum")?.as_array()).collect();
    Some(all?.into_iter().flatten().cloned().collect())
}

/// The type of values that have the same.
fn kind(values: &[Value]) -> Option<&'static str> {
    let is = |of: fn(&Value) -> bool| !values.is_empty() && values.iter().all(of);
    [("string", Value::is_string as fn(&Value) -> bool), ("integer", Value::is_i64), ("boolean", Value::is_boolean)]
        .into_iter()
        .find_map(|(name, of)| is(of).then_some(name))
}

/// An object that has one of these fields: an enum as serde writes it by default.
fn choice(members: &[Map<String, Value>]) -> Option<Map<String, Value>> {
    let (mut properties, mut ways) = (Map::new(), Vec::new());
    for member in members {
        let fields = member.get("properties")?.as_object()?;
        let required = member.get("required")?.as_array()?;
        let (Some((name, schema)), 1, 1) = (fields.iter().next(), fields.len(), required.len()) else { return None };
        if properties.insert(name.clone(), schema.clone()).is_some() {
            return None;
        }
        ways.push(json!({"required": [name]}));
    }
    Some(Map::from_iter([
        ("type".to_owned(), "object".into()),
        ("properties".to_owned(), properties.into()),
        ("oneOf".to_owned(), ways.into()),
    ]))
}

/// The description and the default of the field, which are beside the schemas of its type.
fn described(mut found: Map<String, Value>, schema: &Map<String, Value>) -> Map<String, Value> {
    for key in ["description", "default"] {
        if let Some(value) = schema.get(key).filter(|value| !value.is_null()) {
            found.insert(key.to_owned(), value.clone());
        }
    }
    found
}

/// The API server warns of formats that it does not know. The bounds of these types are in the schema.
fn is_unknown_integer(schema: &Map<String, Value>, format: &Value) -> bool {
    let of = |name: &str| match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|of| of == name),
        one => one.is_some_and(|of| of == name),
    };
    of("integer") && !["int32", "int64"].iter().any(|known| format == known)
}

fn one(key: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value)])
}

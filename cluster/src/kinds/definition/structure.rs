//! Validates structural schemas. `validations` checks the rules.

use boathook_cel as cel;
use boathook_cel::{Program, Ty};
use serde_json::{Value, json};

use crate::json;
use crate::kinds::structural;
use crate::status::Cause;

/// The position of a schema.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Field,
    Item,
}

const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
/// Keys that a schema inside `allOf` and similar must not have, and the real server's word for their absence.
const NESTED: &[(&str, &str)] = &[
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("description", "empty"),
    ("nullable", "false"),
    ("title", "empty"),
    ("type", "empty"),
    ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
    ("x-kubernetes-preserve-unknown-fields", "undefined"),
];
/// Keys of JSON schemas that definitions may not use.
const UNSUPPORTED: &[&str] = &["definitions", "dependencies", "id", "patternProperties", "additionalItems"];

fn on(schema: &Value, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// All problems of a version's schema at `path`.
pub(super) fn check(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let before = causes.len();
    walk(schema, path, Level::Root, causes);
    if causes.len() == before {
        defaults(schema, path, true, causes);
        check_rules(schema, path, causes);
    }
}

fn walk(schema: &Value, path: &str, level: Level, causes: &mut Vec<Cause>) {
    let at = |key: &str| format!("{path}.{key}");
    if schema.get("$ref").is_some() {
        causes.push(Cause::forbidden(at("$ref"), "$ref is not supported"));
        return;
    }
    for key in UNSUPPORTED.iter().filter(|key| !json::is_empty(schema.get(**key))) {
        causes.push(Cause::forbidden(at(key), format!("{key} is not supported")));
    }
    general(schema, path, causes);
    lists(schema, path, causes);
    extensions(schema, path, level, causes);
    kind(schema, path, level, causes);
    for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let place = format!("{path}.properties[{key}]");
        if level == Level::Root && key == "metadata" {
            metadata(inner, &place, causes);
        }
        walk(inner, &place, Level::Field, causes);
    }
    for (key, level) in [("items", Level::Item), ("additionalProperties", Level::Field)] {
        if let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) {
            walk(inner, &at(key), level, causes);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, inner) in json::list(schema, &[key]).iter().enumerate() {
            nested(schema, inner, &format!("{path}.{key}[{index}]"), causes);
        }
    }
    if let Some(inner) = schema.get("not") {
        nested(schema, inner, &at("not"), causes);
    }
}

fn general(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let at = |key: &str| format!("{path}.{key}");
    if on(schema, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(Cause::forbidden(at("uniqueItems"), why));
    }
    if !json::is_empty(schema.get("properties")) && schema.get("additionalProperties").is_some_and(|v| v != false) {
        let why = "additionalProperties and properties are mutual exclusive";
        causes.push(Cause::forbidden(at("additionalProperties"), why));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && let Err(error) = regex::Regex::new(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {}", expression_error(pattern, &error));
        causes.push(Cause::invalid(at("pattern"), &pattern.into(), why));
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let why = "must be true or undefined";
        causes.push(Cause::invalid(at("x-kubernetes-preserve-unknown-fields"), &false.into(), why));
    }
}

/// The error of Go's parser, for the most common mistake.
fn expression_error(pattern: &str, error: &regex::Error) -> String {
    match pattern.rfind('[') {
        Some(at) if !pattern.get(at..).unwrap_or_default().contains(']') => {
            format!("error parsing regexp: missing closing ]: `{}`", pattern.get(at..).unwrap_or_default())
        }
        _ => format!("error parsing regexp: {}", error.to_string().lines().last().unwrap_or_default()),
    }
}

fn lists(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let at = |key: &str| format!("{path}.{key}");
    let list = json::text(schema, &["x-kubernetes-list-type"]);
    let keys = json::list(schema, &["x-kubernetes-list-map-keys"]);
    let items = schema.get("items").unwrap_or(&Value::Null);
    if json::text(schema, &["type"]) == "array" && !items.is_object() {
        causes.push(Cause::required(at("items"), "must be specified"));
    }
    if !matches!(list, "" | "atomic" | "set" | "map") {
        let supported = ["atomic", "set", "map"];
        causes.push(Cause::unsupported(at("x-kubernetes-list-type"), &list.into(), &supported));
    }
    if list != "map" && !keys.is_empty() {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        causes.push(Cause::required(at("x-kubernetes-list-type"), why));
    }
    if list == "set" {
        set_items(items, &at("items"), causes);
    }
    if list != "map" {
        return;
    }
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        causes.push(Cause::required(at("x-kubernetes-list-map-keys"), why));
        return;
    }
    let kind = json::text(items, &["type"]);
    if kind != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        causes.push(Cause::invalid(at("items.type"), &kind.into(), why));
        return;
    }
    let names: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
    map_keys(items, &names, path, causes);
}

fn set_items(items: &Value, path: &str, causes: &mut Vec<Cause>) {
    let (key, wanted) = match json::text(items, &["type"]) {
        "object" => ("x-kubernetes-map-type", "atomic"),
        "array" => ("x-kubernetes-list-type", "atomic"),
        _ => return,
    };
    let given = items.get(key).unwrap_or(&Value::Null);
    if given != wanted {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        causes.push(Cause::invalid(format!("{path}.{key}"), given, why));
    }
}

fn map_keys(items: &Value, keys: &[&str], path: &str, causes: &mut Vec<Cause>) {
    let field = format!("{path}.x-kubernetes-list-map-keys");
    let required = json::list(items, &["required"]);
    if keys.iter().any(|key| json::at(items, &["properties", key]).is_none()) {
        causes.push(Cause::invalid(&field, &Value::from(keys), "entries must all be names of item properties"));
    }
    for key in keys {
        let Some(property) = json::at(items, &["properties", key]) else {
            continue;
        };
        let place = format!("{path}.items.properties[{key}]");
        let kind = json::text(property, &["type"]);
        if matches!(kind, "object" | "array") {
            let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            causes.push(Cause::invalid(format!("{place}.type"), &kind.into(), why));
        }
        if on(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            causes.push(Cause::forbidden(format!("{place}.nullable"), why));
        }
        if property.get("default").is_none() && !required.iter().any(|r| r == key) {
            let why =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            causes.push(Cause::required(format!("{place}.default"), why));
        }
    }
    if keys.iter().enumerate().any(|(index, key)| keys.iter().take(index).any(|other| other == key)) {
        causes.push(Cause::invalid(field, &Value::from(keys), "must not contain duplicate entries"));
    }
}

fn extensions(schema: &Value, path: &str, level: Level, causes: &mut Vec<Cause>) {
    let at = |key: &str| format!("{path}.{key}");
    let kind = json::text(schema, &["type"]);
    if !json::text(schema, &["x-kubernetes-list-type"]).is_empty() && kind != "array" {
        let why = "must be array if x-kubernetes-list-type is specified";
        causes.push(Cause::invalid(at("type"), &kind.into(), why));
    }
    match json::text(schema, &["x-kubernetes-map-type"]) {
        "" => {}
        "atomic" | "granular" if kind == "object" => {}
        "atomic" | "granular" => {
            let why = "must be object if x-kubernetes-map-type is specified";
            causes.push(Cause::invalid(at("type"), &kind.into(), why));
        }
        other => {
            let supported = ["atomic", "granular"];
            causes.push(Cause::unsupported(at("x-kubernetes-map-type"), &other.into(), &supported));
        }
    }
    if level == Level::Root && on(schema, "nullable") {
        causes.push(Cause::forbidden(at("nullable"), "nullable cannot be true at the root"));
    }
    if !on(schema, "x-kubernetes-embedded-resource") {
        return;
    }
    let open = on(schema, "x-kubernetes-preserve-unknown-fields");
    if !open && json::is_empty(schema.get("properties")) {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
            x-kubernetes-preserve-unknown-fields";
        causes.push(Cause::required(at("properties"), why));
    }
    if kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(Cause::invalid(at("type"), &kind.into(), why));
    }
}

fn kind(schema: &Value, path: &str, level: Level, causes: &mut Vec<Cause>) {
    let field = format!("{path}.type");
    let kind = json::text(schema, &["type"]);
    let untyped = on(schema, "x-kubernetes-int-or-string") || on(schema, "x-kubernetes-preserve-unknown-fields");
    match (kind, level) {
        ("", Level::Root) => causes.push(Cause::required(field, "must not be empty at the root")),
        ("", _) if untyped => {}
        ("", Level::Field) => causes.push(Cause::required(field, "must not be empty for specified object fields")),
        ("", Level::Item) => causes.push(Cause::required(field, "must not be empty for specified array items")),
        (kind, _) if !TYPES.contains(&kind) => causes.push(Cause::unsupported(field, &kind.into(), TYPES)),
        (kind, Level::Root) if kind != "object" => {
            causes.push(Cause::invalid(field, &kind.into(), "must be object at the root"));
        }
        _ => {}
    }
}

/// The server defines metadata. A definition may only restrict the name.
fn metadata(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let other = properties.into_iter().flatten().any(|(key, _)| !matches!(key.as_str(), "name" | "generateName"));
    let more = schema.as_object().into_iter().flatten();
    let more = more.filter(|(key, _)| !matches!(key.as_str(), "type" | "properties" | "description")).count() > 0;
    if other || more {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        causes.push(Cause::forbidden(path, why));
    }
}

/// A schema that only restricts the values of the enclosing schema.
fn nested(around: &Value, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let either = on(around, "x-kubernetes-int-or-string");
    for (key, absent) in NESTED {
        if *key == "type" && either || json::is_empty(schema.get(key)) && *key != "default" {
            continue;
        }
        if schema.get(key).is_some() {
            causes.push(Cause::forbidden(format!("{path}.{key}"), format!("must be {absent} to be structural")));
        }
    }
    for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let around = json::at(around, &["properties", key]).unwrap_or(&Value::Null);
        nested(around, inner, &format!("{path}.properties[{key}]"), causes);
    }
    if let Some(inner) = schema.get("items") {
        nested(around.get("items").unwrap_or(&Value::Null), inner, &format!("{path}.items"), causes);
    }
}

/// Defaults must be valid for their own schema.
fn defaults(schema: &Value, path: &str, root: bool, causes: &mut Vec<Cause>) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        let place = format!("{path}.default");
        let mut pruned = default.clone();
        let mut unknown = Vec::new();
        structural::prune(&mut pruned, schema, root, &mut Vec::new(), &mut unknown);
        if !unknown.is_empty() {
            causes.push(Cause::invalid(&place, default, "must not have unknown fields"));
        }
        let missing = ["apiVersion", "kind"].into_iter().filter(|key| root && default.get(key).is_none());
        causes.extend(missing.map(|key| Cause::required(format!("{place}.{key}"), "")));
        structural::drop_nulls(&mut pruned, schema);
        structural::set_defaults(&mut pruned, schema);
        for cause in structural::problems(&pruned, schema, "") {
            let field = match cause.field.as_str() {
                "" | "<nil>" => place.clone(),
                below => format!("{place}.{below}"),
            };
            causes.push(Cause { field, ..cause });
        }
    }
    for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        defaults(inner, &format!("{path}.properties[{key}]"), false, causes);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) {
            defaults(inner, &format!("{path}.{key}"), false, causes);
        }
    }
}

const REASONS: &[&str] = &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// All problems of the rules of a schema and its parts.
pub(super) fn check_rules(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut expensive = Vec::new();
    walk_rules(schema, path, &Around { root: true, lost: None, count: Some(1.0) }, &mut expensive, causes);
    if expensive.is_empty() {
        return;
    }
    let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    causes.extend(expensive.into_iter().map(|place| Cause::forbidden(place, why)));
    let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    causes.push(Cause::forbidden(path, format!("{what} {TOO_EXPENSIVE}")));
}

/// The real server estimates costs in more detail. Only rules that certainly exceed its limit are refused here.
const LIMIT: f64 = 100.0 * 10_000_000.0;
const TOO_EXPENSIVE: &str = "exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, \
    maxProperties, and maxLength where arrays, maps, and strings are declared)";

/// The position of a schema.
#[derive(Clone, Copy)]
struct Around<'p> {
    root: bool,
    /// The enclosing list or map whose parts have no old value.
    lost: Option<&'p str>,
    /// How many values of the schema an object may have. None if no enclosing schema limits it.
    count: Option<f64>,
}

fn walk_rules(schema: &Value, path: &str, around: &Around<'_>, expensive: &mut Vec<String>, causes: &mut Vec<Cause>) {
    let Around { root, lost, count } = *around;
    for (index, written) in json::list(schema, &["x-kubernetes-validations"]).iter().enumerate() {
        let rule = Rule { written, schema, root, place: format!("{path}.x-kubernetes-validations[{index}]") };
        let program = rule.check(lost, causes);
        let count = count.unwrap_or_else(|| cel::fitting(schema));
        if program.is_some_and(|program| program.worst_cost(schema) * count > LIMIT) {
            let place = format!("{}.rule", rule.place);
            causes.push(Cause::forbidden(&place, format!("estimated rule cost {TOO_EXPENSIVE}")));
            expensive.push(place);
        }
    }
    let inner_count = count.zip(cel::bound(schema)).map(|(count, bound)| count * bound);
    let atomic = json::text(schema, &["x-kubernetes-map-type"]) == "atomic";
    let inner_lost = lost.or(atomic.then_some(path));
    for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let around = Around { root: false, lost: inner_lost, count };
        walk_rules(inner, &format!("{path}.properties[{key}]"), &around, expensive, causes);
    }
    if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
        let around = Around { root: false, lost: inner_lost, count: inner_count };
        walk_rules(inner, &format!("{path}.additionalProperties"), &around, expensive, causes);
    }
    if let Some(inner) = schema.get("items").filter(|inner| inner.is_object()) {
        let keyed = json::text(schema, &["x-kubernetes-list-type"]) == "map";
        let around = Around { root: false, lost: lost.or((!keyed).then_some(path)), count: inner_count };
        walk_rules(inner, &format!("{path}.items"), &around, expensive, causes);
    }
}

struct Rule<'a> {
    written: &'a Value,
    schema: &'a Value,
    root: bool,
    place: String,
}

impl<'a> Rule<'a> {
    fn text(&self, key: &str) -> &'a str {
        json::text(self.written, &[key])
    }

    /// The compiled rule, if it is valid.
    fn check(&self, lost: Option<&str>, causes: &mut Vec<Cause>) -> Option<Program> {
        let at = |key: &str| format!("{}.{key}", self.place);
        if self.text("rule").trim().is_empty() {
            causes.push(Cause::required(at("rule"), "rule is not specified"));
            return None;
        }
        let message = self.text("message");
        if !message.is_empty() && message.trim().is_empty() {
            causes.push(Cause::invalid(at("message"), &message.into(), "message must be non-empty if specified"));
        } else if message.trim().contains(['\n', '\r']) {
            causes.push(Cause::invalid(at("message"), &message.into(), "must not contain line breaks"));
        }
        let reason = self.text("reason");
        if !reason.is_empty() && !REASONS.contains(&reason) {
            causes.push(Cause::unsupported(at("reason"), &reason.into(), REASONS));
        }
        let path = self.text("fieldPath");
        if !path.is_empty() && !leads_somewhere(path, self.schema) {
            causes.push(Cause::invalid(at("fieldPath"), &path.into(), "must be a valid path"));
        }
        self.expressions(lost, causes)
    }

    /// The error of a rule, which shows it as the real server's internal type.
    fn refused(&self, key: &str, why: &str) -> Cause {
        let shown = json!({
            "Rule": self.text("rule"), "Message": self.text("message"), "MessageExpression": self.text("messageExpression"),
            "Reason": self.written.get("reason"), "FieldPath": self.text("fieldPath"),
            "OptionalOldSelf": self.written.get("optionalOldSelf"),
        });
        // Go escapes these characters.
        let shown = shown.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        Cause::bare(format!("{}.{key}", self.place), &format!("{shown}: {why}"))
    }

    fn expressions(&self, lost: Option<&str>, causes: &mut Vec<Cause>) -> Option<Program> {
        let rule = self.compiled(self.text("rule"), "bool");
        match &rule {
            Ok(program) => self.transition(program, lost, causes),
            Err(Fault::Source(why)) => causes.push(self.refused("rule", &format!("compilation failed: {why}"))),
            Err(Fault::Type) => causes.push(self.refused("rule", "cel expression must evaluate to a bool")),
        }
        let message = self.text("messageExpression");
        if message.is_empty() {
            return rule.ok();
        }
        let field = "messageExpression";
        match self.compiled(message, "string") {
            Ok(_) => {}
            Err(Fault::Source(why)) => {
                causes.push(self.refused(field, &format!("messageExpression compilation failed: {why}")));
            }
            Err(Fault::Type) => causes.push(self.refused(field, "messageExpression must evaluate to a string")),
        }
        rule.ok()
    }

    fn compiled(&self, source: &str, wanted: &str) -> Result<Program, Fault> {
        let this = Ty::of(self.schema, self.root);
        let past = match self.written.get("optionalOldSelf") {
            Some(Value::Bool(true)) => Ty::Optional(Box::new(this.clone())),
            _ => this.clone(),
        };
        let program = Program::parse(source).map_err(Fault::Source)?;
        let ty = program.check(&[("self", this), ("oldSelf", past)]).map_err(Fault::Source)?;
        if ty == wanted || ty == "dyn" { Ok(program) } else { Err(Fault::Type) }
    }

    fn transition(&self, program: &Program, lost: Option<&str>, causes: &mut Vec<Cause>) {
        let uses = program.uses("oldSelf");
        if let Some(lost) = lost.filter(|_| uses) {
            let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}");
            causes.push(Cause::invalid(format!("{}.rule", self.place), &self.text("rule").into(), why));
        }
        if !uses && let Some(given) = self.written.get("optionalOldSelf") {
            let why = "may not be set if oldSelf is not used in rule";
            causes.push(Cause::invalid(format!("{}.optionalOldSelf", self.place), given, why));
        }
    }
}

enum Fault {
    Source(String),
    Type,
}

/// Whether the schema declares a path of fields, `.a.b` or `['a']`.
fn leads_somewhere(path: &str, schema: &Value) -> bool {
    let plain = path.replace("['", ".").replace("']", "");
    let Some(steps) = plain.strip_prefix('.') else {
        return false;
    };
    let below = |here: Option<&'_ Value>, step: &str| -> Option<Value> {
        let here = here?;
        let declared = json::at(here, &["properties", step]);
        declared.or_else(|| here.get("additionalProperties").filter(|v| v.is_object())).cloned()
    };
    let mut here = Some(schema.clone());
    for step in steps.split('.') {
        here = below(here.as_ref(), step);
    }
    here.is_some()
}

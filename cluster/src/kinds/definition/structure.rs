//! Validates structural schemas and their rules.

use boathook_cel as cel;
use boathook_cel::{Program, Ty};
use serde_json::{Value, json};

use crate::field::Field;
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

/// Checks a version's schema.
pub(super) fn check(schema: &Field<'_>) {
    let before = schema.found();
    walk(schema, Level::Root);
    if schema.found() == before {
        defaults(schema, true);
        check_rules(schema);
    }
}

fn walk(schema: &Field<'_>, level: Level) {
    if schema.at("$ref").is_set() {
        return schema.at("$ref").forbidden("$ref is not supported");
    }
    for key in UNSUPPORTED.iter().filter(|key| !schema.at(key).is_empty()) {
        schema.at(key).forbidden(format!("{key} is not supported"));
    }
    general(schema);
    lists(schema);
    extensions(schema, level);
    kind(schema, level);
    for (key, inner) in schema.entries("properties") {
        if level == Level::Root && key == "metadata" {
            metadata(&inner);
        }
        walk(&inner, Level::Field);
    }
    for (key, level) in [("items", Level::Item), ("additionalProperties", Level::Field)] {
        if schema.at(key).is_object() {
            walk(&schema.at(key), level);
        }
    }
    let around = schema.value.unwrap_or(&Value::Null);
    for inner in ["allOf", "anyOf", "oneOf"].iter().flat_map(|key| schema.each(key)).chain([schema.at("not")]) {
        nested(around, &inner);
    }
}

fn general(schema: &Field<'_>) {
    if schema.at("uniqueItems").is_true() {
        schema
            .at("uniqueItems")
            .forbidden("uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
    let more = schema.at("additionalProperties");
    if !schema.at("properties").is_empty() && more.value.is_some_and(|v| v != false) {
        more.forbidden("additionalProperties and properties are mutual exclusive");
    }
    let pattern = schema.at("pattern");
    if let Err(error) = regex::Regex::new(pattern.text()) {
        let why = expression_error(pattern.text(), &error);
        pattern.invalid(format!("must be a valid regular expression, but isn't: {why}"));
    }
    let open = schema.at("x-kubernetes-preserve-unknown-fields");
    if open.value == Some(&Value::Bool(false)) {
        open.invalid("must be true or undefined");
    }
}

/// The error of Go's parser, for the most common mistake.
fn expression_error(pattern: &str, error: &regex::Error) -> String {
    match pattern.rfind('[').and_then(|at| pattern.get(at..)).filter(|rest| !rest.contains(']')) {
        Some(rest) => format!("error parsing regexp: missing closing ]: `{rest}`"),
        None => format!("error parsing regexp: {}", error.to_string().lines().last().unwrap_or_default()),
    }
}

fn lists(schema: &Field<'_>) {
    let (list, items) = (schema.at("x-kubernetes-list-type"), schema.at("items"));
    let keys = schema.at("x-kubernetes-list-map-keys");
    let is_map = list.text() == "map";
    if schema.at("type").text() == "array" && !items.is_object() {
        items.required("must be specified");
    }
    list.one_of(&["atomic", "set", "map"]);
    if !is_map && !keys.is_empty() {
        list.required("must be map if x-kubernetes-list-map-keys is non-empty");
    }
    if list.text() == "set" {
        set_items(&items);
    }
    if !is_map || !keys.need("must not be empty if x-kubernetes-list-type is map") {
        return;
    }
    let kind = items.at("type");
    if kind.text() != "object" {
        return kind.invalid_as(kind.text(), "must be object if parent array's x-kubernetes-list-type is map");
    }
    map_keys(&items, &keys);
}

fn set_items(items: &Field<'_>) {
    let given = match items.at("type").text() {
        "object" => items.at("x-kubernetes-map-type"),
        "array" => items.at("x-kubernetes-list-type"),
        _ => return,
    };
    if given.text() != "atomic" {
        given.invalid("must be atomic as item of a list with x-kubernetes-list-type=set");
    }
}

fn map_keys(items: &Field<'_>, keys: &Field<'_>) {
    let names: Vec<&str> = keys.list().iter().filter_map(Value::as_str).collect();
    let properties = items.at("properties");
    if names.iter().any(|name| !properties.entry(name).is_set()) {
        keys.invalid("entries must all be names of item properties");
    }
    for (name, property) in names.iter().map(|name| (name, properties.entry(name))).filter(|(_, p)| p.is_set()) {
        let (kind, default) = (property.at("type"), property.at("default"));
        if matches!(kind.text(), "object" | "array") {
            kind.invalid("must be a scalar type if parent array's x-kubernetes-list-type is map");
        }
        if property.at("nullable").is_true() {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            property.at("nullable").forbidden(why);
        }
        if !default.is_set() && !items.at("required").list().iter().any(|r| r == name) {
            default.required(
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            );
        }
    }
    if names.iter().enumerate().any(|(index, name)| names.iter().take(index).any(|other| other == name)) {
        keys.invalid("must not contain duplicate entries");
    }
}

fn extensions(schema: &Field<'_>, level: Level) {
    let kind = schema.at("type");
    let must_be = |wanted: &str, key: &str| {
        if kind.text() != wanted {
            kind.invalid_as(kind.text(), format!("must be {wanted} if {key}"));
        }
    };
    if !schema.at("x-kubernetes-list-type").is_empty() {
        must_be("array", "x-kubernetes-list-type is specified");
    }
    let map = schema.at("x-kubernetes-map-type");
    map.one_of(&["atomic", "granular"]);
    if matches!(map.text(), "atomic" | "granular") {
        must_be("object", "x-kubernetes-map-type is specified");
    }
    if level == Level::Root && schema.at("nullable").is_true() {
        schema.at("nullable").forbidden("nullable cannot be true at the root");
    }
    if !schema.at("x-kubernetes-embedded-resource").is_true() {
        return;
    }
    if !schema.at("x-kubernetes-preserve-unknown-fields").is_true() {
        schema.at("properties").need(
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        );
    }
    must_be("object", "x-kubernetes-embedded-resource is true");
}

fn kind(schema: &Field<'_>, level: Level) {
    let field = schema.at("type");
    let untyped = ["x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"];
    match (field.text(), level) {
        ("", Level::Root) => field.required("must not be empty at the root"),
        ("", _) if untyped.iter().any(|key| schema.at(key).is_true()) => {}
        ("", Level::Field) => field.required("must not be empty for specified object fields"),
        ("", Level::Item) => field.required("must not be empty for specified array items"),
        (kind, Level::Root) if TYPES.contains(&kind) && kind != "object" => field.invalid("must be object at the root"),
        _ => field.one_of(TYPES),
    }
}

/// The server defines metadata. A definition may only restrict the name.
fn metadata(schema: &Field<'_>) {
    let other = schema.at("properties").keys().any(|key| !matches!(key, "name" | "generateName"));
    if other || schema.keys().any(|key| !matches!(key, "type" | "properties" | "description")) {
        schema.forbidden(
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        );
    }
}

/// A schema that only restricts the values of the enclosing schema.
fn nested(around: &Value, schema: &Field<'_>) {
    let either = around.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    for (key, absent) in NESTED.iter().filter(|(key, _)| !(*key == "type" && either)) {
        let given = schema.at(key);
        if !given.is_empty() || *key == "default" && given.is_set() {
            given.forbidden(format!("must be {absent} to be structural"));
        }
    }
    for (key, inner) in schema.entries("properties") {
        nested(json::at(around, &["properties", key]).unwrap_or(&Value::Null), &inner);
    }
    if schema.at("items").is_set() {
        nested(around.get("items").unwrap_or(&Value::Null), &schema.at("items"));
    }
}

/// Defaults must be valid for their own schema.
fn defaults(schema: &Field<'_>, root: bool) {
    let (place, rules) = (schema.at("default"), schema.value.unwrap_or(&Value::Null));
    if let Some(default) = place.value.filter(|default| !default.is_null()) {
        let mut pruned = default.clone();
        let mut unknown = Vec::new();
        structural::prune(&mut pruned, rules, root, &mut Vec::new(), &mut unknown);
        if !unknown.is_empty() {
            place.invalid("must not have unknown fields");
        }
        for missing in ["apiVersion", "kind"].map(|key| place.at(key)).iter().filter(|key| root && !key.is_set()) {
            missing.required("");
        }
        structural::drop_nulls(&mut pruned, rules);
        structural::set_defaults(&mut pruned, rules);
        for cause in structural::problems(&pruned, rules, "") {
            let field = match cause.field.as_str() {
                "" | "<nil>" => place.path.clone(),
                below => format!("{}.{below}", place.path),
            };
            place.push(Cause { field, ..cause });
        }
    }
    let parts = ["items", "additionalProperties"].map(|key| schema.at(key));
    let parts = schema.entries("properties").map(|(_, inner)| inner).chain(parts);
    parts.filter(Field::is_object).for_each(|inner| defaults(&inner, false));
}

const REASONS: &[&str] = &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Checks the rules of a schema and its parts.
fn check_rules(schema: &Field<'_>) {
    let mut expensive = Vec::new();
    walk_rules(schema, &Around { root: true, lost: None, count: Some(1.0) }, &mut expensive);
    for rule in &expensive {
        rule.forbidden("contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema");
    }
    if !expensive.is_empty() {
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        schema.forbidden(format!("{what} {TOO_EXPENSIVE}"));
    }
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

fn walk_rules<'a>(schema: &Field<'a>, around: &Around<'_>, expensive: &mut Vec<Field<'a>>) {
    let Around { root, lost, count } = *around;
    let written = schema.value.unwrap_or(&Value::Null);
    for field in schema.each("x-kubernetes-validations") {
        let program = Rule { field: &field, schema: written, root }.check(lost);
        let count = count.unwrap_or_else(|| cel::fitting(written));
        if program.is_some_and(|program| program.worst_cost(written) * count > LIMIT) {
            field.at("rule").forbidden(format!("estimated rule cost {TOO_EXPENSIVE}"));
            expensive.push(field.at("rule"));
        }
    }
    let inner_count = count.zip(cel::bound(written)).map(|(count, bound)| count * bound);
    let atomic = schema.at("x-kubernetes-map-type").text() == "atomic";
    let in_map = lost.or(atomic.then_some(&*schema.path));
    let keyed = schema.at("x-kubernetes-list-type").text() == "map";
    let in_list = lost.or((!keyed).then_some(&*schema.path));
    let properties = schema.entries("properties").map(|(_, inner)| (inner, in_map, count));
    let others = [(schema.at("additionalProperties"), in_map, inner_count), (schema.at("items"), in_list, inner_count)];
    for (inner, lost, count) in properties.chain(others).filter(|(inner, ..)| inner.is_object()) {
        walk_rules(&inner, &Around { root: false, lost, count }, expensive);
    }
}

struct Rule<'a, 'f> {
    field: &'f Field<'a>,
    schema: &'a Value,
    root: bool,
}

impl<'a> Rule<'a, '_> {
    fn text(&self, key: &str) -> &'a str {
        self.field.at(key).text()
    }

    /// The compiled rule, if it is valid.
    fn check(&self, lost: Option<&str>) -> Option<Program> {
        if self.text("rule").trim().is_empty() {
            self.field.at("rule").required("rule is not specified");
            return None;
        }
        let (message, reason, path) = (self.field.at("message"), self.field.at("reason"), self.field.at("fieldPath"));
        if !message.is_empty() && message.text().trim().is_empty() {
            message.invalid("message must be non-empty if specified");
        } else if message.text().trim().contains(['\n', '\r']) {
            message.invalid("must not contain line breaks");
        }
        reason.one_of(REASONS);
        if !path.is_empty() && !leads_somewhere(path.text(), self.schema) {
            path.invalid("must be a valid path");
        }
        let rule = self.compiled("rule", "bool", "cel expression must evaluate to a bool", "");
        if let Some(program) = &rule {
            self.transition(program, lost);
        }
        if !self.text("messageExpression").is_empty() {
            let key = "messageExpression";
            self.compiled(key, "string", "messageExpression must evaluate to a string", "messageExpression ");
        }
        rule
    }

    /// Records that an expression is wrong. The error shows the rule as the real server's internal type.
    fn refuse(&self, key: &str, why: &str) {
        let shown = json!({
            "Rule": self.text("rule"), "Message": self.text("message"), "MessageExpression": self.text("messageExpression"),
            "Reason": self.field.at("reason").value, "FieldPath": self.text("fieldPath"),
            "OptionalOldSelf": self.field.at("optionalOldSelf").value,
        });
        // Go escapes these characters.
        let shown = shown.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        self.field.push(Cause::bare(self.field.at(key).path, &format!("{shown}: {why}")));
    }

    /// The expression at `key`, whose value must have the type `wanted`.
    fn compiled(&self, key: &str, wanted: &str, mistyped: &str, prefix: &str) -> Option<Program> {
        let this = Ty::of(self.schema, self.root);
        let optional = self.field.at("optionalOldSelf").is_true();
        let past = if optional { Ty::Optional(Box::new(this.clone())) } else { this.clone() };
        let parsed = Program::parse(self.text(key)).and_then(|program| {
            let ty = program.check(&[("self", this), ("oldSelf", past)])?;
            Ok((program, ty))
        });
        match parsed {
            Ok((program, ty)) if ty == wanted || ty == "dyn" => return Some(program),
            Ok(_) => self.refuse(key, mistyped),
            Err(why) => self.refuse(key, &format!("{prefix}compilation failed: {why}")),
        }
        None
    }

    fn transition(&self, program: &Program, lost: Option<&str>) {
        let (rule, optional) = (self.field.at("rule"), self.field.at("optionalOldSelf"));
        match (program.uses("oldSelf"), lost) {
            (true, Some(lost)) => rule
                .invalid(format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}")),
            (false, _) if optional.is_set() => optional.invalid("may not be set if oldSelf is not used in rule"),
            _ => {}
        }
    }
}

/// Whether the schema declares a path of fields, `.a.b` or `['a']`.
fn leads_somewhere(path: &str, schema: &Value) -> bool {
    let plain = path.replace("['", ".").replace("']", "");
    plain.strip_prefix('.').is_some_and(|steps| steps.split('.').try_fold(schema, structural::property).is_some())
}

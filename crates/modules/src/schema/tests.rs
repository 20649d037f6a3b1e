//! What addon-operator's schemas mean.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn config(written: Value) -> Schema {
    Schema::of_config(&written).unwrap()
}

fn wrong(schema: &Schema, value: Value) -> Vec<String> {
    told(&schema.check(&value, None))
}

fn told(found: &[Finding]) -> Vec<String> {
    found.iter().map(|finding| format!("{}: {}", finding.path.join("."), finding.message)).collect()
}

#[test]
fn defaults_fill_what_is_missing_in_objects_and_in_items() {
    let schema = config(json!({"type": "object", "properties": {
        "a": {"type": "integer", "default": 1},
        "inner": {"type": "object", "default": {}, "properties": {"b": {"default": "x"}}},
        "absent": {"type": "object", "properties": {"c": {"default": 2}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"d": {"default": true}}}},
    }}));
    let mut value = json!({"a": null, "list": [{}, {"d": false}, 7]});
    schema.defaults(&mut value);
    // Null is a value, and an object without a default of its own stays away.
    assert_eq!(value, json!({"a": null, "inner": {"b": "x"}, "list": [{"d": true}, {"d": false}, 7]}));
}

#[test]
fn keys_that_a_schema_does_not_have_are_refused_unless_it_says_so() {
    let schema = config(json!({"type": "object", "properties": {
        "closed": {"type": "object", "properties": {"a": {}}},
        "open": {"type": "object", "additionalProperties": true, "properties": {"deep": {"type": "object"}}},
        "list": {"type": "array", "items": {"type": "object"}},
    }}));
    let value = json!({"closed": {"a": 1, "b": 2}, "open": {"x": 1, "deep": {"y": 1}}, "list": [{"z": 1}], "w": 1});
    let message = "is not in the schema; remove the key or add it to the schema";
    // Below a node that says what to do with other keys, nothing is added.
    let mut found = wrong(&schema, value);
    found.sort();
    assert_eq!(found, [format!("closed.b: {message}"), format!("list.0.z: {message}"), format!("w: {message}")]);
}

#[test]
fn a_schema_of_values_extends_that_of_the_configuration() {
    let config = config(json!({
        "type": "object", "title": "theirs", "required": ["a"], "x-mark": 1, "x-deckhouse-validations": [
            {"expression": "self.a < 10", "message": "a is too large"},
        ],
        "definitions": {"port": {"type": "integer"}},
        "properties": {"a": {"type": "integer", "default": 3}, "both": {"type": "string"}},
        "patternProperties": {"^p-": {"type": "integer"}},
    }));
    let written = json!({
        "x-extend": {"schema": "config-values.yaml"}, "type": "object", "required": ["b"],
        "properties": {"b": {"type": "string"}, "both": {"type": "integer"}},
    });
    let schema = Schema::of_values(&written, Some(&config)).unwrap();
    assert!(wrong(&schema, json!({"a": 1, "b": "x", "both": 1, "p-1": 1})).is_empty());
    assert_eq!(wrong(&schema, json!({"b": "x"})), ["a: is required and missing"]);
    assert_eq!(wrong(&schema, json!({"a": 1})), ["b: is required and missing"]);
    assert_eq!(wrong(&schema, json!({"a": 11, "b": "x"})), [": a is too large"]);
    assert_eq!(wrong(&schema, json!({"a": 1, "b": "x", "both": "theirs"})).len(), 1);
    let mut value = json!({});
    schema.defaults(&mut value);
    assert_eq!(value, json!({"a": 3}));
    assert_eq!(schema.root["title"], "theirs");
    // Without `x-extend`, the two have nothing to do with each other.
    let alone = Schema::of_values(&json!({"type": "object", "properties": {"b": {}}}), Some(&config)).unwrap();
    assert_eq!(wrong(&alone, json!({"a": 1})).len(), 1);
    let error = Schema::of_values(&json!({"x-extend": "config-values.yaml"}), Some(&config)).unwrap_err();
    assert!(error.contains("write `x-extend: {schema: config-values.yaml}`"), "{error}");
}

#[test]
fn what_a_chart_needs_is_required_for_the_chart_alone() {
    let written = json!({
        "type": "object", "x-required-for-helm": ["a"], "required": ["b"],
        "properties": {
            "a": {"type": "object", "x-required-for-helm": "c", "properties": {"c": {"type": "string"}}},
            "b": {"type": "string"},
        },
    });
    let (values, helm) = (Schema::of_values(&written, None).unwrap(), Schema::of_helm(&written, None).unwrap());
    assert!(wrong(&values, json!({"b": "x"})).is_empty());
    assert_eq!(wrong(&helm, json!({"b": "x"})), ["a: is required and missing"]);
    assert_eq!(wrong(&helm, json!({"b": "x", "a": {}})), ["a.c: is required and missing"]);
    assert_eq!(wrong(&helm, json!({"a": {"c": ""}})), ["b: is required and missing"]);
}

#[test]
fn rules_see_the_value_and_what_it_replaces() {
    let schema = config(json!({
        "type": "object",
        "x-deckhouse-validations": [{"expression": "self.min <= self.max", "message": "min is above max"}],
        "properties": {
            "min": {"type": "integer"}, "max": {"type": "integer"},
            "disk": {"type": "object", "properties": {"size": {"type": "integer"}}, "x-deckhouse-validations": [
                {"expression": "self.size >= oldSelf.size"},
            ]},
            "list": {"type": "array", "items": {"type": "object", "additionalProperties": true,
                "x-deckhouse-validations": [{"expression": "self.n != 2", "message": "not two"}]}},
        },
    }));
    assert!(wrong(&schema, json!({"min": 1, "max": 2})).is_empty());
    assert_eq!(wrong(&schema, json!({"min": 3, "max": 2})), [": min is above max"]);
    // A rule about a key that is not there is skipped.
    assert!(wrong(&schema, json!({"min": 3})).is_empty());
    assert_eq!(wrong(&schema, json!({"list": [{"n": 1}, {"n": 2}]})), ["list.1: not two"]);
    let small = json!({"disk": {"size": 1}});
    assert!(wrong(&schema, small.clone()).is_empty(), "a transition without an old value");
    let found = schema.check(&small, Some(&json!({"disk": {"size": 2}})));
    assert_eq!(told(&found), ["disk: breaks the rule \"self.size >= oldSelf.size\""]);
    assert!(schema.check(&small, Some(&json!({"disk": {"size": 1}}))).is_empty());
}

/// A module's author cannot have the operator compute without an end.
// mutant: crates/cel/src/budget.rs: `Err(Error::TooExpensive)` => `Ok(())`
#[test]
fn all_rules_of_a_schema_have_one_budget() {
    let costs = "self.all(x, self.all(y, x + y >= 0))";
    let rules = |count: usize| vec![json!({"expression": costs}); count];
    let schema = |count| {
        config(json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "integer"}, "x-deckhouse-validations": rules(count)},
        }}))
    };
    let list = |length: i32| json!({"list": (0..length).collect::<Vec<_>>()});
    assert!(wrong(&schema(1), list(100)).is_empty(), "one such rule is no problem");
    let found = wrong(&schema(1_000), list(100));
    assert!(!found.is_empty() && found.len() < 1_000, "{} of 1000 rules ran out of the budget", found.len());
    assert!(found.iter().all(|why| why.starts_with("list: the rule ") && why.contains("has no value: ")), "{found:?}");
    // One rule alone may cost too much, too.
    assert_eq!(wrong(&schema(1), list(20_000)).len(), 1);
}

#[test]
fn types_formats_and_null_are_those_of_openapi() {
    let schema = config(json!({"type": "object", "properties": {
        "port": {"type": "integer", "minimum": 1, "maximum": 9, "exclusiveMaximum": true},
        "name": {"type": "string", "pattern": "^[a-z]+$", "nullable": true},
        "kind": {"type": "string", "enum": ["A", "B"]},
        "any": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    }}));
    for (value, fits) in [
        (json!({"port": 8, "name": null, "kind": "A", "any": "x"}), true),
        (json!({"port": 9}), false),
        (json!({"port": "8"}), false),
        (json!({"port": null}), false),
        (json!({"name": "A"}), false),
        (json!({"kind": "C"}), false),
        (json!({"any": []}), false),
    ] {
        assert_eq!(wrong(&schema, value.clone()).is_empty(), fits, "{value}");
    }
}

#[test]
fn references_are_replaced_with_their_defaults() {
    let schema = config(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object", "definitions": {
            "limit": {"type": "object", "properties": {"cpu": {"default": "1"}}},
            "tree": {"type": "object", "properties": {"left": {"$ref": "#/definitions/tree"}, "n": {"type": "integer"}}},
        },
        "properties": {"limits": {"$ref": "#/definitions/limit"}, "tree": {"$ref": "#/definitions/tree"}},
    }));
    let mut value = json!({"limits": {}});
    schema.defaults(&mut value);
    assert_eq!(value, json!({"limits": {"cpu": "1"}}));
    assert!(wrong(&schema, json!({"tree": {"left": {"left": {"n": 1}}}})).is_empty());
    assert_eq!(wrong(&schema, json!({"tree": {"left": {"left": {"n": "x"}}}})).len(), 1);
}

#[test]
fn what_is_not_a_schema_says_why() {
    for (written, why) in [
        (json!([]), "write a mapping"),
        (json!({"type": "objekt"}), "is not a schema: type"),
        (json!({"$ref": "other.yaml#/x"}), "which is not in this file"),
        (json!({"properties": {"a": {"$ref": "#/definitions/nothing"}}}), "write `#/definitions/NAME`"),
        (json!({"properties": {"a": {"pattern": "("}}}), "is not a schema"),
        (json!({"x-deckhouse-validations": {}}), "write a list"),
        (json!({"x-deckhouse-validations": [{"message": "x"}]}), "has no expression"),
        (json!({"properties": {"a": {"x-deckhouse-validations": [{"expression": "self ="}]}}}), "self ="),
        (json!({"x-deckhouse-validations": [{"expression": "other.a"}]}), "undeclared reference"),
        (json!({"x-deckhouse-validations": [{"expression": "1 + 1"}]}), "must evaluate to bool"),
    ] {
        let error = Schema::of_config(&written).unwrap_err();
        assert!(error.contains(why), "{written}: {error}");
    }
}

// mutant: crates/modules/src/schema/transform.rs: `if *nodes > MAX_NODES {` => `if false {`
#[test]
fn references_that_multiply_are_refused() {
    let mut definitions = json!({"d0": {"type": "string"}});
    for level in 1..=16 {
        let below = json!({"$ref": format!("#/definitions/d{}", level - 1)});
        definitions[format!("d{level}")] = json!({"properties": {"a": below, "b": below}});
    }
    let written = json!({"definitions": definitions, "properties": {"a": {"$ref": "#/definitions/d16"}}});
    let error = Schema::of_config(&written).unwrap_err();
    assert!(error.contains("use fewer references"), "{error}");
}

proptest! {
    /// Defaults never change a value that is there, and filling twice is filling once.
    #[test]
    fn defaults_change_nothing_that_is_there(present in prop::collection::btree_map("[a-d]", 0..9i32, 0..4)) {
        let properties: serde_json::Map<_, _> = ["a", "b", "c", "d"]
            .iter()
            .map(|key| ((*key).to_owned(), json!({"default": format!("default {key}")})))
            .collect();
        let schema = config(json!({"type": "object", "properties": properties}));
        let before = json!(present);
        let mut value = before.clone();
        schema.defaults(&mut value);
        for key in ["a", "b", "c", "d"] {
            let expected = before.get(key).cloned().unwrap_or_else(|| json!(format!("default {key}")));
            prop_assert_eq!(&value[key], &expected);
        }
        let mut again = value.clone();
        schema.defaults(&mut again);
        prop_assert_eq!(again, value);
    }
}

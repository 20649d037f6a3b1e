//! Whether an object is as a scenario expects it, and where it is not.
//!
//! Never reads an object itself.

use serde_json::{Map, Value};

/// Each place where `found` is not as expected; nothing when it is.
pub fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut all = Vec::new();
    compare(expected, Some(found), "", &mut all);
    all
}

/// A field that is null counts as one that is not there, on both sides.
fn compare(expected: &Value, found: Option<&Value>, path: &str, all: &mut Vec<String>) {
    let found = found.filter(|value| !value.is_null());
    match (expected, found) {
        (Value::Object(fields), Some(Value::Object(have))) => {
            for (key, field) in fields {
                compare(field, have.get(key), &format!("{path}.{key}"), all);
            }
        }
        (Value::Array(items), Some(Value::Array(have))) if items.len() == have.len() => {
            for (n, (item, have)) in items.iter().zip(have).enumerate() {
                compare(item, Some(have), &format!("{path}[{n}]"), all);
            }
        }
        (Value::Null, None) => {}
        (Value::Object(fields), None) if asks_for_nothing(fields) => {}
        (expected, Some(found)) if expected == found => {}
        (expected, found) => {
            all.push(format!("{path}: expected {}, found {}", shown(expected), shown(found.unwrap_or(&Value::Null))));
        }
    }
}

/// It has only fields that must not be there. One without fields must itself be there.
fn asks_for_nothing(fields: &Map<String, Value>) -> bool {
    let nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => asks_for_nothing(fields),
        _ => false,
    };
    !fields.is_empty() && fields.values().all(nothing)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn matches(expected: Value, found: Value) {
        assert_eq!(differences(&expected, &found), Vec::<String>::new());
    }

    #[track_caller]
    fn differs(expected: Value, found: Value, all: &[&str]) {
        assert_eq!(differences(&expected, &found), all);
    }

    #[test]
    fn an_object_has_at_least_the_keys_given() {
        matches(json!({"a": 1, "b": {"c": "x"}}), json!({"a": 1, "b": {"c": "x", "d": 2}, "e": 3}));
        matches(json!({}), json!({"a": 1}));
        differs(
            json!({"a": 1, "b": {"c": "x"}}),
            json!({"b": {"c": "y"}}),
            &[".a: expected 1, found nothing", ".b.c: expected \"x\", found \"y\""],
        );
        differs(json!({"a": {}}), json!({}), &[".a: expected {}, found nothing"]);
        differs(json!({"a": {"b": 1}}), json!({"a": [1]}), &[".a: expected {\"b\":1}, found [1]"]);
    }

    #[test]
    fn a_list_has_as_many_elements_in_order_each_matching() {
        matches(json!({"a": [{"k": 1}, 2]}), json!({"a": [{"k": 1, "more": true}, 2]}));
        differs(json!([1, 2]), json!([2, 1]), &["[0]: expected 1, found 2", "[1]: expected 2, found 1"]);
        differs(json!({"a": [1]}), json!({"a": [1, 2]}), &[".a: expected [1], found [1,2]"]);
        differs(json!({"a": [1, 2]}), json!({"a": [1]}), &[".a: expected [1,2], found [1]"]);
        differs(json!({"a": []}), json!({}), &[".a: expected [], found nothing"]);
        differs(json!([{"k": 1}]), json!([{"k": 2}]), &["[0].k: expected 1, found 2"]);
    }

    #[test]
    fn everything_else_is_equal() {
        matches(json!({"a": "x", "b": true, "c": 1.5}), json!({"a": "x", "b": true, "c": 1.5}));
        differs(json!({"a": "1"}), json!({"a": 1}), &[".a: expected \"1\", found 1"]);
        differs(json!({"a": false}), json!({}), &[".a: expected false, found nothing"]);
    }

    #[test]
    fn a_field_that_is_null_is_not_there() {
        matches(json!({"a": null}), json!({"b": 1}));
        matches(json!({"a": null}), json!({"a": null}));
        differs(json!({"a": null}), json!({"a": {}}), &[".a: expected nothing, found {}"]);
        differs(json!({"a": [{"b": null}]}), json!({"a": [{"b": 0}]}), &[".a[0].b: expected nothing, found 0"]);
    }

    #[test]
    fn an_object_with_only_such_fields_need_not_be_there() {
        let expected = json!({"a": {"b": null, "c": {"d": null}}});
        matches(expected.clone(), json!({}));
        matches(expected.clone(), json!({"a": {"x": 1}}));
        differs(expected, json!({"a": {"c": {"d": 1}}}), &[".a.c.d: expected nothing, found 1"]);
        differs(json!({"a": {"b": null, "c": 1}}), json!({}), &[".a: expected {\"b\":null,\"c\":1}, found nothing"]);
    }
}

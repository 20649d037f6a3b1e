//! Treats a value of a Secret as the recorded one if only its placeholder is known. It changes only Secrets and tokens.

use serde_json::Value;

use super::placeholder::Key;

/// Replaces each value of a Secret with the recorded placeholder if the placeholder stands for it. The key decides
/// that. If the run `made` values from random numbers that were not recorded, any value matches.
pub(in crate::record) fn reconcile(recorded: &Value, now: &mut Value, key: Option<&Key>, made: bool) {
    match (recorded, now) {
        (Value::Object(before), Value::Object(after)) => {
            for (field, after) in after.iter_mut() {
                let Some(before) = before.get(field) else { continue };
                match (field.as_str(), before, after) {
                    ("data", Value::Object(before), Value::Object(after)) => {
                        values(before, after, |value| key.map(|key| key.data(value)), made);
                    }
                    ("stringData", Value::Object(before), Value::Object(after)) => {
                        values(before, after, |value| key.map(|key| key.text(value)), made);
                    }
                    ("token", Value::String(before), Value::String(after)) => {
                        one(before, after, |value| key.map(|key| key.text(value)), made);
                    }
                    (_, before, after) => reconcile(before, after, key, made),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            before.iter().zip(after).for_each(|(before, after)| reconcile(before, after, key, made));
        }
        _ => {}
    }
}

type Fields = serde_json::Map<String, Value>;

fn values(before: &Fields, after: &mut Fields, placeholder: impl Fn(&str) -> Option<String>, made: bool) {
    for (field, after) in after {
        let (Some(Value::String(before)), Value::String(after)) = (before.get(field), after) else { continue };
        one(before, after, &placeholder, made);
    }
}

fn one(before: &str, after: &mut String, placeholder: impl Fn(&str) -> Option<String>, made: bool) {
    if before != after.as_str() && (made || placeholder(after).as_deref() == Some(before)) {
        before.clone_into(after);
    }
}

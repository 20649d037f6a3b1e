//! Takes a value of a Secret for the recorded one where only its placeholder is known.
//!
//! Never looks outside of Secrets and of tokens.

use serde_json::Value;

use super::placeholder::Key;

/// Puts the recorded placeholder in the place of each value of a Secret that it stands for: by its key, or,
/// where the run `made` values of random numbers that nobody has any more, for any value.
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

//! A position in an object that is checked: its value, and its path in error texts. All positions of an object collect
//! their problems in one list, in the order in which they are found.

use std::cell::Cell;

use serde_json::{Map, Value};

use crate::json;
use crate::names::{label_value, qualified_name};
use crate::status::Cause;

pub(crate) const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
    regex used for validation is '[0-9]+%')";

#[derive(Clone)]
pub(crate) struct Field<'a> {
    /// None if the object has no such field.
    pub value: Option<&'a Value>,
    pub path: String,
    causes: &'a Cell<Vec<Cause>>,
}

/// The problems that `check` finds in an object.
pub(crate) fn problems(object: &Value, check: impl FnOnce(&Field<'_>)) -> Vec<Cause> {
    let causes = Cell::default();
    check(&Field { value: Some(object), path: String::new(), causes: &causes });
    causes.take()
}

impl<'a> Field<'a> {
    /// The field at a path of keys with dots.
    pub(crate) fn at(&self, path: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        let value = self.value.and_then(|value| path.split('.').try_fold(value, |here, key| here.get(key)));
        Self { value, path: format!("{}{dot}{path}", self.path), causes: self.causes }
    }

    /// The entry of a map, whose keys are data.
    pub(crate) fn entry(&self, key: &str) -> Self {
        let value = self.value.and_then(|value| value.get(key));
        Self { value, path: format!("{}[{key}]", self.path), causes: self.causes }
    }

    /// The items of the list at a path.
    pub(crate) fn each(&self, path: &str) -> impl Iterator<Item = Self> + use<'a> {
        self.at(path).items()
    }

    /// The items of this list.
    pub(crate) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let Self { value, path, causes } = self.clone();
        let items = value.and_then(Value::as_array).into_iter().flatten().enumerate();
        items.map(move |(index, item)| Self { value: Some(item), path: format!("{path}[{index}]"), causes })
    }

    /// The entries of the map at a path, with their keys.
    pub(crate) fn entries(&self, path: &str) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let map = self.at(path);
        map.keys().map(move |key| (key, map.entry(key)))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.value.and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// The same value, which error texts show at another path.
    pub(crate) fn named(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn int(&self) -> Option<i64> {
        self.value.and_then(Value::as_i64)
    }

    pub(crate) fn list(&self) -> &'a [Value] {
        self.value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    pub(crate) fn is_true(&self) -> bool {
        self.value == Some(&Value::Bool(true))
    }

    pub(crate) fn is_object(&self) -> bool {
        self.value.is_some_and(Value::is_object)
    }

    pub(crate) fn is_empty(&self) -> bool {
        json::is_empty(self.value)
    }

    fn shown(&self) -> Value {
        self.value.cloned().unwrap_or_default()
    }

    pub(crate) fn push(&self, cause: Cause) {
        let mut causes = self.causes.take();
        causes.push(cause);
        self.causes.set(causes);
    }

    /// The number of problems so far, in the whole object.
    pub(crate) fn found(&self) -> usize {
        let causes = self.causes.take();
        let count = causes.len();
        self.causes.set(causes);
        count
    }

    /// The value is invalid. A missing one is shown as null.
    pub(crate) fn invalid(&self, why: impl AsRef<str>) {
        self.invalid_as(self.shown(), why);
    }

    /// The value is invalid, and the real server shows it in another form.
    pub(crate) fn invalid_as(&self, shown: impl Into<Value>, why: impl AsRef<str>) {
        self.push(Cause::invalid(&self.path, &shown.into(), why));
    }

    pub(crate) fn required(&self, why: &str) {
        self.push(Cause::required(&self.path, why));
    }

    pub(crate) fn forbidden(&self, why: impl AsRef<str>) {
        self.push(Cause::forbidden(&self.path, why));
    }

    pub(crate) fn unsupported(&self, supported: &[&str]) {
        let shown = self.value.cloned().unwrap_or_else(|| "".into());
        self.push(Cause::unsupported(&self.path, &shown, supported));
    }

    pub(crate) fn not_found(&self) {
        let message = format!("Not found: {}", self.shown());
        self.push(Cause { reason: "FieldValueNotFound", message, field: self.path.clone() });
    }

    fn duplicate(&self) {
        let message = format!("Duplicate value: {}", Value::from(self.text()));
        self.push(Cause { reason: "FieldValueDuplicate", message, field: self.path.clone() });
    }

    /// The field must be set. Returns whether it is.
    pub(crate) fn need(&self, why: &str) -> bool {
        if self.is_empty() {
            self.required(why);
        }
        !self.is_empty()
    }

    /// The text must follow a rule, which returns its problems.
    pub(crate) fn check<P: IntoIterator<Item = String>>(&self, rule: impl FnOnce(&str) -> P) {
        rule(self.text()).into_iter().for_each(|why| self.invalid_as(self.text(), why));
    }

    /// The text must not be among those that were seen before.
    pub(crate) fn unique(&self, seen: &mut Vec<&'a str>) {
        if seen.contains(&self.text()) {
            self.duplicate();
        }
        seen.push(self.text());
    }

    /// The text, if there is one, must be one of these.
    pub(crate) fn one_of(&self, allowed: &[&str]) {
        if !self.is_empty() && !allowed.contains(&self.text()) {
            self.unsupported(allowed);
        }
    }

    /// The number, if there is one, must be in a range.
    pub(crate) fn within(&self, range: impl std::ops::RangeBounds<i64>, why: &str) {
        if self.int().is_some_and(|number| !range.contains(&number)) {
            self.invalid(why);
        }
    }

    pub(crate) fn port(&self) {
        self.within(1..=65535, "must be between 1 and 65535, inclusive");
    }

    /// The fields at these keys must not be negative.
    pub(crate) fn counts(&self, keys: &[&str]) {
        keys.iter().for_each(|key| self.at(key).within(0.., NOT_NEGATIVE));
    }

    /// A number of objects, or a percentage of them.
    pub(crate) fn share(&self) {
        let digits = self.text().strip_suffix('%').unwrap_or_default();
        match self.value {
            Some(Value::Number(_)) => self.within(0.., NOT_NEGATIVE),
            Some(_) if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) => self.invalid(PERCENT),
            Some(_) if digits.parse::<u64>().is_ok_and(|n| n > 100) => self.invalid("must not be greater than 100%"),
            _ => {}
        }
    }

    /// A label selector.
    pub(crate) fn selector(&self) {
        for (key, value) in self.entries("matchLabels") {
            let labels = self.at("matchLabels");
            qualified_name(key).into_iter().for_each(|why| labels.invalid_as(key, why));
            value.named(labels.path).check(label_value);
        }
        for expression in self.each("matchExpressions") {
            let (operator, values) = (expression.at("operator"), expression.at("values"));
            match operator.text() {
                "In" | "NotIn" => {
                    values.need("must be specified when `operator` is 'In' or 'NotIn'");
                }
                "Exists" | "DoesNotExist" if values.is_empty() => {}
                "Exists" | "DoesNotExist" => {
                    values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
                }
                other => operator.invalid_as(other, "not a valid selector operator"),
            }
            expression.at("key").check(qualified_name);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        let problem = |value: Value| {
            let found = problems(&json!({ "x": value }), |object| object.at("x").share());
            found.into_iter().map(|cause| cause.message).collect::<String>()
        };
        assert_eq!(problem(5.into()), "");
        assert_eq!(problem("100%".into()), "");
        assert!(problem((-1).into()).contains("greater than or equal"));
        assert!(problem("101%".into()).contains("greater than 100%"));
        assert!(problem("%".into()).contains("percent string"));
    }

    #[test]
    fn problems_have_the_path_of_their_field() {
        let object = json!({ "a": [{ "b": { "x/y": "" } }], "c": "no" });
        let found = problems(&object, |object| {
            object.each("a").for_each(|item| item.entries("b").for_each(|(_, entry)| entry.required("")));
            object.at("c").one_of(&["yes"]);
            object.at("d.e").invalid("missing");
        });
        let shown: Vec<String> = found.into_iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
        assert_eq!(
            shown,
            [
                "a[0].b[x/y]: Required value",
                "c: Unsupported value: \"no\": supported values: \"yes\"",
                "d.e: Invalid value: null: missing",
            ]
        );
    }
}

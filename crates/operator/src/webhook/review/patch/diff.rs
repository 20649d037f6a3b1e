//! The JSON Patch from one value to another. Lists are compared from both ends, so that an item that was added or
//! removed is one operation. The items in between are compared by position.

use serde::Serialize;
use serde_json::{Map, Value};

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Change<'a> {
    Add { path: String, value: &'a Value },
    Replace { path: String, value: &'a Value },
    Remove { path: String },
}

/// The operations that change `before` into `after`, in the order of `before`.
pub(super) fn diff<'a>(before: &Value, after: &'a Value) -> Vec<Change<'a>> {
    let mut differ = Differ { path: String::new(), changes: Vec::new() };
    differ.values(before, after);
    differ.changes
}

struct Differ<'a> {
    path: String,
    changes: Vec<Change<'a>>,
}

impl<'a> Differ<'a> {
    fn values(&mut self, before: &Value, after: &'a Value) {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => self.objects(before, after),
            (Value::Array(before), Value::Array(after)) => self.lists(before, after),
            _ if before == after => {}
            _ => self.changes.push(Change::Replace { path: self.path.clone(), value: after }),
        }
    }

    fn objects(&mut self, before: &Map<String, Value>, after: &'a Map<String, Value>) {
        for (key, was) in before {
            self.at(&escaped(key), |differ| match after.get(key) {
                Some(is) => differ.values(was, is),
                None => differ.changes.push(Change::Remove { path: differ.path.clone() }),
            });
        }
        for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
            self.at(&escaped(key), |differ| differ.changes.push(Change::Add { path: differ.path.clone(), value }));
        }
    }

    fn lists(&mut self, before: &[Value], after: &'a [Value]) {
        let head = before.iter().zip(after).take_while(|(was, is)| was == is).count();
        let (before, after) = (before.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
        let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(was, is)| was == is).count();
        let (before, _) = before.split_at(before.len() - tail);
        let (after, _) = after.split_at(after.len() - tail);
        for (at, (was, is)) in before.iter().zip(after).enumerate() {
            self.at(&(head + at).to_string(), |differ| differ.values(was, is));
        }
        for at in (after.len()..before.len()).rev() {
            self.at(&(head + at).to_string(), |differ| {
                differ.changes.push(Change::Remove { path: differ.path.clone() });
            });
        }
        for (at, value) in after.iter().enumerate().skip(before.len()) {
            self.at(&(head + at).to_string(), |differ| {
                differ.changes.push(Change::Add { path: differ.path.clone(), value });
            });
        }
    }

    fn at(&mut self, token: &str, work: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(token);
        work(self);
        self.path.truncate(length);
    }
}

/// A key as a token of a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patch(before: &Value, after: &Value) -> Value {
        serde_json::to_value(diff(before, after)).unwrap()
    }

    #[test]
    fn names_only_what_differs() {
        let before = json!({"a": {"x": 1, "y": [1, 2, 3]}, "gone": 1, "same": {"deep": [{}]}, "s/l~": 1});
        let after = json!({"same": {"deep": [{}]}, "a": {"y": [1, 2, 3], "x": 2}, "s/l~": null, "new": {}});
        let expected = json!([
            {"op": "replace", "path": "/a/x", "value": 2},
            {"op": "remove", "path": "/gone"},
            {"op": "replace", "path": "/s~1l~0", "value": null},
            {"op": "add", "path": "/new", "value": {}},
        ]);
        assert_eq!(patch(&before, &after), expected);
    }

    #[test]
    fn items_put_into_lists_leave_the_others_alone() {
        let (a, b, c) = (json!({"name": "a"}), json!({"name": "b"}), json!({"name": "c"}));
        let table = [
            (json!([b, c]), json!([a, b, c]), json!([{"op": "add", "path": "/0", "value": a}])),
            (json!([a, c]), json!([a, b, c]), json!([{"op": "add", "path": "/1", "value": b}])),
            (json!([a, b, c]), json!([c]), json!([{"op": "remove", "path": "/1"}, {"op": "remove", "path": "/0"}])),
            (json!([a, b]), json!([a, c]), json!([{"op": "replace", "path": "/1/name", "value": "c"}])),
            (json!([a, a]), json!([a]), json!([{"op": "remove", "path": "/1"}])),
            (
                json!([]),
                json!([a, b]),
                json!([{"op": "add", "path": "/0", "value": a}, {"op": "add", "path": "/1", "value": b}]),
            ),
        ];
        for (before, after, expected) in table {
            assert_eq!(patch(&before, &after), expected, "{before} to {after}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!(1.0)), Just(json!("a")), Just(json!({}))];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[ab/~]{0,2}", inner), 0..5)
                    .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn makes_the_one_into_the_other(before in value(), after in value()) {
            let patch: json_patch::Patch = serde_json::from_value(patch(&before, &after)).unwrap();
            let mut made = before.clone();
            json_patch::patch(&mut made, &patch).unwrap();
            prop_assert_eq!(&made, &after);
            prop_assert_eq!(patch.is_empty(), before == after);
        }
    }
}

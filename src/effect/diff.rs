//! How two states of an object differ, field by field. Never shows anything.

use serde_json::{Map, Value};

use super::{
    lists,
    noise::Ignore,
    path::{Path, Segment},
};

/// One difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Where.
    pub path: Path,
    /// What was there; absent: nothing.
    pub before: Option<Value>,
    /// What is there; absent: nothing.
    pub after: Option<Value>,
    /// Only the order of a list changed. `before` and `after` hold the items' keys, or the items.
    pub reordered: bool,
}

/// All differences in the order of the fields. An object that is absent has no fields, and a field
/// that is null is absent, as in Kubernetes.
pub fn diff(before: Option<&Value>, after: Option<&Value>, ignore: Ignore) -> Vec<Change> {
    let lone = before.is_none() || after.is_none();
    let cleaned = |object: Option<&Value>| {
        object.map_or_else(|| Value::Object(Map::new()), |object| ignore.cleaned(object, lone))
    };
    let mut changes = Vec::new();
    compare(&cleaned(before), &cleaned(after), &mut Path::default(), &mut changes);
    changes
}

pub(super) fn compare(before: &Value, after: &Value, path: &mut Path, changes: &mut Vec<Change>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Value::Object(before), Value::Object(after)) => fields(before, after, path, changes),
        (Value::Array(before), Value::Array(after)) => lists::compare(before, after, path, changes),
        (before, after) => changes.push(Change::new(path, Some(before), Some(after))),
    }
}

fn fields(before: &Map<String, Value>, after: &Map<String, Value>, path: &mut Path, changes: &mut Vec<Change>) {
    let new = after.iter().filter(|(key, _)| !before.contains_key(*key));
    let all = before.iter().map(|(key, value)| (key, Some(value), after.get(key)));
    for (key, before, after) in all.chain(new.map(|(key, value)| (key, None, Some(value)))) {
        path.within(Segment::Key(key.clone()), |path| match (there(before), there(after)) {
            (Some(before), Some(after)) => compare(before, after, path, changes),
            (None, None) => {}
            (before, after) => changes.push(Change::new(path, before, after)),
        });
    }
}

fn there(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

impl Change {
    pub(super) fn new(path: &Path, before: Option<&Value>, after: Option<&Value>) -> Self {
        Self { path: path.clone(), before: before.cloned(), after: after.cloned(), reordered: false }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn told(before: &Value, after: &Value) -> Vec<String> {
        let text = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        let line = |change: &Change| {
            let sign = if change.reordered { " (order)" } else { "" };
            format!("{}: {} > {}{sign}", change.path, text(&change.before), text(&change.after))
        };
        diff(Some(before), Some(after), Ignore::default()).iter().map(line).collect()
    }

    #[test]
    fn fields_are_compared_one_by_one() {
        let before = json!({"a": 1, "b": {"c": "x", "d": [1]}, "gone": {"e": 1}});
        let after = json!({"a": 1, "b": {"c": "y", "d": [1]}, "new": true});
        assert_eq!(told(&before, &after), ["b.c: \"x\" > \"y\"", "gone: {\"e\":1} > nothing", "new: nothing > true"]);
        assert_eq!(told(&json!({"a": {}}), &json!({"a": []})), ["a: {} > []"]);
    }

    #[test]
    fn null_is_nothing() {
        assert!(told(&json!({"a": null}), &json!({"b": null})).is_empty());
        assert_eq!(told(&json!({"a": null}), &json!({"a": 1})), ["a: nothing > 1"]);
    }

    #[test]
    fn what_every_write_changes_is_left_out_unless_asked_for() {
        let metadata = |version: &str| json!({"metadata": {"uid": "u", "resourceVersion": version, "generation": version, "managedFields": version}});
        assert!(told(&metadata("1"), &metadata("2")).is_empty());
        assert_eq!(diff(Some(&metadata("1")), Some(&metadata("2")), Ignore::NOTHING).len(), 3);
        let other = json!({"metadata": {"uid": "v"}});
        assert_eq!(told(&metadata("1"), &other), ["metadata.uid: \"u\" > \"v\""], "another object of this name");
    }

    #[test]
    fn an_object_that_is_new_is_told_without_what_the_server_gives_to_each() {
        let made = json!({"kind": "X", "metadata": {"name": "a", "uid": "u", "creationTimestamp": "t"}});
        let changes = diff(None, Some(&made), Ignore::default());
        let told: Vec<_> = changes.iter().map(|change| (change.path.to_string(), change.after.clone())).collect();
        assert_eq!(told, [("kind".into(), Some("X".into())), ("metadata".into(), Some(json!({"name": "a"})))]);
        assert_eq!(diff(Some(&made), None, Ignore::default()).len(), 2);
    }

    #[test]
    fn items_with_a_key_are_compared_by_it() {
        let list = |items: Value| json!({"spec": {"containers": items}});
        let (a, b) = (json!({"name": "a", "image": "x"}), json!({"name": "b", "image": "y"}));
        let changed = json!({"name": "b", "image": "z"});
        assert_eq!(
            told(&list(json!([a, b])), &list(json!([changed]))),
            [
                "spec.containers[name=a]: {\"name\":\"a\",\"image\":\"x\"} > nothing",
                "spec.containers[name=b].image: \"y\" > \"z\""
            ]
        );
        assert_eq!(
            told(&list(json!([a, b])), &list(json!([b, a]))),
            ["spec.containers: [\"a\",\"b\"] > [\"b\",\"a\"] (order)"]
        );
        let taints = |effect: &str| json!([{"key": "k", "effect": effect}]);
        assert_eq!(
            told(&taints("NoSchedule"), &taints("NoExecute")),
            ["[key=k].effect: \"NoSchedule\" > \"NoExecute\""]
        );
    }

    #[test]
    fn a_key_that_two_items_share_is_none() {
        let ports =
            |second: &str| json!([{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": second}]);
        assert_eq!(told(&ports("TCP"), &ports("SCTP")), ["[1].protocol: \"TCP\" > \"SCTP\""]);
    }

    #[test]
    fn of_other_lists_items_come_and_go() {
        assert_eq!(
            told(&json!(["a", "b", "c"]), &json!(["b", "c", "d"])),
            ["[0]: \"a\" > nothing", "[2]: nothing > \"d\""]
        );
        assert_eq!(told(&json!(["a", "b"]), &json!(["b", "a"])), [": [\"a\",\"b\"] > [\"b\",\"a\"] (order)"]);
        assert_eq!(told(&json!([{"x": 1}]), &json!([{"x": 2}])), ["[0].x: 1 > 2"]);
        assert_eq!(told(&json!(["a", "a"]), &json!(["a"])), ["[1]: \"a\" > nothing"]);
    }
}

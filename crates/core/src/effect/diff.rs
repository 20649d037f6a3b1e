//! Compares two states of an object, field by field.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
};

use serde_json::{Map, Value};

/// One step into an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    /// A key of a mapping.
    Key(String),
    /// An index in a list, counted from 0.
    Index(usize),
    /// The item of a list that has this value under this key.
    Item {
        /// `name`, `key`, …
        key: &'static str,
        /// A value that no other item has.
        value: Value,
    },
}

/// The steps from an object to a part of it. Shown as `spec.containers[name=app].image`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path(pub Vec<Segment>);

impl Path {
    /// Whether these keys lead to this part, or to a part around it.
    pub(super) fn is_within(&self, keys: &[&str]) -> bool {
        let is = |(segment, key): (&Segment, &&str)| matches!(segment, Segment::Key(own) if own == *key);
        self.0.len() >= keys.len() && self.0.iter().zip(keys).all(is)
    }

    /// Calls `work` on the path with one more step.
    pub(super) fn within(&mut self, segment: Segment, work: impl FnOnce(&mut Self)) {
        self.0.push(segment);
        work(self);
        self.0.pop();
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if is_plain(key) && n == 0 => f.write_str(key)?,
                Segment::Key(key) if is_plain(key) => write!(f, ".{key}")?,
                Segment::Key(key) => write!(f, "[{}]", Value::from(key.as_str()))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Item { key, value } => match value.as_str().filter(|text| is_plain(text)) {
                    Some(text) => write!(f, "[{key}={text}]")?,
                    None => write!(f, "[{key}={value}]")?,
                },
            }
        }
        Ok(())
    }
}

/// Whether the text cannot be mistaken for anything else in a path.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$'))
}

/// The fields that differ after every write and carry no information. None of them is a part that somebody wrote.
const VERSIONS: [&str; 4] = ["managedFields", "resourceVersion", "generation", "selfLink"];
const BIRTH: [&str; 2] = ["uid", "creationTimestamp"];

/// What a comparison leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignore {
    /// `metadata.managedFields`, `resourceVersion`, `generation`, `selfLink`. Default: true.
    pub versions: bool,
    /// `metadata.uid` and `creationTimestamp` of objects that are new or gone. Default: true.
    pub birth: bool,
}

impl Default for Ignore {
    fn default() -> Self {
        Self { versions: true, birth: true }
    }
}

impl Ignore {
    pub const NOTHING: Self = Self { versions: false, birth: false };

    /// The object without what is left out. `lone`: there is no other state to compare it with.
    pub(super) fn cleaned(self, object: &Value, lone: bool) -> Value {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            if self.versions {
                metadata.retain(|key, _| !VERSIONS.contains(&key.as_str()));
            }
            if self.birth && lone {
                metadata.retain(|key, _| !BIRTH.contains(&key.as_str()));
            }
        }
        object
    }
}

/// One difference between two states of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub path: Path,
    /// The value before. `None`: there was no value.
    pub before: Option<Value>,
    /// The value after. `None`: there is no value.
    pub after: Option<Value>,
    /// Only the order of a list changed. `before` and `after` hold the items' keys, or the items.
    pub reordered: bool,
}

/// All differences, in the order of the fields. An absent object has no fields, and a field that is null is absent, as
/// in Kubernetes.
pub fn diff(before: Option<&Value>, after: Option<&Value>, ignore: Ignore) -> Vec<Change> {
    let lone = before.is_none() || after.is_none();
    let cleaned = |object: Option<&Value>| {
        object.map_or_else(|| Value::Object(Map::new()), |object| ignore.cleaned(object, lone))
    };
    let mut changes = Vec::new();
    compare(&cleaned(before), &cleaned(after), &mut Path::default(), &mut changes);
    changes
}

fn compare(before: &Value, after: &Value, path: &mut Path, changes: &mut Vec<Change>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Value::Object(before), Value::Object(after)) => fields(before, after, path, changes),
        (Value::Array(before), Value::Array(after)) => lists(before, after, path, changes),
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
    fn new(path: &Path, before: Option<&Value>, after: Option<&Value>) -> Self {
        Self { path: path.clone(), before: before.cloned(), after: after.cloned(), reordered: false }
    }
}

/// The keys by which Kubernetes merges lists, the most common first.
const KEYS: [&str; 12] = [
    "name",
    "key",
    "uid",
    "mountPath",
    "devicePath",
    "ip",
    "containerPort",
    "port",
    "topologyKey",
    "type",
    "resource",
    "id",
];

fn lists(before: &[Value], after: &[Value], path: &mut Path, changes: &mut Vec<Change>) {
    match KEYS.into_iter().find_map(|key| Some((key, keyed(before, key)?, keyed(after, key)?))) {
        Some((key, before, after)) => by_key(key, &before, &after, path, changes),
        None => by_value(before, after, path, changes),
    }
}

/// A list's items with their values of a key, as JSON. [`keyed`] returns `None` if these values do not distinguish the
/// items.
struct Keyed<'v> {
    items: Vec<(String, &'v Value)>,
    by_value: HashMap<String, &'v Value>,
}

fn keyed<'v>(list: &'v [Value], key: &str) -> Option<Keyed<'v>> {
    let value = |item: &'v Value| {
        let value = item.get(key).filter(|value| value.is_string() || value.is_number())?;
        Some((value.to_string(), item))
    };
    let items: Vec<_> = list.iter().map(value).collect::<Option<_>>()?;
    let by_value: HashMap<_, _> = items.iter().cloned().collect();
    (by_value.len() == items.len()).then_some(Keyed { items, by_value })
}

fn by_key(key: &'static str, before: &Keyed<'_>, after: &Keyed<'_>, path: &mut Path, changes: &mut Vec<Change>) {
    let known = changes.len();
    let new = after.items.iter().filter(|(value, _)| !before.by_value.contains_key(value));
    let old = before.items.iter().map(|(value, item)| (Some(*item), after.by_value.get(value).copied()));
    for (before, after) in old.chain(new.map(|(_, item)| (None, Some(*item)))) {
        let value = before.or(after).and_then(|item| item.get(key)).cloned().unwrap_or_default();
        path.within(Segment::Item { key, value }, |path| match (before, after) {
            (Some(before), Some(after)) => compare(before, after, path, changes),
            (before, after) => changes.push(Change::new(path, before, after)),
        });
    }
    if changes.len() == known {
        let keys = |list: &Keyed<'_>| list.items.iter().filter_map(|(_, item)| item.get(key).cloned()).collect();
        reordered(keys(before), keys(after), path, changes);
    }
}

/// Pairs equal items, wherever they are. If as many objects remain on both sides, and nothing else, they are compared
/// in order. Otherwise, what remains is removed or added.
fn by_value(before: &[Value], after: &[Value], path: &mut Path, changes: &mut Vec<Change>) {
    let mut left: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (index, item) in before.iter().enumerate() {
        left.entry(item.to_string()).or_default().push_back(index);
    }
    let mut new: Vec<(usize, &Value)> = after.iter().enumerate().collect();
    // Of equal items, the last one counts as new or gone.
    new.retain(|(_, item)| left.get_mut(&item.to_string()).and_then(VecDeque::pop_front).is_none());
    let mut gone: Vec<usize> = left.into_values().flatten().collect();
    gone.sort_unstable();
    let gone: Vec<(usize, &Value)> = gone.into_iter().filter_map(|index| Some((index, before.get(index)?))).collect();
    if gone.is_empty() && new.is_empty() {
        return reordered(before.to_vec(), after.to_vec(), path, changes);
    }
    let same_shape = gone.len() == new.len() && gone.iter().chain(&new).all(|(_, item)| item.is_object());
    if same_shape {
        for ((_, before), (index, after)) in gone.into_iter().zip(new) {
            path.within(Segment::Index(index), |path| compare(before, after, path, changes));
        }
        return;
    }
    for (index, item) in gone {
        path.within(Segment::Index(index), |path| changes.push(Change::new(path, Some(item), None)));
    }
    for (index, item) in new {
        path.within(Segment::Index(index), |path| changes.push(Change::new(path, None, Some(item))));
    }
}

fn reordered(before: Vec<Value>, after: Vec<Value>, path: &Path, changes: &mut Vec<Change>) {
    if before != after {
        let (before, after) = (Some(before.into()), Some(after.into()));
        changes.push(Change { path: path.clone(), before, after, reordered: true });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn changes_of(before: &Value, after: &Value) -> Vec<String> {
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
        assert_eq!(
            changes_of(&before, &after),
            ["b.c: \"x\" > \"y\"", "gone: {\"e\":1} > nothing", "new: nothing > true"]
        );
        assert_eq!(changes_of(&json!({"a": {}}), &json!({"a": []})), ["a: {} > []"]);
    }

    #[test]
    fn null_is_nothing() {
        assert!(changes_of(&json!({"a": null}), &json!({"b": null})).is_empty());
        assert_eq!(changes_of(&json!({"a": null}), &json!({"a": 1})), ["a: nothing > 1"]);
    }

    #[test]
    fn what_every_write_changes_is_left_out_unless_asked_for() {
        let metadata = |version: &str| json!({"metadata": {"uid": "u", "resourceVersion": version, "generation": version, "managedFields": version}});
        assert!(changes_of(&metadata("1"), &metadata("2")).is_empty());
        assert_eq!(diff(Some(&metadata("1")), Some(&metadata("2")), Ignore::NOTHING).len(), 3);
        let other = json!({"metadata": {"uid": "v"}});
        assert_eq!(changes_of(&metadata("1"), &other), ["metadata.uid: \"u\" > \"v\""], "another object of this name");
    }

    #[test]
    fn an_object_that_is_new_is_reported_without_what_the_server_gives_to_each() {
        let made = json!({"kind": "X", "metadata": {"name": "a", "uid": "u", "creationTimestamp": "t"}});
        let changes = diff(None, Some(&made), Ignore::default());
        let reported: Vec<_> = changes.iter().map(|change| (change.path.to_string(), change.after.clone())).collect();
        assert_eq!(reported, [("kind".into(), Some("X".into())), ("metadata".into(), Some(json!({"name": "a"})))]);
        assert_eq!(diff(Some(&made), None, Ignore::default()).len(), 2);
    }

    #[test]
    fn items_with_a_key_are_compared_by_it() {
        let list = |items: Value| json!({"spec": {"containers": items}});
        let (a, b) = (json!({"name": "a", "image": "x"}), json!({"name": "b", "image": "y"}));
        let changed = json!({"name": "b", "image": "z"});
        assert_eq!(
            changes_of(&list(json!([a, b])), &list(json!([changed]))),
            [
                "spec.containers[name=a]: {\"name\":\"a\",\"image\":\"x\"} > nothing",
                "spec.containers[name=b].image: \"y\" > \"z\""
            ]
        );
        assert_eq!(
            changes_of(&list(json!([a, b])), &list(json!([b, a]))),
            ["spec.containers: [\"a\",\"b\"] > [\"b\",\"a\"] (order)"]
        );
        let taints = |effect: &str| json!([{"key": "k", "effect": effect}]);
        assert_eq!(
            changes_of(&taints("NoSchedule"), &taints("NoExecute")),
            ["[key=k].effect: \"NoSchedule\" > \"NoExecute\""]
        );
    }

    #[test]
    fn a_key_that_two_items_share_is_none() {
        let ports =
            |second: &str| json!([{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": second}]);
        assert_eq!(changes_of(&ports("TCP"), &ports("SCTP")), ["[1].protocol: \"TCP\" > \"SCTP\""]);
    }

    #[test]
    fn of_other_lists_items_come_and_go() {
        assert_eq!(
            changes_of(&json!(["a", "b", "c"]), &json!(["b", "c", "d"])),
            ["[0]: \"a\" > nothing", "[2]: nothing > \"d\""]
        );
        assert_eq!(changes_of(&json!(["a", "b"]), &json!(["b", "a"])), [": [\"a\",\"b\"] > [\"b\",\"a\"] (order)"]);
        assert_eq!(changes_of(&json!([{"x": 1}]), &json!([{"x": 2}])), ["[0].x: 1 > 2"]);
        assert_eq!(changes_of(&json!(["a", "a"]), &json!(["a"])), ["[1]: \"a\" > nothing"]);
    }

    #[test]
    fn a_path_is_read_in_one_way_only() {
        let key = |key: &str| Segment::Key(key.to_owned());
        let item = |value: Value| Segment::Item { key: "name", value };
        let shown = |segments: Vec<Segment>| Path(segments).to_string();
        assert_eq!(shown(vec![key("spec"), key("a"), item("app".into()), key("image")]), "spec.a[name=app].image");
        assert_eq!(shown(vec![key("data"), key("app.conf")]), r#"data["app.conf"]"#);
        assert_eq!(shown(vec![key("a/b"), Segment::Index(2), item(7.into())]), r#"["a/b"][2][name=7]"#);
        assert_eq!(shown(vec![key("a\u{1b}[31m")]), r#"["a\u001b[31m"]"#);
    }
}

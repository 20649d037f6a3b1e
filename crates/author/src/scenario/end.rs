//! What is there at the end of a scenario: the objects of the cluster, and files. Two ends are compared without what is
//! different each time. Pure.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::error_chain;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::{
    judge::{Answer, Wants},
    matcher::{Seg, shown},
};

/// Kinds that only report what happened.
const REPORTS: [&str; 2] = ["Event", "Lease"];

/// The end of a scenario.
#[derive(Debug, Clone, Default)]
pub(super) struct End {
    /// By apiVersion, kind, namespace and name: `v1 Secret web/s`.
    objects: BTreeMap<String, Value>,
    files: BTreeMap<String, String>,
    /// The answer to the last request.
    answer: Option<String>,
}

/// One place where two ends differ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    /// The object, the file, or `the answer`.
    what: String,
    path: Vec<Seg>,
    expected: Option<Value>,
    found: Option<Value>,
}

/// The places that differ although nothing was disturbed.
#[derive(Debug, Default)]
pub(super) struct Mask(Vec<(String, Vec<Seg>)>);

impl Mask {
    pub fn new(differences: Vec<Difference>) -> Self {
        Self(differences.into_iter().map(|difference| (difference.what, difference.path)).collect())
    }

    fn hides(&self, difference: &Difference) -> bool {
        self.0.iter().any(|(what, path)| *what == difference.what && difference.path.starts_with(path))
    }
}

impl End {
    /// `cluster` has all objects as YAML documents.
    pub fn new(cluster: &str, files: BTreeMap<String, String>, answer: Option<Answer>) -> Result<Self, String> {
        let mut objects = BTreeMap::new();
        for document in yaml_serde::Deserializer::from_str(cluster) {
            let object = Value::deserialize(document).map_err(|error| error_chain(&error))?;
            let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
            if !object.is_null() && !REPORTS.contains(&kind) {
                objects.insert(identity(&object), cleaned(object));
            }
        }
        Ok(Self { objects, files, answer: answer.map(|answer| text(&answer)) })
    }

    /// Where `found` differs from this end.
    pub fn differences(&self, found: &Self, mask: &Mask) -> Vec<Difference> {
        let mut all = Vec::new();
        let texts = |files: &BTreeMap<String, String>| -> BTreeMap<String, Value> {
            files.iter().map(|(path, text)| (path.clone(), text.clone().into())).collect()
        };
        each(&self.objects, &found.objects, &mut all);
        each(&texts(&self.files), &texts(&found.files), &mut all);
        let answer =
            |end: &Self| end.answer.iter().map(|text| ("the answer".to_owned(), text.clone().into())).collect();
        each(&answer(self), &answer(found), &mut all);
        all.retain(|difference| !mask.hides(difference));
        all
    }

    /// An `expect` of the places that differ. None if it cannot say anything about them.
    pub fn expectation(&self, differences: &[Difference]) -> Option<Value> {
        let (mut present, mut absent) = (BTreeMap::<&str, Value>::new(), BTreeSet::new());
        let mut files = Map::new();
        for difference in differences {
            let Difference { what, expected, found, .. } = difference;
            match (&expected, &found) {
                (Some(text), _) if self.files.contains_key(what) => {
                    files.insert(what.clone(), text.clone());
                }
                (None, Some(_)) if difference.path.is_empty() && !what.starts_with('/') && what != "the answer" => {
                    absent.insert(what.as_str());
                }
                _ => {
                    if let Some(object) = self.objects.get(what) {
                        difference.note(object, present.entry(what).or_insert_with(|| named(what)));
                    }
                }
            }
        }
        let mut expect = Map::new();
        let absent: Vec<_> = absent.into_iter().map(named).collect();
        for (key, objects) in [("present", present.into_values().collect()), ("absent", absent)] {
            if !objects.is_empty() {
                expect.insert(key.to_owned(), Value::Array(objects));
            }
        }
        if !files.is_empty() {
            expect.insert("files".to_owned(), files.into());
        }
        (!expect.is_empty()).then_some(expect.into())
    }
}

impl Difference {
    /// The difference, in several lines.
    pub fn text(&self) -> String {
        let shown = |value: &Option<Value>| match value {
            None => "nothing".to_owned(),
            Some(value) if self.path.is_empty() && value.is_object() => "it is there".to_owned(),
            Some(value) => shown(value),
        };
        let mut place = self.what.clone();
        for seg in &self.path {
            place.push_str(&match seg {
                Seg::Key(key) if key.contains(['.', '[']) => format!("[{key:?}]"),
                Seg::Key(key) if place == self.what => format!(": .{key}"),
                Seg::Key(key) => format!(".{key}"),
                Seg::Index(index) => format!("[{index}]"),
            });
        }
        format!("{place}\n  - undisturbed {}\n  + found       {}", shown(&self.expected), shown(&self.found))
    }

    /// Adds the place to an expected object. A list is expected as a whole.
    fn note(&self, object: &Value, wanted: &mut Value) {
        let (mut object, mut wanted) = (Some(object), wanted);
        let keys = self.path.iter().map_while(|seg| if let Seg::Key(key) = seg { Some(key) } else { None });
        let keys: Vec<_> = keys.collect();
        for (n, key) in keys.iter().enumerate() {
            object = object.and_then(|object| object.get(key.as_str()));
            let Some(fields) = wanted.as_object_mut() else { return };
            if n + 1 == keys.len() {
                fields.insert((*key).clone(), object.cloned().unwrap_or_default());
                return;
            }
            wanted = fields.entry((*key).clone()).or_insert_with(|| json!({}));
        }
    }
}

fn each(expected: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>, all: &mut Vec<Difference>) {
    let names: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for name in names {
        compare(name, expected.get(name), found.get(name), &mut Vec::new(), all);
    }
}

fn compare(
    what: &str,
    expected: Option<&Value>,
    found: Option<&Value>,
    path: &mut Vec<Seg>,
    all: &mut Vec<Difference>,
) {
    let mut within = |seg: Seg, expected: Option<&Value>, found: Option<&Value>| {
        path.push(seg);
        compare(what, expected, found, path, all);
        path.pop();
    };
    match (expected, found) {
        (expected, found) if expected == found => {}
        (Some(Value::Object(expected)), Some(Value::Object(found))) => {
            let keys: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
            keys.into_iter().for_each(|key| within(Seg::Key(key.clone()), expected.get(key), found.get(key)));
        }
        (Some(Value::Array(expected)), Some(Value::Array(found))) if expected.len() == found.len() => {
            let pairs = expected.iter().zip(found).enumerate();
            pairs.for_each(|(n, (expected, found))| within(Seg::Index(n), Some(expected), Some(found)));
        }
        (expected, found) => all.push(Difference {
            what: what.to_owned(),
            path: path.clone(),
            expected: expected.cloned(),
            found: found.cloned(),
        }),
    }
}

/// `v1 Secret web/s`
fn identity(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    format!("{} {} {namespace}{}", text("/apiVersion"), text("/kind"), text("/metadata/name"))
}

/// An object of this identity, as a scenario names it.
fn named(identity: &str) -> Value {
    let mut parts = identity.splitn(3, ' ');
    let (api_version, kind) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let name = parts.next().unwrap_or_default();
    let metadata = match name.split_once('/') {
        Some((namespace, name)) => json!({"namespace": namespace, "name": name}),
        None => json!({ "name": name }),
    };
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
}

/// Without fields whose values are other ones each time: times and unique IDs.
fn cleaned(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.as_str().is_some_and(differs_each_time));
            kept.map(|(key, value)| (key, cleaned(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(cleaned).collect(),
        value => value,
    }
}

fn differs_each_time(text: &str) -> bool {
    let is_id = |text: &str| {
        let lengths = text.split('-').map(str::len);
        lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
    };
    is_id(text) || (text.len() >= 20 && text.parse::<jiff::Timestamp>().is_ok())
}

fn text(answer: &Answer) -> String {
    match answer {
        Answer::Reviewed { verdict, object } => {
            let object = object.clone().map(cleaned).unwrap_or_default();
            format!("{verdict:?} {object}")
        }
        Answer::Converted(objects) => format!("{}", objects.iter().cloned().map(cleaned).collect::<Value>()),
        Answer::Reconciled(wants) => {
            let Wants { children, none_wanted, done, status, conditions, requeue_after, events } = &**wants;
            let children: Value = children.iter().cloned().map(cleaned).collect();
            let status = cleaned(status.clone());
            format!("{children} {none_wanted} {done} {status} {conditions:?} {requeue_after:?} {events:?}")
        }
        Answer::Failed(text) => format!("it failed: {text}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn end(cluster: &str) -> End {
        End::new(cluster, BTreeMap::new(), None).unwrap()
    }

    const ONE: &str = "---
apiVersion: v1
kind: Secret
metadata: {namespace: web, name: s, labels: {a: b}, ownerReferences: [{uid: 0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f}]}
data: {a: MQ==, at: 2026-01-01T00:00:00Z}
---
apiVersion: v1
kind: Event
metadata: {namespace: web, name: e}
";

    #[test]
    fn times_unique_ids_and_events_do_not_count() {
        let other = ONE.replace("0a1b2c3d-", "ffffffff-").replace("2026", "2027").replace("name: e", "name: f");
        assert_eq!(end(ONE).differences(&end(&other), &Mask::default()), []);
    }

    #[test]
    fn an_expectation_has_only_what_differs() {
        let other = ONE.replace("labels: {a: b}", "labels: {a: c, d: e}").replace("a: MQ==", "b: MQ==");
        let (one, other) = (end(ONE), end(&other));
        let differences = one.differences(&other, &Mask::default());
        let texts: Vec<_> = differences.iter().map(Difference::text).collect();
        assert_eq!(
            texts,
            [
                "v1 Secret web/s: .data.a\n  - undisturbed \"MQ==\"\n  + found       nothing",
                "v1 Secret web/s: .data.b\n  - undisturbed nothing\n  + found       \"MQ==\"",
                "v1 Secret web/s: .metadata.labels.a\n  - undisturbed \"b\"\n  + found       \"c\"",
                "v1 Secret web/s: .metadata.labels.d\n  - undisturbed nothing\n  + found       \"e\"",
            ]
        );
        let expected = json!({"present": [{
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"namespace": "web", "name": "s", "labels": {"a": "b", "d": null}}, "data": {"a": "MQ==", "b": null},
        }]});
        assert_eq!(one.expectation(&differences), Some(expected));
        let mask = Mask::new(differences.clone());
        assert_eq!(one.differences(&other, &mask), []);
        let named = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "web", "name": "s"}});
        let none = End::default();
        let expected = one.expectation(&one.differences(&none, &Mask::default()));
        assert_eq!(expected, Some(json!({"present": [named]})));
        let expected = none.expectation(&none.differences(&one, &Mask::default()));
        assert_eq!(expected, Some(json!({"absent": [named]})));
    }
}

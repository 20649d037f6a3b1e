//! What is different between what was recorded and what is done now: calls, writes, fields.
//!
//! Never runs anything.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::operation::{self, Written};
use crate::record::{
    RecordedAnswer, Request,
    secrets::{Key, reconcile},
};

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Where, as a JSON pointer.
    pub path: String,
    /// Absent: it was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Value>,
    /// Absent: it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Value>,
}

/// Something that a run did otherwise than it did when it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "difference", rename_all = "kebab-case")]
pub enum Difference {
    /// Another call, one too many, or one too few.
    Call {
        /// Counted from 1.
        number: usize,
        /// Absent: the run had made all its calls.
        recorded: Option<Box<Request>>,
        /// Absent: the run ended.
        now: Option<Box<Request>>,
        /// Where two calls of one kind differ.
        fields: Vec<Change>,
    },
    /// Another write of an object.
    Changed {
        /// `v1 Secret a/b`
        object: String,
        /// `create`, `update`, `patch`, `delete`, `emit-event`.
        verb: String,
        /// How.
        fields: Vec<Change>,
    },
    /// A write that is not done any more.
    Missing {
        /// `v1 Secret a/b`
        object: String,
        /// As above.
        verb: String,
        /// What was written.
        recorded: Value,
    },
    /// A write that was not done.
    Added {
        /// `v1 Secret a/b`
        object: String,
        /// As above.
        verb: String,
        /// What is written.
        now: Value,
    },
    /// A write that the hook's permissions have in one version only.
    Permission {
        /// `v1 Secret a/b`
        object: String,
        /// As above.
        verb: String,
        /// What the hook was told. Absent: it was allowed.
        #[serde(skip_serializing_if = "Option::is_none")]
        recorded: Option<String>,
        /// As above.
        #[serde(skip_serializing_if = "Option::is_none")]
        now: Option<String>,
    },
    /// Another end.
    Outcome {
        /// `success`, or the failure.
        recorded: String,
        /// As above.
        now: String,
    },
    /// Another answer.
    Answer {
        /// How.
        fields: Vec<Change>,
    },
    /// Other metrics.
    Metrics {
        /// Lines that are not reported any more.
        recorded: Vec<String>,
        /// Lines that were not reported.
        now: Vec<String>,
    },
}

/// What values of Secrets may be that were replaced when the run was recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Secrets<'a> {
    /// The key of the placeholders.
    pub key: Option<&'a Key>,
    /// The run made values itself, of random numbers that were not recorded.
    pub made: bool,
}

/// Whether a call is the recorded one: the same text, or JSON that means the same. If not, where not.
pub(super) fn same_call(recorded: &Request, now: &Request, secrets: Secrets<'_>) -> Result<(), Vec<Change>> {
    if recorded == now {
        return Ok(());
    }
    let changes = diff(&operation::request(recorded), operation::request(now), secrets);
    if changes.is_empty() { Ok(()) } else { Err(changes) }
}

/// How two answers differ. One that is missing differs in its outcome.
pub(super) fn answers(
    recorded: Option<&RecordedAnswer>,
    now: Option<&RecordedAnswer>,
    secrets: Secrets<'_>,
) -> Option<Difference> {
    let fields = diff(&operation::answer(recorded?), operation::answer(now?), secrets);
    (!fields.is_empty()).then_some(Difference::Answer { fields })
}

/// How writes differ, object by object. The order of writes counts among those of one object.
pub(super) fn writes(recorded: &[Written], now: &[Written], secrets: Secrets<'_>) -> Vec<Difference> {
    let mut differences = Vec::new();
    let (mut before, mut after) = (by_object(recorded), by_object(now));
    let objects: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).cloned().collect();
    for object in objects {
        let recorded = before.remove(&object).unwrap_or_default();
        let now = after.remove(&object).unwrap_or_default();
        of_object(&object, &recorded, &now, secrets, &mut differences);
    }
    differences
}

fn by_object(writes: &[Written]) -> BTreeMap<String, Vec<&Written>> {
    let mut objects: BTreeMap<String, Vec<&Written>> = BTreeMap::new();
    for write in writes {
        objects.entry(write.object.clone()).or_default().push(write);
    }
    objects
}

fn of_object(object: &str, recorded: &[&Written], now: &[&Written], secrets: Secrets<'_>, to: &mut Vec<Difference>) {
    for index in 0..recorded.len().max(now.len()) {
        if let Some(now) = now.get(index) {
            let recorded = recorded.get(index).and_then(|recorded| recorded.refused.clone());
            if recorded.is_some() != now.refused.is_some() {
                let (object, verb, now) = (object.to_owned(), now.verb.to_owned(), now.refused.clone());
                to.push(Difference::Permission { object, verb, recorded, now });
            }
        }
        let difference = match (recorded.get(index), now.get(index)) {
            (Some(recorded), Some(now)) => {
                let fields = diff(&recorded.body, now.body.clone(), secrets);
                if fields.is_empty() {
                    continue;
                }
                Difference::Changed { object: object.to_owned(), verb: now.verb.to_owned(), fields }
            }
            (Some(recorded), None) => Difference::Missing {
                object: object.to_owned(),
                verb: recorded.verb.to_owned(),
                recorded: recorded.body.clone(),
            },
            (None, Some(now)) => {
                Difference::Added { object: object.to_owned(), verb: now.verb.to_owned(), now: now.body.clone() }
            }
            (None, None) => continue,
        };
        to.push(difference);
    }
}

/// Lines that only one of both has, however often.
pub(super) fn lines(recorded: &[String], now: &[String]) -> Option<Difference> {
    if recorded == now {
        return None;
    }
    let only = |some: &[String], others: &[String]| {
        let mut others = others.to_vec();
        let mut rest = some.to_vec();
        rest.retain(|line| match others.iter().position(|other| other == line) {
            Some(at) => {
                others.remove(at);
                false
            }
            None => true,
        });
        rest
    };
    Some(Difference::Metrics { recorded: only(recorded, now), now: only(now, recorded) })
}

fn diff(recorded: &Value, mut now: Value, secrets: Secrets<'_>) -> Vec<Change> {
    if secrets.made || secrets.key.is_some() {
        reconcile(recorded, &mut now, secrets.key, secrets.made);
    }
    let mut changes = Vec::new();
    fields(&mut String::new(), Some(recorded), Some(&now), &mut changes);
    changes
}

fn fields(path: &mut String, recorded: Option<&Value>, now: Option<&Value>, to: &mut Vec<Change>) {
    match (recorded, now) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                let part = key.replace('~', "~0").replace('/', "~1");
                inside(path, &part, |path| fields(path, before.get(key), after.get(key), to));
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                inside(path, &index.to_string(), |path| fields(path, before.get(index), after.get(index), to));
            }
        }
        (before, after) if before == after => {}
        (before, after) => {
            to.push(Change { path: path.clone(), recorded: before.cloned(), now: after.cloned() });
        }
    }
}

fn inside(path: &mut String, part: &str, look: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(part);
    look(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use serde_json::json;

    use super::*;

    const PLAIN: Secrets<'_> = Secrets { key: None, made: false };

    fn write(object: &str, verb: &'static str, body: Value) -> Written {
        Written { object: object.into(), verb, body, refused: None }
    }

    #[test]
    fn a_write_that_only_one_version_may_do_is_a_difference() {
        let allowed = write("a", "patch", json!(1));
        let refused = Written { refused: Some("no".into()), ..allowed.clone() };
        let of = |recorded: &Written, now: &Written| match &*writes(
            std::slice::from_ref(recorded),
            std::slice::from_ref(now),
            PLAIN,
        ) {
            [] => None,
            [Difference::Permission { recorded, now, .. }] => Some((recorded.clone(), now.clone())),
            other => panic!("{other:?}"),
        };
        assert_eq!(of(&allowed, &allowed), None);
        assert_eq!(of(&refused, &refused), None);
        assert_eq!(of(&allowed, &refused), Some((None, Some("no".into()))));
        assert_eq!(of(&refused, &allowed), Some((Some("no".into()), None)));
        // A write that is new and refused is both.
        assert_eq!(writes(&[], &[refused], PLAIN).len(), 2);
    }

    #[test]
    fn writes_are_compared_object_by_object() {
        let recorded = [write("a", "create", json!({"x": 1, "y": [1, 2]})), write("b", "delete", json!({}))];
        let same = [write("b", "delete", json!({})), write("a", "create", json!({"y": [1, 2], "x": 1}))];
        assert_eq!(writes(&recorded, &same, PLAIN), []);
        let other = [write("a", "create", json!({"x": 1, "y": [1, 3], "z~/": null})), write("c", "patch", json!(1))];
        let [
            Difference::Changed { object, fields, .. },
            Difference::Missing { object: gone, .. },
            Difference::Added { object: new, .. },
        ] = &*writes(&recorded, &other, PLAIN)
        else {
            panic!("{:?}", writes(&recorded, &other, PLAIN))
        };
        assert_eq!([object, gone, new], ["a", "b", "c"]);
        let change = |path: &str, recorded, now| Change { path: path.into(), recorded, now };
        let expected = [change("/y/1", Some(json!(2)), Some(json!(3))), change("/z~0~1", None, Some(Value::Null))];
        assert_eq!(*fields, expected);
    }

    #[test]
    fn metrics_are_compared_as_often_as_they_come() {
        let lines_of = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&lines_of("a b"), &lines_of("a b")), None);
        let found = lines(&lines_of("a a b"), &lines_of("a b c"));
        assert_eq!(found, Some(Difference::Metrics { recorded: lines_of("a"), now: lines_of("c") }));
    }
}

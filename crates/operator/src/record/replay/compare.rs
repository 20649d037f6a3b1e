//! The differences between a record and a replay: calls, writes, fields.

use std::{collections::BTreeMap, fmt};

use boathook_core::model::{CallError, CallReason, EmitEvent, HttpReason, ObjectRef, Operation, PatchBody, READING};
use serde::Serialize;
use serde_json::Value;

use crate::record::{
    Answer, Call, RecordedAnswer, Request,
    secrets::{Key, reconcile},
};

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The position of the field, as a JSON pointer.
    pub path: String,
    /// The recorded value. Absent if the field was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Value>,
    /// The value now. Absent if the field is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Value>,
}

/// Something that a run did differently from the recorded run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "difference", rename_all = "kebab-case")]
pub enum Difference {
    /// A call that differs, is new, or is missing.
    Call {
        /// The number of the call, counted from 1.
        number: usize,
        /// The recorded call. Absent if the recorded run had no more calls.
        recorded: Option<Box<Request>>,
        /// The call now. Absent if the run ended.
        now: Option<Box<Request>>,
        /// The fields in which two calls of one kind differ.
        fields: Vec<Change>,
    },
    /// A write of the same object with another content.
    Changed {
        /// For example `v1 Secret a/b`.
        object: String,
        /// `create`, `update`, `patch`, `delete`, `emit-event` or `http`.
        verb: String,
        /// The fields that differ.
        fields: Vec<Change>,
    },
    /// A write that is missing now.
    Missing {
        /// For example `v1 Secret a/b`.
        object: String,
        /// As in `Changed`.
        verb: String,
        /// The recorded write.
        recorded: Value,
    },
    /// A write that is new.
    Added {
        /// For example `v1 Secret a/b`.
        object: String,
        /// As in `Changed`.
        verb: String,
        /// The write now.
        now: Value,
    },
    /// A write that the hook's permissions allow in only one version.
    Permission {
        /// For example `v1 Secret a/b`.
        object: String,
        /// As in `Changed`.
        verb: String,
        /// The recorded error. Absent if the write was allowed.
        #[serde(skip_serializing_if = "Option::is_none")]
        recorded: Option<String>,
        /// The error now. Absent if the write is allowed.
        #[serde(skip_serializing_if = "Option::is_none")]
        now: Option<String>,
    },
    /// The run ended differently.
    Outcome {
        /// `success`, or the failure.
        recorded: String,
        /// `success`, or the failure.
        now: String,
    },
    /// The answer differs.
    Answer {
        /// The fields that differ.
        fields: Vec<Change>,
    },
    /// The metrics differ.
    Metrics {
        /// Lines that are missing now.
        recorded: Vec<String>,
        /// Lines that are new.
        now: Vec<String>,
    },
}

/// How to compare values of Secrets that were replaced in the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Secrets<'a> {
    /// The key of the placeholders.
    pub key: Option<&'a Key>,
    /// Whether the run made values from random numbers that were not recorded.
    pub made: bool,
}

/// Checks that a call is the recorded one: the same text, or JSON with the same meaning. The error contains the fields
/// that differ.
pub(super) fn same_call(recorded: &Request, now: &Request, secrets: Secrets<'_>) -> Result<(), Vec<Change>> {
    if recorded == now {
        return Ok(());
    }
    let changes = diff(&readable(recorded), readable(now), secrets);
    if changes.is_empty() { Ok(()) } else { Err(changes) }
}

/// Compares two answers. If one is missing, the difference is in the outcome.
pub(super) fn answers(
    recorded: Option<&RecordedAnswer>,
    now: Option<&RecordedAnswer>,
    secrets: Secrets<'_>,
) -> Option<Difference> {
    let fields = diff(&answer(recorded?), answer(now?), secrets);
    (!fields.is_empty()).then_some(Difference::Answer { fields })
}

/// Compares the writes of each object. The order matters only among the writes of one object.
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

/// Compares two lists of lines, including how often each line occurs.
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

/// Fields of operations that contain JSON as text.
const TEXTS: [&str; 5] = ["object", "json", "merge", "strategic", "patch"];

/// One write in the form that is compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    /// For example `v1 Secret a/b`.
    pub object: String,
    pub verb: &'static str,
    /// The operation, with its object as JSON.
    pub body: Value,
    /// The error that the hook received, if its permissions do not allow the write.
    pub refused: Option<String>,
    /// The object in the answer to a write that is no deletion.
    pub stored: Option<String>,
}

impl Written {
    fn of_operation(operation: &Operation, answer: Option<&Result<Option<String>, CallError>>) -> Self {
        let refused = refusal(answer.and_then(|answer| answer.as_ref().err()));
        let stored = match (operation, answer) {
            // The answer to a deletion is the object that goes.
            (Operation::Delete(_), _) => None,
            (_, Some(Ok(stored))) => stored.clone(),
            _ => None,
        };
        Self { object: object(operation), verb: verb(operation), body: readable(operation), refused, stored }
    }

    fn of_event(event: &EmitEvent, error: Option<&CallError>) -> Self {
        let refused = refusal(error);
        Self { object: event.regarding.to_string(), verb: "emit-event", body: readable(event), refused, stored: None }
    }
}

fn refusal(error: Option<&CallError>) -> Option<String> {
    error.filter(|error| error.reason == CallReason::ForbiddenByGrant).map(|error| error.message.clone())
}

/// Lists all writes among the calls, in order.
pub(super) fn made(calls: &[Call]) -> Vec<Written> {
    calls.iter().flat_map(of_call).collect()
}

fn of_call(Call { request, answer }: &Call) -> Vec<Written> {
    match (request, answer) {
        (Request::EmitEvent { event }, Some(Answer::Emitted(Err(error)))) => {
            vec![Written::of_event(event, Some(error))]
        }
        (Request::EmitEvent { event }, _) => vec![Written::of_event(event, None)],
        (Request::Http { request }, answer) if !READING.contains(&request.method.as_str()) => {
            let refused = match answer {
                Some(Answer::Http(Err(error))) if error.reason == HttpReason::Denied => Some(error.message.clone()),
                _ => None,
            };
            let object = request.url.split('?').next().unwrap_or_default().to_owned();
            vec![Written { object, verb: "http", body: readable(request), refused, stored: None }]
        }
        (Request::Write { operation, .. }, Some(Answer::Written(answer))) => {
            vec![Written::of_operation(operation, Some(answer))]
        }
        (Request::Batch { operations, .. }, Some(Answer::Batch(answers))) => {
            let pairs = operations.iter().zip(answers);
            pairs.map(|(operation, answer)| Written::of_operation(operation, Some(answer))).collect()
        }
        (request, _) => request.operations().iter().map(|operation| Written::of_operation(operation, None)).collect(),
    }
}

/// An answer with its objects as JSON.
pub(super) fn answer(answer: &RecordedAnswer) -> Value {
    let json = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
    match answer {
        RecordedAnswer::Review { .. } => readable(answer),
        RecordedAnswer::Objects { objects } => objects.iter().map(json).collect(),
        RecordedAnswer::Reconciled { children, status, .. } => {
            let mut value = readable(answer);
            if let Some(fields) = value.as_object_mut() {
                fields.insert("children".to_owned(), by_name(children.iter().map(json)));
                fields.extend(status.as_ref().map(|status| ("status".to_owned(), json(status))));
            }
            value
        }
    }
}

/// Children by their names, because their order in an answer decides nothing.
fn by_name(children: impl Iterator<Item = Value>) -> Value {
    let (mut named, mut counts) = (serde_json::Map::new(), BTreeMap::<String, usize>::new());
    for child in children {
        let name = ObjectRef::of(&child).to_string();
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        named.insert(if *count == 1 { name } else { format!("{name} #{count}") }, child);
    }
    Value::Object(named)
}

/// A text that is equal for equal requests, however their JSON is formatted.
pub(super) fn canonical(value: &impl serde::Serialize) -> String {
    let mut value = readable(value);
    value.sort_all_objects();
    value.to_string()
}

/// The verb and the object. Writes that share them count as the same write with other content.
pub(super) fn place(operation: &Operation) -> String {
    format!("{} {}", verb(operation), object(operation))
}

fn readable(value: &impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    unfold(&mut value);
    value
}

fn unfold(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if TEXTS.contains(&key.as_str()) => {
                        if let Ok(inner) = serde_json::from_str(text) {
                            *value = inner;
                        }
                    }
                    value => unfold(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(unfold),
        _ => {}
    }
}

fn verb(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create(_) => "create",
        Operation::Update(_) => "update",
        Operation::Patch(patch) if matches!(patch.body, PatchBody::Apply { .. }) => "apply",
        Operation::Patch(_) => "patch",
        Operation::Delete(_) => "delete",
    }
}

fn object(operation: &Operation) -> String {
    match operation {
        Operation::Create(create) => match &create.subresource {
            Some((_, target)) => target.to_string(),
            None => written(&create.object),
        },
        Operation::Update(update) => written(&update.object),
        Operation::Patch(patch) => patch.target.to_string(),
        Operation::Delete(delete) => delete.target.to_string(),
    }
}

fn written(json: &str) -> String {
    let object: Value = serde_json::from_str(json).unwrap_or_default();
    let mut reference = ObjectRef::of(&object);
    if let (true, Some(prefix)) = (reference.name.is_empty(), object.pointer("/metadata/generateName")) {
        reference.name = format!("{}*", prefix.as_str().unwrap_or_default());
    }
    reference.to_string()
}

/// The maximum length of a value that is shown completely.
const LONGEST: usize = 400;

/// The text contains no control characters, because hooks wrote the values and the text goes to a terminal.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { number, recorded: Some(recorded), now: Some(now), fields } => {
                writeln!(f, "call {number} is another one")?;
                if recorded.name() == now.name() && !fields.is_empty() {
                    writeln!(f, "    {}", recorded.name())?;
                    return changes(f, fields);
                }
                writeln!(f, "    - {}\n    + {}", call(recorded), call(now))
            }
            Self::Call { number, recorded: Some(recorded), now: None, .. } => {
                writeln!(f, "the run ended before call {number}\n    - {}", call(recorded))
            }
            Self::Call { number, now, .. } => {
                let now = now.as_deref().map(call).unwrap_or_default();
                writeln!(f, "call {number} was not made when this was recorded\n    + {now}")
            }
            Self::Changed { object, verb, fields } => {
                writeln!(f, "{verb} {} is another one", plain(object))?;
                changes(f, fields)
            }
            Self::Missing { object, verb, recorded } => {
                writeln!(f, "{verb} {} is not done any more\n    - {}", plain(object), value(recorded))
            }
            Self::Added { object, verb, now } => {
                writeln!(f, "{verb} {} was not done before\n    + {}", plain(object), value(now))
            }
            Self::Permission { object, verb, recorded, now } => {
                let ended = |refusal: &Option<String>| match refusal {
                    None => "allowed".to_owned(),
                    Some(refusal) => format!("refused: {}", plain(refusal)),
                };
                writeln!(f, "{verb} {} is ruled otherwise by the hook's permissions", plain(object))?;
                writeln!(f, "    - {}\n    + {}", ended(recorded), ended(now))
            }
            Self::Outcome { recorded, now } => {
                writeln!(f, "it ended otherwise\n    - {}\n    + {}", plain(recorded), plain(now))
            }
            Self::Answer { fields } => {
                writeln!(f, "it answered otherwise")?;
                changes(f, fields)
            }
            Self::Metrics { recorded, now } => {
                writeln!(f, "it reported other metrics")?;
                recorded.iter().try_for_each(|line| writeln!(f, "    - {}", plain(line)))?;
                now.iter().try_for_each(|line| writeln!(f, "    + {}", plain(line)))
            }
        }
    }
}

fn changes(f: &mut fmt::Formatter<'_>, changes: &[Change]) -> fmt::Result {
    for Change { path, recorded, now } in changes {
        writeln!(f, "    {}", plain(path))?;
        if let Some(recorded) = recorded {
            writeln!(f, "      - {}", value(recorded))?;
        }
        if let Some(now) = now {
            writeln!(f, "      + {}", value(now))?;
        }
    }
    Ok(())
}

fn call(request: &Request) -> String {
    value(&readable(request))
}

fn value(value: &Value) -> String {
    plain(&value.to_string())
}

fn plain(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST);
    let mut shown = String::new();
    for c in text.get(..end).unwrap_or(text).chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if end < text.len() {
        shown.push_str(&format!("… ({} bytes more)", text.len() - end));
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Secrets<'_> = Secrets { key: None, made: false };

    fn write(object: &str, verb: &'static str, body: Value) -> Written {
        Written { object: object.into(), verb, body, refused: None, stored: None }
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
        // The write is both new and refused.
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

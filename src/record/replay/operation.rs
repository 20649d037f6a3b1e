//! Requests and operations as JSON that can be compared, and what they write to.
//!
//! Never judges what differs.

use serde_json::Value;

use crate::{
    model::{EmitEvent, ObjectRef, Operation, PatchBody},
    record::{Record, RecordedAnswer, Request},
};

/// Fields of operations that hold JSON as text.
const TEXTS: [&str; 5] = ["object", "json", "merge", "strategic", "patch"];

/// One write, as it is compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    /// `v1 Secret a/b`
    pub object: String,
    pub verb: &'static str,
    /// The operation, with its object as JSON.
    pub body: Value,
}

impl Written {
    pub fn of_operation(operation: &Operation) -> Self {
        Self { object: object(operation), verb: verb(operation), body: readable(operation) }
    }

    pub fn of_event(event: &EmitEvent) -> Self {
        Self { object: event.regarding.to_string(), verb: "emit-event", body: readable(event) }
    }
}

/// All writes of a record, in order.
pub(super) fn recorded(record: &Record) -> Vec<Written> {
    record.calls.iter().flat_map(|call| of_request(&call.request)).collect()
}

/// The writes in a request, in order.
pub(super) fn of_request(request: &Request) -> Vec<Written> {
    match request {
        Request::EmitEvent { event } => vec![Written::of_event(event)],
        other => other.operations().iter().map(Written::of_operation).collect(),
    }
}

/// A request with its objects as JSON.
pub(super) fn request(request: &Request) -> Value {
    readable(request)
}

/// An answer with its objects as JSON.
pub(super) fn answer(answer: &RecordedAnswer) -> Value {
    let json = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
    match answer {
        RecordedAnswer::Review { .. } => readable(answer),
        RecordedAnswer::Objects { objects } => objects.iter().map(json).collect(),
    }
}

/// A text that is equal for equal requests, however their JSON is written.
pub(super) fn canonical(value: &impl serde::Serialize) -> String {
    let mut value = readable(value);
    value.sort_all_objects();
    value.to_string()
}

/// Verb and object: writes that share them are taken for the same write with another content.
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
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let generated = || text("/metadata/generateName").map(|prefix| format!("{prefix}*"));
    let reference = ObjectRef {
        api_version: text("/apiVersion").unwrap_or_default(),
        kind: text("/kind").unwrap_or_default(),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name").or_else(generated).unwrap_or_default(),
    };
    reference.to_string()
}

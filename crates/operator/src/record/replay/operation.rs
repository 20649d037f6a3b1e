//! Requests and operations as JSON that can be compared, and the objects that they write.

use boathook_core::model::{CallError, CallReason, EmitEvent, ObjectRef, Operation, PatchBody};
use serde_json::Value;

use crate::record::{Answer, Call, RecordedAnswer, Request};

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
}

impl Written {
    fn of_operation(operation: &Operation, error: Option<&CallError>) -> Self {
        let refused = refusal(error);
        Self { object: object(operation), verb: verb(operation), body: readable(operation), refused }
    }

    fn of_event(event: &EmitEvent, error: Option<&CallError>) -> Self {
        let refused = refusal(error);
        Self { object: event.regarding.to_string(), verb: "emit-event", body: readable(event), refused }
    }
}

fn refusal(error: Option<&CallError>) -> Option<String> {
    error.filter(|error| error.reason == CallReason::ForbiddenByGrant).map(|error| error.message.clone())
}

/// Lists all writes among the calls, in order.
pub(super) fn writes(calls: &[Call]) -> Vec<Written> {
    calls.iter().flat_map(of_call).collect()
}

fn of_call(Call { request, answer }: &Call) -> Vec<Written> {
    match (request, answer) {
        (Request::EmitEvent { event }, Some(Answer::Emitted(Err(error)))) => {
            vec![Written::of_event(event, Some(error))]
        }
        (Request::EmitEvent { event }, _) => vec![Written::of_event(event, None)],
        (Request::Write { operation }, Some(Answer::Written(answer))) => {
            vec![Written::of_operation(operation, answer.as_ref().err())]
        }
        (Request::Batch { operations }, Some(Answer::Batch(answers))) => {
            let pairs = operations.iter().zip(answers);
            pairs.map(|(operation, answer)| Written::of_operation(operation, answer.as_ref().err())).collect()
        }
        (request, _) => request.operations().iter().map(|operation| Written::of_operation(operation, None)).collect(),
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

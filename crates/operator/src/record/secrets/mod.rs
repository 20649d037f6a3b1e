//! Removes the values of Secrets from a record in such a way that it can still be replayed. Each value becomes a
//! placeholder, and the same value becomes the same placeholder everywhere.

mod placeholder;
mod reconcile;
mod scrub;
mod walk;

pub use placeholder::Key;
pub(super) use reconcile::reconcile;
pub use scrub::SHORTEST;

use boathook_core::model::{BindingName, CallError, HookSpec, KubernetesBinding, Operation, PatchBody};
use serde_json::Value;

use super::{
    content::{Answer, Record, Request},
    question::{Asks, RecordedAnswer, RecordedQuestion},
    trigger::{RecordedCause, RecordedItem},
};
use scrub::Scrubber;
use walk::Pass;

/// The bindings of a hook that match Secrets.
pub fn bindings_of_secrets(spec: &HookSpec) -> Vec<BindingName> {
    let of_secrets =
        |binding: &&KubernetesBinding| matches!(binding.kind.to_lowercase().as_str(), "secret" | "secrets");
    spec.kubernetes.iter().filter(of_secrets).map(|binding| binding.name.clone()).collect()
}

/// Replaces the values of Secrets. `bindings` match Secrets, so the results of their filters are replaced, too, except
/// for what is known to be public.
pub fn redact(mut record: Record, key: &Key, bindings: &[BindingName]) -> Result<Record, serde_json::Error> {
    let mut pass = Pass::new(key);
    inputs(&mut record, &mut pass, bindings);
    let made = calls(&mut record, &mut pass) | answer(&mut record, &mut pass);
    if made {
        record.ambient.random = None;
    }
    record.header.redacted = true;
    match Scrubber::new(&pass.replaced) {
        Some(scrubber) => scrubbed(record, &scrubber),
        None => Ok(record),
    }
}

fn inputs(record: &mut Record, pass: &mut Pass<'_>, bindings: &[BindingName]) {
    for trigger in &mut record.triggers {
        let RecordedCause::Event(event) = &mut trigger.cause else { continue };
        event.previous_object.iter_mut().for_each(|object| pass.json(object));
        let secret = event.resource.kind == "Secret" && event.resource.group.is_empty();
        if secret && let Some(result) = &mut event.previous_filter_result {
            let RecordedItem { name, namespace, uid, .. } = &event.item;
            pass.filter_result(result, &[name, namespace.as_deref().unwrap_or_default(), uid]);
        }
        item(&mut event.item, pass, secret);
    }
    let asked = record.question.as_mut().map(RecordedQuestion::texts).into_iter().flatten();
    asked.for_each(|text| pass.json(text));
    for snapshot in &mut record.snapshots {
        let secret = bindings.contains(&(&snapshot.binding).into());
        snapshot.items.iter_mut().flatten().for_each(|one| item(one, pass, secret));
    }
}

fn item(item: &mut RecordedItem, pass: &mut Pass<'_>, secret: bool) {
    item.object.iter_mut().for_each(|object| pass.json(object));
    let RecordedItem { namespace, name, uid, filter_result, .. } = item;
    match filter_result {
        Some(result) if secret => pass.filter_result(result, &[name, namespace.as_deref().unwrap_or_default(), uid]),
        Some(result) => pass.json(result),
        None => {}
    }
}

/// Replaces values in calls. Returns whether the run wrote a value into a Secret that it had not read.
fn calls(record: &mut Record, pass: &mut Pass<'_>) -> bool {
    let mut made = false;
    for call in &mut record.calls {
        pass.found_new = false;
        match &mut call.request {
            Request::Write { operation: op } => operation(op, pass),
            Request::Batch { operations } => operations.iter_mut().for_each(|op| operation(op, pass)),
            _ => {}
        }
        made |= pass.found_new;
        pass.found_new = false;
        let programs = call.request.operations().iter().any(is_program);
        match &mut call.answer {
            Some(Answer::Object(Ok(object)) | Answer::Written(Ok(Some(object)))) => pass.json(object),
            Some(Answer::Page(Ok(page))) => page.items.iter_mut().for_each(|object| pass.json(object)),
            Some(Answer::Batch(answers)) => answers.iter_mut().for_each(|answer| match answer {
                Ok(Some(object)) => pass.json(object),
                Ok(None) => {}
                Err(failure) => error(failure, pass),
            }),
            Some(
                Answer::Object(Err(failure))
                | Answer::Page(Err(failure))
                | Answer::Written(Err(failure))
                | Answer::Emitted(Err(failure)),
            ) => error(failure, pass),
            _ => {}
        }
        made |= programs && pass.found_new;
    }
    made
}

/// Replaces values in the answer. Returns whether it contains a value of a Secret that was not in the question.
fn answer(record: &mut Record, pass: &mut Pass<'_>) -> bool {
    pass.found_new = false;
    let of_secret = record.question.as_ref().is_some_and(about_secret);
    match &mut record.end.answer {
        Some(RecordedAnswer::Review { patch, object, .. }) => {
            patch.iter_mut().for_each(|patch| if of_secret { pass.secret(patch) } else { pass.json(patch) });
            object.iter_mut().for_each(|object| pass.json(object));
        }
        Some(RecordedAnswer::Objects { objects }) => objects.iter_mut().for_each(|object| pass.json(object)),
        None => {}
    }
    pass.found_new
}

/// Whether a review is about a Secret. Its patch alone does not show that.
fn about_secret(question: &RecordedQuestion) -> bool {
    let (Asks::Validating { request } | Asks::Mutating { request }) = &question.asks else { return false };
    let kind = serde_json::from_str::<Value>(request).map(|request| request.pointer("/kind/kind").cloned());
    // If the kind cannot be read, assume a Secret.
    kind.map_or(true, |kind| kind.as_ref().and_then(Value::as_str) == Some("Secret"))
}

/// What the program makes of a Secret is only in the answer.
fn is_program(operation: &Operation) -> bool {
    matches!(operation, Operation::Patch(patch) if patch.target.kind == "Secret" && matches!(patch.body, PatchBody::Jq(_)))
}

fn error(failure: &mut CallError, pass: &mut Pass<'_>) {
    failure.status.iter_mut().for_each(|status| pass.json(status));
}

fn operation(operation: &mut Operation, pass: &mut Pass<'_>) {
    match operation {
        Operation::Create(create) => pass.json(&mut create.object),
        Operation::Update(update) => pass.json(&mut update.object),
        Operation::Patch(patch) => {
            let secret = patch.target.kind == "Secret";
            match &mut patch.body {
                PatchBody::Json(body) | PatchBody::Merge(body) | PatchBody::Strategic(body) if secret => {
                    pass.secret(body);
                }
                PatchBody::Json(body) | PatchBody::Merge(body) | PatchBody::Strategic(body) => pass.json(body),
                PatchBody::Apply { object, .. } => pass.json(object),
                // The values are in the answer, and are replaced there.
                PatchBody::Jq(_) => {}
            }
        }
        Operation::Delete(_) => {}
    }
}

fn scrubbed(record: Record, scrubber: &Scrubber) -> Result<Record, serde_json::Error> {
    let header = record.header.clone();
    let mut value = serde_json::to_value(record)?;
    if let Value::Object(parts) = &mut value {
        parts.iter_mut().filter(|(part, _)| *part != "header").for_each(|(_, part)| scrubber.value(part));
    }
    Ok(Record { header, ..serde_json::from_value(value)? })
}

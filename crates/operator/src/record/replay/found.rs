//! Finds the answer to a call in a record, in whatever order calls come. A read that was not recorded gets an error.

use std::collections::{HashMap, VecDeque};

use boathook_core::model::{CallError, CallReason, Operation, PatchBody};
use boathook_sandbox::Written;

use super::{
    Refuses,
    operation::{canonical, place},
};
use crate::record::{Answer, Call, Record, Request};

/// The answers of a record. The answer to a write is given once, and the last answer to a read is repeated. Refusals by
/// permissions are left out, because the permissions of the new component decide.
#[derive(Default)]
pub(super) struct Found {
    /// Answers to reads, Events and the like, by request.
    answers: HashMap<String, VecDeque<Answer>>,
    /// Writes by operation.
    exact: HashMap<String, VecDeque<usize>>,
    /// Writes by verb and object.
    alike: HashMap<String, VecDeque<usize>>,
    /// Writes that were not used yet.
    writes: Vec<Option<Written>>,
}

impl Found {
    pub fn new(record: &Record) -> Self {
        let mut found = Self::default();
        for Call { request, answer } in &record.calls {
            match (request, answer) {
                (_, Some(Answer::Object(Err(error)) | Answer::Page(Err(error)) | Answer::Emitted(Err(error))))
                    if error.reason == CallReason::ForbiddenByGrant => {}
                (Request::Write { operation }, Some(Answer::Written(written))) => found.write(operation, written),
                (Request::Batch { operations }, Some(Answer::Batch(answers))) => {
                    operations.iter().zip(answers).for_each(|(operation, written)| found.write(operation, written));
                }
                (request, Some(answer)) => {
                    found.answers.entry(canonical(request)).or_default().push_back(answer.clone());
                }
                (_, None) => {}
            }
        }
        found
    }

    fn write(&mut self, operation: &Operation, written: &Written) {
        if written.as_ref().is_err_and(|error| error.reason == CallReason::ForbiddenByGrant) {
            return;
        }
        let index = self.writes.len();
        self.writes.push(Some(written.clone()));
        self.exact.entry(canonical(operation)).or_default().push_back(index);
        self.alike.entry(place(operation)).or_default().push_back(index);
    }

    /// Returns the recorded answer, or one that is as close to it as possible. `refuses` says what the host would
    /// refuse.
    pub fn answer(&mut self, request: &Request, refuses: &Refuses) -> Answer {
        match request {
            Request::Write { operation } => Answer::Written(self.written(operation, refuses)),
            Request::Batch { operations } => {
                Answer::Batch(operations.iter().map(|operation| self.written(operation, refuses)).collect())
            }
            other => match (other, refuses(other)) {
                (Request::Get { .. }, Some(refusal)) => Answer::Object(Err(refusal)),
                (Request::List { .. }, Some(refusal)) => Answer::Page(Err(refusal)),
                (Request::EmitEvent { .. }, Some(refusal)) => Answer::Emitted(Err(refusal)),
                (other, _) => self.other(other),
            },
        }
    }

    fn written(&mut self, operation: &Operation, refuses: &Refuses) -> Written {
        if let Some(refusal) = refuses(&Request::Write { operation: operation.clone() }) {
            return Err(refusal);
        }
        let exact = take(&mut self.exact, &canonical(operation), &mut self.writes);
        let found = exact.or_else(|| take(&mut self.alike, &place(operation), &mut self.writes));
        found.unwrap_or_else(|| Ok(sent(operation)))
    }

    fn other(&mut self, request: &Request) -> Answer {
        if let Some(answers) = self.answers.get_mut(&canonical(request)) {
            // The last answer also serves all further reads.
            let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
            if let Some(answer) = next {
                return answer;
            }
        }
        let unknown = |what: String| CallError {
            reason: CallReason::Other,
            message: format!("{what} is not in the record: the recorded run did not ask for it"),
            code: None,
            status: None,
        };
        match request {
            Request::Get { target, subresource } => {
                let of = subresource.as_ref().map(|name| format!("{name} of ")).unwrap_or_default();
                Answer::Object(Err(unknown(format!("get {of}{target}"))))
            }
            Request::List { query } => {
                Answer::Page(Err(unknown(format!("this list of {} {}", query.api_version, query.kind))))
            }
            Request::EmitEvent { .. } => Answer::Emitted(Ok(())),
            Request::Metric { .. } => Answer::Metric(Ok(())),
            Request::Write { .. } | Request::Batch { .. } | Request::Open { .. } => Answer::Opened,
        }
    }
}

fn take(index: &mut HashMap<String, VecDeque<usize>>, key: &str, writes: &mut [Option<Written>]) -> Option<Written> {
    let places = index.get_mut(key)?;
    while let Some(place) = places.pop_front() {
        if let Some(written) = writes.get_mut(place).and_then(Option::take) {
            return Some(written);
        }
    }
    None
}

/// The answer as if the server had stored the object that was sent.
fn sent(operation: &Operation) -> Option<String> {
    match operation {
        Operation::Create(create) => Some(create.object.clone()),
        Operation::Update(update) => Some(update.object.clone()),
        Operation::Patch(patch) => match &patch.body {
            PatchBody::Apply { object, .. } => Some(object.clone()),
            _ => None,
        },
        Operation::Delete(_) => None,
    }
}

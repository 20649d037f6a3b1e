//! The accesses that recorded calls needed.

use boathook_core::model::CallError;
use boathook_operator::record::{Answer, Call, Request};

use super::Calls;

impl Calls {
    /// Notes the accesses that a call needed.
    pub fn recorded(&mut self, call: &Call) {
        let answer = call.answer.as_ref();
        match &call.request {
            Request::Get { target, subresource } => self.got(target, subresource.as_deref(), answer.and_then(error)),
            Request::List { query } => self.listed(query, answer.and_then(error)),
            Request::Write { operation, .. } => self.wrote(operation, answer.and_then(error)),
            Request::Batch { operations, .. } => {
                let answers: &[_] = if let Some(Answer::Batch(answers)) = answer { answers } else { &[] };
                for (index, operation) in operations.iter().enumerate() {
                    self.wrote(operation, answers.get(index).and_then(|answer| answer.as_ref().err()));
                }
            }
            Request::EmitEvent { event } => self.emitted(event, answer.and_then(error)),
            Request::Http { .. }
            | Request::Resolve { .. }
            | Request::Kinds
            | Request::Allowed { .. }
            | Request::Metric { .. }
            | Request::Open { .. } => {}
        }
    }
}

fn error(answer: &Answer) -> Option<&CallError> {
    match answer {
        Answer::Object(answer) => answer.as_ref().err(),
        Answer::Page(answer) => answer.as_ref().err(),
        Answer::Written(answer) => answer.as_ref().err(),
        Answer::Emitted(answer) => answer.as_ref().err(),
        Answer::Batch(_)
        | Answer::Http(_)
        | Answer::Resolved(_)
        | Answer::Kinds(_)
        | Answer::Allowed(_)
        | Answer::Metric(_)
        | Answer::Opened => None,
    }
}

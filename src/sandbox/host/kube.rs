//! `kube`: the Kubernetes API. Each call is taken from the budget, handed to [`Host`](super::Host),
//! and its answer is taken from the budget too.
//!
//! Never sees a client, a token or a grant.

use super::{Written, len};
use crate::{
    model::{CallError, EmitEvent, Limit, Page},
    sandbox::{
        bindings::boathook::hook::kube::{self, Failure},
        convert,
        limits::Reached,
        store::State,
    },
};

/// What is said of a call whose answer is over the budget.
const DONE: &str = "was done, but its answer does not fit";

type Answer<T> = wasmtime::Result<Result<T, Failure>>;

impl State {
    /// Takes the call, or answers that the budget does not cover it.
    fn admit(&mut self, call: &'static str, calls: usize, bytes: usize) -> Answer<()> {
        match self.budget.take(calls as u64, bytes) {
            Ok(()) => {
                self.waiting_in = Some(call);
                Ok(Ok(()))
            }
            Err(reached) => self.refuse(call, "was not done", reached).map(Err),
        }
    }

    /// Takes the answer, or answers that the budget does not cover it.
    fn answer<T>(&mut self, call: &'static str, answer: Result<T, CallError>, cost: fn(&T) -> usize) -> Answer<T> {
        self.waiting_in = None;
        match self.budget.take_bytes(answer.as_ref().map_or_else(error_bytes, cost)) {
            Ok(()) => Ok(answer.map_err(convert::call_error)),
            Err(reached) => self.refuse(call, DONE, reached).map(Err),
        }
    }

    /// As [`Self::answer`], for many; a batch is refused once, however many answers do not fit.
    fn answers(&mut self, answers: Vec<Written>) -> wasmtime::Result<Vec<Result<Option<String>, Failure>>> {
        self.waiting_in = None;
        let mut refusal: Option<Failure> = None;
        let mut taken = Vec::with_capacity(answers.len());
        for answer in answers {
            let bytes = answer.as_ref().map_or_else(error_bytes, |object| len(object.as_ref()));
            taken.push(match (self.budget.take_bytes(bytes), &refusal) {
                (Ok(()), _) => answer.map_err(convert::call_error),
                (Err(_), Some(failure)) => Err(failure.clone()),
                (Err(reached), None) => Err(refusal.insert(self.refuse("kube.batch", DONE, reached)?).clone()),
            });
        }
        Ok(taken)
    }

    fn refuse(&mut self, call: &'static str, what: &str, reached: Reached) -> wasmtime::Result<Failure> {
        let limit = self.budget.refuse(reached)?;
        Ok(Failure {
            reason: kube::Reason::BudgetExceeded,
            message: format!("{call} {what}: {}", self.bounds.explain(limit)),
            code: None,
            status: None,
        })
    }
}

fn error_bytes(error: &CallError) -> usize {
    error.message.len() + len(error.status.as_ref())
}

fn page_bytes(page: &Page) -> usize {
    page.items.iter().map(String::len).sum::<usize>() + len(page.continue_token.as_ref()) + page.resource_version.len()
}

fn query_bytes(query: &kube::ListQuery) -> usize {
    let options = [&query.namespace, &query.label_selector, &query.field_selector, &query.continue_];
    query.api_version.len() + query.kind.len() + options.iter().map(|text| len(text.as_ref())).sum::<usize>()
}

impl kube::Host for State {
    async fn get(&mut self, target: kube::ObjectRef, subresource: Option<String>) -> Answer<String> {
        let target = convert::object_ref(target);
        if let Err(refusal) = self.admit("kube.get", 1, convert::ref_bytes(&target) + len(subresource.as_ref()))? {
            return Ok(Err(refusal));
        }
        let answer = self.host.get(&self.caller, target, subresource).await;
        self.answer("kube.get", answer, String::len)
    }

    async fn list(&mut self, query: kube::ListQuery) -> Answer<kube::Page> {
        if let Err(refusal) = self.admit("kube.list", 1, query_bytes(&query))? {
            return Ok(Err(refusal));
        }
        let answer = self.host.list(&self.caller, convert::list_query(query)).await;
        Ok(self.answer("kube.list", answer, page_bytes)?.map(convert::page))
    }

    async fn write(&mut self, operation: kube::Operation) -> Answer<Option<String>> {
        let operation = convert::operation(operation);
        if let Err(refusal) = self.admit("kube.write", 1, convert::operation_bytes(&operation))? {
            return Ok(Err(refusal));
        }
        let answer = self.host.write(&self.caller, operation).await;
        self.answer("kube.write", answer, |object| len(object.as_ref()))
    }

    async fn batch(
        &mut self,
        operations: Vec<kube::Operation>,
    ) -> wasmtime::Result<Vec<Result<Option<String>, Failure>>> {
        let count = operations.len();
        if count as u64 > self.bounds.limits().host_calls {
            // Not even an untouched budget covers it, and as many errors would be a flood too.
            return Err(Reached(Limit::HostCalls).into());
        }
        let operations: Vec<_> = operations.into_iter().map(convert::operation).collect();
        let bytes = operations.iter().map(convert::operation_bytes).sum();
        if let Err(refusal) = self.admit("kube.batch", count.max(1), bytes)? {
            return Ok(vec![Err(refusal); count]);
        }
        let answers = self.host.batch(&self.caller, operations).await;
        self.answers(answers)
    }

    async fn emit_event(
        &mut self,
        regarding: kube::ObjectRef,
        event_type: kube::EventType,
        reason: String,
        note: String,
    ) -> Answer<()> {
        let regarding = convert::object_ref(regarding);
        let bytes = convert::ref_bytes(&regarding) + reason.len() + note.len();
        if let Err(refusal) = self.admit("kube.emit-event", 1, bytes)? {
            return Ok(Err(refusal));
        }
        let event = EmitEvent { regarding, event_type: convert::event_type(event_type), reason, note };
        let answer = self.host.emit_event(&self.caller, event).await;
        self.answer("kube.emit-event", answer, |()| 0)
    }
}

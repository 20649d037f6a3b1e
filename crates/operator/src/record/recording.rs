//! A host that notes what passes between a run and the operator. It passes each call on, and answers none itself.

use std::sync::Arc;

use boathook_core::model::{
    BindingName, CallError, Caller, EmitEvent, HookName, Items, ListQuery, MetricSample, Moment, ObjectRef, Operation,
    Page,
};
use boathook_sandbox::{Ambient, Host, Written};
use futures::{FutureExt as _, future::BoxFuture};
use tracing::Level;

use super::{
    content::{Answer, Request},
    tape::{Notes, Tape, sample_line},
};

/// The host of one run, with a tape.
pub struct Recording {
    host: Arc<dyn Host>,
    tape: Arc<Tape>,
}

impl Recording {
    /// Notes at most `bound` bytes, not counting snapshots.
    pub(super) fn new(host: Arc<dyn Host>, bound: usize) -> Self {
        Self { host, tape: Arc::new(Tape::new(bound)) }
    }

    /// Takes the notes.
    pub(super) fn take(&self) -> Notes {
        self.tape.take()
    }
}

impl Host for Recording {
    fn get<'a>(
        &'a self,
        caller: &'a Caller,
        target: ObjectRef,
        subresource: Option<String>,
    ) -> BoxFuture<'a, Result<String, CallError>> {
        async move {
            let call = self.tape.asked(Request::Get { target: target.clone(), subresource: subresource.clone() });
            let answer = self.host.get(caller, target, subresource).await;
            self.tape.answered(call, || Answer::Object(answer.clone()));
            answer
        }
        .boxed()
    }

    fn list<'a>(&'a self, caller: &'a Caller, query: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        async move {
            let call = self.tape.asked(Request::List { query: query.clone() });
            let answer = self.host.list(caller, query).await;
            self.tape.answered(call, || Answer::Page(answer.clone()));
            answer
        }
        .boxed()
    }

    fn write<'a>(&'a self, caller: &'a Caller, operation: Operation) -> BoxFuture<'a, Written> {
        async move {
            let call = self.tape.asked(Request::Write { operation: operation.clone() });
            let answer = self.host.write(caller, operation).await;
            self.tape.answered(call, || Answer::Written(answer.clone()));
            answer
        }
        .boxed()
    }

    fn batch<'a>(&'a self, caller: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        async move {
            let call = self.tape.asked(Request::Batch { operations: operations.clone() });
            let answers = self.host.batch(caller, operations).await;
            self.tape.answered(call, || Answer::Batch(answers.clone()));
            answers
        }
        .boxed()
    }

    fn emit_event<'a>(&'a self, caller: &'a Caller, event: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            let call = self.tape.asked(Request::EmitEvent { event: event.clone() });
            let answer = self.host.emit_event(caller, event).await;
            self.tape.answered(call, || Answer::Emitted(answer.clone()));
            answer
        }
        .boxed()
    }

    fn moment(&self, hook: &HookName) -> Moment {
        self.host.moment(hook)
    }

    fn check_metric(&self, caller: &Caller, sample: &MetricSample, in_run: usize) -> Result<(), String> {
        let call = self.tape.asked(Request::Metric { sample: sample_line(sample) });
        let answer = self.host.check_metric(caller, sample, in_run);
        self.tape.answered(call, || Answer::Metric(answer.clone()));
        answer
    }

    fn opened(&self, binding: &BindingName, items: Option<&Items>) {
        self.tape.opened(binding, items);
        self.host.opened(binding, items);
    }

    fn logged(&self, level: Level, message: &str, fields: &str) {
        self.tape.logged(level, message, fields);
        self.host.logged(level, message, fields);
    }

    fn ambient(&self) -> Option<Arc<dyn Ambient>> {
        Some(self.tape.clone())
    }
}

//! `kube`: the Kubernetes API. Each call is taken from the budget and passed to [`Host`](crate::Host), and its answer
//! is taken from the budget too. No client, token or grant is visible here.

use boathook_core::model::{CallError, EmitEvent, Limit, Operation, Page};

use super::{convert, len};
use crate::{
    Written,
    error::Reached,
    store::State,
    wit::boathook::hook::kube::{self, Failure},
};

/// The message for a call whose answer is over the budget.
const DONE: &str = "was done, but its answer does not fit";

type Answer<T> = wasmtime::Result<Result<T, Failure>>;

impl State {
    /// Takes the call from the budget. If the budget does not cover it, returns the failure for the guest.
    fn admit(&mut self, call: &'static str, calls: usize, bytes: usize) -> Answer<()> {
        match self.budget.take(calls as u64, bytes) {
            Ok(()) => {
                self.begin_call(bytes + calls * size_of::<Operation>())?;
                self.waiting_in = Some(call);
                Ok(Ok(()))
            }
            Err(reached) => self.refuse(call, "was not done", reached).map(Err),
        }
    }

    /// Takes the answer from the budget. If the budget does not cover it, returns the failure for the guest.
    fn answer<T>(&mut self, call: &'static str, answer: Result<T, CallError>, cost: fn(&T) -> usize) -> Answer<T> {
        self.waiting_in = None;
        match self.budget.take_bytes(answer.as_ref().map_or_else(error_bytes, cost)) {
            Ok(()) => Ok(answer.map_err(convert::call_error)),
            Err(reached) => self.refuse(call, DONE, reached).map(Err),
        }
    }

    /// Like [`Self::answer`], for a batch. A batch counts as one refusal, however many answers do not fit.
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
        let writer = self.writer();
        let answer = self.host.write(writer.as_ref().unwrap_or(&self.caller), operation).await;
        self.answer("kube.write", answer, |object| len(object.as_ref()))
    }

    async fn batch(
        &mut self,
        operations: Vec<kube::Operation>,
    ) -> wasmtime::Result<Vec<Result<Option<String>, Failure>>> {
        let count = operations.len();
        if count as u64 > self.bounds.limits().host_calls {
            // Even an unused budget does not cover it, and that many errors would be a flood too.
            return Err(Reached(Limit::HostCalls).into());
        }
        let operations: Vec<_> = operations.into_iter().map(convert::operation).collect();
        let bytes = operations.iter().map(convert::operation_bytes).sum();
        if let Err(refusal) = self.admit("kube.batch", count.max(1), bytes)? {
            return Ok(vec![Err(refusal); count]);
        }
        let writer = self.writer();
        let answers = self.host.batch(writer.as_ref().unwrap_or(&self.caller), operations).await;
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::{Arc, Mutex};

    use boathook_core::model::{
        Caller, HookName, IfExists, Limits, ListQuery, ObjectRef, PatchBody, RunId, SnapshotSet,
    };
    use futures::future::{BoxFuture, FutureExt, ready};

    use super::*;
    use crate::{
        host::Host,
        limits::Bounds,
        output::{Labels, RunLog},
        room::Room,
        snapshots::Readable,
    };

    /// Answers each write with 100 bytes, and remembers it.
    #[derive(Default)]
    struct Writes(Mutex<Vec<Operation>>);

    impl Host for Writes {
        fn get<'a>(
            &'a self,
            _: &'a Caller,
            _: ObjectRef,
            _: Option<String>,
        ) -> BoxFuture<'a, Result<String, CallError>> {
            unreachable!()
        }
        fn list<'a>(&'a self, _: &'a Caller, _: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
            let page = Page {
                items: vec!["1234".into(); 3],
                continue_token: Some("next".into()),
                resource_version: "9".into(),
            };
            ready(Ok(page)).boxed()
        }
        fn write<'a>(&'a self, _: &'a Caller, operation: Operation) -> BoxFuture<'a, Written> {
            self.0.lock().unwrap().push(operation);
            ready(Ok(Some("x".repeat(100)))).boxed()
        }
        fn batch<'a>(&'a self, _: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
            let answers = operations.iter().map(|_| Ok(Some("x".repeat(100)))).collect();
            self.0.lock().unwrap().extend(operations);
            ready(answers).boxed()
        }
        fn emit_event<'a>(&'a self, _: &'a Caller, _: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
            unreachable!()
        }
        fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
            unreachable!()
        }
    }

    fn state(host_calls: u64, host_bytes: u64) -> (State, Arc<Writes>) {
        let hook = HookName::new("h").unwrap();
        let host = Arc::new(Writes::default());
        let caller = Caller::new(hook.clone(), RunId::new("t", 1), Arc::new([]), false);
        let limits = Limits { host_calls, host_bytes, ..Limits::default() };
        let log = Arc::new(RunLog::new(Labels::of_call(hook, caller.run.clone(), "b"), 0));
        let bounds = Bounds::of_config(limits);
        (State::new(host.clone(), caller, bounds, Room::unbounded(), log, Readable::default()), host)
    }

    fn update(bytes: usize) -> kube::Operation {
        kube::Operation::Update(kube::UpdateOp { object: "o".repeat(bytes), subresource: None })
    }

    fn target() -> kube::ObjectRef {
        kube::ObjectRef { api_version: "v1".into(), kind: "Pod".into(), namespace: None, name: "p".into() }
    }

    #[tokio::test]
    async fn a_batch_costs_a_call_for_each_operation() {
        let (mut state, host) = state(5, 10_000);
        let answers = kube::Host::batch(&mut state, vec![update(10); 3]).await.unwrap();
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!((state.budget.calls(), state.budget.bytes()), (3, 3 * (10 + 100)));
        let answers = kube::Host::batch(&mut state, vec![update(10); 3]).await.unwrap();
        assert!(answers.iter().all(|answer| answer.as_ref().unwrap_err().reason == kube::Reason::BudgetExceeded));
        assert_eq!((answers.len(), host.0.lock().unwrap().len()), (3, 3));
    }

    #[tokio::test]
    async fn of_a_batch_those_answers_are_lost_that_do_not_fit() {
        let (mut state, host) = state(5000, 2000 + 250);
        let answers = kube::Host::batch(&mut state, vec![update(1); 2000]).await.unwrap();
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 2);
        let refusal = answers.iter().find_map(|answer| answer.as_ref().err()).unwrap();
        assert!(refusal.message.starts_with("kube.batch was done, but its answer does not fit: limits.hostBytes"));
        assert_eq!(host.0.lock().unwrap().len(), 2000);
    }

    #[tokio::test]
    async fn a_batch_beyond_any_budget_ends_the_run() {
        let (mut state, _) = state(5, 10_000);
        let error = kube::Host::batch(&mut state, vec![update(1); 6]).await.unwrap_err();
        assert_eq!(error.downcast_ref::<Reached>(), Some(&Reached(Limit::HostCalls)));
    }

    #[tokio::test]
    async fn operations_arrive_as_they_were_meant() {
        let (mut state, host) = state(10, 10_000);
        let create = kube::CreateOp {
            object: "{}".into(),
            if_exists: kube::IfExists::Keep,
            subresource: Some(("eviction".into(), target())),
        };
        let options = kube::ApplyOptions { force: true, field_manager: Some("m".into()) };
        let patch = kube::PatchOp {
            target: target(),
            patch: kube::Patch::Apply(("{}".into(), options)),
            subresource: Some("status".into()),
            ignore_missing: true,
        };
        let options = kube::DeleteOptions {
            propagation: kube::Propagation::Orphan,
            ignore_missing: false,
            uid: Some("u".into()),
            resource_version: None,
            wait: Some(1500),
        };
        let delete = kube::DeleteOp { target: target(), options };
        let operations =
            [kube::Operation::Create(create), kube::Operation::Patch(patch), kube::Operation::Delete(delete)];
        for operation in operations {
            kube::Host::write(&mut state, operation).await.unwrap().unwrap();
        }
        let operations = host.0.lock().unwrap();
        let [Operation::Create(create), Operation::Patch(patch), Operation::Delete(delete)] = operations.as_slice()
        else {
            unreachable!("{operations:?}")
        };
        assert_eq!((create.object.as_str(), create.if_exists), ("{}", IfExists::Keep));
        assert_eq!(
            create.subresource.as_ref().map(|(name, target)| (name.as_str(), target.name.as_str())),
            Some(("eviction", "p"))
        );
        assert!(matches!(&patch.body, PatchBody::Apply { force: true, field_manager: Some(name), .. } if name == "m"));
        assert_eq!((patch.subresource.as_deref(), patch.ignore_missing), (Some("status"), true));
        assert_eq!(delete.propagation, boathook_core::model::Propagation::Orphan);
        assert_eq!((delete.uid.as_deref(), delete.wait), (Some("u"), Some(std::time::Duration::from_millis(1500))));
    }

    #[tokio::test]
    async fn a_page_is_counted_and_passed() {
        let (mut state, _) = state(10, 10_000);
        let query = kube::ListQuery {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: Some("n".into()),
            label_selector: None,
            field_selector: None,
            limit: Some(3),
            continue_: None,
        };
        let page = kube::Host::list(&mut state, query).await.unwrap().unwrap();
        assert_eq!(
            (page.items.len(), page.continue_.as_deref(), page.resource_version.as_str()),
            (3, Some("next"), "9")
        );
        assert_eq!(state.budget.bytes(), 6 + 12 + 4 + 1);
    }
}

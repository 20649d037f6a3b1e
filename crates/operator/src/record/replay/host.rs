//! A host that answers a run from a record. It never contacts a cluster, and never makes up an object that nobody
//! wrote.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use boathook_core::model::{
    BindingName, CallError, Caller, EmitEvent, HookName, Item, Items, ListQuery, MetricSample, Moment, ObjectRef,
    Operation, Page,
};
use boathook_sandbox::{Ambient, Host, Written};
use futures::{FutureExt as _, future::BoxFuture};
use tokio::sync::Notify;

use super::{
    Refuses,
    ambient::Replayed,
    compare::{Difference, Secrets, same_call},
    found::Found,
    interrupted,
};
use crate::record::{Answer, Call, Record, Request, secrets::Key, tape::sample_line};

/// How calls are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// In the recorded order. The first call that differs ends the run.
    Exact,
    /// In any order. Each call gets the answer to a similar one.
    Matching,
}

/// The host of one replayed run.
pub(super) struct ReplayHost {
    record: Arc<Record>,
    key: Option<Key>,
    /// What is refused to the new component, if there is one.
    refuses: Option<Arc<Refuses>>,
    moment: Moment,
    ambient: Arc<Replayed>,
    state: Mutex<State>,
    stop: Notify,
}

struct State {
    /// The calls that were made.
    made: Vec<Call>,
    found: Found,
    difference: Option<Difference>,
    /// Whether the run came as far as the recorded one.
    over: bool,
}

/// What the run did.
pub(super) struct Seen {
    pub made: Vec<Call>,
    pub difference: Option<Difference>,
    pub over: bool,
}

impl ReplayHost {
    pub fn new(record: Arc<Record>, key: Option<Key>, refuses: Option<Arc<Refuses>>, ambient: Replayed) -> Self {
        let found = if refuses.is_some() { Found::new(&record) } else { Found::default() };
        let state = State { made: Vec::new(), found, difference: None, over: false };
        Self {
            moment: moment(&record),
            ambient: Arc::new(ambient),
            record,
            key,
            refuses,
            state: Mutex::new(state),
            stop: Notify::new(),
        }
    }

    /// Returns when nothing that the run does can matter any more.
    pub async fn stopped(&self) {
        self.stop.notified().await;
    }

    pub fn seen(&self) -> Seen {
        let mut state = self.lock();
        Seen { made: std::mem::take(&mut state.made), difference: state.difference.take(), over: state.over }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: Request) -> Option<Answer> {
        let mut state = self.lock();
        let answer = match &self.refuses {
            None => self.next(&mut state, &request),
            Some(refuses) => Some(state.found.answer(&request, &**refuses)),
        };
        state.made.push(Call { request, answer: answer.clone() });
        if answer.is_none() || state.over {
            self.stop.notify_one();
        }
        answer
    }

    fn next(&self, state: &mut State, request: &Request) -> Option<Answer> {
        if state.over || state.difference.is_some() {
            return None;
        }
        let number = state.made.len();
        let secrets = Secrets { key: self.key.as_ref(), made: self.record.ambient.random.is_none() };
        let call = self.record.calls.get(number);
        let fields = match call.map(|call| same_call(&call.request, request, secrets)) {
            Some(Ok(())) => {
                let answer = call.and_then(|call| call.answer.clone());
                // It is not known what an interrupted run would have done next.
                let last = number + 1 == self.record.calls.len();
                state.over = answer.is_none() || (last && interrupted(&self.record));
                return answer;
            }
            Some(Err(fields)) => fields,
            None => Vec::new(),
        };
        state.difference = Some(Difference::Call {
            number: number + 1,
            recorded: call.map(|call| Box::new(call.request.clone())),
            now: Some(Box::new(request.clone())),
            fields,
        });
        None
    }

    /// Returns the answer if it has the kind that `take` expects. Otherwise the run waits, and is ended in the
    /// meantime.
    async fn ask<T>(&self, request: Request, take: impl FnOnce(Answer) -> Option<T>) -> T {
        match self.answer(request).and_then(take) {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

fn moment(record: &Record) -> Moment {
    let items = |items: &Vec<_>| {
        let items = items.iter().map(Item::from).map(|item| (item.key.clone(), item.into()));
        items.collect::<Items>()
    };
    let known = record.snapshots.iter().filter_map(|snapshot| {
        let found = snapshot.items.as_ref().map(items)?;
        Some((BindingName::from(&snapshot.binding), found))
    });
    Moment::new(known.collect::<HashMap<_, _>>())
}

macro_rules! only {
    ($kind:ident) => {
        |answer| match answer {
            Answer::$kind(answer) => Some(answer),
            _ => None,
        }
    };
}

impl Host for ReplayHost {
    fn get<'a>(
        &'a self,
        _: &'a Caller,
        target: ObjectRef,
        subresource: Option<String>,
    ) -> BoxFuture<'a, Result<String, CallError>> {
        self.ask(Request::Get { target, subresource }, only!(Object)).boxed()
    }

    fn list<'a>(&'a self, _: &'a Caller, query: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        self.ask(Request::List { query }, only!(Page)).boxed()
    }

    fn write<'a>(&'a self, _: &'a Caller, operation: Operation) -> BoxFuture<'a, Written> {
        self.ask(Request::Write { operation }, only!(Written)).boxed()
    }

    fn batch<'a>(&'a self, _: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        self.ask(Request::Batch { operations }, only!(Batch)).boxed()
    }

    fn emit_event<'a>(&'a self, _: &'a Caller, event: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        self.ask(Request::EmitEvent { event }, only!(Emitted)).boxed()
    }

    fn moment(&self, _: &HookName) -> Moment {
        self.moment.clone()
    }

    fn check_metric(&self, _: &Caller, sample: &MetricSample, _: usize) -> Result<(), String> {
        match self.answer(Request::Metric { sample: sample_line(sample) }) {
            Some(Answer::Metric(answer)) => answer,
            _ => Ok(()),
        }
    }

    fn opened(&self, binding: &BindingName, _: Option<&Items>) {
        let _ = self.answer(Request::Open { binding: binding.unique().to_owned() });
    }

    fn ambient(&self) -> Option<Arc<dyn Ambient>> {
        Some(self.ambient.clone())
    }
}

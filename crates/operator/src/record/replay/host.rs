//! A host that answers a run from a record. It never contacts a cluster, and never makes up an object that nobody
//! wrote.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use boathook_core::model::{
    AccessQuestion, BindingName, CallError, CallReason, Caller, EmitEvent, HookName, HttpBounds, HttpError, HttpReason,
    HttpRequest, HttpResponse, Item, Items, KindListing, ListQuery, MetricSample, ObjectRef, Operation, Page,
    PatchBody, Resource, SnapshotSet, WriteOptions,
};
use boathook_sandbox::{Ambient, Host, Written};
use futures::{FutureExt as _, future::BoxFuture};
use tokio::sync::Notify;
use tracing::Level;

use super::{
    Refuses,
    compare::{Difference, Secrets, canonical, place, same_call},
    interrupted,
};
use crate::record::{AmbientValues, Answer, Call, LogLine, Record, Request, secrets::Key, tape::sample_line};

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
    moment: SnapshotSet,
    ambient: Arc<Replayed>,
    state: Mutex<State>,
    stop: Notify,
}

struct State {
    /// The calls that were made.
    made: Vec<Call>,
    /// The recorded calls in the order in which they are expected.
    order: Vec<usize>,
    found: Found,
    difference: Option<Difference>,
    /// Whether the run came as far as the recorded one.
    over: bool,
    log: Vec<LogLine>,
}

/// What the run did.
pub(super) struct Seen {
    pub made: Vec<Call>,
    pub log: Vec<LogLine>,
    pub difference: Option<Difference>,
    pub over: bool,
}

impl ReplayHost {
    pub fn new(record: Arc<Record>, key: Option<Key>, refuses: Option<Arc<Refuses>>, ambient: Replayed) -> Self {
        let found = if refuses.is_some() { Found::new(&record.calls) } else { Found::default() };
        let order = (0..record.calls.len()).collect();
        let state = State { made: Vec::new(), order, found, difference: None, over: false, log: Vec::new() };
        Self {
            moment: snapshot_set(&record),
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
        let (made, log) = (std::mem::take(&mut state.made), std::mem::take(&mut state.log));
        Seen { made, log, difference: state.difference.take(), over: state.over }
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
        self.reorder(state, number, request, secrets);
        let call = state.order.get(number).and_then(|index| self.record.calls.get(*index));
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

    /// HTTP requests that a hook makes at the same time come in any order.
    fn reorder(&self, state: &mut State, number: usize, request: &Request, secrets: Secrets<'_>) {
        let calls = state.order.iter().enumerate().skip(number).map(|(at, index)| (at, self.record.calls.get(*index)));
        let mut together = calls.map_while(|(at, call)| match call.map(|call| &call.request) {
            Some(recorded @ Request::Http { .. }) => Some((at, recorded)),
            _ => None,
        });
        let same = |(at, recorded): (usize, &Request)| same_call(recorded, request, secrets).is_ok().then_some(at);
        if matches!(request, Request::Http { .. })
            && let Some(at) = together.find_map(same)
        {
            state.order.swap(number, at);
        }
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

fn snapshot_set(record: &Record) -> SnapshotSet {
    let kept = |item: &Arc<Item>| (item.key.clone(), Item::clone(item).into());
    let known = record.snapshots.iter().filter_map(|snapshot| {
        let items: Items = snapshot.items.as_ref()?.iter().map(kept).collect();
        Some((snapshot.binding.clone(), items))
    });
    SnapshotSet::new(known.collect::<HashMap<_, _>>())
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

    fn write<'a>(&'a self, caller: &'a Caller, operation: Operation) -> BoxFuture<'a, Written> {
        self.ask(Request::Write { operation, options: caller.writes }, only!(Written)).boxed()
    }

    fn batch<'a>(&'a self, caller: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        self.ask(Request::Batch { operations, options: caller.writes }, only!(Batch)).boxed()
    }

    fn emit_event<'a>(&'a self, _: &'a Caller, event: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        self.ask(Request::EmitEvent { event }, only!(Emitted)).boxed()
    }

    fn resolve<'a>(
        &'a self,
        _: &'a Caller,
        name: String,
        api_version: Option<String>,
    ) -> BoxFuture<'a, Result<Resource, CallError>> {
        self.ask(Request::Resolve { name, api_version }, only!(Resolved)).boxed()
    }

    fn http<'a>(
        &'a self,
        _: &'a Caller,
        request: HttpRequest,
        _: HttpBounds,
    ) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        self.ask(Request::Http { request }, only!(Http)).boxed()
    }

    fn kinds<'a>(&'a self, _: &'a Caller) -> BoxFuture<'a, Result<KindListing, CallError>> {
        self.ask(Request::Kinds, only!(Kinds)).boxed()
    }

    fn allowed<'a>(&'a self, _: &'a Caller, question: AccessQuestion) -> BoxFuture<'a, Result<bool, CallError>> {
        self.ask(Request::Allowed { question }, only!(Allowed)).boxed()
    }

    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
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

    fn logged(&self, level: Level, message: &str, fields: &str) {
        let (level, message) = (level.as_str().to_owned(), message.to_owned());
        self.lock().log.push(LogLine { level, message, fields: fields.to_owned() });
    }

    fn ambient(&self) -> Option<Arc<dyn Ambient>> {
        Some(self.ambient.clone())
    }
}

/// The step of the clocks when the record has no more readings.
const STEP: u64 = 1_000_000;

/// Gives a run the time and the random numbers of the record. It never queries the system: values that the record does
/// not have are made up, and always the same.
pub(super) struct Replayed {
    seed: u128,
    left: Mutex<Left>,
}

struct Left {
    wall: Clock,
    monotonic: Clock,
    random: Bytes,
    insecure_random: Bytes,
}

impl Replayed {
    /// Returns `None` if the values are not in a recorder's format.
    pub fn new(values: &AmbientValues, started: u64) -> Option<Self> {
        let started = started.saturating_mul(1_000_000);
        let left = Left {
            wall: Clock::new(&values.wall, started),
            monotonic: Clock::new(&values.monotonic, 0),
            random: Bytes::new(values.random.as_deref().unwrap_or_default())?,
            insecure_random: Bytes::new(&values.insecure_random)?,
        };
        Some(Self { seed: u128::from_str_radix(&values.insecure_seed, 16).ok()?, left: Mutex::new(left) })
    }

    fn with<T>(&self, take: impl FnOnce(&mut Left) -> T) -> T {
        take(&mut self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ambient for Replayed {
    fn wall(&self) -> Duration {
        Duration::from_nanos(self.with(|left| left.wall.read()))
    }

    fn monotonic(&self) -> u64 {
        self.with(|left| left.monotonic.read())
    }

    fn random(&self, bytes: &mut [u8]) {
        self.with(|left| left.random.fill(bytes));
    }

    fn insecure_random(&self, bytes: &mut [u8]) {
        self.with(|left| left.insecure_random.fill(bytes));
    }

    fn insecure_seed(&self) -> u128 {
        self.seed
    }
}

struct Clock {
    readings: VecDeque<u64>,
    last: u64,
}

impl Clock {
    fn new(readings: &[u64], start: u64) -> Self {
        Self { readings: readings.iter().copied().collect(), last: start }
    }

    fn read(&mut self) -> u64 {
        self.last = self.readings.pop_front().unwrap_or_else(|| self.last.saturating_add(STEP));
        self.last
    }
}

struct Bytes {
    recorded: std::vec::IntoIter<u8>,
    /// The state of the generator for further bytes. Never zero.
    state: u64,
}

impl Bytes {
    fn new(hex: &str) -> Option<Self> {
        if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let recorded: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
        Some(Self { recorded: recorded?.into_iter(), state: 0x9e37_79b9_7f4a_7c15 })
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.recorded.next().unwrap_or_else(|| self.next());
        }
    }

    /// The xorshift64 generator.
    fn next(&mut self) -> u8 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 32) as u8
    }
}

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
    pub fn new(calls: &[Call]) -> Self {
        let mut found = Self::default();
        for Call { request, answer } in calls {
            match (request, answer) {
                (_, Some(Answer::Object(Err(error)) | Answer::Page(Err(error)) | Answer::Emitted(Err(error))))
                    if error.reason == CallReason::ForbiddenByGrant => {}
                (_, Some(Answer::Http(Err(error)))) if error.reason == HttpReason::Denied => {}
                (Request::Write { operation, .. }, Some(Answer::Written(written))) => found.write(operation, written),
                (Request::Batch { operations, .. }, Some(Answer::Batch(answers))) => {
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
            Request::Write { operation, .. } => Answer::Written(self.written(operation, refuses)),
            Request::Batch { operations, .. } => {
                Answer::Batch(operations.iter().map(|operation| self.written(operation, refuses)).collect())
            }
            other => match (other, refuses(other)) {
                (Request::Get { .. }, Some(refusal)) => Answer::Object(Err(refusal)),
                (Request::List { .. }, Some(refusal)) => Answer::Page(Err(refusal)),
                (Request::EmitEvent { .. }, Some(refusal)) => Answer::Emitted(Err(refusal)),
                (Request::Http { .. }, Some(refusal)) => {
                    Answer::Http(Err(HttpError { reason: HttpReason::Denied, message: refusal.message }))
                }
                (other, _) => self.other(other),
            },
        }
    }

    fn written(&mut self, operation: &Operation, refuses: &Refuses) -> Written {
        let request = Request::Write { operation: operation.clone(), options: WriteOptions::default() };
        if let Some(refusal) = refuses(&request) {
            return Err(refusal);
        }
        let exact = self.same_write(operation);
        let found = exact.or_else(|| take(&mut self.alike, &place(operation), &mut self.writes));
        found.unwrap_or_else(|| Ok(sent(operation)))
    }

    /// The answer to the same write.
    pub fn same_write(&mut self, operation: &Operation) -> Option<Written> {
        take(&mut self.exact, &canonical(operation), &mut self.writes)
    }

    /// The answer to the same request, which is no write of an object.
    pub fn same(&mut self, request: &Request) -> Option<Answer> {
        let answers = self.answers.get_mut(&canonical(request))?;
        // The last answer also serves all further reads.
        if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
    }

    fn other(&mut self, request: &Request) -> Answer {
        if let Some(answer) = self.same(request) {
            return answer;
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
            Request::Http { request } => {
                let CallError { message, .. } = unknown(format!("{} {}", request.method, request.url));
                Answer::Http(Err(HttpError { reason: HttpReason::Connection, message }))
            }
            Request::Resolve { name, .. } => Answer::Resolved(Err(unknown(format!("kind {name}")))),
            Request::Kinds => Answer::Kinds(Err(unknown("the list of kinds".to_owned()))),
            Request::Allowed { question } => {
                let what = format!("whether the hook may {} {}", question.verb, question.resource);
                Answer::Allowed(Err(unknown(what)))
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_order_and_then_go_on_alike() {
        let values = AmbientValues {
            wall: vec![5, 9],
            monotonic: vec![],
            random: Some("0aff".into()),
            insecure_random: String::new(),
            insecure_seed: "2a".into(),
        };
        let read = || {
            let ambient = Replayed::new(&values, 1).unwrap();
            let mut bytes = [0; 6];
            ambient.random(&mut bytes);
            let clocks = [ambient.wall(), ambient.wall(), ambient.wall()].map(|time| time.as_nanos());
            (clocks, ambient.monotonic(), bytes, ambient.insecure_seed())
        };
        let (clocks, monotonic, bytes, seed) = read();
        assert_eq!((clocks, monotonic, seed), ([5, 9, 1_000_009], 1_000_000, 42));
        assert_eq!(bytes.first_chunk(), Some(&[0x0a, 0xff]));
        assert_eq!(read().2, bytes);
        for bad in ["0", "zz", "é"] {
            let values = AmbientValues { random: Some(bad.into()), ..values.clone() };
            assert!(Replayed::new(&values, 1).is_none(), "{bad}");
        }
    }
}

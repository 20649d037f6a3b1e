//! Notes what a run requests and receives, as it happens and within a size limit. It passes each call on, changes nothing,
//! and answers nothing itself.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use boathook_core::model::{
    AccessQuestion, BindingName, CallError, Caller, EmitEvent, HookName, HttpBounds, HttpError, HttpRequest,
    HttpResponse, Items, KindListing, ListQuery, MetricOp, MetricSample, MetricValue, ObjectRef, Operation, Page,
    PatchBody, Resource, SnapshotSet,
};
use boathook_sandbox::{Ambient, Directories, Host, Written};
use futures::{FutureExt as _, future::BoxFuture};
use rand::RngCore as _;
use tracing::Level;

use super::content::{AmbientValues, Answer, Call, LogLine, Request};

/// The notes of one run.
pub(super) struct Tape {
    began: Instant,
    seed: u128,
    bound: usize,
    keeps_moment: bool,
    /// What clocks and random numbers come from, if another tape is below this one.
    source: Option<Arc<dyn Ambient>>,
    notes: Mutex<Notes>,
}

/// The content of a tape.
#[derive(Default)]
pub(super) struct Notes {
    pub calls: Vec<Call>,
    pub snapshots: Vec<(BindingName, Option<Items>)>,
    pub log: Vec<LogLine>,
    /// The bytes of texts and numbers in the notes, without snapshots, because these are shared.
    pub bytes: usize,
    /// Whether there was more than fits.
    pub full: bool,
    /// The snapshots that the run began with, if they are wanted.
    pub moment: Option<SnapshotSet>,
    wall: Vec<u64>,
    monotonic: Vec<u64>,
    random: Vec<u8>,
    insecure_random: Vec<u8>,
    seed: u128,
}

/// The minimum size of a note.
const NOTE: usize = 64;

impl Tape {
    pub fn new(bound: usize, source: Option<Arc<dyn Ambient>>) -> Self {
        let seed = source.as_ref().map_or_else(rand::random, |source| source.insecure_seed());
        Self { began: Instant::now(), seed, bound, keeps_moment: false, source, notes: Mutex::default() }
    }

    fn began(&self, moment: &SnapshotSet) {
        if self.keeps_moment {
            self.lock().moment = Some(moment.clone());
        }
    }

    /// Notes a request. The result is for [`Tape::answered`].
    pub fn asked(&self, request: Request) -> Option<usize> {
        self.note(request_bytes(&request), |notes| {
            notes.calls.push(Call { request, answer: None });
            notes.calls.len() - 1
        })
    }

    pub fn answered(&self, call: Option<usize>, answer: impl FnOnce() -> Answer) {
        let Some(call) = call else { return };
        let answer = answer();
        self.note(answer_bytes(&answer), |notes| {
            if let Some(call) = notes.calls.get_mut(call) {
                call.answer = Some(answer);
            }
        });
    }

    pub fn opened(&self, binding: &BindingName, items: Option<&Items>) {
        let request = Request::Open { binding: binding.unique().to_owned() };
        let call = self.asked(request);
        self.answered(call, || Answer::Opened);
        let mut notes = self.lock();
        if !notes.snapshots.iter().any(|(known, _)| known == binding) {
            notes.snapshots.push((binding.clone(), items.cloned()));
        }
    }

    pub fn logged(&self, level: Level, message: &str, fields: &str) {
        self.note(message.len() + fields.len(), |notes| {
            notes.log.push(LogLine {
                level: level.as_str().to_owned(),
                message: message.to_owned(),
                fields: fields.to_owned(),
            });
        });
    }

    /// Takes all notes.
    pub fn take(&self) -> Notes {
        Notes { seed: self.seed, ..std::mem::take(&mut *self.lock()) }
    }

    fn note<T>(&self, bytes: usize, write: impl FnOnce(&mut Notes) -> T) -> Option<T> {
        let mut notes = self.lock();
        notes.bytes = notes.bytes.saturating_add(bytes.saturating_add(NOTE));
        if notes.full || notes.bytes > self.bound {
            notes.full = true;
            return None;
        }
        Some(write(&mut notes))
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    /// The readings of clocks and random numbers.
    pub fn ambient(&self) -> AmbientValues {
        AmbientValues {
            wall: self.wall.clone(),
            monotonic: self.monotonic.clone(),
            random: Some(hex(&self.random)),
            insecure_random: hex(&self.insecure_random),
            insecure_seed: hex(&self.seed.to_be_bytes()),
        }
    }
}

impl Ambient for Tape {
    fn wall(&self) -> Duration {
        let system = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = self.source.as_ref().map_or_else(system, |source| source.wall());
        self.note(0, |notes| notes.wall.push(nanos(now)));
        now
    }

    fn monotonic(&self) -> u64 {
        let now = self.source.as_ref().map_or_else(|| nanos(self.began.elapsed()), |source| source.monotonic());
        self.note(0, |notes| notes.monotonic.push(now));
        now
    }

    fn random(&self, bytes: &mut [u8]) {
        match &self.source {
            Some(source) => source.random(bytes),
            None => rand::rng().fill_bytes(bytes),
        }
        self.note(bytes.len() * 2, |notes| notes.random.extend_from_slice(bytes));
    }

    fn insecure_random(&self, bytes: &mut [u8]) {
        match &self.source {
            Some(source) => source.insecure_random(bytes),
            None => rand::rng().fill_bytes(bytes),
        }
        self.note(bytes.len() * 2, |notes| notes.insecure_random.extend_from_slice(bytes));
    }

    fn insecure_seed(&self) -> u128 {
        self.seed
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
        text
    })
}

fn request_bytes(request: &Request) -> usize {
    match request {
        Request::Write { operation, .. } => operation_bytes(operation),
        Request::Batch { operations, .. } => operations.iter().map(operation_bytes).sum(),
        Request::EmitEvent { event } => event.reason.len() + event.note.len(),
        Request::Metric { sample } => sample.len(),
        Request::Http { request } => request.bytes(),
        Request::Resolve { name, .. } => name.len(),
        Request::Allowed { question } => question.verb.len() + question.resource.len() + NOTE,
        Request::Get { .. } | Request::List { .. } | Request::Kinds | Request::Open { .. } => NOTE,
    }
}

fn operation_bytes(operation: &Operation) -> usize {
    let body = match operation {
        Operation::Create(create) => create.object.len(),
        Operation::Update(update) => update.object.len(),
        Operation::Patch(patch) => match &patch.body {
            PatchBody::Json(text) | PatchBody::Merge(text) | PatchBody::Strategic(text) | PatchBody::Jq(text) => {
                text.len()
            }
            PatchBody::Apply { object, .. } => object.len(),
        },
        Operation::Delete(_) => 0,
    };
    body + NOTE
}

fn answer_bytes(answer: &Answer) -> usize {
    let error = |error: &CallError| error.message.len() + error.status.as_ref().map_or(0, String::len);
    let written = |answer: &Result<Option<String>, CallError>| match answer {
        Ok(object) => object.as_ref().map_or(0, String::len),
        Err(failure) => error(failure),
    };
    match answer {
        Answer::Object(answer) => answer.as_ref().map_or_else(error, String::len),
        Answer::Page(Ok(page)) => page.items.iter().map(String::len).sum(),
        Answer::Page(Err(failure)) => error(failure),
        Answer::Written(answer) => written(answer),
        Answer::Batch(answers) => answers.iter().map(written).sum(),
        Answer::Emitted(answer) => answer.as_ref().map_or_else(error, |()| 0),
        Answer::Http(answer) => answer.as_ref().map_or_else(|error| error.message.len(), HttpResponse::bytes),
        Answer::Resolved(answer) => answer.as_ref().map_or_else(error, |kind| kind.plural.len()),
        Answer::Kinds(answer) => answer.as_ref().map_or_else(error, |listing| listing.kinds.len() * NOTE),
        Answer::Allowed(answer) => answer.as_ref().map_or_else(error, |_| 0),
        Answer::Metric(_) | Answer::Opened => 0,
    }
}

/// A sample as one line: `set pods{namespace="a"} 3 group=x`.
pub(super) fn sample_line(sample: &MetricSample) -> String {
    let labels: Vec<_> = sample.labels().iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let (verb, value) = match sample.value() {
        MetricValue::Add(value) => ("add", value.to_string()),
        MetricValue::Set(value) => ("set", value.to_string()),
        MetricValue::Observe { value, buckets } => ("observe", format!("{value} in {buckets:?}")),
    };
    let group = sample.group().map(|group| format!(" group={group:?}")).unwrap_or_default();
    format!("{verb} {}{{{}}} {value}{group}", sample.name(), labels.join(","))
}

/// An operation as one line.
pub(super) fn metric_line(op: &MetricOp) -> String {
    match op {
        MetricOp::Record(sample) => sample_line(sample),
        MetricOp::Expire(group) => format!("expire {group:?}"),
    }
}

/// The host of one run, with a tape.
pub struct Recording {
    host: Arc<dyn Host>,
    tape: Arc<Tape>,
}

impl Recording {
    /// Notes at most `bound` bytes, not counting snapshots.
    pub(super) fn new(host: Arc<dyn Host>, bound: usize) -> Self {
        let tape = Tape::new(bound, host.ambient());
        Self { host, tape: Arc::new(tape) }
    }

    /// Also keeps the snapshots that the run began with, whether it opens them or not.
    pub(super) fn with_moment(host: Arc<dyn Host>, bound: usize) -> Self {
        let tape = Tape { keeps_moment: true, ..Tape::new(bound, host.ambient()) };
        Self { host, tape: Arc::new(tape) }
    }

    /// Takes the notes.
    pub(super) fn take(&self) -> Notes {
        self.tape.take()
    }

    /// Passes a call on, and notes it and its answer.
    async fn noted<T: Clone>(
        &self,
        request: Request,
        call: impl Future<Output = T>,
        answer: impl FnOnce(T) -> Answer,
    ) -> T {
        let number = self.tape.asked(request);
        let given = call.await;
        self.tape.answered(number, || answer(given.clone()));
        given
    }
}

impl Host for Recording {
    fn get<'a>(
        &'a self,
        caller: &'a Caller,
        target: ObjectRef,
        subresource: Option<String>,
    ) -> BoxFuture<'a, Result<String, CallError>> {
        let request = Request::Get { target: target.clone(), subresource: subresource.clone() };
        self.noted(request, self.host.get(caller, target, subresource), Answer::Object).boxed()
    }

    fn list<'a>(&'a self, caller: &'a Caller, query: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        self.noted(Request::List { query: query.clone() }, self.host.list(caller, query), Answer::Page).boxed()
    }

    fn write<'a>(&'a self, caller: &'a Caller, operation: Operation) -> BoxFuture<'a, Written> {
        let request = Request::Write { operation: operation.clone(), options: caller.writes };
        self.noted(request, self.host.write(caller, operation), Answer::Written).boxed()
    }

    fn batch<'a>(&'a self, caller: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        let request = Request::Batch { operations: operations.clone(), options: caller.writes };
        self.noted(request, self.host.batch(caller, operations), Answer::Batch).boxed()
    }

    fn emit_event<'a>(&'a self, caller: &'a Caller, event: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        let request = Request::EmitEvent { event: event.clone() };
        self.noted(request, self.host.emit_event(caller, event), Answer::Emitted).boxed()
    }

    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        name: String,
        api_version: Option<String>,
    ) -> BoxFuture<'a, Result<Resource, CallError>> {
        let request = Request::Resolve { name: name.clone(), api_version: api_version.clone() };
        self.noted(request, self.host.resolve(caller, name, api_version), Answer::Resolved).boxed()
    }

    fn http<'a>(
        &'a self,
        caller: &'a Caller,
        request: HttpRequest,
        bounds: HttpBounds,
    ) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        let noted = Request::Http { request: request.clone() };
        self.noted(noted, self.host.http(caller, request, bounds), Answer::Http).boxed()
    }

    fn kinds<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<KindListing, CallError>> {
        self.noted(Request::Kinds, self.host.kinds(caller), Answer::Kinds).boxed()
    }

    fn allowed<'a>(&'a self, caller: &'a Caller, question: AccessQuestion) -> BoxFuture<'a, Result<bool, CallError>> {
        let request = Request::Allowed { question: question.clone() };
        self.noted(request, self.host.allowed(caller, question), Answer::Allowed).boxed()
    }

    fn snapshot_set(&self, hook: &HookName) -> SnapshotSet {
        let moment = self.host.snapshot_set(hook);
        self.tape.began(&moment);
        moment
    }

    fn directories(&self) -> Directories {
        self.host.directories()
    }

    fn check_metric(&self, caller: &Caller, sample: &MetricSample, in_run: usize) -> Result<(), String> {
        let call = self.tape.asked(Request::Metric { sample: sample_line(sample) });
        let answer = self.host.check_metric(caller, sample, in_run);
        self.tape.answered(call, || Answer::Metric(answer.clone()));
        answer
    }

    fn prints_lines(&self) -> bool {
        self.host.prints_lines()
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

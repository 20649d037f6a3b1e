//! Notes what a run requests and receives, as it happens and within a size limit. It changes nothing.

use std::{
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use boathook_core::model::{BindingName, CallError, Items, MetricOp, MetricSample, MetricValue, Operation, PatchBody};
use boathook_sandbox::Ambient;
use rand::RngCore as _;
use tracing::Level;

use super::content::{AmbientValues, Answer, Call, LogLine, Request};

/// The notes of one run.
pub(super) struct Tape {
    began: Instant,
    seed: u128,
    bound: usize,
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
    wall: Vec<u64>,
    monotonic: Vec<u64>,
    random: Vec<u8>,
    insecure_random: Vec<u8>,
    seed: u128,
}

/// The minimum size of a note.
const NOTE: usize = 64;

impl Tape {
    pub fn new(bound: usize) -> Self {
        Self { began: Instant::now(), seed: rand::random(), bound, notes: Mutex::default() }
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
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.note(0, |notes| notes.wall.push(nanos(now)));
        now
    }

    fn monotonic(&self) -> u64 {
        let now = nanos(self.began.elapsed());
        self.note(0, |notes| notes.monotonic.push(now));
        now
    }

    fn random(&self, bytes: &mut [u8]) {
        rand::rng().fill_bytes(bytes);
        self.note(bytes.len() * 2, |notes| notes.random.extend_from_slice(bytes));
    }

    fn insecure_random(&self, bytes: &mut [u8]) {
        rand::rng().fill_bytes(bytes);
        self.note(bytes.len() * 2, |notes| notes.insecure_random.extend_from_slice(bytes));
    }

    fn insecure_seed(&self) -> u128 {
        self.seed
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
        text
    })
}

fn request_bytes(request: &Request) -> usize {
    match request {
        Request::Write { operation } => operation_bytes(operation),
        Request::Batch { operations } => operations.iter().map(operation_bytes).sum(),
        Request::EmitEvent { event } => event.reason.len() + event.note.len(),
        Request::Metric { sample } => sample.len(),
        Request::Get { .. } | Request::List { .. } | Request::Open { .. } => NOTE,
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

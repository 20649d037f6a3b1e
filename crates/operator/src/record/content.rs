//! What a record holds, as it is written: everything that a run was given, asked and answered.
//!
//! Never knows how it is laid out in a file, nor how it came about.

use boathook_core::model::{
    CallError, EmitEvent, Failure, FailureKind, Limits, ListQuery, ObjectRef, Operation, Page, Permission,
};
use serde::{Deserialize, Serialize};

use super::{
    question::{RecordedAnswer, RecordedQuestion},
    trigger::{RecordedBinding, RecordedItem, RecordedTrigger},
};

/// One run of a hook, or one answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// What ran, when, and how the record was made.
    pub header: Header,
    /// Why it ran, oldest first. Empty for an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<RecordedTrigger>,
    /// What it was asked. Absent for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<RecordedQuestion>,
    /// The snapshots that it opened, whole.
    pub snapshots: Vec<RecordedSnapshot>,
    /// What it asked of the host, in order.
    pub calls: Vec<Call>,
    /// What clocks and random numbers gave it.
    pub ambient: AmbientValues,
    /// What it logged, in order.
    pub log: Vec<LogLine>,
    /// How it ended.
    pub end: End,
}

/// What ran, when, and how the record was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Version of Boathook.
    pub boathook: String,
    /// What ran the component: `wasmtime 48`.
    pub engine: String,
    /// `sha256:…` of the component.
    pub component: String,
    /// The hook's name.
    pub hook: String,
    /// The first trigger's binding, or that of the question.
    pub binding: String,
    /// The queue, as it is shown: `main`, `hook/NAME`. Empty for an answer, which waits in none.
    pub queue: String,
    /// The run's id.
    pub run: String,
    /// 1 for the first try.
    pub attempt: u32,
    /// When it began, milliseconds since the Unix epoch.
    pub started: u64,
    /// What the hook's document asked for.
    pub limits: Limits,
    /// What the hook was allowed.
    pub permissions: Vec<Permission>,
    /// What `settings.get` answered, unless it is `{}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// Writes were sent as dry runs.
    pub dry_run: bool,
    /// Values of Secrets are placeholders.
    pub redacted: bool,
    /// Why something is missing; such a record can't be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

/// The objects of a binding, as they were at the run's moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedSnapshot {
    /// Whose.
    pub binding: RecordedBinding,
    /// By namespace and name. Absent: they were not known yet, and the hook was told so.
    pub items: Option<Vec<RecordedItem>>,
}

/// One call of an imported function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// What was asked.
    pub request: Request,
    /// The answer. Absent: the run ended before there was one.
    pub answer: Option<Answer>,
}

/// What a hook asks of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Request {
    /// `kube.get`
    Get {
        /// The object.
        target: ObjectRef,
        /// A subresource of it.
        subresource: Option<String>,
    },
    /// `kube.list`
    List {
        /// Which objects.
        query: ListQuery,
    },
    /// `kube.write`
    Write {
        /// The write.
        operation: Operation,
    },
    /// `kube.batch`
    Batch {
        /// The writes.
        operations: Vec<Operation>,
    },
    /// `kube.emit-event`
    EmitEvent {
        /// The Event.
        event: EmitEvent,
    },
    /// `metrics.add`, `set`, `observe`
    Metric {
        /// The sample as one line.
        sample: String,
    },
    /// `snapshots.open`, of a snapshot that the run may open
    Open {
        /// Whose.
        binding: String,
    },
}

impl Request {
    /// The function's name: `kube.get`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Get { .. } => "kube.get",
            Self::List { .. } => "kube.list",
            Self::Write { .. } => "kube.write",
            Self::Batch { .. } => "kube.batch",
            Self::EmitEvent { .. } => "kube.emit-event",
            Self::Metric { .. } => "metrics",
            Self::Open { .. } => "snapshots.open",
        }
    }

    /// The writes in it, in order.
    pub fn operations(&self) -> &[Operation] {
        match self {
            Self::Write { operation } => std::slice::from_ref(operation),
            Self::Batch { operations } => operations,
            _ => &[],
        }
    }
}

/// The answer to a [`Request`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Of `kube.get`: an object as JSON.
    Object(Result<String, CallError>),
    /// Of `kube.list`.
    Page(Result<Page, CallError>),
    /// Of `kube.write`: the object as JSON, where there was something to write.
    Written(Result<Option<String>, CallError>),
    /// Of `kube.batch`: one for each operation.
    Batch(Vec<Result<Option<String>, CallError>>),
    /// Of `kube.emit-event`.
    Emitted(Result<(), CallError>),
    /// Of `metrics`.
    Metric(Result<(), String>),
    /// Of `snapshots.open`; the objects are among the record's snapshots.
    Opened,
}

impl Answer {
    /// Whether such a request has such an answer.
    pub fn fits(&self, request: &Request) -> bool {
        match (request, self) {
            (Request::Get { .. }, Self::Object(_))
            | (Request::List { .. }, Self::Page(_))
            | (Request::Write { .. }, Self::Written(_))
            | (Request::EmitEvent { .. }, Self::Emitted(_))
            | (Request::Metric { .. }, Self::Metric(_))
            | (Request::Open { .. }, Self::Opened) => true,
            (Request::Batch { operations }, Self::Batch(answers)) => operations.len() == answers.len(),
            _ => false,
        }
    }
}

/// What clocks and random numbers gave a run, each in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AmbientValues {
    /// Readings of the wall clock, nanoseconds since the Unix epoch.
    pub wall: Vec<u64>,
    /// Readings of the monotonic clock, nanoseconds.
    pub monotonic: Vec<u64>,
    /// Secure random bytes, in hexadecimal. Absent: withheld, because the run wrote a Secret, which may
    /// have been made of them.
    pub random: Option<String>,
    /// Insecure random bytes, in hexadecimal.
    pub insecure_random: String,
    /// The seed for hash maps, in hexadecimal.
    pub insecure_seed: String,
}

/// A line that the hook logged, or wrote to stdout or stderr.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// `ERROR`, `WARN`, `INFO`, `DEBUG`.
    pub level: String,
    /// The text.
    pub message: String,
    /// A JSON object, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fields: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// Absent after success.
    pub failure: Option<RecordedFailure>,
    /// What it answered, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedAnswer>,
    /// Its metrics, one operation a line, in order.
    pub metrics: Vec<String>,
    /// Microseconds from start to end.
    pub duration_us: u64,
    /// Microseconds of CPU time.
    pub cpu_us: u64,
    /// The most bytes of memory at a time.
    pub memory_peak: u64,
    /// Calls of imported functions.
    pub host_calls: u64,
    /// Bytes that these passed.
    pub host_bytes: u64,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedFailure {
    /// What kind.
    pub kind: FailureKind,
    /// For people.
    pub message: String,
    /// Of a trap.
    pub backtrace: Option<String>,
}

impl RecordedFailure {
    /// Of a run that may have failed.
    pub fn of<T>(outcome: &Result<T, Failure>) -> Option<Self> {
        let Failure { kind, message, backtrace } = outcome.as_ref().err()?.clone();
        Some(Self { kind, message, backtrace })
    }
}

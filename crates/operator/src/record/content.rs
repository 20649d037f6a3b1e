//! The content of a record: everything that a run received, requested and answered. The format of the file is in
//! `format.rs`.

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
    /// The triggers of the run, oldest first. Empty for an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<RecordedTrigger>,
    /// The question to the hook. Absent for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<RecordedQuestion>,
    /// The snapshots that the run opened, complete.
    pub snapshots: Vec<RecordedSnapshot>,
    /// The run's calls of the host, in order.
    pub calls: Vec<Call>,
    /// The readings of clocks and random numbers.
    pub ambient: AmbientValues,
    /// The lines that the hook logged, in order.
    pub log: Vec<LogLine>,
    /// How the run ended.
    pub end: End,
}

/// What ran, when, and how the record was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The version of Boathook.
    pub boathook: String,
    /// The engine that ran the component: `wasmtime 48`.
    pub engine: String,
    /// The digest of the component, `sha256:…`.
    pub component: String,
    pub hook: String,
    /// The binding of the first trigger, or of the question.
    pub binding: String,
    /// The queue as it is shown: `main`, `hook/NAME`. Empty for an answer, which waits in no queue.
    pub queue: String,
    pub run: String,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// When the run began, in milliseconds since the Unix epoch.
    pub started: u64,
    /// The limits that the hook's document requested.
    pub limits: Limits,
    /// The permissions that the hook had.
    pub permissions: Vec<Permission>,
    /// The answer of `settings.get`, unless it is `{}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// Whether writes were sent as dry runs.
    pub dry_run: bool,
    /// Whether the values of Secrets are placeholders.
    pub redacted: bool,
    /// Why something is missing. A record with this field cannot be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

/// The objects of a binding, as they were at the moment of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedSnapshot {
    pub binding: RecordedBinding,
    /// The objects, sorted by namespace and name. Absent if they were not known yet, which the hook could see.
    pub items: Option<Vec<RecordedItem>>,
}

/// One call of an imported function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    pub request: Request,
    /// The answer. Absent if the run ended before it.
    pub answer: Option<Answer>,
}

/// A hook's request to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Request {
    /// `kube.get`
    Get {
        target: ObjectRef,
        /// A subresource of the object.
        subresource: Option<String>,
    },
    /// `kube.list`
    List { query: ListQuery },
    /// `kube.write`
    Write { operation: Operation },
    /// `kube.batch`
    Batch { operations: Vec<Operation> },
    /// `kube.emit-event`
    EmitEvent { event: EmitEvent },
    /// `metrics.add`, `set`, `observe`
    Metric {
        /// The sample as one line.
        sample: String,
    },
    /// `snapshots.open`, for a snapshot that the run may open.
    Open {
        /// The binding of the snapshot.
        binding: String,
    },
}

impl Request {
    /// The name of the function, for example `kube.get`.
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

    /// The writes in the request, in order.
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
    /// For `kube.get`: an object as JSON.
    Object(Result<String, CallError>),
    /// For `kube.list`.
    Page(Result<Page, CallError>),
    /// For `kube.write`: the object as JSON, if something was written.
    Written(Result<Option<String>, CallError>),
    /// For `kube.batch`: one answer for each operation.
    Batch(Vec<Result<Option<String>, CallError>>),
    /// For `kube.emit-event`.
    Emitted(Result<(), CallError>),
    /// For `metrics`.
    Metric(Result<(), String>),
    /// For `snapshots.open`. The objects are in the record's snapshots.
    Opened,
}

impl Answer {
    /// Whether this can be the answer to the request.
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

/// The readings of clocks and random numbers in a run, each in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AmbientValues {
    /// Readings of the wall clock, in nanoseconds since the Unix epoch.
    pub wall: Vec<u64>,
    /// Readings of the monotonic clock, in nanoseconds.
    pub monotonic: Vec<u64>,
    /// Secure random bytes, in hexadecimal. Absent if they are withheld because the run wrote a Secret that may contain
    /// them.
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
    /// `ERROR`, `WARN`, `INFO` or `DEBUG`.
    pub level: String,
    pub message: String,
    /// A JSON object, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fields: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// The failure. Absent after success.
    pub failure: Option<RecordedFailure>,
    /// The hook's answer, if there was a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedAnswer>,
    /// The hook's metrics, one operation in each line, in order.
    pub metrics: Vec<String>,
    /// The time from start to end in microseconds.
    pub duration_us: u64,
    /// The CPU time in microseconds.
    pub cpu_us: u64,
    /// The maximum of memory in use at one time, in bytes.
    pub memory_peak: u64,
    /// The number of calls of imported functions.
    pub host_calls: u64,
    /// The bytes that these calls passed.
    pub host_bytes: u64,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedFailure {
    pub kind: FailureKind,
    /// The message for people.
    pub message: String,
    /// The back-trace of a trap.
    pub backtrace: Option<String>,
}

impl RecordedFailure {
    /// The failure of a run, if it failed.
    pub fn of<T>(outcome: &Result<T, Failure>) -> Option<Self> {
        let Failure { kind, message, backtrace } = outcome.as_ref().err()?.clone();
        Some(Self { kind, message, backtrace })
    }
}

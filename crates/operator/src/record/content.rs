//! The content of a record: everything that a run received, requested and answered.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{
    AccessQuestion, AdmissionKind, BindingName, CallError, Caller, Cause, Child, Conversion, ConversionRule, Denial,
    EmitEvent, Failure, HookName, HttpError, HttpRequest, HttpResponse, Item, KindListing, Limits, ListQuery, Mutation,
    ObjectRef, Operation, OwnCondition, OwnEvent, Page, Permission, QueueName, Reconcile, Reconciled, RelatedObject,
    Resource, RetryPolicy, Review, Reviewed, Trigger, Verdict, WriteOptions,
};
use boathook_sandbox::{
    ConversionRequest, Host, LoadedHook, ReconcileRequest, ReviewRequest, RunReport, RunRequest, Sandbox,
};
use serde::{Deserialize, Serialize};

use crate::admin::why::{ReasonView, StepView};

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
    /// What led to the run. A replay does not need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<RecordedCauses>,
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
    pub binding: BindingName,
    /// The objects, sorted by namespace and name. Absent if they were not known yet, which the hook could see.
    pub items: Option<Vec<Arc<Item>>>,
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
    Write {
        operation: Operation,
        /// Options that the interpreter of a script has set.
        #[serde(default, skip_serializing_if = "WriteOptions::is_default")]
        options: WriteOptions,
    },
    /// `kube.batch`
    Batch {
        operations: Vec<Operation>,
        /// Options that the interpreter of a script has set.
        #[serde(default, skip_serializing_if = "WriteOptions::is_default")]
        options: WriteOptions,
    },
    /// `kube.emit-event`
    EmitEvent { event: EmitEvent },
    /// `wasi:http`
    Http { request: HttpRequest },
    /// `kinds.resolve`, which only interpreters call.
    Resolve {
        /// The name that a person gives a kind.
        name: String,
        api_version: Option<String>,
    },
    /// `kinds.all`, which only interpreters call.
    Kinds,
    /// `rights.allowed`, which only interpreters call.
    Allowed { question: AccessQuestion },
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
            Self::Http { .. } => "wasi:http",
            Self::Resolve { .. } => "kinds.resolve",
            Self::Kinds => "kinds.all",
            Self::Allowed { .. } => "rights.allowed",
            Self::Metric { .. } => "metrics",
            Self::Open { .. } => "snapshots.open",
        }
    }

    /// The writes in the request, in order.
    pub fn operations(&self) -> &[Operation] {
        match self {
            Self::Write { operation, .. } => std::slice::from_ref(operation),
            Self::Batch { operations, .. } => operations,
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
    /// For `wasi:http`.
    Http(Result<HttpResponse, HttpError>),
    /// For `kinds.resolve`.
    Resolved(Result<Resource, CallError>),
    /// For `kinds.all`.
    Kinds(Result<KindListing, CallError>),
    /// For `rights.allowed`.
    Allowed(Result<bool, CallError>),
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
            | (Request::Http { .. }, Self::Http(_))
            | (Request::Resolve { .. }, Self::Resolved(_))
            | (Request::Kinds, Self::Kinds(_))
            | (Request::Allowed { .. }, Self::Allowed(_))
            | (Request::Metric { .. }, Self::Metric(_))
            | (Request::Open { .. }, Self::Opened) => true,
            (Request::Batch { operations, .. }, Self::Batch(answers)) => operations.len() == answers.len(),
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

/// What led to a run: the writes of hooks, back to the first cause. Names of objects and fields are in it, and no values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCauses {
    /// The reason of the run that the chain follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ReasonView>,
    /// The newest write first. Each was caused by the next one.
    pub steps: Vec<StepView>,
    /// The cause of the last one.
    pub origin: String,
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
    pub failure: Option<Failure>,
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

/// One call of a hook.
#[derive(Debug, Clone)]
pub enum Asked {
    /// `run`
    Run(RunRequest),
    /// `validate` or `mutate`
    Review(ReviewRequest),
    /// `convert`
    Conversion(ConversionRequest),
    /// `reconcile` or `finalize`
    Reconcile(Box<ReconcileRequest>),
}

/// The result of a call that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// A run has no result except what it did.
    Nothing,
    Review(Reviewed),
    /// Objects in another version.
    Objects(Vec<String>),
    /// What a parent should become, or how far its end is.
    Reconciled(Reconciled),
}

impl Asked {
    /// The caller of the hook's host calls.
    pub fn caller(&self) -> &Caller {
        match self {
            Self::Run(request) => &request.caller,
            Self::Review(request) => &request.caller,
            Self::Conversion(request) => &request.caller,
            Self::Reconcile(request) => &request.caller,
        }
    }

    /// The limits of the call.
    pub fn limits(&self) -> Limits {
        match self {
            Self::Run(request) => request.limits,
            Self::Review(request) => request.limits,
            Self::Conversion(request) => request.limits,
            Self::Reconcile(request) => request.limits,
        }
    }

    /// The attempt, counted from 1. Answers to the API server have only one attempt.
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Run(request) => request.attempt,
            Self::Reconcile(request) => request.attempt,
            Self::Review(_) | Self::Conversion(_) => 1,
        }
    }

    /// The binding of the call, or the first of several.
    pub fn binding(&self) -> Option<&BindingName> {
        match self {
            Self::Run(request) => request.triggers.first().map(|trigger| &trigger.binding),
            Self::Review(request) => Some(&request.review.binding),
            Self::Conversion(request) => Some(&request.conversion.binding),
            Self::Reconcile(request) => Some(&request.reconcile.binding),
        }
    }

    /// What waited in a queue for the call.
    pub(super) fn waited(&self) -> &[Trigger] {
        match self {
            Self::Run(request) => &request.triggers,
            Self::Reconcile(request) => std::slice::from_ref(&request.trigger),
            Self::Review(_) | Self::Conversion(_) => &[],
        }
    }

    /// The approximate size of the question's objects in bytes. The objects of a run's triggers are counted with the record.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Run(_) => 0,
            Self::Review(request) => request.review.request.len(),
            Self::Conversion(request) => request.conversion.objects.iter().map(String::len).sum(),
            Self::Reconcile(request) => {
                let Reconcile { parent, children, related, .. } = &request.reconcile;
                let children = children.iter().map(|child| 128 + child.object.len());
                let related = related.iter().map(|related| 128 + related.object.len());
                parent.len() + children.chain(related).sum::<usize>()
            }
        }
    }

    /// The same question to another version of the hook.
    pub(super) fn again(self, caller: Caller, limits: Limits) -> Self {
        match self {
            Self::Run(request) => Self::Run(RunRequest { caller, limits, ..request }),
            Self::Review(request) => Self::Review(ReviewRequest { caller, limits, ..request }),
            Self::Conversion(request) => Self::Conversion(ConversionRequest { caller, limits, ..request }),
            Self::Reconcile(request) => Self::Reconcile(Box::new(ReconcileRequest { caller, limits, ..*request })),
        }
    }

    pub(super) async fn call(self, sandbox: &Sandbox, hook: &LoadedHook, host: Arc<dyn Host>) -> RunReport<Given> {
        match self {
            Self::Run(request) => sandbox.run(hook, request, host).await.map(Given::from),
            Self::Review(request) => sandbox.review(hook, request, host).await.map(Given::from),
            Self::Conversion(request) => sandbox.convert(hook, request, host).await.map(Given::from),
            Self::Reconcile(request) => sandbox.reconcile(hook, *request, host).await.map(Given::from),
        }
    }
}

impl From<RunRequest> for Asked {
    fn from(request: RunRequest) -> Self {
        Self::Run(request)
    }
}

impl From<ReviewRequest> for Asked {
    fn from(request: ReviewRequest) -> Self {
        Self::Review(request)
    }
}

impl From<ConversionRequest> for Asked {
    fn from(request: ConversionRequest) -> Self {
        Self::Conversion(request)
    }
}

impl From<ReconcileRequest> for Asked {
    fn from(request: ReconcileRequest) -> Self {
        Self::Reconcile(Box::new(request))
    }
}

impl Given {
    /// The approximate size of the objects in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Objects(objects) => objects.iter().map(String::len).sum(),
            Self::Reconciled(reconciled) => reconciled.bytes(),
            Self::Review(reviewed) => match &reviewed.mutation {
                Mutation::Unchanged => 0,
                Mutation::JsonPatch(text) | Mutation::Object(text) => text.len(),
            },
        }
    }
}

impl From<()> for Given {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

impl From<Reviewed> for Given {
    fn from(reviewed: Reviewed) -> Self {
        Self::Review(reviewed)
    }
}

impl From<Vec<String>> for Given {
    fn from(objects: Vec<String>) -> Self {
        Self::Objects(objects)
    }
}

impl From<Reconciled> for Given {
    fn from(reconciled: Reconciled) -> Self {
        Self::Reconciled(reconciled)
    }
}

/// A question to the hook: of the API server, or about the parent of a `reconcile` binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedQuestion {
    /// The binding that answers.
    pub binding: BindingName,
    /// The snapshots that the hook may open.
    pub snapshots: Arc<[BindingName]>,
    /// The question itself.
    pub asks: Asks,
}

/// One kind of question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Asks {
    /// Whether a request is allowed.
    Validating {
        /// An `AdmissionRequest` as JSON.
        request: String,
    },
    /// Whether a request is allowed, and how its object changes.
    Mutating {
        /// An `AdmissionRequest` as JSON.
        request: String,
    },
    /// How objects look in another version.
    Conversion {
        /// The version of the objects.
        from: String,
        /// The other version.
        to: String,
        /// The objects as JSON.
        objects: Vec<String>,
    },
    /// What a parent should become, or how far its end is.
    Reconcile {
        /// The question is to `finalize`.
        finalizes: bool,
        /// The parent as JSON.
        parent: Arc<str>,
        children: Vec<RecordedChild>,
        related: Vec<RecordedRelated>,
    },
}

/// A child of a parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedChild {
    pub target: ObjectRef,
    /// The object as JSON.
    pub object: Arc<str>,
}

/// An object that a parent refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedRelated {
    /// The entry of the document's `related`.
    pub entry: Arc<str>,
    /// The object as JSON.
    pub object: Arc<str>,
}

/// A hook's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RecordedAnswer {
    /// A decision.
    Review {
        /// Absent if the request is allowed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied: Option<Denial>,
        /// Warnings for the user who made the request.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
        /// Annotations for the audit log.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit_annotations: Vec<(String, String)>,
        /// A JSON Patch of the object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patch: Option<String>,
        /// The whole new object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<String>,
    },
    /// Converted objects.
    Objects {
        /// The objects as JSON.
        objects: Vec<String>,
    },
    /// What a parent should become, or how far its end is.
    Reconciled {
        /// The objects as JSON.
        children: Vec<String>,
        /// No children are wanted.
        none_wanted: bool,
        /// Nothing is left to undo. Only `finalize` says so.
        done: bool,
        /// The status as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conditions: Vec<OwnCondition>,
        /// In milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requeue_after: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        events: Vec<OwnEvent>,
    },
}

impl RecordedQuestion {
    /// The question of a call, if it has one.
    pub(super) fn of(asked: &Asked) -> Option<Self> {
        let (binding, snapshots, asks) = match asked {
            Asked::Run(_) => return None,
            Asked::Review(ReviewRequest { review, snapshots, .. }) => {
                let request = review.request.to_string();
                let asks = match review.kind {
                    AdmissionKind::Validating => Asks::Validating { request },
                    AdmissionKind::Mutating => Asks::Mutating { request },
                };
                (&review.binding, snapshots, asks)
            }
            Asked::Conversion(ConversionRequest { conversion, snapshots, .. }) => {
                let Conversion { rule, objects, .. } = conversion;
                let (from, to) = (rule.from.to_string(), rule.to.to_string());
                (&conversion.binding, snapshots, Asks::Conversion { from, to, objects: objects.clone() })
            }
            Asked::Reconcile(request) => {
                let Reconcile { binding, parent, finalizes, children, related, snapshots } = &request.reconcile;
                let child =
                    |child: &Child| RecordedChild { target: child.target.clone(), object: child.object.clone() };
                let other =
                    |one: &RelatedObject| RecordedRelated { entry: one.entry.clone(), object: one.object.clone() };
                let asks = Asks::Reconcile {
                    finalizes: *finalizes,
                    parent: parent.clone(),
                    children: children.iter().map(child).collect(),
                    related: related.iter().map(other).collect(),
                };
                (binding, snapshots, asks)
            }
        };
        Some(Self { binding: binding.clone(), snapshots: snapshots.clone(), asks })
    }

    /// Makes the question again for a replay.
    pub(super) fn restore(&self, caller: Caller, limits: Limits, header: &Header) -> Asked {
        // Nobody waits for the answer.
        let patience = Duration::MAX;
        let Self { binding, snapshots, asks } = self.clone();
        let review = |kind, binding, snapshots, request: String| {
            let review = Review { kind, binding, request: request.into(), dry_run: caller.dry_run };
            Asked::Review(ReviewRequest { caller: caller.clone(), review, snapshots, limits, patience })
        };
        match asks {
            Asks::Validating { request } => review(AdmissionKind::Validating, binding, snapshots, request),
            Asks::Mutating { request } => review(AdmissionKind::Mutating, binding, snapshots, request),
            Asks::Conversion { from, to, objects } => {
                let rule = ConversionRule { from: from.into(), to: to.into() };
                let conversion = Conversion { binding, rule, objects };
                Asked::Conversion(ConversionRequest { caller, conversion, snapshots, limits, patience })
            }
            Asks::Reconcile { finalizes, parent, children, related } => {
                // Only the log shows why the call happened.
                let trigger = RecordedTrigger {
                    binding: binding.clone(),
                    cause: Cause::Synchronization,
                    group: None,
                    snapshots: snapshots.clone(),
                    allow_failure: false,
                };
                let trigger = trigger.restore(&caller.hook, &header.queue);
                let child = |RecordedChild { target, object }| Child { target, object };
                let other = |RecordedRelated { entry, object }| RelatedObject { entry, object };
                let reconcile = Reconcile {
                    binding,
                    parent,
                    finalizes,
                    children: children.into_iter().map(child).collect(),
                    related: related.into_iter().map(other).collect(),
                    snapshots,
                };
                ReconcileRequest { caller, attempt: header.attempt, trigger, reconcile, limits }.into()
            }
        }
    }

    /// Leaves the objects out.
    pub(super) fn clear(&mut self) {
        match &mut self.asks {
            Asks::Validating { request } | Asks::Mutating { request } => request.clear(),
            Asks::Conversion { objects, .. } => objects.clear(),
            Asks::Reconcile { parent, children, related, .. } => {
                *parent = Arc::default();
                children.clear();
                related.clear();
            }
        }
    }
}

impl RecordedAnswer {
    /// The answer in a result, if there is one.
    pub(super) fn of(given: &Given) -> Option<Self> {
        match given {
            Given::Nothing => None,
            Given::Objects(objects) => Some(Self::Objects { objects: objects.clone() }),
            Given::Reconciled(reconciled) => {
                let Reconciled { children, none_wanted, done, status, conditions, requeue_after, events } =
                    reconciled.clone();
                let requeue_after = requeue_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
                Some(Self::Reconciled { children, none_wanted, done, status, conditions, requeue_after, events })
            }
            Given::Review(Reviewed { verdict, mutation }) => {
                let Verdict { denied, warnings, audit_annotations } = verdict.clone();
                let (patch, object) = match mutation.clone() {
                    Mutation::Unchanged => (None, None),
                    Mutation::JsonPatch(patch) => (Some(patch), None),
                    Mutation::Object(object) => (None, Some(object)),
                };
                Some(Self::Review { denied, warnings, audit_annotations, patch, object })
            }
        }
    }
}

/// One trigger of a run. What only the queue needs of it is not recorded: its retries and its age.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedTrigger {
    pub binding: BindingName,
    pub cause: Cause,
    /// The group that the run's context shows instead of the cause.
    pub group: Option<Arc<str>>,
    /// The snapshots that the run may open for this trigger.
    pub snapshots: Arc<[BindingName]>,
    /// Whether a failed run counts as done.
    pub allow_failure: bool,
}

impl From<&Trigger> for RecordedTrigger {
    fn from(trigger: &Trigger) -> Self {
        let Trigger { binding, cause, group, snapshots, allow_failure, .. } = trigger.clone();
        Self { binding, cause, group, snapshots, allow_failure }
    }
}

impl RecordedTrigger {
    /// The approximate size of the objects in bytes.
    pub(super) fn bytes(&self) -> usize {
        let Cause::Event(event) = &self.cause else { return 128 };
        let before = [&event.previous_object, &event.previous_filter_result];
        128 + item_bytes(&event.item) + before.into_iter().flatten().map(|text| text.len()).sum::<usize>()
    }

    /// Makes the trigger for a replayed run of `hook`.
    pub(super) fn restore(&self, hook: &HookName, queue: &str) -> Trigger {
        let Self { binding, cause, group, snapshots, allow_failure } = self.clone();
        Trigger {
            hook: hook.clone(),
            binding,
            queue: QueueName::Shared(queue.into()),
            cause,
            group,
            snapshots,
            allow_failure,
            retry: RetryPolicy::default(),
            debounce: Duration::ZERO,
            created: Instant::now(),
        }
    }
}

/// The approximate size of an object in bytes.
pub(super) fn item_bytes(item: &Item) -> usize {
    128 + [&item.object, &item.filter_result].into_iter().flatten().map(|text| text.len()).sum::<usize>()
}

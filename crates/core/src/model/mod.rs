//! The nouns that the stages pass to each other.
//!
//! Pure: no client, no runtime, no clock, no wasmtime. Decisions receive their facts as arguments.

mod bundle;
mod call;
mod chain;
mod credential;
mod crontab;
mod directory;
mod duration;
mod failure;
mod field_path;
mod hook;
mod http;
mod ids;
mod metric;
mod object;
mod path_key;
mod permission;
mod reconcile;
mod requested;
mod resource;
mod run;
mod script;
mod snapshot;
mod trigger;
mod uses;
mod values;
mod variables;
mod webhook;

pub use bundle::{
    BundleId, BundleNews, Comparison, DefinitionSource, HookBundlesNews, HookComparison, HookPhase, HookSource,
    HookState, Identity, InstallError, Installation, Installed, Installer, LimitCaps, RequestedPermissions, Source,
    UnknownSource,
};
pub use call::{
    AccessQuestion, CallError, CallReason, Create, Delete, EmitEvent, EventType, FieldValidation, IfExists,
    KindListing, ListQuery, ListedKind, Operation, Page, Patch, PatchBody, Propagation, Update, WriteOptions,
};
pub use chain::error_chain;
pub use credential::{CredentialForm, CredentialProblem, CredentialProblemKind, CredentialValues, HttpCredential};
pub use crontab::{Crontab, CrontabError};
pub use directory::{DirectoryAccess, DirectoryRule};
pub use duration::{format_duration, parse_duration};
pub use failure::{Failure, FailureKind, Limit};
pub use field_path::FieldPath;
pub use hook::{
    BindingRef, Content, HookSpec, KubernetesBinding, Limits, MayWatch, MissedRuns, RateLimit, RetryPolicy,
    ScheduleBinding, Stage, StageBinding, StartupBinding, WatchEventKind,
};
pub use http::{
    HostPattern, HttpBody, HttpBounds, HttpError, HttpHeader, HttpReason, HttpRequest, HttpResponse, HttpRule,
    HttpTarget, READING, is_dns_name, usual_port,
};
pub use ids::{BindingName, HookName, InvalidName, ObjectKey, ObjectRef, QueueName, RunId};
pub use metric::{InvalidMetric, MetricKind, MetricLabels, MetricOp, MetricSample, MetricValue, metric_group};
pub use object::{InvalidObject, Object, SERVER_FIELDS};
pub use path_key::{PathKey, hide_secrets, without_secret};
pub use permission::{Permission, confine, missing};
pub use reconcile::{
    Adopt, AnnotationRule, AnnotationTest, Child, OwnCondition, OwnEvent, OwnedKind, PART_OF, PruneLimits, Reconcile,
    ReconcileBinding, Reconciled, Related, RelatedObject, Role,
};
pub use requested::{CONVERT, MUTATE, SYSTEM, VALIDATE, WATCH, plural};
pub use resource::{Resource, percent_encode};
pub use run::{Allowance, Caller, Charge, Job, JobId, Outcome};
pub use script::{InterpreterRef, Script, ScriptError, ScriptFile, ScriptFunction};
pub use snapshot::{Item, Items, Kept, SnapshotSet};
pub use trigger::{Cause, Change, ObjectEvent, Tick, Trigger};
pub use uses::{ScriptPlace, ScriptProblem, ScriptRequest, ScriptUses};
pub use values::{HookValues, ValuesPatch};
pub use variables::{UnknownVariable, Variables, has_variable, is_variable};
pub use webhook::{
    AdmissionBinding, AdmissionKind, AdmissionRule, Conversion, ConversionBinding, ConversionRule, Denial,
    FailurePolicy, MatchCondition, MatchPolicy, Mutation, ReinvocationPolicy, Requested, Review, Reviewed, SideEffects,
    Verdict,
};

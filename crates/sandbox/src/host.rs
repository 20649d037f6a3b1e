//! The trait through which the rest of the operator answers a hook's calls. What is allowed is decided behind [`Host`].

use std::sync::Arc;

use boathook_core::model::{
    AccessQuestion, BindingName, CallError, CallReason, Caller, EmitEvent, HookName, HttpBounds, HttpError, HttpReason,
    HttpRequest, HttpResponse, Items, KindListing, ListQuery, MetricSample, ObjectRef, Operation, Page, Resource,
    SnapshotSet,
};
use futures::future::BoxFuture;
use tracing::Level;

use super::{ambient::Ambient, directories::Directories};

/// The answer to a write: the object in the server's response, or `None` if there was nothing to write.
pub type Written = Result<Option<String>, CallError>;

/// What a run can request from the rest of the operator.
///
/// It must be safe to drop a returned future at any point, because a run ends at its deadline that way.
pub trait Host: Send + Sync + 'static {
    /// Reads one object, or a subresource of it, as JSON.
    fn get<'a>(
        &'a self,
        caller: &'a Caller,
        target: ObjectRef,
        subresource: Option<String>,
    ) -> BoxFuture<'a, Result<String, CallError>>;

    /// Reads one page of objects.
    fn list<'a>(&'a self, caller: &'a Caller, query: ListQuery) -> BoxFuture<'a, Result<Page, CallError>>;

    /// Executes one write.
    fn write<'a>(&'a self, caller: &'a Caller, operation: Operation) -> BoxFuture<'a, Written>;

    /// Executes many writes. Returns one result for each, in the given order.
    fn batch<'a>(&'a self, caller: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>>;

    /// Creates a Kubernetes Event.
    fn emit_event<'a>(&'a self, caller: &'a Caller, event: EmitEvent) -> BoxFuture<'a, Result<(), CallError>>;

    /// Finds a kind by a name that people give it, only in this version if one is given. Default: there are no kinds.
    fn resolve<'a>(
        &'a self,
        _caller: &'a Caller,
        name: String,
        _api_version: Option<String>,
    ) -> BoxFuture<'a, Result<Resource, CallError>> {
        let message = format!("kind {name:?}: this host serves no kinds");
        let error = CallError { reason: CallReason::Other, message, code: None, status: None };
        Box::pin(std::future::ready(Err(error)))
    }

    /// Sends an HTTP request. Default: there is no network.
    fn http<'a>(
        &'a self,
        _caller: &'a Caller,
        _request: HttpRequest,
        _bounds: HttpBounds,
    ) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        let message = "this host sends no HTTP requests".to_owned();
        Box::pin(std::future::ready(Err(HttpError { reason: HttpReason::Denied, message })))
    }

    /// Lists the kinds that the API server serves. Default: there are none.
    fn kinds<'a>(&'a self, _caller: &'a Caller) -> BoxFuture<'a, Result<KindListing, CallError>> {
        Box::pin(std::future::ready(Ok(KindListing::default())))
    }

    /// Whether the hook may do something. Default: nothing.
    fn allowed<'a>(&'a self, _caller: &'a Caller, _question: AccessQuestion) -> BoxFuture<'a, Result<bool, CallError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// The hook's snapshots, all of one moment. Called at the beginning of a run that may open some.
    fn snapshot_set(&self, hook: &HookName) -> SnapshotSet;

    /// Whether a metric could be recorded if the run ended now. The text is for the hook's author. `in_run` is the
    /// number of series that the run has reported so far, including this one. This must be cheap, because it is called
    /// for every metric.
    fn check_metric(&self, _caller: &Caller, _sample: &MetricSample, _in_run: usize) -> Result<(), String> {
        Ok(())
    }

    /// A run opens a snapshot. `items` is `None` if the snapshot's objects are not known yet. For hosts that keep
    /// records.
    fn opened(&self, _binding: &BindingName, _items: Option<&Items>) {}

    /// Whether the lines of the run are written to the operator's log. Default: they are.
    fn prints_lines(&self) -> bool {
        true
    }

    /// A run logs a line, within its budget. `fields` is a JSON object, or empty. This must be cheap. For hosts that
    /// keep records.
    fn logged(&self, _level: Level, _message: &str, _fields: &str) {}

    /// The directories that runs may have, requested once before the run. Default: none.
    fn directories(&self) -> Directories {
        Directories::default()
    }

    /// The source of the run's time and random numbers, requested once before the run. Default: the system.
    fn ambient(&self) -> Option<Arc<dyn Ambient>> {
        None
    }
}

/// The host of an interpreter that reads a script. It grants nothing, and finds kinds.
pub(super) struct OnlyKinds<F>(F);

impl<F> OnlyKinds<F> {
    pub(super) fn new(resolve: F) -> Self {
        Self(resolve)
    }
}

impl<F: Fn(&str, Option<&str>) -> Option<Resource> + Send + Sync + 'static> Host for OnlyKinds<F> {
    fn get<'a>(&'a self, _: &'a Caller, _: ObjectRef, _: Option<String>) -> BoxFuture<'a, Result<String, CallError>> {
        NoGrants.refuse("get")
    }

    fn list<'a>(&'a self, _: &'a Caller, _: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        NoGrants.refuse("list")
    }

    fn write<'a>(&'a self, _: &'a Caller, _: Operation) -> BoxFuture<'a, Written> {
        NoGrants.refuse("write")
    }

    fn batch<'a>(&'a self, _: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        let refusals = operations.iter().map(|_| NoGrants.refuse("batch"));
        Box::pin(futures::future::join_all(refusals))
    }

    fn emit_event<'a>(&'a self, _: &'a Caller, _: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        NoGrants.refuse("emit-event")
    }

    fn resolve<'a>(
        &'a self,
        _: &'a Caller,
        name: String,
        api_version: Option<String>,
    ) -> BoxFuture<'a, Result<Resource, CallError>> {
        let found = (self.0)(&name, api_version.as_deref()).ok_or_else(|| CallError {
            reason: CallReason::NotFound,
            message: format!("the kind {name:?} is not known"),
            code: None,
            status: None,
        });
        Box::pin(std::future::ready(found))
    }

    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
        SnapshotSet::default()
    }
}

/// The host of a hook that reports its configuration. It grants nothing.
pub(super) struct NoGrants;

impl NoGrants {
    fn refuse<'a, T: Send + 'a>(&self, call: &str) -> BoxFuture<'a, Result<T, CallError>> {
        let error = CallError {
            reason: CallReason::ForbiddenByGrant,
            message: format!("kube.{call} is not allowed in config: permissions are known only after it; do it in run"),
            code: None,
            status: None,
        };
        Box::pin(std::future::ready(Err(error)))
    }
}

impl Host for NoGrants {
    fn get<'a>(&'a self, _: &'a Caller, _: ObjectRef, _: Option<String>) -> BoxFuture<'a, Result<String, CallError>> {
        self.refuse("get")
    }

    fn list<'a>(&'a self, _: &'a Caller, _: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        self.refuse("list")
    }

    fn write<'a>(&'a self, _: &'a Caller, _: Operation) -> BoxFuture<'a, Written> {
        self.refuse("write")
    }

    fn batch<'a>(&'a self, _: &'a Caller, operations: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        let refusals = operations.iter().map(|_| self.refuse("batch"));
        Box::pin(futures::future::join_all(refusals))
    }

    fn emit_event<'a>(&'a self, _: &'a Caller, _: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        self.refuse("emit-event")
    }

    fn resolve<'a>(
        &'a self,
        _: &'a Caller,
        _: String,
        _: Option<String>,
    ) -> BoxFuture<'a, Result<Resource, CallError>> {
        self.refuse("resolve")
    }

    fn http<'a>(
        &'a self,
        _: &'a Caller,
        _: HttpRequest,
        _: HttpBounds,
    ) -> BoxFuture<'a, Result<HttpResponse, HttpError>> {
        let message =
            "HTTP requests are not allowed in config: permissions are known only after it; send them in run".to_owned();
        Box::pin(std::future::ready(Err(HttpError { reason: HttpReason::Denied, message })))
    }

    fn kinds<'a>(&'a self, _: &'a Caller) -> BoxFuture<'a, Result<KindListing, CallError>> {
        self.refuse("kinds")
    }

    fn allowed<'a>(&'a self, _: &'a Caller, _: AccessQuestion) -> BoxFuture<'a, Result<bool, CallError>> {
        self.refuse("allowed")
    }

    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
        SnapshotSet::default()
    }

    fn check_metric(&self, _: &Caller, _: &MetricSample, _: usize) -> Result<(), String> {
        Err("metrics cannot be reported in config: report them in run".to_owned())
    }
}

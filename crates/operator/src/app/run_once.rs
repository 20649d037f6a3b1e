//! One run by hand. The operator's hooks are held, and the requested run gets the snapshots that the hook's bindings
//! really have. A run is never repeated, and nothing starts by itself.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    fair::Tenant,
    filter::{self, BindingStatus, FilterError},
    model::{
        AdmissionBinding, AdmissionKind, BindingName, BindingRef, Cause, ConversionBinding, Failure, FailureKind,
        HookName, HookSpec, InvalidObject, Job, JobId, KubernetesBinding, Object, ObjectEvent, ObjectRef, QueueName,
        Resource, Reviewed, Role, ScheduleBinding, StartupBinding, Tick, Trigger, WatchEventKind,
    },
};
use boathook_kube::discovery::{Discovery, DiscoveryError};
use boathook_sandbox::RunReport;
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;

use super::{App, Services, schedules};
use crate::webhook::{AdmissionRequest, ConversionRequest, Converted, Versioned};

/// Why a requested run is not possible.
#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    /// The hook has no such binding, or the event cannot happen to it.
    #[error("hook {hook} has no binding {name:?} for {what}; it has {has}")]
    NoBinding {
        hook: HookName,
        /// The requested binding.
        name: String,
        /// For example `a schedule`.
        what: &'static str,
        /// The hook's bindings, in words.
        has: String,
    },
    #[error("hook {hook} has no binding for {what}; it has {has}")]
    None {
        hook: HookName,
        /// For example `a schedule`.
        what: &'static str,
        /// The hook's bindings, in words.
        has: String,
    },
    #[error("hook {hook} has several bindings; name one of them: {has}")]
    Several {
        hook: HookName,
        /// The bindings that fit.
        has: String,
    },
    #[error("the context is an empty list: give it at least one event")]
    Nothing,
    #[error(
        "hook {hook} reconciles one object at a time: give it with the event Added or Modified of {has}, on the command line \
         with --event and --object"
    )]
    WithoutObject {
        hook: HookName,
        /// The bindings that fit.
        has: String,
    },
    #[error("binding {binding}")]
    Kind {
        binding: BindingName,
        #[source]
        source: DiscoveryError,
    },
    #[error("binding {binding} is for {wanted}, but the object is a {found}")]
    OtherKind {
        binding: BindingName,
        /// For example `v1 Secret`.
        wanted: String,
        /// The object's kind.
        found: String,
    },
    #[error("binding {binding}: {object} does not exist: add it to the cluster's state, or give the whole object")]
    NoObject {
        binding: BindingName,
        /// For example `v1 Secret a/b`.
        object: String,
    },
    #[error("binding {binding}: the object cannot be used")]
    Object {
        binding: BindingName,
        #[source]
        source: InvalidObject,
    },
    #[error("the cluster rejects {object}")]
    Refused {
        /// For example `v1 Secret a/b`.
        object: String,
        #[source]
        source: kube::Error,
    },
    #[error("binding {binding}: the filter gave no result for the object")]
    Filter {
        binding: BindingName,
        #[source]
        source: FilterError,
    },
    #[error("hook {0} is not loaded")]
    NotLoaded(HookName),
    #[error("the hook cannot be run: {0}")]
    Run(Failure),
}

impl App {
    /// Waits until the hook's bindings know their objects. Returns a text for each binding that does not after
    /// `patience`, and for each kind that is not served.
    pub async fn settled(&self, hook: &HookName, patience: Duration) -> Vec<String> {
        let deadline = Instant::now() + patience;
        loop {
            let bindings = self.services.health.bindings(hook);
            let settled = bindings.iter().all(|(status, pending)| pending.is_some() || status.is_synchronised());
            if settled || Instant::now() > deadline {
                let spec =
                    self.services.hook_registry.hook(hook).map(|hook| hook.spec.kubernetes.clone()).unwrap_or_default();
                return bindings.iter().zip(&spec).filter_map(|(binding, spec)| missing(binding, &spec.name)).collect();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Runs the hook once for all of these events together. Nothing is queued or repeated.
    pub async fn run_once(&self, hook: &HookName, sets: &[Set]) -> Result<RunReport, OnceError> {
        let missing =
            || Failure { kind: FailureKind::Host, message: format!("hook {hook} is not loaded"), backtrace: None };
        let spec = &self.services.hook_registry.hook(hook).ok_or_else(|| OnceError::Run(missing()))?.spec;
        let mut all = Vec::with_capacity(sets.len());
        for set in sets {
            all.push(trigger(&self.services, spec, set).await?);
        }
        let queue = QueueName::Own(hook.clone());
        let job = Job { id: JobId(0), hook: hook.clone(), queue, attempt: 1, triggers: all };
        self.runs.run_with_report(job).await.map_err(OnceError::Run)
    }
}

/// Why a binding does not know its objects.
fn missing((status, pending): &(Arc<BindingStatus>, Option<String>), name: &BindingName) -> Option<String> {
    match pending {
        Some(reason) => Some(format!("binding {name} has no objects: {reason}")),
        None if status.is_synchronised() => None,
        None if status.late() > 0 => {
            let error = status.last_error().unwrap_or_default();
            Some(format!("binding {name} does not know all of its objects: {error}"))
        }
        None => Some(format!("binding {name} has not listed its objects")),
    }
}

/// How long an API server waits for a conversion.
const CONVERSION: Duration = Duration::from_secs(30);
/// The uid of a request that has none.
const UID: &str = "by-hand";

/// A request to a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// The review of an `AdmissionRequest`.
    Review {
        /// The kind of binding that answers.
        kind: AdmissionKind,
        binding: String,
        /// The request. It has at least an `operation`.
        request: Value,
    },
    /// The conversion of objects to another version.
    Conversion {
        binding: String,
        /// `v1` or `stable.example.com/v1`.
        to: String,
        /// The objects, in any versions.
        objects: Vec<Value>,
    },
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    Reviewed(Reviewed),
    /// The objects, in order.
    Converted(Vec<String>),
    /// The hook says that the conversion is not possible.
    Refused(String),
    /// There is no answer, because the hook failed or took too long. For a review, the binding's `failurePolicy` would
    /// decide.
    Failed(String),
}

impl Question {
    /// Checks that the hook has such a binding. The error names those that it has.
    pub fn check(&self, spec: &HookSpec) -> Result<(), OnceError> {
        match self {
            Self::Review { kind, binding, .. } => review(spec, *kind, binding).map(drop),
            Self::Conversion { binding, .. } => conversion(spec, binding).map(drop),
        }
    }
}

impl App {
    /// Gets the hook's answer. It waits until the hook knows the objects of its snapshots.
    pub async fn answer_once(&self, hook: &HookName, question: &Question) -> Result<Answered, OnceError> {
        let loaded = self.services.hook_registry.hook(hook).ok_or_else(|| OnceError::NotLoaded(hook.clone()))?;
        let (spec, answerer) = (&loaded.spec, self.answerer());
        match question {
            Question::Review { kind, binding, request } => {
                let bound = review(spec, *kind, binding)?;
                let asked = answerer.review(*kind, hook.as_str(), binding, admission(request), bound.timeout).await;
                Ok(asked.map_or_else(|error| Answered::Failed(error.to_string()), Answered::Reviewed))
            }
            Question::Conversion { binding, to, objects } => {
                let crd = conversion(spec, binding)?.crd.to_string();
                let request = wanted(crd, to, objects);
                Ok(match answerer.convert(request, CONVERSION).await {
                    Ok(Converted::Objects(objects)) => Answered::Converted(objects),
                    Ok(Converted::Failed(text)) => Answered::Refused(text),
                    Err(error) => Answered::Failed(error.to_string()),
                })
            }
        }
    }
}

fn review<'s>(spec: &'s HookSpec, kind: AdmissionKind, name: &str) -> Result<&'s AdmissionBinding, OnceError> {
    let of_kind = || spec.admission.iter().filter(move |binding| binding.kind == kind);
    let what = match kind {
        AdmissionKind::Validating => "a validating review",
        AdmissionKind::Mutating => "a mutating review",
    };
    let names = of_kind().map(|binding| binding.name.to_string()).collect();
    of_kind().find(|binding| binding.name.as_str() == name).ok_or_else(|| none(spec, name, what, names))
}

fn conversion<'s>(spec: &'s HookSpec, name: &str) -> Result<&'s ConversionBinding, OnceError> {
    let names = spec.conversions.iter().map(|binding| binding.name.to_string()).collect();
    let found = spec.conversions.iter().find(|binding| binding.name.as_str() == name);
    found.ok_or_else(|| none(spec, name, "a conversion", names))
}

fn none(spec: &HookSpec, name: &str, what: &'static str, names: Vec<String>) -> OnceError {
    let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    OnceError::NoBinding { hook: spec.name.clone(), name: name.to_owned(), what, has }
}

fn admission(request: &Value) -> AdmissionRequest {
    let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (mut uid, mut request) = (text("uid"), request.clone());
    if uid.is_empty() {
        uid = UID.to_owned();
        if let Some(fields) = request.as_object_mut() {
            fields.insert("uid".to_owned(), UID.into());
        }
    }
    AdmissionRequest {
        uid,
        dry_run: request.get("dryRun").and_then(Value::as_bool).unwrap_or_default(),
        operation: request.get("operation").and_then(Value::as_str).unwrap_or_default().to_owned(),
        has_object: request.get("object").is_some_and(Value::is_object),
        by_hand: true,
        json: Arc::from(request.to_string()),
    }
}

fn wanted(crd: String, to: &str, objects: &[Value]) -> ConversionRequest {
    let version = |object: &Value| object.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    let group = crd.split_once('.').map_or("", |(_, group)| group);
    let desired = if to.contains('/') { to.to_owned() } else { format!("{group}/{to}") };
    let objects = objects.iter().map(|object| Versioned { api_version: version(object), json: object.to_string() });
    ConversionRequest { objects: objects.collect(), desired, uid: UID.to_owned(), crd }
}

/// One reason to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The binding's name. If absent, it is the only binding that fits.
    pub binding: Option<String>,
    pub occasion: TriggerRequest,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TriggerRequest {
    /// The first event in the binding's life: a start-up, a tick, or a synchronization.
    Any,
    /// The operator starts.
    Startup,
    /// A schedule fires.
    Schedule,
    /// A binding knows all its objects.
    Synchronization,
    /// Bindings of this group changed.
    Group(String),
    /// An object changes.
    Event {
        kind: WatchEventKind,
        object: Wanted,
        /// The result of the filter, if it is known. Otherwise the filter runs.
        filter_result: Option<Value>,
    },
}

/// The object of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// This object.
    Given(Value),
    /// An object in the cluster.
    Named {
        /// Absent for cluster-scoped objects. Otherwise it defaults to `default`.
        namespace: Option<String>,
        name: String,
    },
}

/// A binding that triggers runs.
#[derive(Debug, Clone, Copy)]
enum Bound<'s> {
    Startup(&'s StartupBinding),
    Schedule(&'s ScheduleBinding),
    /// Also the objects of a `reconcile` binding.
    Kubernetes(&'s KubernetesBinding),
}

/// The name of the start-up binding.
const STARTUP: &str = "onStartup";

impl Bound<'_> {
    fn is_called(&self, name: &str) -> bool {
        let is = |binding: &BindingName| binding.as_str() == name || binding.unique() == name;
        match self {
            Self::Startup(_) => name == STARTUP,
            Self::Schedule(binding) => is(&binding.name),
            Self::Kubernetes(binding) => is(&binding.name),
        }
    }

    fn group(&self) -> Option<&str> {
        match self {
            Self::Startup(_) => None,
            Self::Schedule(binding) => binding.group.as_deref(),
            Self::Kubernetes(binding) => binding.group.as_deref(),
        }
    }

    /// Whether the binding never triggers a run, and exists only for its snapshot.
    fn is_silent(&self) -> bool {
        let silent = |binding: &KubernetesBinding| binding.events.is_empty() && !binding.on_synchronization;
        matches!(self, Self::Kubernetes(binding) if silent(binding))
    }

    /// Whether the binding reconciles one object at a time.
    fn reconciles(&self) -> bool {
        matches!(self, Self::Kubernetes(binding) if binding.role.is_some())
    }

    fn describe(&self) -> String {
        match self {
            Self::Startup(_) => STARTUP.to_owned(),
            Self::Schedule(binding) => format!("{} (schedule)", binding.name),
            Self::Kubernetes(binding) if binding.role.is_some() => {
                format!("{} (reconcile, {})", binding.name, binding.kind)
            }
            Self::Kubernetes(binding) => format!("{} (kubernetes, {})", binding.name, binding.kind),
        }
    }
}

impl TriggerRequest {
    fn happens_to(&self, bound: &Bound<'_>) -> bool {
        match self {
            Self::Event { kind: WatchEventKind::Deleted, .. } | Self::Any | Self::Synchronization
                if bound.reconciles() =>
            {
                false
            }
            Self::Any => true,
            Self::Startup => matches!(bound, Bound::Startup(_)),
            Self::Schedule => matches!(bound, Bound::Schedule(_)),
            Self::Synchronization | Self::Event { .. } => matches!(bound, Bound::Kubernetes(_)),
            Self::Group(group) => bound.group() == Some(group),
        }
    }

    fn describe(&self) -> &'static str {
        match self {
            Self::Any => "a run",
            Self::Startup => "a start-up",
            Self::Schedule => "a schedule",
            Self::Synchronization => "a synchronization",
            Self::Group(_) => "this group",
            Self::Event { .. } => "an event",
        }
    }
}

impl Asked {
    /// Checks that the hook has such a binding. The error names those that it has.
    pub fn check(&self, spec: &HookSpec) -> Result<(), OnceError> {
        self.bound(spec).map(drop)
    }

    fn bound<'s>(&self, spec: &'s HookSpec) -> Result<Bound<'s>, OnceError> {
        let all = all(spec);
        let (hook, what) = (spec.name.clone(), self.occasion.describe());
        let named = |bound: &&Bound<'_>| self.binding.as_deref().is_none_or(|name| bound.is_called(name));
        let wanted: Vec<_> = all.iter().filter(named).copied().collect();
        let only_reconciles = !wanted.is_empty() && wanted.iter().all(Bound::reconciles);
        if only_reconciles && !wanted.iter().any(|bound| self.occasion.happens_to(bound)) {
            return Err(OnceError::WithoutObject { hook, has: list(&wanted) });
        }
        let fitting = all.iter().filter(|bound| self.occasion.happens_to(bound));
        let Some(name) = &self.binding else {
            let mut fitting: Vec<_> = fitting.copied().collect();
            if fitting.iter().any(|bound| !bound.is_silent()) {
                fitting.retain(|bound| !bound.is_silent());
            }
            return match fitting.as_slice() {
                [] => Err(OnceError::None { hook, what, has: list(&all) }),
                [bound] => Ok(*bound),
                // Any binding of a group can stand for the group.
                [.., last] if matches!(self.occasion, TriggerRequest::Group(_)) => Ok(*last),
                several => Err(OnceError::Several { hook, has: list(several) }),
            };
        };
        let named: Vec<_> = fitting.filter(|bound| bound.is_called(name)).copied().collect();
        let error = || OnceError::NoBinding { hook, name: name.clone(), what, has: list(&all) };
        named.first().copied().ok_or_else(error)
    }
}

fn all(spec: &HookSpec) -> Vec<Bound<'_>> {
    let triggers = spec.bindings().filter_map(|binding| match binding {
        BindingRef::Startup(binding) => Some(Bound::Startup(binding)),
        BindingRef::Schedule(binding) => Some(Bound::Schedule(binding)),
        BindingRef::Kubernetes(binding) => {
            matches!(binding.role, None | Some(Role::Parents)).then_some(Bound::Kubernetes(binding))
        }
        // Answers are not triggers: see `Question`.
        BindingRef::Reconcile(_) | BindingRef::Admission(_) | BindingRef::Conversion(_) => None,
        // It has no module.
        BindingRef::Stage(_) => None,
    });
    triggers.collect()
}

fn list(all: &[Bound<'_>]) -> String {
    let names: Vec<_> = all.iter().map(Bound::describe).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The request, with the objects that it concerns.
#[derive(Debug, Clone)]
pub struct Set {
    asked: Asked,
    /// For an event: the object, and its state before.
    object: Option<(Value, Option<Value>)>,
}

/// A cluster to run on. Objects are found in it, or created if it is a local one, so that snapshots and calls agree with
/// the event. It never writes to a cluster that it does not own.
pub struct TargetObjects {
    client: Client,
    discovery: Discovery,
    own: bool,
}

impl TargetObjects {
    /// `own` says whether objects may be changed.
    pub fn new(client: Client, own: bool) -> Self {
        Self { discovery: Discovery::new(client.clone()), client, own }
    }

    /// Creates an object if it does not exist.
    pub async fn add(&self, object: &Value) -> Result<(), OnceError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let Ok(resource) = self.discovery.resolve(text("/apiVersion"), text("/kind")).await else {
            // The cluster does not serve the kind, so the snapshot would be empty in any case.
            return Ok(());
        };
        match self.live(&resource, namespace(&resource, object), text("/metadata/name")).await? {
            Some(_) => Ok(()),
            None => self.put(&resource, object, None).await,
        }
    }

    /// Finds the objects of the event. On its own cluster, it also makes the event happen.
    pub async fn set(&self, spec: &HookSpec, asked: Asked) -> Result<Set, OnceError> {
        let (Bound::Kubernetes(binding), TriggerRequest::Event { kind, object, .. }) =
            (asked.bound(spec)?, &asked.occasion)
        else {
            return Ok(Set { asked, object: None });
        };
        let found = self.discovery.find(binding.api_version.as_deref(), &binding.kind).await;
        let resource = found.map_err(|source| OnceError::Kind { binding: binding.name.clone(), source })?;
        let (object, before) = match object {
            Wanted::Named { namespace, name } => {
                (self.named(binding, &resource, namespace.as_deref(), name).await?, None)
            }
            Wanted::Given(object) => self.given(binding, &resource, object, *kind).await?,
        };
        if self.own && *kind == WatchEventKind::Deleted {
            self.remove(&resource, &object).await?;
        }
        Ok(Set { asked, object: Some((object, before)) })
    }

    async fn named(
        &self,
        binding: &KubernetesBinding,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, OnceError> {
        let namespace = resource.namespaced.then(|| namespace.unwrap_or("default"));
        let live = self.live(resource, namespace, name).await?;
        live.ok_or_else(|| {
            let object = reference(resource, namespace, name).to_string();
            OnceError::NoObject { binding: binding.name.clone(), object }
        })
    }

    /// Returns the object with the identity that it has in the cluster, and its state before.
    async fn given(
        &self,
        binding: &KubernetesBinding,
        resource: &Resource,
        object: &Value,
        kind: WatchEventKind,
    ) -> Result<(Value, Option<Value>), OnceError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (wanted, found) = (resource.to_string(), format!("{} {}", text("/apiVersion"), text("/kind")));
        if wanted != found {
            return Err(OnceError::OtherKind { binding: binding.name.clone(), wanted, found });
        }
        let (namespace, name) = (namespace(resource, object), text("/metadata/name"));
        let before = self.live(resource, namespace, name).await?;
        if self.own && kind != WatchEventKind::Deleted {
            self.put(resource, object, before.as_ref()).await?;
        }
        let live = self.live(resource, namespace, name).await?;
        let mut object = object.clone();
        for key in ["uid", "resourceVersion", "creationTimestamp", "namespace"] {
            let value = live.as_ref().and_then(|live| live.get("metadata")?.get(key)).cloned();
            let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
            if let (Some(metadata), Some(value)) = (metadata, value)
                && (self.own || !metadata.contains_key(key))
            {
                metadata.insert(key.to_owned(), value);
            }
        }
        Ok((object, before.filter(|_| kind == WatchEventKind::Modified)))
    }

    async fn live(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Result<Option<Value>, OnceError> {
        match self.send("GET", &resource.path(namespace, Some(name), None), Vec::new()).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(source) => Err(OnceError::Refused { object: reference(resource, namespace, name).to_string(), source }),
        }
    }

    async fn put(&self, resource: &Resource, object: &Value, live: Option<&Value>) -> Result<(), OnceError> {
        let mut object = object.clone();
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let namespace = namespace(resource, &object).map(str::to_owned);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| !matches!(key.as_str(), "uid" | "resourceVersion" | "creationTimestamp"));
        }
        let (method, named) = if live.is_some() { ("PUT", Some(name.as_str())) } else { ("POST", None) };
        let path = resource.path(namespace.as_deref(), named, None);
        if let Some(namespace) = namespace.as_deref().filter(|_| live.is_none()) {
            self.add_namespace(namespace).await?;
        }
        let sent = self.send(method, &path, object.to_string().into_bytes()).await;
        let object = reference(resource, namespace.as_deref(), &name).to_string();
        sent.map(drop).map_err(|source| OnceError::Refused { object, source })
    }

    /// Creates the namespace, because contexts rarely contain the namespaces of their objects.
    async fn add_namespace(&self, name: &str) -> Result<(), OnceError> {
        let namespace = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.send("POST", "/api/v1/namespaces", namespace.to_string().into_bytes()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(source) => Err(OnceError::Refused { object: format!("v1 Namespace {name}"), source }),
        }
    }

    async fn remove(&self, resource: &Resource, object: &Value) -> Result<(), OnceError> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let namespace = namespace(resource, object);
        let options = br#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}"#;
        match self.send("DELETE", &resource.path(namespace, Some(name), None), options.to_vec()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(source) => Err(OnceError::Refused { object: reference(resource, namespace, name).to_string(), source }),
        }
    }

    async fn send(&self, method: &str, path: &str, body: Vec<u8>) -> Result<Value, kube::Error> {
        let request = http::Request::builder().method(method).uri(path).header("content-type", "application/json");
        self.client.request(request.body(body).map_err(kube::Error::HttpError)?).await
    }
}

/// The object's namespace. If it has none, it is `default`.
fn namespace<'o>(resource: &Resource, object: &'o Value) -> Option<&'o str> {
    let given = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
    resource.namespaced.then(|| given.unwrap_or("default"))
}

fn reference(resource: &Resource, namespace: Option<&str>, name: &str) -> ObjectRef {
    ObjectRef {
        api_version: resource.api_version(),
        kind: resource.kind.clone(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    }
}

/// Makes the trigger for one requested event.
async fn trigger(services: &Services, spec: &HookSpec, set: &Set) -> Result<Trigger, OnceError> {
    match set.asked.bound(spec)? {
        Bound::Startup(binding) => Ok(schedules::startup(spec.name.clone(), binding)),
        Bound::Schedule(binding) => {
            let scheduled_at = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
            Ok(schedules::trigger(spec.name.clone(), binding, Tick { scheduled_at, missed: 0 }))
        }
        Bound::Kubernetes(binding) => {
            let cause = match (&set.asked.occasion, &set.object) {
                (TriggerRequest::Event { kind, filter_result, .. }, Some(object)) => {
                    Cause::Event(event(services, spec, binding, *kind, object, filter_result.as_ref()).await?)
                }
                (
                    TriggerRequest::Any
                    | TriggerRequest::Startup
                    | TriggerRequest::Schedule
                    | TriggerRequest::Synchronization
                    | TriggerRequest::Group(_)
                    | TriggerRequest::Event { .. },
                    _,
                ) => Cause::Synchronization,
            };
            let mut snapshots = vec![binding.name.clone()];
            let more = binding.include_snapshots_from.iter().filter(|name| **name != binding.name);
            snapshots.extend(more.cloned());
            Ok(Trigger {
                hook: spec.name.clone(),
                binding: binding.name.clone(),
                queue: binding.queue.clone(),
                cause,
                group: binding.group.clone(),
                snapshots: snapshots.into(),
                allow_failure: binding.allow_failure,
                retry: binding.retry,
                debounce: Duration::ZERO,
                created: Instant::now(),
            })
        }
    }
}

async fn event(
    services: &Services,
    spec: &HookSpec,
    binding: &KubernetesBinding,
    kind: WatchEventKind,
    (object, before): &(Value, Option<Value>),
    filter_result: Option<&Value>,
) -> Result<ObjectEvent, OnceError> {
    let found = services.discovery.find(binding.api_version.as_deref(), &binding.kind).await;
    let resource = found.map_err(|source| OnceError::Kind { binding: binding.name.clone(), source })?;
    let (api_version, kind_name): (Arc<str>, Arc<str>) = (resource.api_version().into(), resource.kind.as_str().into());
    let read = |value: &Value| {
        let read = Object::from_json(&value.to_string(), &api_version, &kind_name);
        read.map_err(|source| OnceError::Object { binding: binding.name.clone(), source })
    };
    let object = read(object)?;
    let result = match (filter_result, &binding.jq_filter) {
        (Some(given), Some(_)) => Some(given.to_string().into()),
        _ => filtered(services, spec, binding, &object).await?,
    };
    let item = filter::item(&object, binding.content, result);
    let (mut previous_filter_result, mut previous_object) = (None, None);
    if let Some(before) = before {
        let before = read(before)?;
        previous_filter_result = filtered(services, spec, binding, &before).await?;
        previous_object = filter::item(&before, binding.content, None).object.filter(|_| binding.previous_object);
    }
    Ok(ObjectEvent { kind, resource, item: Arc::new(item), previous_filter_result, previous_object, managers: None })
}

async fn filtered(
    services: &Services,
    spec: &HookSpec,
    binding: &KubernetesBinding,
    object: &Object,
) -> Result<Option<Arc<str>>, OnceError> {
    let Some(program) = &binding.jq_filter else { return Ok(None) };
    let failed = |source| OnceError::Filter { binding: binding.name.clone(), source };
    let compiled = services.filters.compile(&Tenant::hook(spec.name.as_str()), program).await;
    let program = compiled.map_err(|error| failed(filter::FilterError::Program(error.to_string())))?;
    let outputs = program.run(&object.json).await.map_err(failed)?;
    Ok(Some(Arc::from(outputs.combined())))
}

#[cfg(test)]
mod tests {
    use boathook_core::{hooks::parse, model::HookName};

    use super::*;

    fn spec(document: &str) -> HookSpec {
        parse(&HookName::new("h").unwrap(), document, &|_| Ok(())).unwrap()
    }

    fn chosen(spec: &HookSpec, binding: Option<&str>, occasion: TriggerRequest) -> String {
        let asked = Asked { binding: binding.map(str::to_owned), occasion };
        match asked.bound(spec) {
            Ok(bound) => bound.describe(),
            Err(error) => format!("error: {error}"),
        }
    }

    const ALL: &str = r#"{configVersion: v1, onStartup: 1,
      schedule: [{name: tick, crontab: "* * * * *", group: g}],
      kubernetes: [{name: pods, kind: Pod, group: g}, {name: maps, kind: ConfigMap}]}"#;

    #[test]
    fn the_only_binding_that_it_can_be_needs_no_name() {
        let one = spec("{configVersion: v1, kubernetes: [{kind: Pod}]}");
        assert_eq!(chosen(&one, None, TriggerRequest::Any), "kubernetes (kubernetes, Pod)");
        let silent = "{name: teams, kind: Namespace, executeHookOnEvent: [], executeHookOnSynchronization: false}";
        let beside = spec(&format!("{{configVersion: v1, kubernetes: [{silent}, {{name: pods, kind: Pod}}]}}"));
        assert_eq!(chosen(&beside, None, TriggerRequest::Any), "pods (kubernetes, Pod)");
        assert_eq!(chosen(&beside, Some("teams"), TriggerRequest::Any), "teams (kubernetes, Namespace)");
        let alone = spec(&format!("{{configVersion: v1, kubernetes: [{silent}]}}"));
        assert_eq!(chosen(&alone, None, TriggerRequest::Any), "teams (kubernetes, Namespace)");
        let all = spec(ALL);
        assert_eq!(chosen(&all, None, TriggerRequest::Startup), "onStartup");
        assert_eq!(chosen(&all, None, TriggerRequest::Schedule), "tick (schedule)");
        assert_eq!(chosen(&all, None, TriggerRequest::Group("g".to_owned())), "pods (kubernetes, Pod)");
        assert_eq!(chosen(&all, Some("maps"), TriggerRequest::Any), "maps (kubernetes, ConfigMap)");
    }

    #[test]
    fn a_hook_reconciles_one_object() {
        let apps = "reconcile: [{name: apps, apiVersion: x.io/v1, kind: App, owns: [{apiVersion: v1, kind: Service}]}]";
        let only = spec(&format!("{{configVersion: v1, {apps}}}"));
        let event = |kind| TriggerRequest::Event {
            kind,
            object: Wanted::Named { namespace: None, name: "a".to_owned() },
            filter_result: None,
        };
        assert_eq!(chosen(&only, None, event(WatchEventKind::Modified)), "apps (reconcile, App)");
        let says = "error: hook h reconciles one object at a time: give it with the event Added or Modified of apps \
                    (reconcile, App), on the command line with --event and --object";
        for occasion in [TriggerRequest::Any, TriggerRequest::Synchronization, event(WatchEventKind::Deleted)] {
            assert_eq!(chosen(&only, None, occasion.clone()), says);
            assert_eq!(chosen(&only, Some("apps"), occasion), says);
        }
        let both = spec(&format!("{{configVersion: v1, onStartup: 1, {apps}}}"));
        assert_eq!(chosen(&both, None, TriggerRequest::Any), "onStartup");
        assert_eq!(chosen(&both, Some("apps"), TriggerRequest::Any), says);
    }

    #[test]
    fn what_can_not_be_reported_names_the_choice() {
        let all = spec(ALL);
        let has = "onStartup, tick (schedule), pods (kubernetes, Pod), maps (kubernetes, ConfigMap)";
        assert_eq!(
            chosen(&all, None, TriggerRequest::Any),
            format!("error: hook h has several bindings; name one of them: {has}")
        );
        assert_eq!(
            chosen(&all, Some("tick"), TriggerRequest::Synchronization),
            format!("error: hook h has no binding \"tick\" for a synchronization; it has {has}")
        );
        let none = spec("{configVersion: v1, onStartup: 1}");
        assert_eq!(
            chosen(&none, None, TriggerRequest::Schedule),
            "error: hook h has no binding for a schedule; it has onStartup"
        );
    }
}

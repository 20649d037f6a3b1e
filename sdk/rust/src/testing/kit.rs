//! The kit: a hook, its document, and a cluster in memory to run it against.
//!
//! It only holds them together: `triggers` makes what wakes the hook, `host` answers it.

use super::cluster::Cluster;
use super::document::{Binding, Document};
use super::host::{Entered, Fault, Host};
use super::metrics::Series;
use super::ran::{Change, Ran, Verb, failed};
use super::run::{Run, object_of};
use crate::bindings::boathook::hook::types as wire;
use crate::config::IntoConfig;
use crate::context::Context;
use crate::error::Result;
use crate::kube::{Object, ObjectRef, Reason};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

type Filter = Box<dyn Fn(&Object) -> Value>;

/// A hook and a cluster in memory; see the [module](super) for an example.
pub struct Kit {
    pub(super) document: Document,
    hook: fn(Context) -> Result<()>,
    pub(super) filters: BTreeMap<String, Filter>,
    pub(super) cluster: Cluster,
    checked: bool,
    settings: String,
    values: Option<(String, String)>,
    changes: Vec<Change>,
    faults: Vec<Fault>,
    series: Series,
    random: u64,
    runs: u32,
    http: super::Servers,
}

impl std::fmt::Debug for Kit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kit").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Kit {
    /// A kit of the two functions that [`hook!`](crate::hook) takes, with an empty cluster. Panics if the document
    /// cannot be read.
    #[track_caller]
    pub fn new<C: IntoConfig>(config: fn() -> C, run: fn(Context) -> Result<()>) -> Self {
        let document = match Document::read(&config().into_config()) {
            Ok(document) => document,
            Err(error) => failed(&format!("the hook's document: {error}")),
        };
        let (filters, faults, series) = Default::default();
        let (cluster, settings) = (Cluster::new(), "{}".to_owned());
        let http = Default::default();
        Self {
            document,
            hook: run,
            filters,
            cluster,
            checked: true,
            settings,
            values: None,
            changes: Vec::new(),
            faults,
            series,
            random: 0,
            runs: 0,
            http,
        }
    }

    /// A kit of a hook that has no function `run`, and only answers.
    #[track_caller]
    pub fn answering<C: IntoConfig>(config: fn() -> C) -> Self {
        Self::new(config, |_| Ok(()))
    }

    /// What the `jqFilter` of a binding gives, in Rust: jq does not run natively. Needed for each binding with a
    /// `jqFilter` that a run hears of or whose snapshot it may open. A scenario shows that the two agree.
    #[track_caller]
    pub fn filter(&mut self, binding: &str, filter: impl Fn(&Object) -> Value + 'static) -> &mut Self {
        if self.binding(binding).jq_filter.is_none() {
            failed(&format!("the binding {binding:?} has no jqFilter"));
        }
        self.filters.insert(binding.to_owned(), Box::new(filter));
        self
    }

    /// Puts an object into the cluster, or replaces the one that is there. The answer is the object with `uid`,
    /// `resourceVersion` and `creationTimestamp`.
    #[track_caller]
    pub fn given<T: Serialize>(&mut self, object: &T) -> Object {
        let object = object_of(object);
        if object.api_version().is_empty() || object.kind().is_empty() || object.name().is_empty() {
            failed(&format!("an object needs apiVersion, kind and metadata.name: {}", object.0));
        }
        self.place(object)
    }

    /// Takes an object out of the cluster, and all that lies in it if it is a Namespace.
    pub fn gone(&mut self, target: &ObjectRef) -> &mut Self {
        self.cluster.remove(target);
        self
    }

    /// The name of a kind's resource, and whether its objects lie in namespaces: for custom resources whose plural is
    /// not the usual one.
    pub fn kind(&mut self, api_version: &str, kind: &str, plural: &str, namespaced: bool) -> &mut Self {
        self.cluster.kinds.add(api_version, kind, plural, namespaced);
        self
    }

    /// The settings that the admin gave the hook's bundle; `{}` without.
    #[track_caller]
    pub fn settings<T: Serialize>(&mut self, settings: &T) -> &mut Self {
        self.settings = object_of(settings).to_string();
        self
    }

    /// The values of the hook's module, and its configuration: objects with `global` and the section of the module. Without
    /// them, the hook belongs to no module.
    #[track_caller]
    pub fn values<V: Serialize, C: Serialize>(&mut self, values: &V, config: &C) -> &mut Self {
        self.values = Some((object_of(values).to_string(), object_of(config).to_string()));
        self
    }

    /// What the runs that succeeded changed in the values, in order. The kit does not apply it.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Allows all calls. Without it, calls need the document's `permissions`.
    pub fn without_grants(&mut self) -> &mut Self {
        self.checked = false;
        self
    }

    /// The next write of this verb to this object fails for this reason. Each call of it is for one write.
    pub fn refuse(&mut self, verb: Verb, target: &ObjectRef, reason: Reason) -> &mut Self {
        self.faults.push(Fault { verb: verb.to_string(), target: target.clone(), reason });
        self
    }

    /// The next read of this object fails for this reason.
    pub fn refuse_get(&mut self, target: &ObjectRef, reason: Reason) -> &mut Self {
        self.faults.push(Fault { verb: "get".to_owned(), target: target.clone(), reason });
        self
    }

    /// What a server answers to this method at this URL. Several answers are given in turn, and the last one again and
    /// again. Nothing is sent anywhere.
    pub fn http(
        &mut self,
        method: &str,
        url: &str,
        answer: std::result::Result<crate::http::Response, crate::http::Error>,
    ) -> &mut Self {
        self.http.entry((method.to_owned(), url.to_owned())).or_default().push(answer);
        self
    }

    /// The time that [`clock::now`](crate::clock::now) tells, until it is changed: the first second of 2026 at first.
    pub fn now(&self) -> SystemTime {
        self.cluster.now
    }

    /// Lets time pass.
    pub fn advance(&mut self, time: Duration) -> &mut Self {
        self.cluster.now += time;
        self
    }

    /// An object of the cluster as a `T`. Panics if it has another shape.
    #[track_caller]
    pub fn find<T: DeserializeOwned>(&self, target: &ObjectRef) -> Option<T> {
        let object = self.cluster.get(target)?;
        match serde_json::from_value(object.0.clone()) {
            Ok(typed) => Some(typed),
            Err(error) => failed(&format!("{target} has another shape: {error}: {}", object.0)),
        }
    }

    /// All objects of the cluster, by group, kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.cluster.all()
    }

    /// The value of a series that runs have reported, with at least these labels; of a histogram with `_sum`, `_count`
    /// or `_bucket` behind its name.
    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.series.value(name, labels)
    }

    /// Runs the hook. Panics if the run cannot be: an unknown binding, an object that the binding does not select, a
    /// `jqFilter` whose result nobody told; and if the hook asked for something that needs a real API server.
    #[track_caller]
    pub fn run(&mut self, run: Run) -> Ran {
        let contexts = self.contexts(&run);
        let names = contexts.iter().flat_map(|context| context.snapshots.clone()).collect::<Vec<_>>();
        let hook = self.hook;
        self.call(&names, &run, |info| hook(Context::from_wire(info, contexts)))
    }

    /// Calls one function of the hook, with a host that shows it these snapshots.
    #[track_caller]
    pub(super) fn call<T>(
        &mut self,
        snapshots: &[String],
        run: &Run,
        function: impl FnOnce(wire::RunInfo) -> Result<T>,
    ) -> Ran<T> {
        crate::entry::prepare();
        let moment = snapshots.iter().map(|name| (name.clone(), self.items(name, run))).collect();
        self.runs += 1;
        let info = wire::RunInfo {
            run_id: format!("run-{}", self.runs),
            hook: "hook".to_owned(),
            attempt: run.attempt,
            dry_run: run.dry_run,
        };
        let host = Host {
            cluster: std::mem::replace(&mut self.cluster, Cluster::new()),
            permissions: self.checked.then(|| self.document.permissions().to_vec()),
            moment,
            settings: self.settings.clone(),
            values: self.values.clone(),
            changes: Vec::new(),
            manager: "boathook.dev/hook".to_owned(),
            dry_run: run.dry_run,
            faults: std::mem::take(&mut self.faults),
            series: std::mem::take(&mut self.series),
            reported: Vec::new(),
            writes: Vec::new(),
            events: Vec::new(),
            log: Vec::new(),
            random: self.random,
            http_permissions: self.checked.then(|| self.document.http().to_vec()),
            http: std::mem::take(&mut self.http),
            sent: Vec::new(),
            unable: Vec::new(),
        };
        let entered = Entered::new(host);
        let result = function(info);
        match entered.leave() {
            Some(host) => self.take_back(host, result),
            None => failed("the hook ran another hook of the kit"),
        }
    }

    #[track_caller]
    fn take_back<T>(&mut self, host: Host, result: Result<T>) -> Ran<T> {
        if let Some(what) = host.unable.first() {
            failed(what);
        }
        (self.cluster, self.faults, self.series, self.random) = (host.cluster, host.faults, host.series, host.random);
        if result.is_ok() {
            self.series.commit(host.reported);
            self.changes.extend(host.changes);
        }
        self.http = host.http;
        Ran { result, writes: host.writes, events: host.events, log: host.log, sent: host.sent }
    }

    #[track_caller]
    pub(super) fn binding(&self, name: &str) -> &Binding {
        let found = self.document.kubernetes.iter().find(|binding| binding.name == name);
        found.unwrap_or_else(|| failed(&format!("the hook has no kubernetes binding {name:?}")))
    }

    #[track_caller]
    pub(super) fn place(&mut self, object: Object) -> Object {
        if let Err(failure) = self.cluster.check_place("given", &object.object_ref()) {
            failed(&failure.message);
        }
        self.cluster.put(object)
    }
}

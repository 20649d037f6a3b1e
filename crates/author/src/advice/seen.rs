//! What the records of one hook show, from the oldest to the newest: calls, high waters, and which objects led to something.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use boathook_core::model::{BindingName, Cause, FailureKind, HttpRequest, Item, Limit, ObjectEvent, WatchEventKind};
use boathook_operator::record::{Record, Request};
use serde_json::{Map, Value};

use crate::rbac::Calls;

/// What changes with each version of an object, and makes no event by itself.
const NOISE: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// What the records of one hook show.
#[derive(Debug, Default)]
pub struct Seen {
    /// The runs that ended by themselves.
    pub runs: usize,
    /// Records that do not show everything.
    pub incomplete: usize,
    pub calls: Calls,
    /// HTTP requests, by method and URL.
    pub requests: BTreeMap<(String, String), HttpRequest>,
    pub most: Most,
    /// The limits that runs reached, and how many runs.
    pub reached: BTreeMap<&'static str, usize>,
    pub bindings: BTreeMap<BindingName, OfBinding>,
    /// What a binding showed of an object last, by its uid.
    last: HashMap<(BindingName, Box<str>), Shown>,
}

/// The high waters of all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Most {
    pub memory: u64,
    pub time: Duration,
    pub host_calls: u64,
    pub host_bytes: u64,
}

/// What runs had from one binding.
#[derive(Debug, Default)]
pub struct OfBinding {
    pub events: BTreeMap<WatchEventKind, Times>,
    /// Objects whose events led to something, and those of snapshots that runs opened.
    pub led: BTreeSet<Place>,
    /// The objects of events that led to nothing.
    pub idle: Vec<Place>,
    /// The events `Modified` for which the object before is known.
    pub changes: Vec<Changed>,
    /// The events `Modified` that led to something, and for which it is not known.
    pub unknown: usize,
    /// Runs that opened the snapshot.
    pub opened: usize,
}

/// How often something led to something, and to nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    pub led: usize,
    pub idle: usize,
}

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub namespace: Option<String>,
    pub name: String,
    /// None if the binding does not keep them.
    pub labels: Option<BTreeMap<String, String>>,
}

/// One event `Modified`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The top-level fields of the object that changed, or the keys of the filter's result if there is a filter.
    pub parts: BTreeSet<String>,
    pub led: bool,
}

#[derive(Debug, Clone)]
struct Shown {
    object: Option<Arc<str>>,
    result: Option<Arc<str>>,
}

impl OfBinding {
    /// All events.
    pub fn total(&self) -> usize {
        self.events.values().map(|times| times.led + times.idle).sum()
    }

    /// Events that led to something.
    pub fn led_times(&self) -> usize {
        self.events.values().map(|times| times.led).sum()
    }

    /// The objects that never led to anything, once for each event.
    pub fn others(&self) -> Vec<&Place> {
        let needed: BTreeSet<_> = self.led.iter().map(|place| (&place.namespace, &place.name)).collect();
        self.idle.iter().filter(|place| !needed.contains(&(&place.namespace, &place.name))).collect()
    }
}

impl Seen {
    /// Adds a record. `silent` is what a record cannot show: if the hook may do such things, each run led to something.
    pub fn add(&mut self, record: &Record, silent: bool) {
        let failure = record.end.failure.as_ref().map(|failure| failure.kind);
        self.incomplete += usize::from(record.header.incomplete.is_some());
        self.runs += usize::from(failure != Some(FailureKind::Interrupted));
        if let Some(FailureKind::Limit(limit)) = failure {
            *self.reached.entry(key(limit)).or_default() += 1;
        }
        let end = &record.end;
        self.most.memory = self.most.memory.max(end.memory_peak);
        self.most.time = self.most.time.max(Duration::from_micros(end.duration_us));
        self.most.host_calls = self.most.host_calls.max(end.host_calls);
        self.most.host_bytes = self.most.host_bytes.max(end.host_bytes);
        for call in &record.calls {
            self.calls.recorded(call);
            if let Request::Http { request } = &call.request {
                self.requests
                    .entry((request.method.clone(), request.url.clone()))
                    .or_insert_with(|| HttpRequest { headers: Vec::new(), ..request.clone() });
            }
        }
        let led = silent || led_to_something(record);
        for trigger in &record.triggers {
            let of = self.bindings.entry(trigger.binding.clone()).or_default();
            let Cause::Event(event) = &trigger.cause else { continue };
            let place = place(&event.item);
            let times = of.events.entry(event.kind).or_default();
            if led {
                times.led += 1;
                of.led.insert(place);
            } else {
                times.idle += 1;
                of.idle.push(place);
            }
            let key = (trigger.binding.clone(), event.item.uid.clone());
            let before = self.last.insert(key, Shown::of(&event.item));
            if event.kind != WatchEventKind::Modified {
                continue;
            }
            match parts(event, before.as_ref()) {
                Some(parts) => of.changes.push(Changed { parts, led }),
                None => of.unknown += usize::from(led),
            }
        }
        for snapshot in &record.snapshots {
            let of = self.bindings.entry(snapshot.binding.clone()).or_default();
            of.opened += 1;
            of.led.extend(snapshot.items.iter().flatten().map(|item| place(item)));
        }
    }
}

impl Shown {
    fn of(item: &Item) -> Self {
        Self { object: item.object.clone(), result: item.filter_result.clone() }
    }
}

/// Whether a run did anything that somebody else can notice.
pub(super) fn led_to_something(record: &Record) -> bool {
    let does = |request: &Request| match request {
        Request::Write { .. }
        | Request::Batch { .. }
        | Request::EmitEvent { .. }
        | Request::Http { .. }
        | Request::Metric { .. } => true,
        Request::Get { .. }
        | Request::List { .. }
        | Request::Resolve { .. }
        | Request::Kinds
        | Request::Allowed { .. }
        | Request::Open { .. } => false,
    };
    record.question.is_some()
        || record.header.incomplete.is_some()
        || record.end.failure.is_some()
        || !record.end.metrics.is_empty()
        || record.calls.iter().any(|call| does(&call.request))
        || record.log.iter().any(|line| matches!(line.level.as_str(), "ERROR" | "WARN"))
}

fn key(limit: Limit) -> &'static str {
    match limit {
        Limit::Time => "time",
        Limit::Memory => "memory",
        Limit::Stack => "stack",
        Limit::HostCalls => "hostCalls",
        Limit::HostBytes => "hostBytes",
    }
}

pub(super) fn place(item: &Item) -> Place {
    let object: Option<Value> = item.object.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    let labels = |object: &Value| {
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        labels.into_iter().flatten().filter_map(text).collect()
    };
    Place {
        namespace: item.key.namespace.as_deref().map(str::to_owned),
        name: item.key.name.to_string(),
        labels: object.as_ref().map(labels),
    }
}

/// What an event changed. None if it is not known.
fn parts(event: &ObjectEvent, before: Option<&Shown>) -> Option<BTreeSet<String>> {
    let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    if let Some(result) = &event.item.filter_result {
        let before = event.previous_filter_result.as_ref().or_else(|| before?.result.as_ref())?;
        return Some(differing(&read(before)?, &read(result)?));
    }
    let before = event.previous_object.as_ref().or_else(|| before?.object.as_ref())?;
    Some(differing(&quiet(read(before)?), &quiet(read(event.item.object.as_deref()?)?)))
}

fn quiet(mut object: Map<String, Value>) -> Map<String, Value> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        NOISE.iter().for_each(|noise| drop(metadata.remove(*noise)));
    }
    object
}

fn differing(one: &Map<String, Value>, other: &Map<String, Value>) -> BTreeSet<String> {
    let keys = one.keys().chain(other.keys());
    keys.filter(|key| one.get(*key) != other.get(*key)).cloned().collect()
}

//! The host's side in a native build: the one of the test that runs on this thread, or none, and then every call says
//! so.
//!
//! It lets a hook compile, be documented, linted and tested where no component runs. It never pretends that something
//! was written.

use crate::bindings::boathook::hook::kube::{EventType as WireType, Failure, ListQuery, Operation, Page, Reason};
use crate::bindings::boathook::hook::log::Level;
use crate::bindings::boathook::hook::snapshots::Item;
use crate::bindings::boathook::hook::types::ObjectRef as WireRef;
use crate::bindings::boathook::hook::values::ModuleValues;
use crate::kube::{EventType, ObjectRef};
use crate::testing::{Emitted, Line, Op, What, labels, with};
use std::cell::Cell;
use std::rc::Rc;
use std::time::SystemTime;

const ABSENT: &str = "not available outside a hook: this is a native build, no host answers; \
                      boathook_sdk::testing has one for tests";

fn absent() -> Failure {
    Failure { reason: Reason::Unavailable, message: ABSENT.to_owned(), code: None, status: None }
}

pub(crate) fn get(target: &WireRef, subresource: Option<&str>) -> Result<String, Failure> {
    with(|host| host.get(&ObjectRef::from_wire(target.clone()), subresource)).unwrap_or_else(|| Err(absent()))
}

pub(crate) fn list(query: &ListQuery) -> Result<Page, Failure> {
    with(|host| host.list(query)).unwrap_or_else(|| Err(absent()))
}

pub(crate) fn write(operation: &Operation) -> Result<Option<String>, Failure> {
    with(|host| host.write(operation)).unwrap_or_else(|| Err(absent()))
}

pub(crate) fn batch(operations: &[Operation]) -> Vec<Result<Option<String>, Failure>> {
    operations.iter().map(write).collect()
}

pub(crate) fn emit_event(regarding: &WireRef, event_type: WireType, reason: &str, note: &str) -> Result<(), Failure> {
    let event_type = match event_type {
        WireType::Normal => EventType::Normal,
        WireType::Warning => EventType::Warning,
    };
    let regarding = ObjectRef::from_wire(regarding.clone());
    let event = Emitted { regarding, event_type, reason: reason.to_owned(), note: note.to_owned() };
    with(|host| host.emit(event)).unwrap_or_else(|| Err(absent()))
}

pub(crate) fn log(level: Level, message: &str, fields: &[(String, String)]) {
    let shown: String = fields.iter().map(|(k, v)| format!(" {k}={v}")).collect();
    eprintln!("{level:?} {message}{shown}");
    let level = match level {
        Level::Debug => ::log::Level::Debug,
        Level::Info => ::log::Level::Info,
        Level::Warn => ::log::Level::Warn,
        Level::Error => ::log::Level::Error,
    };
    with(|host| host.log(Line { level, message: message.to_owned(), fields: fields.to_vec() }));
}

fn report(name: &str, what: What, pairs: &[(String, String)], group: Option<&str>) -> Result<(), String> {
    let op = Op::Report { name: name.to_owned(), what, labels: labels(pairs), group: group.map(str::to_owned) };
    with(|host| host.metric(op)).unwrap_or_else(|| Err(ABSENT.to_owned()))
}

pub(crate) fn add(name: &str, value: f64, labels: &[(String, String)], group: Option<&str>) -> Result<(), String> {
    report(name, What::Add(value), labels, group)
}

pub(crate) fn set(name: &str, value: f64, labels: &[(String, String)], group: Option<&str>) -> Result<(), String> {
    report(name, What::Set(value), labels, group)
}

pub(crate) fn observe(
    name: &str,
    value: f64,
    buckets: &[f64],
    labels: &[(String, String)],
    group: Option<&str>,
) -> Result<(), String> {
    report(name, What::Observe(value, buckets.to_vec()), labels, group)
}

pub(crate) fn expire(group: &str) -> Result<(), String> {
    with(|host| host.metric(Op::Expire(group.to_owned()))).unwrap_or_else(|| Err(ABSENT.to_owned()))
}

pub(crate) fn http(request: &crate::http::Request) -> Result<crate::http::Response, crate::http::Error> {
    use crate::http::{Error, ErrorKind};
    with(|host| host.http(request)).unwrap_or_else(|| Err(Error::new(ErrorKind::Connection, ABSENT)))
}

pub(crate) fn settings() -> String {
    with(|host| host.settings()).unwrap_or_else(|| "{}".to_owned())
}

pub(crate) fn values() -> Result<ModuleValues, String> {
    with(|host| host.values()).unwrap_or_else(|| Err(ABSENT.to_owned()))
}

pub(crate) fn patch(operations: &str) -> Result<(), String> {
    with(|host| host.patch(operations, false)).unwrap_or_else(|| Err(ABSENT.to_owned()))
}

pub(crate) fn patch_config(operations: &str) -> Result<(), String> {
    with(|host| host.patch(operations, true)).unwrap_or_else(|| Err(ABSENT.to_owned()))
}

pub(crate) fn now() -> SystemTime {
    with(|host| host.now()).unwrap_or_else(SystemTime::now)
}

pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    with(|host| host.random()).unwrap_or_else(|| RandomState::new().hash_one(()))
}

/// A snapshot of a test's cluster.
#[derive(Debug)]
pub(crate) struct Snapshot {
    items: Rc<Vec<Item>>,
    next: Cell<usize>,
}

impl Snapshot {
    pub(crate) fn len(&self) -> u64 {
        self.items.len() as u64
    }

    pub(crate) fn next(&self, max: u32) -> Vec<Item> {
        let page: Vec<Item> = self.items.iter().skip(self.next.get()).take(max as usize).cloned().collect();
        self.next.set(self.next.get() + page.len());
        page
    }

    pub(crate) fn get(&self, namespace: Option<&str>, name: &str) -> Option<Item> {
        let named = |item: &&Item| item.name == name && item.namespace.as_deref() == namespace;
        self.items.iter().find(named).cloned()
    }
}

pub(crate) fn open(binding: &str) -> Result<Snapshot, String> {
    let items = with(|host| host.open(binding)).unwrap_or_else(|| Err(ABSENT.to_owned()))?;
    Ok(Snapshot { items, next: Cell::new(0) })
}

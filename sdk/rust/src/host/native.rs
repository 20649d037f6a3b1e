//! The host's side in a native build: there is none, and every call says so.
//!
//! It lets a hook compile, be documented, linted and unit-tested where no component runs. It
//! never pretends that something was written.

use crate::bindings::boathook::hook::kube::{Failure, ListQuery, Operation, Page, Reason};
use crate::bindings::boathook::hook::log::Level;
use crate::bindings::boathook::hook::snapshots::Item;
use crate::bindings::boathook::hook::types::ObjectRef;

const ABSENT: &str = "not available outside a hook: this is a native build, no host answers";

fn absent() -> Failure {
    Failure { reason: Reason::Unavailable, message: ABSENT.to_owned(), code: None, status: None }
}

pub(crate) fn get(_: &ObjectRef, _: Option<&str>) -> Result<String, Failure> {
    Err(absent())
}

pub(crate) fn list(_: &ListQuery) -> Result<Page, Failure> {
    Err(absent())
}

pub(crate) fn write(_: &Operation) -> Result<Option<String>, Failure> {
    Err(absent())
}

pub(crate) fn batch(operations: &[Operation]) -> Vec<Result<Option<String>, Failure>> {
    operations.iter().map(|_| Err(absent())).collect()
}

pub(crate) fn emit_event(
    _: &ObjectRef,
    _: crate::bindings::boathook::hook::kube::EventType,
    _: &str,
    _: &str,
) -> Result<(), Failure> {
    Err(absent())
}

pub(crate) fn log(level: Level, message: &str, fields: &[(String, String)]) {
    let fields: String = fields.iter().map(|(k, v)| format!(" {k}={v}")).collect();
    eprintln!("{level:?} {message}{fields}");
}

pub(crate) fn add(_: &str, _: f64, _: &[(String, String)], _: Option<&str>) -> Result<(), String> {
    Err(ABSENT.to_owned())
}

pub(crate) fn set(_: &str, _: f64, _: &[(String, String)], _: Option<&str>) -> Result<(), String> {
    Err(ABSENT.to_owned())
}

pub(crate) fn observe(_: &str, _: f64, _: &[f64], _: &[(String, String)], _: Option<&str>) -> Result<(), String> {
    Err(ABSENT.to_owned())
}

pub(crate) fn expire(_: &str) -> Result<(), String> {
    Err(ABSENT.to_owned())
}

pub(crate) fn settings() -> String {
    "{}".to_owned()
}

/// A snapshot that cannot be opened here.
#[derive(Debug)]
pub(crate) enum Snapshot {}

impl Snapshot {
    pub(crate) fn len(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn next(&self, _: u32) -> Vec<Item> {
        match *self {}
    }

    pub(crate) fn get(&self, _: Option<&str>, _: &str) -> Option<Item> {
        match *self {}
    }
}

pub(crate) fn open(_: &str) -> Result<Snapshot, String> {
    Err(ABSENT.to_owned())
}

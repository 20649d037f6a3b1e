//! The objects that the hook's `kubernetes` bindings match right now.
//!
//! Reading them costs no request to the API server and needs no permission. Nothing is copied
//! to the hook that it does not pull.

use crate::bindings::boathook::hook::snapshots as wire;
use crate::data::{DataError, absent, decode};
use crate::host;
use serde::de::DeserializeOwned;
use std::fmt;

/// Items that one call to the host asks for.
const PAGE: u32 = 512;

/// Opens the snapshot of a binding that a trigger of this run lists. All snapshots opened in one
/// run show one moment.
pub fn open(binding: &str) -> Result<Snapshot, OpenError> {
    match host::open(binding) {
        Ok(inner) => Ok(Snapshot { binding: binding.to_owned(), inner }),
        Err(message) => Err(OpenError { binding: binding.to_owned(), message }),
    }
}

/// A snapshot cannot be opened in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    binding: String,
    message: String,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "snapshot {:?}: {}", self.binding, self.message)
    }
}

impl std::error::Error for OpenError {}

/// An open snapshot.
#[derive(Debug)]
pub struct Snapshot {
    binding: String,
    inner: host::Snapshot,
}

impl Snapshot {
    /// The number of objects.
    pub fn len(&self) -> u64 {
        self.inner.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object with this name; the namespace is `None` for cluster-scoped ones.
    pub fn get<'a>(&self, namespace: impl Into<Option<&'a str>>, name: &str) -> Option<Item> {
        self.inner.get(namespace.into(), name).map(Item::from_wire)
    }

    /// The objects in order of namespace and name, pulled in pages. A snapshot has one cursor: a
    /// second iterator goes on where the first stopped. Open the snapshot again to start over.
    pub fn iter(&self) -> Items<'_> {
        Items { snapshot: self, page: Vec::new().into_iter(), ended: false }
    }

    /// The binding it belongs to.
    pub fn binding(&self) -> &str {
        &self.binding
    }
}

impl<'a> IntoIterator for &'a Snapshot {
    type Item = Item;
    type IntoIter = Items<'a>;

    fn into_iter(self) -> Items<'a> {
        self.iter()
    }
}

/// Iterates over a snapshot.
#[derive(Debug)]
pub struct Items<'a> {
    snapshot: &'a Snapshot,
    page: std::vec::IntoIter<wire::Item>,
    ended: bool,
}

impl Iterator for Items<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.page.len() == 0 && !self.ended {
            self.page = self.snapshot.inner.next(PAGE).into_iter();
            self.ended = self.page.len() == 0;
        }
        self.page.next().map(Item::from_wire)
    }
}

/// One object of a snapshot.
#[derive(Clone, Debug)]
pub struct Item {
    /// Absent for cluster-scoped objects.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion` of this state.
    pub resource_version: String,
    object: Option<String>,
    filter_result: Option<String>,
}

impl Item {
    /// The object.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        self.read(self.object.as_deref(), "object", "its binding keeps none (`content`)")
    }

    /// What the binding's `jqFilter` gave.
    pub fn filter_result<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        self.read(self.filter_result.as_deref(), "filter result", "its binding has no `jqFilter`")
    }

    /// The object as JSON text, if the binding keeps objects.
    pub fn object_json(&self) -> Option<&str> {
        self.object.as_deref()
    }

    /// The filter result as JSON text, if the binding has a `jqFilter`.
    pub fn filter_result_json(&self) -> Option<&str> {
        self.filter_result.as_deref()
    }

    fn read<T: DeserializeOwned>(&self, text: Option<&str>, what: &str, why: &str) -> Result<T, DataError> {
        match text {
            Some(text) => decode(text, || format!("the {what} of {}", self.path())),
            None => Err(absent(format!("there is no {what} of {}: {why}", self.path()))),
        }
    }

    fn path(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.clone(),
        }
    }

    fn from_wire(item: wire::Item) -> Self {
        Self {
            namespace: item.namespace,
            name: item.name,
            uid: item.uid,
            resource_version: item.resource_version,
            object: item.object,
            filter_result: item.filter_result,
        }
    }
}

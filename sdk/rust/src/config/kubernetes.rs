//! The `kubernetes` binding: run when objects change.
//!
//! One method per field of the document; it never looks at the cluster.

use super::{Labels, Retry, duration, object, push, set, set_list};
use crate::context::Change;
use serde_json::{Map, Value};
use std::time::Duration;

/// What of an object is kept in memory and delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// All of it except `metadata.managedFields`. The default.
    Full,
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
    /// Nothing but names, uid and what the `jqFilter` gave.
    None,
}

/// A binding to objects of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Kubernetes(pub(super) Map<String, Value>);

impl Kubernetes {
    /// A binding with this name, under which its triggers and its snapshot are found.
    pub fn new(name: &str) -> Self {
        let mut map = Map::new();
        set(&mut map, "name", name);
        Self(map)
    }

    /// `v1`, `apps/v1`.
    pub fn api_version(mut self, api_version: &str) -> Self {
        set(&mut self.0, "apiVersion", api_version);
        self
    }

    /// Kind, plural or short name: `Pod`, `pods`, `po`. Required.
    pub fn kind(mut self, kind: &str) -> Self {
        set(&mut self.0, "kind", kind);
        self
    }

    /// The changes that run the hook; all three by default, none for snapshots only.
    pub fn on_events(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        let names = changes.into_iter().map(|change| match change {
            Change::Added => "Added",
            Change::Modified => "Modified",
            Change::Deleted => "Deleted",
        });
        set_list(&mut self.0, "executeHookOnEvent", names);
        self
    }

    /// Whether the hook runs with the objects that exist when it is loaded. Default true.
    pub fn on_synchronization(mut self, run: bool) -> Self {
        set(&mut self.0, "executeHookOnSynchronization", run);
        self
    }

    /// Whether others wait until this binding's first run is done. Default true.
    pub fn wait_for_synchronization(mut self, wait: bool) -> Self {
        set(&mut self.0, "waitForSynchronization", wait);
        self
    }

    /// List everything anew in this interval.
    pub fn resynchronization_period(mut self, period: Duration) -> Self {
        set(&mut self.0, "resynchronizationPeriod", duration(period));
        self
    }

    /// shell-operator's word for [`Content::None`] (`false`) and [`Content::Full`] (`true`).
    pub fn keep_full_objects_in_memory(mut self, keep: bool) -> Self {
        set(&mut self.0, "keepFullObjectsInMemory", keep);
        self
    }

    /// What of an object is kept and delivered.
    pub fn content(mut self, content: Content) -> Self {
        let text = match content {
            Content::Full => "full",
            Content::Metadata => "metadata",
            Content::None => "none",
        };
        set(&mut self.0, "content", text);
        self
    }

    /// Only objects with one of these names.
    pub fn names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        set_list(object(&mut self.0, "nameSelector"), "matchNames", names);
        self
    }

    /// Only objects with these labels.
    pub fn labels(mut self, labels: Labels) -> Self {
        set(&mut self.0, "labelSelector", labels.0);
        self
    }

    /// Only objects with this label; short for [`labels`](Self::labels) with [`Labels::eq`].
    pub fn label(mut self, key: &str, value: &str) -> Self {
        let selector = object(&mut self.0, "labelSelector");
        set(object(selector, "matchLabels"), key, value);
        self
    }

    /// Only objects whose field has this value: `spec.nodeName`, `status.phase`.
    pub fn field_eq(self, field: &str, value: &str) -> Self {
        self.field(field, "Equals", value)
    }

    /// Only objects whose field does not have this value.
    pub fn field_not(self, field: &str, value: &str) -> Self {
        self.field(field, "NotEquals", value)
    }

    fn field(mut self, field: &str, operator: &str, value: &str) -> Self {
        let mut item = Map::new();
        set(&mut item, "field", field);
        set(&mut item, "operator", operator);
        set(&mut item, "value", value);
        push(object(&mut self.0, "fieldSelector"), "matchExpressions", item);
        self
    }

    /// Only objects in these namespaces.
    pub fn namespaces<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let namespace = object(&mut self.0, "namespace");
        set_list(object(namespace, "nameSelector"), "matchNames", names);
        self
    }

    /// Only objects in namespaces with these labels.
    pub fn namespace_labels(mut self, labels: Labels) -> Self {
        set(object(&mut self.0, "namespace"), "labelSelector", labels.0);
        self
    }

    /// Run only when what this jq program gives changes, and deliver that as `filterResult`.
    pub fn jq_filter(mut self, program: &str) -> Self {
        set(&mut self.0, "jqFilter", program);
        self
    }

    /// Other `kubernetes` bindings whose snapshots the runs of this one may open; its own is
    /// always among them.
    pub fn include_snapshots_from<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        set_list(&mut self.0, "includeSnapshotsFrom", names);
        self
    }

    /// Do not run for changes that this hook made. Default false.
    pub fn ignore_own_writes(mut self, ignore: bool) -> Self {
        set(&mut self.0, "ignoreOwnWrites", ignore);
        self
    }

    /// The queue for its triggers; `main` is the shared one, the default is the hook's own.
    pub fn queue(mut self, queue: &str) -> Self {
        set(&mut self.0, "queue", queue);
        self
    }

    /// Bindings of one group run the hook together.
    pub fn group(mut self, group: &str) -> Self {
        set(&mut self.0, "group", group);
        self
    }

    /// A failed run counts as done. Default false.
    pub fn allow_failure(mut self, allow: bool) -> Self {
        set(&mut self.0, "allowFailure", allow);
        self
    }

    /// How failed runs of this binding are repeated.
    pub fn retry(mut self, retry: Retry) -> Self {
        set(&mut self.0, "retry", retry.0);
        self
    }
}

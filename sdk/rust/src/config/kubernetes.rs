//! The `kubernetes` binding: run when objects change.
//!
//! One method per field of the document; it never looks at the cluster.

use super::{
    Labels, Retry,
    document::{Fields, Node},
};
use crate::context::Change;
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
pub struct Kubernetes(pub(super) Fields);

impl Kubernetes {
    /// A binding with this name, under which its triggers and its snapshot are found. Bindings may
    /// share a name as long as nobody asks for their snapshots by it.
    pub fn new(name: &str) -> Self {
        let mut map = Fields::default();
        map.text("name", name);
        Self(map)
    }

    /// `v1`, `apps/v1`.
    pub fn api_version(mut self, api_version: &str) -> Self {
        self.0.text("apiVersion", api_version);
        self
    }

    /// Kind, plural or short name: `Pod`, `pods`, `po`. Required.
    pub fn kind(mut self, kind: &str) -> Self {
        self.0.text("kind", kind);
        self
    }

    /// The changes that run the hook; all three by default, none for snapshots only.
    pub fn on_events(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        let names = changes.into_iter().map(|change| match change {
            Change::Added => "Added",
            Change::Modified => "Modified",
            Change::Deleted => "Deleted",
        });
        self.0.texts("executeHookOnEvent", names);
        self
    }

    /// Whether the hook runs with the objects that exist when it is loaded. Default true.
    pub fn on_synchronization(mut self, run: bool) -> Self {
        self.0.plain("executeHookOnSynchronization", run);
        self
    }

    /// Whether the hook's other triggers, and its readiness, wait until this binding's run for the
    /// objects that exist has succeeded. Default true. The binding's own events always wait for it.
    pub fn wait_for_synchronization(mut self, wait: bool) -> Self {
        self.0.plain("waitForSynchronization", wait);
        self
    }

    /// List all objects again in this interval, and deliver what differs as events. At least one
    /// second; never by default.
    pub fn resynchronization_period(mut self, period: Duration) -> Self {
        self.0.duration("resynchronizationPeriod", period);
        self
    }

    /// shell-operator's word for [`Content::None`] (`false`) and [`Content::Full`] (`true`).
    pub fn keep_full_objects_in_memory(mut self, keep: bool) -> Self {
        self.0.plain("keepFullObjectsInMemory", keep);
        self
    }

    /// What of an object is kept and delivered. Default [`Content::Full`].
    pub fn content(mut self, content: Content) -> Self {
        let text = match content {
            Content::Full => "full",
            Content::Metadata => "metadata",
            Content::None => "none",
        };
        self.0.text("content", text);
        self
    }

    /// Only objects with one of these names.
    pub fn names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.within("nameSelector", |fields| fields.texts("matchNames", names));
        self
    }

    /// Only objects with these labels.
    pub fn labels(mut self, labels: Labels) -> Self {
        self.0.set("labelSelector", Node::Map(labels.0));
        self
    }

    /// Only objects with this label; short for [`labels`](Self::labels) with [`Labels::eq`].
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0.within("labelSelector", |selector| selector.within("matchLabels", |labels| labels.text(key, value)));
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
        let mut item = Fields::default();
        item.text("field", field);
        item.text("operator", operator);
        item.text("value", value);
        self.0.within("fieldSelector", |selector| selector.push("matchExpressions", item));
        self
    }

    /// Only objects in these namespaces; with [`namespace_labels`](Self::namespace_labels), of these
    /// only those that have the labels.
    pub fn namespaces<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.within("namespace", |fields| {
            fields.within("nameSelector", |selector| selector.texts("matchNames", names))
        });
        self
    }

    /// Only objects in namespaces with these labels. As a namespace starts or stops to match, its
    /// objects are added or deleted.
    pub fn namespace_labels(mut self, labels: Labels) -> Self {
        self.0.within("namespace", |fields| fields.set("labelSelector", Node::Map(labels.0)));
        self
    }

    /// Run only when what this jq program gives changes, and deliver that as `filterResult`.
    pub fn jq_filter(mut self, program: &str) -> Self {
        self.0.text("jqFilter", program);
        self
    }

    /// Other `kubernetes` bindings whose snapshots the runs of this one may open; its own is
    /// always among them.
    pub fn include_snapshots_from<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("includeSnapshotsFrom", names);
        self
    }

    /// Do not run for changes that this hook made itself. Default false.
    pub fn ignore_own_writes(mut self, ignore: bool) -> Self {
        self.0.plain("ignoreOwnWrites", ignore);
        self
    }

    /// Wait until an object did not change for this time, at most ten times as long, and tell of the
    /// changes as one. Default none.
    pub fn debounce(mut self, quiet: Duration) -> Self {
        self.0.duration("debounce", quiet);
        self
    }

    /// Deliver with each modified object what it was before. Default false.
    pub fn previous_object(mut self, deliver: bool) -> Self {
        self.0.plain("previousObject", deliver);
        self
    }

    /// The queue for its triggers; `main` is the shared one, the default is the hook's own.
    pub fn queue(mut self, queue: &str) -> Self {
        self.0.text("queue", queue);
        self
    }

    /// Bindings of one group run the hook together: triggers of the group that are neighbours come as
    /// one, and may open the snapshots of all its `kubernetes` bindings.
    pub fn group(mut self, group: &str) -> Self {
        self.0.text("group", group);
        self
    }

    /// A failed run counts as done. Default false.
    pub fn allow_failure(mut self, allow: bool) -> Self {
        self.0.plain("allowFailure", allow);
        self
    }

    /// How failed runs of this binding are repeated.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.0.set("retry", Node::Map(retry.0));
        self
    }
}

//! The `reconcile` binding: says what the objects of a custom resource become.

use super::document::Fields;
use super::document::Node;
use super::labels::{Annotations, Labels};
use super::rules::Retry;
use std::time::Duration;

/// A binding to the objects of a custom resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconcile(pub(super) Fields);

/// Objects that the objects of a custom resource refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Related(Fields);

impl Related {
    /// An entry with this name, about objects of this kind.
    fn new(name: &str, api_version: &str, kind: &str) -> Self {
        let mut map = Fields::default();
        map.text("name", name);
        map.text("apiVersion", api_version);
        map.text("kind", kind);
        Self(map)
    }

    /// Objects whose name is in a field of the object: `Related::by_name("config", "v1", "ConfigMap", ".spec.config")`.
    pub fn by_name(name: &str, api_version: &str, kind: &str, path: &str) -> Self {
        let mut related = Self::new(name, api_version, kind);
        related.0.text("nameFrom", path);
        related
    }

    /// All objects with these labels.
    pub fn by_labels(name: &str, api_version: &str, kind: &str, labels: Labels) -> Self {
        Self::new(name, api_version, kind).labels(labels)
    }

    /// Only objects with these labels are watched.
    pub fn labels(mut self, labels: Labels) -> Self {
        self.0.set("labelSelector", Node::Map(labels.0));
        self
    }

    /// The objects are in this namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.0.text("namespace", namespace);
        self
    }
}

/// What happens if an object that the hook returns exists and belongs to no set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopt {
    /// It is refused; the default.
    Never,
    /// It becomes a child, unless a controller owns it.
    IfUnowned,
    /// It becomes a child.
    Always,
}

impl Reconcile {
    /// A binding with this name to a kind, such as `example.com/v1` and `Site`.
    pub fn new(name: &str, api_version: &str, kind: &str) -> Self {
        let mut map = Fields::default();
        map.text("name", name);
        map.text("apiVersion", api_version);
        map.text("kind", kind);
        Self(map)
    }

    /// A kind that the hook may return. Give it once for each.
    pub fn owns(mut self, api_version: &str, kind: &str) -> Self {
        let mut owned = Fields::default();
        owned.text("apiVersion", api_version);
        owned.text("kind", kind);
        self.0.push("owns", owned);
        self
    }

    /// Objects that the hook reads: their name is in a field of the object, such as `.spec.secretName`, or in the items of a
    /// list, such as `.spec.volumes[].secret`. They are in the object's namespace, unless [`namespace`](Related::namespace)
    /// names another one. A change of one of them calls the hook for the objects that refer to it.
    pub fn related(mut self, related: Related) -> Self {
        self.0.push("related", related.0);
        self
    }

    /// Only objects in these namespaces.
    pub fn namespaces<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.within("namespace", |namespace| {
            namespace.within("nameSelector", |selector| selector.texts("matchNames", names));
        });
        self
    }

    /// Only objects with these labels.
    pub fn labels(mut self, labels: Labels) -> Self {
        self.0.set("labelSelector", Node::Map(labels.0));
        self
    }

    /// The objects are others': the hook attaches its children to them, and may set labels and annotations on them. It returns
    /// the object itself among the children for that, with these labels and annotations only.
    pub fn decorates(mut self) -> Self {
        self.0.plain("decorates", true);
        self
    }

    /// Only objects with these annotations, for a binding that [`decorates`](Self::decorates).
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.0.set("annotationSelector", Node::Map(annotations.0));
        self
    }

    /// How many children may be deleted at once without an approval: of those that exist, in percent, and in number.
    pub fn prune(mut self, max_share: u8, max_objects: u32) -> Self {
        self.0.within("prune", |prune| {
            prune.text("maxShare", &format!("{max_share}%"));
            prune.plain("maxObjects", max_objects);
        });
        self
    }

    /// What happens to an object that exists before the hook wants it.
    pub fn adopt(mut self, adopt: Adopt) -> Self {
        let word = match adopt {
            Adopt::Never => "never",
            Adopt::IfUnowned => "ifUnowned",
            Adopt::Always => "always",
        };
        self.0.text("adopt", word);
        self
    }

    /// Keep so many revisions of each object's children, with the newest one: from 2 to 100. `boathook operators` shows them and
    /// goes back to them. Not for a binding that [`decorates`](Self::decorates).
    pub fn revisions(mut self, kept: u32) -> Self {
        self.0.plain("revisions", kept);
        self
    }

    /// Ask again after this time, although nothing changed.
    pub fn resync(mut self, period: Duration) -> Self {
        self.0.duration("resync", period);
        self
    }

    /// The `kubernetes` bindings whose snapshots its runs may open.
    pub fn include_snapshots_from<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("includeSnapshotsFrom", names);
        self
    }

    /// How failed runs are repeated.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.0.set("retry", Node::Map(retry.0));
        self
    }
}

//! The served resources by path, from the built-in table and from CustomResourceDefinitions. They describe how objects
//! are named, stored, selected, merged and shown.

mod autoscaler;
mod builtin;
pub(crate) mod crd;
pub(crate) mod custom;
pub(crate) mod definition;
pub(crate) mod discovery;
pub(crate) mod events;
mod form;
mod formats;
pub(crate) mod openapi;
pub(crate) mod published;
mod registry;
pub(crate) mod rules;
pub(crate) mod scale;
pub(crate) mod schema;
mod selectable;
pub(crate) mod shape;
pub(crate) mod structural;

use std::sync::Arc;

use serde_json::Value;

pub(crate) use registry::Registry;

use crate::names::Naming;
use crate::status::{Cause, Failure, GroupResource};
use crate::store::{Index, Stored};

/// A subresource of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sub {
    Status,
    Scale,
    Eviction,
    Binding,
    Finalize,
    EphemeralContainers,
    /// Resources of a pod's containers.
    Resize,
    /// Logs of a pod's containers.
    Log,
    /// Tokens of a service account.
    Token,
}

impl Sub {
    /// All served subresources.
    const ALL: &[Self] = &[
        Self::Status,
        Self::Scale,
        Self::Eviction,
        Self::Binding,
        Self::Finalize,
        Self::EphemeralContainers,
        Self::Resize,
        Self::Log,
        Self::Token,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|sub| sub.name() == name).copied()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Eviction => "eviction",
            Self::Binding => "binding",
            Self::Finalize => "finalize",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
            Self::Log => "log",
            Self::Token => "token",
        }
    }
}

/// How a stored object is converted to the requested version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// The stored object is used unchanged.
    Same,
    /// Only `apiVersion` differs.
    ApiVersion,
    /// events.k8s.io/v1 on core/v1 events.
    Events,
    /// autoscaling/v1 on autoscaling/v2 autoscalers.
    Autoscaler,
}

/// One served resource: a plural in a group and version.
#[derive(Debug)]
pub(crate) struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub list_kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    pub subresources: Vec<Sub>,
    /// The collection's name, `plural.group`.
    pub storage: Arc<str>,
    pub stored_api_version: String,
    pub conversion: Conversion,
    /// `metadata.generation` counts changes of the desired state.
    pub generation: bool,
    pub naming: Naming,
    pub selectable: Vec<crd::Selectable>,
    /// Only for custom resources.
    pub custom: Option<crd::Custom>,
    pub delete_returns_object: bool,
    pub create_on_update: bool,
    /// The table of built-in types.
    pub schema: Arc<schema::Schema>,
    /// The index of this kind's type in the table. None for custom resources.
    pub root_type: Option<usize>,
}

impl Resource {
    pub(crate) fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    /// The version in which managed fields are recorded. Fields may have other names in each version.
    pub(crate) fn written_api_version(&self) -> String {
        let by_webhook = self.custom.as_ref().is_some_and(|custom| custom.converter.is_some());
        if by_webhook || matches!(self.conversion, Conversion::Events | Conversion::Autoscaler) {
            self.api_version()
        } else {
            self.stored_api_version.clone()
        }
    }

    pub(crate) fn gr(&self) -> GroupResource<'_> {
        GroupResource { group: &self.group, resource: &self.plural }
    }

    pub(crate) fn has(&self, sub: Sub) -> bool {
        self.subresources.contains(&sub)
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// Kinds whose dependents stay by default, for compatibility with old clients.
    pub(crate) fn orphans_by_default(&self) -> bool {
        self.is("batch", "jobs") || self.is("", "replicationcontrollers")
    }

    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        if self.custom.is_some() {
            &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        } else if self.is("", "namespaces") {
            &["create", "delete", "get", "list", "patch", "update", "watch"]
        } else {
            &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        }
    }

    pub(crate) fn invalid(&self, name: &str, causes: &[Cause]) -> Failure {
        // Errors name the core group, whichever form an event has.
        let group = if self.conversion == Conversion::Events { "" } else { &self.group };
        Failure::invalid(group, &self.kind, name, causes)
    }

    /// The problem of a field selector on `path`, if there is one.
    pub(crate) fn field_problem(&self, path: &str) -> Option<String> {
        let special = selectable::of(&self.storage);
        let offered = matches!(path, "metadata.name" | "metadata.namespace")
            || self.selectable.iter().any(|s| *s.path == *path)
            || special.iter().any(|(p, _)| *p == path);
        if offered {
            return None;
        }
        if special.is_empty() && self.custom.is_none() {
            let known = "only \"metadata.name\", \"metadata.namespace\"";
            return Some(format!("\"{path}\" is not a known field selector: {known}"));
        }
        Some(format!("field label not supported: {path}"))
    }

    /// The selector index of an object in its storage version.
    pub(crate) fn index(&self, object: &Value) -> Index {
        let builtin =
            selectable::of(&self.storage).iter().map(|(path, value)| (Arc::from(*path), value(object).into()));
        let custom = self.selectable.iter().map(|s| (s.path.clone(), s.value(object).into()));
        Index { labels: Index::labels_of(object), fields: builtin.chain(custom).collect() }
    }

    /// Converts the body of a request to its storage version.
    pub(crate) fn to_storage(&self, object: &mut Value) {
        match self.conversion {
            Conversion::Same => {}
            Conversion::ApiVersion => self.set_api_version(object, &self.stored_api_version),
            Conversion::Events => events::to_core(object),
            Conversion::Autoscaler => autoscaler::to_v2(object),
        }
    }

    /// Converts a stored object to this resource's version.
    pub(crate) fn show_stored(&self, object: &mut Value) {
        match self.conversion {
            Conversion::Same => {}
            Conversion::ApiVersion => self.set_api_version(object, &self.api_version()),
            Conversion::Events => events::from_core(object),
            Conversion::Autoscaler => autoscaler::to_v1(object),
        }
    }

    fn set_api_version(&self, object: &mut Value, to: &str) {
        crate::json::object(object).insert("apiVersion".into(), to.into());
    }

    /// A stored object as a value in this version.
    pub(crate) fn value(&self, stored: &Stored) -> Value {
        let mut value = stored.value();
        self.show_stored(&mut value);
        value
    }
}

/// `v1` or `group/v1`.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The Kubernetes version whose behaviour this server follows.
pub(crate) const VERSION: &str = "v1.36.0";

pub(crate) use builtin::storage as builtin_storage;

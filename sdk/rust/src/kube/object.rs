//! Which object, and objects of any kind.
//!
//! No calls are made from here.

use crate::bindings::boathook::hook::types as wire;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// A type that stands for one kind of Kubernetes objects.
///
/// ```
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Backup { metadata: boathook_sdk::serde_json::Value }
///
/// impl boathook_sdk::kube::Kind for Backup {
///     const API_VERSION: &'static str = "example.com/v1";
///     const KIND: &'static str = "Backup";
/// }
/// ```
///
/// The serialised form need not have `apiVersion` and `kind`: they are added where they miss.
pub trait Kind {
    /// `v1`, `apps/v1`.
    const API_VERSION: &'static str;
    /// `Pod`.
    const KIND: &'static str;
}

#[cfg(feature = "k8s-openapi")]
impl<T: k8s_openapi::Resource> Kind for T {
    const API_VERSION: &'static str = T::API_VERSION;
    const KIND: &'static str = T::KIND;
}

/// Names one object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `Pod`.
    pub kind: String,
    /// Absent for cluster-scoped objects.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectRef {
    /// Names an object of any kind.
    pub fn new<'a>(api_version: &str, kind: &str, namespace: impl Into<Option<&'a str>>, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.into().map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// Names an object of the kind that `T` stands for.
    pub fn of<'a, T: Kind>(namespace: impl Into<Option<&'a str>>, name: &str) -> Self {
        Self::new(T::API_VERSION, T::KIND, namespace, name)
    }

    pub(crate) fn to_wire(&self) -> wire::ObjectRef {
        wire::ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    pub(crate) fn from_wire(target: wire::ObjectRef) -> Self {
        Self { api_version: target.api_version, kind: target.kind, namespace: target.namespace, name: target.name }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// An object of any kind, as JSON with the usual fields at hand.
///
/// ```
/// use boathook_sdk::kube::Object;
/// use boathook_sdk::serde_json::json;
///
/// let mut object = Object::from(json!({"kind": "Node", "metadata": {"name": "n1"}}));
/// object["spec"]["unschedulable"] = json!(true);
/// assert_eq!(object.name(), "n1");
/// assert_eq!(object.label("role"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(pub Value);

impl Object {
    /// `apiVersion`, or nothing.
    pub fn api_version(&self) -> &str {
        self.text("/apiVersion").unwrap_or_default()
    }

    /// `kind`, or nothing.
    pub fn kind(&self) -> &str {
        self.text("/kind").unwrap_or_default()
    }

    /// `metadata.name`, or nothing.
    pub fn name(&self) -> &str {
        self.text("/metadata/name").unwrap_or_default()
    }

    /// `metadata.namespace`; absent for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.text("/metadata/namespace")
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> Option<&str> {
        self.text("/metadata/uid")
    }

    /// `metadata.resourceVersion`.
    pub fn resource_version(&self) -> Option<&str> {
        self.text("/metadata/resourceVersion")
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.map("/metadata/labels")?.get(key)?.as_str()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.map("/metadata/annotations")?.get(key)?.as_str()
    }

    /// Names the object, for reading or writing it again.
    pub fn object_ref(&self) -> ObjectRef {
        ObjectRef::new(self.api_version(), self.kind(), self.namespace(), self.name())
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer)?.as_str()
    }

    fn map(&self, pointer: &str) -> Option<&Map<String, Value>> {
        self.0.pointer(pointer)?.as_object()
    }
}

impl std::ops::Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl std::ops::DerefMut for Object {
    fn deref_mut(&mut self) -> &mut Value {
        &mut self.0
    }
}

impl From<Value> for Object {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self)
    }
}

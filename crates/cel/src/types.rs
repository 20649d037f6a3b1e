//! Types of values: as `type()` returns them, and as the checker derives them from a schema.

use std::sync::Arc;

use kube_cel::cel::objects::Opaque;
use serde_json::Value as Json;

use super::{Value, ops, values::escape};
use crate::values::items;

/// A type as a value.
#[derive(Debug, PartialEq, Eq)]
struct Denoted(&'static str);

impl Opaque for Denoted {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

const NAMES: &[&str] = &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// The type that a bare name means.
pub(super) fn denoted(name: &str) -> Option<Value> {
    NAMES.iter().find(|known| **known == name).map(|name| Value::Opaque(Arc::new(Denoted(name))))
}

pub(super) fn of(value: &Value) -> Value {
    let name = match value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::UInt(_) => "uint",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        other if items(other).is_some() => "list",
        other if ops::as_optional(other).is_some() => "optional_type",
        _ => "type",
    };
    Value::Opaque(Arc::new(Denoted(name)))
}

/// The functions of rules, with their namespaces, by the type of their values. Rules cannot use any other function. The
/// type of `dyn` depends on the arguments, or does not matter.
const FUNCTIONS: &[(&str, &str)] = &[
    (
        "bool",
        "bool contains containsCIDR containsIP endsWith hasValue isCIDR isGreaterThan isIP isInteger isLessThan isLoopback \
         isQuantity isSemver isSorted isURL matches sets.contains sets.equivalent sets.intersects startsWith",
    ),
    ("bytes", "bytes"),
    ("double", "asApproximateFloat double"),
    ("duration", "duration"),
    (
        "dyn",
        "add cidr distinct dyn first flatten format.byte format.date format.datetime format.dns1035Label \
         format.dns1035LabelPrefix format.dns1123Label format.dns1123LabelPrefix format.dns1123Subdomain \
         format.dns1123SubdomainPrefix format.labelValue format.named format.qualifiedName format.uri format.uuid getDate \
         getDayOfMonth getDayOfWeek getDayOfYear getMilliseconds getQuery ip ip.isCanonical isGlobalUnicast \
         isLinkLocalMulticast isLinkLocalUnicast isUnspecified last masked max min optFlatMap optMap optional.none \
         optional.of optional.ofNonZeroValue or orValue quantity semver slice sort sub sum url validate value",
    ),
    (
        "int",
        "asInteger compareTo family getFullYear getHours getMinutes getMonth getSeconds indexOf int lastIndexOf major \
         minor patch prefixLength sign size",
    ),
    ("list", "findAll split"),
    (
        "string",
        "charAt find format getEscapedPath getHost getHostname getPort getScheme join lowerAscii replace string substring \
         trim upperAscii",
    ),
    ("timestamp", "timestamp"),
    ("type", "type"),
    ("uint", "uint"),
];

/// The type of a function's values. `None` if there is no such function.
pub(super) fn result_of(function: &str) -> Option<&'static str> {
    let has = |(_, names): &&(&str, &str)| names.split(' ').any(|name| name == function);
    FUNCTIONS.iter().find(has).map(|(ty, _)| *ty)
}

/// What is known of a value before it exists.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty<'s> {
    /// Any type.
    Dyn,
    /// A scalar, by the name of its type.
    Plain(&'static str),
    List(Box<Ty<'s>>),
    Map(Box<Ty<'s>>),
    /// An object of a schema. It has the declared fields and, at the root, `apiVersion`, `kind` and `metadata`.
    Object {
        schema: &'s Json,
        root: bool,
    },
    /// The part of the metadata that rules may use.
    Metadata,
    Optional(Box<Ty<'s>>),
}

impl<'s> Ty<'s> {
    /// The type of a schema's values.
    pub fn of(schema: &'s Json, root: bool) -> Self {
        let on = |key: &str| schema.get(key) == Some(&Json::Bool(true));
        if on("x-kubernetes-int-or-string") {
            return Self::Dyn;
        }
        match schema["type"].as_str().unwrap_or_default() {
            "boolean" => Self::Plain("bool"),
            "integer" => Self::Plain("int"),
            "number" => Self::Plain("double"),
            "string" => Self::Plain(match schema["format"].as_str().unwrap_or_default() {
                "byte" => "bytes",
                "date" | "date-time" => "timestamp",
                "duration" => "duration",
                _ => "string",
            }),
            "array" => Self::List(Box::new(schema.get("items").map_or(Self::Dyn, |items| Self::of(items, false)))),
            "object" => match schema.get("additionalProperties").filter(|v| v.is_object()) {
                Some(values) => Self::Map(Box::new(Self::of(values, false))),
                None => Self::Object { schema, root: root || on("x-kubernetes-embedded-resource") },
            },
            _ => Self::Dyn,
        }
    }

    /// The type of a field. `Err` if there is no field with this name.
    pub(super) fn field(&self, name: &str) -> Result<Self, ()> {
        match self {
            Self::Object { schema, root } => {
                match name {
                    "apiVersion" | "kind" if *root => return Ok(Self::Plain("string")),
                    "metadata" if *root => return Ok(Self::Metadata),
                    _ => {}
                }
                let properties = schema.get("properties").and_then(Json::as_object);
                let found = properties.into_iter().flatten().find(|(key, _)| escape(key) == name);
                found.map(|(_, schema)| Self::of(schema, false)).ok_or(())
            }
            Self::Metadata if matches!(name, "name" | "generateName") => Ok(Self::Plain("string")),
            Self::Metadata => Err(()),
            Self::Map(values) => Ok((**values).clone()),
            Self::Optional(inner) => Ok(Self::Optional(Box::new(inner.field(name)?))),
            Self::Dyn => Ok(Self::Dyn),
            Self::Plain(_) | Self::List(_) => Err(()),
        }
    }

    /// The name in error messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Dyn => "dyn".to_owned(),
            Self::Plain("timestamp") => "google.protobuf.Timestamp".to_owned(),
            Self::Plain("duration") => "google.protobuf.Duration".to_owned(),
            Self::Plain(name) => (*name).to_owned(),
            Self::List(item) => format!("list({})", item.name()),
            Self::Map(value) => format!("map(string, {})", value.name()),
            Self::Object { .. } | Self::Metadata => "object".to_owned(),
            Self::Optional(inner) => format!("optional_type({})", inner.name()),
        }
    }

    /// Whether values of both types may be compared for equality.
    pub(super) fn comparable(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(a), Self::Plain(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Map(a), Self::Map(b)) | (Self::Optional(a), Self::Optional(b)) => {
                a.comparable(b)
            }
            (Self::Plain(_), Self::List(_) | Self::Map(_) | Self::Object { .. }) => false,
            (Self::List(_) | Self::Map(_) | Self::Object { .. }, Self::Plain(_)) => false,
            (Self::List(_), Self::Map(_) | Self::Object { .. }) => false,
            (Self::Map(_) | Self::Object { .. }, Self::List(_)) => false,
            _ => true,
        }
    }
}

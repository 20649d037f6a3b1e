//! How the value at a position in an object merges: by the table for built-in kinds, by the schema for custom ones.

use serde_json::Value;

use super::Resource;
use super::schema::{Field, ListType, Schema, Ty, Type};
use crate::json;

/// A position in an object.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// A value of a built-in type. `field` defines how it merges at this position.
    Builtin { schema: &'a Schema, ty: &'a Ty, field: Option<&'a Field> },
    /// The object itself, of a built-in kind.
    Root { schema: &'a Schema, ty: &'a Type },
    /// A part of a custom object, with its OpenAPI schema.
    Custom { definition: &'a Value, root: Option<&'a Schema> },
    /// Unknown: maps merge by key, and lists are replaced.
    Unknown,
}

/// The kind of value at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Anything,
    Text,
    Number,
    Switch,
    List,
    /// Any keys.
    Map,
    /// Only declared keys.
    Fields,
}

impl<'a> Shape<'a> {
    /// The kind of value at this position.
    pub(crate) fn expected(self) -> Expected {
        match self {
            Self::Root { .. } => Expected::Fields,
            Self::Builtin { ty, .. } => match ty {
                Ty::Message(_) => Expected::Fields,
                Ty::List(_) => Expected::List,
                Ty::Map(_) => Expected::Map,
                Ty::String | Ty::Bytes => Expected::Text,
                Ty::Int | Ty::Float => Expected::Number,
                Ty::Bool => Expected::Switch,
                _ => Expected::Anything,
            },
            Self::Custom { definition, .. } => expected_by(definition),
            Self::Unknown => Expected::Anything,
        }
    }

    pub(crate) fn of(resource: &'a Resource) -> Self {
        let schema = &*resource.schema;
        if let Some(custom) = &resource.custom {
            let definition = custom.schema.as_ref().unwrap_or(&Value::Null);
            return Self::Custom { definition, root: Some(schema) };
        }
        match resource.root_type.and_then(|index| schema.get(index)) {
            Some(ty) => Self::Root { schema, ty },
            None => Self::Unknown,
        }
    }

    fn message(self) -> Option<(&'a Schema, &'a Type)> {
        match self {
            Self::Root { schema, ty } => Some((schema, ty)),
            Self::Builtin { schema, ty: Ty::Message(index), .. } => schema.get(*index).map(|ty| (schema, ty)),
            _ => None,
        }
    }

    /// The position of a key of this map.
    pub(crate) fn field(self, name: &str) -> Self {
        if let Some((schema, ty)) = self.message() {
            return match ty.fields.get(name) {
                Some(field) => Self::Builtin { schema, ty: &field.ty, field: Some(field) },
                None => Self::Unknown,
            };
        }
        match self {
            Self::Builtin { schema, ty: Ty::Map(item), .. } => Self::Builtin { schema, ty: item, field: None },
            Self::Custom { root: Some(schema), .. } if name == "metadata" => {
                match schema.find("meta.ObjectMeta").and_then(|index| schema.get(index)) {
                    Some(ty) => Self::Root { schema, ty },
                    None => Self::Unknown,
                }
            }
            Self::Custom { definition, .. } => {
                let declared = json::at(definition, &["properties", name]);
                match declared.or_else(|| definition.get("additionalProperties").filter(|v| v.is_object())) {
                    Some(definition) => Self::Custom { definition, root: None },
                    None => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }

    /// The position of an item of this list.
    pub(crate) fn item(self) -> Self {
        match self {
            Self::Builtin { schema, ty: Ty::List(item), .. } => Self::Builtin { schema, ty: item, field: None },
            Self::Custom { definition, .. } => match definition.get("items") {
                Some(definition) => Self::Custom { definition, root: None },
                None => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }

    /// Whether a key of this map is a declared field, and not data.
    pub(crate) fn declares(self, name: &str) -> bool {
        if let Some((_, ty)) = self.message() {
            return ty.fields.contains_key(name);
        }
        match self {
            Self::Custom { definition, root } => {
                root.is_some() && matches!(name, "metadata" | "apiVersion" | "kind")
                    || json::at(definition, &["properties", name]).is_some()
            }
            _ => false,
        }
    }

    /// How server-side apply merges this list.
    pub(crate) fn list(self) -> ListType {
        match self {
            Self::Builtin { field: Some(field), .. } => field.list.clone(),
            Self::Custom { definition, .. } => match json::text(definition, &["x-kubernetes-list-type"]) {
                "set" => ListType::Set,
                "map" => {
                    let keys = json::list(definition, &["x-kubernetes-list-map-keys"]);
                    ListType::Keyed(keys.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                }
                _ => ListType::Atomic,
            },
            _ => ListType::Atomic,
        }
    }

    /// Whether this map is owned as a whole.
    pub(crate) fn is_atomic(self) -> bool {
        if self.message().is_some_and(|(_, ty)| ty.atomic) {
            return true;
        }
        match self {
            Self::Builtin { field: Some(field), .. } if field.atomic => true,
            Self::Builtin { ty, .. } => {
                matches!(ty, Ty::Raw | Ty::Fields | Ty::Any | Ty::Quantity | Ty::IntOrString | Ty::Time)
            }
            Self::Custom { definition, .. } => json::text(definition, &["x-kubernetes-map-type"]) == "atomic",
            _ => false,
        }
    }

    /// The key by which strategic merge patch merges this list. An empty key means by value.
    pub(crate) fn merge_key(self) -> Option<&'a str> {
        match self {
            Self::Builtin { field: Some(field), .. } => field.merge_key.as_deref(),
            _ => None,
        }
    }

    /// Whether an object of this kind has `name` even if nothing is set. Such a field has no owner.
    pub(crate) fn always_there(self, name: &str) -> bool {
        match self.message().and_then(|(_, ty)| ty.fields.get(name)) {
            Some(Field { pointer: true, optional: false, ty: Ty::Message(_), .. }) => true,
            Some(field) => {
                !field.pointer && (matches!(field.ty, Ty::Message(_) | Ty::Time | Ty::MicroTime) || !field.optional)
            }
            None => matches!(self, Self::Custom { root: Some(_), .. }) && name == "metadata",
        }
    }

    /// The default of a list key that may be missing in an item.
    pub(crate) fn key_default(self, key: &str) -> Option<Value> {
        match self {
            Self::Builtin { .. } => (key == "protocol").then(|| "TCP".into()),
            Self::Custom { definition, .. } => json::at(definition, &["properties", key, "default"]).cloned(),
            _ => None,
        }
    }
}

fn expected_by(definition: &Value) -> Expected {
    let on = |key: &str| definition.get(key) == Some(&Value::Bool(true));
    if on("x-kubernetes-int-or-string") {
        return Expected::Anything;
    }
    match json::text(definition, &["type"]) {
        "string" => Expected::Text,
        "integer" | "number" => Expected::Number,
        "boolean" => Expected::Switch,
        "array" => Expected::List,
        "object" if on("x-kubernetes-preserve-unknown-fields") => Expected::Map,
        "object" if definition.get("additionalProperties").is_some_and(|v| v != false) => Expected::Map,
        "object" => Expected::Fields,
        _ => Expected::Anything,
    }
}

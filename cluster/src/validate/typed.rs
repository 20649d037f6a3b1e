//! Checks built-in objects against their types: wrong JSON types are refused, and unknown fields are dropped and
//! reported. Values are not checked beyond their type. Fields that Go's JSON would leave out are left out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::quantity;
use crate::kinds::schema::{Field, Schema, Ty, Type};
use crate::kinds::{Resource, structural};

/// Checks an object in its storage version. Returns the unknown fields that were dropped.
///
/// # Errors
/// The error of the real server's decoder for a value of the wrong type.
pub(crate) fn check(resource: &Resource, object: &mut Value) -> Result<Vec<String>, String> {
    if let Some(schema) = resource.custom.as_ref().and_then(|custom| custom.schema.as_ref()) {
        structural::drop_nulls(object, schema);
    }
    check_applied(resource, object)
}

/// The same for the result of server-side apply. Null values stay, and are refused where null is not allowed.
///
/// # Errors
/// As for [`check`].
pub(crate) fn check_applied(resource: &Resource, object: &mut Value) -> Result<Vec<String>, String> {
    let mut walk = Walk::new(resource);
    if let Some(custom) = &resource.custom {
        walk.metadata(object)?;
        if let Some(schema) = &custom.schema {
            structural::prune(object, schema, true, &mut Vec::new(), &mut walk.unknown);
            structural::set_defaults(object, schema);
            walk.unknown.sort();
        }
        return Ok(walk.unknown);
    }
    if let Some(ty) = resource.root_type.and_then(|index| resource.schema.get(index)) {
        walk.message(ty, object)?;
    }
    Ok(walk.unknown)
}

/// Checks only `metadata`, before anything reads it.
pub(crate) fn check_metadata(resource: &Resource, object: &Value) -> Result<(), String> {
    let Some(metadata) = object.get("metadata").filter(|m| !m.is_null()) else {
        return Ok(());
    };
    let mut holder = Value::Object(Map::from_iter([("metadata".to_owned(), metadata.clone())]));
    Walk::new(resource).metadata(&mut holder)
}

/// Maximum depth of nested structs to fill in. No built-in kind nests deeper.
const FILL_DEPTH: usize = 8;

struct Walk<'a> {
    schema: &'a Schema,
    unknown: Vec<String>,
    /// The current path with list indices and map keys, for unknown fields.
    path: Vec<String>,
    /// The current path without indices and keys, as in the errors of Go's decoder.
    fields: Vec<String>,
    /// The current struct.
    holder: String,
}

impl<'a> Walk<'a> {
    fn new(resource: &'a Resource) -> Self {
        Self {
            schema: &resource.schema,
            unknown: Vec::new(),
            path: Vec::new(),
            fields: Vec::new(),
            holder: resource.kind.clone(),
        }
    }

    fn metadata(&mut self, object: &mut Value) -> Result<(), String> {
        let Some(meta) = self.schema.find("meta.ObjectMeta") else {
            return Ok(());
        };
        let Some(value) = object.get_mut("metadata") else {
            return Ok(());
        };
        self.path.push("metadata".into());
        self.fields.push("metadata".into());
        let checked = self.value(&Ty::Message(meta), value);
        self.path.pop();
        self.fields.pop();
        checked
    }

    fn mismatch(&self, value: &Value, wanted: &str) -> String {
        let got = crate::json::kind(value);
        let place = format!("{}.{}", self.holder, self.fields.join("."));
        format!("json: cannot unmarshal {got} into Go struct field {place} of type {wanted}")
    }

    fn message(&mut self, ty: &Type, value: &mut Value) -> Result<(), String> {
        let short = ty.name.rsplit('.').next().unwrap_or_default().to_owned();
        let Value::Object(map) = value else {
            return Err(self.mismatch(value, &format!("v1.{short}")));
        };
        let outer = std::mem::replace(&mut self.holder, short);
        let keys: Vec<String> = map.keys().cloned().collect();
        for key in keys {
            let Some(field) = ty.fields.get(&key) else {
                if !(self.path.is_empty() && matches!(key.as_str(), "kind" | "apiVersion")) {
                    self.path.push(key.clone());
                    self.unknown.push(format!("unknown field \"{}\"", self.path.join(".")));
                    self.path.pop();
                    map.shift_remove(&key);
                }
                continue;
            };
            self.fields.push(key.clone());
            self.field(field, &key, map)?;
            self.fields.pop();
        }
        if ty.name != "meta.ObjectMeta" {
            self.fill(ty, map, FILL_DEPTH);
        }
        self.holder = outer;
        Ok(())
    }

    /// Adds what Go's encoder writes even if it is not set: structs, and fields without `omitempty`.
    fn fill(&self, ty: &Type, map: &mut Map<String, Value>, depth: usize) {
        for field in ty.fields.values().filter(|f| !f.pointer && !f.omit_zero && f.number > 0) {
            if map.contains_key(&field.name) {
                continue;
            }
            let zero = match &field.ty {
                Ty::Message(index) => match (self.schema.get(*index), depth.checked_sub(1)) {
                    (Some(inner), _) if inner.name == "meta.ObjectMeta" => Value::Object(Map::new()),
                    (Some(inner), Some(depth)) => {
                        let mut filled = Map::new();
                        self.fill(inner, &mut filled, depth);
                        Value::Object(filled)
                    }
                    _ => continue,
                },
                Ty::Time | Ty::MicroTime => Value::Null,
                _ if field.optional => continue,
                Ty::String => "".into(),
                Ty::Int => 0.into(),
                Ty::Bool => false.into(),
                _ => Value::Null,
            };
            map.insert(field.name.clone(), zero);
        }
    }

    fn field(&mut self, field: &Field, key: &str, map: &mut Map<String, Value>) -> Result<(), String> {
        let Some(value) = map.get_mut(key) else {
            return Ok(());
        };
        if value.is_null() {
            map.shift_remove(key);
            return Ok(());
        }
        self.path.push(key.to_owned());
        self.value(&field.ty, value)?;
        self.path.pop();
        let empty = match (&field.ty, &*value) {
            (Ty::IntOrString | Ty::Raw | Ty::Any | Ty::Message(_), _) => false,
            (_, Value::String(text)) => text.is_empty(),
            (_, Value::Bool(on)) => !on,
            (_, Value::Number(number)) => number.as_f64() == Some(0.0),
            (_, Value::Array(list)) => list.is_empty(),
            (_, Value::Object(map)) => map.is_empty(),
            _ => false,
        };
        if empty && field.optional && !field.pointer {
            map.shift_remove(key);
        }
        Ok(())
    }

    fn value(&mut self, ty: &Ty, value: &mut Value) -> Result<(), String> {
        let fits = match ty {
            Ty::Message(index) => {
                return match self.schema.get(*index) {
                    Some(ty) => self.message(ty, value),
                    None => Ok(()),
                };
            }
            Ty::List(item) => {
                let Value::Array(items) = value else {
                    return Err(self.mismatch(value, &self.go_name(ty)));
                };
                for (index, entry) in items.iter_mut().enumerate() {
                    let last = self.path.last_mut().map(|p| (p.clone(), p.push_str(&format!("[{index}]"))));
                    self.value(item, entry)?;
                    if let (Some((name, ())), Some(slot)) = (last, self.path.last_mut()) {
                        *slot = name;
                    }
                }
                return Ok(());
            }
            Ty::Map(item) => {
                let Value::Object(map) = value else {
                    return Err(self.mismatch(value, &self.go_name(ty)));
                };
                for (key, entry) in map.iter_mut() {
                    if entry.is_null() && **item == Ty::String {
                        *entry = "".into();
                    }
                    self.path.push(key.clone());
                    self.value(item, entry)?;
                    self.path.pop();
                }
                return Ok(());
            }
            Ty::Raw | Ty::Any | Ty::Fields => return Ok(()),
            Ty::Bytes => return self.bytes(value),
            Ty::Quantity => {
                if let Value::Number(number) = value {
                    *value = number.to_string().into();
                }
                if let Value::String(text) = value {
                    *text = quantity::canonical(text).ok_or_else(|| quantity::FORMAT.to_owned())?;
                }
                value.is_string()
            }
            Ty::String | Ty::Duration => value.is_string(),
            Ty::Time | Ty::MicroTime => value.as_str().is_some_and(|t| t.parse::<jiff::Timestamp>().is_ok()),
            Ty::Bool => value.is_boolean(),
            Ty::Int => value.is_i64() || value.is_u64(),
            Ty::Float => value.is_number(),
            Ty::IntOrString => value.is_string() || value.is_i64(),
        };
        if fits { Ok(()) } else { Err(self.mismatch(value, &self.go_name(ty))) }
    }

    fn bytes(&self, value: &Value) -> Result<(), String> {
        let Value::String(text) = value else {
            return Err(self.mismatch(value, "[]uint8"));
        };
        STANDARD.decode(text).map(drop).map_err(|_| "illegal base64 data at input byte 0".to_owned())
    }

    fn go_name(&self, ty: &Ty) -> String {
        match ty {
            Ty::List(item) => format!("[]{}", self.go_name(item)),
            Ty::Map(item) => format!("map[string]{}", self.go_name(item)),
            Ty::Message(index) => {
                let name = self.schema.get(*index).and_then(|t| t.name.rsplit('.').next());
                format!("v1.{}", name.unwrap_or_default())
            }
            Ty::Bool => "bool".into(),
            Ty::Int => "int32".into(),
            Ty::Float => "float64".into(),
            Ty::Quantity => "resource.Quantity".into(),
            Ty::Time | Ty::MicroTime => "time.Time".into(),
            Ty::IntOrString => "intstr.IntOrString".into(),
            Ty::Bytes => "[]uint8".into(),
            _ => "string".into(),
        }
    }
}

//! Operators on values: arithmetic, comparison, membership, and access to fields and items.

use std::{cmp::Ordering, sync::Arc};

use kube_cel::cel::objects::{KeyRef, OptionalValue};

use super::{Error, Value};
use crate::values::{items, unordered};

fn other(text: &str) -> Error {
    Error::Other(text.to_owned())
}

/// The content of an optional value, which may be empty. The outer `None` means that the value is not an optional one.
pub(super) fn as_optional(value: &Value) -> Option<Option<&Value>> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<OptionalValue>().map(OptionalValue::value),
        _ => None,
    }
}

/// An operator on integers of one type. `None` if the result does not fit into the type.
macro_rules! checked {
    ($operator:expr, $a:expr, $b:expr) => {
        match $operator {
            "_+_" => $a.checked_add(*$b),
            "_-_" => $a.checked_sub(*$b),
            "_*_" => $a.checked_mul(*$b),
            "_/_" => $a.checked_div(*$b),
            _ => $a.checked_rem(*$b),
        }
    };
}

pub(super) fn arithmetic(operator: &str, a: Value, b: Value) -> Result<Value, Error> {
    let overflow = || other("integer overflow");
    match (operator, &a, &b) {
        ("_/_", Value::Int(_), Value::Int(0)) | ("_/_", Value::UInt(_), Value::UInt(0)) => {
            Err(other("division by zero"))
        }
        ("_%_", Value::Int(_), Value::Int(0)) | ("_%_", Value::UInt(_), Value::UInt(0)) => {
            Err(other("modulus by zero"))
        }
        (_, Value::Int(x), Value::Int(y)) => checked!(operator, x, y).ok_or_else(overflow).map(Value::Int),
        (_, Value::UInt(x), Value::UInt(y)) => {
            let unsigned = || other("unsigned integer overflow");
            checked!(operator, x, y).ok_or_else(unsigned).map(Value::UInt)
        }
        (_, Value::Float(x), Value::Float(y)) => floats(operator, *x, *y).map(Value::Float).ok_or(Error::NoOverload),
        ("_+_", Value::String(x), Value::String(y)) => Ok(Value::String(Arc::new(format!("{x}{y}")))),
        ("_+_", Value::Bytes(x), Value::Bytes(y)) => Ok(Value::Bytes(Arc::new([x.as_slice(), y.as_slice()].concat()))),
        ("_+_", Value::Duration(_) | Value::Timestamp(_), Value::Duration(_) | Value::Timestamp(_)) => {
            (a + b).map_err(|_| other("timestamp overflow"))
        }
        ("_-_", Value::Duration(_) | Value::Timestamp(_), Value::Duration(_) | Value::Timestamp(_)) => {
            (a - b).map_err(|_| other("timestamp overflow"))
        }
        ("_+_", ..) => lists(&a, &b).ok_or(Error::NoOverload),
        _ => Err(Error::NoOverload),
    }
}

fn floats(operator: &str, a: f64, b: f64) -> Option<f64> {
    match operator {
        "_+_" => Some(a + b),
        "_-_" => Some(a - b),
        "_*_" => Some(a * b),
        "_/_" => Some(a / b),
        _ => None,
    }
}

fn lists(a: &Value, b: &Value) -> Option<Value> {
    let more = items(b)?;
    match unordered(a) {
        Some(list) => Some(list.union(more)),
        None => Some(Value::List(Arc::new(items(a)?.iter().chain(more.iter()).cloned().collect()))),
    }
}

pub(super) fn negate(value: &Value) -> Result<Value, Error> {
    match value {
        Value::Int(n) => n.checked_neg().map(Value::Int).ok_or_else(|| other("integer overflow")),
        Value::Float(n) => Ok(Value::Float(-n)),
        _ => Err(Error::NoOverload),
    }
}

/// The order of two values, if they have one.
pub(super) fn compare(a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    let order = match (a, b) {
        (Value::Bool(x), Value::Bool(y)) => Some(x.cmp(y)),
        (Value::String(x), Value::String(y)) => Some(x.cmp(y)),
        (Value::Bytes(x), Value::Bytes(y)) => Some(x.cmp(y)),
        (Value::Timestamp(x), Value::Timestamp(y)) => Some(x.cmp(y)),
        (Value::Duration(x), Value::Duration(y)) => Some(x.cmp(y)),
        _ => return numbers(a, b).ok_or(Error::NoOverload),
    };
    Ok(order)
}

fn numbers(a: &Value, b: &Value) -> Option<Option<Ordering>> {
    let exact = |v: &Value| match v {
        Value::Int(n) => Some(i128::from(*n)),
        Value::UInt(n) => Some(i128::from(*n)),
        _ => None,
    };
    let float = |v: &Value| match v {
        Value::Float(n) => Some(*n),
        other => exact(other).map(|n| n as f64),
    };
    match (exact(a), exact(b)) {
        (Some(x), Some(y)) => Some(Some(x.cmp(&y))),
        _ => Some(float(a)?.partial_cmp(&float(b)?)),
    }
}

pub(super) fn contains(container: &Value, value: &Value) -> Result<bool, Error> {
    match (container, items(container)) {
        (_, Some(items)) => Ok(items.contains(value)),
        (Value::Map(map), _) => Ok(key(value).is_some_and(|key| map.get(&key).is_some())),
        _ => Err(Error::NoOverload),
    }
}

fn key(value: &Value) -> Option<KeyRef<'_>> {
    match value {
        Value::String(text) => Some(KeyRef::String(text)),
        Value::Int(n) => Some(KeyRef::Int(*n)),
        Value::UInt(n) => Some(KeyRef::Uint(*n)),
        Value::Bool(on) => Some(KeyRef::Bool(*on)),
        _ => None,
    }
}

/// `value[index]`.
pub(super) fn index(value: &Value, at: &Value) -> Result<Value, Error> {
    if let (Some(items), Value::Int(n)) = (items(value), at) {
        let found = usize::try_from(*n).ok().and_then(|n| items.get(n)).cloned();
        return found.ok_or_else(|| Error::Other(format!("index out of bounds: {n}")));
    }
    match (value, key(at)) {
        (Value::Map(map), Some(key)) => map.get(&key).cloned().ok_or_else(|| Error::no_such_key(&shown(at))),
        _ => Err(Error::NoOverload),
    }
}

fn shown(key: &Value) -> String {
    match key {
        Value::String(text) => text.to_string(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::Bool(on) => on.to_string(),
        _ => String::new(),
    }
}

/// `value.field`.
pub(super) fn select(value: &Value, field: &str) -> Result<Value, Error> {
    match value {
        Value::Map(map) => map.get(&KeyRef::String(field)).cloned().ok_or_else(|| Error::no_such_key(field)),
        _ => Err(Error::NoOverload),
    }
}

pub(super) fn has(value: &Value, field: &str) -> Result<bool, Error> {
    match value {
        Value::Map(map) => Ok(map.get(&KeyRef::String(field)).is_some()),
        _ => Err(Error::NoOverload),
    }
}

pub(super) fn size(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => Some(text.chars().count() as u64),
        Value::Bytes(bytes) => Some(bytes.len() as u64),
        Value::Map(map) => Some(map.map.len() as u64),
        other => items(other).map(|items| items.len() as u64),
    }
}

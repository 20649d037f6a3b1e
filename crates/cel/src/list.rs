//! Lists that their schema makes sets or maps. They are compared and added without regard to order, and never changed
//! in place.

use std::sync::Arc;

use kube_cel::cel::objects::{KeyRef, Opaque};

use super::Value;

/// How the items of a list are distinguished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// By their whole value.
    Whole,
    /// By these fields.
    Keys(Vec<String>),
}

/// A list with `x-kubernetes-list-type` `set` or `map`.
#[derive(Debug)]
pub(super) struct Unordered {
    pub items: Arc<Vec<Value>>,
    pub identity: Identity,
}

impl Unordered {
    fn same(&self, a: &Value, b: &Value) -> bool {
        match &self.identity {
            Identity::Whole => a == b,
            Identity::Keys(keys) => keys.iter().all(|key| field(a, key) == field(b, key)),
        }
    }

    /// The items of both lists. Items of `other` replace the same items of this list.
    pub(super) fn union(&self, other: &[Value]) -> Value {
        let mut items = (*self.items).clone();
        for new in other {
            match items.iter_mut().find(|old| self.same(old, new)) {
                Some(old) => *old = new.clone(),
                None => items.push(new.clone()),
            }
        }
        Value::Opaque(Arc::new(Self { items: Arc::new(items), identity: self.identity.clone() }))
    }
}

fn field<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Map(map) => map.get(&KeyRef::String(key)),
        _ => None,
    }
}

impl PartialEq for Unordered {
    fn eq(&self, other: &Self) -> bool {
        self.items.len() == other.items.len() && self.items.iter().all(|item| other.items.contains(item))
    }
}

impl Eq for Unordered {}

impl Opaque for Unordered {
    fn runtime_type_name(&self) -> &str {
        "list"
    }
}

pub(super) fn unordered(value: &Value) -> Option<&Unordered> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref(),
        _ => None,
    }
}

/// The items of a list of any sort.
pub(super) fn items(value: &Value) -> Option<&Arc<Vec<Value>>> {
    match value {
        Value::List(items) => Some(items),
        other => unordered(other).map(|list| &list.items),
    }
}

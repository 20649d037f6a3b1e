//! The objects of a test: stored, versioned, found.
//!
//! It validates nothing of what is in an object; a real API server does.

use super::answer::failure;
use super::kinds::{Kinds, Scope, group};
use crate::bindings::boathook::hook::kube::Failure;
use crate::kube::{Object, ObjectRef, Reason};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Group, kind, namespace, name: one object, whatever the version that it is asked for in.
pub(super) type Key = (String, String, String, String);

#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub kinds: Kinds,
    pub now: SystemTime,
    objects: BTreeMap<Key, Object>,
    /// Of each object and field manager, what it applied last.
    pub applied: BTreeMap<(Key, String), Value>,
    version: u64,
    serial: u64,
}

pub(super) fn key(target: &ObjectRef) -> Key {
    let namespace = target.namespace.clone().unwrap_or_default();
    (group(&target.api_version).to_owned(), target.kind.clone(), namespace, target.name.clone())
}

impl Cluster {
    pub fn new() -> Self {
        // The first second of 2026, in UTC.
        let now = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let (kinds, objects, applied) = Default::default();
        Self { kinds, now, objects, applied, version: 0, serial: 0 }
    }

    pub fn get(&self, target: &ObjectRef) -> Option<&Object> {
        self.objects.get(&key(target))
    }

    pub fn all(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// The Namespace of an object, if the test has given it.
    pub fn namespace_of(&self, object: &Object) -> Option<&Object> {
        self.get(&ObjectRef::new("v1", "Namespace", None, object.namespace()?))
    }

    /// Whether objects can be created in a namespace: the test gave it, or something in it, or every cluster has it.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        let named = ObjectRef::new("v1", "Namespace", None, namespace);
        NAMESPACES.contains(&namespace)
            || self.objects.contains_key(&key(&named))
            || self.objects.keys().any(|(_, _, within, _)| within == namespace)
    }

    /// Stores an object that is new, or replaces what is there, with the metadata that the server gives.
    pub fn put(&mut self, mut object: Object) -> Object {
        let key = key(&object.object_ref());
        let old = self.objects.get(&key).cloned();
        let given = |field: &str| object.pointer(&format!("/metadata/{field}")).filter(|value| !value.is_null());
        let kept = |field: &str| old.as_ref().and_then(|old| old.pointer(&format!("/metadata/{field}")).cloned());
        let uid = kept("uid").or_else(|| given("uid").cloned()).unwrap_or_else(|| json!(self.uid()));
        let created = kept("creationTimestamp")
            .or_else(|| given("creationTimestamp").cloned())
            .unwrap_or_else(|| json!(timestamp(self.now)));
        let version = old.as_ref().and_then(|old| old.pointer("/metadata/resourceVersion").cloned());
        let deleted = kept("deletionTimestamp").or_else(|| given("deletionTimestamp").cloned());
        set(&mut object, "deletionTimestamp", deleted.unwrap_or(Value::Null));
        set(&mut object, "uid", uid);
        set(&mut object, "creationTimestamp", created);
        set(&mut object, "resourceVersion", version.unwrap_or(Value::Null));
        if old.as_ref() != Some(&object) {
            self.version += 1;
            let version = self.version.to_string();
            set(&mut object, "resourceVersion", json!(version));
        }
        self.objects.insert(key, object.clone());
        object
    }

    /// Takes an object out, and all that lies in it if it is a namespace.
    pub fn remove(&mut self, target: &ObjectRef) -> Option<Object> {
        let key = key(target);
        let removed = self.objects.remove(&key)?;
        self.applied.retain(|(of, _), _| *of != key);
        if target.kind == "Namespace" && target.api_version == "v1" {
            self.objects.retain(|(_, _, within, _), _| *within != target.name);
        }
        Some(removed)
    }

    /// A suffix for a generated name, the same in every run of a test.
    pub fn suffix(&mut self) -> String {
        self.serial += 1;
        format!("{:05}", self.serial)
    }

    fn uid(&mut self) -> String {
        self.serial += 1;
        format!("00000000-0000-4000-8000-{:012}", self.serial)
    }

    /// The resource version of the whole.
    pub fn version(&self) -> String {
        self.version.to_string()
    }

    /// A namespace where there must be one, none where there must not.
    pub fn check_place(&self, what: &str, target: &ObjectRef) -> Result<(), Failure> {
        let kind = &target.kind;
        match (self.kinds.scope(&target.api_version, kind), &target.namespace) {
            (Scope::Namespaced, None) => Err(super::answer::invalid(format!("{what}: {kind} needs a namespace"))),
            (Scope::Cluster, Some(_)) => Err(super::answer::invalid(format!("{what}: {kind} has no namespace"))),
            _ => Ok(()),
        }
    }

    pub fn missing(&self, what: &str, target: &ObjectRef) -> Failure {
        let plural = self.kinds.plural(&target.api_version, &target.kind);
        let group = group(&target.api_version);
        let resource = if group.is_empty() { plural } else { format!("{plural}.{group}") };
        failure(Reason::NotFound, format!("{what}: {resource} {:?} not found", target.name))
    }
}

/// Sets a field of the metadata, or removes it with null.
pub(super) fn set(object: &mut Object, field: &str, value: Value) {
    let Some(fields) = object.as_object_mut() else { return };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        if value.is_null() {
            metadata.remove(field)
        } else {
            metadata.insert(field.to_owned(), value)
        };
    }
}

/// `2026-01-01T00:00:00Z`; times before 1970 count as 1970.
pub(super) fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil date of a day number, in eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_kubernetes_writes_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_600, "2026-01-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}

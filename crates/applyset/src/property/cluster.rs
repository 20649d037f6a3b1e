//! A small cluster in memory: server-side apply with owners of fields, preconditions, defaults and normalized values.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::{CallError, CallReason, Object, ObjectRef};
use serde_json::{Value, json};

/// Steps in the format of `FieldsV1`.
type Path = Vec<String>;

/// Lists whose items have a key. Other lists are owned as a whole.
const KEYED: [(&str, &str); 2] = [("f:ownerReferences", "uid"), ("f:items", "name")];
/// What is not owned.
const IDENTITY: [&str; 9] = [
    "apiVersion",
    "kind",
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "managedFields",
    "generation",
    "creationTimestamp",
];

#[derive(Debug, Clone)]
pub(super) struct Live {
    pub object: Value,
    /// By manager and operation.
    managers: BTreeMap<(String, &'static str), BTreeSet<Path>>,
}

#[derive(Debug)]
pub(super) struct Cluster {
    pub objects: BTreeMap<String, Live>,
    version: u64,
    uids: u64,
    /// How many writes changed something.
    pub changes: usize,
}

impl Default for Cluster {
    /// No object has version 1, as in etcd.
    fn default() -> Self {
        Self { objects: BTreeMap::new(), version: 1, uids: 0, changes: 0 }
    }
}

fn fail(reason: CallReason, message: &str) -> CallError {
    CallError { reason, message: message.to_owned(), code: None, status: None }
}

impl Live {
    pub fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The object as the API server sends it.
    pub fn json(&self) -> Value {
        let mut object = self.object.clone();
        let entry = |((manager, operation), paths): (&(String, &'static str), &BTreeSet<Path>)| {
            let mut fields = json!({});
            for path in paths {
                let mut at = &mut fields;
                for step in path {
                    at = at.as_object_mut().unwrap().entry(step.as_str()).or_insert_with(|| json!({}));
                }
            }
            json!({"manager": manager, "operation": operation, "time": "2024-05-01T10:00:00Z", "fieldsV1": fields})
        };
        object["metadata"]["managedFields"] = self.managers.iter().map(entry).collect();
        object
    }

    pub fn watched(&self, writer: &str) -> Object {
        let mut object =
            Object::from_json(&self.json().to_string(), &self.text("/apiVersion").into(), &self.text("/kind").into())
                .unwrap();
        object.last_managers = vec![writer.into()];
        object
    }
}

impl Cluster {
    /// A server-side apply.
    pub fn apply(&mut self, manager: &str, body: &Value, force: bool) -> Result<Value, CallError> {
        let name = body["metadata"]["name"].as_str().unwrap().to_owned();
        let live = self.objects.get(&name);
        let (uid, version) = (body["metadata"].get("uid"), body["metadata"].get("resourceVersion"));
        match live {
            None if uid.is_some() => {
                return Err(fail(CallReason::Conflict, "uid mismatch: no existing object was found"));
            }
            Some(live) if uid.is_some_and(|uid| *uid != live.object["metadata"]["uid"]) => {
                return Err(fail(CallReason::Invalid, "metadata.uid: Invalid value: field is immutable"));
            }
            Some(live) if version.is_some_and(|version| *version != live.object["metadata"]["resourceVersion"]) => {
                return Err(fail(CallReason::Conflict, "the object has been modified"));
            }
            _ => {}
        }
        let mut normal = body.clone();
        normalize(&mut normal);
        let mut fields = BTreeSet::new();
        leaves(&normal, &mut Vec::new(), &mut fields);
        let mut after = live.cloned().unwrap_or_else(|| Live {
            object: json!({"apiVersion": body["apiVersion"], "kind": body["kind"],
                "metadata": {"name": name, "namespace": body["metadata"]["namespace"]}, "defaulted": true}),
            managers: BTreeMap::new(),
        });
        let mine = (manager.to_owned(), "Apply");
        let differs = |path: &Path| get(&after.object, path) != get(&normal, path);
        let lost: Vec<Path> = fields.iter().filter(|path| differs(path)).cloned().collect();
        let others = |path: &Path| after.managers.iter().any(|(other, paths)| *other != mine && paths.contains(path));
        if !force && lost.iter().any(others) {
            return Err(fail(CallReason::Conflict, "Apply failed with 1 conflict: conflict with \"other\""));
        }
        let dropped: Vec<Path> =
            after.managers.get(&mine).into_iter().flatten().filter(|path| !fields.contains(*path)).cloned().collect();
        for path in dropped.iter().filter(|path| !others(path)) {
            remove(&mut after.object, path);
        }
        for path in &lost {
            set(&mut after.object, path, get(&normal, path).unwrap());
        }
        for (_, paths) in after.managers.iter_mut().filter(|(other, _)| **other != mine) {
            paths.retain(|path| !lost.contains(path));
        }
        after.managers.insert(mine, fields);
        after.managers.retain(|_, paths| !paths.is_empty());
        Ok(self.store(&name, after))
    }

    /// An edit by another manager. `None` removes the field.
    pub fn edit(&mut self, manager: &str, name: &str, path: &[&str], value: Option<Value>) {
        let Some(mut after) = self.objects.get(name).cloned() else { return };
        let path: Path = path.iter().map(|step| (*step).to_owned()).collect();
        if get(&after.object, &path) == value {
            return;
        }
        match &value {
            Some(value) => set(&mut after.object, &path, value.clone()),
            None => remove(&mut after.object, &path),
        }
        after.managers.values_mut().for_each(|paths| paths.retain(|known| *known != path));
        if value.is_some() {
            after.managers.entry((manager.to_owned(), "Update")).or_default().insert(path);
        }
        after.managers.retain(|_, paths| !paths.is_empty());
        self.store(name, after);
    }

    pub fn delete(&mut self, name: &str, uid: Option<&str>) -> Result<Live, CallError> {
        let live = self.objects.get(name).ok_or_else(|| fail(CallReason::NotFound, "not found"))?;
        if uid.is_some_and(|uid| uid != live.text("/metadata/uid")) {
            return Err(fail(CallReason::Conflict, "the UID in the precondition does not match"));
        }
        self.changes += 1;
        self.version += 1;
        Ok(self.objects.remove(name).unwrap())
    }

    /// A merge patch of metadata.
    pub fn patch(&mut self, name: &str, patch: &Value) -> Value {
        let mut after = self.objects[name].clone();
        merge(&mut after.object, patch);
        self.store(name, after)
    }

    fn store(&mut self, name: &str, mut after: Live) -> Value {
        let before = self.objects.get(name).map(|live| live.object.clone());
        let same = before.as_ref() == Some(&after.object);
        if before.is_none() {
            self.uids += 1;
            after.object["metadata"]["uid"] = json!(format!("uid-{}", self.uids));
        }
        if !same {
            self.version += 1;
            self.changes += 1;
            after.object["metadata"]["resourceVersion"] = json!(format!("{}", self.version));
        }
        let json = after.json();
        self.objects.insert(name.to_owned(), after);
        json
    }
}

pub(super) fn reference(live: &Live) -> ObjectRef {
    ObjectRef::of(&live.object)
}

/// As the API server writes quantities.
fn normalize(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| normalize(value)),
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::String(text) if text == "1000m" => "1".clone_into(text),
        _ => {}
    }
}

fn merge(value: &mut Value, patch: &Value) {
    for (name, change) in patch.as_object().into_iter().flatten() {
        match change {
            Value::Null => drop(value.as_object_mut().unwrap().remove(name)),
            Value::Object(_) => merge(&mut value[name], change),
            change => value[name] = change.clone(),
        }
    }
}

fn keyed(path: &[String]) -> Option<&'static str> {
    KEYED.iter().find(|(list, _)| path.last().is_some_and(|last| last == list)).map(|(_, key)| *key)
}

fn leaves(value: &Value, path: &mut Path, found: &mut BTreeSet<Path>) {
    match (value, keyed(path)) {
        (Value::Object(fields), _) if !fields.is_empty() => {
            let deep = path.len() > 1;
            for (name, value) in fields.iter().filter(|(name, _)| deep || !IDENTITY.contains(&name.as_str())) {
                path.push(format!("f:{name}"));
                leaves(value, path, found);
                path.pop();
            }
        }
        (Value::Array(items), Some(key)) => {
            for item in items {
                let whole = path.last().unwrap() == "f:ownerReferences";
                path.push(format!("k:{}", json!({key: item[key]})));
                if whole {
                    found.insert(path.clone());
                } else {
                    leaves(item, path, found);
                }
                path.pop();
            }
        }
        _ => drop(found.insert(path.clone())),
    }
}

fn item<'v>(list: &'v Value, step: &str) -> Option<(usize, &'v Value)> {
    let keys: Value = serde_json::from_str(step.strip_prefix("k:")?).unwrap();
    let (key, wanted) = keys.as_object().unwrap().iter().next().unwrap();
    list.as_array()?.iter().enumerate().find(|(_, item)| item.get(key) == Some(wanted))
}

fn get(value: &Value, path: &[String]) -> Option<Value> {
    let found = path.iter().try_fold(value, |value, step| match step.strip_prefix("f:") {
        Some(name) => value.get(name),
        None => item(value, step).map(|(_, item)| item),
    });
    found.filter(|found| !found.is_null()).cloned()
}

fn set(value: &mut Value, path: &[String], new: Value) {
    let Some((step, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if let Some(name) = step.strip_prefix("f:") {
        if !value.is_object() {
            *value = json!({});
        }
        return set(&mut value[name], rest, new);
    }
    if !value.is_array() {
        *value = json!([]);
    }
    let at = item(value, step).map(|(at, _)| at);
    let list = value.as_array_mut().unwrap();
    let at = at.unwrap_or_else(|| {
        list.push(serde_json::from_str(step.strip_prefix("k:").unwrap()).unwrap());
        list.len() - 1
    });
    set(&mut list[at], rest, new);
}

/// Removes a field, and what is empty after that.
fn remove(value: &mut Value, path: &[String]) {
    let Some((step, rest)) = path.split_first() else { return };
    if let Some(name) = step.strip_prefix("f:") {
        let Some(below) = value.get_mut(name) else { return };
        remove(below, rest);
        let empty =
            below.as_object().is_some_and(serde_json::Map::is_empty) || below.as_array().is_some_and(Vec::is_empty);
        if rest.is_empty() || empty {
            value.as_object_mut().unwrap().shift_remove(name);
        }
        return;
    }
    let Some((at, _)) = item(value, step) else { return };
    let list = value.as_array_mut().unwrap();
    remove(&mut list[at], rest);
    if rest.is_empty() || list[at].as_object().is_some_and(serde_json::Map::is_empty) {
        list.remove(at);
    }
}

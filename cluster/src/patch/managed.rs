//! `metadata.managedFields`: which manager wrote which field. `apply` decides about conflicts.

use serde_json::{Map, Value, json};

use super::compare::{Difference, compare, ownable};
use super::fields::FieldSet;
use crate::context::Context;
use crate::json;
use crate::kinds::{Resource, Sub};

/// If more managers than this update an object, the oldest are merged into one.
const MAX_UPDATE_MANAGERS: usize = 10;

/// One manager's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    pub api_version: String,
    pub subresource: String,
    pub time: String,
    pub fields: FieldSet,
}

impl Entry {
    pub(crate) fn is(&self, other: &Self) -> bool {
        (&self.manager, &self.operation, &self.api_version, &self.subresource)
            == (&other.manager, &other.operation, &other.api_version, &other.subresource)
    }

    pub(crate) fn is_apply(&self) -> bool {
        self.operation == "Apply"
    }

    fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("manager".into(), self.manager.clone().into());
        map.insert("operation".into(), self.operation.clone().into());
        map.insert("apiVersion".into(), self.api_version.clone().into());
        if !self.time.is_empty() {
            map.insert("time".into(), self.time.clone().into());
        }
        map.insert("fieldsType".into(), "FieldsV1".into());
        map.insert("fieldsV1".into(), self.fields.to_json());
        if !self.subresource.is_empty() {
            map.insert("subresource".into(), self.subresource.clone().into());
        }
        Value::Object(map)
    }
}

/// Reads the entries of an object.
pub(crate) fn entries(object: &Value) -> Vec<Entry> {
    let list = json::list(object, &["metadata", "managedFields"]).iter();
    list.map(|entry| {
        let text = |key: &str| json::text(entry, &[key]).to_owned();
        Entry {
            manager: text("manager"),
            operation: text("operation"),
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: text("time"),
            fields: entry.get("fieldsV1").map(FieldSet::from_json).unwrap_or_default(),
        }
    })
    .collect()
}

/// Writes the entries. Those that apply come first, then they are ordered by time.
pub(crate) fn set_entries(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|e| !e.fields.is_empty());
    entries.sort_by(|a, b| {
        let rank = |e: &Entry| {
            (e.operation.clone(), e.time.clone(), e.manager.clone(), e.api_version.clone(), e.subresource.clone())
        };
        rank(a).cmp(&rank(b))
    });
    let meta = json::metadata(object);
    if entries.is_empty() {
        meta.shift_remove("managedFields");
    } else {
        meta.insert("managedFields".into(), entries.iter().map(Entry::to_json).collect());
    }
}

/// Records that `context.manager` turned `old` into `new` by a create, an update or a patch.
pub(crate) fn on_update(resource: &Resource, old: Option<&Value>, new: &mut Value, sub: &str, context: &Context) {
    if old.is_some_and(|old| entries(old).is_empty()) && entries(new).is_empty() {
        // No field had an owner, so ownership is not tracked.
        return;
    }
    let before = old.map_or_else(|| json!({}), |old| part(resource, old, sub));
    let after = part(resource, new, sub);
    let version = resource.written_api_version();
    let difference = difference(resource, &version, &before, &after);
    let mut entries = entries(new);
    if difference.changed.is_empty() && difference.removed.is_empty() {
        return;
    }
    let mut mine = Entry {
        manager: context.manager.clone(),
        operation: "Update".into(),
        api_version: version.clone(),
        subresource: sub.to_owned(),
        time: if sub == "scale" { String::new() } else { context.stamp() },
        fields: FieldSet::default(),
    };
    entries.retain_mut(|entry| {
        if entry.is(&mine) {
            mine.fields = std::mem::take(&mut entry.fields);
            return false;
        }
        let other =
            (entry.api_version != version).then(|| self::difference(resource, &entry.api_version, &before, &after));
        let difference = other.as_ref().unwrap_or(&difference);
        entry.fields.subtract(&difference.changed);
        entry.fields.subtract(&difference.removed);
        true
    });
    mine.fields.union(&difference.changed);
    mine.fields.subtract(&difference.removed);
    entries.push(mine);
    fold_ancient(&mut entries, &version);
    set_entries(new, entries);
}

/// The difference between two stored objects, with the field names of a version.
pub(super) fn difference(resource: &Resource, version: &str, before: &Value, after: &Value) -> Difference {
    let form = resource.form(version);
    let seen = |object: &Value| ownable(&form.show(object));
    compare(&seen(before), &seen(after), form.shape)
}

/// The fields that a write to `sub` can own. Only the status subresource can own the status.
fn part(resource: &Resource, object: &Value, sub: &str) -> Value {
    let mut object = ownable(object);
    if resource.has(Sub::Status) && sub != "status" {
        json::object(&mut object).shift_remove("status");
    }
    if &*resource.storage == "namespaces" {
        // The server sets the finalizers, so they have no owner.
        json::object(&mut object).shift_remove("spec");
    }
    object
}

fn fold_ancient(entries: &mut Vec<Entry>, api_version: &str) {
    let mut updates: Vec<Entry> = Vec::new();
    entries.retain(|entry| {
        if entry.is_apply() {
            return true;
        }
        updates.push(entry.clone());
        false
    });
    updates.sort_by(|a, b| a.time.cmp(&b.time));
    while updates.len() > MAX_UPDATE_MANAGERS {
        let (first, second) = (updates.remove(0), updates.remove(0));
        let mut fields = first.fields;
        fields.union(&second.fields);
        let folded = Entry { manager: "ancient-changes".into(), api_version: api_version.to_owned(), fields, ..second };
        updates.insert(0, folded);
    }
    entries.append(&mut updates);
}

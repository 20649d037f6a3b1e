//! Server-side apply: merges a manager's configuration, finds conflicts, and removes what the manager no longer wants.

use serde_json::{Map, Value};

use super::compare::{compare, field_set, item_step, ownable};
use super::fields::{FieldSet, Step, shown};
use super::managed::{Entry, difference, entries, set_entries};
use crate::context::Context;
use crate::json;
use crate::kinds::schema::ListType;
use crate::kinds::shape::Shape;
use crate::kinds::{Resource, Sub};
use crate::status::{Cause, Failure};

/// The live object (or an empty one) with `config` applied and its managedFields written, in the storage version.
pub(crate) fn apply(
    resource: &Resource,
    live: &Value,
    config: &Value,
    sub: &str,
    force: bool,
    context: &Context,
) -> Result<Value, Failure> {
    let form = resource.form(&resource.written_api_version());
    let shape = form.shape;
    let (stored, live, config) = (live, &form.show(live), &form.show(config));
    let wanted = ownable(config);
    let mut fields = field_set(&wanted, shape);
    if wanted.as_object().is_none_or(Map::is_empty) {
        fields = FieldSet::default();
    }
    let mut managers = entries(live);
    if managers.is_empty() && !json::text(live, &["metadata", "uid"]).is_empty() {
        managers.extend(before_first(resource, live, shape, context));
    }
    let mut mine = Entry {
        manager: context.manager.clone(),
        operation: "Apply".into(),
        api_version: resource.written_api_version(),
        subresource: sub.to_owned(),
        time: context.stamp(),
        fields,
    };
    let before = managers.iter().position(|e| e.is(&mine)).map(|index| managers.remove(index));
    let mut merged = live.clone();
    merge(&mut merged, config, shape);
    let mut next = merged.clone();
    form.store(&mut next);
    let changed = |version: &str| difference(resource, version, stored, &next).changed;
    let conflicts = conflicts(&managers, changed);
    if !conflicts.is_empty() {
        if !force {
            return Err(conflict_failure(&conflicts));
        }
        for manager in &mut managers {
            let changed = changed(&manager.api_version);
            manager.fields.subtract(&changed);
        }
    }
    if let Some(before) = before {
        let mut dropped = before.fields.clone();
        dropped.subtract(&mine.fields);
        prune(&mut merged, &dropped, &mine.fields, &managers, shape);
        if before.fields == mine.fields && ownable(live) == ownable(&merged) {
            mine.time = before.time;
        } else if ownable(live) == ownable(&merged) {
            mine.time.clear();
        }
    } else if !json::text(live, &["metadata", "uid"]).is_empty() && ownable(live) == ownable(&merged) {
        // Only the owners change.
        mine.time.clear();
    }
    managers.push(mine);
    form.store(&mut merged);
    set_entries(&mut merged, managers);
    Ok(merged)
}

/// The owner of the fields that an object had before fields were tracked.
fn before_first(resource: &Resource, live: &Value, shape: Shape<'_>, context: &Context) -> Option<Entry> {
    let mut seen = ownable(live);
    if resource.has(Sub::Status) {
        json::object(&mut seen).shift_remove("status");
    }
    let fields = compare(&Value::Object(Map::new()), &seen, shape).changed;
    let entry = Entry {
        manager: "before-first-apply".to_owned(),
        operation: "Update".to_owned(),
        api_version: resource.written_api_version(),
        subresource: String::new(),
        time: context.stamp(),
        fields,
    };
    (!entry.fields.is_empty()).then_some(entry)
}

fn merge(live: &mut Value, config: &Value, shape: Shape<'_>) {
    match (&mut *live, config) {
        (Value::Object(target), Value::Object(wanted)) if !shape.is_atomic() => {
            for (key, value) in wanted {
                match target.get_mut(key) {
                    Some(existing) => merge(existing, value, shape.field(key)),
                    None => {
                        target.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(target), Value::Array(wanted)) => merge_lists(target, wanted, shape),
        (live, config) => *live = config.clone(),
    }
}

fn merge_lists(target: &mut Vec<Value>, wanted: &[Value], shape: Shape<'_>) {
    let list = shape.list();
    let step = |item: &Value| item_step(item, &list, shape.item());
    if list == ListType::Atomic || wanted.iter().any(|item| step(item).is_none()) {
        *target = wanted.to_vec();
        return;
    }
    // Items keep their position. New ones follow in the configuration's order.
    for item in wanted {
        let id = step(item);
        match target.iter_mut().find(|existing| step(existing) == id) {
            Some(existing) => merge(existing, item, shape.item()),
            None => target.push(item.clone()),
        }
    }
}

type Conflict<'a> = (&'a Entry, Vec<Step>);

fn conflicts<'a>(managers: &'a [Entry], changed: impl Fn(&str) -> FieldSet) -> Vec<Conflict<'a>> {
    let of = |entry: &'a Entry| {
        let taken = entry.fields.intersection(&changed(&entry.api_version)).paths();
        taken.into_iter().map(move |path| (entry, path))
    };
    managers.iter().flat_map(of).collect()
}

fn manager_shown(entry: &Entry) -> String {
    let mut text = format!("\"{}\"", entry.manager);
    if !entry.subresource.is_empty() {
        text.push_str(&format!(" with subresource \"{}\"", entry.subresource));
    }
    if !entry.is_apply() {
        text.push_str(&format!(" using {}", entry.api_version));
    }
    text
}

fn conflict_failure(conflicts: &[Conflict<'_>]) -> Failure {
    let causes = conflicts
        .iter()
        .map(|(entry, path)| Cause {
            reason: "FieldManagerConflict",
            message: format!("conflict with {}", manager_shown(entry)),
            field: shown(path),
        })
        .collect();
    let message = match conflicts {
        [(entry, path)] => {
            format!("Apply failed with 1 conflict: conflict with {}: {}", manager_shown(entry), shown(path))
        }
        many => {
            let mut managers: Vec<String> = many.iter().map(|(entry, _)| manager_shown(entry)).collect();
            managers.sort();
            managers.dedup();
            let mut lines = Vec::new();
            for manager in managers {
                lines.push(format!("conflicts with {manager}:"));
                let own = many.iter().filter(|(entry, _)| manager_shown(entry) == manager);
                lines.extend(own.map(|(_, path)| format!("- {}", shown(path))));
            }
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    Failure::apply_conflict(message, causes)
}

/// Removes what this manager no longer wants and no other manager owns.
fn prune(object: &mut Value, dropped: &FieldSet, wanted: &FieldSet, others: &[Entry], shape: Shape<'_>) {
    // Parents come first. An item that is removed takes all of its fields with it, including its keys.
    for path in dropped.paths() {
        let owned = wanted.touches(&path) || others.iter().any(|e| e.fields.touches(&path));
        if !owned && !is_key(&path) {
            remove(object, &path, shape, &mut Vec::new(), &|parent| {
                wanted.contains(parent) || others.iter().any(|e| e.fields.contains(parent))
            });
        }
    }
}

/// Whether the path is the field that identifies its list item. It is removed only with the item.
fn is_key(path: &[Step]) -> bool {
    let [.., item, field] = path else {
        return false;
    };
    let (Some(keys), Some(name)) = (item.strip_prefix("k:"), field.strip_prefix("f:")) else {
        return false;
    };
    serde_json::from_str::<Map<String, Value>>(keys).is_ok_and(|keys| keys.contains_key(name))
}

/// Removes the value at `path`, and parents that become empty unless `keep` applies to them.
fn remove(value: &mut Value, path: &[Step], shape: Shape<'_>, walked: &mut Vec<Step>, keep: &dyn Fn(&[Step]) -> bool) {
    let Some((step, rest)) = path.split_first() else {
        return;
    };
    walked.push(step.clone());
    let emptied = |v: &Value, here: &[Step]| json::is_empty(Some(v)) && !v.is_string() && !keep(here);
    match value {
        Value::Object(map) => {
            let Some(key) = step.strip_prefix("f:") else {
                return;
            };
            if rest.is_empty() {
                map.shift_remove(key);
            } else if let Some(child) = map.get_mut(key) {
                let here = walked.clone();
                remove(child, rest, shape.field(key), walked, keep);
                if emptied(child, &here) {
                    map.shift_remove(key);
                }
            }
        }
        Value::Array(items) => {
            let list = shape.list();
            let found = items.iter().position(|i| item_step(i, &list, shape.item()).as_ref() == Some(step));
            let Some(index) = found else { return };
            if rest.is_empty() {
                items.remove(index);
            } else if let Some(item) = items.get_mut(index) {
                remove(item, rest, shape.item(), walked, keep);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::kinds::Registry;
    use crate::kinds::schema::Schema;
    use serde_json::json;
    use std::sync::Arc;

    fn deployments() -> Arc<Resource> {
        let registry = Registry::new(&Arc::new(Schema::builtin()), []);
        registry.find("apps", "v1", "deployments").unwrap().clone()
    }

    fn context(manager: &str) -> Context {
        Context {
            now: jiff::Timestamp::UNIX_EPOCH,
            manager: manager.into(),
            dry_run: false,
            validation: Default::default(),
        }
    }

    fn config(replicas: Option<i64>, containers: Value) -> Value {
        let mut spec = json!({ "template": { "spec": { "containers": containers } } });
        if let Some(replicas) = replicas {
            spec["replicas"] = replicas.into();
        }
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" }, "spec": spec })
    }

    #[test]
    fn a_manager_owns_what_it_applies_and_takes_it_away_again() {
        let d = deployments();
        let one =
            apply(&d, &json!({}), &config(Some(1), json!([{ "name": "a", "image": "1" }])), "", false, &context("x"));
        let one = one.unwrap();
        assert_eq!(
            one["metadata"]["managedFields"][0]["fieldsV1"],
            json!({ "f:spec": { "f:replicas": {}, "f:template": { "f:spec": { "f:containers": {
                "k:{\"name\":\"a\"}": { ".": {}, "f:image": {}, "f:name": {} } } } } } })
        );
        let two = apply(&d, &one, &config(None, json!([{ "name": "b" }])), "", false, &context("y")).unwrap();
        let names = |o: &Value| -> Vec<String> {
            json::list(o, &["spec", "template", "spec", "containers"])
                .iter()
                .map(|c| json::text(c, &["name"]).into())
                .collect()
        };
        assert_eq!(names(&two), ["a", "b"]);
        let three = apply(&d, &two, &config(None, json!([])), "", false, &context("x")).unwrap();
        assert_eq!(names(&three), ["b"]);
        assert_eq!(three["spec"].get("replicas"), None);
    }

    #[test]
    fn another_managers_field_is_a_conflict_until_forced() {
        let d = deployments();
        let one = apply(&d, &json!({}), &config(Some(1), json!([])), "", false, &context("x")).unwrap();
        let failure = apply(&d, &one, &config(Some(2), json!([])), "", false, &context("y")).unwrap_err();
        assert_eq!(failure.message(), "Apply failed with 1 conflict: conflict with \"x\": .spec.replicas");
        let same = apply(&d, &one, &config(Some(1), json!([])), "", false, &context("y")).unwrap();
        assert_eq!(entries(&same).len(), 2);
        let forced = apply(&d, &one, &config(Some(2), json!([])), "", true, &context("y")).unwrap();
        assert_eq!(forced["spec"]["replicas"], 2);
        let owners: Vec<String> =
            entries(&forced).iter().filter(|e| !e.fields.is_empty()).map(|e| e.manager.clone()).collect();
        assert!(owners.contains(&"y".to_owned()));
        let x = entries(&forced).into_iter().find(|e| e.manager == "x");
        assert!(x.is_none_or(|e| { !e.fields.contains(&["f:spec".to_owned(), "f:replicas".to_owned()]) }));
    }
}

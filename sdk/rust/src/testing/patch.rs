//! The changes that patches make to an object: JSON Patch, JSON Merge Patch, and those parts of the strategic merge
//! patch and of server-side apply that need no schemas of kinds.
//!
//! It refuses a patch that needs a schema, and never guesses.

use serde_json::{Map, Value};

/// Why a patch is not applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The patch is wrong, or does not fit the object.
    Wrong(String),
    /// It needs a schema.
    Unknown(String),
    /// A field belongs to somebody else.
    Conflict(String),
}

/// RFC 7386.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    let mut object = match target.take() {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    for (key, value) in fields {
        if value.is_null() {
            object.remove(key);
        } else {
            merge(object.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
    *target = Value::Object(object);
}

/// A strategic merge patch that differs in nothing from a JSON merge patch.
pub(super) fn strategic(target: &mut Value, patch: &Value) -> Result<(), Refused> {
    plain(patch, "")?;
    merge(target, patch);
    Ok(())
}

/// How lists merge, and what directives do, stands in the schemas of kinds.
fn plain(patch: &Value, path: &str) -> Result<(), Refused> {
    match patch {
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| match key.strip_prefix('$') {
            Some(_) => Err(Refused::Unknown(format!("the directive {key} at {path:?} of a strategic merge patch"))),
            None => plain(value, &format!("{path}.{key}")),
        }),
        Value::Array(_) => Err(Refused::Unknown(format!("the list {path} of a strategic merge patch"))),
        _ => Ok(()),
    }
}

/// RFC 6902.
pub(super) fn json(target: &mut Value, patch: &Value) -> Result<(), Refused> {
    let operations = patch.as_array().ok_or_else(|| Refused::Wrong("a JSON patch is an array of operations".into()))?;
    for (n, operation) in operations.iter().enumerate() {
        one(target, operation).map_err(|what| Refused::Wrong(format!("operation {n} {operation}: {what}")))?;
    }
    Ok(())
}

fn one(target: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).ok_or_else(|| format!("it needs {key}"));
    let value = || operation.get("value").cloned().ok_or_else(|| "it needs a value".to_owned());
    let path = text("path")?;
    match text("op")? {
        "add" => add(target, path, value()?),
        "remove" => remove(target, path).map(drop),
        "replace" => target.pointer_mut(path).map(|old| value().map(|new| *old = new)).ok_or("there is nothing")?,
        "move" => {
            let moved = remove(target, text("from")?)?;
            add(target, path, moved)
        }
        "copy" => {
            let copied = target.pointer(text("from")?).cloned().ok_or("there is nothing to copy")?;
            add(target, path, copied)
        }
        "test" if target.pointer(path) == Some(&value()?) => Ok(()),
        "test" => Err("the test fails".to_owned()),
        other => Err(format!("there is no operation {other:?}")),
    }
}

/// The value that holds what a pointer names, and the last step to it.
fn holder<'t>(target: &'t mut Value, path: &str) -> Result<(&'t mut Value, String), String> {
    let (above, last) = path.rsplit_once('/').ok_or("the path begins with a slash")?;
    let last = last.replace("~1", "/").replace("~0", "~");
    Ok((target.pointer_mut(above).ok_or("what is above it is not there")?, last))
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    match holder(target, path)? {
        (Value::Object(object), key) => {
            object.insert(key, value);
            Ok(())
        }
        (Value::Array(list), key) => {
            let index = if key == "-" { list.len() } else { key.parse().map_err(|_| "no index".to_owned())? };
            if index > list.len() {
                return Err(format!("the list has only {} items", list.len()));
            }
            list.insert(index, value);
            Ok(())
        }
        _ => Err("what is above it holds nothing".to_owned()),
    }
}

fn remove(target: &mut Value, path: &str) -> Result<Value, String> {
    let nothing = || "there is nothing".to_owned();
    match holder(target, path)? {
        (Value::Object(object), key) => object.remove(&key).ok_or_else(nothing),
        (Value::Array(list), key) => match key.parse::<usize>() {
            Ok(index) if index < list.len() => Ok(list.remove(index)),
            _ => Err(nothing()),
        },
        _ => Err(nothing()),
    }
}

/// Server-side apply by one manager: `before` is what it applied last. What it no longer has goes, what others set
/// otherwise is a conflict unless `force`.
pub(super) fn apply(live: &mut Value, before: &Value, wanted: &Value, force: bool, path: &str) -> Result<(), Refused> {
    match (&mut *live, wanted) {
        (Value::Object(object), Value::Object(fields)) => {
            for key in before.as_object().into_iter().flatten().map(|(key, _)| key) {
                if !fields.contains_key(key) {
                    drop_ours(object, key, before.get(key).unwrap_or(&Value::Null));
                }
            }
            for (key, value) in fields {
                let path = format!("{path}.{key}");
                let before = before.get(key).unwrap_or(&Value::Null);
                match object.get_mut(key) {
                    Some(live) => apply(live, before, value, force, &path)?,
                    None => drop(object.insert(key.clone(), value.clone())),
                }
            }
            Ok(())
        }
        (live, wanted) if live == wanted => Ok(()),
        (Value::Array(items), Value::Array(_)) if live_is_others(items, before) => {
            Err(Refused::Unknown(format!("the list {path} of a server-side apply, of which others have a part,")))
        }
        (live, wanted) if force || *live == *before => {
            *live = wanted.clone();
            Ok(())
        }
        _ => Err(Refused::Conflict(format!("the field {path} belongs to somebody else"))),
    }
}

/// A list of objects that is not as this manager left it: how two managers share it is for its keys to say.
fn live_is_others(items: &[Value], before: &Value) -> bool {
    items.iter().any(Value::is_object) && before.as_array().is_none_or(|before| before != items)
}

fn drop_ours(object: &mut Map<String, Value>, key: &str, before: &Value) {
    let Some(live) = object.get_mut(key) else { return };
    if let (Value::Object(inner), Value::Object(ours)) = (live, before) {
        ours.iter().for_each(|(key, value)| drop_ours(inner, key, value));
        if !inner.is_empty() {
            return;
        }
    }
    object.remove(key);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_json_patch_does_its_operations_in_order() {
        let mut object = json!({"a": {"b/c": 1}, "list": [1, 3]});
        let patch = json!([
            {"op": "test", "path": "/a/b~1c", "value": 1},
            {"op": "add", "path": "/list/1", "value": 2},
            {"op": "add", "path": "/list/-", "value": 4},
            {"op": "remove", "path": "/list/0"},
            {"op": "move", "from": "/a/b~1c", "path": "/d"},
            {"op": "copy", "from": "/d", "path": "/e"},
            {"op": "replace", "path": "/e", "value": null},
        ]);
        json(&mut object, &patch).unwrap();
        assert_eq!(object, json!({"a": {}, "list": [2, 3, 4], "d": 1, "e": null}));
        for wrong in [
            json!([{"op": "remove", "path": "/x"}]),
            json!([{"op": "replace", "path": "/x", "value": 1}]),
            json!([{"op": "add", "path": "/list/9", "value": 1}]),
            json!([{"op": "add", "path": "/x/y", "value": 1}]),
            json!([{"op": "test", "path": "/d", "value": 2}]),
            json!([{"op": "add", "path": "/x"}]),
            json!([{"op": "burn", "path": "/x"}]),
            json!({}),
        ] {
            assert!(matches!(json(&mut object.clone(), &wrong), Err(Refused::Wrong(_))), "{wrong}");
        }
    }

    #[test]
    fn a_merge_patch_removes_with_null_and_replaces_lists() {
        let mut object = json!({"a": {"b": 1, "c": 2}, "list": [1, 2], "x": 1});
        merge(&mut object, &json!({"a": {"b": null, "d": {"e": null}}, "list": [3], "x": {"y": 1}}));
        assert_eq!(object, json!({"a": {"c": 2, "d": {}}, "list": [3], "x": {"y": 1}}));
    }

    #[test]
    fn what_needs_a_schema_is_refused() {
        let mut object = json!({"spec": {"containers": []}});
        strategic(&mut object, &json!({"metadata": {"labels": {"a": "b", "c": null}}})).unwrap();
        assert_eq!(object["metadata"], json!({"labels": {"a": "b"}}));
        for patch in [json!({"spec": {"containers": [{"name": "a"}]}}), json!({"spec": {"$patch": "replace"}})] {
            assert!(matches!(strategic(&mut object, &patch), Err(Refused::Unknown(_))), "{patch}");
        }
    }

    #[test]
    fn an_apply_keeps_what_others_have_and_takes_back_its_own() {
        let mut live = json!({"data": {"theirs": "1", "ours": "1"}, "spec": {"list": [{"name": "a"}]}});
        let before = json!({"data": {"ours": "1", "old": "1"}, "spec": {"list": [{"name": "a"}]}});
        apply(&mut live, &before, &json!({"data": {"ours": "2"}, "spec": {"list": []}}), false, "").unwrap();
        assert_eq!(live, json!({"data": {"theirs": "1", "ours": "2"}, "spec": {"list": []}}));
        let theirs = json!({"data": {"theirs": "2"}});
        let refused = apply(&mut live.clone(), &Value::Null, &theirs, false, "").unwrap_err();
        assert_eq!(refused, Refused::Conflict("the field .data.theirs belongs to somebody else".to_owned()));
        apply(&mut live, &Value::Null, &theirs, true, "").unwrap();
        assert_eq!(live["data"]["theirs"], "2");
        let mut others = json!({"spec": {"list": [{"name": "b"}]}});
        let mine = json!({"spec": {"list": [{"name": "a"}]}});
        assert!(matches!(apply(&mut others, &Value::Null, &mine, true, ""), Err(Refused::Unknown(_))));
    }
}

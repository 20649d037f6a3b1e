//! Strategic merge patch: lists merge by key where the kind's table has one, and directives apply. It is not used for
//! custom resources, as on the real server.

use serde_json::{Map, Value};

use crate::kinds::shape::Shape;
use crate::status::{Cause, Failure};

const ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

fn bad(why: impl Into<String>) -> Failure {
    Failure::bad_request(why)
}

/// Applies `patch` to `target`.
pub(crate) fn apply(target: &mut Value, patch: &Value, shape: Shape<'_>) -> Result<(), Failure> {
    match patch {
        Value::Object(changes) => merge_map(crate::json::object(target), changes, shape),
        _ => Err(bad("the patch is not an object")),
    }
}

fn merge_map(target: &mut Map<String, Value>, patch: &Map<String, Value>, shape: Shape<'_>) -> Result<(), Failure> {
    match patch.get("$patch").map(|v| v.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => {
            *target = patch.iter().filter(|(k, _)| *k != "$patch").map(|(k, v)| (k.clone(), v.clone())).collect();
            return Ok(());
        }
        Some("delete") => {
            target.clear();
            return Ok(());
        }
        Some(other) => {
            return Err(Failure::internal(format!("unknown patch type: {other} in map: map[$patch:{other}]")));
        }
    }
    if let Some(kept) = patch.get("$retainKeys") {
        let kept = kept.as_array().ok_or_else(|| bad("unable to parse $retainKeys: it is not a list"))?;
        target.retain(|key, _| kept.iter().any(|k| k == key));
    }
    for (key, change) in patch {
        if let Some(list) = key.strip_prefix(DELETE_FROM) {
            delete_values(target.get_mut(list), change);
        } else if !key.starts_with('$') {
            let order = patch.get(&format!("{ORDER}{key}"));
            merge_key(target, key, change, order, shape.field(key))?;
        }
    }
    // An order without changes of the list itself still reorders the list.
    for (key, order) in patch {
        if let Some(list) = key.strip_prefix(ORDER)
            && !patch.contains_key(list)
            && let Some(Value::Array(items)) = target.get_mut(list)
        {
            let shape = shape.field(list);
            let original = items.clone();
            reorder(items, &original, order, shape.merge_key().unwrap_or_default());
        }
    }
    Ok(())
}

fn delete_values(target: Option<&mut Value>, gone: &Value) {
    if let (Some(Value::Array(list)), Value::Array(gone)) = (target, gone) {
        list.retain(|item| !gone.contains(item));
    }
}

fn merge_key(
    target: &mut Map<String, Value>,
    key: &str,
    change: &Value,
    order: Option<&Value>,
    shape: Shape<'_>,
) -> Result<(), Failure> {
    if change.is_null() {
        target.shift_remove(key);
        return Ok(());
    }
    let merge_by = shape.merge_key();
    match (target.get_mut(key), change) {
        (Some(Value::Object(map)), Value::Object(changes)) => merge_map(map, changes, shape),
        (Some(Value::Array(_)), Value::Object(_)) if merge_by.is_some() => {
            let cause = Cause::invalid("patch", change, "cannot restore slice from map");
            Err(Failure::invalid("", "", "", &[cause]))
        }
        (Some(Value::Array(list)), Value::Array(changes)) if merge_by.is_some() => {
            merge_list(list, changes, order, merge_by.unwrap_or_default(), shape)
        }
        (_, Value::Array(changes)) if merge_by.is_some() => {
            // There is nothing to merge with. Items that are only directives are dropped.
            let is_directive = |item: &&Value| item.get("$patch").is_some();
            let list: Vec<Value> = changes.iter().filter(|item| !is_directive(item)).cloned().collect();
            target.insert(key.to_owned(), list.into());
            Ok(())
        }
        (_, Value::Object(changes)) if changes.contains_key("$patch") => {
            // There is nothing that the directive applies to.
            target.insert(key.to_owned(), Value::Object(Map::new()));
            Ok(())
        }
        (_, Value::Object(changes)) => {
            let mut map = Map::new();
            merge_map(&mut map, changes, shape)?;
            target.insert(key.to_owned(), map.into());
            Ok(())
        }
        (_, other) => {
            target.insert(key.to_owned(), other.clone());
            Ok(())
        }
    }
}

fn merge_list(
    list: &mut Vec<Value>,
    changes: &[Value],
    order: Option<&Value>,
    key: &str,
    shape: Shape<'_>,
) -> Result<(), Failure> {
    let original = list.clone();
    if key.is_empty() {
        for change in changes {
            if !list.contains(change) {
                list.push(change.clone());
            }
        }
    } else {
        merge_items(list, changes, key, shape)?;
    }
    // Without an explicit order, the order of the patch applies.
    let own = changes.iter().filter(|change| change.get("$patch").is_none()).cloned().collect();
    reorder(list, &original, order.unwrap_or(&own), key);
    Ok(())
}

/// The error for items that are not objects in a list that merges by key.
fn mixed() -> Failure {
    Failure::internal("list element types are not identical")
}

fn merge_items(list: &mut Vec<Value>, changes: &[Value], key: &str, shape: Shape<'_>) -> Result<(), Failure> {
    let directive = |v: &Value| v.get("$patch").and_then(Value::as_str).map(str::to_owned);
    if changes.iter().any(|c| directive(c).as_deref() == Some("replace")) {
        let kept = changes.iter().filter(|c| directive(c).as_deref() != Some("replace"));
        *list = kept.cloned().collect();
        return Ok(());
    }
    for change in changes {
        let map = change.as_object().ok_or_else(mixed)?;
        let id = map.get(key).ok_or_else(|| keyless(map, key))?;
        let found = list.iter().position(|item| item.get(key) == Some(id));
        if directive(change).as_deref() == Some("delete") {
            list.retain(|item| item.get(key) != Some(id));
            continue;
        }
        match found.and_then(|index| list.get_mut(index)) {
            Some(item) => merge_map(crate::json::object(item), map, shape.item())?,
            None => {
                let mut item = Map::new();
                merge_map(&mut item, map, shape.item())?;
                list.push(item.into());
            }
        }
    }
    Ok(())
}

/// The error with the map as Go prints it.
fn keyless(item: &Map<String, Value>, key: &str) -> Failure {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields: Vec<String> = item.iter().map(|(key, value)| format!("{key}:{}", text(value))).collect();
    Failure::internal(format!("map: map[{}] does not contain declared merge key: {key}", fields.join(" ")))
}

/// Sorts the items that `order` names in its order. The others keep their position relative to the item that they stood
/// before.
fn reorder(list: &mut Vec<Value>, original: &[Value], order: &Value, key: &str) {
    let Value::Array(order) = order else { return };
    let id = |item: &Value| {
        if key.is_empty() { Some(item.clone()) } else { item.get(key).cloned() }
    };
    let wanted: Vec<Option<Value>> = order.iter().map(id).collect();
    let was: Vec<Option<Value>> = original.iter().map(id).collect();
    let (mut named, others): (Vec<Value>, Vec<Value>) = list.drain(..).partition(|item| wanted.contains(&id(item)));
    named.sort_by_key(|item| wanted.iter().position(|w| *w == id(item)));
    let place = |item: &Value| was.iter().position(|w| *w == id(item));
    let mut others = others.into_iter().peekable();
    for item in named {
        while let Some(other) = others.next_if(|o| place(&item).is_some_and(|at| place(o).is_some_and(|o| o < at))) {
            list.push(other);
        }
        list.push(item);
    }
    list.extend(others);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kinds::schema::Schema;
    use serde_json::json;

    fn patched(kind: &str, mut target: Value, patch: Value) -> Value {
        let schema = Schema::builtin();
        let ty = schema.get(schema.find(kind).unwrap()).unwrap();
        apply(&mut target, &patch, Shape::Root { schema: &schema, ty }).unwrap();
        target
    }

    #[test]
    fn lists_merge_by_their_key_and_atomic_ones_are_replaced() {
        let spec = json!({
            "containers": [{ "name": "a", "image": "1", "env": [{ "name": "X", "value": "1" }] }, { "name": "b" }],
            "tolerations": [{ "key": "k" }],
        });
        let patch = json!({
            "containers": [{ "name": "a", "image": "2", "env": [{ "name": "Y", "value": "2" }] }],
            "tolerations": [{ "key": "l" }],
        });
        let got = patched("core.PodSpec", spec, patch);
        assert_eq!(
            got,
            json!({
                "containers": [
                    { "name": "a", "image": "2", "env": [{ "name": "Y", "value": "2" }, { "name": "X", "value": "1" }] },
                    { "name": "b" },
                ],
                "tolerations": [{ "key": "l" }],
            })
        );
    }

    #[test]
    fn directives() {
        let two = || json!({ "containers": [{ "name": "a" }, { "name": "b" }] });
        let cases = [
            (
                json!({ "containers": [{ "name": "a", "$patch": "delete" }] }),
                json!({ "containers": [{ "name": "b" }] }),
            ),
            (
                json!({ "containers": [{ "$patch": "replace" }, { "name": "c" }] }),
                json!({ "containers": [{ "name": "c" }] }),
            ),
            (
                json!({ "$setElementOrder/containers": [{ "name": "c" }, { "name": "a" }], "containers": [{ "name": "c" }] }),
                json!({ "containers": [{ "name": "c" }, { "name": "a" }, { "name": "b" }] }),
            ),
            (json!({ "containers": null }), json!({})),
            (json!({ "$patch": "replace", "nodeName": "n" }), json!({ "nodeName": "n" })),
        ];
        for (patch, wanted) in cases {
            assert_eq!(patched("core.PodSpec", two(), patch.clone()), wanted, "{patch}");
        }
        let meta = json!({ "finalizers": ["a/x", "b/x"] });
        let got = patched(
            "meta.ObjectMeta",
            meta,
            json!({ "$deleteFromPrimitiveList/finalizers": ["a/x"], "finalizers": ["c/x"] }),
        );
        assert_eq!(got, json!({ "finalizers": ["c/x", "b/x"] }));
        let volumes = json!({ "volumes": [{ "name": "v", "emptyDir": {} }] });
        let patch =
            json!({ "volumes": [{ "name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": { "path": "/" } }] });
        assert_eq!(
            patched("core.PodSpec", volumes, patch),
            json!({ "volumes": [{ "name": "v", "hostPath": { "path": "/" } }] })
        );
    }

    #[test]
    fn an_item_without_its_key_is_refused() {
        let schema = Schema::builtin();
        let ty = schema.get(schema.find("core.PodSpec").unwrap()).unwrap();
        let patch = json!({ "containers": [{ "image": "x" }] });
        let mut pod = json!({ "containers": [] });
        let failure = apply(&mut pod, &patch, Shape::Root { schema: &schema, ty }).unwrap_err();
        assert_eq!(failure.code(), 500);
        assert_eq!(failure.message(), "map: map[image:x] does not contain declared merge key: name");
    }
}

//! Makes objects of what a binding keeps of them: their names, the labels that it selects, and what its filter returned.
//! A filter is reversed if it only picks fields.

use boathook_core::model::{Item, KubernetesBinding};
use serde_json::{Map, Value, json};

/// A field of the filter's result, and where it is in the object. Without a key, it is the whole result.
type Picked = (Option<String>, Vec<String>);

/// An object of a binding. None if the binding keeps too little of it. Without an `api_version` and a `kind`, those of the
/// binding count.
pub(super) fn object(binding: &KubernetesBinding, kind: Option<(&str, &str)>, item: &Item) -> Option<Value> {
    if let Some(object) = item.object.as_deref() {
        return super::parse(object);
    }
    let (api_version, kind) = match kind {
        Some(kind) => kind,
        // Another name of the kind is not what an object has.
        None if binding.kind.starts_with(char::is_uppercase) => {
            (binding.api_version.as_deref().unwrap_or("v1"), binding.kind.as_str())
        }
        None => return None,
    };
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": item.key.name}});
    if let (Some(namespace), Some(metadata)) =
        (&item.key.namespace, object.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.insert("namespace".to_owned(), namespace.to_string().into());
    }
    for (label, value) in binding.label_selector.as_deref().map(labels).unwrap_or_default() {
        set(&mut object, &["metadata".to_owned(), "labels".to_owned(), label], value);
    }
    if let (Some(filter), Some(result)) = (binding.jq_filter.as_deref(), item.filter_result.as_deref()) {
        put(&mut object, filter, result)?;
    }
    if kind == "Pod" && object.pointer("/spec/containers").is_none() {
        set(
            &mut object,
            &["spec".to_owned(), "containers".to_owned()],
            json!([{"name": "unknown", "image": "unknown"}]),
        );
    }
    Some(object)
}

/// Puts what a filter returned where it was. None if the filter does more than picking fields.
pub(super) fn put(object: &mut Value, filter: &str, result: &str) -> Option<()> {
    let result: Value = serde_json::from_str(result).ok()?;
    for (key, path) in picks(filter)? {
        let value = match key {
            Some(key) => result.get(&key).cloned().unwrap_or_default(),
            None => result.clone(),
        };
        set(object, &path, value);
    }
    Some(())
}

/// A value at a path. Null removes what is there, and merges with nothing.
fn set(object: &mut Value, path: &[String], value: Value) {
    let Some((last, above)) = path.split_last() else { return };
    let mut at = object;
    for key in above {
        let Some(fields) = at.as_object_mut() else { return };
        if value.is_null() && !fields.contains_key(key) {
            return;
        }
        at = fields.entry(key.clone()).or_insert_with(|| json!({}));
    }
    let Some(fields) = at.as_object_mut() else { return };
    match (value, fields.get_mut(last)) {
        (Value::Null, _) => {
            fields.shift_remove(last);
        }
        (Value::Object(more), Some(Value::Object(there))) => there.extend(more),
        (value, _) => {
            fields.insert(last.clone(), value);
        }
    }
}

/// The fields that a filter picks: `.a.b`, `.a["b"]`, or `{x: .a, y: .b.c}`.
fn picks(filter: &str) -> Option<Vec<Picked>> {
    let filter = filter.trim();
    let Some(inner) = filter.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return Some(vec![(None, path(filter)?)]);
    };
    let pick = |part: &str| {
        let (key, value) = part.split_once(':')?;
        Some((Some(key.trim().trim_matches('"').to_owned()), path(value)?))
    };
    inner.split(',').map(pick).collect()
}

fn path(text: &str) -> Option<Vec<String>> {
    let (mut rest, mut path) = (text.trim(), Vec::new());
    while !rest.is_empty() {
        let (key, after) = if let Some(quoted) = rest.strip_prefix("[\"").or_else(|| rest.strip_prefix(".[\"")) {
            quoted.split_once("\"]")?
        } else {
            let name = rest.strip_prefix('.')?;
            name.split_at(name.find(['.', '[']).unwrap_or(name.len()))
        };
        if key.is_empty() || !key.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c)) {
            return None;
        }
        path.push(key.to_owned());
        rest = after;
    }
    (!path.is_empty()).then_some(path)
}

/// Labels with which a selector selects an object.
fn labels(selector: &str) -> Map<String, Value> {
    let mut labels = Map::new();
    let mut rest = selector;
    while !rest.is_empty() {
        // The values of a set have commas, too.
        let end = match (rest.find(','), rest.find('('), rest.find(')')) {
            (Some(comma), Some(open), Some(close)) if open < comma => close + 1,
            (Some(comma), ..) => comma,
            (None, ..) => rest.len(),
        };
        let (term, after) = rest.split_at(end);
        rest = after.trim_start_matches(',');
        let term = term.trim();
        if let Some((key, values)) = term.split_once(" in ") {
            let first = values.trim().trim_matches(['(', ')']).split(',').next().unwrap_or_default();
            labels.insert(key.trim().to_owned(), first.trim().into());
        } else if term.starts_with('!') || term.contains("!=") || term.contains(" notin ") {
            continue;
        } else {
            let (key, value) = term.split_once('=').unwrap_or((term, ""));
            labels.insert(key.trim().to_owned(), value.trim_start_matches('=').trim().into());
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_filter_that_picks_fields_is_reversed() {
        let put = |filter: &str, result: Value| {
            let mut object = json!({"metadata": {"labels": {"a": "b"}}});
            put(&mut object, filter, &result.to_string()).map(|()| object)
        };
        let taints = json!([{"key": "gpu"}]);
        assert_eq!(
            put("{labels: .metadata.labels, taints: .spec.taints}", json!({"labels": {"c": "d"}, "taints": taints})),
            Some(json!({"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {"taints": taints}}))
        );
        assert_eq!(
            put(".metadata.labels[\"x.y/z\"]", json!("1")),
            Some(json!({"metadata": {"labels": {"a": "b", "x.y/z": "1"}}}))
        );
        assert_eq!(put(".status.phase", Value::Null), Some(json!({"metadata": {"labels": {"a": "b"}}})));
        assert_eq!(put(".metadata.labels.a", Value::Null), Some(json!({"metadata": {"labels": {}}})));
        for more in [".items[] | length", ".a + .b", "{a: .b | length}", "map(.a)"] {
            assert_eq!(put(more, json!(1)), None, "{more}");
        }
    }

    #[test]
    fn a_selector_has_labels() {
        assert_eq!(Value::from(labels("a=b,c in (d,e),!f,g,h!=i")), json!({"a": "b", "c": "d", "g": ""}));
        assert_eq!(Value::from(labels("")), json!({}));
    }
}

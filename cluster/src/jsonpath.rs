//! Paths into objects, as in printer columns: `.spec.items[0]`, `[*]`, `[?(@.type=="Ready")]`. A path that matches
//! nothing, or that cannot be parsed, yields nothing.

use serde_json::Value;

/// All values at `path`.
pub(crate) fn select<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut here = vec![object];
    let mut rest = path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$');
    while !rest.is_empty() {
        let (step, tail) = step(rest);
        rest = tail;
        here = here.into_iter().flat_map(|value| take(value, &step)).collect();
    }
    here
}

enum Step {
    Key(String),
    Index(i64),
    All,
    /// Keeps list items whose value at a path is this text.
    Where(String, String),
    Nothing,
}

fn step(text: &str) -> (Step, &str) {
    if let Some(inner) = text.strip_prefix('[') {
        let end = if inner.starts_with('?') { inner.find(")]").map(|e| e + 1) } else { inner.find(']') };
        let Some(end) = end else {
            return (Step::Nothing, "");
        };
        let (inside, tail) = inner.split_at(end);
        return (bracket(inside), tail.strip_prefix(']').unwrap_or_default());
    }
    let text = text.trim_start_matches('.');
    let mut key = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            // An escaped dot belongs to the key.
            '\\' => key.extend(chars.next().map(|(_, c)| c)),
            '.' | '[' => return (Step::Key(key), text.get(at..).unwrap_or_default()),
            c => key.push(c),
        }
    }
    (Step::Key(key), "")
}

fn bracket(inside: &str) -> Step {
    let quoted = |s: &str| s.trim().trim_matches(['\'', '"']).to_owned();
    if inside == "*" {
        return Step::All;
    }
    if let Some(condition) = inside.strip_prefix("?(").and_then(|c| c.strip_suffix(')')) {
        return match condition.split_once("==") {
            Some((path, value)) => Step::Where(path.trim().trim_start_matches('@').to_owned(), quoted(value)),
            None => Step::Nothing,
        };
    }
    match inside.parse() {
        Ok(index) => Step::Index(index),
        Err(_) => Step::Key(quoted(inside)),
    }
}

fn take<'a>(value: &'a Value, step: &Step) -> Vec<&'a Value> {
    let items = || value.as_array().map_or(&[] as &[Value], Vec::as_slice);
    match step {
        Step::Key(key) if key == "*" => value.as_object().map(|m| m.values().collect()).unwrap_or_default(),
        Step::Key(key) => value.get(key).into_iter().collect(),
        Step::All => items().iter().collect(),
        Step::Index(index) => {
            let length = i64::try_from(items().len()).unwrap_or_default();
            let at = if *index < 0 { length + index } else { *index };
            usize::try_from(at).ok().and_then(|at| items().get(at)).into_iter().collect()
        }
        Step::Where(path, wanted) => {
            let is = |item: &&Value| select(item, path).iter().any(|v| text(v) == *wanted);
            items().iter().filter(is).collect()
        }
        Step::Nothing => Vec::new(),
    }
}

/// A value as a cell shows it.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_where_kubectl_expects() {
        let object = json!({
            "spec": { "list": [1, 2], "a.b": "dotted" },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Other", "status": "False" }] },
        });
        let at = |path: &str| select(&object, path).iter().map(|v| text(v)).collect::<Vec<_>>().join(",");
        assert_eq!(at(".spec.list[1]"), "2");
        assert_eq!(at(".spec.list[-1]"), "2");
        assert_eq!(at("{.spec.list[*]}"), "1,2");
        assert_eq!(at(r".status.conditions[?(@.type=='Ready')].status"), "True");
        assert_eq!(at(r#".status.conditions[?(@.type=="Other")].status"#), "False");
        assert_eq!(at(r".spec.a\.b"), "dotted");
        for nowhere in [".x.y", "[", ".spec[?(x", ".spec.list[9]", "]", "[[[["] {
            assert_eq!(at(nowhere), "", "{nowhere}");
        }
    }
}

//! Sets of field paths, in the format of `FieldsV1`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One step of a path in the format of FieldsV1: `f:name`, `k:{"name":"x"}`, `v:"x"`.
pub(crate) type Step = String;

/// A set of paths as a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(BTreeMap<Step, Entry>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    /// The path that ends here is in the set.
    member: bool,
    below: FieldSet,
}

impl Entry {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn insert(&mut self, path: &[Step]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let entry = self.0.entry(first.clone()).or_default();
        if rest.is_empty() { entry.member = true } else { entry.below.insert(rest) }
    }

    /// Whether the path itself is in the set.
    pub(crate) fn contains(&self, path: &[Step]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        self.0.get(first).is_some_and(|e| if rest.is_empty() { e.member } else { e.below.contains(rest) })
    }

    /// Whether the path or a path below it is in the set.
    pub(crate) fn touches(&self, path: &[Step]) -> bool {
        match path.split_first() {
            None => !self.is_empty(),
            Some((first, rest)) => {
                self.0.get(first).is_some_and(|e| if rest.is_empty() { !e.is_empty() } else { e.below.touches(rest) })
            }
        }
    }

    pub(crate) fn union(&mut self, other: &Self) {
        for (step, theirs) in &other.0 {
            let entry = self.0.entry(step.clone()).or_default();
            entry.member |= theirs.member;
            entry.below.union(&theirs.below);
        }
    }

    /// Removes the paths of `other`.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.0.retain(|step, entry| {
            if let Some(theirs) = other.0.get(step) {
                entry.member &= !theirs.member;
                entry.below.subtract(&theirs.below);
            }
            !entry.is_empty()
        });
    }

    /// The paths in both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(step, mine)| {
            let theirs = other.0.get(step)?;
            let entry = Entry { member: mine.member && theirs.member, below: mine.below.intersection(&theirs.below) };
            (!entry.is_empty()).then(|| (step.clone(), entry))
        });
        Self(both.collect())
    }

    /// All paths. On each level, paths that end there come before deeper ones.
    pub(crate) fn paths(&self) -> Vec<Vec<Step>> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect(&self, prefix: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
        for (step, entry) in &self.0 {
            if entry.member {
                found.push(prefix.iter().chain([step]).cloned().collect());
            }
        }
        for (step, entry) in &self.0 {
            prefix.push(step.clone());
            entry.below.collect(prefix, found);
            prefix.pop();
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (step, entry) in &self.0 {
            let mut below = entry.below.to_json();
            if entry.member && !entry.below.is_empty() {
                let mut with_self = Map::new();
                with_self.insert(".".into(), Value::Object(Map::new()));
                if let Value::Object(rest) = below {
                    with_self.extend(rest);
                }
                below = Value::Object(with_self);
            }
            map.insert(step.clone(), below);
        }
        Value::Object(map)
    }

    pub(crate) fn from_json(value: &Value) -> Self {
        let mut set = Self::default();
        for (step, below) in value.as_object().into_iter().flatten() {
            if step == "." {
                continue;
            }
            let member = below.as_object().is_none_or(|m| m.is_empty() || m.contains_key("."));
            set.0.insert(step.clone(), Entry { member, below: Self::from_json(below) });
        }
        set
    }
}

/// A path in the format of conflict messages: `.spec.containers[name="a"].image`.
pub(crate) fn shown(path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        match step.split_once(':') {
            Some(("f", name)) => {
                out.push('.');
                out.push_str(name);
            }
            Some(("k", keys)) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let parts: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={v}")).collect();
                out.push_str(&format!("[{}]", parts.join(",")));
            }
            Some(("i", index)) => out.push_str(&format!("[{index}]")),
            Some(("v", value)) => out.push_str(&format!("[={value}]")),
            _ => out.push_str(&format!("[{step}]")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_wire_form_comes_back() {
        let form = json!({
            "f:metadata": { "f:labels": { ".": {}, "f:a": {} } },
            "f:spec": { "f:containers": { "k:{\"name\":\"x\"}": { ".": {}, "f:image": {} } } },
        });
        let set = FieldSet::from_json(&form);
        assert_eq!(set.to_json(), form);
        let paths: Vec<String> = set.paths().iter().map(|p| shown(p)).collect();
        assert_eq!(
            paths,
            [
                ".metadata.labels",
                ".metadata.labels.a",
                ".spec.containers[name=\"x\"]",
                ".spec.containers[name=\"x\"].image"
            ]
        );
    }

    #[test]
    fn set_arithmetic() {
        let a = FieldSet::from_json(&json!({ "f:a": { ".": {}, "f:b": {} }, "f:c": {} }));
        let b = FieldSet::from_json(&json!({ "f:a": { "f:b": {} }, "f:d": {} }));
        let mut rest = a.clone();
        rest.subtract(&b);
        assert_eq!(rest.to_json(), json!({ "f:a": {}, "f:c": {} }));
        assert_eq!(a.intersection(&b).to_json(), json!({ "f:a": { "f:b": {} } }));
        let mut all = rest;
        all.union(&b);
        assert_eq!(all.to_json(), json!({ "f:a": { ".": {}, "f:b": {} }, "f:c": {}, "f:d": {} }));
    }
}

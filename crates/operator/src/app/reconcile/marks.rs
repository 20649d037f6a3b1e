//! What must survive a crash and has no place in a parent's status, because a custom resource's schema need not allow it:
//! the finalizer, and a prune that waits for an approval.

use boathook_applyset::Hold;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// The names of what a binding writes to a parent. Those of a decorator contain a key, because an object may have several
/// decorators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Names {
    /// Kept while the hook must be asked before the parent ends, or while owner references would not delete all members, or
    /// not in their order.
    pub finalizer: String,
    /// The annotation with the prune that waits, as JSON.
    pub hold: String,
    /// The annotation in which a person approves the prune: `kubectl annotate … boathook.dev/approve-prune=DIGEST`.
    pub approve: String,
    /// The field manager. Not the hook's own: another hook may have the parent later, and only the manager of a field
    /// removes it.
    pub manager: String,
    /// The annotation with the keys of the labels and annotations that a decorator has set.
    pub decorated: String,
    /// The field manager of these labels and annotations.
    pub decorates: String,
}

impl Names {
    pub fn of(decorator: Option<&str>) -> Self {
        let key = decorator.map(|decorator| {
            let digest = Sha256::digest(decorator);
            digest.iter().take(KEY).fold("-".to_owned(), |key, byte| format!("{key}{byte:02x}"))
        });
        let name = |name: &str| format!("boathook.dev/{name}{}", key.as_deref().unwrap_or_default());
        Self {
            finalizer: name("teardown"),
            hold: name("prune-hold"),
            approve: name("approve-prune"),
            manager: name("marks"),
            decorated: name("decorated"),
            decorates: name("decorates"),
        }
    }
}

/// Bytes of a decorator's hash in its names.
const KEY: usize = 6;

/// The marks of one parent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in super::super) struct Marks {
    pub finalizer: bool,
    pub hold: Option<Hold>,
}

impl Marks {
    /// Those that the parent has, and the digest that somebody approved. An annotation that cannot be read is like none:
    /// the prune then waits again.
    pub fn read(parent: &Value, names: &Names) -> (Self, Option<String>) {
        let metadata = |name: &str| parent.get("metadata").and_then(|metadata| metadata.get(name));
        let annotation = |name: &str| metadata("annotations")?.get(name)?.as_str();
        let finalizers = metadata("finalizers").and_then(Value::as_array);
        let finalizer = finalizers.is_some_and(|all| all.iter().any(|one| *one == names.finalizer));
        let hold = annotation(&names.hold).and_then(|text| serde_json::from_str(text).ok());
        (Self { finalizer, hold }, annotation(&names.approve).map(str::to_owned))
    }

    /// These, and the finalizer if it is needed.
    pub fn with_finalizer(&self, needed: bool) -> Self {
        Self { finalizer: self.finalizer || needed, hold: self.hold.clone() }
    }

    /// The fields of `metadata` to apply. What is not among them is removed.
    pub fn fields(&self, names: &Names) -> Map<String, Value> {
        let mut fields = Map::new();
        if self.finalizer {
            fields.insert("finalizers".to_owned(), json!([names.finalizer]));
        }
        if let Some(text) = self.hold.as_ref().and_then(|hold| serde_json::to_string(hold).ok()) {
            fields.insert("annotations".to_owned(), json!({ names.hold.as_str(): text }));
        }
        fields
    }
}

/// The merge patch that takes away what an apply left of marks that are not wanted any more. `None`: nothing is left. It
/// contains the version, because it replaces the whole list of finalizers.
pub(super) fn still_marked(made: Option<&str>, wanted: &Marks, names: &Names) -> Option<Value> {
    let made: Value = serde_json::from_str(made?).ok()?;
    let (left, _) = Marks::read(&made, names);
    let (finalizer, hold) = (left.finalizer && !wanted.finalizer, left.hold.is_some() && wanted.hold.is_none());
    if !finalizer && !hold {
        return None;
    }
    let metadata = made.get("metadata")?;
    let mut patch = Map::new();
    for name in ["uid", "resourceVersion"] {
        patch.insert(name.to_owned(), metadata.get(name)?.clone());
    }
    if finalizer {
        let all = metadata.get("finalizers").and_then(Value::as_array).into_iter().flatten();
        patch.insert("finalizers".to_owned(), all.filter(|one| **one != names.finalizer).cloned().collect());
    }
    if hold {
        patch.insert("annotations".to_owned(), json!({ names.hold.as_str(): null }));
    }
    Some(json!({ "metadata": patch }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_another_manager_are_taken_away() {
        let names = Names::of(None);
        let made = json!({"metadata": {"uid": "u", "resourceVersion": "3", "finalizers": ["x.io/y", names.finalizer]}});
        let patch = json!({"metadata": {"uid": "u", "resourceVersion": "3", "finalizers": ["x.io/y"]}});
        let left = |made: &Value, finalizer: bool| {
            still_marked(Some(&made.to_string()), &Marks { finalizer, ..Marks::default() }, &names)
        };
        assert_eq!(left(&made, false), Some(patch));
        assert_eq!(left(&made, true), None);
        assert_eq!(left(&json!({"metadata": {"uid": "u", "resourceVersion": "3"}}), false), None);
        assert_eq!(still_marked(None, &Marks::default(), &names), None);
    }

    #[test]
    fn the_names_of_decorators_differ_and_are_valid() {
        let (plain, one, other) = (Names::of(None), Names::of(Some("a/b")), Names::of(Some("a/c")));
        assert_eq!((&*plain.finalizer, &*plain.approve), ("boathook.dev/teardown", "boathook.dev/approve-prune"));
        let all = |names: &Names| {
            let Names { finalizer, hold, approve, manager, decorated, decorates } = names.clone();
            [finalizer, hold, approve, manager, decorated, decorates]
        };
        for (one, other) in all(&one).into_iter().zip(all(&other)) {
            assert!(one != other, "{one}");
            let name = one.strip_prefix("boathook.dev/").unwrap();
            assert!(name.len() <= 63 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
        }
    }
}

//! What must survive a crash and has no place in a parent's status, because a custom resource's schema need not allow it:
//! the finalizer, and a prune that waits for an approval.

use boathook_applyset::Hold;
use serde_json::{Map, Value, json};

/// Kept while the hook must be asked before the parent ends, or while owner references would not delete all members, or not
/// in their order.
pub(super) const FINALIZER: &str = "boathook.dev/teardown";
/// The prune that waits, as JSON.
const HOLD: &str = "boathook.dev/prune-hold";
/// A person writes the digest of the prune here: `kubectl annotate … boathook.dev/approve-prune=DIGEST`.
const APPROVE: &str = "boathook.dev/approve-prune";

/// The marks of one parent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Marks {
    pub finalizer: bool,
    pub hold: Option<Hold>,
}

impl Marks {
    /// Those that the parent has, and the digest that somebody approved. An annotation that cannot be read is like none:
    /// the prune then waits again.
    pub fn read(parent: &Value) -> (Self, Option<String>) {
        let metadata = |name: &str| parent.get("metadata").and_then(|metadata| metadata.get(name));
        let annotation = |name: &str| metadata("annotations")?.get(name)?.as_str();
        let finalizers = metadata("finalizers").and_then(Value::as_array);
        let finalizer = finalizers.is_some_and(|all| all.iter().any(|one| one == FINALIZER));
        let hold = annotation(HOLD).and_then(|text| serde_json::from_str(text).ok());
        (Self { finalizer, hold }, annotation(APPROVE).map(str::to_owned))
    }

    /// These, and the finalizer if it is needed.
    pub fn with_finalizer(&self, needed: bool) -> Self {
        Self { finalizer: self.finalizer || needed, hold: self.hold.clone() }
    }

    /// The fields of `metadata` to apply. What is not among them is removed.
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        if self.finalizer {
            fields.insert("finalizers".to_owned(), json!([FINALIZER]));
        }
        if let Some(text) = self.hold.as_ref().and_then(|hold| serde_json::to_string(hold).ok()) {
            fields.insert("annotations".to_owned(), json!({ HOLD: text }));
        }
        fields
    }
}

/// The merge patch that takes away what an apply left of marks that are not wanted any more. `None`: nothing is left. It
/// contains the version, because it replaces the whole list of finalizers.
pub(super) fn still_marked(made: Option<&str>, wanted: &Marks) -> Option<Value> {
    let made: Value = serde_json::from_str(made?).ok()?;
    let (left, _) = Marks::read(&made);
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
        patch.insert("finalizers".to_owned(), all.filter(|one| *one != FINALIZER).cloned().collect());
    }
    if hold {
        patch.insert("annotations".to_owned(), json!({ HOLD: null }));
    }
    Some(json!({ "metadata": patch }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_another_manager_are_taken_away() {
        let made = json!({"metadata": {"uid": "u", "resourceVersion": "3", "finalizers": ["x.io/y", FINALIZER]}});
        let patch = json!({"metadata": {"uid": "u", "resourceVersion": "3", "finalizers": ["x.io/y"]}});
        let left = |made: &Value, finalizer: bool| {
            still_marked(Some(&made.to_string()), &Marks { finalizer, ..Marks::default() })
        };
        assert_eq!(left(&made, false), Some(patch));
        assert_eq!(left(&made, true), None);
        assert_eq!(left(&json!({"metadata": {"uid": "u", "resourceVersion": "3"}}), false), None);
        assert_eq!(still_marked(None, &Marks::default()), None);
    }
}

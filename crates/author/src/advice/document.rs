//! Changes of a hook's document, as a JSON Patch (RFC 6902). Each operation that replaces or removes something first tests
//! what is there, so that a patch never changes another document than the one that the advice is about.

use serde_json::{Value, json};

/// One change of a document. A path has a key or an index for each step.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The value at the path is this one. Mappings on the way are made if they are missing.
    Set { at: Vec<String>, value: Value },
    /// A list has one more item at its end.
    Append { at: Vec<String>, value: Value },
    /// Nothing is at the path. A list whose last item goes is removed, because documents have no empty lists.
    Remove { at: Vec<String> },
}

impl Change {
    pub(super) fn set(at: &[&str], value: Value) -> Self {
        Self::Set { at: owned(at), value }
    }

    pub(super) fn append(at: &[&str], value: Value) -> Self {
        Self::Append { at: owned(at), value }
    }

    pub(super) fn remove(at: &[&str]) -> Self {
        Self::Remove { at: owned(at) }
    }
}

fn owned(at: &[&str]) -> Vec<String> {
    at.iter().map(|step| (*step).to_owned()).collect()
}

/// The patch that makes all changes. Items of lists are removed last and from the end, so that the other paths stay valid.
pub fn patch<'a>(document: &Value, changes: impl IntoIterator<Item = &'a Change>) -> Vec<Value> {
    let (mut removed, others): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| matches!(change, Change::Remove { .. }));
    removed.sort_by_key(|change| std::cmp::Reverse(place(change)));
    let mut draft = Draft { document: document.clone(), operations: Vec::new() };
    others.into_iter().chain(removed).for_each(|change| draft.make(change));
    draft.operations
}

/// The document after a patch.
///
/// # Errors
/// If an operation does not fit.
pub fn patched(document: &Value, operations: &[Value]) -> Result<Value, String> {
    let mut document = document.clone();
    let patch: json_patch::Patch =
        serde_json::from_value(Value::from(operations.to_vec())).map_err(|error| error.to_string())?;
    json_patch::patch(&mut document, &patch).map_err(|error| error.to_string())?;
    Ok(document)
}

/// The list and the index in it.
fn place(change: &Change) -> (Vec<String>, usize) {
    let (Change::Set { at, .. } | Change::Append { at, .. } | Change::Remove { at }) = change;
    let (last, above) = at.split_last().map_or((None, &[][..]), |(last, above)| (Some(last), above));
    (above.to_vec(), last.and_then(|last| last.parse().ok()).unwrap_or_default())
}

struct Draft {
    document: Value,
    operations: Vec<Value>,
}

impl Draft {
    fn make(&mut self, change: &Change) {
        match change {
            Change::Set { at, value } => {
                for depth in 1..at.len() {
                    let above = pointer(at.get(..depth).unwrap_or_default());
                    if self.document.pointer(&above).is_none() {
                        self.then(vec![json!({"op": "add", "path": above, "value": {}})]);
                    }
                }
                let path = pointer(at);
                match self.document.pointer(&path).cloned() {
                    Some(old) if old == *value => {}
                    Some(old) => self.then(vec![
                        json!({"op": "test", "path": path, "value": old}),
                        json!({"op": "replace", "path": path, "value": value}),
                    ]),
                    None => self.then(vec![json!({"op": "add", "path": path, "value": value})]),
                }
            }
            Change::Append { at, value } => {
                let path = format!("{}/-", pointer(at));
                self.then(vec![json!({"op": "add", "path": path, "value": value})]);
            }
            Change::Remove { at } => {
                let list = at.split_last().map(|(_, list)| list).unwrap_or_default();
                let last = self.document.pointer(&pointer(list)).and_then(Value::as_array);
                let at = if last.is_some_and(|items| items.len() == 1) { list } else { at };
                let path = pointer(at);
                let Some(old) = self.document.pointer(&path).cloned() else { return };
                self.then(vec![
                    json!({"op": "test", "path": path, "value": old}),
                    json!({"op": "remove", "path": path}),
                ]);
            }
        }
    }

    fn then(&mut self, operations: Vec<Value>) {
        // An operation that does not fit shows when the patch is applied to the document.
        if let Ok(document) = patched(&self.document, &operations) {
            self.document = document;
        }
        self.operations.extend(operations);
    }
}

fn pointer(at: &[String]) -> String {
    at.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn changes_that_meet_are_one_patch() {
        let document = json!({"kubernetes": [{"kind": "Pod"}], "permissions": {"kubernetes": [1, 2, 3]}});
        let changes = [
            Change::remove(&["permissions", "kubernetes", "0"]),
            Change::set(&["limits", "memory"], "8Mi".into()),
            Change::remove(&["permissions", "kubernetes", "2"]),
            Change::set(&["limits", "time"], "1s".into()),
            Change::set(&["permissions", "kubernetes", "1"], json!({"a/b": 1})),
            Change::append(&["permissions", "kubernetes"], json!(4)),
            Change::set(&["kubernetes", "0", "kind"], "Pod".into()),
        ];
        let after = patched(&document, &patch(&document, &changes)).unwrap();
        assert_eq!(
            after,
            json!({
                "kubernetes": [{"kind": "Pod"}], "permissions": {"kubernetes": [{"a/b": 1}, 4]},
                "limits": {"memory": "8Mi", "time": "1s"},
            })
        );
        // Each one alone fits, too.
        for change in &changes {
            patched(&document, &patch(&document, [change])).unwrap();
        }
    }

    #[test]
    fn no_list_is_left_empty_and_no_other_document_is_changed() {
        let document = json!({"permissions": {"http": [1], "kubernetes": [2]}});
        let operations = patch(&document, &[Change::remove(&["permissions", "http", "0"])]);
        assert_eq!(patched(&document, &operations).unwrap(), json!({"permissions": {"kubernetes": [2]}}));
        let other = json!({"permissions": {"http": [1, 2]}});
        assert!(patched(&other, &operations).is_err());
    }
}

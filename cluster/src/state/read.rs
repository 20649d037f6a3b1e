//! Reads YAML text and files into documents.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Document, State, StateError};
use crate::json;

pub(super) fn path(path: &Path) -> Result<State, StateError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| StateError::Read { path, source }
    };
    let mut files = Vec::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(failed(path))? {
            files.push(entry.map_err(failed(path))?.path());
        }
        files.retain(|file: &PathBuf| is_state(file));
        files.sort();
    } else {
        files.push(path.to_path_buf());
    }
    let mut state = State::default();
    for file in files {
        let content = std::fs::read_to_string(&file).map_err(failed(&file))?;
        state.documents.extend(text(&file.display().to_string(), &content)?);
    }
    Ok(state)
}

fn is_state(file: &Path) -> bool {
    let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
    file.is_file() && matches!(extension, "yaml" | "yml" | "json")
}

pub(super) fn text(file: &str, text: &str) -> Result<Vec<Document>, StateError> {
    let mut documents = Vec::new();
    for (number, (line, part)) in split(text).into_iter().enumerate() {
        let document = Document { file: file.to_owned(), number: number + 1, line, object: Value::Null };
        let value = decode(&document, part)?;
        if !value.is_null() {
            expand(document, value, &mut documents)?;
        }
    }
    Ok(documents)
}

/// The documents and their first lines. Text before the first separator counts if it is not empty.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut first_line, mut at) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end();
        if bare == "---" || bare.starts_with("--- ") || bare == "..." {
            parts.push((first_line, text.get(start..at).unwrap_or_default()));
            // Text after the separator on the same line belongs to the document.
            start = at + 3;
            first_line = index + 1;
        }
        at += line.len();
    }
    parts.push((first_line, text.get(start..).unwrap_or_default()));
    parts.retain(|(_, part)| part.lines().any(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#')));
    parts
}

fn decode(document: &Document, part: &str) -> Result<Value, StateError> {
    yaml_serde::from_str(part).map_err(|error| {
        let line = document.line + error.location().map_or(1, |l| l.line()).saturating_sub(1);
        let text = error.to_string();
        // The position counts from the start of the file, not of the document.
        let why = text.split(" at line ").next().unwrap_or_default();
        Document { line, ..document.clone() }.problem(format!("not YAML: {why}"))
    })
}

/// Splits lists into their items, and checks that the rest are objects.
fn expand(document: Document, value: Value, documents: &mut Vec<Document>) -> Result<(), StateError> {
    if json::text(&value, &["kind"]).ends_with("List") && value.get("items").is_some_and(Value::is_array) {
        for item in json::list(&value, &["items"]) {
            expand(document.clone(), item.clone(), documents)?;
        }
        return Ok(());
    }
    for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"]] {
        if json::text(&value, path).is_empty() {
            return Err(document.problem(format!("an object needs {}", path.join("."))));
        }
    }
    documents.push(Document { object: value, ..document });
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn documents_know_their_lines() {
        let object = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n";
        let list = format!("# head\n---\n{object}---\n# nothing\n--- # marked\n{object}");
        let found = text("f", &list).unwrap();
        let places: Vec<_> = found.iter().map(|d| (d.number, d.line)).collect();
        assert_eq!(places, [(1, 2), (2, 9)]);
    }

    #[test]
    fn broken_documents_are_named_with_file_number_and_line() {
        let good = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n";
        let broken = text("f.yaml", &format!("{good}---\nkind: A\n  x: [\n")).unwrap_err().to_string();
        assert!(broken.starts_with("f.yaml, document 2, line 7: not YAML: "), "{broken}");
        assert!(!broken.contains("at line"), "{broken}");
        let nameless = text("f.yaml", "kind: A\napiVersion: v1\n").unwrap_err().to_string();
        assert_eq!(nameless, "f.yaml, document 1, line 1: an object needs metadata.name");
        assert!(text("f.yaml", "- 1\n").is_err());
    }
}

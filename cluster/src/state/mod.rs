//! A cluster's objects as YAML, read before its start and written while it runs. Uids, revisions and other traces of
//! the original cluster are not kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::context::{Context, Validation};
use crate::json;
use crate::lifecycle::create::Origin;
use crate::lifecycle::{commit, create, update};
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::key;

/// Initial objects of a cluster.
#[derive(Clone, Debug, Default)]
pub struct State {
    documents: Vec<Document>,
}

/// One object and its position.
#[derive(Clone, Debug)]
struct Document {
    file: String,
    number: usize,
    line: usize,
    object: serde_json::Value,
}

/// Why objects could not be read or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A file or folder cannot be read.
    #[error("cannot read the cluster's state from {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// An object is invalid.
    #[error("{file}, document {document}, line {line}: {why}")]
    Document {
        /// The file, or the name that was given with the text.
        file: String,
        /// The number of the document in the file, from 1.
        document: usize,
        /// The line, from 1.
        line: usize,
        /// The problem.
        why: String,
    },
}

impl State {
    /// Reads a file, or all `*.yaml`, `*.yml` and `*.json` files of a folder, ordered by name.
    ///
    /// # Errors
    /// If a file cannot be read, or does not contain objects in YAML or JSON.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, StateError> {
        read_path(path.as_ref())
    }

    /// Reads YAML documents. Errors refer to them as `file`.
    ///
    /// # Errors
    /// If a document is not an object with `apiVersion`, `kind` and `metadata.name`, or a list of such objects.
    pub fn parse(file: &str, text: &str) -> Result<Self, StateError> {
        read_text(file, text).map(|documents| Self { documents })
    }

    /// Adds the objects of another state.
    pub fn append(&mut self, other: Self) {
        self.documents.extend(other.documents);
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }
}

impl Document {
    fn problem(&self, why: impl Into<String>) -> StateError {
        let (file, document, line) = (self.file.clone(), self.number, self.line);
        StateError::Document { file, document, line, why: why.into() }
    }
}

/// Metadata that is meaningless in another cluster.
const TRACES: &[&str] = &[
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

pub(crate) fn save(shared: &Shared) -> String {
    let mut objects: Vec<Value> = Vec::new();
    for resource in shared.registry().collections() {
        objects.extend(shared.store.all(&resource.storage, "").iter().map(|stored| stored.value()));
    }
    objects.sort_by_key(rank);
    let mut text = String::new();
    for object in &mut objects {
        json::metadata(object).retain(|key, _| !TRACES.contains(&key.as_str()));
        if rank(object) == 1 {
            // The status contains only this cluster's decisions about the definition.
            json::object(object).shift_remove("status");
        }
        text.push_str("---\n");
        text.push_str(&yaml_serde::to_string(object).unwrap_or_default());
    }
    text
}

/// Group, kind, namespace and name.
type Identity = (String, String, String, String);

/// Namespaces come first, then definitions.
fn rank(object: &Value) -> u8 {
    match (json::text(object, &["apiVersion"]), json::text(object, &["kind"])) {
        ("v1", "Namespace") => 0,
        (version, "CustomResourceDefinition") if version.starts_with("apiextensions.k8s.io/") => 1,
        _ => 2,
    }
}

pub(crate) fn load(shared: &Shared, state: &State) -> Result<(), StateError> {
    let mut documents: Vec<&Document> = state.documents.iter().collect();
    documents.sort_by_key(|d| rank(&d.object));
    // Owners may come after their dependents, so all uids are chosen before any object is stored.
    let mut uids = HashMap::new();
    for document in &documents {
        let uid = create::uid();
        uids.extend(identities(&document.object).into_iter().map(|id| (id, uid.clone())));
    }
    for document in documents {
        put(shared, document, &uids).map_err(|failure| document.problem(failure.message()))?;
    }
    Ok(())
}

fn identity(reference: &Value, name: &[&str], namespace: &str) -> Identity {
    let version = json::text(reference, &["apiVersion"]);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    (group.into(), json::text(reference, &["kind"]).into(), namespace.into(), json::text(reference, name).into())
}

fn namespace(object: &Value) -> &str {
    match json::text(object, &["metadata", "namespace"]) {
        "" => "default",
        namespace => namespace,
    }
}

/// Whether a kind is namespaced is known only after its definition is loaded, so an object without a namespace has two
/// identities.
fn identities(object: &Value) -> Vec<Identity> {
    let name = &["metadata", "name"];
    let mut found = vec![identity(object, name, namespace(object))];
    if json::text(object, &["metadata", "namespace"]).is_empty() {
        found.push(identity(object, name, ""));
    }
    found
}

fn put(shared: &Shared, document: &Document, uids: &HashMap<Identity, String>) -> Result<(), Failure> {
    let given = &document.object;
    let (version, kind) = (json::text(given, &["apiVersion"]), json::text(given, &["kind"]));
    let registry = shared.registry();
    let unknown =
        || Failure::bad_request(format!("the cluster serves no kind {kind} in {version}; load its definition"));
    let resource = registry.of_kind(version, kind).ok_or_else(unknown)?;
    let namespace = if resource.namespaced { namespace(given) } else { "" };
    let context =
        Context { now: crate::time::now(), manager: "boathook".into(), dry_run: false, validation: Validation::Ignore };
    let mut object = given.clone();
    let meta = json::metadata(&mut object);
    meta.shift_remove("resourceVersion");
    point_to_owners(&mut object, resource.namespaced.then_some(namespace), uids);
    let name = json::text(given, &["metadata", "name"]);
    let seeded = shared.store.get(&resource.storage, &key(namespace, name));
    if let Some(seeded) = seeded.filter(|s| rank(given) == 0 || s.label("kubernetes.io/bootstrapping").is_some()) {
        json::metadata(&mut object).shift_remove("uid");
        let old = seeded.value();
        update::prepare(resource, &old, &mut object, None, Origin::Put, &context)?;
        return match commit::replace(shared, resource, &seeded, object, &context) {
            Ok(_) => Ok(()),
            Err(commit::Lost) => Err(Failure::modified(resource.gr(), name)),
        };
    }
    create::prepare(resource, &mut object, namespace, Origin::Put, &context)?;
    if let Some(uid) = uids.get(&identity(given, &["metadata", "name"], namespace)) {
        json::metadata(&mut object).insert("uid".into(), uid.as_str().into());
    }
    if let Some(status) = given.get("status").filter(|_| rank(given) == 2) {
        json::object(&mut object).insert("status".into(), status.clone());
    }
    tracing::debug!(kind, key = key(namespace, name), "loaded");
    commit::insert(shared, resource, object, &context).map(|_| ())
}

/// Sets the uids in owner references to those of the owners in this cluster. References to owners that are not loaded
/// are dropped, because the garbage collector would delete the object.
fn point_to_owners(object: &mut Value, namespace: Option<&str>, uids: &HashMap<Identity, String>) {
    let meta = json::metadata(object);
    let Some(Value::Array(owners)) = meta.get_mut("ownerReferences") else {
        return;
    };
    owners.retain_mut(|owner| {
        let in_namespace = namespace.and_then(|n| uids.get(&identity(owner, &["name"], n)));
        let found = in_namespace.or_else(|| uids.get(&identity(owner, &["name"], "")));
        match found {
            Some(uid) => {
                json::object(owner).insert("uid".into(), uid.as_str().into());
                true
            }
            None => {
                tracing::warn!(
                    owner = json::text(owner, &["name"]),
                    "an owner is not loaded; its dependent forgets it"
                );
                false
            }
        }
    });
    if owners.is_empty() {
        meta.shift_remove("ownerReferences");
    }
}

fn read_path(path: &Path) -> Result<State, StateError> {
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
        state.documents.extend(read_text(&file.display().to_string(), &content)?);
    }
    Ok(state)
}

fn is_state(file: &Path) -> bool {
    let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
    file.is_file() && matches!(extension, "yaml" | "yml" | "json")
}

fn read_text(file: &str, text: &str) -> Result<Vec<Document>, StateError> {
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
        let found = read_text("f", &list).unwrap();
        let places: Vec<_> = found.iter().map(|d| (d.number, d.line)).collect();
        assert_eq!(places, [(1, 2), (2, 9)]);
    }

    #[test]
    fn broken_documents_are_named_with_file_number_and_line() {
        let good = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n";
        let broken = read_text("f.yaml", &format!("{good}---\nkind: A\n  x: [\n")).unwrap_err().to_string();
        assert!(broken.starts_with("f.yaml, document 2, line 7: not YAML: "), "{broken}");
        assert!(!broken.contains("at line"), "{broken}");
        let nameless = read_text("f.yaml", "kind: A\napiVersion: v1\n").unwrap_err().to_string();
        assert_eq!(nameless, "f.yaml, document 1, line 1: an object needs metadata.name");
        assert!(read_text("f.yaml", "- 1\n").is_err());
    }
}

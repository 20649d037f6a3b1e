//! The revisions of a parent's children: the objects that keep them, and what an admin asks for. Pure.
//!
//! A revision is in objects next to its parent, which owns them: in ControllerRevisions, or in Secrets if the hook may return
//! Secrets.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_applyset::{
    Digest, Parent,
    revision::{self, Piece, Revision},
};
use boathook_core::model::{ObjectRef, OwnedKind};
use serde::Deserialize as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The label of objects that keep a revision. Its value is the set's.
pub(in super::super) const LABEL: &str = "boathook.dev/revision-of";
/// The label of such objects with the number of the revision.
const NUMBER: &str = "boathook.dev/revision";
/// The annotation of such objects with the generation of the parent that the hook saw.
const GENERATION: &str = "boathook.dev/generation";
/// The annotation of a parent in which an admin asks for a revision: its number, `@`, and the generation of the parent for
/// which it counts.
pub(in super::super) const ROLLBACK: &str = "boathook.dev/rollback";
/// The type of such Secrets.
const TYPE: &str = "boathook.dev/revision";
/// The key of a piece in the data of a Secret.
const KEY: &str = "piece";
/// The most bytes of a revision. An answer has fewer.
pub(in super::super) const MAX_BYTES: usize = 96 << 20;
/// Characters of a parent's name in the names of its revisions.
const NAME: usize = 180;
/// Bytes of a set's hash in these names.
const HASH: usize = 5;

/// What an admin asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Asked {
    pub revision: u64,
    /// Of the parent. What was asked for is over when it has another one.
    pub generation: i64,
}

impl Asked {
    /// The value of the annotation.
    pub fn text(self) -> String {
        format!("{}@{}", self.revision, self.generation)
    }

    /// What is asked for now.
    ///
    /// # Errors
    /// Says what is wrong with the annotation.
    pub fn read(parent: &Value) -> Result<Option<Self>, String> {
        let metadata = |name: &str| parent.get("metadata").and_then(|metadata| metadata.get(name));
        let Some(text) = metadata("annotations").and_then(|all| all.get(ROLLBACK)?.as_str()) else { return Ok(None) };
        let read = text.split_once('@').and_then(|(revision, generation)| {
            Some(Self { revision: revision.parse().ok()?, generation: generation.parse().ok()? })
        });
        let asked = read.ok_or_else(|| {
            format!(
                "the annotation {ROLLBACK} is {text:?}: write the number of a revision, @, and metadata.generation, such as \
                 3@7, or remove it; `boathook operators rollback` does so"
            )
        })?;
        let generation = metadata("generation").and_then(Value::as_i64).unwrap_or_default();
        Ok((asked.generation == generation).then_some(asked))
    }
}

/// Where the revisions of one parent are.
#[derive(Debug, Clone)]
pub(in super::super) struct Shelf {
    kind: OwnedKind,
    namespace: String,
    /// The beginning of their names.
    stem: String,
    set: String,
}

impl Shelf {
    /// `None`: the parent has no namespace.
    pub fn of(parent: &Parent, kind: OwnedKind) -> Option<Self> {
        let set = parent.set_id();
        let hash = Sha256::digest(set.as_str());
        let hash = hash.iter().take(HASH).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let name: String = parent.object.name.chars().take(NAME).collect();
        let stem = format!("{}-{hash}", name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()));
        Some(Self { kind, namespace: parent.object.namespace.clone()?, stem, set: set.as_str().to_owned() })
    }

    /// The selector of all of them.
    pub fn selector(&self) -> String {
        format!("{LABEL}={}", self.set)
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn kind(&self) -> &OwnedKind {
        &self.kind
    }

    /// The object with a piece of a revision.
    pub fn target(&self, number: u64, part: usize) -> ObjectRef {
        let part = if part == 0 { String::new() } else { format!("-{part}") };
        ObjectRef {
            api_version: self.kind.api_version.to_string(),
            kind: self.kind.kind.to_string(),
            namespace: Some(self.namespace.clone()),
            name: format!("{}-{number}{part}", self.stem),
        }
    }

    /// The object that keeps a piece, and its body. The parent owns it.
    pub fn object(&self, piece: &Piece, parent: &Parent) -> (ObjectRef, String) {
        let target = self.target(piece.revision, piece.part);
        let owner = json!({
            "apiVersion": parent.object.api_version, "kind": parent.object.kind, "name": parent.object.name,
            "uid": &*parent.uid, "controller": true,
        });
        let mut body = json!({
            "apiVersion": &*self.kind.api_version,
            "kind": &*self.kind.kind,
            "metadata": {
                "name": target.name,
                "namespace": self.namespace,
                "labels": {LABEL: self.set, NUMBER: piece.revision.to_string()},
                "annotations": {GENERATION: parent.generation.to_string()},
                "ownerReferences": [owner],
            },
        });
        if let Some(fields) = body.as_object_mut() {
            if &*self.kind.kind == "Secret" {
                let data = STANDARD.encode(serde_json::to_string(piece).unwrap_or_default());
                fields.extend([("type".to_owned(), json!(TYPE)), ("data".to_owned(), json!({ KEY: data }))]);
            } else {
                fields.extend([("revision".to_owned(), json!(piece.revision)), ("data".to_owned(), json!(piece))]);
            }
        }
        (target, body.to_string())
    }
}

/// The piece that an object has, and the generation of the parent that the hook saw.
fn piece(object: &Value) -> Option<(Piece, i64)> {
    let data = object.get("data")?;
    let piece = match data.get(KEY) {
        Some(text) => serde_json::from_slice(&STANDARD.decode(text.as_str()?).ok()?).ok()?,
        None => Piece::deserialize(data).ok()?,
    };
    let annotations = object.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let generation = annotations.and_then(|all| all.get(GENERATION)?.as_str()?.parse().ok()).unwrap_or_default();
    Some((piece, generation))
}

/// One revision, as far as it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Stored {
    /// Of the whole revision. `None`: an object is not what the operator wrote.
    pub digest: Option<Digest>,
    parts: usize,
    present: BTreeSet<usize>,
    /// Of the parent that the hook saw.
    pub generation: i64,
    /// When it was stored, as the API server writes times.
    pub time: String,
}

impl Stored {
    pub fn whole(pieces: &[Piece], generation: i64) -> Option<Self> {
        let first = pieces.first()?;
        let (digest, parts) = (Some(first.digest.clone()), first.parts);
        Some(Self { digest, parts, present: (0..parts).collect(), generation, time: String::new() })
    }

    pub fn is_whole(&self) -> bool {
        self.digest.is_some() && self.present.len() == self.parts
    }

    /// The parts that may be there.
    pub fn parts(&self) -> impl Iterator<Item = usize> {
        0..self.present.last().map_or(self.parts, |last| self.parts.max(last + 1)).min(MAX_PARTS)
    }
}

/// More parts than a revision of the largest answer has.
const MAX_PARTS: usize = 1_024;

/// The revisions that a list shows.
pub(in super::super) fn stored<'v>(objects: impl IntoIterator<Item = &'v Value>) -> BTreeMap<u64, Stored> {
    let mut all: BTreeMap<u64, Stored> = BTreeMap::new();
    for object in objects {
        let created = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str).unwrap_or_default();
        let new = |digest, parts, generation| {
            let (present, time) = (BTreeSet::new(), created.to_owned());
            Stored { digest, parts, present, generation, time }
        };
        match piece(object) {
            Some((Piece { revision, digest, part, parts, .. }, generation)) => {
                let stored = all.entry(revision).or_insert_with(|| new(Some(digest), parts, generation));
                stored.present.insert(part);
            }
            // Its number is taken.
            None => {
                let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(NUMBER)?.as_str());
                let Some(number) = label.and_then(|label| label.parse().ok()) else { continue };
                all.entry(number).or_insert_with(|| new(None, 1, 0)).digest = None;
            }
        }
    }
    all
}

/// The content of one revision.
///
/// # Errors
/// Says what is wrong with it, or which ones there are.
pub(in super::super) fn content<'v>(
    objects: impl IntoIterator<Item = &'v Value>,
    number: u64,
) -> Result<Revision, String> {
    let (mut pieces, mut known) = (Vec::new(), BTreeSet::new());
    for (piece, _) in objects.into_iter().filter_map(piece) {
        known.insert(piece.revision);
        if piece.revision == number {
            pieces.push(piece);
        }
    }
    if pieces.is_empty() {
        let known: Vec<_> = known.iter().map(ToString::to_string).collect();
        let there_are =
            if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) };
        return Err(format!("revision {number} is not kept: {there_are}"));
    }
    revision::decode(&pieces, MAX_BYTES).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use boathook_applyset::revision::pack;

    use super::*;

    fn parent(name: &str) -> Parent {
        let metadata = json!({"name": name, "namespace": "n", "uid": "u", "generation": 7});
        Parent::read(&json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": metadata})).unwrap()
    }

    fn kind(api_version: &str, kind: &str) -> OwnedKind {
        OwnedKind { api_version: api_version.into(), kind: kind.into() }
    }

    #[test]
    fn a_revision_is_read_as_it_was_written() {
        for kind in [kind("apps/v1", "ControllerRevision"), kind("v1", "Secret")] {
            let shelf = Shelf::of(&parent("web"), kind).unwrap();
            let pieces = pack("[{\"a\":1}]", 3);
            let objects: Vec<Value> = pieces
                .iter()
                .map(|piece| serde_json::from_str(&shelf.object(piece, &parent("web")).1).unwrap())
                .collect();
            let found = stored(&objects);
            assert_eq!((found.len(), found[&3].is_whole(), found[&3].generation), (1, true, 7));
            assert_eq!(found[&3].digest.as_ref(), Some(&pieces[0].digest));
            assert_eq!(content(&objects, 3).unwrap().members, [json!({"a": 1})]);
            assert_eq!(content(&objects, 4).unwrap_err(), "revision 4 is not kept: there are 3");
            assert_eq!(objects[0]["metadata"]["ownerReferences"][0]["uid"], "u");
            // Somebody has changed it. Its number is not used again.
            let mut changed = objects[0].clone();
            changed["data"] = json!({});
            assert!(!stored(&[changed])[&3].is_whole());
        }
        assert_eq!(content(&[json!({"data": {}})], 4).unwrap_err(), "revision 4 is not kept: there are none");
    }

    #[test]
    fn names_of_revisions_are_valid_and_differ() {
        let of = |name: &str| Shelf::of(&parent(name), kind("v1", "Secret")).unwrap().target(12, 1).name;
        let (one, other) = (of(&format!("{}a", "x.".repeat(120))), of(&format!("{}b", "x.".repeat(120))));
        assert_ne!(one, other);
        assert!(one.len() < 253 && one.contains("x-") && one.ends_with("-12-1"), "{one}");
        assert!(of("web").starts_with("web-"));
    }

    #[test]
    fn a_rollback_is_for_one_generation() {
        let read = |text: &str| Asked::read(&json!({"metadata": {"generation": 7, "annotations": {ROLLBACK: text}}}));
        let asked = Asked { revision: 3, generation: 7 };
        assert_eq!(read(&asked.text()), Ok(Some(asked)));
        assert_eq!(read("3@6"), Ok(None));
        assert!(read("3").unwrap_err().contains("\"3\": write the number of a revision"));
        assert_eq!(Asked::read(&json!({"metadata": {}})), Ok(None));
    }
}

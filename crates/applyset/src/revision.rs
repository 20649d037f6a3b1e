//! Stored desired sets, for rollback and difference, without the wall of 1 MiB that an object has.
//!
//! A revision is canonical JSON, compressed, and cut into pieces that each fit into an object. A digest covers the whole.
//! Pieces of a set with Secrets must be stored in Secrets, because a revision contains all that its members contain.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_core::{
    effect::{self, Change, Ignore},
    model::{ObjectRef, PART_OF},
};
use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    canonical::{self, Digest},
    desired::Desired,
    id::{APPLIED, DECORATED, MemberId, Parent},
};

/// Bytes of a piece before base64. Base64 makes 683 KiB of them, so an object of 1 MiB has room for all else.
const PIECE: usize = 512 << 10;
/// The compression that costs little. More effort saves a few percent of manifests.
const LEVEL: u8 = 6;
/// The most pieces that are read. Compressed, that is more than any set may have.
const MAX_PIECES: usize = 1_024;

/// A part of a revision, for the data of one object. It is JSON, so that a ControllerRevision can hold it, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Piece {
    /// The number of the revision. Newer ones have larger numbers.
    pub revision: u64,
    /// Of the whole revision.
    pub digest: Digest,
    /// Counted from 0.
    pub part: usize,
    pub parts: usize,
    /// Base64.
    pub data: String,
}

/// Why pieces are not a revision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRevision {
    #[error("revision {revision}: part {part} of {parts} is missing: it cannot be restored, so delete its other parts")]
    Missing { revision: u64, part: usize, parts: usize },
    #[error("there are no parts of a revision")]
    Nothing,
    #[error("revision {0}: its parts are not of one revision: delete those with another digest")]
    Mixed(u64),
    #[error("revision {0}: it is damaged: its content has another digest")]
    Damaged(u64),
    #[error("revision {0}: it has more than {1} bytes")]
    TooLarge(u64, usize),
}

/// The members of a stored set.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    pub number: u64,
    pub digest: Digest,
    pub members: Vec<Value>,
}

/// Encodes a desired set. The same set with the same number gives the same pieces.
pub fn encode(desired: &Desired, parent: &Parent, number: u64) -> Vec<Piece> {
    pack(&text(desired, parent), number)
}

/// The members as their producer returned them, in a fixed order, so that they are a valid answer again.
fn text(desired: &Desired, parent: &Parent) -> String {
    let mut text = String::from("[");
    for (n, member) in desired.members.iter().enumerate() {
        text.push_str(if n > 0 { "," } else { "" });
        let body = serde_json::from_str(&member.body).map(|member| canonical::text(&bare(member, parent)));
        text.push_str(body.as_deref().unwrap_or(&member.body));
    }
    text.push(']');
    text
}

/// A member without what makes it one.
fn bare(mut member: Value, parent: &Parent) -> Value {
    let Some(metadata) = member.get_mut("metadata").and_then(Value::as_object_mut) else { return member };
    if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
        owners.retain(|owner| owner.get("uid").and_then(Value::as_str) != Some(&*parent.uid));
    }
    let without = |metadata: &mut Map<String, Value>, mapping: &str, names: &[&str]| {
        let fields = metadata.get_mut(mapping).and_then(Value::as_object_mut);
        fields.into_iter().for_each(|fields| fields.retain(|name, _| !names.contains(&name.as_str())));
    };
    without(metadata, "labels", &[PART_OF]);
    without(metadata, "annotations", &[APPLIED, DECORATED]);
    let is_empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let made = ["ownerReferences", "labels", "annotations"];
    metadata.retain(|name, value| !(made.contains(&name.as_str()) && is_empty(value)));
    member
}

/// Encodes the text of a revision, whatever it is.
pub fn pack(text: &str, number: u64) -> Vec<Piece> {
    let digest = Digest::of([text.as_bytes()]);
    let packed = compress_to_vec_zlib(text.as_bytes(), LEVEL);
    let parts = packed.chunks(PIECE).len();
    let piece =
        |(part, data)| Piece { revision: number, digest: digest.clone(), part, parts, data: STANDARD.encode(data) };
    packed.chunks(PIECE).enumerate().map(piece).collect()
}

/// Puts a desired set together, and verifies it, as [`unpack`] does.
pub fn decode(pieces: &[Piece], max_bytes: usize) -> Result<Revision, InvalidRevision> {
    let text = unpack(pieces, max_bytes)?;
    let first = pieces.first().ok_or(InvalidRevision::Nothing)?;
    let members = serde_json::from_slice(&text).map_err(|_| InvalidRevision::Damaged(first.revision))?;
    Ok(Revision { number: first.revision, digest: first.digest.clone(), members })
}

/// Puts the text of a revision together, and verifies it. `max_bytes` bounds the decompressed text, because a client that
/// can write the pieces chooses what they expand to.
pub fn unpack(pieces: &[Piece], max_bytes: usize) -> Result<Vec<u8>, InvalidRevision> {
    let first = pieces.first().ok_or(InvalidRevision::Nothing)?;
    let (revision, parts) = (first.revision, first.parts);
    let same = |piece: &&Piece| piece.digest == first.digest && piece.revision == revision && piece.parts == parts;
    if parts == 0 || parts > MAX_PIECES || !pieces.iter().all(|piece| same(&piece)) {
        return Err(InvalidRevision::Mixed(revision));
    }
    let by_part: BTreeMap<usize, &Piece> = pieces.iter().map(|piece| (piece.part, piece)).collect();
    let mut packed = Vec::new();
    for part in 0..parts {
        let piece = by_part.get(&part).ok_or(InvalidRevision::Missing { revision, part, parts })?;
        if packed.len() > max_bytes {
            return Err(InvalidRevision::TooLarge(revision, max_bytes));
        }
        packed.extend(STANDARD.decode(&piece.data).map_err(|_| InvalidRevision::Damaged(revision))?);
    }
    let text = decompress_to_vec_zlib_with_limit(&packed, max_bytes).map_err(|error| match error.status {
        miniz_oxide::inflate::TINFLStatus::HasMoreOutput => InvalidRevision::TooLarge(revision, max_bytes),
        _ => InvalidRevision::Damaged(revision),
    })?;
    if Digest::of([text.as_slice()]) != first.digest {
        return Err(InvalidRevision::Damaged(revision));
    }
    Ok(text)
}

/// The revisions that are dropped so that `keep` remain. The one in use always stays.
pub fn outdated(revisions: impl IntoIterator<Item = u64>, keep: usize, in_use: u64) -> Vec<u64> {
    let all: BTreeSet<u64> = revisions.into_iter().collect();
    let others = all.iter().rev().filter(|number| **number != in_use);
    let room = keep.saturating_sub(usize::from(all.contains(&in_use)));
    let mut outdated: Vec<u64> = others.skip(room).copied().collect();
    outdated.reverse();
    outdated
}

/// What differs between two revisions.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    Added(ObjectRef),
    Removed(ObjectRef),
    /// With each field that differs.
    Changed(ObjectRef, Vec<Change>),
}

/// The members that differ, by their names.
pub fn difference(before: &Revision, after: &Revision) -> Vec<Difference> {
    let index = |revision: &Revision| -> BTreeMap<MemberId, (ObjectRef, Value)> {
        let one = |member: &Value| {
            let reference = ObjectRef::of(member);
            (MemberId::of(&reference), (reference, member.clone()))
        };
        revision.members.iter().map(one).collect()
    };
    let (before, after) = (index(before), index(after));
    let all: BTreeSet<&MemberId> = before.keys().chain(after.keys()).collect();
    let compared = all.into_iter().filter_map(|id| match (before.get(id), after.get(id)) {
        (Some((reference, _)), None) => Some(Difference::Removed(reference.clone())),
        (None, Some((reference, _))) => Some(Difference::Added(reference.clone())),
        (Some((_, before)), Some((reference, after))) => {
            let changes = effect::diff(Some(before), Some(after), Ignore::default());
            (!changes.is_empty()).then(|| Difference::Changed(reference.clone(), changes))
        }
        (None, None) => None,
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use boathook_core::model::Resource;
    use serde_json::json;

    use super::*;
    use crate::{Answer, Parent, Rules};

    fn parent() -> Parent {
        let metadata = json!({"name": "a", "namespace": "n", "uid": "u"});
        Parent::read(&json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": metadata})).unwrap()
    }

    fn desired(members: Vec<Value>) -> Desired {
        let owns = vec![Resource::of("v1", "ConfigMap", "configmaps", true)];
        let rules = Rules { owns, ..Rules::default() };
        let answer = Answer { members, ..Answer::default() };
        Desired::new(answer, &parent(), &rules).unwrap()
    }

    fn encode(desired: &Desired, number: u64) -> Vec<Piece> {
        super::encode(desired, &parent(), number)
    }

    fn map(name: &str, value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}})
    }

    /// Text that does not compress.
    fn noise(bytes: usize) -> String {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
        };
        (0..bytes).map(|_| next()).collect()
    }

    const LIMIT: usize = 64 << 20;

    #[test]
    fn a_revision_of_any_size_is_restored() {
        let members: Vec<_> = (0..2).map(|n| map(&format!("m{n}"), &noise(800_000))).collect();
        let pieces = encode(&desired(members.clone()), 7);
        assert!(pieces.len() > 1, "{}", pieces.len());
        assert!(pieces.iter().all(|piece| serde_json::to_string(piece).unwrap().len() < 800_000));
        let mut shuffled = pieces.clone();
        shuffled.reverse();
        let revision = decode(&shuffled, LIMIT).unwrap();
        let values: Vec<_> = revision.members.iter().map(|member| &member["data"]["a"]).collect();
        assert_eq!(values, members.iter().map(|member| &member["data"]["a"]).collect::<Vec<_>>());
        assert_eq!(encode(&desired(members), 7), pieces);
        let empty = encode(&desired(Vec::new()), 1);
        assert_eq!((empty.len(), decode(&empty, LIMIT).unwrap().members.len()), (1, 0));
    }

    // mutant: crates/applyset/src/revision.rs: `decompress_to_vec_zlib_with_limit(&packed, max_bytes)` => `decompress_to_vec_zlib_with_limit(&packed, usize::MAX)`
    // mutant: crates/applyset/src/revision.rs: `if Digest::of([text.as_slice()]) != first.digest {` => `if false {`
    #[test]
    fn what_is_not_a_whole_revision_is_refused() {
        let pieces = encode(&desired(vec![map("a", &noise(700_000))]), 7);
        let parts = pieces.len();
        assert_eq!(decode(&[], LIMIT), Err(InvalidRevision::Nothing));
        assert_eq!(decode(&pieces[1..], LIMIT), Err(InvalidRevision::Missing { revision: 7, part: 0, parts }));
        let with = |change: &dyn Fn(&mut Vec<Piece>)| {
            let mut pieces = pieces.clone();
            change(&mut pieces);
            decode(&pieces, LIMIT).unwrap_err()
        };
        assert_eq!(with(&|pieces| pieces[1].digest = Digest::read("x")), InvalidRevision::Mixed(7));
        assert_eq!(with(&|pieces| pieces[1].revision = 8), InvalidRevision::Mixed(7));
        assert_eq!(
            with(&|pieces| pieces.iter_mut().for_each(|piece| piece.parts = usize::MAX)),
            InvalidRevision::Mixed(7)
        );
        assert_eq!(with(&|pieces| pieces[0].data = "%".to_owned()), InvalidRevision::Damaged(7));
        let other = encode(&desired(vec![map("a", "x")]), 7);
        let forged = Piece { digest: Digest::read("x"), ..other[0].clone() };
        assert_eq!(decode(&[forged], LIMIT), Err(InvalidRevision::Damaged(7)));
        let bomb = compress_to_vec_zlib(&vec![b' '; 2 << 20], 9);
        let bomb = Piece { data: STANDARD.encode(bomb), ..other[0].clone() };
        assert_eq!(decode(&[bomb], 1 << 20), Err(InvalidRevision::TooLarge(7, 1 << 20)));
    }

    // mutant: crates/applyset/src/revision.rs: `without(metadata, "labels", &[PART_OF]);` => ``
    #[test]
    fn a_revision_is_the_same_answer_again() {
        let mut member = map("a", "1");
        member["metadata"]["labels"] = json!({"own": "1"});
        member["metadata"]["annotations"] = json!({"boathook.dev/wave": "2"});
        member["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "other"}]);
        let (before, plain) = (desired(vec![member.clone(), map("b", "1")]), map("b", "1"));
        let members = decode(&encode(&before, 1), LIMIT).unwrap().members;
        assert_eq!(members.iter().find(|member| member["metadata"]["name"] == "b").unwrap()["data"], plain["data"]);
        for (field, value) in member["metadata"].as_object().unwrap() {
            let found = members.iter().find(|member| member["metadata"]["name"] == "a").unwrap();
            assert_eq!(found["metadata"][field], *value);
        }
        assert_eq!(desired(members).digest, before.digest);
    }

    #[test]
    fn the_history_is_bounded() {
        assert_eq!(outdated([3, 1, 2, 5, 4], 3, 5), [1, 2]);
        assert_eq!(outdated([3, 1, 2, 5, 4], 3, 1), [2, 3], "a rollback's revision stays");
        assert_eq!(outdated([1, 2], 0, 2), [1]);
        assert_eq!(outdated([1, 2], 5, 2), [0; 0]);
    }

    #[test]
    fn a_difference_names_members_and_fields() {
        let revision = |members| decode(&encode(&desired(members), 1), LIMIT).unwrap();
        let before = revision(vec![map("a", "1"), map("b", "1"), map("c", "1")]);
        let after = revision(vec![map("a", "1"), map("b", "2"), map("d", "1")]);
        let shown: Vec<_> = difference(&before, &after)
            .into_iter()
            .map(|one| match one {
                Difference::Added(member) => format!("+{member}"),
                Difference::Removed(member) => format!("-{member}"),
                Difference::Changed(member, changes) => {
                    format!(
                        "~{member} {}",
                        changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>().join(",")
                    )
                }
            })
            .collect();
        assert_eq!(shown, ["~v1 ConfigMap n/b data.a", "-v1 ConfigMap n/c", "+v1 ConfigMap n/d"]);
        assert!(difference(&before, &before).is_empty());
    }
}

//! What may be deleted without an approval, and what an approval is for.
//!
//! A prune above the limits is held. What it would delete is stored with the parent, with a digest. A person
//! approves that digest. Because the list itself is stored, a prune that was interrupted continues: whatever is left is
//! a part of what was approved. A new list has a new digest, so an old approval does not hold for it.

use std::collections::HashSet;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    canonical::Digest,
    id::{MemberId, SetId, annotation},
};

/// The annotation of a member that is not deleted: with `"false"`, it leaves the set and stays.
pub const PRUNE: &str = "boathook.dev/prune";
/// Helm's annotation with the same meaning: `keep`.
pub const HELM_KEEP: &str = "helm.sh/resource-policy";

/// How many names a hold shows.
const MAX_NAMES: usize = 20;
/// Bytes of each uid's hash in a hold. The API server chooses uids, so nobody can search for a collision.
const HASH: usize = 8;

/// Whether the live object leaves the set and stays. Both annotations count, because a chart's authors know Helm's.
/// Those of Argo CD (`Prune=false`) and Flux (`prune: disabled`) do not, because they are for their tools: an object
/// may be in a repository of theirs and in a set.
pub fn keeps(object: &Value) -> bool {
    let helm = annotation(object, HELM_KEEP).map(str::trim);
    annotation(object, PRUNE) == Some("false") || helm.is_some_and(|policy| policy.eq_ignore_ascii_case("keep"))
}

/// The most that is deleted without an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The share of the set's members, in percent. 100: any share.
    pub max_share: u8,
    pub max_objects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_share: 50, max_objects: 20 }
    }
}

/// One object that is to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate<'c> {
    pub id: &'c MemberId,
    pub uid: &'c str,
    /// Its deletion takes more with it than the object.
    pub precious: bool,
}

/// The members of a set, and what a producer says about them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation<'s> {
    pub set: &'s SetId,
    /// Of the names of what is desired.
    pub names: &'s Digest,
    /// All members that exist, with the candidates.
    pub existing: usize,
    pub empty: bool,
    pub means_empty: bool,
}

/// A prune that waits for an approval, to be stored with the parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// What a person approves.
    pub digest: Digest,
    /// Why, as one word for programs: `Empty`, `Share`, `Objects` or `Dependants`.
    pub reason: String,
    pub count: usize,
    /// Some of the objects.
    pub objects: Vec<String>,
    /// Hashes of all of them, so that a part of the list is recognized.
    pub uids: String,
}

/// What happens to the candidates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    /// The uids that may be deleted.
    pub free: HashSet<String>,
    pub hold: Option<Hold>,
}

/// Decides about candidates. `approved` is the digest that a person has approved, and `stored` the hold in the parent's
/// status.
pub(crate) fn judge(
    candidates: &[Candidate<'_>],
    situation: Situation<'_>,
    limits: Limits,
    approved: Option<&str>,
    stored: Option<&Hold>,
) -> Verdict {
    let is_approved = |list: &[&Candidate<'_>]| {
        let stored = stored.filter(|hold| approved == Some(hold.digest.as_str()));
        stored.is_some_and(|hold| hold.digest == digest(situation, &hold.uids) && hold.has(list))
    };
    let all: Vec<_> = candidates.iter().collect();
    let (precious, plain): (Vec<_>, Vec<_>) = all.iter().copied().partition(|candidate| candidate.precious);
    let free = |list: &[&Candidate<'_>]| list.iter().map(|candidate| candidate.uid.to_owned()).collect();
    match above(candidates.len(), situation, limits) {
        _ if is_approved(&all) => Verdict { free: free(&all), hold: None },
        Some(reason) => Verdict { free: HashSet::new(), hold: Some(Hold::new(&all, situation, reason)) },
        None if precious.is_empty() || is_approved(&precious) => Verdict { free: free(&all), hold: None },
        None => Verdict { free: free(&plain), hold: Some(Hold::new(&precious, situation, "Dependants")) },
    }
}

/// The limit that this many objects are above.
fn above(count: usize, situation: Situation<'_>, limits: Limits) -> Option<&'static str> {
    if count == 0 {
        return None;
    }
    if situation.empty && !situation.means_empty {
        return Some("Empty");
    }
    if count > limits.max_objects {
        return Some("Objects");
    }
    // The share of an empty set is always 100 %, and its producer means it.
    let share = count.saturating_mul(100) > situation.existing.saturating_mul(usize::from(limits.max_share));
    (share && !situation.empty).then_some("Share")
}

fn hash(uid: &str) -> [u8; HASH] {
    let mut out = [0; HASH];
    out.iter_mut().zip(Sha256::digest(uid)).for_each(|(byte, from)| *byte = from);
    out
}

/// An approval is for one set, what is then desired, and the list.
fn digest(situation: Situation<'_>, uids: &str) -> Digest {
    Digest::of([situation.set.as_str().as_bytes(), situation.names.as_str().as_bytes(), uids.as_bytes()])
}

impl Hold {
    fn new(list: &[&Candidate<'_>], situation: Situation<'_>, reason: &str) -> Self {
        let mut uids: Vec<_> = list.iter().map(|candidate| hash(candidate.uid)).collect();
        uids.sort_unstable();
        let uids = URL_SAFE_NO_PAD.encode(uids.concat());
        Self {
            digest: digest(situation, &uids),
            reason: reason.to_owned(),
            count: list.len(),
            objects: list.iter().take(MAX_NAMES).map(|candidate| candidate.id.to_string()).collect(),
            uids,
        }
    }

    /// Whether all of these are in the list.
    fn has(&self, list: &[&Candidate<'_>]) -> bool {
        let uids = URL_SAFE_NO_PAD.decode(&self.uids).unwrap_or_default();
        let known: HashSet<&[u8]> = uids.chunks_exact(HASH).collect();
        list.iter().all(|candidate| known.contains(&hash(candidate.uid)[..]))
    }
}

#[cfg(test)]
mod tests {
    use boathook_core::model::ObjectRef;
    use serde_json::json;

    use super::*;

    struct Case {
        uids: Vec<String>,
        precious: usize,
        existing: usize,
        empty: bool,
        means_empty: bool,
        names: &'static str,
    }

    impl Case {
        fn of(count: usize, existing: usize) -> Self {
            let uids = (0..count).map(|n| format!("u{n}")).collect();
            Self { uids, precious: 0, existing, empty: false, means_empty: false, names: "n" }
        }

        fn judge(&self, approved: Option<&str>, stored: Option<&Hold>) -> Verdict {
            let id =
                |name: &str| MemberId { group: "".into(), kind: "Secret".into(), namespace: None, name: name.into() };
            let ids: Vec<_> = self.uids.iter().map(|uid| id(uid)).collect();
            let all = ids.iter().zip(&self.uids).enumerate();
            let candidates: Vec<_> =
                all.map(|(at, (id, uid))| Candidate { id, uid, precious: at < self.precious }).collect();
            let parent = ObjectRef { api_version: "v1".into(), kind: "App".into(), namespace: None, name: "a".into() };
            let (set, names) = (SetId::of(&parent), Digest::read(self.names));
            let Case { existing, empty, means_empty, .. } = *self;
            let situation = Situation { set: &set, names: &names, existing, empty, means_empty };
            judge(&candidates, situation, Limits { max_share: 50, max_objects: 20 }, approved, stored)
        }

        fn outcome(&self) -> (usize, Option<String>) {
            let verdict = self.judge(None, None);
            (verdict.free.len(), verdict.hold.map(|hold| format!("{} {}", hold.reason, hold.count)))
        }
    }

    // mutant: crates/applyset/src/prune.rs: `if count > limits.max_objects {` => `if false {`
    // mutant: crates/applyset/src/prune.rs: `(share && !situation.empty)` => `(false && !situation.empty)`
    // mutant: crates/applyset/src/prune.rs: `if situation.empty && !situation.means_empty {` => `if false {`
    // mutant: crates/applyset/src/prune.rs: `None if precious.is_empty() || is_approved(&precious)` => `None if true || is_approved(&precious)`
    #[test]
    fn above_the_limits_nothing_is_deleted() {
        let held = |text: &str| Some(text.to_owned());
        assert_eq!(Case::of(0, 0).outcome(), (0, None));
        assert_eq!(Case::of(5, 10).outcome(), (5, None));
        assert_eq!(Case::of(6, 10).outcome(), (0, held("Share 6")));
        assert_eq!(Case::of(20, 1_000).outcome(), (20, None));
        assert_eq!(Case::of(21, 1_000).outcome(), (0, held("Objects 21")));
        let empty = |count, means_empty| Case { empty: true, means_empty, ..Case::of(count, count) }.outcome();
        assert_eq!(empty(3, false), (0, held("Empty 3")));
        assert_eq!(empty(3, true), (3, None));
        assert_eq!(empty(21, true), (0, held("Objects 21")), "even if the producer means it");
        assert_eq!(empty(0, false), (0, None), "an empty set stays empty");
        let precious = Case { precious: 2, ..Case::of(5, 100) };
        assert_eq!(precious.outcome(), (3, held("Dependants 2")), "the others do not wait");
    }

    // mutant: crates/applyset/src/prune.rs: `hold.digest == digest(situation, &hold.uids) && hold.has(list)` => `true`
    // mutant: crates/applyset/src/prune.rs: `&& hold.has(list))` => `)`
    #[test]
    fn an_approval_is_for_one_list() {
        let mut case = Case::of(30, 40);
        let hold = case.judge(None, None).hold.unwrap();
        let yes = hold.digest.as_str().to_owned();
        let held = |case: &Case, yes: &str, hold: &Hold| case.judge(Some(yes), Some(hold)).hold.is_some();
        assert!(!held(&case, &yes, &hold));
        assert!(held(&case, "no", &hold) && case.judge(Some(&yes), None).hold.is_some());
        case.uids.truncate(25);
        assert!(!held(&case, &yes, &hold), "the rest of an interrupted prune");
        case.uids.push("new".to_owned());
        assert!(held(&case, &yes, &hold), "something new");
        case.uids.pop();
        case.names = "other";
        assert!(held(&case, &yes, &hold), "something else is desired now");
        case.names = "n";
        let forged = Hold { uids: Case::of(31, 40).judge(None, None).hold.unwrap().uids, ..hold.clone() };
        case.uids = Case::of(31, 40).uids;
        assert!(held(&case, &yes, &forged), "the digest is not of this list");
        let precious = Case { precious: 2, ..Case::of(5, 100) };
        let hold = precious.judge(None, None).hold.unwrap();
        assert_eq!(precious.judge(Some(hold.digest.as_str()), Some(&hold)).free.len(), 5);
    }

    #[test]
    fn a_hold_survives_the_status() {
        let hold = Case::of(30, 40).judge(None, None).hold.unwrap();
        let text = serde_json::to_string(&hold).unwrap();
        assert_eq!(serde_json::from_str::<Hold>(&text).unwrap(), hold);
        assert_eq!((hold.objects.len(), hold.count), (MAX_NAMES, 30));
        let garbled = Hold { uids: "%%%".to_owned(), ..hold.clone() };
        assert!(Case::of(30, 40).judge(Some(hold.digest.as_str()), Some(&garbled)).hold.is_some());
    }

    #[test]
    fn an_object_that_opts_out_is_kept() {
        let with = |name: &str, value: &str| keeps(&json!({"metadata": {"annotations": {name: value}}}));
        assert!(with(PRUNE, "false") && with(HELM_KEEP, "keep") && with(HELM_KEEP, " Keep "));
        assert!(
            !with(PRUNE, "true")
                && !with(HELM_KEEP, "delete")
                && !with("argocd.argoproj.io/sync-options", "Prune=false")
        );
        assert!(!keeps(&json!({})));
    }
}

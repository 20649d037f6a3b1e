//! What is known about one member: what the watch showed, what was applied, what failed.

use std::{
    cmp::Ordering,
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{CallError, CallReason};

use super::Action;
use crate::{
    canonical::{Digest, cut},
    fields::{Drift, Owned},
    fight::Fights,
    id::Owner,
    order::Order,
    ready::{Health, Readiness},
};

/// The longest message of an error that is kept.
const MAX_MESSAGE: usize = 1_024;
/// The wait after a first failure. Each further one waits twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(300);

/// A member, or an object that may become one.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Its place in the desired set.
    pub wanted: Option<usize>,
    pub seen: Option<Seen>,
    /// What this process last applied, or found to be applied.
    pub applied: Option<Applied>,
    /// A write that the watch has not shown yet.
    pub awaited: Option<Awaited>,
    /// A deletion of ours that the watch has not shown yet.
    pub deleted: Option<Awaited>,
    /// The request that is on its way.
    pub flight: Option<(u64, Action)>,
    pub failure: Option<Failure>,
    pub drift: Option<Drifted>,
    pub fights: Fights,
    /// The object must be read, because what is known about it was contradicted.
    pub read: bool,
    /// The next apply takes fields from other managers.
    pub force: bool,
    /// Which managers lost fields, in the API server's words.
    pub lost: Option<Box<str>>,
    /// The member must be deleted and created again.
    pub recreate: bool,
    /// Nothing depends on the object, so its deletion takes nothing else with it.
    pub no_dependants: bool,
}

/// The state that a watch or a read showed. The object itself is not kept.
#[derive(Debug)]
pub(super) struct Seen {
    pub api_version: Arc<str>,
    /// When it was shown.
    pub at: Instant,
    pub uid: Box<str>,
    pub version: Box<str>,
    pub owner: Owner,
    /// The digest of what was applied, from the annotation.
    pub digest: Option<Digest>,
    /// It opts out of being deleted.
    pub keeps: bool,
    pub deleting: bool,
    /// It has the parent's owner reference.
    pub owned: bool,
    pub order: Order,
    pub readiness: Readiness,
    pub managers: Vec<Box<str>>,
    /// The object's text, while it cannot be compared yet: before the first answer, and while a write is on its way.
    pub text: Option<Arc<str>>,
}

#[derive(Debug)]
pub(super) struct Applied {
    pub api_version: Arc<str>,
    pub uid: Box<str>,
    pub version: Box<str>,
    pub digest: Digest,
    pub owned: Owned,
}

#[derive(Debug, Clone)]
pub(super) struct Awaited {
    pub uid: Box<str>,
    pub version: Box<str>,
    pub until: Instant,
}

/// A difference from what was applied, or the member's disappearance.
#[derive(Debug)]
pub(super) struct Drifted {
    /// `None`: the member is gone.
    pub fields: Option<Drift>,
    pub managers: Vec<Box<str>>,
    /// When it is repaired.
    pub at: Instant,
    pub fight: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Failure {
    pub message: Box<str>,
    /// It fails again until somebody changes something.
    pub stalled: bool,
    pub attempts: u32,
    pub due: Instant,
    /// Of what could not be applied. `None`: something else failed.
    pub digest: Option<Digest>,
}

impl State {
    /// Whether this state of the object is older than one that is known. Resource versions of one kind can be compared
    /// since Kubernetes 1.35, and always were numbers. One that is not a number counts as new.
    pub fn is_stale(&self, version: &str) -> bool {
        let seen = self.seen.as_ref().map(|seen| &seen.version);
        let applied = self.applied.as_ref().map(|applied| &applied.version);
        [seen, applied].into_iter().flatten().any(|known| compare(version, known) == Some(Ordering::Less))
    }

    /// The uid of the object that is known to exist.
    pub fn uid(&self) -> Option<&str> {
        let awaited = self.awaited.as_ref().map(|awaited| &*awaited.uid);
        awaited.or_else(|| self.seen.as_ref().map(|seen| &*seen.uid))
    }

    /// The object is there, and stays.
    pub fn exists(&self, now: Instant) -> bool {
        self.uid().is_some() && !self.is_ending(now)
    }

    /// It is being deleted, by whomever.
    pub fn is_ending(&self, now: Instant) -> bool {
        let deleted = self.deleted.as_ref().filter(|deleted| now < deleted.until);
        let seen = self.seen.as_ref();
        seen.is_some_and(|seen| seen.deleting || deleted.is_some_and(|deleted| deleted.uid == seen.uid))
    }

    pub fn is_ours(&self) -> bool {
        self.seen.as_ref().map_or(self.awaited.is_some(), |seen| seen.owner == Owner::Us)
    }

    /// Whether what was applied is this, in the object that is there now.
    pub fn has_applied(&self, digest: &Digest) -> bool {
        self.applied
            .as_ref()
            .is_some_and(|applied| applied.digest == *digest && self.uid().is_none_or(|uid| uid == &*applied.uid))
    }

    /// A write of ours is not shown by the watch, and it is too early to give up.
    pub fn is_awaited(&self, now: Instant) -> bool {
        self.awaited.as_ref().is_some_and(|awaited| now < awaited.until)
    }

    /// The health of what was applied. What the watch showed before a write says nothing about it.
    pub fn readiness(&self, digest: &Digest, now: Instant) -> Readiness {
        let Some(seen) = &self.seen else { return Readiness::not_found() };
        if self.is_awaited(now) || !self.has_applied(digest) {
            let (reason, message) = ("NotApplied".into(), "the last change is not shown by the watch yet".into());
            return Readiness { health: Health::InProgress, reason, message };
        }
        seen.readiness.clone()
    }

    pub fn fail(&mut self, error: &CallError, digest: Option<Digest>, now: Instant) {
        let attempts = self.failure.as_ref().map_or(0, |failure| failure.attempts).saturating_add(1);
        let doubled = 1_u32.checked_shl((attempts - 1).min(16)).unwrap_or(u32::MAX);
        let stalled = matches!(
            error.reason,
            CallReason::Invalid | CallReason::ForbiddenByGrant | CallReason::ForbiddenByCluster | CallReason::TooLarge
        );
        let due = now + FIRST_RETRY.saturating_mul(doubled).min(MAX_RETRY);
        let message = cut(&error.message, MAX_MESSAGE).into();
        self.failure = Some(Failure { message, stalled, attempts, due, digest });
    }

    /// It is neither wanted nor known to be a member, so there is nothing to keep. If a write whose response was lost
    /// made it one, the watch will show it.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_none()
            && self.flight.is_none()
            && self.awaited.is_none()
            && self.seen.as_ref().is_none_or(|seen| seen.owner != Owner::Us)
    }
}

/// Compares two resource versions, if both are numbers.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    match (one.parse::<u128>(), other.parse::<u128>()) {
        (Ok(one), Ok(other)) => Some(one.cmp(&other)),
        _ => (one == other).then_some(Ordering::Equal),
    }
}

/// Whether the API server refused a change because a field cannot be changed. Its validation has no reason of its own
/// for that, so the words of its kinds are recognized.
pub(super) fn is_immutable(error: &CallError) -> bool {
    const WORDS: [&str; 5] = [
        "immutable",
        "may not change once set",
        "may not be changed",
        "updates to statefulset spec for fields other than",
        "cannot be changed",
    ];
    error.reason == CallReason::Invalid && WORDS.iter().any(|words| error.message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(reason: CallReason, message: &str) -> CallError {
        CallError { reason, message: message.to_owned(), code: None, status: None }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare("184467440737095516160", "9"), Some(Ordering::Greater));
        assert_eq!((compare("a", "a"), compare("a", "b")), (Some(Ordering::Equal), None));
    }

    #[test]
    fn retries_are_further_and_further_apart() {
        let (mut state, now) = (State::default(), Instant::now());
        let waits: Vec<_> = (0..11)
            .map(|_| {
                state.fail(&error(CallReason::Unavailable, "down"), None, now);
                state.failure.as_ref().unwrap().due.duration_since(now).as_secs()
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert!(!state.failure.as_ref().unwrap().stalled);
        state.fail(&error(CallReason::Invalid, &"x".repeat(5_000)), None, now);
        let failure = state.failure.unwrap();
        assert!(failure.stalled && failure.message.len() <= MAX_MESSAGE);
    }

    #[test]
    fn immutable_fields_are_recognized() {
        for text in [
            "Job.batch \"a\" is invalid: spec.template: Invalid value: {}: field is immutable",
            "Service \"a\" is invalid: spec.clusterIPs[0]: Invalid value: []: may not change once set",
            "StatefulSet.apps \"a\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        ] {
            assert!(is_immutable(&error(CallReason::Invalid, text)), "{text}");
        }
        assert!(!is_immutable(&error(CallReason::Invalid, "spec.replicas: Invalid value: -1: must be positive")));
        assert!(!is_immutable(&error(CallReason::Unavailable, "immutable")));
    }
}

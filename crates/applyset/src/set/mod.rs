//! The state machine of one parent: observations, answers and results go in, requests come out.
//!
//! `plan` decides what is to be done. This file keeps what the decisions need.

mod plan;
mod state;
#[cfg(test)]
mod tests;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{CallError, CallReason, Object, ObjectRef, Propagation};
use serde_json::Value;

use crate::{
    canonical::{Digest, cut},
    desired::{Desired, InvalidAnswer, Member},
    expression::Expression,
    fields::{Drift, Owned},
    id::{self, APPLIED, MemberId, Owner, Parent, SetId},
    order::{self, Order},
    prune::{Hold, Limits, keeps},
    ready::Readiness,
};
pub use plan::{Action, Plan, Stage, Step};
use state::{Applied, Awaited, Drifted, Seen, State, compare, is_immutable};

/// What happens to an object that exists before the set wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Adopt {
    /// It is refused.
    #[default]
    Never,
    /// It becomes a member if no set and no controller has it.
    IfUnowned,
    /// It also becomes a member if another set has it. An object with another controller is refused even then, because
    /// Kubernetes allows one controller, and would refuse the write.
    Always,
}

/// What happens to the members when the parent is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Deletion {
    #[default]
    Delete,
    /// They leave the set and stay.
    Orphan,
}

/// How a set is handled. It comes from the document and the admin, not from the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The field manager of all writes.
    pub manager: String,
    pub adopt: Adopt,
    pub limits: Limits,
    pub deletion: Deletion,
    /// The producer does something before the parent ends: see [`Set::must_finalize`].
    pub finalizes: bool,
    /// How long the watch may take to show a write.
    pub own_writes: Duration,
}

impl Policy {
    pub fn new(manager: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            adopt: Adopt::default(),
            limits: Limits::default(),
            deletion: Deletion::default(),
            finalizes: false,
            own_writes: Duration::from_secs(10),
        }
    }
}

/// One request that the driver sends.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    token: u64,
    pub object: ObjectRef,
    pub verb: Verb,
    /// What the plan calls it.
    pub action: Action,
    digest: Option<Digest>,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// A server-side apply. The body contains its precondition, which the API server checks: `resourceVersion: "1"`,
    /// which no object has, so that the apply only creates; or the uid of the object that was seen, so that it only
    /// changes. A `POST` that creates was rejected: its fields belong to an update, and no later apply could remove them.
    Apply {
        body: String,
        force: bool,
    },
    Delete {
        uid: String,
        propagation: Propagation,
    },
    /// Reads the object.
    Read,
    /// Reads the object, and sends the merge patch that [`Set::release`] makes of it, if it makes one. The result is
    /// the object after that.
    Release,
    /// A server-side apply to the parent's metadata, by a manager of its own.
    Mark {
        body: String,
    },
}

/// How far the producer is with the end of its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Finalize {
    /// It has no say in it.
    #[default]
    No,
    /// It has not answered, so no member is touched.
    Asked,
    /// Its last answer has the members that it still needs.
    GoesOn,
    Done,
}

/// Everything that is known about one parent and its set.
#[derive(Debug)]
pub struct Set {
    parent: Parent,
    id: SetId,
    policy: Policy,
    listed: bool,
    desired: Option<Desired>,
    invalid: Option<InvalidAnswer>,
    members: BTreeMap<MemberId, State>,
    /// The kinds and namespaces of what is desired, for the parent's annotations.
    kinds: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    /// Kinds of members that nobody watches any more.
    left: BTreeSet<String>,
    /// The request that marks the parent.
    mark: State,
    approved: Option<String>,
    stored: Option<Hold>,
    finalize: Finalize,
    /// The expression for readiness that was parsed last.
    expression: Option<Expression>,
    hasher: RandomState,
    tokens: u64,
}

impl Set {
    pub fn new(parent: Parent, policy: Policy) -> Self {
        Self {
            id: parent.set_id(),
            parent,
            policy,
            listed: false,
            desired: None,
            invalid: None,
            members: BTreeMap::new(),
            kinds: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            left: BTreeSet::new(),
            mark: State::default(),
            approved: None,
            stored: None,
            finalize: Finalize::No,
            expression: None,
            hasher: RandomState::new(),
            tokens: 0,
        }
    }

    pub fn id(&self) -> &SetId {
        &self.id
    }

    pub fn parent(&self) -> &Parent {
        &self.parent
    }

    /// The parent as a watch showed it. Returns whether there may be something to do.
    pub fn update_parent(&mut self, parent: Parent) -> bool {
        let late = compare(&parent.version, &self.parent.version) == Some(Ordering::Less);
        if self.parent.uid == parent.uid && late {
            // The newer state was a response, of which only the marks are known. What is being deleted stays so.
            let begins = parent.deleting && !self.parent.deleting;
            self.parent.deleting |= parent.deleting;
            self.parent.orphans |= parent.orphans;
            self.parent.foreground |= parent.foreground;
            return begins;
        }
        if self.parent.uid != parent.uid {
            // A parent of the same name. The owner references of the old answer name the old one.
            (self.desired, self.invalid) = (None, None);
            self.finalize = Finalize::No;
            self.want_nothing();
        }
        // Kubernetes removes its mark when it has orphaned what the parent owned, and the parent may stay for a while.
        let orphans = parent.orphans || self.parent.uid == parent.uid && self.parent.orphans;
        let before = std::mem::replace(&mut self.parent, Parent { orphans, ..parent });
        // A write of the status changes only the version.
        self.parent != Parent { version: self.parent.version.clone(), ..before }
    }

    /// All objects that may be members were listed: those of the declared kinds, and of the kinds and namespaces in
    /// the parent's annotations.
    pub fn listed(&mut self) {
        self.listed = true;
    }

    /// Returns the kinds that the parent names, and that are not among those that may be members. Their members are not
    /// known, so they stay, and the parent keeps naming their kinds.
    pub fn kinds_left(&mut self, owned: &BTreeSet<String>) -> &BTreeSet<String> {
        self.left = self.parent.marks.kinds.difference(owned).cloned().collect();
        &self.left
    }

    /// The digest that a person approved, from the parent.
    pub fn approve(&mut self, digest: Option<&str>) {
        self.approved = digest.map(str::to_owned);
    }

    /// The hold that is stored with the parent. An approval counts only for a list that is stored, so that a prune which was
    /// interrupted can continue.
    pub fn recall(&mut self, hold: Option<Hold>) {
        self.stored = hold;
    }

    /// Nothing depends on a Namespace, a CustomResourceDefinition or a PersistentVolumeClaim that is to be deleted.
    /// As long as nobody says so, its deletion waits for an approval.
    pub fn no_dependants(&mut self, member: &ObjectRef) {
        if let Some(state) = self.members.get_mut(&MemberId::of(member)) {
            state.no_dependants = true;
        }
    }

    /// Something may depend on members again. What [`Set::no_dependants`] said holds for one deletion, which follows at once.
    pub fn doubt_dependants(&mut self) {
        self.members.values_mut().for_each(|state| state.no_dependants = false);
    }

    /// The members that are to be deleted, and that [`Set::no_dependants`] was not said of: Namespaces,
    /// CustomResourceDefinitions and PersistentVolumeClaims.
    pub fn precious(&self) -> Vec<ObjectRef> {
        let goes = |state: &State| self.parent.deleting || state.wanted.is_none();
        let waits = self
            .members
            .iter()
            .filter(|(id, state)| order::is_precious(id) && state.is_ours() && !state.no_dependants && goes(state));
        waits.filter_map(|(id, state)| Some(plan::reference(id, state.seen.as_ref()?))).collect()
    }

    /// The API server's health of a member, for the producer's next run.
    pub fn readiness(&self, member: &ObjectRef) -> Option<&Readiness> {
        Some(&self.members.get(&MemberId::of(member))?.seen.as_ref()?.readiness)
    }

    /// When the producer may run again: after the watch has shown what was written. `None`: now.
    pub fn own_writes_until(&self, now: Instant) -> Option<Instant> {
        let awaited = self.members.values().filter_map(|state| state.awaited.as_ref());
        awaited.map(|awaited| awaited.until).filter(|until| *until > now).max()
    }

    /// Takes a producer's answer over. Returns whether there may be something to do. An answer to an older generation
    /// than that of the last one is ignored. The driver asks the producer only when everything is there that its answer
    /// depends on.
    pub fn desire(&mut self, desired: Desired) -> bool {
        if self.answered_after(desired.generation) {
            return false;
        }
        self.doubt_dependants();
        let was_invalid = self.invalid.take().is_some();
        if self.desired.as_ref().is_some_and(|known| *known == desired) {
            return was_invalid;
        }
        self.want_nothing();
        self.kinds.clear();
        self.namespaces.clear();
        for (at, member) in desired.members.iter().enumerate() {
            let state = self.members.entry(member.id.clone()).or_default();
            state.wanted = Some(at);
            let failed = state.failure.as_ref().and_then(|failure| failure.digest.as_ref());
            if failed.is_some_and(|failed| *failed != member.digest) {
                (state.failure, state.recreate) = (None, false);
            }
            verify(state, member, &self.hasher);
            self.kinds.insert(member.id.group_kind());
            let namespace = member.id.namespace.as_deref();
            if let Some(other) = namespace.filter(|it| self.parent.object.namespace.as_deref() != Some(*it)) {
                self.namespaces.insert(other.to_owned());
            }
        }
        for state in self.members.values_mut().filter(|state| state.wanted.is_none()) {
            state.seen.iter_mut().for_each(|seen| seen.text = None);
        }
        self.members.retain(|_, state| !state.is_empty());
        self.desired = Some(desired);
        true
    }

    /// Whether the producer must say that the parent may end, before the members are deleted. In the meantime, its answers
    /// say which members it still needs.
    pub fn must_finalize(&mut self, must: bool) {
        match (must, self.finalize) {
            (false, _) => self.finalize = Finalize::No,
            (true, Finalize::No) => self.finalize = Finalize::Asked,
            (true, _) => {}
        }
    }

    /// Whether the producer must be asked about the parent's end.
    pub fn is_finalizing(&self) -> bool {
        matches!(self.finalize, Finalize::Asked | Finalize::GoesOn)
    }

    /// The producer answered that the parent may end, or what it still needs, which [`Set::desire`] has got.
    pub fn finalized(&mut self, done: bool) {
        if self.is_finalizing() {
            self.finalize = if done { Finalize::Done } else { Finalize::GoesOn };
        }
    }

    /// The producer's answer was invalid. What was desired before stays desired.
    pub fn reject(&mut self, answer: InvalidAnswer) {
        if !self.answered_after(answer.generation) {
            self.invalid = Some(answer);
        }
    }

    /// The newest valid answer.
    pub fn desired(&self) -> Option<&Desired> {
        self.desired.as_ref()
    }

    /// Whether the producer's newest answer was invalid.
    pub fn is_invalid(&self) -> bool {
        self.invalid.is_some()
    }

    fn answered_after(&self, generation: i64) -> bool {
        self.desired.as_ref().is_some_and(|known| known.generation > generation)
    }

    fn want_nothing(&mut self) {
        self.members.values_mut().for_each(|state| state.wanted = None);
    }

    /// Whether the set has members in this namespace, by its parent and by what is desired. The parent names a namespace before
    /// there is a member in it. Anybody may put the set's label on objects of other namespaces.
    pub fn reaches(&self, namespace: Option<&str>) -> bool {
        let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) else { return true };
        self.parent.object.namespace.as_deref() == Some(namespace)
            || self.parent.marks.namespaces.contains(namespace)
            || self.namespaces.contains(namespace)
    }

    /// An object as a watch, a list or a read showed it. Returns whether there may be something to do.
    pub fn observe(&mut self, object: &Object, now: Instant) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(&object.json) else { return false };
        let id = MemberId::of(&object.reference());
        let owner = Owner::of(&value, &self.id, &self.parent);
        if owner != Owner::Us && !self.members.contains_key(&id) {
            return false;
        }
        let answered = self.desired.is_some();
        let state = self.members.entry(id.clone()).or_default();
        if state.is_stale(&object.resource_version) {
            return false;
        }
        if state.seen.is_none() {
            // A failure to write what did not exist says nothing about what does.
            state.failure = None;
        }
        // Whatever the watch shows of a member that was written, its readiness may be known from now on.
        let waited = state.awaited.is_some();
        let seen = |awaited: &Awaited| {
            awaited.uid == object.uid && compare(&object.resource_version, &awaited.version).is_none_or(|it| it.is_ge())
        };
        if state.awaited.as_ref().is_some_and(seen) {
            state.awaited = None;
        }
        let unclear = state.flight.is_some() || state.applied.is_none() && (state.wanted.is_some() || !answered);
        let before = state.seen.replace(Seen {
            api_version: object.api_version.clone(),
            at: now,
            uid: object.uid.clone(),
            version: object.resource_version.clone(),
            digest: id::annotation(&value, APPLIED).map(Digest::read),
            keeps: keeps(&value),
            deleting: id::is_deleting(&value),
            owned: self.parent.owns(&value),
            order: Order::of(&id, &value),
            readiness: Readiness::of(&id, &value, &mut self.expression),
            managers: others(&object.last_managers, &self.policy.manager),
            text: (unclear && owner == Owner::Us).then(|| object.json.clone()),
            owner,
        });
        let drifted = state.drift.is_some();
        judge(state, &value, &self.hasher, now);
        let wanted = state.wanted.and_then(|at| self.desired.as_ref()?.members.get(at));
        if let Some(member) = wanted.filter(|_| state.flight.is_none()) {
            verify(state, member, &self.hasher);
        }
        let after = state.seen.as_ref();
        let same = before.zip(after).is_some_and(|(before, after)| {
            before.uid == after.uid
                && before.owner == after.owner
                && before.deleting == after.deleting
                && before.owned == after.owned
                && before.readiness == after.readiness
                && before.order == after.order
                && before.keeps == after.keeps
        });
        let news = !same || waited || drifted != state.drift.is_some();
        if state.is_empty() {
            self.members.remove(&id);
        }
        news
    }

    /// An object is gone. `uid`: that of the deletion's event, if there was one.
    pub fn gone(&mut self, object: &ObjectRef, uid: Option<&str>, now: Instant) -> bool {
        self.vanished(&MemberId::of(object), uid, false, now)
    }

    /// `expected`: it is no surprise.
    fn vanished(&mut self, id: &MemberId, uid: Option<&str>, expected: bool, now: Instant) -> bool {
        let Some(state) = self.members.get_mut(id) else { return false };
        let other = |known: &str| uid.is_some_and(|uid| uid != known);
        if state.uid().is_some_and(other) {
            // The deletion of an object of the same name before this one.
            if state.seen.as_ref().is_some_and(|seen| !other(&seen.uid)) {
                state.seen = None;
            }
            return false;
        }
        let deletes = |(_, action): &(u64, Action)| matches!(action, Action::Prune | Action::Recreate);
        let expected = expected || state.flight.as_ref().is_some_and(deletes) || state.deleted.take().is_some();
        let existed = state.seen.is_some() || state.awaited.is_some();
        let known = state.seen.take().map(|seen| seen.managers).unwrap_or_default();
        (state.applied, state.awaited, state.read) = (None, None, false);
        // A failure to delete it is over. A failure to create it is not.
        if existed {
            state.failure = None;
        }
        (state.recreate, state.no_dependants) = (false, false);
        state.drift = None;
        if existed && !expected && state.wanted.is_some() {
            let repair = state.fights.drifted(self.hasher.hash_one("gone"), now);
            state.drift = Some(Drifted { fields: None, managers: known, at: repair.at, fight: repair.fight });
        }
        if state.is_empty() {
            self.members.remove(id);
        }
        true
    }

    /// The patch for [`Verb::Release`], from the object that was read.
    pub fn release(&self, object: &Value) -> Option<Value> {
        id::release(object, &self.id, &self.parent)
    }

    /// The result of a request: the object in the response, if there was one.
    pub fn finished(&mut self, request: &Request, result: Result<Option<&str>, CallError>, now: Instant) {
        if matches!(request.verb, Verb::Mark { .. }) {
            return self.marked(request, result, now);
        }
        let id = MemberId::of(&request.object);
        let Some(state) = self.members.get_mut(&id) else { return };
        if state.flight.as_ref().is_none_or(|(token, _)| *token != request.token) {
            return;
        }
        state.flight = None;
        match (&request.verb, result) {
            (Verb::Apply { .. }, Ok(response)) => self.applied(&id, request, response.unwrap_or_default(), now),
            (Verb::Apply { force, .. }, Err(error)) => self.not_applied(&id, request, *force, &error, now),
            (Verb::Read | Verb::Release, Ok(response)) => {
                let (version, kind) = (request.object.api_version.as_str().into(), request.object.kind.as_str().into());
                match Object::from_json(response.unwrap_or_default(), &version, &kind) {
                    Ok(object) => {
                        // What the watch did not show in time is what was read.
                        state.read = false;
                        state.awaited.take_if(|awaited| awaited.until <= now);
                        state.deleted.take_if(|deleted| deleted.until <= now);
                        self.observe(&object, now);
                    }
                    Err(_) => state.fail(&unreadable(), None, now),
                }
            }
            (Verb::Delete { uid, .. }, Ok(_)) => {
                let until = now + self.policy.own_writes;
                let is_there = state.uid() == Some(uid);
                state.failure = None;
                state.deleted = is_there.then(|| Awaited { uid: uid.as_str().into(), version: "".into(), until });
            }
            (Verb::Delete { .. } | Verb::Read | Verb::Release, Err(error)) if error.reason == CallReason::NotFound => {
                self.vanished(&id, None, !matches!(request.verb, Verb::Read), now);
            }
            (Verb::Mark { .. }, _) => {}
            (Verb::Delete { .. } | Verb::Read | Verb::Release, Err(error)) => {
                state.read |= error.reason == CallReason::Conflict;
                state.fail(&error, None, now);
            }
        }
        if self.members.get(&id).is_some_and(State::is_empty) {
            self.members.remove(&id);
        }
    }

    fn applied(&mut self, id: &MemberId, request: &Request, response: &str, now: Instant) {
        let Some(state) = self.members.get_mut(id) else { return };
        let object: Value = serde_json::from_str(response).unwrap_or_default();
        let text = |name: &str| Some(object.get("metadata")?.get(name)?.as_str()?.into());
        let (Some(uid), Some(version), Some(digest)) = (text("uid"), text("resourceVersion"), request.digest.clone())
        else {
            // It is applied, but what the API server made of it is not known.
            state.read = true;
            return;
        };
        let (uid, version): (Box<str>, Box<str>) = (uid, version);
        let Verb::Apply { body, .. } = &request.verb else { return };
        let learned = Owned::learn(&object, &self.policy.manager, &self.hasher).ok().flatten();
        // Without managed fields, what was sent is what is owned.
        let assumed = || {
            let mut body: Value = serde_json::from_str(body).ok()?;
            let metadata = body.get_mut("metadata")?.as_object_mut()?;
            ["uid", "resourceVersion"].iter().for_each(|precondition| drop(metadata.shift_remove(*precondition)));
            Some(Owned::of_response(&body, &object, &self.hasher))
        };
        let repaired = state.seen.as_ref().is_none_or(|seen| seen.version != version);
        if matches!(request.action, Action::Repair { .. }) && !repaired {
            state.fights.forgive();
        }
        (state.failure, state.drift, state.force, state.recreate) = (None, None, false, false);
        let shown = state
            .seen
            .as_ref()
            .is_some_and(|seen| seen.uid == uid && compare(&seen.version, &version).is_some_and(|order| order.is_ge()));
        let until = now + self.policy.own_writes;
        state.awaited = (!shown).then(|| Awaited { uid: uid.clone(), version: version.clone(), until });
        let api_version: Arc<str> = request.object.api_version.as_str().into();
        state.applied = learned.or_else(assumed).map(|owned| Applied { api_version, uid, version, digest, owned });
        // The watch may have shown something newer while the request was on its way.
        let text = state.seen.as_mut().and_then(|seen| seen.text.take());
        if let Some(value) = text.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
            judge(state, &value, &self.hasher, now);
        }
    }

    fn not_applied(&mut self, id: &MemberId, request: &Request, force: bool, error: &CallError, now: Instant) {
        let wanted = |state: &State| self.desired.as_ref()?.members.get(state.wanted?).map(|member| member.recreate);
        let Some(state) = self.members.get_mut(id) else { return };
        let recreate = wanted(state).unwrap_or_default();
        let creates = request.action == Action::Create;
        let exists = matches!(error.reason, CallReason::Conflict | CallReason::AlreadyExists);
        if exists && !creates && !force {
            // Another manager has fields that the set wants. The first attempt was made without force to learn whose.
            (state.force, state.lost) = (true, Some(cut(&error.message, 512).into()));
            return;
        }
        // The object is not the one that was seen.
        state.read |= exists || error.message.contains("metadata.uid");
        state.recreate |= is_immutable(error) && recreate && !order::is_precious(id) && !state.read;
        state.fail(error, request.digest.clone(), now);
    }

    fn marked(&mut self, request: &Request, result: Result<Option<&str>, CallError>, now: Instant) {
        if self.mark.flight.as_ref().is_none_or(|(token, _)| *token != request.token) {
            return;
        }
        self.mark.flight = None;
        match result {
            Ok(response) => {
                self.mark.failure = None;
                let parse = |text: &str| Parent::read(&serde_json::from_str(text).ok()?).ok();
                let Some(parent) = response.and_then(parse).filter(|parent| parent.uid == self.parent.uid) else {
                    return self.mark.fail(&unreadable(), None, now);
                };
                // Only the marks are taken over. The rest may be older than what the watch has shown.
                (self.parent.marks, self.parent.version) = (parent.marks, parent.version);
                let Verb::Mark { body } = &request.verb else { return };
                if parse(body).is_none_or(|wanted| wanted.marks != self.parent.marks) {
                    // Sent again at once, it would be sent without end.
                    self.mark.fail(&kept_by_others(), None, now);
                }
            }
            Err(error) => self.mark.fail(&error, None, now),
        }
    }

    /// Whether the parent needs the operator's finalizer, because the producer does something before the parent ends, or
    /// because owner references do not delete all members, or not in the right order. The parent of a decorator is somebody
    /// else's, so only the former holds up its deletion.
    pub fn needs_finalizer(&self) -> bool {
        if self.parent.decorator.is_some() {
            return self.policy.finalizes;
        }
        let members = self.desired.iter().flat_map(|desired| desired.members.iter());
        let mut first = None;
        let desired = members.map(|member| (&member.id, member.order));
        let seen = self.members.iter().filter(|(_, state)| state.is_ours());
        let seen = seen.filter_map(|(id, state)| Some((id, state.seen.as_ref()?.order)));
        self.policy.finalizes
            || self.policy.deletion == Deletion::Orphan
            || desired.chain(seen).any(|(id, order)| {
                let group = *first.get_or_insert(order.teardown());
                group != order.teardown() || order::is_precious(id) || !self.parent.can_own(id.namespace.as_deref())
            })
            || self.members.values().any(|state| state.seen.as_ref().is_some_and(|seen| seen.keeps))
    }
}

/// The last writers without this one, if there are others. Their times are whole seconds, so a repair that comes at once is of
/// the same time as what it repairs.
fn others(last: &[Box<str>], own: &str) -> Vec<Box<str>> {
    let others: Vec<_> = last.iter().filter(|manager| ***manager != *own).cloned().collect();
    if others.is_empty() { last.to_vec() } else { others }
}

fn kept_by_others() -> CallError {
    let message = "another field manager keeps an annotation of the set that must go: remove the annotations \
                   `applyset.kubernetes.io/additional-namespaces` and `applyset.kubernetes.io/contains-group-kinds`, which \
                   are written again"
        .to_owned();
    CallError { reason: CallReason::Other, message, code: None, status: None }
}

fn unreadable() -> CallError {
    let message =
        "the response is not the object: the API server, or a proxy before it, sent something else".to_owned();
    CallError { reason: CallReason::Other, message, code: None, status: None }
}

const OWNERS: &str = ".metadata.ownerReferences";
/// How long a member whose owner was taken out waits for its repair. A deletion that orphans does this to the members, and
/// the watch of the parents may show the deletion later than the watch of the members shows this. Repaired members would
/// be deleted with their parent.
const ORPHANED: Duration = Duration::from_secs(1);

/// Compares what was seen with what was applied, if they are of one object and the comparison is due.
fn judge(state: &mut State, value: &Value, hasher: &RandomState, now: Instant) {
    let (Some(seen), Some(applied), None) = (&state.seen, &state.applied, &state.flight) else { return };
    if seen.uid != applied.uid || seen.api_version != applied.api_version {
        return;
    }
    let drift = if seen.version == applied.version { Default::default() } else { applied.owned.drift(value, hasher) };
    if drift.is_empty() {
        state.drift = None;
        return;
    }
    // A drift that waits for its repair waits on, whatever else is changed.
    let (at, fight) = match &state.drift {
        Some(known) => (known.at, known.fight),
        None => {
            let repair = state.fights.drifted(hasher.hash_one((&seen.managers, &drift.paths)), now);
            (repair.at, repair.fight)
        }
    };
    let lost = |drift: &Drift| drift.paths.iter().any(|path| path.to_string().starts_with(OWNERS));
    let knew = state.drift.as_ref().and_then(|known| known.fields.as_ref()).is_some_and(lost);
    let at = if lost(&drift) && !knew { at.max(now + ORPHANED) } else { at };
    state.drift = Some(Drifted { fields: Some(drift), managers: seen.managers.clone(), at, fight });
}

/// After a restart: whether the object that is there has what is desired, without asking the API server. If it has the
/// digest of that, this or an earlier process applied it, so the set owns exactly its fields. If their values are not
/// as desired, or not certainly so, the member is applied once more.
fn verify(state: &mut State, member: &Member, hasher: &RandomState) {
    if state.applied.is_some() {
        return;
    }
    let Some(seen) = state.seen.as_mut() else { return };
    let Some(text) = seen.text.take() else { return };
    let same = seen.owner == Owner::Us && !seen.deleting && seen.digest.as_ref() == Some(&member.digest);
    if !same || seen.api_version != member.api_version {
        return;
    }
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    let owned = || Owned::assume(&parse(&member.body)?, &parse(&text)?, hasher);
    state.applied = owned().map(|owned| Applied {
        api_version: member.api_version.clone(),
        uid: seen.uid.clone(),
        version: seen.version.clone(),
        digest: member.digest.clone(),
        owned,
    });
}

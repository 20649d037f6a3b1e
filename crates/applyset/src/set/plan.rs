//! What is to be done now, and the requests for it.

use std::time::{Duration, Instant};

use boathook_core::model::{ObjectRef, Propagation};
use serde_json::Value;

use super::{Adopt, Deletion, Finalize, Request, Set, State, Verb, state::Seen};
use crate::{
    canonical::Digest,
    desired::{Desired, Member},
    id::{MemberId, Owner},
    order::{self, Gate, Need},
    prune::{self, Candidate, Hold, Limits, Situation},
    ready::{Health, Readiness},
};

/// How often an object of somebody else is read, if no watch shows it.
const RECHECK: Duration = Duration::from_secs(300);

/// How far a set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The members in the cluster are not listed yet.
    Listing,
    /// Another tool writes this set, by the parent's annotation.
    OtherTool(String),
    /// Another field manager of this tool has this set, by the parent's annotation.
    OtherManager {
        has: String,
        wants: String,
    },
    /// The producer has not answered.
    Answer,
    Applying,
    /// The parent is being deleted, and the producer still needs some members.
    Finalizing,
    /// The parent is being deleted, and so are the members.
    Deleting,
    /// The parent is being deleted, and no member is left. The finalizer can go.
    Deleted,
}

/// Somebody deleted the parent, and means it. Only what takes more with it needs an approval.
const UNLIMITED: Limits = Limits { max_share: 100, max_objects: usize::MAX };

/// What is to be done, and what is in the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub stage: Stage,
    /// The generation that the answer is for.
    pub generation: Option<i64>,
    /// Only members that are not as desired and ready have a step.
    pub steps: Vec<Step>,
    /// How many members are desired.
    pub total: usize,
    /// A prune that waits for an approval, or is going on after one. It must stay with the parent until it is
    /// `None`.
    pub hold: Option<Hold>,
    /// The hold waits for an approval.
    pub waits: bool,
    /// What is wrong with the newest answer.
    pub invalid: Option<String>,
    /// When something is due that no event announces.
    pub wake: Option<Instant>,
}

/// What happens to one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub member: MemberId,
    pub action: Action,
    /// Not before this time. `None`: now, or when something else allows it.
    pub at: Option<Instant>,
}

/// What a plan does with an object, or why it does nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Create,
    Change,
    /// A field that the set owns was changed, or the member was deleted.
    Repair {
        /// The fields. `None`: the member is missing.
        drift: Option<String>,
        /// The last writers.
        managers: Vec<String>,
        /// How often the same happened, if that is a fight.
        fight: Option<u32>,
    },
    Adopt {
        from: Owner,
    },
    /// Deletes the member, to create it again.
    Recreate,
    Prune,
    /// Takes the object out of the set, and leaves it.
    Release,
    /// Reads the object, because what is known about it was contradicted, or the watch does not show it.
    Read,
    /// Writes the set's label and annotations to the parent.
    Mark,
    /// A request is on its way.
    Sent,
    /// The object belongs to somebody else.
    Refuse {
        owner: Owner,
    },
    /// The last request failed, with the API server's message.
    Retry {
        message: String,
        /// It fails again until somebody changes something.
        stalled: bool,
    },
    /// The member waits for something else.
    Blocked {
        by: String,
    },
    /// The object is being deleted. It is created again when it is gone.
    Terminating,
    /// The member is applied and not ready.
    Unready(Readiness),
}

impl Action {
    /// Whether a request is sent for it.
    pub fn sends(&self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::Change
                | Self::Repair { .. }
                | Self::Adopt { .. }
                | Self::Recreate
                | Self::Prune
                | Self::Release
                | Self::Read
                | Self::Mark
        )
    }

    /// Whether the member becomes what it was not. A repair is no progress, so it waits for no wave.
    fn advances(&self) -> bool {
        matches!(self, Self::Create | Self::Change | Self::Adopt { .. } | Self::Recreate)
    }
}

/// What holds a member up.
#[derive(Clone, Copy)]
enum By<'s> {
    Member(&'s MemberId),
    /// The parent does not name the member's namespace yet. After a crash, nobody would find the member.
    Mark,
}

/// What is known after all desired members.
#[derive(Default)]
struct Progress {
    /// One of them is not applied.
    behind: bool,
}

impl Set {
    /// What is to be done at this time. It changes nothing.
    pub fn plan(&self, now: Instant) -> Plan {
        let mut plan = Plan {
            stage: self.stage(),
            generation: self.desired.as_ref().map(|desired| desired.generation),
            steps: Vec::new(),
            total: self.desired.as_ref().map_or(0, |desired| desired.members.len()),
            hold: None,
            waits: false,
            invalid: self.invalid.as_ref().map(ToString::to_string),
            wake: None,
        };
        match (&plan.stage, &self.desired) {
            (Stage::Deleting, _) => self.tear_down(&mut plan, now),
            (Stage::Applying, Some(desired)) => self.apply(desired, self.policy.limits, &mut plan, now),
            // They stay. Kubernetes takes the parent out of them at once, and does not say any more that it did.
            (Stage::Finalizing, _) if self.parent.orphans => self.tear_down(&mut plan, now),
            (Stage::Finalizing, _) if self.orphaned().next().is_some() => {
                self.free(self.orphaned(), &mut plan, now);
            }
            // In the foreground, Kubernetes deletes the members. To write them would undo that.
            (Stage::Finalizing, Some(desired)) if self.finalize == Finalize::GoesOn && !self.parent.foreground => {
                self.apply(desired, UNLIMITED, &mut plan, now);
            }
            _ => {}
        }
        let steps = plan.steps.iter().filter_map(|step| step.at);
        let members = self.members.values();
        let awaited = members.flat_map(|state| [&state.awaited, &state.deleted]).flatten().map(|awaited| awaited.until);
        plan.wake = steps.chain(awaited).filter(|at| *at > now).min();
        plan
    }

    /// How far the set is.
    pub fn stage(&self) -> Stage {
        if let Some(tool) = self.parent.other_tool() {
            return Stage::OtherTool(tool.to_owned());
        }
        if let Some(manager) = self.parent.other_manager(&self.policy.manager) {
            return Stage::OtherManager { has: manager.to_owned(), wants: self.policy.manager.clone() };
        }
        match (self.parent.deleting, self.listed) {
            (_, false) => Stage::Listing,
            // What is deleted needs no answer.
            (true, true) if self.is_finalizing() => Stage::Finalizing,
            (true, true) => Stage::Deleting,
            _ if self.desired.is_none() => Stage::Answer,
            _ => Stage::Applying,
        }
    }

    fn apply(&self, desired: &Desired, limits: Limits, plan: &mut Plan, now: Instant) {
        let mark = self.mark_body();
        if mark.is_some() {
            let step = |action, at| Step { member: MemberId::of(&self.parent.object), action, at };
            plan.steps.push(
                waiting(&self.mark, now).map_or_else(|| step(Action::Mark, None), |(action, at)| step(action, at)),
            );
        }
        let progress = self.apply_members(desired, plan, now);
        // A member that replaces another one is there before the other one goes.
        if progress.behind {
            return;
        }
        let situation = Situation {
            set: &self.id,
            names: &desired.names,
            existing: self.members.values().filter(|state| state.is_ours()).count(),
            empty: desired.members.is_empty(),
            means_empty: desired.means_empty,
        };
        let unwanted = self.members.iter().filter(|(_, state)| state.wanted.is_none());
        self.remove(unwanted, situation, limits, plan, now);
    }

    /// What the parent must be marked with. Kinds and namespaces of members that are to go are in it until they are gone.
    fn mark_body(&self) -> Option<Value> {
        let (mut kinds, mut namespaces) = (self.kinds.clone(), self.namespaces.clone());
        let mut exact = self.left.is_empty();
        for (id, _) in self.members.iter().filter(|(_, state)| state.wanted.is_none() && state.is_ours()) {
            exact = false;
            kinds.insert(id.group_kind());
            let other = |namespace: &&str| self.parent.object.namespace.as_deref() != Some(*namespace);
            namespaces.extend(id.namespace.as_deref().filter(other).map(str::to_owned));
        }
        // A parent that never had members stays unmarked.
        let marked = !kinds.is_empty() || self.parent.marks.id.is_some();
        marked.then(|| self.parent.mark(&self.policy.manager, &kinds, &namespaces, exact)).flatten()
    }

    /// Wave after wave. In a wave, kinds are sent in their order, but only what a member needs holds it up: a
    /// ConfigMap that the API server refuses does not stop the Deployments beside it.
    fn apply_members(&self, desired: &Desired, plan: &mut Plan, now: Instant) -> Progress {
        let (mut progress, mut at) = (Progress::default(), None);
        // The first member that an earlier wave waits for, one of this wave that later waves will wait for, one of an
        // earlier rank that was not tried yet, and one of this rank.
        let (mut closed, mut unmet, mut before, mut trying): (
            Option<&MemberId>,
            Option<&MemberId>,
            _,
            Option<&MemberId>,
        ) = (None, None, None, None);
        for member in desired.members.iter() {
            match at {
                Some(order::Order { wave, .. }) if wave != member.order.wave => {
                    (closed, before, trying) = (closed.or(unmet.take()), None, None);
                }
                Some(order) if order != member.order => before = before.or(trying.take()),
                _ => {}
            }
            at = Some(member.order);
            let Some(state) = self.members.get(&member.id) else { continue };
            if !passes(state, member, now) {
                unmet = unmet.or(Some(&member.id));
            }
            let Some((action, time)) = self.verdict(state, member, now) else { continue };
            let step = |action, at| Step { member: member.id.clone(), action, at };
            let tried = time.is_some_and(|time| time > now);
            progress.behind |= !matches!(action, Action::Repair { .. } | Action::Unready(_));
            if action.advances() {
                let by = closed.map(By::Member).or_else(|| self.missing_need(member, now)).or(before.map(By::Member));
                if let Some(by) = by {
                    plan.steps.push(step(Action::Blocked { by: self.named(by) }, None));
                    continue;
                }
            }
            let sent = state.flight.as_ref().is_some_and(|(_, action)| action.advances());
            if sent || action.advances() && !tried {
                trying = trying.or(Some(&member.id));
            }
            plan.steps.push(step(action, time));
        }
        progress
    }

    fn named(&self, by: By<'_>) -> String {
        match by {
            By::Member(id) => id.to_string(),
            By::Mark => format!("the annotations of {}", self.parent.object),
        }
    }

    /// What the member needs and is not there.
    fn missing_need<'s>(&'s self, member: &'s Member, now: Instant) -> Option<By<'s>> {
        let namespace = member.id.namespace.as_deref();
        let other = namespace.filter(|namespace| self.parent.object.namespace.as_deref() != Some(*namespace));
        let is_marked = |namespace: &str| self.parent.marks.namespaces.contains(namespace);
        // A decorator's members are found by their label, in all namespaces.
        if self.parent.decorator.is_none() && other.is_some_and(|namespace| !is_marked(namespace)) {
            return Some(By::Mark);
        }
        let is_there = |need: &Need| {
            let (Need::Namespace(id) | Need::Definition(id)) = need;
            let Some(state) = self.members.get(id) else { return false };
            let Some(wanted) = state.wanted.and_then(|at| self.desired.as_ref()?.members.get(at)) else { return false };
            match need {
                Need::Namespace(_) => state.exists(now) && state.is_ours(),
                Need::Definition(_) => is_ready(state, &wanted.digest, now),
            }
        };
        let need = member.needs.iter().find(|need| !is_there(need))?;
        let (Need::Namespace(id) | Need::Definition(id)) = need;
        Some(By::Member(id))
    }

    /// What a desired member needs. `None`: nothing, it is as desired and ready.
    fn verdict(&self, state: &State, member: &Member, now: Instant) -> Option<(Action, Option<Instant>)> {
        if let Some(waiting) = waiting(state, now) {
            return Some(waiting);
        }
        if overdue(state, now) {
            return Some((Action::Read, None));
        }
        let Some(seen) = &state.seen else {
            return match (&state.drift, &state.awaited) {
                // It was written, and the watch does not show it yet.
                (_, Some(_)) if state.has_applied(&member.digest) => {
                    Some((Action::Unready(state.readiness(&member.digest, now)), None))
                }
                (_, Some(_)) => Some((Action::Change, None)),
                // It was there, and somebody deleted it.
                (Some(drift), None) => Some((repair(drift), Some(drift.at))),
                (None, None) => Some((Action::Create, None)),
            };
        };
        if state.is_ending(now) {
            return Some((Action::Terminating, None));
        }
        match (&seen.owner, self.policy.adopt) {
            (Owner::Us, _) => {}
            // While the parent is being deleted, what belongs to nobody may be a member that was released.
            (Owner::Nobody, Adopt::IfUnowned | Adopt::Always) | (Owner::Set(_), Adopt::Always)
                if !self.parent.deleting =>
            {
                return Some((Action::Adopt { from: seen.owner.clone() }, None));
            }
            // A watch with a label selector does not show when the object goes.
            _ if seen.at + RECHECK <= now => return Some((Action::Read, None)),
            (owner, _) => return Some((Action::Refuse { owner: owner.clone() }, Some(seen.at + RECHECK))),
        }
        if state.recreate {
            return Some((Action::Recreate, None));
        }
        if !state.has_applied(&member.digest) {
            return Some((Action::Change, None));
        }
        if let Some(drift) = &state.drift {
            return Some((repair(drift), Some(drift.at)));
        }
        (!is_ready(state, &member.digest, now)).then(|| (Action::Unready(state.readiness(&member.digest, now)), None))
    }

    /// Deletes or releases members, the last ones first. Each group waits until the one before it is gone.
    fn remove<'s>(
        &'s self,
        members: impl Iterator<Item = (&'s MemberId, &'s State)>,
        situation: Situation<'_>,
        limits: Limits,
        plan: &mut Plan,
        now: Instant,
    ) {
        let orphans = matches!(plan.stage, Stage::Deleting | Stage::Finalizing)
            && (self.policy.deletion == Deletion::Orphan || self.parent.orphans);
        let (mut candidates, mut last): (Vec<(&MemberId, &Seen, &State)>, _) = (Vec::new(), None);
        for (id, state) in members {
            if state.uid().is_none() && state.flight.is_none() && !state.read {
                // It never was created. Its failures do not matter any more.
                continue;
            }
            let mut step = |action, at| plan.steps.push(Step { member: id.clone(), action, at });
            if let Some((action, at)) = waiting(state, now) {
                if let Some(seen) = state.seen.as_ref().filter(|seen| seen.owner == Owner::Us) {
                    last = last.max(Some(seen.order.teardown()));
                }
                step(action, at);
                continue;
            }
            if overdue(state, now) {
                step(Action::Read, None);
                continue;
            }
            match &state.seen {
                None if state.awaited.is_some() => step(Action::Unready(Readiness::not_found()), None),
                Some(seen) if seen.owner == Owner::Us => {
                    if state.is_ending(now) {
                        last = last.max(Some(seen.order.teardown()));
                        step(Action::Terminating, None);
                    } else if orphans || seen.keeps || self.is_orphaned(id, seen) {
                        step(Action::Release, None);
                    } else {
                        candidates.push((id, seen, state));
                    }
                }
                _ => {}
            }
        }
        let list: Vec<_> = candidates
            .iter()
            .map(|(id, seen, state)| {
                let precious = order::is_precious(id) && !state.no_dependants;
                Candidate { id, uid: &seen.uid, precious }
            })
            .collect();
        let verdict = prune::judge(&list, situation, limits, self.approved.as_deref(), self.stored.as_ref());
        plan.waits = verdict.hold.is_some();
        // An approved list stays in the status until the prune is over. Otherwise, a crash would lose it.
        let approved = || self.stored.clone().filter(|hold| self.approved.as_deref() == Some(hold.digest.as_str()));
        plan.hold = verdict.hold.or_else(|| approved().filter(|_| !list.is_empty() || last.is_some()));
        candidates.retain(|(_, seen, _)| verdict.free.contains(&*seen.uid));
        let group = candidates.iter().map(|(_, seen, _)| seen.order.teardown()).max();
        let group = group.max(last);
        for (id, seen, _) in candidates {
            let action = if Some(seen.order.teardown()) == group {
                Action::Prune
            } else {
                Action::Blocked { by: "the removal of later waves".to_owned() }
            };
            plan.steps.push(Step { member: id.clone(), action, at: None });
        }
    }

    /// Whether Kubernetes has orphaned a member. It takes the parent out of the owners of its members first, and then
    /// removes its mark from the parent, so a set that begins after that knows it only by what is missing.
    fn is_orphaned(&self, id: &MemberId, seen: &Seen) -> bool {
        let parent = &self.parent;
        parent.deleting && seen.owner == Owner::Us && !seen.owned && parent.can_own(id.namespace.as_deref())
    }

    fn orphaned(&self) -> impl Iterator<Item = (&MemberId, &State)> {
        let is_orphaned = |id, state: &State| state.seen.as_ref().is_some_and(|seen| self.is_orphaned(id, seen));
        self.members.iter().filter(move |(id, state)| is_orphaned(id, state))
    }

    fn tear_down(&self, plan: &mut Plan, now: Instant) {
        self.free(self.members.iter(), plan, now);
        if plan.stage == Stage::Deleting && plan.steps.is_empty() && plan.hold.is_none() {
            plan.stage = Stage::Deleted;
        }
    }

    /// Deletes or releases these members of a parent that is being deleted.
    fn free<'s>(&'s self, members: impl Iterator<Item = (&'s MemberId, &'s State)>, plan: &mut Plan, now: Instant) {
        let names = Digest::read("the parent is deleted");
        let existing = self.members.values().filter(|state| state.is_ours()).count();
        let situation = Situation { set: &self.id, names: &names, existing, empty: true, means_empty: true };
        self.remove(members, situation, UNLIMITED, plan, now);
    }

    /// The requests that are due. They count as on their way until [`Set::finished`] has their results. `room`: how
    /// many may be on their way at the same time.
    pub fn take(&mut self, room: usize, now: Instant) -> Vec<Request> {
        let busy = self.members.values().chain([&self.mark]).filter(|state| state.flight.is_some()).count();
        let steps = self.plan(now).steps.into_iter();
        let due = steps.filter(|step| step.action.sends() && step.at.is_none_or(|at| at <= now));
        due.take(room.saturating_sub(busy)).filter_map(|step| self.request(step)).collect()
    }

    fn request(&mut self, step: Step) -> Option<Request> {
        let Step { member: id, action, .. } = step;
        self.tokens = self.tokens.wrapping_add(1);
        let token = self.tokens;
        if action == Action::Mark {
            let body = self.mark_body()?.to_string();
            self.mark.flight = Some((token, Action::Mark));
            let object = self.parent.object.clone();
            return Some(Request { token, object, verb: Verb::Mark { body }, action, digest: None });
        }
        let state = self.members.get_mut(&id)?;
        let member = state.wanted.and_then(|at| self.desired.as_ref()?.members.get(at));
        let uid = || state.uid().map(str::to_owned);
        let verb = match &action {
            Action::Read => Verb::Read,
            Action::Release => Verb::Release,
            // In the foreground, a member is gone only after what it owns. The next group, or the new member, waits
            // for the Pods of this one, too.
            Action::Prune | Action::Recreate => Verb::Delete { uid: uid()?, propagation: Propagation::Foreground },
            Action::Create => Verb::Apply { body: with(member?, None, Some("1"))?, force: true },
            Action::Adopt { .. } => {
                let seen = state.seen.as_ref()?;
                Verb::Apply { body: with(member?, Some(&seen.uid), Some(&seen.version))?, force: true }
            }
            Action::Repair { drift: None, .. } => Verb::Apply { body: with(member?, None, Some("1"))?, force: true },
            Action::Repair { .. } => Verb::Apply { body: with(member?, uid().as_deref(), None)?, force: true },
            Action::Change => Verb::Apply { body: with(member?, uid().as_deref(), None)?, force: state.force },
            _ => return None,
        };
        let object = match (member, &state.seen) {
            (Some(member), _) => member.reference(),
            (None, seen) => reference(&id, seen.as_ref()?),
        };
        let digest = member.map(|member| member.digest.clone());
        state.lost = state.lost.take().filter(|_| state.force);
        state.flight = Some((token, action.clone()));
        Some(Request { token, object, verb, action, digest })
    }

    /// Members of which other managers lost fields to this set, with the API server's words.
    pub fn lost(&self) -> impl Iterator<Item = (&MemberId, &str)> {
        self.members.iter().filter_map(|(id, state)| Some((id, state.lost.as_deref()?)))
    }
}

pub(super) fn reference(id: &MemberId, seen: &Seen) -> ObjectRef {
    ObjectRef {
        api_version: seen.api_version.to_string(),
        kind: id.kind.to_string(),
        namespace: id.namespace.as_deref().map(str::to_owned),
        name: id.name.to_string(),
    }
}

/// The body with its precondition.
fn with(member: &Member, uid: Option<&str>, version: Option<&str>) -> Option<String> {
    let mut body: Value = serde_json::from_str(&member.body).ok()?;
    let metadata = body.get_mut("metadata")?.as_object_mut()?;
    for (name, value) in [("uid", uid), ("resourceVersion", version)] {
        if let Some(value) = value {
            metadata.insert(name.to_owned(), value.into());
        }
    }
    Some(body.to_string())
}

/// What comes before any decision: a request on its way, a failure that is not over, a contradiction.
fn waiting(state: &State, now: Instant) -> Option<(Action, Option<Instant>)> {
    if state.flight.is_some() {
        return Some((Action::Sent, None));
    }
    let failure = state.failure.as_ref().filter(|failure| failure.due > now);
    // A contradiction is resolved at once the first time.
    if state.read && failure.is_none_or(|failure| failure.attempts <= 1) {
        return Some((Action::Read, None));
    }
    let failure = failure?;
    // To create it again is not the same as what failed.
    if state.recreate && failure.attempts <= 1 {
        return None;
    }
    let action = Action::Retry { message: failure.message.to_string(), stalled: failure.stalled };
    Some((action, Some(failure.due)))
}

/// The watch did not show a write of ours in time.
fn overdue(state: &State, now: Instant) -> bool {
    let late = |awaited: &super::Awaited| awaited.until <= now;
    let deleted = state.deleted.as_ref().filter(|deleted| late(deleted));
    let pending =
        state.seen.as_ref().is_some_and(|seen| !seen.deleting && deleted.is_some_and(|it| it.uid == seen.uid));
    state.awaited.as_ref().is_some_and(late) || pending
}

fn repair(drift: &super::Drifted) -> Action {
    Action::Repair {
        drift: drift.fields.as_ref().map(ToString::to_string),
        managers: drift.managers.iter().map(|manager| manager.to_string()).collect(),
        fight: drift.fight,
    }
}

fn is_ready(state: &State, digest: &Digest, now: Instant) -> bool {
    let Some(seen) = &state.seen else { return false };
    let healthy = seen.readiness.health == Health::Current;
    healthy && seen.owner == Owner::Us && !state.is_awaited(now) && !state.is_ending(now) && state.has_applied(digest)
}

/// Whether later waves may start as far as this member is concerned.
fn passes(state: &State, member: &Member, now: Instant) -> bool {
    match member.gate {
        Gate::Exists => state.exists(now) && state.is_ours(),
        Gate::Ready => is_ready(state, &member.digest, now),
    }
}

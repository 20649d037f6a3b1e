//! The parent's conditions: `Ready`, `Reconciling` and `Stalled`, as kstatus reads them.

use jiff::{Timestamp, Unit};
use serde::{Deserialize, Serialize};

use crate::{
    canonical::cut,
    id::MANAGER,
    ready::{Health, Readiness},
    set::{Action, Plan, Stage, Step},
};

/// The longest message of a condition. The API allows 32 768 bytes, but people read it.
const MAX_MESSAGE: usize = 2_048;
/// How many members a message names.
const MAX_NAMES: usize = 5;

/// A condition, in the usual form of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// RFC 3339, in whole seconds.
    pub last_transition_time: String,
    /// CamelCase, for programs.
    pub reason: String,
    pub message: String,
}

/// The conditions for a plan. A transition time changes only with its status, so a plan that says the same gives the
/// same conditions, and nothing is written. Conditions of `old` with other types stay.
pub fn conditions(plan: &Plan, generation: i64, old: &[Condition], now: Timestamp) -> Vec<Condition> {
    let says = Says::of(plan, generation);
    let observed = plan.generation;
    let own = [
        ("Ready", says.ready, &says.reason, &says.message),
        ("Reconciling", says.reconciling, &says.reason, &says.message),
        ("Stalled", says.stalled, &says.reason, &says.message),
    ];
    let made = own.into_iter().map(|(type_, holds, reason, message)| {
        let status = if holds { "True" } else { "False" };
        let since = old.iter().find(|old| old.type_ == type_ && old.status == status);
        let time = || now.round(Unit::Second).unwrap_or(now).to_string();
        // The message is that of the condition that holds. The others need none.
        let speaks = holds || type_ == "Ready";
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            observed_generation: observed,
            last_transition_time: since.map_or_else(time, |since| since.last_transition_time.clone()),
            reason: if speaks { (*reason).to_owned() } else { format!("Not{type_}") },
            message: if speaks { cut(message, MAX_MESSAGE) } else { String::new() },
        }
    });
    let mut all: Vec<_> = made.collect();
    all.extend(old.iter().filter(|old| !own.iter().any(|(type_, ..)| *type_ == old.type_)).cloned());
    all
}

struct Says {
    ready: bool,
    reconciling: bool,
    stalled: bool,
    reason: &'static str,
    message: String,
}

impl Says {
    fn stalled(reason: &'static str, message: String) -> Self {
        Self { ready: false, reconciling: false, stalled: true, reason, message }
    }

    fn busy(reason: &'static str, message: String) -> Self {
        Self { ready: false, reconciling: true, stalled: false, reason, message }
    }

    fn of(plan: &Plan, generation: i64) -> Self {
        match &plan.stage {
            Stage::Listing => return Self::busy("Listing", "the members in the cluster are not listed yet".to_owned()),
            Stage::OtherTool(tool) => {
                let remedy = "remove the annotation applyset.kubernetes.io/tooling if it no longer does";
                return Self::stalled("OtherTool", format!("{tool} writes this set: {remedy}"));
            }
            Stage::OtherManager { has, wants } => {
                let remedy = format!("if it no longer does, set the annotation {MANAGER} to {wants}");
                return Self::stalled("OtherManager", format!("{has} writes this set: {remedy}"));
            }
            Stage::Answer | Stage::Applying | Stage::Finalizing | Stage::Deleting | Stage::Deleted => {}
        }
        if let Some(invalid) = &plan.invalid {
            return Self::stalled("InvalidAnswer", invalid.clone());
        }
        if plan.stage == Stage::Answer {
            return Self::busy("Progressing", "the producer has not answered yet".to_owned());
        }
        if let Some((reason, message)) = stalled(plan) {
            return Self::stalled(reason, message);
        }
        if plan.stage == Stage::Deleted {
            return Self::busy("Deleting", "no member is left".to_owned());
        }
        if let Some(message) = named(&plan.steps, plan.total, busy) {
            let reason = match plan.stage {
                Stage::Deleting => "Deleting",
                Stage::Finalizing => "Finalizing",
                _ => "Progressing",
            };
            return Self::busy(reason, message);
        }
        if plan.stage == Stage::Finalizing {
            return Self::busy("Finalizing", "the hook has not said that its work is undone".to_owned());
        }
        if plan.generation.is_none_or(|answered| answered < generation) {
            return Self::busy("Progressing", format!("generation {generation} is not answered yet"));
        }
        let members = if plan.total == 1 { "member is" } else { "members are" };
        let message = format!("{} {members} as desired", plan.total);
        Self { ready: true, reconciling: false, stalled: false, reason: "Current", message }
    }
}

/// What does not go on by itself, the worst first.
fn stalled(plan: &Plan) -> Option<(&'static str, String)> {
    let of = |reason, text: fn(&Step) -> Option<String>| Some((reason, named(&plan.steps, plan.total, text)?));
    of("MemberRefused", |step| match &step.action {
        Action::Refuse { owner } => {
            Some(format!("it belongs to {owner}: rename the member, remove the object, or allow adoption"))
        }
        _ => None,
    })
    .or_else(|| {
        of("MemberFailed", |step| match &step.action {
            Action::Retry { message, stalled: true } => Some(message.clone()),
            Action::Unready(Readiness { health: Health::Failed, reason, message }) => Some(said(reason, message)),
            _ => None,
        })
    })
    .or_else(|| {
        of("Fight", |step| match &step.action {
            Action::Repair { drift, managers, fight: Some(count) } => {
                let what =
                    drift.as_deref().map_or_else(|| "deletes it".to_owned(), |fields| format!("changes {fields}"));
                let who = if managers.is_empty() { "somebody".to_owned() } else { managers.join(" or ") };
                Some(format!("{who} {what} again and again ({count} times): repairs are slowed"))
            }
            _ => None,
        })
    })
    .or_else(|| {
        let hold = plan.hold.as_ref().filter(|_| plan.waits)?;
        let why = match hold.reason.as_str() {
            "Empty" => "the answer has no members, and does not say that it means it",
            "Share" => "that is a larger share of the set than allowed",
            "Objects" => "that is more than allowed at once",
            _ => "others may depend on them",
        };
        let names = hold.objects.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
        let more = hold.count.saturating_sub(MAX_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (count, digest) = (hold.count, &hold.digest);
        Some((
            "ApprovalRequired",
            format!("{count} objects wait to be deleted, because {why}: {names}{more}; approve {digest}"),
        ))
    })
}

fn busy(step: &Step) -> Option<String> {
    match &step.action {
        Action::Unready(Readiness { reason, message, .. }) => Some(said(reason, message)),
        Action::Retry { message, .. } => Some(message.clone()),
        Action::Blocked { by } => Some(format!("it waits for {by}")),
        Action::Terminating => Some("it is being deleted".to_owned()),
        Action::Create | Action::Adopt { .. } => Some("it is being created".to_owned()),
        Action::Prune | Action::Release => Some("it is being removed".to_owned()),
        // The rest takes one request. A status for it would be written before and after.
        _ => Some("it is being applied".to_owned()),
    }
}

fn said(reason: &str, message: &str) -> String {
    if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") }
}

/// The members for which there is something to say.
fn named(steps: &[Step], total: usize, text: impl Fn(&Step) -> Option<String>) -> Option<String> {
    let all: Vec<_> = steps.iter().filter_map(|step| Some(format!("{}: {}", step.member, text(step)?))).collect();
    let names = all.iter().take(MAX_NAMES).map(|one| cut(one, MAX_MESSAGE / MAX_NAMES)).collect::<Vec<_>>().join("; ");
    match all.len() {
        0 => None,
        1 => Some(names),
        count => Some(format!("{count} of {}: {names}", total.max(count))),
    }
}

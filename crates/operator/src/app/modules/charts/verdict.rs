//! How far a set is, by its plan. Pure.

use boathook_applyset::{Action, Plan, Stage, Step, conditions};
use jiff::Timestamp;
use tracing::warn;

/// What a set has to become.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Ready,
    Deleted,
}

/// Whether a deletion or the like is not over.
pub(super) fn is_under_way(step: &Step) -> bool {
    matches!(step.action, Action::Sent | Action::Terminating | Action::Prune | Action::Release | Action::Blocked { .. })
}

/// Whether somebody changes the same fields again and again.
fn is_fight(step: &Step) -> bool {
    matches!(step.action, Action::Repair { fight: Some(_), .. })
}

/// How far a set is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    /// It goes on by itself, and waits for this.
    Waits(String),
    /// It does not go on by itself.
    Stalled(String),
}

pub(super) fn judge(plan: &Plan, generation: i64, goal: Goal) -> Verdict {
    if goal == Goal::Deleted && plan.stage == Stage::Deleted {
        return Verdict::Done;
    }
    let all = conditions(plan, generation, &[], Timestamp::UNIX_EPOCH);
    let holds = |type_: &str| all.iter().find(|one| one.type_ == type_ && one.status == "True");
    match (holds("Ready").filter(|_| goal == Goal::Ready), holds("Stalled")) {
        (Some(_), _) => Verdict::Done,
        // Somebody changes fields again and again, for example a HorizontalPodAutoscaler. These members are there. What is
        // with the others counts.
        (None, Some(stalled)) if stalled.reason == "Fight" => {
            warn!("a module is not left alone: {}", stalled.message);
            let mut rest = plan.clone();
            rest.steps.retain(|step| !is_fight(step));
            judge(&rest, generation, goal)
        }
        (None, Some(stalled)) => Verdict::Stalled(stalled.message.clone()),
        (None, None) => {
            let ready = all.iter().find(|one| one.type_ == "Ready");
            Verdict::Waits(ready.map(|one| one.message.clone()).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use boathook_applyset::{MemberId, Readiness, ready::Health};
    use boathook_core::model::ObjectRef;

    use super::*;

    fn plan(actions: &[(&str, Action)]) -> Plan {
        let step = |(name, action): &(&str, Action)| {
            let (api_version, kind, name) = ("v1".to_owned(), "ConfigMap".to_owned(), (*name).to_owned());
            let member = MemberId::of(&ObjectRef { api_version, kind, namespace: None, name });
            Step { member, action: action.clone(), at: None }
        };
        Plan {
            stage: Stage::Applying,
            generation: Some(1),
            steps: actions.iter().map(step).collect(),
            total: 2,
            hold: None,
            waits: false,
            invalid: None,
            wake: None,
        }
    }

    #[test]
    fn a_fight_is_no_excuse_for_other_members() {
        let fight = || {
            let (drift, managers) = (Some("spec.replicas".to_owned()), vec!["hpa".to_owned()]);
            ("a", Action::Repair { drift, managers, fight: Some(9) })
        };
        let judged = |actions: &[_]| judge(&plan(actions), 1, Goal::Ready);
        assert_eq!(judged(&[fight()]), Verdict::Done);
        let slow = Readiness { health: Health::InProgress, reason: "Slow".into(), message: "0 of 2".into() };
        let waits = judged(&[fight(), ("b", Action::Unready(slow))]);
        assert!(matches!(&waits, Verdict::Waits(why) if why.contains("Slow: 0 of 2")), "{waits:?}");
    }
}

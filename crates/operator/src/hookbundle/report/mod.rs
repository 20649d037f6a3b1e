//! The status of a HookBundle, from what is known about it. Pure.

pub(super) mod conditions;

use boathook_core::model::{HookPhase, HookState, InterpreterRef, Permission};

use super::{
    Available, Condition, HookBundleStatus, HookStatus, Pending,
    convert::grants,
    problem::{Problem, cut},
    version::Version,
};

/// Everything that a status is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub generation: i64,
    pub suspended: bool,
    /// The version that runs in this process, or is suspended in it.
    pub running: Option<&'a Version>,
    /// The version that the source points to, if it is trusted.
    pub found: Option<&'a Version>,
    /// Why the version that the source points to is unknown or refused.
    pub refused: Option<&'a Problem>,
    /// The version that waits, and what it waits for.
    pub waiting: Option<&'a Waiting>,
    /// Why the version that should have taken over did not.
    pub failed: Option<&'a Problem>,
    pub states: &'a [HookState],
    /// In RFC 3339.
    pub now: &'a str,
}

/// A version that waits for an admin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waiting {
    pub digest: String,
    pub label: String,
    pub why: Why,
}

/// What the version waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Why {
    Approval,
    /// These rules have to be granted.
    Grants(Vec<Permission>),
}

impl Why {
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Approval => "AwaitingApproval",
            Self::Grants(_) => "MissingGrants",
        }
    }
}

impl Facts<'_> {
    /// The hooks of the running version that are not ready.
    pub fn unready(&self) -> impl Iterator<Item = &HookState> {
        self.states.iter().filter(|state| state.phase != HookPhase::Ready)
    }
}

/// Makes the new status.
pub(super) fn status(facts: &Facts<'_>, old: &HookBundleStatus) -> HookBundleStatus {
    let mut status = match facts.running {
        Some(version) => running(facts, version),
        // The version does not run in this process. It may be restored, so the status keeps it.
        None => HookBundleStatus {
            digest: old.digest.clone(),
            version: old.version.clone(),
            hooks: if facts.suspended { suspended(&old.hooks) } else { Vec::new() },
            ..HookBundleStatus::default()
        },
    };
    let found = facts.found.filter(|found| status.digest.as_deref() != Some(&found.digest));
    status.available = match facts.suspended {
        true => old.available.clone(),
        false => found.map(|found| Available { digest: found.digest.clone(), version: found.label.clone() }),
    };
    status.pending = facts.waiting.map(|waiting| Pending {
        digest: waiting.digest.clone(),
        version: waiting.label.clone(),
        reason: waiting.why.reason().to_owned(),
        missing: match &waiting.why {
            Why::Approval => Vec::new(),
            Why::Grants(missing) => grants(missing),
        },
    });
    if !status.hooks.is_empty() {
        let ready = status.hooks.iter().filter(|hook| hook.state == phase(HookPhase::Ready)).count();
        status.hooks_ready = Some(format!("{ready}/{}", status.hooks.len()));
    }
    status.observed_generation = Some(facts.generation);
    status.conditions = conditions::all(facts, &old.conditions);
    status
}

fn running(facts: &Facts<'_>, version: &Version) -> HookBundleStatus {
    HookBundleStatus {
        digest: Some(version.digest.clone()),
        version: Some(version.label.clone()),
        hooks: facts.states.iter().map(|state| hook(state, version)).collect(),
        ..HookBundleStatus::default()
    }
}

fn hook(state: &HookState, version: &Version) -> HookStatus {
    let text = |text: &str| Some(cut(text.to_owned())).filter(|text| !text.is_empty());
    let name = state.name.to_string();
    HookStatus {
        hook: state.hook.to_string(),
        state: phase(state.phase).to_owned(),
        reason: text(&state.reason),
        interpreter: state.interpreter.as_ref().map(InterpreterRef::in_full),
        last_run: state.last_run.and_then(time),
        last_error: state.last_error.as_deref().and_then(text),
        failures: i64::try_from(state.failures).unwrap_or(i64::MAX),
        permissions: version.requested.get(&name).map(|requested| grants(requested)).unwrap_or_default(),
        missing: grants(&state.missing),
        name,
    }
}

fn suspended(hooks: &[HookStatus]) -> Vec<HookStatus> {
    let each = hooks.iter().cloned();
    each.map(|hook| HookStatus { state: phase(HookPhase::Suspended).to_owned(), reason: None, ..hook }).collect()
}

/// Converts milliseconds since the Unix epoch to the API's form with whole seconds.
fn time(milliseconds: u64) -> Option<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(milliseconds / 1000).ok()?).ok()?;
    Some(time.to_string())
}

pub(super) fn phase(phase: HookPhase) -> &'static str {
    match phase {
        HookPhase::Ready => "Ready",
        HookPhase::Pending => "Pending",
        HookPhase::Quarantined => "Quarantined",
        HookPhase::Ungranted => "Ungranted",
        HookPhase::Forbidden => "Forbidden",
        HookPhase::Suspended => "Suspended",
    }
}

/// Whether two statuses differ only in fields that change with each run.
pub(super) fn same_but_for_runs(a: &HookBundleStatus, b: &HookBundleStatus) -> bool {
    let plain = |status: &HookBundleStatus| {
        let mut status = status.clone();
        for hook in &mut status.hooks {
            (hook.last_run, hook.last_error, hook.failures) = (None, None, 0);
        }
        status
    };
    plain(a) == plain(b)
}

/// Finds a condition by its type.
pub(super) fn condition<'a>(all: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    all.iter().find(|condition| condition.type_ == type_)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_bundle::Verified;
    use boathook_core::model::{HookName, Permission};

    use super::*;
    use crate::hookbundle::events::status_events;

    fn version(label: &str) -> Version {
        Version {
            digest: format!("sha256:{label}"),
            label: label.to_owned(),
            hooks: Vec::new(),
            schema: None,
            verified: Verified { by_digest: false, by_keys: vec!["ci".to_owned()] },
            pinned: false,
            requested: Default::default(),
            pulled: None,
        }
    }

    fn state(name: &str, phase: HookPhase, reason: &str) -> HookState {
        let name = HookName::new(name).unwrap();
        HookState {
            hook: name.clone(),
            name,
            phase,
            reason: reason.to_owned(),
            missing: Vec::new(),
            digest: None,
            interpreter: None,
            last_run: None,
            last_error: None,
            runs: 0,
            failures: 0,
        }
    }

    fn facts<'a>() -> Facts<'a> {
        Facts {
            generation: 3,
            suspended: false,
            running: None,
            found: None,
            refused: None,
            waiting: None,
            failed: None,
            states: &[],
            now: "2026-01-01T00:00:00Z",
        }
    }

    fn says(status: &HookBundleStatus, type_: &str) -> String {
        let condition = condition(&status.conditions, type_).unwrap();
        format!("{} {}", condition.status, condition.reason)
    }

    fn reasons(old: &HookBundleStatus, new: &HookBundleStatus) -> Vec<String> {
        status_events(old, new).into_iter().map(|event| event.reason).collect()
    }

    #[test]
    fn a_life() {
        let (a, b) = (version("a"), version("b"));
        let nothing = HookBundleStatus::default();
        let looking = status(&facts(), &nothing);
        assert_eq!(says(&looking, "Ready"), "False Progressing");
        assert_eq!(reasons(&nothing, &looking), Vec::<String>::new(), "nothing happened yet");

        let starting = [state("x", HookPhase::Pending, "")];
        let starting = Facts { running: Some(&a), found: Some(&a), states: &starting, ..facts() };
        let begun = status(&starting, &looking);
        assert_eq!(
            (says(&begun, "Ready"), says(&begun, "Progressing")),
            ("False HooksStarting".into(), "True HooksStarting".into())
        );
        assert_eq!(reasons(&looking, &begun), ["Installed"]);

        let ready = [state("x", HookPhase::Ready, "")];
        let settled = Facts { states: &ready, ..starting };
        let good = status(&settled, &begun);
        assert_eq!((says(&good, "Ready"), says(&good, "Granted")), ("True HooksReady".into(), "True Granted".into()));
        assert_eq!(reasons(&begun, &good), ["Ready"]);
        assert_eq!(reasons(&good, &status(&settled, &good)), Vec::<String>::new());

        let problem = Problem::refused("WrongKey", "b is signed with another key");
        let refused = status(&Facts { found: None, refused: Some(&problem), ..settled }, &good);
        assert_eq!(
            (says(&refused, "Ready"), says(&refused, "Verified")),
            ("True HooksReady".into(), "False WrongKey".into())
        );
        assert!(condition(&refused.conditions, "Ready").unwrap().message.contains("another version is refused"));
        assert_eq!(reasons(&good, &refused), ["WrongKey"]);

        let upgraded = status(&Facts { running: Some(&b), found: Some(&b), ..settled }, &refused);
        assert_eq!(reasons(&refused, &upgraded), ["Upgraded"]);
        assert_eq!(upgraded.version.as_deref(), Some("b"));
    }

    #[test]
    fn a_time_changes_with_the_status_alone() {
        let a = version("a");
        let (ready, broken) = ([state("x", HookPhase::Ready, "")], [state("x", HookPhase::Quarantined, "it trapped")]);
        let good = Facts { running: Some(&a), found: Some(&a), states: &ready, ..facts() };
        let first = status(&good, &HookBundleStatus::default());
        let time =
            |status: &HookBundleStatus| condition(&status.conditions, "Ready").unwrap().last_transition_time.clone();
        let later = status(&Facts { now: "2026-01-02T00:00:00Z", generation: 4, ..good }, &first);
        assert_eq!(time(&later), time(&first));
        let bad = status(&Facts { now: "2026-01-03T00:00:00Z", states: &broken, ..good }, &later);
        assert_eq!(time(&bad), "2026-01-03T00:00:00Z");
        assert_eq!(bad.hooks_ready.as_deref(), Some("0/1"));
        assert!(condition(&bad.conditions, "Ready").unwrap().message.contains("x is Quarantined: it trapped"));
        assert_eq!(reasons(&later, &bad), ["HooksNotReady"]);
    }

    #[test]
    fn what_runs_change_is_told_from_the_rest() {
        let a = version("a");
        let (mut one, mut other) = (state("x", HookPhase::Ready, ""), state("x", HookPhase::Ready, ""));
        (one.last_run, one.failures) = (Some(1000), 1);
        (other.last_run, other.last_error) = (Some(2000), Some("no".to_owned()));
        let of = |states: &[HookState]| {
            let facts = Facts { running: Some(&a), states, ..facts() };
            status(&facts, &HookBundleStatus::default())
        };
        let (one, other) = (of(&[one]), of(&[other]));
        assert!(one != other && same_but_for_runs(&one, &other));
        assert!(!same_but_for_runs(&one, &of(&[state("x", HookPhase::Pending, "")])));
    }

    #[test]
    fn rules_that_lack_can_be_pasted() {
        let (a, list) =
            (version("a"), |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let missing = Permission {
            api_groups: list(&[""]),
            resources: list(&["secrets"]),
            verbs: list(&["get"]),
            resource_names: Vec::new(),
            namespaces: list(&["team"]),
        };
        let waiting =
            Waiting { digest: "sha256:b".into(), label: "b".into(), why: Why::Grants(vec![missing.clone(), missing]) };
        let ready = [state("x", HookPhase::Ready, "")];
        let facts = Facts { running: Some(&a), found: Some(&a), states: &ready, waiting: Some(&waiting), ..facts() };
        let status = status(&facts, &HookBundleStatus::default());
        let message = &condition(&status.conditions, "Granted").unwrap().message;
        let rules: Vec<super::super::Grant> = yaml_serde::from_str(message.split_once('\n').unwrap().1).unwrap();
        assert_eq!(rules, [status.pending.unwrap().missing.first().unwrap().clone()]);
        assert_eq!(rules.first().unwrap().namespaces, ["team"]);
    }

    #[test]
    fn suspended_without_a_process_that_had_it() {
        let hook = HookStatus {
            name: "x".into(),
            hook: "x.a.team".into(),
            state: "Ready".into(),
            reason: None,
            interpreter: None,
            last_run: None,
            last_error: None,
            failures: 0,
            permissions: Vec::new(),
            missing: Vec::new(),
        };
        let old = HookBundleStatus { digest: Some("sha256:a".into()), hooks: vec![hook], ..Default::default() };
        let new = status(&Facts { suspended: true, ..facts() }, &old);
        assert_eq!(new.digest, old.digest);
        assert_eq!(new.hooks.first().unwrap().state, "Suspended");
        assert_eq!((says(&new, "Ready"), says(&new, "Suspended")), ("False Suspended".into(), "True Suspended".into()));
        assert_eq!(reasons(&old, &new), ["Suspended"]);
    }
}

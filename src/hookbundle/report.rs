//! What a HookBundle's status says, out of what is known. Pure.

use super::{
    Available, Condition, HookBundleStatus, HookStatus, Pending, conditions,
    convert::grants,
    problem::{Problem, cut},
    version::Version,
};
use crate::model::{HookPhase, HookState, Permission};

/// All that a status is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub generation: i64,
    pub suspended: bool,
    /// At work in this process, or suspended in it.
    pub running: Option<&'a Version>,
    /// What the source points to, if it is trusted.
    pub found: Option<&'a Version>,
    /// Why nothing is known of what the source points to, or why that is refused.
    pub refused: Option<&'a Problem>,
    /// The version that waits, and what for.
    pub waiting: Option<&'a Waiting>,
    /// Why the version that was to take over did not.
    pub failed: Option<&'a Problem>,
    pub states: &'a [HookState],
    /// RFC 3339.
    pub now: &'a str,
}

/// A version that waits for an admin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waiting {
    pub digest: String,
    pub label: String,
    pub why: Why,
}

/// What it waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Why {
    Approval,
    /// These rules are to be granted.
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
    /// The hooks of the version at work that are not.
    pub fn unready(&self) -> impl Iterator<Item = &HookState> {
        self.states.iter().filter(|state| state.phase != HookPhase::Ready)
    }
}

/// The status that follows.
pub(super) fn status(facts: &Facts<'_>, old: &HookBundleStatus) -> HookBundleStatus {
    let mut status = match facts.running {
        Some(version) => running(facts, version),
        // Nothing of it is in this process, and nothing is said to be gone that may come back.
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
        last_run: state.last_run.and_then(time),
        last_error: state.last_error.as_deref().and_then(text),
        failures: i64::try_from(state.failures).unwrap_or(i64::MAX),
        permissions: version.asked.get(&name).map(|asked| grants(asked)).unwrap_or_default(),
        missing: grants(&state.missing),
        name,
    }
}

fn suspended(hooks: &[HookStatus]) -> Vec<HookStatus> {
    let each = hooks.iter().cloned();
    each.map(|hook| HookStatus { state: phase(HookPhase::Suspended).to_owned(), reason: None, ..hook }).collect()
}

/// Milliseconds since the Unix epoch, in the API's form of whole seconds.
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

/// The same but for what each run changes.
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

/// A condition by its type.
pub(super) fn condition<'a>(all: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    all.iter().find(|condition| condition.type_ == type_)
}

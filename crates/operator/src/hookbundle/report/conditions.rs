//! The conditions of a HookBundle. Pure: the caller supplies the time of transitions.

use boathook_core::model::{HookPhase, HookState, Permission};

use super::{
    super::{Condition, convert, problem::cut, version::Version},
    Facts, Why, condition, phase,
};

pub const READY: &str = "Ready";
pub const VERIFIED: &str = "Verified";
pub const GRANTED: &str = "Granted";
pub const PROGRESSING: &str = "Progressing";
pub const SUSPENDED: &str = "Suspended";

const TRUE: &str = "True";
const FALSE: &str = "False";
const UNKNOWN: &str = "Unknown";

/// The status, reason and message of one condition.
struct Says(&'static str, &'static str, String);

/// Returns all conditions. A transition time changes only with its status.
pub fn all(facts: &Facts<'_>, old: &[Condition]) -> Vec<Condition> {
    let said = [
        (READY, Some(ready(facts))),
        (VERIFIED, verified(facts)),
        (GRANTED, granted(facts)),
        (PROGRESSING, Some(progressing(facts))),
        (SUSPENDED, Some(suspended(facts))),
    ];
    said.into_iter().filter_map(|(type_, says)| made(type_, says, facts, condition(old, type_))).collect()
}

/// If there is nothing to say, the previous condition stays.
fn made(type_: &str, says: Option<Says>, facts: &Facts<'_>, old: Option<&Condition>) -> Option<Condition> {
    let Some(Says(status, reason, message)) = says else { return old.cloned() };
    let since = old.filter(|old| old.status == status).map(|old| old.last_transition_time.clone());
    Some(Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        observed_generation: Some(facts.generation),
        last_transition_time: since.unwrap_or_else(|| facts.now.to_owned()),
        reason: reason.to_owned(),
        message: cut(message),
    })
}

fn ready(facts: &Facts<'_>) -> Says {
    if facts.suspended {
        return Says(FALSE, "Suspended", "nothing runs: spec.suspend".to_owned());
    }
    let Some(running) = facts.running else { return not_running(facts) };
    let also = aside(facts).map(|text| format!("; {text}")).unwrap_or_default();
    let total = facts.states.len();
    let unready: Vec<_> = facts.unready().collect();
    if unready.is_empty() {
        let hooks = if total == 1 { "hook is" } else { "hooks are" };
        return Says(TRUE, "HooksReady", format!("{total} {hooks} at work, of {}{also}", running.label));
    }
    let starting = unready.iter().all(|state| state.phase == HookPhase::Pending);
    let reason = if starting { "HooksStarting" } else { "HooksNotReady" };
    let each: Vec<_> = unready.iter().map(|state| unready_text(state)).collect();
    Says(FALSE, reason, format!("{} of {total} hooks are not at work: {}{also}", unready.len(), each.join("; ")))
}

fn unready_text(state: &HookState) -> String {
    match state.reason.as_str() {
        "" => format!("{} is {}", state.name, phase(state.phase)),
        reason => format!("{} is {}: {reason}", state.name, phase(state.phase)),
    }
}

fn not_running(facts: &Facts<'_>) -> Says {
    if let Some(problem) = facts.failed.or(facts.refused) {
        return Says(FALSE, problem.reason, problem.message.clone());
    }
    match facts.waiting {
        Some(waiting) => Says(FALSE, waiting.why.reason(), waits(&waiting.label, &waiting.why)),
        None => Says(FALSE, "Progressing", "it is looked for".to_owned()),
    }
}

/// Additional facts while a version runs.
fn aside(facts: &Facts<'_>) -> Option<String> {
    if let Some(waiting) = facts.waiting {
        return Some(waits(&waiting.label, &waiting.why));
    }
    let problem = facts.failed.or(facts.refused)?;
    let what = if problem.refused { "another version is refused" } else { "no news of other versions" };
    Some(format!("{what}: {}", problem.message))
}

fn waits(label: &str, why: &Why) -> String {
    match why {
        Why::Approval => format!("{label} waits for approval: set spec.approvedDigest"),
        Why::Grants(_) => format!("{label} waits: it asks for more than spec.grants has, see the condition Granted"),
    }
}

/// Describes the version that the source points to. Returns `None` until the source was looked up.
fn verified(facts: &Facts<'_>) -> Option<Says> {
    if let Some(problem) = facts.refused {
        let status = if problem.refused { FALSE } else { UNKNOWN };
        return Some(Says(status, problem.reason, problem.message.clone()));
    }
    let version = facts.found?;
    let (reason, why) = match (version.verified.by_digest, version.verified.by_keys.as_slice()) {
        (true, _) => ("DigestAllowed", "its digest is among those that are allowed".to_owned()),
        (false, []) => return Some(unchecked(version)),
        (false, keys) => ("Signed", format!("signed by {}", keys.join(", "))),
    };
    Some(Says(TRUE, reason, format!("{}: {why}", version.label)))
}

/// A version whose signature was not checked. At most its digest was.
fn unchecked(version: &Version) -> Says {
    if version.pinned {
        return Says(TRUE, "Pinned", format!("{}: spec.source names its digest", version.label));
    }
    let text = format!("{}: nothing was checked, as spec.verification.unsigned says", version.label);
    Says(UNKNOWN, "Unchecked", text)
}

fn granted(facts: &Facts<'_>) -> Option<Says> {
    if let Some(waiting) = facts.waiting
        && let Why::Grants(missing) = &waiting.why
    {
        let text = format!("{} asks for more; add to spec.grants:\n{}", waiting.label, rules(missing));
        return Some(Says(FALSE, "MissingGrants", text));
    }
    let of = |phase| facts.states.iter().filter(move |state| state.phase == phase);
    let missing: Vec<_> = of(HookPhase::Ungranted).flat_map(|state| state.missing.clone()).collect();
    if of(HookPhase::Ungranted).next().is_some() {
        let names: Vec<_> = of(HookPhase::Ungranted).map(|state| state.name.to_string()).collect();
        let text = format!("{} asks for more; add to spec.grants:\n{}", names.join(", "), rules(&missing));
        return Some(Says(FALSE, "MissingGrants", text));
    }
    let forbidden: Vec<_> = of(HookPhase::Forbidden).map(unready_text).collect();
    if !forbidden.is_empty() {
        return Some(Says(FALSE, "ServiceAccountForbidden", forbidden.join("; ")));
    }
    match facts.failed {
        Some(problem) if problem.reason == "ServiceAccountForbidden" => {
            Some(Says(FALSE, problem.reason, problem.message.clone()))
        }
        _ if facts.suspended => None,
        _ if facts.running.is_some() => Some(Says(TRUE, "Granted", "all that hooks ask for is granted".to_owned())),
        _ => Some(Says(UNKNOWN, "NotInstalled", "no version is at work".to_owned())),
    }
}

/// Writes each rule as a line of YAML, without repetitions.
fn rules(missing: &[Permission]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for grant in convert::grants(missing) {
        let line = format!("- {}", serde_json::to_string(&grant).unwrap_or_default());
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

fn progressing(facts: &Facts<'_>) -> Says {
    let says = |status, reason, text: &str| Says(status, reason, text.to_owned());
    if facts.suspended {
        return says(FALSE, "Suspended", "no new version is looked for: spec.suspend");
    }
    if let Some(waiting) = facts.waiting {
        return Says(FALSE, waiting.why.reason(), waits(&waiting.label, &waiting.why));
    }
    if let Some(problem) = facts.failed.or(facts.refused) {
        return Says(TRUE, problem.reason, format!("it is tried again: {}", problem.message));
    }
    match facts.running {
        None => says(TRUE, "Looking", "it is looked for"),
        Some(_) if facts.unready().any(|state| state.phase == HookPhase::Pending) => {
            says(TRUE, "HooksStarting", "hooks are starting")
        }
        Some(_) => says(FALSE, "Settled", "the version that spec asks for is at work"),
    }
}

fn suspended(facts: &Facts<'_>) -> Says {
    match facts.suspended {
        true => Says(TRUE, "Suspended", "spec.suspend is set".to_owned()),
        false => Says(FALSE, "NotSuspended", "spec.suspend is not set".to_owned()),
    }
}

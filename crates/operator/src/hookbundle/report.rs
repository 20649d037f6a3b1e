//! The status of a HookBundle, from what is known about it, and the Events that its changes cause. Pure.

use boathook_core::model::{
    CredentialProblem, CredentialProblemKind, HookPhase, HookState, InterpreterRef, Permission,
};

use super::{
    Available, Condition, HookBundleStatus, HookStatus, Pending, RolloutStatus,
    problem::{Problem, cut},
    version::{Version, grants},
};
use crate::status_event::StatusEvent;

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
    /// The rollout of a new version.
    pub rollout: Option<&'a RolloutStatus>,
    /// Why the version that should have taken over did not.
    pub failed: Option<&'a Problem>,
    pub states: &'a [HookState],
    /// Why credentials cannot be used. `None`: there are none, or they were not checked yet.
    pub credentials: Option<&'a [CredentialProblem]>,
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
    /// It differs from the running version, for this reason.
    HeldBack(String),
    /// It failed more than the version before.
    RolledBack(String),
}

/// The phases of a rollout.
pub const COMPARING: &str = "Comparing";
pub const HELD_BACK: &str = "HeldBack";
pub const WATCHING: &str = "Watching";
pub const COMPLETE: &str = "Complete";
pub const ROLLED_BACK: &str = "RolledBack";

impl Why {
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Approval => "AwaitingApproval",
            Self::Grants(_) => "MissingGrants",
            Self::HeldBack(_) => HELD_BACK,
            Self::RolledBack(_) => ROLLED_BACK,
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
            hooks: if facts.suspended { suspended_hooks(&old.hooks) } else { Vec::new() },
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
            Why::Approval | Why::HeldBack(_) | Why::RolledBack(_) => Vec::new(),
            Why::Grants(missing) => grants(missing),
        },
    });
    if !status.hooks.is_empty() {
        let ready = status.hooks.iter().filter(|hook| hook.state == phase(HookPhase::Ready)).count();
        status.hooks_ready = Some(format!("{ready}/{}", status.hooks.len()));
    }
    status.rollout = match facts.suspended {
        true => old.rollout.clone(),
        false => facts.rollout.cloned(),
    };
    status.observed_generation = Some(facts.generation);
    status.conditions = all(facts, &old.conditions);
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

fn suspended_hooks(hooks: &[HookStatus]) -> Vec<HookStatus> {
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
        if let Some(rollout) = &mut status.rollout {
            (rollout.runs, rollout.failures) = (0, 0);
            for hook in &mut rollout.hooks {
                (hook.equal, hook.different, hook.skipped) = (0, hook.different.min(1), 0);
            }
        }
        status
    };
    plain(a) == plain(b)
}

/// Finds a condition by its type.
pub(super) fn condition<'a>(all: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    all.iter().find(|condition| condition.type_ == type_)
}

pub const READY: &str = "Ready";
pub const VERIFIED: &str = "Verified";
pub const GRANTED: &str = "Granted";
pub const CREDENTIALS: &str = "Credentials";
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
        (CREDENTIALS, facts.credentials.map(credentials)),
        (PROGRESSING, Some(progressing(facts))),
        (SUSPENDED, Some(suspended(facts))),
    ];
    // A spec without credentials says nothing about them.
    let said = said.into_iter().filter(|(type_, says)| *type_ != CREDENTIALS || says.is_some());
    said.filter_map(|(type_, says)| made(type_, says, facts, condition(old, type_))).collect()
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
        return Says(TRUE, "HooksReady", format!("{total} {hooks} ready, of {}{also}", running.label));
    }
    let starting = unready.iter().all(|state| state.phase == HookPhase::Pending);
    let reason = if starting { "HooksStarting" } else { "HooksNotReady" };
    let each: Vec<_> = unready.iter().map(|state| unready_text(state)).collect();
    Says(FALSE, reason, format!("{} of {total} hooks are not ready: {}{also}", unready.len(), each.join("; ")))
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
        None => Says(FALSE, "Progressing", "the operator is checking for it".to_owned()),
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
        Why::HeldBack(why) => {
            format!("{label} is held back, and takes over if spec.rollout.approvedDigest names it: {why}")
        }
        Why::RolledBack(why) => format!("{label} was rolled back: {why}"),
        Why::Grants(_) => format!("{label} waits: it requests more than spec.grants has, see the condition Granted"),
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
        let text = format!("{} requests more; add to spec.grants:\n{}", waiting.label, rules(missing));
        return Some(Says(FALSE, "MissingGrants", text));
    }
    let of = |phase| facts.states.iter().filter(move |state| state.phase == phase);
    let missing: Vec<_> = of(HookPhase::Ungranted).flat_map(|state| state.missing.clone()).collect();
    if of(HookPhase::Ungranted).next().is_some() {
        let names: Vec<_> = of(HookPhase::Ungranted).map(|state| state.name.to_string()).collect();
        let text = format!("{} requests more; add to spec.grants:\n{}", names.join(", "), rules(&missing));
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
        _ => Some(Says(UNKNOWN, "NotInstalled", "no version runs".to_owned())),
    }
}

fn credentials(problems: &[CredentialProblem]) -> Says {
    let Some(first) = problems.first() else {
        return Says(TRUE, "CredentialsReady", "the values of all credentials can be read".to_owned());
    };
    let (status, reason) = match first.kind {
        CredentialProblemKind::Missing => (FALSE, "SecretMissing"),
        CredentialProblemKind::Forbidden => (FALSE, "ServiceAccountForbidden"),
        CredentialProblemKind::Invalid => (FALSE, "CredentialInvalid"),
        CredentialProblemKind::Unknown => (UNKNOWN, "SecretUnread"),
    };
    let each: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    Says(status, reason, format!("requests to these hosts fail: {}", each.join("; ")))
}

/// Writes each rule as a line of YAML, without repetitions.
fn rules(missing: &[Permission]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let ungrantable = missing.iter().filter_map(|permission| permission.directory.as_ref());
    let ungrantable = ungrantable.map(|rule| {
        format!("# {rule}: a HookBundle cannot grant it; the operator's admin can load the hook with --hooks")
    });
    let grants = grants(missing).into_iter();
    let lines_of = grants.map(|grant| format!("- {}", serde_json::to_string(&grant).unwrap_or_default()));
    for line in lines_of.chain(ungrantable) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

fn progressing(facts: &Facts<'_>) -> Says {
    let says = |status, reason, text: &str| Says(status, reason, text.to_owned());
    if facts.suspended {
        return says(FALSE, "Suspended", "the operator checks for no new version: spec.suspend");
    }
    if let Some(waiting) = facts.waiting {
        return Says(FALSE, waiting.why.reason(), waits(&waiting.label, &waiting.why));
    }
    if let Some(problem) = facts.failed.or(facts.refused) {
        return Says(TRUE, problem.reason, format!("it is tried again: {}", problem.message));
    }
    if let Some(rollout) = facts.rollout.filter(|rollout| rollout.phase == COMPARING) {
        let text = format!("{} runs in the shadow of the running version: see status.rollout", rollout.version);
        return Says(TRUE, COMPARING, text);
    }
    match facts.running {
        None => says(TRUE, "Looking", "the operator is checking for it"),
        Some(_) if facts.unready().any(|state| state.phase == HookPhase::Pending) => {
            says(TRUE, "HooksStarting", "hooks are starting")
        }
        Some(_) => says(FALSE, "Settled", "the version that spec requests is running"),
    }
}

fn suspended(facts: &Facts<'_>) -> Says {
    match facts.suspended {
        true => Says(TRUE, "Suspended", "spec.suspend is set".to_owned()),
        false => Says(FALSE, "NotSuspended", "spec.suspend is not set".to_owned()),
    }
}

/// Lists the Events that a change of status causes. A state that did not change causes no further Event.
pub(super) fn status_events(old: &HookBundleStatus, new: &HookBundleStatus) -> Vec<StatusEvent> {
    let mut events = Vec::new();
    events.extend(version(old, new));
    events.extend(pending(old, new));
    events.extend(rollout(old, new));
    for (type_, action) in [(VERIFIED, "Verify"), (GRANTED, "Grant"), (CREDENTIALS, "Authenticate")] {
        events.extend(problem(old, new, type_, action));
    }
    events.extend(stuck(old, new));
    events.extend(suspended_or_resumed(old, new));
    events.extend(ready_or_not(old, new));
    events
}

fn version(old: &HookBundleStatus, new: &HookBundleStatus) -> Option<StatusEvent> {
    let label = new.version.clone().unwrap_or_default();
    match (&old.digest, &new.digest) {
        (None, Some(_)) => Some(StatusEvent::normal("Installed", "Install", format!("{label} is installed"))),
        (Some(before), Some(after)) if before != after => {
            let before = old.version.clone().unwrap_or_default();
            Some(StatusEvent::normal("Upgraded", "Install", format!("{label} took over from {before}")))
        }
        _ => None,
    }
}

fn pending(old: &HookBundleStatus, new: &HookBundleStatus) -> Option<StatusEvent> {
    let waits = new.pending.as_ref().filter(|pending| pending.reason == "AwaitingApproval")?;
    let known = old.pending.as_ref().is_some_and(|old| old.digest == waits.digest && old.reason == waits.reason);
    let text = || format!("{} waits for approval: set spec.approvedDigest to {}", waits.version, waits.digest);
    (!known).then(|| StatusEvent::normal("AwaitingApproval", "Approve", text()))
}

/// A rollout that entered another phase. That a version took over is an Event of its own.
fn rollout(old: &HookBundleStatus, new: &HookBundleStatus) -> Option<StatusEvent> {
    let now = new.rollout.as_ref()?;
    let same = |old: &RolloutStatus| (&old.digest, &old.phase) == (&now.digest, &now.phase);
    if old.rollout.as_ref().is_some_and(same) {
        return None;
    }
    let (label, why) = (&now.version, now.message.as_deref().unwrap_or_default());
    match now.phase.as_str() {
        COMPARING => {
            let text = format!("{label} runs in the shadow of the running version");
            Some(StatusEvent::normal(COMPARING, "Compare", text))
        }
        HELD_BACK => Some(StatusEvent::warning(HELD_BACK, "Compare", &waits(label, &Why::HeldBack(why.to_owned())))),
        ROLLED_BACK => {
            Some(StatusEvent::warning(ROLLED_BACK, "RollBack", &waits(label, &Why::RolledBack(why.to_owned()))))
        }
        COMPLETE => {
            let text = format!("{label} fails no more than the version before");
            Some(StatusEvent::normal("RolloutComplete", "Compare", text))
        }
        _ => None,
    }
}

/// A condition that no longer holds, or does not hold for a new reason.
fn problem(old: &HookBundleStatus, new: &HookBundleStatus, type_: &str, action: &'static str) -> Option<StatusEvent> {
    const QUIET: [&str; 2] = ["NotInstalled", "Unchecked"];
    let now = condition(&new.conditions, type_).filter(|now| now.status != "True")?;
    let before = condition(&old.conditions, type_);
    let same = before.is_some_and(|before| (&before.status, &before.reason) == (&now.status, &now.reason));
    // If another version is refused for the same reason, that is news, too.
    let other = old.available != new.available || old.pending != new.pending;
    let news = !same || (other && before.is_some_and(|before| before.message != now.message));
    (news && !QUIET.contains(&now.reason.as_str())).then(|| StatusEvent::warning(&now.reason, action, &now.message))
}

/// A version that is trusted and could not take over.
fn stuck(old: &HookBundleStatus, new: &HookBundleStatus) -> Option<StatusEvent> {
    const QUIET: [&str; 3] = ["Looking", "HooksStarting", COMPARING];
    let now = condition(&new.conditions, PROGRESSING).filter(|now| now.status == "True")?;
    let before = condition(&old.conditions, PROGRESSING);
    let same = before.is_some_and(|before| before.reason == now.reason && old.available == new.available);
    let news = !same && !QUIET.contains(&now.reason.as_str()) && !is_said(new, &now.reason, &[VERIFIED, GRANTED]);
    news.then(|| StatusEvent::warning(&now.reason, "Install", &now.message))
}

/// Whether one of these conditions already reports the same reason as a problem.
fn is_said(status: &HookBundleStatus, reason: &str, types: &[&str]) -> bool {
    let says = |type_: &&str| {
        condition(&status.conditions, type_).is_some_and(|other| other.reason == reason && other.status != "True")
    };
    types.iter().any(says)
}

fn suspended_or_resumed(old: &HookBundleStatus, new: &HookBundleStatus) -> Option<StatusEvent> {
    let is = |status: &HookBundleStatus| {
        condition(&status.conditions, SUSPENDED).is_some_and(|condition| condition.status == "True")
    };
    match (is(old), is(new)) {
        (false, true) => Some(StatusEvent::normal("Suspended", "Suspend", "nothing of it runs".to_owned())),
        (true, false) => Some(StatusEvent::normal("Resumed", "Resume", "it runs again".to_owned())),
        _ => None,
    }
}

/// Hooks that became ready or stopped being ready. Reports nothing that another Event already says.
fn ready_or_not(old: &HookBundleStatus, new: &HookBundleStatus) -> Option<StatusEvent> {
    let now = condition(&new.conditions, READY)?;
    let before = condition(&old.conditions, READY);
    if before.is_some_and(|before| (&before.status, &before.reason) == (&now.status, &now.reason)) {
        return None;
    }
    if now.status == "True" {
        return Some(StatusEvent::normal("Ready", "Run", now.message.clone()));
    }
    let stuck = condition(&new.conditions, PROGRESSING).is_some_and(|other| other.reason == now.reason);
    let said = stuck || is_said(new, &now.reason, &[VERIFIED, GRANTED]);
    const QUIET: [&str; 4] = ["Progressing", "HooksStarting", "Suspended", "AwaitingApproval"];
    (!said && !QUIET.contains(&now.reason.as_str())).then(|| StatusEvent::warning(&now.reason, "Run", &now.message))
}

#[cfg(test)]
mod tests {
    use boathook_bundle::Verified;
    use boathook_core::model::{HookName, HttpRule, Permission};

    use super::{status_events, *};

    fn version(label: &str) -> Version {
        Version {
            digest: format!("sha256:{label}"),
            label: label.to_owned(),
            definitions: Vec::new(),
            hooks: Vec::new(),
            module: None,
            schema: None,
            verified: Verified { by_keys: vec!["ci".to_owned()], ..Verified::default() },
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
            rollout: None,
            failed: None,
            states: &[],
            credentials: None,
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
    fn a_rollout_is_told_phase_by_phase() {
        let (a, b, ready) = (version("a"), version("b"), [state("x", HookPhase::Ready, "")]);
        let hook = |equal, different| super::super::HookRollout {
            name: "x".to_owned(),
            equal,
            different,
            skipped: 0,
            example: None,
        };
        let of = |phase: &str, message: Option<&str>| RolloutStatus {
            digest: "sha256:b".to_owned(),
            version: "b".to_owned(),
            phase: phase.to_owned(),
            message: message.map(str::to_owned),
            hooks: vec![hook(1, 0)],
            ..RolloutStatus::default()
        };
        let running = Facts { running: Some(&a), found: Some(&b), states: &ready, ..facts() };
        let first = status(&running, &HookBundleStatus::default());
        let comparing = of(COMPARING, None);
        let compared = status(&Facts { rollout: Some(&comparing), ..running }, &first);
        assert_eq!(
            (says(&compared, "Progressing"), says(&compared, "Ready")),
            ("True Comparing".into(), "True HooksReady".into())
        );
        assert_eq!(reasons(&first, &compared), ["Comparing"]);
        // Counts alone are not written at once, and the first difference is.
        let more = |hook| {
            status(
                &Facts { rollout: Some(&RolloutStatus { hooks: vec![hook], ..of(COMPARING, None) }), ..running },
                &compared,
            )
        };
        assert!(same_but_for_runs(&compared, &more(hook(9, 0))));
        assert!(!same_but_for_runs(&compared, &more(hook(9, 1))));

        let held = of(HELD_BACK, Some("1 of 3 runs differ"));
        let waiting =
            Waiting { digest: "sha256:b".into(), label: "b".into(), why: Why::HeldBack("1 of 3 runs differ".into()) };
        let held = status(&Facts { rollout: Some(&held), waiting: Some(&waiting), ..running }, &compared);
        assert_eq!(
            (says(&held, "Progressing"), says(&held, "Ready")),
            ("False HeldBack".into(), "True HooksReady".into())
        );
        assert_eq!(held.pending.as_ref().unwrap().reason, "HeldBack");
        assert!(
            condition(&held.conditions, "Ready")
                .unwrap()
                .message
                .contains("approvedDigest names it: 1 of 3 runs differ")
        );
        assert_eq!(reasons(&compared, &held), ["HeldBack"]);

        let watching = of(WATCHING, None);
        let switched = Facts { running: Some(&b), rollout: Some(&watching), ..running };
        let watched = status(&switched, &held);
        assert_eq!(reasons(&held, &watched), ["Upgraded"]);
        let back = of(ROLLED_BACK, Some("3 of 3 runs of b failed"));
        let back = status(&Facts { rollout: Some(&back), ..running }, &watched);
        assert_eq!(reasons(&watched, &back), ["Upgraded", "RolledBack"]);
        let complete = of(COMPLETE, None);
        assert_eq!(
            reasons(&watched, &status(&Facts { rollout: Some(&complete), ..switched }, &watched)),
            ["RolloutComplete"]
        );
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
    fn what_runs_change_is_distinguished_from_the_rest() {
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
            http: None,
            directory: None,
        };
        let http = HttpRule { hosts: list(&["a.io"]), methods: list(&["GET"]), paths: Vec::new() };
        let waiting = Waiting {
            digest: "sha256:b".into(),
            label: "b".into(),
            why: Why::Grants(vec![missing.clone(), Permission::of_http(http), missing]),
        };
        let ready = [state("x", HookPhase::Ready, "")];
        let facts = Facts { running: Some(&a), found: Some(&a), states: &ready, waiting: Some(&waiting), ..facts() };
        let status = status(&facts, &HookBundleStatus::default());
        let message = &condition(&status.conditions, "Granted").unwrap().message;
        let rules: Vec<super::super::Grant> = yaml_serde::from_str(message.split_once('\n').unwrap().1).unwrap();
        assert_eq!(rules, status.pending.unwrap().missing[..2]);
        assert_eq!(rules[0].namespaces, ["team"]);
        assert!(message.ends_with(r#"- {"http":{"hosts":["a.io"],"methods":["GET"]}}"#), "{message}");
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

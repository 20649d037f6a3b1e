//! Which Events a change of status causes. Pure. A state that did not change causes no further Event.

use super::{
    HookBundleStatus,
    report::condition,
    report::conditions::{GRANTED, PROGRESSING, READY, SUSPENDED, VERIFIED},
};

/// One Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatusEvent {
    pub warning: bool,
    pub reason: String,
    pub text: String,
    /// What the controller did.
    pub action: &'static str,
}

impl StatusEvent {
    fn normal(reason: &str, action: &'static str, text: String) -> Self {
        Self { warning: false, reason: reason.to_owned(), text, action }
    }

    fn warning(reason: &str, action: &'static str, text: &str) -> Self {
        Self { warning: true, reason: reason.to_owned(), text: text.to_owned(), action }
    }
}

/// Lists the Events.
pub(super) fn status_events(old: &HookBundleStatus, new: &HookBundleStatus) -> Vec<StatusEvent> {
    let mut events = Vec::new();
    events.extend(version(old, new));
    events.extend(pending(old, new));
    for (type_, action) in [(VERIFIED, "Verify"), (GRANTED, "Grant")] {
        events.extend(problem(old, new, type_, action));
    }
    events.extend(stuck(old, new));
    events.extend(suspended(old, new));
    events.extend(ready(old, new));
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
    const QUIET: [&str; 2] = ["Looking", "HooksStarting"];
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

fn suspended(old: &HookBundleStatus, new: &HookBundleStatus) -> Option<StatusEvent> {
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
fn ready(old: &HookBundleStatus, new: &HookBundleStatus) -> Option<StatusEvent> {
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

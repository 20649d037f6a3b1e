//! The state of a bundle's hook, from what the operator knows about it.

use std::time::Duration;

use boathook_core::model::{HookName, HookPhase, HookState, error_chain};
use jiff::Timestamp;

use super::Member;
use crate::{
    admin::views::{LastRun, RunResult},
    app::{hook_manager::HookManager, judge::Held},
    telemetry::Readiness,
};

/// `readiness` is that of the operator, taken once for all of a bundle's hooks.
pub(super) fn state(
    hook_manager: &HookManager,
    readiness: &Readiness,
    name: HookName,
    member: &Member,
    suspended: bool,
) -> HookState {
    let hook = member.origin.name.clone();
    let counts = hook_manager.services.history.counts(hook.as_str());
    let failed = counts.last.as_ref().is_some_and(|last| last.result != RunResult::Succeeded);
    let last_error = failed.then(|| {
        let runs = hook_manager.services.history.runs(Some(hook.as_str()), true);
        runs.into_iter().find_map(|run| run.outcome.message)
    });
    let live = hook_manager.hook_registry.hook(&hook);
    let (phase, reason) = match &live {
        Some(_) => at_work(readiness, &hook),
        None => out(hook_manager, member, suspended),
    };
    HookState {
        name,
        phase,
        reason,
        missing: match (&live, member.held.as_deref()) {
            (None, Some(held)) => held.missing().to_vec(),
            _ => Vec::new(),
        },
        digest: live.as_ref().map(|hook| hook.component.digest().to_owned()),
        interpreter: live.as_ref().and_then(|hook| Some(hook.component.script()?.interpreter.clone())),
        last_run: counts.last.as_ref().and_then(ended),
        last_error: last_error.flatten(),
        runs: counts.total,
        failures: counts.failed,
        hook,
    }
}

fn at_work(readiness: &Readiness, hook: &HookName) -> (HookPhase, String) {
    match readiness.hooks.iter().find(|known| known.hook == hook.as_str()) {
        Some(known) if !known.missing.is_empty() => (HookPhase::Pending, known.missing.join("; ")),
        _ => (HookPhase::Ready, String::new()),
    }
}

fn out(hook_manager: &HookManager, member: &Member, suspended: bool) -> (HookPhase, String) {
    match member.held.as_deref() {
        Some(held) => (held.phase(), error_chain(held)),
        None if suspended => (HookPhase::Suspended, error_chain(&Held::Suspended)),
        None => {
            let quarantined = hook_manager.hook_registry.quarantined();
            let reason = quarantined.into_iter().find(|(name, _)| name == member.origin.name.as_str());
            (HookPhase::Quarantined, reason.map(|(_, reason)| reason).unwrap_or_default())
        }
    }
}

/// Milliseconds since the Unix epoch.
fn ended(last: &LastRun) -> Option<u64> {
    let started: Timestamp = last.started.parse().ok()?;
    let took = Duration::try_from_secs_f64(last.duration_ms / 1e3).ok()?;
    u64::try_from(started.checked_add(took).ok()?.as_millisecond()).ok()
}

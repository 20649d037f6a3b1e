//! Loops of hooks, and fights with others: the operator reports them, and does what the policy says. The rules are in `boathook_core::causes`.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use boathook_core::{
    causes::{Causes, Loop, LoopKind, Turned},
    model::{HookName, Trigger},
    queue,
};
use tracing::{info, warn};

use super::{LoopPolicy, events, hooks::HookRegistry};
use crate::telemetry::Metrics;

/// The most fields of a link that are named.
const FIELDS: usize = 4;

/// Reports loops, and does what the policy says.
pub(super) struct LoopWatch {
    pub policy: LoopPolicy,
    pub causes: Arc<Causes>,
    pub metrics: Arc<Metrics>,
    pub hook_registry: Arc<HookRegistry>,
    pub queue: queue::Handle,
    pub events: events::Outlet,
    /// Hooks that are paused because of a loop.
    pub paused: Mutex<HashSet<HookName>>,
}

impl LoopWatch {
    /// A write was a turn of a loop.
    pub fn turned(&self, turned: &Turned) {
        let Turned { named, new } = turned;
        let mut hooks: Vec<_> = named.links.iter().map(|link| &link.hook).collect();
        hooks.sort();
        hooks.dedup();
        for hook in &hooks {
            self.metrics.loop_turned(hook);
        }
        // A loop that has ended since is no news.
        let stopped = self.policy != LoopPolicy::Stop || self.stop(named, &hooks);
        if !new || !stopped {
            return;
        }
        let text = format!("{}: {}; {}", kind(named), described(named), self.then(named));
        let names: Vec<_> = hooks.iter().map(|hook| hook.as_str()).collect();
        warn!(hooks = names.join(","), "{text}");
        for hook in hooks.iter().filter_map(|hook| self.hook_registry.hook(hook)) {
            self.events.looped(&hook.tenant(), &hook.spec.name, text.clone());
        }
    }

    fn then(&self, named: &Loop) -> &'static str {
        match (self.policy, &named.kind) {
            (LoopPolicy::Warn, _) => "nothing slows it: --loops says what else happens",
            (LoopPolicy::Slow, _) => "events of its objects wait longer with each turn",
            (LoopPolicy::Stop, LoopKind::Fight(_)) => {
                "the hook is paused until it has a new version, or until `boathook resume HOOK`"
            }
            (LoopPolicy::Stop, _) => {
                "its hooks are paused until one of them has a new version, or until `boathook resume HOOK`"
            }
        }
    }

    /// Pauses the hooks that run, unless the loop has ended since. A hook that an admin has paused stays so when the loop
    /// ends.
    fn stop(&self, named: &Loop, hooks: &[&HookName]) -> bool {
        let mut ours = self.ours();
        if !self.causes.hold_loop(named) {
            return false;
        }
        let stats = self.queue.stats();
        let pauses = |hook: &HookName| stats.hooks.iter().any(|stats| stats.hook == *hook && stats.paused);
        for hook in hooks.iter().filter(|hook| !pauses(hook)) {
            if self.queue.pause(hook) {
                ours.insert((*hook).clone());
            }
        }
        true
    }

    fn ours(&self) -> std::sync::MutexGuard<'_, HashSet<HookName>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hook has changed, is gone, or an admin lets it run again: its loops end, and what was paused because of them runs
    /// again. If nothing is different, the next turns name the loop again.
    pub fn changed(&self, hook: &HookName) {
        let mut ours = self.ours();
        let ended = self.causes.forget_loops(hook);
        let left = self.causes.loops(SystemTime::now());
        let still = |hook: &HookName| left.iter().any(|named| named.is_held() && named.has(hook));
        for hook in ended.iter().flat_map(|named| &named.links).map(|link| &link.hook).filter(|hook| !still(hook)) {
            if ours.remove(hook) && self.queue.resume(hook) {
                info!(%hook, "its loop has ended: the hook runs again");
            }
        }
    }

    /// An admin pauses a hook. The end of a loop does not change that.
    pub fn stays_paused(&self, hook: &HookName) {
        self.ours().remove(hook);
    }

    /// An event of an object waits for a hook that is in a loop over it.
    pub fn slow(&self, trigger: &mut Trigger) {
        if self.policy == LoopPolicy::Slow
            && let Some(delay) = self.causes.delay(trigger, SystemTime::now())
        {
            trigger.debounce = trigger.debounce.max(delay);
        }
    }

    /// Those of a hook, for people.
    pub fn of(&self, hook: &HookName, loops: &[Loop]) -> Vec<String> {
        let its = loops.iter().filter(|named| named.has(hook));
        its.map(|named| format!("{}: {}", kind(named), described(named))).collect()
    }
}

/// `a loop` or `a fight`.
fn kind(named: &Loop) -> &'static str {
    if matches!(named.kind, LoopKind::Fight(_)) { "a fight" } else { "a loop" }
}

/// All of them, for people.
pub(super) fn all(causes: &Causes) -> Vec<String> {
    let loops = causes.loops(SystemTime::now());
    loops.iter().map(|named| format!("{}: {}", kind(named), described(named))).collect()
}

/// Names the hooks of a loop, and what each of them writes.
fn described(named: &Loop) -> String {
    let links = named.links.iter().map(|link| {
        let fields = match link.fields.as_slice() {
            [] => String::new(),
            fields => format!(" ({})", fields.iter().take(FIELDS).map(|field| &**field).collect::<Vec<_>>().join(", ")),
        };
        let subresource = link.subresource.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        format!("hook {} writes {}{subresource}{fields}", link.hook, link.object)
    });
    let links = links.collect::<Vec<_>>().join(", because of which ");
    match &named.kind {
        LoopKind::Same => format!("{links}, and so on, with the same content again"),
        LoopKind::Often => format!("{links}, and so on, very often"),
        LoopKind::Fight(managers) => format!("{links}, and field manager {managers} changes it back each time"),
    }
}

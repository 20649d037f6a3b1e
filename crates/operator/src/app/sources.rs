//! The sources of hooks, and the progress of each.
//!
//! What hooks registered at the API server stays until their source is settled: a start must not remove a webhook only
//! because its bundle is not pulled yet. The directory is read before anything else, so it is always settled.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::model::{BundleId, BundleNews, HookBundlesNews, Source};
use tokio::sync::watch;

use crate::{
    registration::{Pending, PendingModules},
    telemetry::SourceReadiness,
};

/// How long a start may last: until then, tenants' bundles count for readiness, and no reviews are routed to a replica
/// that does not have all hooks. Without this limit, one tenant's broken bundle would keep the operator unready for all
/// others.
const START: Duration = Duration::from_secs(60);

/// The sources that an operator has in addition to its directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Awaited {
    /// Bundles that were named on the command line.
    pub bundles: Vec<BundleId>,
    /// Whether the operator runs HookBundles.
    pub hook_bundles: bool,
}

/// All sources except the directory.
pub(super) struct Sources {
    state: Mutex<State>,
    changes: watch::Sender<()>,
}

struct State {
    bundles: BTreeMap<BundleId, Standing>,
    hook_bundles: HookBundles,
    modules: PendingModules,
    /// The hooks of modules are not loaded yet that answer on a replica that does not lead.
    without_stand_ins: bool,
    /// The beginning of the start, for an operator that lists no HookBundles.
    created: Instant,
    /// Whether the start is over. It never begins again.
    started: bool,
}

/// The progress of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Standing {
    /// Why none of its hooks runs. `None` if one does, or none is meant to.
    missing: Option<String>,
    /// It never becomes false again: once a bundle was settled, its hooks are known.
    settled: bool,
    /// Whether anything was reported about the bundle. If not, only its name is known, and it may be deleted before
    /// anything is reported.
    noted: bool,
}

impl Standing {
    fn awaited() -> Self {
        Self { missing: Some("it is not loaded yet".to_owned()), settled: false, noted: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookBundles {
    /// This operator does not run HookBundles.
    Off,
    /// It is not known yet which ones exist.
    Unlisted,
    /// None can exist. Their registrations stay, because an API server that starts serves custom resources late.
    Unserved,
    Listed(Instant),
}

impl Sources {
    /// `changes` is notified of every change.
    pub fn new(awaited: &Awaited, changes: watch::Sender<()>) -> Self {
        let bundles = awaited.bundles.iter().map(|id| (id.clone(), Standing::awaited())).collect();
        let hook_bundles = if awaited.hook_bundles { HookBundles::Unlisted } else { HookBundles::Off };
        let modules = PendingModules::default();
        let created = Instant::now();
        let state = State { bundles, hook_bundles, modules, without_stand_ins: false, created, started: false };
        Self { state: Mutex::new(state), changes }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, id: &BundleId, news: BundleNews) {
        let mut state = self.state();
        let known = state.bundles.entry(id.clone()).or_insert_with(Standing::awaited);
        let before = known.clone();
        known.noted = true;
        known.missing = if let BundleNews::Missing(why) = &news { Some(why.clone()) } else { None };
        known.settled |= news == BundleNews::Settled;
        let changed = *known != before;
        drop(state);
        if changed {
            self.changes.send_replace(());
        }
    }

    pub fn note_hook_bundles(&self, news: HookBundlesNews) {
        let mut state = self.state();
        let before = (state.hook_bundles, state.bundles.len());
        state.hook_bundles = match (news, before.0) {
            (HookBundlesNews::Unserved, HookBundles::Listed(_)) => before.0,
            (HookBundlesNews::Unserved, _) => HookBundles::Unserved,
            (HookBundlesNews::Listed(ids), before) => {
                state.bundles.retain(|id, known| known.noted || !is_tenants(id) || ids.contains(id));
                for id in ids {
                    state.bundles.entry(id).or_insert_with(Standing::awaited);
                }
                if let HookBundles::Listed(_) = before { before } else { HookBundles::Listed(Instant::now()) }
            }
        };
        let changed = (state.hook_bundles, state.bundles.len()) != before;
        drop(state);
        if changed {
            self.changes.send_replace(());
        }
    }

    /// Takes a note of the modules whose hooks may not be loaded.
    pub fn note_modules(&self, pending: PendingModules) {
        let mut state = self.state();
        let changed = state.modules != pending;
        state.modules = pending;
        drop(state);
        if changed {
            self.changes.send_replace(());
        }
    }

    /// Takes a note of whether hooks of modules that answer are still missing on a replica that does not lead.
    pub fn note_without_stand_ins(&self, missing: bool) {
        let before = std::mem::replace(&mut self.state().without_stand_ins, missing);
        if before != missing {
            self.changes.send_replace(());
        }
    }

    /// Waits until each module was tried.
    pub async fn modules_settled(&self) {
        let mut changes = self.changes.subscribe();
        while self.state().modules == PendingModules::Unknown {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// The bundle was removed.
    pub fn forget(&self, id: &BundleId) {
        if self.state().bundles.remove(id).is_some() {
            self.changes.send_replace(());
        }
    }

    /// The sources that may still need what is registered.
    pub fn pending(&self) -> Pending {
        let state = self.state();
        let unsettled = state.bundles.iter().filter(|(_, standing)| !standing.settled);
        Pending {
            hooks: BTreeSet::new(),
            bundles: unsettled.map(|(id, _)| id.clone()).collect(),
            unlisted: matches!(state.hook_bundles, HookBundles::Unlisted | HookBundles::Unserved),
            modules: state.modules.clone(),
        }
    }

    /// Whether a hook that is not known may still be added.
    pub fn may_have_more(&self) -> bool {
        let state = self.state();
        state.hook_bundles == HookBundles::Unlisted
            || state.modules != PendingModules::default()
            || state.bundles.values().any(|standing| standing.missing.is_some())
    }

    /// Whether the start still lasts: until no hook and no source waits for anything, but for at most [`START`] after
    /// HookBundles are listed. `waiting` says that a hook waits for something.
    pub fn is_starting(&self, now: Instant, waiting: bool) -> bool {
        let mut state = self.state();
        let since = match state.hook_bundles {
            HookBundles::Unlisted => return !state.started,
            HookBundles::Off | HookBundles::Unserved => state.created,
            HookBundles::Listed(since) => since,
        };
        let late = now.duration_since(since) >= START;
        let waiting = waiting || state.without_stand_ins;
        if late || !(waiting || state.bundles.values().any(|standing| standing.missing.is_some())) {
            state.started = true;
        }
        !state.started
    }

    /// What is missing. `tenants` says whether tenants' bundles count.
    pub fn readiness(&self, tenants: bool) -> Vec<SourceReadiness> {
        let state = self.state();
        let listed = match state.hook_bundles {
            HookBundles::Off => None,
            HookBundles::Unlisted => Some("they are not listed yet".to_owned()),
            HookBundles::Unserved | HookBundles::Listed(_) => Some(String::new()),
        };
        let all = listed.map(|missing| SourceReadiness { source: "HookBundles".to_owned(), missing, counts: true });
        let each = state.bundles.iter().map(|(id, standing)| SourceReadiness {
            source: Source::Bundle(id.clone()).to_string(),
            missing: standing.missing.clone().unwrap_or_default(),
            counts: !is_tenants(id) || tenants,
        });
        let stand_ins = state.without_stand_ins.then(|| SourceReadiness {
            source: "modules".to_owned(),
            missing: "their hooks that answer the API server are not loaded yet".to_owned(),
            counts: true,
        });
        all.into_iter().chain(each).chain(stand_ins).collect()
    }
}

fn is_tenants(id: &BundleId) -> bool {
    id.namespace.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(namespace: Option<&str>, name: &str) -> BundleId {
        BundleId { namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    fn sources(bundles: &[BundleId], hook_bundles: bool) -> Sources {
        Sources::new(&Awaited { bundles: bundles.to_vec(), hook_bundles }, watch::Sender::default())
    }

    fn missing(sources: &Sources, tenants: bool) -> Vec<(String, bool)> {
        let all = sources.readiness(tenants).into_iter().filter(|source| !source.missing.is_empty());
        all.map(|source| (source.source, source.counts)).collect()
    }

    #[test]
    fn a_source_is_pending_until_it_is_settled() {
        let (own, tenants) = (id(None, "own"), id(Some("team"), "a"));
        let sources = sources(std::slice::from_ref(&own), true);
        let pending = |sources: &Sources| {
            let pending = sources.pending();
            (pending.bundles.len(), pending.unlisted)
        };
        assert_eq!(pending(&sources), (1, true));
        sources.note_hook_bundles(HookBundlesNews::Unserved);
        assert_eq!(pending(&sources), (1, true), "custom resources may be served late");
        sources.note_hook_bundles(HookBundlesNews::Listed(vec![tenants.clone()]));
        assert_eq!(pending(&sources), (2, false));
        sources.note(&own, BundleNews::Running);
        sources.note(&tenants, BundleNews::Missing("the registry is away".to_owned()));
        assert_eq!(pending(&sources), (2, false), "it may have more than the store has");
        sources.note(&own, BundleNews::Settled);
        sources.note(&own, BundleNews::Missing("away".to_owned()));
        sources.forget(&tenants);
        assert_eq!(pending(&sources), (0, false));
    }

    // mutant: crates/operator/src/app/sources.rs: `modules: state.modules.clone(),` => `modules: PendingModules::default(),`
    #[test]
    fn modules_are_pending_as_long_as_the_life_of_modules_says() {
        let sources = sources(&[], false);
        let (web, api) = (Source::Module("web".to_owned()), Source::Module("api".to_owned()));
        assert!(!sources.pending().has(&web), "there are no modules");
        sources.note_modules(PendingModules::Unknown);
        assert!(sources.pending().has(&web) && !sources.pending().is_none());
        sources.note_modules(PendingModules::Named(BTreeSet::from(["api".to_owned()])));
        assert!(!sources.pending().has(&web) && sources.pending().has(&api));
    }

    #[test]
    fn what_was_gone_before_anybody_looked_after_it_is_not_waited_for() {
        let (own, first, second) = (id(None, "own"), id(Some("team"), "a"), id(Some("team"), "b"));
        let sources = sources(std::slice::from_ref(&own), true);
        sources.note_hook_bundles(HookBundlesNews::Listed(vec![first.clone(), second.clone()]));
        sources.note(&first, BundleNews::Missing("away".to_owned()));
        sources.note_hook_bundles(HookBundlesNews::Listed(Vec::new()));
        assert_eq!(sources.pending().bundles, BTreeSet::from([own, first]));
    }

    // mutant: crates/operator/src/app/sources.rs: `counts: !is_tenants(id) || tenants,` => `counts: true,`
    // mutant: crates/operator/src/app/sources.rs: `let late = now.duration_since(since) >= START;` => `let late = false;`
    #[test]
    fn own_sources_count_for_readiness_and_tenants_only_at_first() {
        let (own, tenants) = (id(None, "own"), id(Some("team"), "a"));
        let sources = sources(std::slice::from_ref(&own), true);
        let named = |name: &str, counts| (name.to_owned(), counts);
        assert_eq!(missing(&sources, true), [named("HookBundles", true), named("bundle own", true)]);
        sources.note_hook_bundles(HookBundlesNews::Listed(vec![tenants]));
        let start = Instant::now();
        assert!(sources.is_starting(start, false), "one is not loaded yet");
        assert_eq!(missing(&sources, true), [named("bundle own", true), named("HookBundle team/a", true)]);
        assert!(!sources.is_starting(start + START + START, false));
        assert_eq!(missing(&sources, false), [named("bundle own", true), named("HookBundle team/a", false)]);
    }

    #[test]
    fn a_start_that_is_over_never_begins_again() {
        let tenants = id(Some("team"), "a");
        let sources = sources(&[], true);
        sources.note_hook_bundles(HookBundlesNews::Listed(vec![tenants.clone()]));
        let now = Instant::now();
        sources.note(&tenants, BundleNews::Settled);
        assert!(sources.is_starting(now, true), "a hook of it waits");
        assert!(!sources.is_starting(now, false));
        sources.note(&tenants, BundleNews::Missing("x".to_owned()));
        assert!(!sources.is_starting(now, true));
    }

    // mutant: crates/operator/src/app/sources.rs: `let waiting = waiting || state.without_stand_ins;` => ``
    #[test]
    fn no_reviews_come_before_the_hooks_of_modules_are_loaded_that_answer_them() {
        let sources = sources(&[], false);
        sources.note_without_stand_ins(true);
        assert!(sources.is_starting(Instant::now(), false));
        assert_eq!(missing(&sources, true), [("modules".to_owned(), true)]);
        sources.note_without_stand_ins(false);
        assert!(missing(&sources, true).is_empty() && !sources.is_starting(Instant::now(), false));
    }

    #[test]
    fn a_start_waits_for_the_list_of_hook_bundles_and_without_them_for_a_minute() {
        let unlisted = sources(&[], true);
        assert!(unlisted.is_starting(Instant::now() + START + START, false), "what exists is not known");
        let without = sources(&[id(None, "own")], false);
        assert!(without.is_starting(Instant::now(), false));
        assert!(!without.is_starting(Instant::now() + START, false));
    }
}

//! The operator as admins see it: takes views from where the facts are, and hands commands on. Holds no
//! rule of its own.

mod hooks;
mod queues;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};

use super::{Stages, fleet::Fleet, hooks::Hook, roster::Roster};
use crate::{
    admin::{
        Letters, Operator, Refused, SnapshotQuery, pages,
        views::{DeadLettersView, HooksView, LogLevelView, QueuesView, RunsView, SnapshotsView},
    },
    model::{BindingName, HookName, KubernetesBinding, error_chain},
};

/// Answers admins.
pub(super) struct Admin {
    roster: Arc<Roster>,
    fleet: Arc<Fleet>,
    stages: Arc<Stages>,
}

impl Admin {
    pub fn new(roster: Arc<Roster>, fleet: Arc<Fleet>, stages: Arc<Stages>) -> Self {
        Self { roster, fleet, stages }
    }

    /// A hook that runs.
    fn live(&self, name: &str) -> Result<Arc<Hook>, Refused> {
        let hook = HookName::new(name).ok().and_then(|name| self.roster.hook(&name));
        match hook {
            Some(hook) => Ok(hook),
            None if self.roster.is_quarantined(name) => Err(Refused::Conflict(format!(
                "hook {name} is in quarantine: `boathook release {name}` starts it again"
            ))),
            None => Err(self.unknown(name)),
        }
    }

    /// That it runs or is in quarantine.
    fn known(&self, name: &str) -> Result<(), Refused> {
        if self.names().any(|known| known == name) { Ok(()) } else { Err(self.unknown(name)) }
    }

    fn unknown(&self, name: &str) -> Refused {
        Refused::UnknownHook { name: name.to_owned(), known: self.names().collect() }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let live = self.roster.live().into_iter().map(|hook| hook.spec.name.to_string());
        live.chain(self.roster.quarantined().into_iter().map(|(name, _)| name))
    }
}

/// Whether a binding's objects are Secrets, by the kind as its author wrote it.
fn of_secrets(binding: &KubernetesBinding) -> bool {
    ["secret", "secrets"].iter().any(|name| binding.kind.eq_ignore_ascii_case(name))
}

impl Operator for Admin {
    fn hooks(&self) -> HooksView {
        let readiness = self.stages.health.readiness();
        let stats: HashMap<_, _> =
            self.stages.queue.stats().hooks.into_iter().map(|stats| (stats.hook.clone(), stats)).collect();
        let live = self.roster.live().into_iter().map(|hook| {
            let name = &hook.spec.name;
            let missing = readiness.hooks.iter().find(|known| known.hook == name.as_str());
            let facts = hooks::Facts {
                missing: missing.map(|known| known.missing.clone()).unwrap_or_default(),
                bindings: self.stages.health.bindings(name),
                stats: stats.get(name),
                runs: self.stages.history.counts(name.as_str()),
            };
            hooks::live(&hook, facts)
        });
        let quarantined = self.roster.quarantined().into_iter().map(|(name, reason)| {
            let runs = self.stages.history.counts(&name);
            hooks::quarantined(name, reason, runs)
        });
        let mut hooks: Vec<_> = live.chain(quarantined).collect();
        hooks.sort_by(|a, b| a.name.cmp(&b.name));
        HooksView { hooks }
    }

    fn queues(&self) -> QueuesView {
        QueuesView::of(self.stages.queue.stats().queues.into_iter().map(queues::queue).collect())
    }

    fn snapshots(&self, hook: &str, query: &SnapshotQuery) -> Result<SnapshotsView, Refused> {
        let hook = self.live(hook)?;
        let (name, bindings) = (&hook.spec.name, &hook.spec.kubernetes);
        if let Some(asked) = &query.binding
            && bindings.iter().all(|binding| binding.name.as_str() != asked)
        {
            let known = bindings.iter().map(|binding| binding.name.to_string()).collect();
            return Err(Refused::UnknownBinding { hook: name.to_string(), name: asked.clone(), known });
        }
        let asked_for = |name: &BindingName| query.binding.as_deref().is_none_or(|asked| asked == name.as_str());
        let moment = self.stages.snapshots.moment(name);
        let mut shown = BTreeMap::new();
        for binding in bindings.iter().filter(|binding| asked_for(&binding.name)) {
            let Some(items) = moment.items(&binding.name) else { continue };
            shown.insert(binding.name.to_string(), pages::page(items, query, of_secrets(binding))?);
        }
        Ok(SnapshotsView { hook: name.to_string(), bindings: shown })
    }

    fn runs(&self, hook: Option<&str>, failed: bool) -> Result<RunsView, Refused> {
        hook.map(|hook| self.known(hook)).transpose()?;
        Ok(RunsView { runs: self.stages.history.runs(hook, failed) })
    }

    fn dead_letters(&self, hook: Option<&str>) -> Result<DeadLettersView, Refused> {
        hook.map(|hook| self.known(hook)).transpose()?;
        Err(Refused::Unsupported("list dead letters"))
    }

    fn retry_dead(&self, _letters: &Letters) -> Result<usize, Refused> {
        Err(Refused::Unsupported("retry dead letters"))
    }

    fn drop_dead(&self, _letters: &Letters) -> Result<usize, Refused> {
        Err(Refused::Unsupported("drop dead letters"))
    }

    fn log_level(&self) -> Result<LogLevelView, Refused> {
        Err(Refused::Unsupported("tell its log level"))
    }

    fn set_log_level(&self, _level: &str, _lasts: Option<Duration>) -> Result<LogLevelView, Refused> {
        Err(Refused::Unsupported("change its log level"))
    }

    fn pause(&self, hook: &str) -> Result<(), Refused> {
        self.live(hook)?;
        Err(Refused::Unsupported("pause hooks"))
    }

    fn resume(&self, hook: &str) -> Result<(), Refused> {
        self.live(hook)?;
        Err(Refused::Unsupported("resume hooks"))
    }

    fn quarantine<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>> {
        async move {
            let found = self.live(hook)?;
            if self.fleet.quarantine(&found.spec.name, "an admin put it there") {
                return Ok(());
            }
            // Somebody was faster.
            Err(Refused::Conflict(format!("hook {hook} is in quarantine already")))
        }
        .boxed()
    }

    fn release<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>> {
        async move {
            self.known(hook)?;
            self.fleet.release(hook).await.map_err(|error| Refused::Conflict(error_chain(&error)))
        }
        .boxed()
    }

    fn profile(&self, _lasts: Duration) -> BoxFuture<'_, Result<Vec<u8>, Refused>> {
        async { Err(Refused::Unsupported("make CPU profiles")) }.boxed()
    }
}

//! The operator as admins see it. This module makes views of the facts and passes commands on. It has no rules of its
//! own.

mod hooks;
mod letters;
mod queues;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use boathook_core::{
    model::{BindingName, HookName, KubernetesBinding, error_chain},
    queue,
    tasks::Tasks,
};
use futures::{FutureExt as _, future::BoxFuture};
use jiff::Timestamp;
use tracing::{info, warn};

use super::{
    Services, history::stamp, hook_manager::HookManager, hook_registry::HookRegistry, hooks::Hook, upgrade::ReloadError,
};
use crate::{
    admin::{
        Letters, Operator, Refused, Server, SnapshotQuery, Socket, SocketError, pages,
        views::{DeadLettersView, HooksView, LogLevelView, QueuesView, RetriedView, RunsView, SnapshotsView},
    },
    telemetry::{LogControl, Role, log::Setting},
};

/// The maximum number of triggers to show for each queue.
const SHOWN_TASKS: usize = 100;

/// Takes the socket before hooks are loaded, because the operator must not start if another one serves it.
pub(super) fn listen(socket: &Socket, tasks: &Tasks) -> Result<Option<Server>, SocketError> {
    let (server, errors) = Server::start(socket, tasks)?;
    if server.is_none() {
        let reasons: Vec<_> = errors.iter().map(|error| error_chain(error)).collect();
        warn!(reasons = reasons.join("; "), "no admin socket: give one with --admin-socket PATH");
    }
    Ok(server)
}

/// Answers requests of admins.
pub(super) struct Admin {
    hook_registry: Arc<HookRegistry>,
    hook_manager: Arc<HookManager>,
    services: Arc<Services>,
    log: Option<LogControl>,
}

impl Admin {
    pub fn new(
        hook_registry: Arc<HookRegistry>,
        hook_manager: Arc<HookManager>,
        services: Arc<Services>,
        log: Option<LogControl>,
    ) -> Self {
        Self { hook_registry, hook_manager, services, log }
    }

    fn log(&self) -> Result<&LogControl, Refused> {
        self.log.as_ref().ok_or(Refused::Unsupported("tell or change what is logged: it did not set up its log"))
    }

    /// Finds a hook that runs.
    fn live(&self, name: &str) -> Result<Arc<Hook>, Refused> {
        let hook = HookName::new(name).ok().and_then(|name| self.hook_registry.hook(&name));
        match hook {
            Some(hook) => Ok(hook),
            None if self.hook_registry.is_quarantined(name) => Err(Refused::Conflict(format!(
                "hook {name} is in quarantine: `boathook release {name}` starts it again"
            ))),
            None => Err(self.unknown(name)),
        }
    }

    /// Checks that the hook runs or is in quarantine.
    fn known(&self, name: &str) -> Result<(), Refused> {
        if self.names().any(|known| known == name) { Ok(()) } else { Err(self.unknown(name)) }
    }

    fn unknown(&self, name: &str) -> Refused {
        Refused::UnknownHook { name: name.to_owned(), known: self.names().collect() }
    }

    /// Checks that the letters or their hook exist.
    fn which(&self, letters: &Letters) -> Result<queue::Letters, Refused> {
        letters.check()?;
        if let Some(hook) = &letters.hook {
            return Ok(queue::Letters::Hook(self.live(hook)?.spec.name.clone()));
        }
        if letters.all {
            return Ok(queue::Letters::All);
        }
        let there: HashSet<u64> = self.services.queue.dead_letters().into_iter().map(|letter| letter.id).collect();
        let missing: Vec<u64> = letters.ids.iter().copied().filter(|id| !there.contains(id)).collect();
        if missing.is_empty() {
            Ok(queue::Letters::Ids(letters.ids.clone()))
        } else {
            Err(Refused::UnknownLetter(missing))
        }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let live = self.hook_registry.live().into_iter().map(|hook| hook.spec.name.to_string());
        live.chain(self.hook_registry.quarantined().into_iter().map(|(name, _)| name))
    }
}

/// Whether a binding's objects are Secrets, judged by the kind as its author wrote it.
fn of_secrets(binding: &KubernetesBinding) -> bool {
    ["secret", "secrets"].iter().any(|name| binding.kind.eq_ignore_ascii_case(name))
}

fn log_level(setting: Setting) -> LogLevelView {
    let Some((left, default)) = setting.until else {
        return LogLevelView { default: setting.filter.clone(), level: setting.filter, until: None };
    };
    // A time that the calendar cannot represent counts as permanent.
    let until = Timestamp::now().checked_add(left).map(stamp).ok();
    LogLevelView { level: setting.filter, default, until }
}

impl Operator for Admin {
    fn hooks(&self) -> HooksView {
        let readiness = self.services.health.readiness();
        let stats: HashMap<_, _> =
            self.services.queue.stats().hooks.into_iter().map(|stats| (stats.hook.clone(), stats)).collect();
        let live = self.hook_registry.live().into_iter().map(|hook| {
            let name = &hook.spec.name;
            let missing = readiness.hooks.iter().find(|known| known.hook == name.as_str());
            let facts = hooks::Facts {
                missing: missing.map(|known| known.missing.clone()).unwrap_or_default(),
                bindings: self.services.health.bindings(name),
                stats: stats.get(name),
                runs: self.services.history.counts(name.as_str()),
            };
            hooks::live(&hook, facts)
        });
        let quarantined = self.hook_registry.quarantined().into_iter().map(|(name, reason)| {
            let runs = self.services.history.counts(&name);
            hooks::quarantined(name, reason, runs)
        });
        let mut hooks: Vec<_> = live.chain(quarantined).collect();
        hooks.sort_by(|a, b| a.name.cmp(&b.name));
        HooksView { standby: readiness.role == Role::Standby, api_server: readiness.api_server, hooks }
    }

    fn queues(&self) -> QueuesView {
        let stats = self.services.queue.stats().queues;
        queues::queues(self.services.queue.dump(SHOWN_TASKS), &stats)
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
        let moment = self.services.snapshots.moment(name);
        let statuses = self.services.health.bindings(name);
        let mut shown = BTreeMap::new();
        for (index, binding) in bindings.iter().enumerate().filter(|(_, binding)| asked_for(&binding.name)) {
            let Some(items) = moment.items(&binding.name) else { continue };
            let mut page = pages::page(items, query, of_secrets(binding))?;
            page.operations = statuses.get(index).map(|(status, _)| hooks::operations(status));
            shown.insert(binding.name.to_string(), page);
        }
        Ok(SnapshotsView { hook: name.to_string(), bindings: shown })
    }

    fn runs(&self, hook: Option<&str>, failed: bool) -> Result<RunsView, Refused> {
        hook.map(|hook| self.known(hook)).transpose()?;
        Ok(RunsView { runs: self.services.history.runs(hook, failed) })
    }

    fn dead_letters(&self, hook: Option<&str>) -> Result<DeadLettersView, Refused> {
        hook.map(|hook| self.known(hook)).transpose()?;
        let letters = self.services.queue.dead_letters();
        let wanted = letters.iter().filter(|letter| hook.is_none_or(|hook| letter.hook.as_str() == hook));
        let now = (Instant::now(), SystemTime::now());
        Ok(DeadLettersView { dead_letters: wanted.map(|letter| letters::view(letter, now)).collect() })
    }

    fn retry_dead(&self, letters: &Letters) -> Result<RetriedView, Refused> {
        let queue::Retried { letters, triggers, superseded } = self.services.queue.retry_dead(&self.which(letters)?);
        info!(letters, triggers, superseded, "an admin had dead letters tried again");
        Ok(RetriedView { letters, triggers, superseded })
    }

    fn drop_dead(&self, letters: &Letters) -> Result<usize, Refused> {
        let dropped = self.services.queue.drop_dead(&self.which(letters)?);
        info!(letters = dropped, "an admin dropped dead letters");
        Ok(dropped)
    }

    fn log_level(&self) -> Result<LogLevelView, Refused> {
        Ok(log_level(self.log()?.current()))
    }

    fn set_log_level(&self, level: &str, lasts: Option<Duration>) -> Result<LogLevelView, Refused> {
        let set = self.log()?.set(level, lasts);
        let setting = set.map_err(|error| Refused::Bad(error_chain(&error)))?;
        let view = log_level(setting);
        info!(level = view.level, until = view.until, "an admin changed what is logged");
        Ok(view)
    }

    fn pause(&self, hook: &str) -> Result<(), Refused> {
        let name = &self.live(hook)?.spec.name;
        if !self.services.queue.pause(name) {
            return Err(self.unknown(hook));
        }
        info!(%hook, "an admin paused the hook");
        Ok(())
    }

    fn resume(&self, hook: &str) -> Result<(), Refused> {
        let name = &self.live(hook)?.spec.name;
        if !self.services.queue.resume(name) {
            return Err(self.unknown(hook));
        }
        info!(%hook, "an admin resumed the hook");
        Ok(())
    }

    fn quarantine<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>> {
        async move {
            if self.hook_manager.withdraw(hook) {
                return Ok(());
            }
            let found = self.live(hook)?;
            if self.hook_manager.quarantine(&found.spec.name, "an admin put it there") {
                return Ok(());
            }
            // Another command was faster.
            Err(Refused::Conflict(format!("hook {hook} is in quarantine already")))
        }
        .boxed()
    }

    fn release<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>> {
        async move {
            self.known(hook)?;
            self.hook_manager.release(hook).await.map_err(|error| Refused::Conflict(error_chain(&error)))
        }
        .boxed()
    }

    fn reload<'a>(&'a self, hook: &'a str) -> BoxFuture<'a, Result<(), Refused>> {
        async move {
            match self.hook_manager.reload(hook).await {
                Ok(_) => Ok(()),
                Err(ReloadError::NoFile { .. }) if self.known(hook).is_err() => Err(self.unknown(hook)),
                Err(error) => Err(Refused::Conflict(error_chain(&error))),
            }
        }
        .boxed()
    }
}

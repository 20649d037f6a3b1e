//! What Modules of the cluster mean for the modules that run: their settings, and versions that come and go.

use std::{collections::BTreeSet, sync::Arc};

use boathook_modules::{
    ModuleName,
    graph::Graph,
    life::{Action, Report, Subject},
};
use jiff::Timestamp;
use tracing::{info, warn};

use super::{
    Driver,
    keeper::{Arrival, Heard, Keeper, Tools},
    resources::{Known, Resources},
    shelf::Shelved,
};
use crate::{
    hookbundle::Problem,
    module::{Facts, status},
};

/// How long to wait for the list of Modules before it is said why modules wait.
const TOLD_AFTER: std::time::Duration = std::time::Duration::from_secs(5);

impl Driver {
    /// Returns when all Modules of the cluster are known. What they want is known then, and what their sources give may come
    /// later: until then, nothing is known of their modules, and their objects stay.
    pub(super) async fn resources_listed(&mut self) {
        let mut told = false;
        while let Some(resources) = self.resources.as_mut().filter(|resources| !resources.is_listed()) {
            let heard = tokio::time::timeout(TOLD_AFTER, resources.next()).await;
            match heard {
                Ok(heard) => self.heard(heard),
                Err(_) if resources.is_forbidden() && !std::mem::replace(&mut told, true) => {
                    warn!(
                        "the operator may not list and watch modules.boathook.dev: modules wait; give it a role for this, or \
                         leave --module-resources out"
                    );
                }
                Err(_) => {}
            }
        }
        self.replace(&BTreeSet::new());
    }

    /// Takes news of Modules.
    pub(super) fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Object(name) => self.wanted(&name),
            Heard::Gone(name) => {
                self.values.wish(&name, None);
                if self.shelf.is_sourced(&name) {
                    self.leaving.insert(name);
                } else {
                    self.replace(&BTreeSet::new());
                }
            }
            Heard::Looked(name, answer) => self.looked(&name, answer),
            Heard::Listed => {}
        }
        self.finish();
    }

    /// A Module is there, or has changed.
    fn wanted(&mut self, name: &ModuleName) {
        let (shelf, values) = (self.shelf.clone(), self.values.clone());
        let Some(resources) = &mut self.resources else { return };
        let (fetcher, tell) = (resources.fetcher.clone(), resources.tell.clone());
        let statuses = resources.statuses.clone();
        let Some(known) = resources.get_mut(name) else { return };
        let (sourced, deleting) = (known.is_sourced(), known.is_deleting());
        let mut wish = known.object.wish();
        // A module that was from a registry leaves before the directory's one, if there is one, is looked at.
        if !sourced && shelf.is_sourced(name) {
            wish.enabled = Some(false);
        }
        let refused = values.wish(name, Some(&wish));
        known.settings = (!refused.is_empty()).then_some(refused.join("; "));
        let taken = shelf.get(name).is_some_and(|shelved| shelved.source.is_none());
        if !sourced {
            (known.keeper, known.waiting, known.source, known.current) = (None, None, None, true);
            if shelf.is_sourced(name) {
                self.leaving.insert(name.clone());
            }
            return;
        }
        if taken {
            let why = "a directory of the operator has a module with this name: leave spec.source out to configure it, or \
                       choose another name";
            known.source = Some(Problem::refused("NameTaken", why));
            return;
        }
        if deleting {
            if shelf.is_sourced(name) {
                self.leaving.insert(name.clone());
            }
            if known.left || known.given_up || !known.has_finalizer() {
                return;
            }
            if !shelf.is_sourced(name)
                && let Some(problem) = &known.source
            {
                let (reason, message) = (problem.reason, problem.message.clone());
                self.give_up(name, reason, &message);
                return;
            }
        } else {
            self.leaving.remove(name);
            known.left = false;
            if !known.has_finalizer() {
                // What is taken without it could be left behind.
                statuses.keep(name, &known.object, true);
                return;
            }
        }
        let Some(fetcher) = fetcher else {
            let why = "the operator has no directory for what it pulls: its admin can name one with --bundle-store";
            known.source = Some(Problem::refused("NoStore", why));
            return;
        };
        if known.keeper.as_ref().is_none_or(|keeper| !keeper.is_for(&known.object.spec)) {
            let bare = !shelf.is_sourced(name);
            (known.waiting, known.source, known.current) = (None, None, false);
            let Some(spec) = known.object.spec.as_bundle() else { return };
            let tools =
                Tools { services: self.services.clone(), values, hooks: self.steps.hooks.clone(), fetcher, tell };
            let generation = known.object.metadata.generation.unwrap_or_default();
            known.keeper = Some(Keeper::start(tools, name.clone(), generation, spec, bare));
        } else if let Some(arrival) = known.waiting.take() {
            self.arrived(name, arrival);
        }
    }

    /// A source was looked at.
    fn looked(&mut self, name: &ModuleName, answer: Result<Option<Box<Arrival>>, Problem>) {
        let Some(known) = self.resources.as_mut().and_then(|resources| resources.get_mut(name)) else { return };
        match answer {
            Ok(Some(arrival)) => self.arrived(name, arrival),
            Ok(None) if known.waiting.is_some() => {}
            Ok(None) => (known.source, known.current) = (None, true),
            Err(problem) => {
                let give_up = known.is_deleting() && !known.given_up && !self.shelf.is_sourced(name);
                let (reason, message) = (problem.reason, problem.message.clone());
                known.source = Some(problem);
                if give_up {
                    self.give_up(name, reason, &message);
                }
            }
        }
    }

    /// A module that is being deleted, and whose source cannot be had, is deleted without its hooks.
    fn give_up(&mut self, name: &ModuleName, reason: &str, message: &str) {
        warn!(module = %name, reason, message, "the module is deleted without its hooks, because its source cannot be had");
        if let Some(known) = self.resources.as_mut().and_then(|resources| resources.get_mut(name)) {
            (known.given_up, known.keeper) = (true, None);
        }
        self.replace(&BTreeSet::new());
    }

    /// A version of a module was checked by itself. Takes it, if it fits the others and its settings.
    fn arrived(&mut self, name: &ModuleName, arrival: Box<Arrival>) {
        let Some(known) = self.resources.as_mut().and_then(|resources| resources.get_mut(name)) else { return };
        let module = &arrival.source.fetched.module;
        if let Err(error) = self.shelf.graph(Some(module)) {
            known.source = Some(Problem::refused("DependenciesRefused", error.to_string()));
            known.waiting = Some(arrival);
            return;
        }
        let mut wish = known.object.spec.wish();
        if known.is_deleting() {
            wish.enabled = Some(false);
            self.leaving.insert(name.clone());
        }
        let refused = self.values.check_version(module, &wish);
        if !refused.is_empty() && !known.is_deleting() {
            let text = format!("this version refuses the settings: {}", refused.join("; "));
            known.source = Some(Problem::refused("SettingsRefused", text));
            known.waiting = Some(arrival);
            return;
        }
        // The version that ran before this process, for the same spec.
        let ran = known.ran.as_ref().is_some_and(|(generation, digest)| {
            Some(*generation) == known.object.metadata.generation && *digest == arrival.source.fetched.digest
        });
        known.current = !arrival.recalled || ran;
        if !arrival.recalled {
            known.source = None;
        }
        let Arrival { source, kept, .. } = *arrival;
        let runs = self.shelf.get(name);
        let same = runs
            .as_ref()
            .and_then(|runs| runs.source.as_ref())
            .is_some_and(|runs| runs.fetched.digest == source.fetched.digest && runs.terms == source.terms);
        if same {
            return;
        }
        let (module, terms, digest) =
            (source.fetched.module.clone(), source.terms.clone(), source.fetched.digest.clone());
        info!(module = %name, digest, "a version of the module is taken");
        self.values.put(&module, kept.as_deref());
        let refused = self.values.wish(name, Some(&wish));
        known.settings = (!refused.is_empty()).then_some(refused.join("; "));
        self.steps.releases.announce(std::slice::from_ref(name));
        self.steps.releases.act_as(name, Some(terms));
        self.shelf.put(Arc::new(Shelved { module, source: Some(source) }));
        self.replace(&BTreeSet::from([name.clone()]));
    }

    /// Has the life of modules take the modules that there are.
    fn replace(&mut self, renewed: &BTreeSet<ModuleName>) {
        let graph = match self.shelf.graph(None) {
            Ok(graph) => graph,
            Err(error) => {
                // Each module was checked with all others before it came.
                warn!(%error, "the modules cannot be ordered: they stay as they are");
                return;
            }
        };
        let graph = self.with_unread(graph);
        let shelf = self.shelf.clone();
        // Nothing of a new module may begin if it is paused.
        self.maintain();
        let actions = self.life.replace(graph, self.values.votes(), |name| shelf.parts(name), renewed);
        self.act(actions);
    }

    /// Adds the modules of which nothing is known yet.
    fn with_unread(&self, graph: Graph) -> Graph {
        let awaited = |(name, known): (&ModuleName, &Known)| {
            let awaited = known.is_sourced() && !known.given_up && !self.shelf.is_sourced(name);
            awaited.then(|| (name.clone(), "its source has not given it yet".to_owned()))
        };
        let unread = self.resources.iter().flat_map(Resources::iter).filter_map(awaited);
        graph.with_broken(self.broken.clone().into_iter().chain(unread))
    }

    /// Takes modules away that have been turned off because their Modules are deleted.
    pub(super) fn finish(&mut self) {
        let reports = self.life.reports();
        let report = |name: &ModuleName| {
            reports.iter().find(|report| matches!(&report.subject, Subject::Module(of) if of == name))
        };
        // Before the global hooks have started, each module is at that place, and nobody knows yet whether it is on.
        let is_off = |report: Option<&Report>| {
            self.begun && report.is_none_or(|report| report.at == "off" && report.on == Some(false))
        };
        let gone: Vec<ModuleName> = self.leaving.iter().filter(|name| is_off(report(name))).cloned().collect();
        for name in gone {
            self.leaving.remove(&name);
            if let Some(known) = self.resources.as_mut().and_then(|resources| resources.get_mut(&name)) {
                known.left = true;
            }
            self.shelf.remove(&name);
            self.values.remove(&name);
            self.steps.releases.act_as(&name, None);
            info!(module = %name, "the module is removed");
            self.replace(&BTreeSet::new());
        }
        let (shelf, begun) = (self.shelf.clone(), self.begun);
        let Some(resources) = self.resources.as_mut().filter(|_| begun) else { return };
        let statuses = resources.statuses.clone();
        for (name, known) in resources.all() {
            // Before the source was looked at, it is not known whether there is anything.
            let nothing = known.given_up || known.left || !known.is_sourced();
            let over = known.is_deleting() || !known.is_sourced();
            let off = report(name).is_none_or(|report| report.at == "off" && report.on == Some(false));
            if over && known.has_finalizer() && nothing && !shelf.is_sourced(name) && off {
                statuses.keep(name, &known.object, false);
            }
        }
    }

    /// Shows what Modules do in their status.
    pub(super) fn show_resources(&mut self) {
        let Some(resources) = &mut self.resources else { return };
        let reports = self.shown.borrow().clone();
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let statuses = resources.statuses.clone();
        for (name, known) in resources.all() {
            let report = reports.iter().find(|report| matches!(&report.subject, Subject::Module(of) if of == name));
            let shelved = self.shelf.get(name);
            let shelved = shelved.as_deref();
            let source = shelved.and_then(|shelved| shelved.source.as_ref());
            let version =
                shelved.and_then(|shelved| shelved.module.definition.version.as_ref().map(ToString::to_string));
            let facts = Facts {
                generation: known.object.metadata.generation.unwrap_or_default(),
                deleting: known.is_deleting() && known.is_sourced(),
                wanted: known.object.spec.wish().enabled,
                report: report.filter(|_| shelved.is_some() || known.is_deleting()),
                settings: known.settings.as_deref(),
                sourced: known.is_sourced(),
                source: known.source.as_ref(),
                current: known.current,
                version: version.as_deref(),
                digest: source.map(|source| source.fetched.digest.as_str()),
                revision: self.steps.releases.revision(name),
                now: &now,
            };
            let status = status(&facts, &known.status);
            statuses.show(name, &known.object, &status);
            known.status = status;
        }
    }

    /// Carries out what the life of modules decides.
    pub(super) fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start(task, subject, step) => self.start(task, subject, step),
                Action::Abort(task, _) => {
                    if let Some(running) = self.tasks.remove(&task) {
                        running.handle.abort();
                    }
                }
                Action::Wait(task, _, failures) => self.wait(task, failures),
            }
        }
        self.show();
    }
}

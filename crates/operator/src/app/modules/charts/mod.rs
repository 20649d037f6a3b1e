//! The charts of modules become real: rendered, applied in order, kept, and deleted.
//!
//! | file | content |
//! | --- | --- |
//! | `render` | Helm's engine: from a module's files and values to manifests |
//! | `objects` | manifests as the members of a set |
//! | `crds` | definitions, which come first and stay |
//! | `dependants` | what is deleted without an approval |
//! | `hooks` | Helm's hooks |
//! | `record` | the Secret of a module, which survives restarts |
//! | `revisions` | the revisions of a module, with what they rendered to |
//! | `kept` | reads and writes the Secrets of both |
//! | `release` | one module's set in this process |
//! | `members` | what watches show of the members of all modules |
//! | `verdict` | how far a set is |
//!
//! The crate `boathook-applyset` decides what is sent, as it does for `reconcile` bindings. A module's parent is a Secret in
//! the operator's namespace. Members have the set's label and no owner reference, so that they may be in any namespace, and
//! stay if somebody deletes the Secret.

mod crds;
mod dependants;
pub(super) mod hooks;
mod kept;
mod members;
pub(super) mod objects;
pub(super) mod record;
pub(super) mod release;
pub(super) mod render;
pub(super) mod revisions;
mod verdict;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_applyset::{Desired, SetId};
use boathook_core::{
    model::{
        CallError, Caller, Delete, HookName, ListQuery, ObjectRef, Operation, Permission, Propagation, Resource, RunId,
    },
    tasks::Task,
};
use boathook_modules::{Module, ModuleName, manifest::Identity};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tracing::info;

use self::{
    hooks::{Event, HookRunner},
    members::Members,
    record::{Record, State},
    release::Release,
    render::{Rendered, Renderer, Sources},
    revisions::Inputs,
    verdict::{Goal, Verdict, is_under_way, judge},
};
use super::{
    super::{
        Services,
        applying::{Applier, HasSet as _},
        module_values::Given,
        reconcile::marks::Names,
        scope::Terms,
    },
    releases::{ReleaseError, Releases},
};

/// How long requests are sent before it is decided again what is missing.
const PATIENCE: Duration = Duration::from_secs(60);
/// The label that addon-operator gives to all objects.
const HERITAGE: (&str, &str) = ("heritage", "addon-operator");

/// The charts of all modules.
pub(crate) struct Charts {
    services: Arc<Services>,
    renderer: Renderer,
    /// The operator's, and that of the releases.
    namespace: String,
    /// How long a chart's objects may take to become ready, and each of its hooks to end.
    patience: Duration,
    members: Arc<Members>,
    releases: Mutex<HashMap<ModuleName, Arc<Release>>>,
    lines: Mutex<HashMap<ModuleName, Arc<Line>>>,
    /// Whose rights modules from registries have.
    terms: Mutex<HashMap<ModuleName, Arc<Terms>>>,
    drifted: mpsc::UnboundedSender<ModuleName>,
    reports: tokio::sync::Mutex<mpsc::UnboundedReceiver<ModuleName>>,
    _watching: Task<()>,
}

/// One module has one `apply` or deletion at a time. A newer one ends the one before.
struct Line {
    turn: tokio::sync::Mutex<()>,
    newest: watch::Sender<u64>,
}

impl Charts {
    /// Starts to watch. `patience`: addon-operator's `HELM_TIMEOUT`.
    pub fn new(services: Arc<Services>, namespace: String, patience: Duration) -> Self {
        let renderer = Renderer::new(Sources {
            sandbox: services.sandbox.clone(),
            discovery: services.discovery.clone(),
            access: services.operator.access.clone(),
        });
        let (members, wanted) = Members::new(services.streams.clone());
        let watching = services.tasks.spawn("members of modules", members.clone().run(namespace.clone(), wanted));
        let (drifted, reports) = mpsc::unbounded_channel();
        Self {
            services,
            renderer,
            namespace,
            patience,
            members,
            releases: Mutex::default(),
            lines: Mutex::default(),
            terms: Mutex::default(),
            drifted,
            reports: tokio::sync::Mutex::new(reports),
            _watching: watching,
        }
    }

    fn releases(&self) -> MutexGuard<'_, HashMap<ModuleName, Arc<Release>>> {
        self.releases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what is done for the module, and does this.
    async fn newest<T>(
        &self,
        module: &ModuleName,
        act: impl Future<Output = Result<T, ReleaseError>>,
    ) -> Result<T, ReleaseError> {
        let line = {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            let line = || Arc::new(Line { turn: tokio::sync::Mutex::default(), newest: watch::Sender::new(0) });
            lines.entry(module.clone()).or_insert_with(line).clone()
        };
        let mut own = 0;
        line.newest.send_modify(|newest| {
            *newest = newest.wrapping_add(1);
            own = *newest;
        });
        let mut newest = line.newest.subscribe();
        let act = async {
            let _turn = line.turn.lock().await;
            act.await
        };
        tokio::select! {
            done = act => done,
            _ = newest.wait_for(|newest| *newest != own) => {
                Err(ReleaseError::Failed("something newer is to be done for the module".to_owned()))
            }
        }
    }

    fn one(&self, module: &ModuleName) -> Result<One<'_>, ReleaseError> {
        let operator = caller(module, None, self.services.run_ids.next(), self.services.plan)?;
        let terms = self.terms.lock().unwrap_or_else(PoisonError::into_inner).get(module).cloned();
        let caller = caller(module, terms.as_deref(), operator.run.clone(), self.services.plan)?;
        let identity = identity(module, &self.namespace);
        Ok(One { charts: self, module: module.clone(), caller, operator, identity })
    }
}

/// Who acts for a module. A module of a directory is the admin's, and acts as the operator: the API server says what the operator
/// may do. A module from a registry has the rights of its terms.
pub(super) fn caller(
    module: &ModuleName,
    terms: Option<&Terms>,
    run: RunId,
    dry_run: bool,
) -> Result<Caller, ReleaseError> {
    let name = HookName::new(&format!("module.{}", module.as_str()));
    let name = name.map_err(|error| ReleaseError::Refused(error.to_string()))?;
    let operator = Caller::new(name, run, everything().into(), dry_run);
    let Some(terms) = terms else { return Ok(operator) };
    let permissions = terms.grants.clone().unwrap_or_default().into();
    Ok(Caller { identity: terms.identity.clone(), permissions, ..operator })
}

/// What the objects of a module have in common.
pub(super) fn identity(module: &ModuleName, namespace: &str) -> Identity {
    let labels = BTreeMap::from([(HERITAGE.0.to_owned(), HERITAGE.1.to_owned())]);
    Identity { name: module.as_str().to_owned(), namespace: namespace.to_owned(), labels }
}

/// The hooks of an event in their order, each with the event and its template.
pub(super) fn hooks_of(hooks: &[hooks::Hook], event: Event) -> Vec<(&'static str, String)> {
    hooks::of_event(hooks, event).into_iter().map(|hook| (event.name(), hook.source.clone())).collect()
}

/// Those of a module's deletion.
pub(super) fn hooks_at_deletion(hooks: &[hooks::Hook]) -> Vec<(&'static str, String)> {
    [Event::PreDelete, Event::PostDelete].into_iter().flat_map(|event| hooks_of(hooks, event)).collect()
}

fn everything() -> Vec<Permission> {
    let all = || vec!["*".to_owned()];
    vec![Permission {
        api_groups: all(),
        resources: all(),
        verbs: all(),
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    }]
}

impl Releases for Charts {
    fn announce(&self, modules: &[ModuleName]) {
        let set = |module| SetId::of(&record::reference(&self.namespace, module));
        self.members.announce(modules.iter().map(set));
    }

    fn act_as(&self, module: &ModuleName, terms: Option<Arc<Terms>>) {
        let mut all = self.terms.lock().unwrap_or_else(PoisonError::into_inner);
        match terms {
            Some(terms) => drop(all.insert(module.clone(), terms)),
            None => drop(all.remove(module)),
        }
    }

    fn revision(&self, module: &ModuleName) -> Option<u64> {
        self.releases().get(module).map(|release| release.record().revision)
    }

    fn waits(&self, module: &ModuleName) -> Option<String> {
        self.releases().get(module).and_then(|release| release.waits())
    }

    fn apply<'a>(&'a self, module: &'a Module, given: &'a Given) -> BoxFuture<'a, Result<(), ReleaseError>> {
        let apply = async move { self.one(&module.name)?.apply(module, given).await };
        self.newest(&module.name, apply).boxed()
    }

    fn delete<'a>(&'a self, module: &'a ModuleName) -> BoxFuture<'a, Result<(), ReleaseError>> {
        let delete = async move { self.one(module)?.delete().await };
        self.newest(module, delete).boxed()
    }

    fn installed<'a>(&'a self) -> BoxFuture<'a, Result<Vec<ModuleName>, ReleaseError>> {
        async move {
            let caller = Caller::new(
                HookName::new("modules").map_err(|error| ReleaseError::Refused(error.to_string()))?,
                self.services.run_ids.next(),
                everything().into(),
                false,
            );
            let (mut found, mut continue_token) = (Vec::new(), None);
            loop {
                let query = ListQuery {
                    api_version: "v1".to_owned(),
                    kind: "Secret".to_owned(),
                    namespace: Some(self.namespace.clone()),
                    label_selector: Some(record::LABEL.to_owned()),
                    field_selector: None,
                    limit: None,
                    continue_token,
                };
                let page = self.services.operator.access.list(&caller, &query).await.map_err(failed)?;
                let secrets = page.items.iter().filter_map(|item| serde_json::from_str::<Value>(item).ok());
                found.extend(secrets.filter_map(|secret| record::module(&secret)));
                self.announce(&found);
                continue_token = page.continue_token.filter(|token| !token.is_empty());
                if continue_token.is_none() {
                    return Ok(found);
                }
            }
        }
        .boxed()
    }

    fn drifted<'a>(&'a self) -> BoxFuture<'a, ModuleName> {
        async move {
            match self.reports.lock().await.recv().await {
                Some(module) => module,
                // A sender lives as long as this.
                None => std::future::pending().await,
            }
        }
        .boxed()
    }
}

fn failed(error: CallError) -> ReleaseError {
    ReleaseError::Failed(error.message)
}

/// What is done for one module.
struct One<'c> {
    charts: &'c Charts,
    module: ModuleName,
    /// Who writes the module's objects.
    caller: Caller,
    /// Who writes the module's record.
    operator: Caller,
    identity: Identity,
}

impl One<'_> {
    fn services(&self) -> &Arc<Services> {
        &self.charts.services
    }

    async fn apply(&self, module: &Module, given: &Given) -> Result<(), ReleaseError> {
        let files = render::read(module).await?;
        let inputs = Inputs::new(files.digest, given);
        let mut answers = false;
        if let Some(release) = self.known().await?
            && !release.record().is_ending()
        {
            let asked = release.asked();
            answers = asked.is_some();
            if let Some(earlier) = self.earlier(&release, asked, &inputs).await? {
                release.begins();
                return self.bring(Some(release), earlier, answers).await;
            }
        }
        if let Some(why) = &given.unfit {
            return Err(ReleaseError::Refused(why.clone()));
        }
        let definitions: Vec<_> =
            files.definitions.iter().map(|(source, text)| (source.as_str(), text.as_str())).collect();
        self.define(&definitions).await?;
        let known = self.known().await?;
        let Some(chart) = files.chart else {
            // It may have had one before, which may be missing by mistake, for example in an image.
            return match known {
                None => Ok(()),
                Some(release) if release.record().is_ending() => self.delete().await,
                Some(_) => Err(ReleaseError::Refused(
                    "the module's chart is gone and its objects are there: restore the chart, or turn the module off to \
                     delete them"
                        .to_owned(),
                )),
            };
        };
        let record = known.as_ref().map(|release| release.record());
        if let Some(release) = &known {
            release.begins();
        }
        let request = render::Request {
            caller: &self.caller,
            namespace: &self.charts.namespace,
            module,
            chart: &chart,
            values: &given.values,
            inputs: &inputs,
        };
        let renderer = &self.charts.renderer;
        let mut next = renderer.next(&request, record.as_ref()).await?;
        if self.define(&next.0.definitions()).await? {
            // Templates may do more with kinds that are served now.
            next = renderer.next(&request, record.as_ref()).await?;
        }
        for (event, count) in hooks::ignored(&next.0.content.hooks) {
            let module = self.module.as_str();
            info!(module, event, count, "hooks of the chart are ignored, because this event does not happen");
        }
        self.bring(known, next, answers).await
    }

    /// Makes the cluster this revision, which may be the one that it has. `answers`: it is what an admin asked for.
    async fn bring(
        &self,
        known: Option<Arc<Release>>,
        (rendered, next): (Rendered, Record),
        answers: bool,
    ) -> Result<(), ReleaseError> {
        let record = known.as_ref().map(|release| release.record());
        let ended = record.as_ref().is_some_and(Record::is_ending);
        let is_new = record.as_ref() != Some(&next);
        let follows = record.as_ref().is_none_or(|record| record.revision != next.revision);
        if follows {
            // Before the record, which names it.
            self.keep(&next, &rendered.content).await?;
        }
        let hold = known.as_ref().and_then(|release| release.hold());
        let release = match known {
            // The set of a module that was being deleted begins again.
            Some(release) if ended => {
                self.forget(&release);
                self.store(None, &next, hold).await?
            }
            Some(release) if !is_new && !answers => release,
            known => self.store_with(known, &next, hold.filter(|_| !follows), answers).await?,
        };
        if follows {
            self.trim(&next).await?;
        }
        tokio::select! {
            done = self.reach(&release, &rendered, next) => done?,
            () = release.asked_for() => {
                return Err(ReleaseError::Failed("the admin asks for another revision".to_owned()));
            }
        }
        release.settles();
        Ok(())
    }

    /// Makes the cluster what was rendered, with the hooks before and after that.
    async fn reach(&self, release: &Arc<Release>, rendered: &Rendered, mut record: Record) -> Result<(), ReleaseError> {
        let hooks = &rendered.content.hooks;
        if record.state == State::Pending {
            self.run_hooks(release, hooks, record.before(), &record).await?;
            record.state = State::Applying;
            self.store(Some(release.clone()), &record, release.hold()).await?;
        }
        self.desire(release, rendered, record.revision).await?;
        self.settle(release, record.revision, Goal::Ready).await?;
        if record.state == State::Applying {
            self.run_hooks(release, hooks, record.afterwards(), &record).await?;
            record.state = State::Deployed;
            self.store(Some(release.clone()), &record, release.hold()).await?;
            // The next module's chart may ask for kinds that this one has brought.
            self.charts.renderer.doubt();
            info!(module = self.module.as_str(), revision = record.revision, "the module's chart is deployed");
        }
        Ok(())
    }

    async fn delete(&self) -> Result<(), ReleaseError> {
        let Some(release) = self.known().await? else { return Ok(()) };
        release.begins();
        let mut record = release.record();
        let deletes = |event: Event| record.hooks.iter().any(|hook| hook.is_for(event));
        if !record.is_ending() {
            record.state = if deletes(Event::PreDelete) { State::Deleting } else { State::Removing };
            self.store(Some(release.clone()), &record, release.hold()).await?;
        }
        if record.state == State::Deleting {
            self.run_hooks(&release, &record.hooks, Event::PreDelete, &record).await?;
            record.state = State::Removing;
            self.store(Some(release.clone()), &record, release.hold()).await?;
        }
        self.learn(&release, &[]).await?;
        release.with(|set| {
            let mut parent = set.parent().clone();
            parent.deleting = true;
            set.update_parent(parent);
            set.doubt_dependants();
        });
        self.settle(&release, record.revision, Goal::Deleted).await?;
        self.run_hooks(&release, &record.hooks, Event::PostDelete, &record).await?;
        self.trim_to(&[]).await?;
        let uid = release.with(|set| set.parent().uid.to_string());
        self.forget(&release);
        let delete = Delete {
            target: self.secret(),
            propagation: Propagation::Background,
            ignore_missing: true,
            uid: Some(uid),
            resource_version: None,
            wait: None,
        };
        self.services().operator.access.write(&self.operator, &Operation::Delete(delete)).await.map_err(failed)?;
        info!(module = self.module.as_str(), "the module's chart is deleted");
        Ok(())
    }

    fn secret(&self) -> ObjectRef {
        record::reference(&self.charts.namespace, &self.module)
    }

    /// Runs the hooks of an event, and shows that they are waited for.
    async fn run_hooks(
        &self,
        release: &Release,
        hooks: &[hooks::Hook],
        event: Event,
        record: &Record,
    ) -> Result<(), ReleaseError> {
        let any = hooks.iter().any(|hook| hook.is_for(event));
        let _waiting = any.then(|| release.waiting(format!("the chart's {} hooks", event.name())));
        let revision = hooks::Revision { number: record.revision, time: record.time };
        let (services, patience) = (self.services(), self.charts.patience);
        let runner = HookRunner { services, caller: &self.caller, identity: &self.identity, revision, patience };
        runner.run(hooks, event).await.map_err(ReleaseError::Failed)
    }

    /// Applies definitions. Returns whether something was written, so that other kinds may be served.
    async fn define(&self, files: &[(&str, &str)]) -> Result<bool, ReleaseError> {
        let mut written = false;
        for file in files {
            written |= crds::apply(self.services(), &self.caller, &self.module, *file).await?;
        }
        if written {
            self.charts.renderer.doubt();
        }
        Ok(written)
    }

    /// Has the set know all of its members, of these kinds and of those that it had before.
    async fn learn(&self, release: &Arc<Release>, resources: &[Arc<Resource>]) -> Result<(), ReleaseError> {
        let (id, kinds) = release.with(|set| (set.id().clone(), set.parent().kinds().clone()));
        let mut all = objects::named(&self.services().discovery, &kinds).await?;
        all.extend(resources.iter().filter(|resource| !all.contains(resource)).cloned().collect::<Vec<_>>());
        self.charts.members.follow(&all).await.map_err(ReleaseError::Failed)?;
        self.charts.members.add(release, id.as_str());
        release.with(|set| set.listed());
        Ok(())
    }

    /// Gives the set what was rendered.
    async fn desire(&self, release: &Arc<Release>, rendered: &Rendered, revision: u64) -> Result<(), ReleaseError> {
        let generation = i64::try_from(revision).unwrap_or(i64::MAX);
        let discovery = &self.services().discovery;
        let wanted = objects::wanted(discovery, &rendered.content.manifests(), &self.identity, generation).await?;
        let namespace = |member: &Value| member.pointer("/metadata/namespace")?.as_str().map(str::to_owned);
        let namespaces = wanted.answer.members.iter().filter_map(namespace).collect();
        release.wants(wanted.versions, namespaces);
        self.learn(release, &wanted.resources).await?;
        let parent = release.with(|set| set.parent().clone());
        let desired = Desired::new(wanted.answer, &parent, &wanted.rules)
            .map_err(|error| ReleaseError::Refused(format!("the chart's objects cannot be applied: {error}")))?;
        release.with(|set| set.desire(desired));
        Ok(())
    }

    /// Sends what is to be sent, and waits until the set is as it should be.
    async fn settle(&self, release: &Arc<Release>, revision: u64, goal: Goal) -> Result<(), ReleaseError> {
        let deadline = Instant::now() + self.charts.patience;
        let manager = release::manager(&self.module);
        let applier = Applier { services: self.services(), caller: &self.caller, of_parent: &self.operator, manager };
        let generation = i64::try_from(revision).unwrap_or(i64::MAX);
        loop {
            let plan = applier.apply(&**release, PATIENCE).await;
            if self.services().plan {
                return Ok(());
            }
            if plan.hold != release.hold() {
                let record = release.record();
                self.store(Some(release.clone()), &record, plan.hold.clone()).await?;
                // What was approved may be stored only now.
                continue;
            }
            let waits_for = match (judge(&plan, generation, goal), plan.waits) {
                (Verdict::Done, _) => return Ok(()),
                // The rest goes first.
                (Verdict::Stalled(why), true) if plan.steps.iter().any(is_under_way) => why,
                (Verdict::Stalled(why), true) => {
                    let precious = release.with(|set| set.precious());
                    let free = dependants::without(self.services(), &self.caller, precious).await;
                    if !free.is_empty() {
                        release.with(|set| free.iter().for_each(|object| set.no_dependants(object)));
                        continue;
                    }
                    let (secret, approve) = (self.secret(), Names::of(None).approve);
                    return Err(ReleaseError::Failed(format!("{why} in the annotation {approve} of the {secret}")));
                }
                (Verdict::Stalled(why), false) => return Err(ReleaseError::Failed(why)),
                (Verdict::Waits(why), _) => why,
            };
            let until = plan.wake.unwrap_or(deadline).min(deadline);
            let _waiting = release.waiting(waits_for.clone());
            tokio::select! {
                () = release.news.notified() => {}
                () = tokio::time::sleep_until(until.into()) => {}
            }
            if Instant::now() >= deadline {
                let seconds = self.charts.patience.as_secs();
                return Err(ReleaseError::Failed(format!("not ready within {seconds} s: {waits_for}")));
            }
        }
    }
}

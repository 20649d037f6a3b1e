//! `reconcile` bindings: parents come from the queue, the hook says what each of them should become, and this drives its
//! set until the cluster is like that.
//!
//! | file | content |
//! | --- | --- |
//! | `ask` | the question to the hook, and its answer |
//! | `send` | the requests for a parent |
//! | `sets` | the sets of all parents: which exist, whose members are whose, and when each is due again |
//! | `marks` | the finalizer of a parent, and a prune that waits for an approval |
//! | `status` | the status of a parent |
//! | `revisions` | the objects that keep what a parent's children were, and what an admin asks for |
//! | `kept` | the requests for revisions |
//! | `strays` | what is left on objects that are not selected any more |
//! | `decorations` | labels and annotations on objects of others |
//!
//! The crate `boathook-applyset` decides. This sends what it decides, and feeds it what watches show.
//!
//! The queue gives the order: no parent is reconciled before all objects of all of the hook's bindings were listed, a
//! parent has one run at a time, and one that failed waits for its back-off whatever happens in the meantime.

mod ask;
mod decorations;
mod kept;
pub(super) mod marks;
pub(super) mod revisions;
mod send;
mod sets;
mod status;
mod strays;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_applyset::{Adopt, Limits, Parent, Plan, Policy, Stage, conditions};
use boathook_core::model::{
    self, BindingName, CallError, CallReason, Caller, Cause, EventType, Failure, FailureKind, HookName, HookSpec,
    Object, ObjectEvent, ObjectKey, ObjectRef, OwnEvent, Permission, ReconcileBinding, Resource, Role, SnapshotSet,
    Trigger, error_chain,
};
use boathook_sandbox::RunReport;
use jiff::Timestamp;
use serde_json::Value;

pub(super) use self::sets::{Informed, Reconcilers};
use self::{
    ask::Subject,
    decorations::Decoration,
    marks::{Marks, Names},
    sets::{Entry, Reconciler, Terms},
    status::Shown,
};
use super::{Services, applying::HasSet as _, events, hooks::Hook};

/// How soon a hook can be asked again about the same parent because it wants that.
const SOONEST: Duration = Duration::from_millis(100);

/// How often an object is read that a decorator does not select any more, and that it could not let go of.
const UNWATCHED: Duration = Duration::from_secs(30);

/// What a job of a hook with `reconcile` bindings is about.
pub(super) enum Task<'j> {
    /// All parents.
    All(&'j ReconcileBinding, &'j Trigger),
    /// One parent.
    One(&'j ReconcileBinding, &'j Trigger, &'j ObjectEvent),
    /// Members of a kind were listed.
    Listed(BindingName),
    /// Objects were listed that parents of this binding refer to. The second name is that of the binding that watches them.
    Related(BindingName, BindingName),
}

/// Returns what the job is about, unless it is about another binding.
pub(super) fn task<'j>(hook: &'j Hook, triggers: &'j [Trigger]) -> Option<Task<'j>> {
    let first = triggers.first()?;
    let informer = hook.spec.kubernetes.iter().find(|binding| binding.name == first.binding)?;
    match (informer.role.as_ref()?, &first.cause) {
        (Role::Parents, cause) => {
            let binding = hook.spec.reconcilers.iter().find(|binding| binding.name == first.binding)?;
            match cause {
                // A batch has one trigger, because the hook's triggers are not combined. Those that join a retry are
                // about the same parent, and the newest state is read from the snapshot.
                Cause::Event(event) => Some(Task::One(binding, first, event)),
                _ => Some(Task::All(binding, first)),
            }
        }
        (Role::Members(of), _) => Some(Task::Listed(of.clone())),
        (Role::Related(of), _) => Some(Task::Related(of.clone(), first.binding.clone())),
    }
}

/// A parent, as it was found.
struct Found {
    text: Arc<str>,
    /// The binding selects it.
    selected: bool,
}

/// One pass over one parent.
pub(super) struct Pass<'a> {
    services: &'a Arc<Services>,
    hook: &'a Hook,
    binding: &'a ReconcileBinding,
    /// The hook's, for the guest.
    caller: Caller,
    /// Of the operator's own requests for the hook: with the hook's identity, and with the rights that the binding
    /// asked for.
    writer: Caller,
    /// The identity of a decorator.
    decorator: Option<Arc<str>>,
    names: Names,
    trigger: &'a Trigger,
    attempt: u32,
}

/// Puts all parents into the queue.
pub(super) async fn all(
    services: &Services,
    hook: &Hook,
    binding: &ReconcileBinding,
    trigger: &Trigger,
) -> Result<(), Failure> {
    let (version, kind) = (&binding.parent.api_version, &binding.parent.kind);
    let resource = services.discovery.find(Some(version), kind).await.map_err(|error| retry(error_chain(&error)))?;
    let terms = Arc::new(Terms::new(&trigger.hook, binding, resource));
    push_all(services, terms.clone());
    strays::search(services, hook, terms);
    Ok(())
}

/// The members of a kind were listed. At the start, their parents are reconciled when they are listed, too. Later, the kind
/// was not served before, so that answers with it were invalid.
pub(super) fn listed(services: &Services, hook: &HookName, binding: &BindingName) {
    let reconciler = services.reconcilers.of(hook, binding);
    for wake in reconciler.invalid() {
        reconciler.push(wake, &services.queue);
    }
    // An attachment of theirs may belong to an object that is not selected any more.
    if let Some(terms) = reconciler.known() {
        strays::attached(services, &terms);
    }
}

/// Objects were listed. At the start, no parent refers to them yet. Later, their kind was not served before, or events were
/// lost.
pub(super) fn related(services: &Services, hook: &HookName, binding: &BindingName, informer: &BindingName) {
    let reconciler = services.reconcilers.of(hook, binding);
    for wake in reconciler.referring(informer, None) {
        reconciler.push(wake, &services.queue);
    }
}

fn push_all(services: &Services, terms: Arc<Terms>) {
    let reconciler = services.reconcilers.of(&terms.hook, &terms.binding.name);
    reconciler.knows(terms.clone());
    // If events were lost, so were triggers of parents.
    reconciler.nothing_is_queued();
    push_each(services, &terms);
    strays::attached(services, &terms);
}

fn push_each(services: &Services, terms: &Terms) {
    let reconciler = services.reconcilers.of(&terms.hook, &terms.binding.name);
    let now = services.snapshots.snapshot_set(&terms.hook);
    let text = |object: &Option<Arc<str>>| object.clone().unwrap_or_default();
    for (key, parent) in now.items(&terms.binding.name).into_iter().flatten() {
        // The watch does not select by annotations.
        if terms.binding.selects(&text(&parent.item.object)) || strays::is_marked(&text(&parent.item.object), terms) {
            reconciler.push(terms.wake(key, &parent.item.uid), &services.queue);
        }
    }
}

/// Another version of the hook runs. Its answers replace those of the version before. Bindings that did not change keep
/// their watches and are not listed again, so this puts their parents into the queue.
pub(super) fn renew(services: &Services, spec: &HookSpec, is_watching: impl Fn(&BindingName) -> bool) {
    services.reconcilers.keep(&spec.name, |name| spec.reconcilers.iter().any(|binding| binding.name == *name));
    for binding in &spec.reconcilers {
        let resource = services.reconcilers.of(&spec.name, &binding.name).renew();
        if let Some(resource) = resource.filter(|_| is_watching(&binding.name)) {
            push_all(services, Arc::new(Terms::new(&spec.name, binding, resource)));
        }
    }
}

/// Something has changed that the hook may have read, and that is nobody's event. All parents that are known are reconciled.
pub(super) fn ask_again(services: &Services, spec: &HookSpec) {
    for binding in &spec.reconcilers {
        if let Some(terms) = services.reconcilers.of(&spec.name, &binding.name).known() {
            push_each(services, &terms);
        }
    }
}

/// Without a status, nobody would see what happens to a parent. Each parent fails for itself: a synchronization that fails
/// would hold up the hook's other bindings.
async fn check_status(services: &Services, resource: &Resource) -> Result<(), Failure> {
    let has_status = services.discovery.has_status(resource).await.map_err(|error| retry(error_chain(&error)))?;
    has_status.then_some(()).ok_or_else(|| {
        let Resource { kind, plural, group, version, .. } = resource;
        retry(format!(
            "objects of kind {kind} have no status: add `subresources: {{status: {{}}}}` to version {version} of the \
             CustomResourceDefinition {plural}.{group}"
        ))
    })
}

impl<'a> Pass<'a> {
    pub fn new(
        services: &'a Arc<Services>,
        hook: &'a Hook,
        binding: &'a ReconcileBinding,
        caller: Caller,
        trigger: &'a Trigger,
        attempt: u32,
    ) -> Self {
        let permissions: Arc<[Permission]> = binding.asks().into();
        let writer = Caller { permissions, ..caller.clone() };
        let decorator = sets::decorator(&hook.spec.name, binding);
        let names = Names::of(decorator.as_deref());
        Self { services, hook, binding, caller, writer, decorator, names, trigger, attempt }
    }

    /// Asks the hook, makes the cluster like the answer, and writes the status.
    pub async fn run(self, event: &ObjectEvent) -> RunReport {
        let key = &event.item.key;
        let reconciler = self.services.reconcilers.of(&self.hook.spec.name, &self.binding.name);
        let terms = reconciler.terms(&self.hook.spec.name, self.binding, &event.resource);
        let because = reconciler.begins(key, self.attempt);
        self.services.causes.add_reasons(&self.caller.run, because);
        let now = self.services.snapshots.snapshot_set(&self.hook.spec.name);
        let watched = now.items(&self.binding.name).and_then(|parents| parents.get(key));
        let watched = watched.map(|kept| kept.item.object.clone().unwrap_or_default());
        let text = match watched.filter(|text| self.binding.selects(text)) {
            Some(text) => text,
            None if self.binding.decorates => return self.undecorate(&reconciler, &terms, event, &now).await,
            None => return RunReport::without_guest(self.leave(&reconciler, key).await),
        };
        if !self.binding.decorates
            && let Err(failure) = check_status(self.services, &event.resource).await
        {
            self.has_no_status(event, &failure);
            return RunReport::without_guest(Err(failure));
        }
        self.reconcile(&reconciler, &terms, event, &now, Found { text, selected: true }).await
    }

    async fn reconcile(
        &self,
        reconciler: &Arc<Reconciler>,
        terms: &Arc<Terms>,
        event: &ObjectEvent,
        now: &SnapshotSet,
        found: Found,
    ) -> RunReport {
        let (key, Found { text, selected }) = (&event.item.key, found);
        let read = serde_json::from_str::<Value>(&text).map_err(|error| error.to_string());
        let read = read.and_then(|value| Parent::read(&value).map(|parent| (value, parent)).map_err(|e| e.to_string()));
        let (value, mut parent) = match read {
            Ok(read) => read,
            Err(error) => return RunReport::without_guest(Err(Failure::of_host(error))),
        };
        let ends = parent.deleting;
        if let Some(decorator) = &self.decorator {
            parent = parent.decorated_by(decorator);
            // To a decorator, a parent that is not selected any more is one that ends.
            parent.deleting |= !selected;
        }
        let finalizes = self.finalizes();
        let begin = || (self.policy(finalizes), self.services.kept.nothing(&self.hook.tenant()));
        let entry = reconciler.entry(key, &parent, begin, now, self.binding);
        if let Some(until) = entry.own_writes_until(Instant::now()) {
            // The event of that write reconciles the parent. If it does not come, this does.
            self.due(terms, reconciler, &entry, Some(until), until);
            return nothing();
        }
        if let Stage::OtherTool(_) | Stage::OtherManager { .. } = entry.with(|set| set.stage()) {
            // The hook is not asked, because it may do something outside the cluster.
            let plan = entry.with(|set| set.plan(Instant::now()));
            let shown =
                Shown { plan: &plan, left: &[], rolled_back: None, failure: None, generation: parent.generation };
            let written = self.status(&entry, &value, shown).await;
            return RunReport::without_guest(written.map_err(|error| retry(format!("status: {}", error.message))));
        }
        let (marks, approved) = Marks::read(&value, &self.names);
        // Before the hook does anything outside the cluster.
        let marks = match self.mark(marks.clone(), marks.with_finalizer(finalizes && !parent.deleting), &value).await {
            Ok(marks) => marks,
            Err(error) => return RunReport::without_guest(Err(retry(error.message))),
        };
        entry.with(|set| set.must_finalize(finalizes && parent.deleting && marks.finalizer));
        let subject = Subject {
            reconciler,
            entry: &entry,
            text: &text,
            value: &value,
            parent: &parent,
            resource: &event.resource,
        };
        let (report, failure) = match self.roll_back(&subject).await {
            Ok(()) => self.ask(&subject).await,
            Err(failure) => (nothing(), Some(failure)),
        };
        let owned = self.binding.owns.iter().map(model::OwnedKind::group_kind).collect();
        let (needs, left) = entry.with(|set| {
            set.recall(marks.hold.clone());
            set.approve(approved.as_deref());
            (set.needs_finalizer(), set.kinds_left(&owned).iter().cloned().collect::<Vec<_>>())
        });
        // Before the first member that needs it exists.
        let marks = match self.mark(marks.clone(), marks.with_finalizer(needs && !parent.deleting), &value).await {
            Ok(marks) => marks,
            Err(error) => return RunReport { outcome: Err(retry(error.message)), ..report },
        };
        entry.has_finalizer(marks.finalizer);
        // Before it is applied, so that it is kept also if the operator ends in between.
        let (plan, failure) = match self.keep(&entry, &parent).await {
            Ok(()) => (self.apply(&entry).await, failure),
            Err(not_kept) => (entry.with(|set| set.plan(Instant::now())), failure.or(Some(not_kept))),
        };
        let needs = entry.with(|set| set.needs_finalizer());
        let finalizer = keeps_finalizer(&plan.stage, parent.deleting, marks.finalizer, needs);
        let is_over = !selected && plan.stage == Stage::Deleted;
        // What an object that ends has on it ends with it.
        let decorated = match (&self.decorator, ends) {
            (Some(_), false) if is_over => self.decorate(&Decoration::default(), &value).await,
            (Some(_), false) if selected => match entry.decoration() {
                Some(decoration) => self.decorate(&decoration, &value).await,
                None => Ok(()),
            },
            _ => Ok(()),
        };
        let wanted = Marks { finalizer, hold: plan.hold.clone() };
        let marked = self.mark(marks, wanted, &value).await.map(|marks| entry.has_finalizer(marks.finalizer));
        let marked = decorated.and(marked);
        // A plan, or a run by hand, has no next run.
        let is_known = failure.is_none() && marked.is_ok() && !self.services.plan && !self.services.hold;
        let written = if self.decorator.is_some() {
            self.report_stalled(&entry, &plan, &parent);
            Ok(())
        } else if is_known && entry.postpones_status(&plan, reconciler.is_queued(key), Instant::now()) {
            Ok(())
        } else {
            let (rolled_back, generation) = (entry.rolled_back(), parent.generation);
            let shown = Shown { plan: &plan, left: &left, rolled_back, failure: failure.as_ref(), generation };
            self.status(&entry, &value, shown).await
        };
        if self.services.plan || is_over && marked.is_ok() {
            // In a plan, nothing was stored, so the next run begins as this one did. No watch shows what was sent.
            reconciler.forget(key);
        } else {
            // A watch with a label selector does not show an approval on what it does not select.
            let again = (!selected).then(|| Instant::now() + UNWATCHED);
            let at = [plan.wake, again].into_iter().flatten().min();
            self.due(terms, reconciler, &entry, at, Instant::now() + SOONEST);
        }
        let part = if self.decorator.is_some() { "labels and annotations" } else { "status" };
        let written = marked.and(written).map_err(|error| retry(format!("{part}: {}", error.message)));
        RunReport { outcome: failure.map_or(written, Err), ..report }
    }

    /// The decorator does not select the parent any more, or the parent is gone. What was attached goes. Only who attached it
    /// does that: the object may live long.
    async fn undecorate(
        &self,
        reconciler: &Arc<Reconciler>,
        terms: &Arc<Terms>,
        event: &ObjectEvent,
        now: &SnapshotSet,
    ) -> RunReport {
        let key = &event.item.key;
        let known = reconciler.find(key).map(|entry| entry.with(|set| set.parent().uid.clone()));
        let uid = known.or_else(|| reconciler.stray(key).map(|(_, uid)| uid)).unwrap_or_else(|| event.item.uid.clone());
        let object = ObjectRef {
            api_version: event.resource.api_version(),
            kind: event.resource.kind.clone(),
            namespace: key.namespace.as_deref().map(str::to_owned),
            name: key.name.to_string(),
        };
        // A watch with a label selector does not show it.
        let text = match self.services.operator.access.get(&self.writer, &object, None).await {
            Ok(text) => text,
            Err(error) if error.reason == CallReason::NotFound => {
                reconciler.forget(key);
                return nothing();
            }
            Err(error) => return RunReport::without_guest(Err(retry(error.message))),
        };
        let found: Value = serde_json::from_str(&text).unwrap_or_default();
        if found.pointer("/metadata/uid").and_then(Value::as_str) != Some(&uid) {
            // Kubernetes deletes what was attached to the one before.
            reconciler.forget(key);
            return nothing();
        }
        let (version, kind) = (object.api_version.as_str().into(), object.kind.as_str().into());
        let text = match Object::from_json(&text, &version, &kind) {
            Ok(object) => object.json,
            Err(error) => return RunReport::without_guest(Err(Failure::of_host(error_chain(&error)))),
        };
        self.reconcile(reconciler, terms, event, now, Found { text, selected: false }).await
    }

    /// Says why attachments are not as desired. The status of the object is not the hook's, so it is in the log, and in an
    /// Event if the hook has the permission for Events.
    fn report_stalled(&self, entry: &Entry, plan: &Plan, parent: &Parent) {
        entry.has_status();
        let all = conditions(plan, parent.generation, &[], Timestamp::now());
        let stalled = all.into_iter().find(|one| one.type_ == "Stalled" && one.status == "True");
        let said = stalled.map(|one| match &*one.reason {
            "ApprovalRequired" => (format!("{} in the annotation {}", one.message, self.names.approve), one.reason),
            _ => (one.message, one.reason),
        });
        if !entry.says(said.as_ref().map(|(message, _)| message)) {
            return;
        }
        let Some((message, reason)) = said else { return };
        let (hook, object) = (&self.hook.spec.name, &parent.object);
        tracing::warn!(%hook, binding = %self.binding.name, %object, reason, "attachments are not as desired: {message}");
        let about = events::Parent { object: object.clone(), uid: parent.uid.to_string() };
        let event = OwnEvent { r#type: EventType::Warning, reason, message };
        self.services.events.answered(&self.hook.tenant(), hook, &self.binding.name, &about, &[event]);
    }

    /// The author of a parent without a status sees nothing else of the failure.
    fn has_no_status(&self, event: &ObjectEvent, failure: &Failure) {
        let key = &event.item.key;
        let object = ObjectRef {
            api_version: event.resource.api_version(),
            kind: event.resource.kind.clone(),
            namespace: key.namespace.as_deref().map(str::to_owned),
            name: key.name.to_string(),
        };
        let about = events::Parent { object, uid: event.item.uid.to_string() };
        let (reason, message) = ("NotReconciled".to_owned(), failure.message.clone());
        let event = OwnEvent { r#type: EventType::Warning, reason, message };
        self.services.events.answered(&self.hook.tenant(), &self.hook.spec.name, &self.binding.name, &about, &[event]);
    }

    /// Whether the hook does something before a parent ends.
    fn finalizes(&self) -> bool {
        self.hook.component.finalizes(&self.binding.name)
    }

    /// The binding does not select the parent any more: it is deleted, or has other labels. Owner references delete the
    /// members of the former. The latter keeps its members, and nobody else would remove its finalizer.
    ///
    /// A finalizer that stands for the hook's work stays. Without it, nobody would undo that work when the parent is deleted.
    /// We rejected to undo it now, because someone who changes a label does not expect that something outside is deleted.
    async fn leave(&self, reconciler: &Reconciler, key: &ObjectKey) -> Result<(), Failure> {
        let entry = reconciler.find(key);
        let of = |entry: &Entry| entry.with(|set| (set.parent().object.clone(), set.parent().uid.clone()));
        let held = match &entry {
            Some(entry) => entry.is_held().then(|| of(entry)),
            // No run was about it since it was not selected any more.
            None => reconciler.stray(key),
        };
        if let Some((object, uid)) = held {
            self.let_go(&object, &uid).await.map_err(|error| retry(error.message))?;
        }
        reconciler.forget(key);
        Ok(())
    }

    async fn let_go(&self, object: &ObjectRef, uid: &str) -> Result<(), CallError> {
        let found = match self.services.operator.access.get(&self.writer, object, None).await {
            Ok(text) => serde_json::from_str::<Value>(&text).unwrap_or_default(),
            Err(error) if error.reason == CallReason::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if found.pointer("/metadata/uid").and_then(Value::as_str) != Some(uid) {
            return Ok(());
        }
        let (marks, _) = Marks::read(&found, &self.names);
        if self.finalizes() && marks.finalizer {
            self.report_kept(object, uid);
            return Ok(());
        }
        self.mark(marks, Marks::default(), &found).await.map(drop)
    }

    fn report_kept(&self, object: &ObjectRef, uid: &str) {
        let message = format!(
            "the binding {} does not select the object any more, and the hook has not undone its work: give the object its \
             labels again before you delete it, or undo the work yourself and remove the finalizer {}",
            self.binding.name, self.names.finalizer
        );
        tracing::warn!(hook = %self.hook.spec.name, %object, "a finalizer is kept: {message}");
        let about = events::Parent { object: object.clone(), uid: uid.to_owned() };
        let event = OwnEvent { r#type: EventType::Warning, reason: "FinalizerKept".to_owned(), message };
        self.services.events.answered(&self.hook.tenant(), &self.hook.spec.name, &self.binding.name, &about, &[event]);
    }

    fn policy(&self, finalizes: bool) -> Policy {
        let prune = self.binding.prune;
        Policy {
            adopt: match self.binding.adopt {
                model::Adopt::Never => Adopt::Never,
                model::Adopt::IfUnowned => Adopt::IfUnowned,
                model::Adopt::Always => Adopt::Always,
            },
            limits: Limits { max_share: prune.max_share.get(), max_objects: prune.max_objects },
            finalizes,
            ..Policy::new(&self.manager())
        }
    }

    fn manager(&self) -> String {
        manager(&self.hook.spec.name)
    }

    /// Has the parent reconciled again at this time, or when the hook or the document wants it. The hook's time counts from
    /// `earliest` on, because it may be over.
    fn due(&self, terms: &Terms, reconciler: &Arc<Reconciler>, entry: &Entry, at: Option<Instant>, earliest: Instant) {
        let resync = self.binding.resync.map(|period| Instant::now() + period);
        let requeue = entry.requeues_at().map(|at| at.max(earliest));
        let at = [at, requeue, resync].into_iter().flatten().min();
        let uid = entry.with(|set| set.parent().uid.clone());
        entry.wake_at(at.map(|at| (at, terms.wake(&entry.key, &uid))), reconciler, &self.services.queue);
    }
}

/// The field manager of what is written for a hook.
fn manager(hook: &HookName) -> String {
    format!("boathook.dev/{hook}")
}

fn retry(message: String) -> Failure {
    Failure { kind: FailureKind::Retry, message, backtrace: None }
}

/// The report of a pass in which the hook did not run.
fn nothing() -> RunReport {
    RunReport::without_guest(Ok(()))
}

/// Whether the parent has the finalizer after a pass. The API server lets nobody add one to an object that is being deleted,
/// so a pass that tried to would fail again and again.
fn keeps_finalizer(stage: &Stage, deleting: bool, has: bool, needs: bool) -> bool {
    match stage {
        Stage::Deleted => false,
        _ if deleting => has,
        _ => needs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // mutant: crates/operator/src/app/reconcile/mod.rs: `_ if deleting => has,` => ``
    #[test]
    fn nothing_gets_the_finalizer_while_it_is_deleted() {
        let other = || Stage::OtherTool("kubectl".to_owned());
        for stage in [other(), Stage::Applying, Stage::Deleting, Stage::Finalizing] {
            assert!(!keeps_finalizer(&stage, true, false, true), "{stage:?}");
            assert!(keeps_finalizer(&stage, true, true, true), "{stage:?}");
        }
        assert!(!keeps_finalizer(&Stage::Deleted, true, true, true));
        assert_eq!([true, false].map(|needs| keeps_finalizer(&Stage::Applying, false, false, needs)), [true, false]);
    }
}

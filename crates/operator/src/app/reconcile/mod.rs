//! `reconcile` bindings: parents come from the queue, the hook says what each of them should become, and this drives its
//! set until the cluster is like that.
//!
//! | file | content |
//! | --- | --- |
//! | `sets` | the sets of all parents: which exist, whose members are whose, and when each is due again |
//! | `marks` | the finalizer of a parent, and a prune that waits for an approval |
//! | `status` | the status of a parent |
//!
//! The crate `boathook-applyset` decides. This sends what it decides, and feeds it what watches show.
//!
//! The queue gives the order: no parent is reconciled before all objects of all of the hook's bindings were listed, a
//! parent has one run at a time, and one that failed waits for its back-off whatever happens in the meantime.

mod marks;
mod sets;
mod status;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_applyset::{Adopt, Bounds, Limits, Parent, Plan, Policy, Request, Rules, Stage, Verb};
use boathook_core::model::{
    self, BindingName, CallError, CallReason, Caller, Cause, Child, Delete, Failure, FailureKind, HookName, HookSpec,
    ObjectEvent, ObjectKey, ObjectRef, Operation, OwnedKind, Patch, PatchBody, Permission, Reconcile, ReconcileBinding,
    Resource, Role, SnapshotSet, Trigger, error_chain,
};
use boathook_kube::discovery::DiscoveryError;
use boathook_sandbox::{ReconcileRequest, RunReport};
use futures::{StreamExt as _, stream};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub(super) use self::sets::{Informed, Reconcilers};
use self::{
    marks::Marks,
    sets::{Entry, Reconciler, Terms},
    status::Shown,
};
use super::{Services, hooks::Hook};

/// Requests at the same time for one parent.
const REQUESTS: usize = 8;
/// How long one run may write, before it lets other parents have its slot.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a job of a hook with `reconcile` bindings is about.
pub(super) enum Task<'j> {
    /// All parents.
    All(&'j ReconcileBinding, &'j Trigger),
    /// One parent.
    One(&'j ReconcileBinding, &'j Trigger, &'j ObjectEvent),
    /// Members of a kind were listed.
    Listed(BindingName),
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
    }
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
    trigger: &'a Trigger,
    attempt: u32,
}

/// Puts all parents into the queue.
pub(super) async fn all(services: &Services, binding: &ReconcileBinding, trigger: &Trigger) -> Result<(), Failure> {
    let (version, kind) = (&binding.parent.api_version, &binding.parent.kind);
    let resource = services.discovery.find(Some(version), kind).await.map_err(|error| retry(error_chain(&error)))?;
    let terms = Terms { hook: trigger.hook.clone(), binding: binding.clone(), resource };
    push_all(services, Arc::new(terms));
    Ok(())
}

/// The members of a kind were listed. At the start, their parents are reconciled when they are listed, too. Later, the kind
/// was not served before, so that answers with it were invalid.
pub(super) fn listed(services: &Services, hook: &HookName, binding: &BindingName) {
    for wake in services.reconcilers.of(hook, binding).invalid() {
        services.queue.push(wake);
    }
}

fn push_all(services: &Services, terms: Arc<Terms>) {
    services.reconcilers.of(&terms.hook, &terms.binding.name).knows(terms.clone());
    let now = services.snapshots.snapshot_set(&terms.hook);
    for (key, parent) in now.items(&terms.binding.name).into_iter().flatten() {
        services.queue.push(terms.wake(key, &parent.item.uid));
    }
}

/// Another version of the hook runs. Its answers replace those of the version before. Bindings that did not change keep
/// their watches and are not listed again, so this puts their parents into the queue.
pub(super) fn renew(services: &Services, spec: &HookSpec, is_watching: impl Fn(&BindingName) -> bool) {
    services.reconcilers.keep(&spec.name, |name| spec.reconcilers.iter().any(|binding| binding.name == *name));
    for binding in &spec.reconcilers {
        let resource = services.reconcilers.of(&spec.name, &binding.name).renew();
        if let Some(resource) = resource.filter(|_| is_watching(&binding.name)) {
            push_all(services, Arc::new(Terms { hook: spec.name.clone(), binding: binding.clone(), resource }));
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
        Self { services, hook, binding, caller, writer, trigger, attempt }
    }

    /// Asks the hook, makes the cluster like the answer, and writes the status.
    pub async fn run(self, event: &ObjectEvent) -> RunReport {
        let key = &event.item.key;
        let reconciler = self.services.reconcilers.of(&self.hook.spec.name, &self.binding.name);
        let terms = reconciler.terms(&self.hook.spec.name, self.binding, &event.resource);
        let now = self.services.snapshots.snapshot_set(&self.hook.spec.name);
        let Some(item) = now.items(&self.binding.name).and_then(|parents| parents.get(key)) else {
            return RunReport::without_guest(self.leave(&reconciler, key).await);
        };
        if let Err(failure) = check_status(self.services, &event.resource).await {
            return RunReport::without_guest(Err(failure));
        }
        let text = item.item.object.clone().unwrap_or_default();
        let read = serde_json::from_str::<Value>(&text).map_err(|error| error.to_string());
        let read = read.and_then(|value| Parent::read(&value).map(|parent| (value, parent)).map_err(|e| e.to_string()));
        let (value, parent) = match read {
            Ok(read) => read,
            Err(error) => return RunReport::without_guest(Err(Failure::of_host(error))),
        };
        let begin = || (self.policy(), self.services.kept.nothing(&self.hook.tenant()));
        let entry = reconciler.entry(key, &parent, begin, &now, self.binding);
        if let Some(until) = entry.own_writes_until(Instant::now()) {
            // The event of that write reconciles the parent. If it does not come, this does.
            self.due(&terms, &entry, Some(until));
            return nothing();
        }
        let (report, failure) = self.ask(&reconciler, &entry, &text, &parent, &now, &event.resource).await;
        let (marks, approved) = Marks::read(&value);
        let owned = self.binding.owns.iter().map(OwnedKind::group_kind).collect();
        let (needs, left) = entry.with(|set| {
            set.recall(marks.hold.clone());
            set.approve(approved.as_deref());
            (set.needs_finalizer(), set.kinds_left(&owned).iter().cloned().collect::<Vec<_>>())
        });
        // Before the first member that needs it exists.
        let finalizer = marks.finalizer || needs && !parent.deleting;
        let first = Marks { finalizer, hold: marks.hold.clone() };
        let marks = match self.mark(marks, first, &value).await {
            Ok(marks) => marks,
            Err(error) => return RunReport { outcome: Err(retry(error.message)), ..report },
        };
        entry.has_finalizer(marks.finalizer);
        let plan = self.apply(&entry).await;
        let finalizer = match plan.stage {
            Stage::Deleted => false,
            Stage::Deleting => marks.finalizer,
            _ => entry.with(|set| set.needs_finalizer()),
        };
        let wanted = Marks { finalizer, hold: plan.hold.clone() };
        let marked = self.mark(marks, wanted, &value).await.map(|marks| entry.has_finalizer(marks.finalizer));
        let shown = Shown { plan: &plan, left: &left, failure: failure.as_ref(), generation: parent.generation };
        let written = self.status(&entry, &value, shown).await;
        self.due(&terms, &entry, plan.wake);
        let written = marked.and(written).map_err(|error| retry(format!("status: {}", error.message)));
        RunReport { outcome: failure.map_or(written, Err), ..report }
    }

    /// The binding does not select the parent any more: it is deleted, or has other labels. Owner references delete the
    /// members of the former. The latter keeps its members, and nobody else would remove its finalizer.
    async fn leave(&self, reconciler: &Reconciler, key: &ObjectKey) -> Result<(), Failure> {
        let Some(entry) = reconciler.find(key) else { return Ok(()) };
        if entry.is_held() {
            self.let_go(&entry).await.map_err(|error| retry(error.message))?;
        }
        reconciler.forget(key);
        Ok(())
    }

    async fn let_go(&self, entry: &Entry) -> Result<(), CallError> {
        let parent = entry.with(|set| set.parent().clone());
        let found = match self.services.operator.access.get(&self.writer, &parent.object, None).await {
            Ok(text) => serde_json::from_str::<Value>(&text).unwrap_or_default(),
            Err(error) if error.reason == CallReason::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if found.pointer("/metadata/uid").and_then(Value::as_str) != Some(&*parent.uid) {
            return Ok(());
        }
        let (marks, _) = Marks::read(&found);
        self.mark(marks, Marks::default(), &found).await.map(drop)
    }

    fn policy(&self) -> Policy {
        let prune = self.binding.prune;
        Policy {
            adopt: match self.binding.adopt {
                model::Adopt::Never => Adopt::Never,
                model::Adopt::IfUnowned => Adopt::IfUnowned,
                model::Adopt::Always => Adopt::Always,
            },
            limits: Limits { max_share: prune.max_share.get(), max_objects: prune.max_objects },
            ..Policy::new(&self.manager())
        }
    }

    fn manager(&self) -> String {
        format!("boathook.dev/{}", self.hook.spec.name)
    }

    /// The kinds that are served. An answer with another one is invalid until that one is served, too.
    async fn rules(&self, parent: &Resource) -> Result<Rules, Failure> {
        let mut owns = Vec::new();
        for kind in &self.binding.owns {
            match self.services.discovery.find(Some(&kind.api_version), &kind.kind).await {
                Ok(resource) => owns.push((*resource).clone()),
                Err(DiscoveryError::Unknown { .. }) => {}
                Err(error) => return Err(retry(error_chain(&error))),
            }
        }
        // A namespaced parent cannot own what is elsewhere, and a cluster-scoped one owns anything.
        Ok(Rules { owns, across: !parent.namespaced, bounds: Bounds::default() })
    }

    /// Asks the hook, unless its last answer is still right, and gives the answer to the set. The failure is the hook's.
    async fn ask(
        &self,
        reconciler: &Reconciler,
        entry: &Entry,
        text: &Arc<str>,
        parent: &Parent,
        now: &SnapshotSet,
        resource: &Resource,
    ) -> (RunReport, Option<Failure>) {
        // The hook has no say about a parent that is being deleted.
        if parent.deleting {
            return (nothing(), None);
        }
        let children = self.children(reconciler, entry, now);
        let seen = self.hook.is_pure().then(|| digest(text, &children));
        if seen.as_ref().is_some_and(|seen| entry.has_answered(seen)) {
            return (nothing(), None);
        }
        let reconcile = Reconcile {
            binding: self.binding.name.clone(),
            parent: text.clone(),
            children,
            snapshots: self.binding.include_snapshots_from.clone(),
        };
        let request = ReconcileRequest {
            caller: self.caller.clone(),
            attempt: self.attempt,
            trigger: self.trigger.clone(),
            reconcile,
            limits: self.hook.spec.limits,
        };
        let host = self.services.operator.clone();
        let report = self.services.sandbox.reconcile(&self.hook.component, request, host).await;
        let (report, outcome) = report.split();
        match outcome {
            Ok(answer) if !status::is_object(&answer) => {
                let message = "the status that the hook returned is not a JSON object".to_owned();
                (report, Some(Failure { kind: FailureKind::Permanent, message, backtrace: None }))
            }
            Ok(answer) => {
                let taken = match self.rules(resource).await {
                    Ok(rules) => entry.answered(&rules, seen, answer, parent).map_err(|error| retry(error.to_string())),
                    Err(failure) => Err(failure),
                };
                (report, taken.err())
            }
            Err(failure) => (report, Some(failure)),
        }
    }

    fn children(&self, reconciler: &Reconciler, entry: &Entry, now: &SnapshotSet) -> Vec<Child> {
        let mut children = Vec::new();
        for kind in &self.binding.owns {
            let informer = self.binding.members_of(kind);
            let Some(items) = now.items(&informer) else { continue };
            for key in reconciler.members(entry, &informer) {
                let Some(object) = items.get(&key).and_then(|item| item.item.object.clone()) else { continue };
                let target = ObjectRef {
                    api_version: kind.api_version.to_string(),
                    kind: kind.kind.to_string(),
                    namespace: key.namespace.as_deref().map(str::to_owned),
                    name: key.name.to_string(),
                };
                children.push(Child { target, object });
            }
        }
        children
    }

    /// Sends what the set decides, until there is nothing more to send.
    async fn apply(&self, entry: &Entry) -> Plan {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let requests = entry.with(|set| set.take(REQUESTS, Instant::now()));
            if requests.is_empty() || Instant::now() > deadline {
                return entry.with(|set| set.plan(Instant::now()));
            }
            let pass = &self;
            let sent = requests.into_iter().map(|request| async move {
                let result = pass.send(entry, &request).await;
                let text = result.as_ref().map(|text| text.as_deref()).map_err(Clone::clone);
                entry.with(|set| set.finished(&request, text, Instant::now()));
            });
            stream::iter(sent).buffer_unordered(REQUESTS).collect::<()>().await;
        }
    }

    async fn send(&self, entry: &Entry, request: &Request) -> Result<Option<String>, CallError> {
        let (access, caller) = (&self.services.operator.access, &self.writer);
        let apply = |object: &str, force, manager: String| {
            Operation::Patch(Patch {
                target: request.object.clone(),
                body: PatchBody::Apply { object: object.to_owned(), force, field_manager: Some(manager) },
                subresource: None,
                ignore_missing: false,
            })
        };
        match &request.verb {
            Verb::Apply { body, force } => access.write(caller, &apply(body, *force, self.manager())).await,
            Verb::Mark { body } => access.write(caller, &apply(body, true, format!("{}-set", self.manager()))).await,
            Verb::Delete { uid, propagation } => {
                let delete = Delete {
                    target: request.object.clone(),
                    propagation: *propagation,
                    ignore_missing: false,
                    uid: Some(uid.clone()),
                    resource_version: None,
                    wait: None,
                };
                access.write(caller, &Operation::Delete(delete)).await
            }
            Verb::Read => access.get(caller, &request.object, None).await.map(Some),
            Verb::Release => {
                let text = access.get(caller, &request.object, None).await?;
                let value: Value = serde_json::from_str(&text).unwrap_or_default();
                let Some(patch) = entry.with(|set| set.release(&value)) else { return Ok(Some(text)) };
                let patch = Patch {
                    target: request.object.clone(),
                    body: PatchBody::Merge(patch.to_string()),
                    subresource: None,
                    ignore_missing: false,
                };
                access.write(caller, &Operation::Patch(patch)).await
            }
        }
    }

    /// Writes the status if it is not like that.
    async fn status(&self, entry: &Entry, parent: &Value, shown: Shown<'_>) -> Result<(), CallError> {
        if matches!(shown.plan.stage, Stage::Deleting | Stage::Deleted) {
            return Ok(());
        }
        let answer = entry.answer();
        let wanted = status::wanted(shown, answer.as_deref(), parent);
        if entry.shows_status(&wanted, parent) {
            return Ok(());
        }
        let mut object = status::identity(parent);
        if let Some(object) = object.as_object_mut() {
            object.insert("status".to_owned(), wanted.clone());
        }
        let patch = Patch {
            target: ObjectRef::of(parent),
            body: PatchBody::Apply {
                object: object.to_string(),
                force: true,
                field_manager: Some(format!("{}-status", self.manager())),
            },
            subresource: Some("status".to_owned()),
            ignore_missing: false,
        };
        match self.services.operator.access.write(&self.writer, &Operation::Patch(patch)).await {
            Ok(response) => {
                let made: Value = response.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
                entry.wrote_status(wanted, made.get("status").cloned().unwrap_or_default());
                Ok(())
            }
            // It was deleted in the meantime.
            Err(error) if error.reason == CallReason::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes the parent's marks if it has others. Returns those that it has now.
    async fn mark(&self, has: Marks, wanted: Marks, parent: &Value) -> Result<Marks, CallError> {
        if has == wanted {
            return Ok(has);
        }
        let mut object = status::identity(parent);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.extend(wanted.fields());
        }
        let patch = Patch {
            target: ObjectRef::of(parent),
            body: PatchBody::Apply {
                object: object.to_string(),
                force: true,
                field_manager: Some(format!("{}-marks", self.manager())),
            },
            subresource: None,
            ignore_missing: false,
        };
        self.services.operator.access.write(&self.writer, &Operation::Patch(patch)).await.map(|_| wanted)
    }

    /// Has the parent reconciled again at this time, or when the hook or the document wants it.
    fn due(&self, terms: &Terms, entry: &Entry, at: Option<Instant>) {
        let resync = self.binding.resync.map(|period| Instant::now() + period);
        let at = [at, entry.requeues_at(), resync].into_iter().flatten().min();
        let uid = entry.with(|set| set.parent().uid.clone());
        entry.wake_at(at.map(|at| (at, terms.wake(&entry.key, &uid))), &self.services.queue);
    }
}

fn retry(message: String) -> Failure {
    Failure { kind: FailureKind::Retry, message, backtrace: None }
}

/// The report of a pass in which the hook did not run.
fn nothing() -> RunReport {
    RunReport::without_guest(Ok(()))
}

/// Identifies what the hook would see.
fn digest(parent: &str, children: &[Child]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for text in std::iter::once(parent).chain(children.iter().map(|child| &*child.object)) {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    }
    digest.finalize().into()
}

//! The question to the hook about one parent, and what becomes of its answer.

use std::{sync::Arc, time::Instant};

use boathook_applyset::{Bounds, Parent, Rules};
use boathook_core::model::{
    Child, Failure, FailureKind, ObjectKey, ObjectRef, OwnedKind, Reconcile, Reconciled, RelatedObject, Resource,
    SnapshotSet, error_chain,
};
use boathook_kube::discovery::DiscoveryError;
use boathook_sandbox::{Host, ReconcileRequest, RunReport};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    super::{applying::HasSet as _, events, shadows::Shadowed, why},
    Pass,
    decorations::{self, Decoration},
    nothing, retry,
    sets::{Entry, Reconciler},
    status,
};
use crate::record::secrets::bindings_of_secrets;

/// The most owners of a parent that are looked at, with theirs.
const MAX_ANCESTORS: usize = 64;

/// The parent of a question.
pub(super) struct Subject<'a> {
    pub reconciler: &'a Reconciler,
    pub entry: &'a Entry,
    pub text: &'a Arc<str>,
    pub value: &'a Value,
    pub parent: &'a Parent,
    pub resource: &'a Resource,
}

impl Pass<'_> {
    /// Asks the hook, unless its last answer is still right, and gives the answer to the set. The failure is the hook's.
    pub(super) async fn ask(&self, of: &Subject<'_>) -> (RunReport, Option<Failure>) {
        // The hook has a say about a parent that is being deleted only until it has finalized it.
        let finalizes = of.entry.with(|set| set.is_finalizing());
        if of.parent.deleting && !finalizes {
            of.entry.is_over();
            return (nothing(), None);
        }
        // A change of what is related wakes the parent from now on. What changed before is in the snapshot.
        match self.references(of.value) {
            Ok(references) => of.reconciler.refers(&of.entry.key, references),
            Err(message) => {
                return (nothing(), Some(Failure { kind: FailureKind::Permanent, message, backtrace: None }));
            }
        }
        let now = self.services.snapshots.snapshot_set(&self.hook.spec.name);
        let (children, related) = (self.children(of, &now), self.related(of.value, &now));
        let seen = self.hook.is_pure().then(|| digest(of.text, &children, &related));
        if seen.as_ref().is_some_and(|seen| of.entry.has_answered(seen)) {
            return (nothing(), None);
        }
        of.entry.is_asked(Instant::now());
        let reconcile = Reconcile {
            binding: self.binding.name.clone(),
            parent: of.text.clone(),
            finalizes,
            children,
            related,
            snapshots: self.binding.include_snapshots_from.clone(),
        };
        let request = ReconcileRequest {
            caller: self.caller.clone(),
            attempt: self.attempt,
            trigger: self.trigger.clone(),
            reconcile,
            limits: self.hook.spec.limits,
        };
        let (report, outcome) = self.recorded(request).await.split();
        match outcome {
            Ok(answer) if !status::is_object(&answer) => {
                let message = "the status that the hook returned is not a JSON object".to_owned();
                (report, Some(Failure { kind: FailureKind::Permanent, message, backtrace: None }))
            }
            Ok(mut answer) => {
                let decoration = match self.decoration(of.parent, &mut answer) {
                    Ok(decoration) => decoration,
                    Err(message) => {
                        return (report, Some(Failure { kind: FailureKind::Permanent, message, backtrace: None }));
                    }
                };
                self.report(of.parent, &answer);
                (report, self.take(of, &now, answer, decoration, seen).await.err())
            }
            Err(failure) => (report, Some(failure)),
        }
    }

    /// Calls the hook, and records the call if there is a recorder. What becomes of the answer is not recorded, because it
    /// depends on the cluster and not on the hook.
    async fn recorded(&self, request: ReconcileRequest) -> RunReport<Reconciled> {
        let (sandbox, component) = (&self.services.sandbox, &self.hook.component);
        let operator = self.services.operator.clone();
        let shadowed = Shadowed::begin(self.services, self.hook, operator.clone(), || request.clone().into());
        let host = shadowed.as_ref().map_or(operator as Arc<dyn Host>, Shadowed::host);
        let Some(recorder) = &self.services.recorder else {
            let report = sandbox.reconcile(component, request, host).await;
            if let Some(shadowed) = shadowed {
                shadowed.end(&report);
            }
            return report;
        };
        let secrets = bindings_of_secrets(&self.hook.spec);
        let run = request.caller.run.clone();
        let begun = recorder.begin(host, component.digest(), secrets, request.clone());
        let report = sandbox.reconcile(component, request, begun.host()).await;
        if let Some(shadowed) = shadowed {
            shadowed.end(&report);
        }
        begun.end(&report, || why::recorded(&self.services.causes, &run));
        report
    }

    /// What a decorator sets on its parent. It is not among the children after that.
    fn decoration(&self, parent: &Parent, answer: &mut Reconciled) -> Result<Option<Decoration>, String> {
        if self.decorator.is_none() {
            return Ok(None);
        }
        let is_empty = |status: &str| status::fields(status).is_some_and(|fields| fields.is_empty());
        if !answer.conditions.is_empty() || !answer.status.as_deref().is_none_or(is_empty) {
            return Err(format!(
                "the hook decorates {}, whose status is not the hook's: return no status and no conditions, and set labels \
                 or annotations in place of them",
                parent.object
            ));
        }
        decorations::taken(&mut answer.children, &parent.object).map(Some)
    }

    async fn take(
        &self,
        of: &Subject<'_>,
        now: &SnapshotSet,
        answer: Reconciled,
        decoration: Option<Decoration>,
        seen: Option<[u8; 32]>,
    ) -> Result<(), Failure> {
        let again = self.binding.retry.initial;
        let answer = match of.parent.deleting && !answer.done {
            // Nothing else may come that has the hook asked again.
            true => Reconciled { requeue_after: answer.requeue_after.or(Some(again)), ..answer },
            // What it still needs is nothing.
            false if answer.done => Reconciled { children: Vec::new(), ..answer },
            false => answer,
        };
        let rules = self.rules(of.resource).await?;
        let mut parent = of.parent.clone();
        parent.owners = self.ancestors(parent.owners, now);
        of.entry.answered(&rules, seen, answer, decoration, &parent).map_err(|error| retry(error.to_string()))
    }

    /// The owners of the parent, and theirs, as far as the hook watches them. What owns the parent cannot be its child:
    /// Kubernetes would delete all objects of the circle with any one of them.
    fn ancestors(&self, owners: Vec<ObjectRef>, now: &SnapshotSet) -> Vec<ObjectRef> {
        let (mut all, mut next) = (owners, 0);
        while let Some(owner) = all.get(next).cloned().filter(|_| all.len() < MAX_ANCESTORS) {
            next += 1;
            let above = self.shown(&owner, now).and_then(|text| Parent::read(&serde_json::from_str(&text).ok()?).ok());
            for owner in above.into_iter().flat_map(|above| above.owners) {
                if !all.contains(&owner) {
                    all.push(owner);
                }
            }
        }
        all
    }

    /// An owner as one of the hook's own watches shows it. An owner is in the namespace of what it owns, or in none.
    fn shown(&self, owner: &ObjectRef, now: &SnapshotSet) -> Option<Arc<str>> {
        let version = owner.api_version.as_str().into();
        let of = OwnedKind { api_version: version, kind: owner.kind.as_str().into() }.group_kind();
        let places = [owner.namespace.as_deref().map(Arc::<str>::from), None];
        for binding in &self.hook.spec.reconcilers {
            let parents = (binding.parent.group_kind() == of).then(|| binding.name.clone());
            let members = binding.owns.iter().filter(|kind| kind.group_kind() == of);
            for informer in parents.into_iter().chain(members.map(|kind| binding.members_of(kind))) {
                let Some(items) = now.items(&informer) else { continue };
                for namespace in places.clone() {
                    let found = items.get(&ObjectKey { namespace, name: owner.name.as_str().into() });
                    if let Some(text) = found.and_then(|found| found.item.object.clone()) {
                        return Some(text);
                    }
                }
            }
        }
        None
    }

    fn report(&self, parent: &Parent, answer: &Reconciled) {
        if !answer.events.is_empty() {
            let about = events::Parent { object: parent.object.clone(), uid: parent.uid.to_string() };
            let (tenant, hook) = (self.hook.tenant(), &self.hook.spec.name);
            self.services.events.answered(&tenant, hook, &self.binding.name, &about, &answer.events);
        }
    }

    /// The kinds that are served. An answer with another one is invalid until that one is served, too.
    pub(super) async fn rules(&self, parent: &Resource) -> Result<Rules, Failure> {
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

    fn children(&self, of: &Subject<'_>, now: &SnapshotSet) -> Vec<Child> {
        let mut children = Vec::new();
        for kind in &self.binding.owns {
            let informer = self.binding.members_of(kind);
            let Some(items) = now.items(&informer) else { continue };
            for key in of.reconciler.members(of.entry, &informer) {
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

    /// Which objects the parent refers to: the binding that watches them, and their name. `None`: all that it watches.
    fn references(&self, parent: &Value) -> Result<Vec<super::sets::Reference>, String> {
        let mut all = Vec::new();
        for entry in &self.binding.related {
            let informer = self.binding.watching(entry);
            match &entry.name_from {
                Some(path) => {
                    let names = path.texts(parent);
                    let names = names.map_err(|error| format!("related entry {:?}: {path} has {error}", entry.name))?;
                    all.extend(names.into_iter().map(|name| (informer.clone(), Some(name.into()))));
                }
                None => all.push((informer, None)),
            }
        }
        Ok(all)
    }

    /// The objects that the parent refers to and may refer to.
    fn related(&self, parent: &Value, now: &SnapshotSet) -> Vec<RelatedObject> {
        let own = parent.pointer("/metadata/namespace").and_then(Value::as_str);
        let mut all = Vec::new();
        for entry in &self.binding.related {
            let Some(items) = now.items(&self.binding.watching(entry)) else { continue };
            let mut add = |key: &ObjectKey, object: &Option<Arc<str>>| {
                if let Some(object) = object.clone().filter(|_| entry.reaches(own, key.namespace.as_deref())) {
                    all.push(RelatedObject { entry: entry.name.clone(), object });
                }
            };
            let Some(path) = &entry.name_from else {
                items.iter().for_each(|(key, item)| add(key, &item.item.object));
                continue;
            };
            let namespace = entry.namespace.as_deref().or(own).map(Arc::<str>::from);
            for name in path.texts(parent).into_iter().flatten() {
                // The kind has namespaces, or has none.
                for namespace in namespace.iter().cloned().map(Some).chain([None]) {
                    let key = ObjectKey { namespace, name: name.into() };
                    if let Some(item) = items.get(&key) {
                        add(&key, &item.item.object);
                    }
                }
            }
        }
        all
    }
}

/// Identifies what the hook would see.
fn digest(parent: &str, children: &[Child], related: &[RelatedObject]) -> [u8; 32] {
    let mut digest = Sha256::new();
    let children = children.iter().map(|child| &*child.object);
    let related = related.iter().flat_map(|related| [&*related.entry, &*related.object]);
    let mut write = |text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    };
    write(parent);
    children.for_each(&mut write);
    // No child is an empty text.
    write("");
    related.for_each(&mut write);
    digest.finalize().into()
}

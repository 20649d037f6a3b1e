//! The exports that a hook may have in addition to `config` and `run`: which of them a component has, and how each is
//! called.

use std::time::Duration;

use boathook_core::model::{
    AdmissionKind, BindingName, Conversion, Denial, EventType, Mutation, OwnCondition, OwnEvent, Reconcile, Reconciled,
    Review, Reviewed, Verdict,
};
use wasmtime::{Store, component::InstancePre};

use super::{
    store::State,
    trap::NotStarted,
    wit::{
        HookPre,
        boathook::hook::types::{Failure, RunInfo},
        optional::{
            boathook::hook::{admission, reconciliation},
            exports::boathook::hook::{conversion, defining, finalizing, mutating, reconciling, validating},
        },
    },
};

/// A hook that wants to be asked again sooner would take the operator's time.
const SOONEST: Duration = Duration::from_millis(100);

/// The exports that a component has.
#[derive(Clone, Default)]
pub(super) struct Exports {
    validating: Option<validating::GuestIndices>,
    mutating: Option<mutating::GuestIndices>,
    conversion: Option<conversion::GuestIndices>,
    reconciling: Option<reconciling::GuestIndices>,
    finalizing: Option<finalizing::GuestIndices>,
    defining: Option<defining::GuestIndices>,
}

impl Exports {
    /// Checks the types of the exports that exist.
    pub fn of(pre: &InstancePre<State>, exports: &[String]) -> wasmtime::Result<Self> {
        let has = |interface: &str| exports.iter().any(|export| named(export) == interface);
        Ok(Self {
            validating: has("validating").then(|| validating::GuestIndices::new(pre)).transpose()?,
            mutating: has("mutating").then(|| mutating::GuestIndices::new(pre)).transpose()?,
            conversion: has("conversion").then(|| conversion::GuestIndices::new(pre)).transpose()?,
            reconciling: has("reconciling").then(|| reconciling::GuestIndices::new(pre)).transpose()?,
            finalizing: has("finalizing").then(|| finalizing::GuestIndices::new(pre)).transpose()?,
            defining: has("defining").then(|| defining::GuestIndices::new(pre)).transpose()?,
        })
    }

    pub fn reviews(&self, kind: AdmissionKind) -> bool {
        match kind {
            AdmissionKind::Validating => self.validating.is_some(),
            AdmissionKind::Mutating => self.mutating.is_some(),
        }
    }

    pub fn converts(&self) -> bool {
        self.conversion.is_some()
    }

    pub fn reconciles(&self) -> bool {
        self.reconciling.is_some()
    }

    pub fn finalizes(&self) -> bool {
        self.finalizing.is_some()
    }

    /// Requests the custom resources that the hook defines by its types, as JSON. A component without the export defines
    /// none.
    pub async fn definitions(
        &self,
        pre: &HookPre<State>,
        store: &mut Store<State>,
    ) -> wasmtime::Result<Result<Vec<String>, String>> {
        let Some(defining) = &self.defining else { return Ok(Ok(Vec::new())) };
        let instance = instantiate(pre, store).await?;
        defining.load(&mut *store, &instance)?.call_definitions(store).await
    }

    /// Requests a decision.
    pub async fn review(
        &self,
        pre: &HookPre<State>,
        store: &mut Store<State>,
        info: RunInfo<'_>,
        review: &Review,
    ) -> wasmtime::Result<Result<Reviewed, Failure>> {
        let (binding, request) = (review.binding.as_str(), &*review.request);
        let instance = instantiate(pre, store).await?;
        match review.kind {
            AdmissionKind::Validating => {
                let guest = exported(self.validating.as_ref(), "validating")?.load(&mut *store, &instance)?;
                let answer = guest.call_validate(store, info, binding, request).await?;
                Ok(answer.map(|verdict| Reviewed { verdict: verdict.into(), mutation: Mutation::Unchanged }))
            }
            AdmissionKind::Mutating => {
                let guest = exported(self.mutating.as_ref(), "mutating")?.load(&mut *store, &instance)?;
                let answer = guest.call_mutate(store, info, binding, request).await?;
                Ok(answer.map(|(verdict, mutation)| Reviewed { verdict: verdict.into(), mutation: mutation.into() }))
            }
        }
    }

    /// Requests objects in another version. The error is for the client that needs the objects.
    pub async fn convert(
        &self,
        pre: &HookPre<State>,
        store: &mut Store<State>,
        conversion: &Conversion,
    ) -> wasmtime::Result<Result<Vec<String>, String>> {
        let instance = instantiate(pre, store).await?;
        let guest = exported(self.conversion.as_ref(), "conversion")?.load(&mut *store, &instance)?;
        let objects: Vec<_> = conversion.objects.iter().map(String::as_str).collect();
        let (binding, rule) = (conversion.binding.as_str(), &conversion.rule);
        guest.call_convert(store, binding, &rule.from, &rule.to, &objects).await
    }

    /// Requests what a parent should become, or how far its end is.
    pub async fn reconcile(
        &self,
        pre: &HookPre<State>,
        store: &mut Store<State>,
        info: RunInfo<'_>,
        reconcile: &Reconcile,
    ) -> wasmtime::Result<Result<Reconciled, Failure>> {
        let instance = instantiate(pre, store).await?;
        let children = reconcile.children.iter().map(|child| reconciliation::Child {
            api_version: &child.target.api_version,
            kind: &child.target.kind,
            namespace: child.target.namespace.as_deref(),
            name: &child.target.name,
            object: &child.object,
        });
        let related = reconcile
            .related
            .iter()
            .map(|related| reconciliation::RelatedObject { name: &related.entry, object: &related.object });
        let (children, related): (Vec<_>, Vec<_>) = (children.collect(), related.collect());
        let snapshots: Vec<_> = reconcile.snapshots.iter().map(BindingName::unique).collect();
        let (object, children, related, snapshots) = (&*reconcile.parent, &*children, &*related, &*snapshots);
        let parent = reconciliation::Parent { object, children, related, snapshots };
        let binding = reconcile.binding.as_str();
        if reconcile.finalizes {
            let guest = exported(self.finalizing.as_ref(), "finalizing")?.load(&mut *store, &instance)?;
            return Ok(guest.call_finalize(store, info, binding, parent).await?.map(Into::into));
        }
        let guest = exported(self.reconciling.as_ref(), "reconciling")?.load(&mut *store, &instance)?;
        Ok(guest.call_reconcile(store, info, binding, parent).await?.map(Into::into))
    }
}

/// `boathook:hook/validating@0.1.0` is `validating`.
fn named(export: &str) -> &str {
    let name = export.split_once('@').map_or(export, |(name, _)| name);
    name.strip_prefix("boathook:hook/").unwrap_or_default()
}

async fn instantiate(
    pre: &HookPre<State>,
    store: &mut Store<State>,
) -> wasmtime::Result<wasmtime::component::Instance> {
    pre.instance_pre().instantiate_async(store).await.map_err(|error| error.context(NotStarted))
}

/// Callers check for the export first, but the hook may have been exchanged in the meantime.
fn exported<'a, T>(indices: Option<&'a T>, name: &str) -> wasmtime::Result<&'a T> {
    indices.ok_or_else(|| wasmtime::Error::msg(format!("the component does not export {name}")))
}

impl From<reconciling::Desired> for Reconciled {
    fn from(desired: reconciling::Desired) -> Self {
        let reconciling::Desired { children, none_wanted, status, conditions, requeue_after, events } = desired;
        Self {
            children,
            none_wanted,
            done: false,
            status,
            conditions: conditions.into_iter().map(Into::into).collect(),
            requeue_after: requeue_after.map(soon),
            events: events.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<finalizing::Finalized> for Reconciled {
    fn from(finalized: finalizing::Finalized) -> Self {
        let finalizing::Finalized { done, children, status, conditions, requeue_after, events } = finalized;
        Self {
            children,
            // Children end with their parent, so none is no mistake.
            none_wanted: true,
            done,
            status,
            conditions: conditions.into_iter().map(Into::into).collect(),
            requeue_after: requeue_after.map(soon),
            events: events.into_iter().map(Into::into).collect(),
        }
    }
}

fn soon(millis: u64) -> Duration {
    Duration::from_millis(millis).max(SOONEST)
}

impl From<reconciliation::Condition> for OwnCondition {
    fn from(condition: reconciliation::Condition) -> Self {
        let reconciliation::Condition { type_, status, reason, message } = condition;
        let holds = match status {
            reconciliation::ConditionStatus::True => Some(true),
            reconciliation::ConditionStatus::False => Some(false),
            reconciliation::ConditionStatus::Unknown => None,
        };
        Self { r#type: type_, holds, reason, message }
    }
}

impl From<reconciliation::Event> for OwnEvent {
    fn from(event: reconciliation::Event) -> Self {
        let reconciliation::Event { type_, reason, message } = event;
        let r#type = match type_ {
            reconciliation::EventType::Normal => EventType::Normal,
            reconciliation::EventType::Warning => EventType::Warning,
        };
        Self { r#type, reason, message }
    }
}

impl From<admission::Verdict> for Verdict {
    fn from(verdict: admission::Verdict) -> Self {
        let admission::Verdict { denied, warnings, audit_annotations } = verdict;
        let denied = denied.map(|admission::Denial { message, code, reason }| Denial { message, code, reason });
        Self { denied, warnings, audit_annotations }
    }
}

impl From<mutating::Mutation> for Mutation {
    fn from(mutation: mutating::Mutation) -> Self {
        match mutation {
            mutating::Mutation::Unchanged => Self::Unchanged,
            mutating::Mutation::JsonPatch(patch) => Self::JsonPatch(patch),
            mutating::Mutation::Object(object) => Self::Object(object),
        }
    }
}

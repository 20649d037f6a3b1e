//! The exports with which a hook answers the API server: which of them a component has, and how each is called.

use boathook_core::model::{AdmissionKind, Conversion, Denial, Mutation, Review, Reviewed, Verdict};
use wasmtime::{Store, component::InstancePre};

use super::{
    store::State,
    trap::NotStarted,
    wit::{
        HookPre,
        boathook::hook::types::{Failure, RunInfo},
        webhooks::{
            boathook::hook::admission,
            exports::boathook::hook::{conversion, mutating, validating},
        },
    },
};

/// The exports that a component has.
#[derive(Clone, Default)]
pub(super) struct Answers {
    validating: Option<validating::GuestIndices>,
    mutating: Option<mutating::GuestIndices>,
    conversion: Option<conversion::GuestIndices>,
}

impl Answers {
    /// Checks the types of the exports that exist.
    pub fn of(pre: &InstancePre<State>, exports: &[String]) -> wasmtime::Result<Self> {
        let has = |interface: &str| exports.iter().any(|export| named(export) == interface);
        Ok(Self {
            validating: has("validating").then(|| validating::GuestIndices::new(pre)).transpose()?,
            mutating: has("mutating").then(|| mutating::GuestIndices::new(pre)).transpose()?,
            conversion: has("conversion").then(|| conversion::GuestIndices::new(pre)).transpose()?,
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

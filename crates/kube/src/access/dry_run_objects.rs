//! Objects that were only created in a dry run. A later call of the same run that needs one cannot find it, and its
//! error then says why.
//!
//! This never answers a call itself. It remembers a limited number of objects for a limited number of runs.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Mutex, PoisonError},
};

use boathook_core::{
    effect::State,
    model::{CallError, CallReason, Caller, ObjectRef, Operation, Patch, PatchBody, RunId},
};

use super::{Access, effects::EffectRecorder};

/// How many runs are remembered. A run is long over when this many others have started.
const RUNS: usize = 256;
/// How many objects are remembered for one run.
const OBJECTS: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct DryRunObjects(Mutex<VecDeque<(RunId, HashSet<ObjectRef>)>>);

impl DryRunObjects {
    /// Notes that the dry run of a creation succeeded.
    pub fn made(&self, caller: &Caller, object: ObjectRef) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !runs.iter().any(|(run, _)| *run == caller.run) {
            if runs.len() >= RUNS {
                runs.pop_front();
            }
            runs.push_back((caller.run.clone(), HashSet::new()));
        }
        let objects = runs.iter_mut().find(|(run, _)| *run == caller.run).map(|(_, objects)| objects);
        if let Some(objects) = objects.filter(|objects| objects.len() < OBJECTS) {
            objects.insert(object);
        }
    }

    /// The pretended object that a call about this object needs: the object itself, or its namespace.
    pub fn needed_by(&self, caller: &Caller, object: &ObjectRef) -> Option<ObjectRef> {
        if !caller.dry_run {
            return None;
        }
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, objects) = runs.iter().find(|(run, _)| *run == caller.run)?;
        let namespace = object.namespace.as_ref().map(|name| ObjectRef {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            namespace: None,
            name: name.clone(),
        });
        [Some(object), namespace.as_ref()].into_iter().flatten().find_map(|needed| objects.get(needed)).cloned()
    }

    /// Adds the explanation to an error that comes from a creation in a dry run.
    pub fn explain(&self, caller: &Caller, object: &ObjectRef, error: CallError) -> CallError {
        match self.needed_by(caller, object).filter(|_| error.reason == CallReason::NotFound) {
            Some(needed) => CallError {
                message: format!("{}; it depends on {needed}, which the plan only pretends to create", error.message),
                ..error
            },
            None => error,
        }
    }
}

impl Access {
    /// Remembers what a dry run created. An apply creates an object if there was none.
    pub(super) fn pretend(
        &self,
        caller: &Caller,
        operation: &Operation,
        object: ObjectRef,
        watched: Option<&EffectRecorder>,
    ) {
        let makes = match operation {
            Operation::Create(create) => create.subresource.is_none() && !object.name.ends_with('*'),
            Operation::Patch(Patch { body: PatchBody::Apply { .. }, subresource: None, .. }) => {
                watched.is_none_or(|watched| watched.before == State::Absent)
            }
            _ => false,
        };
        if makes {
            self.dry_run_objects.made(caller, object);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::HookName;

    use super::*;

    fn caller(run: u64) -> Caller {
        let (hook, run) = (HookName::new("h").unwrap(), RunId::new("p", run));
        Caller::new(hook, run, [].into(), true)
    }

    fn object(kind: &str, namespace: Option<&str>, name: &str) -> ObjectRef {
        let namespace = namespace.map(str::to_owned);
        ObjectRef { api_version: "v1".into(), kind: kind.into(), namespace, name: name.into() }
    }

    #[test]
    fn what_a_run_pretended_explains_only_its_own_errors() {
        let dry_run_objects = DryRunObjects::default();
        dry_run_objects.made(&caller(1), object("Namespace", None, "n"));
        dry_run_objects.made(&caller(1), object("Secret", Some("m"), "s"));
        let needs = |run, kind, namespace, name| {
            dry_run_objects.needed_by(&caller(run), &object(kind, namespace, name)).map(|needed| needed.to_string())
        };
        assert_eq!(needs(1, "Secret", Some("n"), "x").as_deref(), Some("v1 Namespace n"));
        assert_eq!(needs(1, "Secret", Some("m"), "s").as_deref(), Some("v1 Secret m/s"));
        assert_eq!(needs(1, "Secret", Some("m"), "t"), None);
        assert_eq!(needs(2, "Secret", Some("m"), "s"), None, "of another run");
        let real = Caller { dry_run: false, ..caller(1) };
        assert_eq!(dry_run_objects.needed_by(&real, &object("Secret", Some("m"), "s")), None);
    }

    #[test]
    fn only_the_latest_runs_are_remembered() {
        let dry_run_objects = DryRunObjects::default();
        for run in 0..=u64::try_from(RUNS).unwrap() {
            dry_run_objects.made(&caller(run), object("Node", None, "n"));
        }
        let knows = |run| dry_run_objects.needed_by(&caller(run), &object("Node", None, "n")).is_some();
        assert_eq!((knows(0), knows(1), knows(256)), (false, true, true));
    }
}

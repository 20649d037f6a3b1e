//! One run by hand: of an operator whose hooks are held, the run that somebody asks for, with the snapshots that the
//! hook's bindings really have.
//!
//! | file | its job |
//! | --- | --- |
//! | `asked` | what is asked for, and the binding that it is about; pure |
//! | `ground` | the objects that it is about, in the cluster |
//! | `triggers` | what the hook is told |
//! | `question` | what the API server would ask it |
//!
//! It never tries a run again, and starts nothing by itself.

mod asked;
mod ground;
mod question;
mod triggers;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    filter::{BindingStatus, FilterError},
    model::{BindingName, Failure, FailureKind, HookName, InvalidObject, Job, JobId, QueueName},
};
use boathook_kube::discovery::DiscoveryError;
use boathook_sandbox::RunReport;

use super::App;

pub use asked::{Asked, Occasion, Wanted};
pub use ground::{Ground, Set};
pub use question::{Answered, Question};

/// Why a run that was asked for can't be made.
#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    /// The hook has no such binding, or none that this happens to.
    #[error("hook {hook} has no binding {name:?} for {what}; it has {has}")]
    NoBinding {
        /// The hook.
        hook: HookName,
        /// What was asked for.
        name: String,
        /// `a schedule`, …
        what: &'static str,
        /// Its bindings, in words.
        has: String,
    },
    /// It has none that this happens to.
    #[error("hook {hook} has no binding for {what}; it has {has}")]
    None {
        /// The hook.
        hook: HookName,
        /// `a schedule`, …
        what: &'static str,
        /// Its bindings, in words.
        has: String,
    },
    /// It could be one of several.
    #[error("hook {hook} has several bindings; name one of them: {has}")]
    Several {
        /// The hook.
        hook: HookName,
        /// Those that it could be.
        has: String,
    },
    /// Nothing to run for.
    #[error("there is nothing to run for: the context is an empty list")]
    Nothing,
    /// The binding's kind.
    #[error("binding {binding}")]
    Kind {
        /// The binding.
        binding: BindingName,
        /// Why.
        #[source]
        source: DiscoveryError,
    },
    /// The object is of another kind.
    #[error("binding {binding} is about {wanted}, and the object is a {found}")]
    OtherKind {
        /// The binding.
        binding: BindingName,
        /// `v1 Secret`
        wanted: String,
        /// The object's.
        found: String,
    },
    /// No such object.
    #[error("binding {binding}: there is no {object}; give it with the cluster's state, or the whole object")]
    NoObject {
        /// The binding.
        binding: BindingName,
        /// `v1 Secret a/b`
        object: String,
    },
    /// The object can't be used.
    #[error("binding {binding}: the object can't be used")]
    Object {
        /// The binding.
        binding: BindingName,
        /// Why.
        #[source]
        source: InvalidObject,
    },
    /// The cluster refused the object.
    #[error("the cluster does not take {object}")]
    Refused {
        /// `v1 Secret a/b`
        object: String,
        /// What it said.
        #[source]
        source: kube::Error,
    },
    /// The filter failed on the object.
    #[error("binding {binding}: no filterResult for the object")]
    Filter {
        /// The binding.
        binding: BindingName,
        /// Why.
        #[source]
        source: FilterError,
    },
    /// It is not at work.
    #[error("hook {0} is not loaded")]
    NotLoaded(HookName),
    /// The host could not run it.
    #[error("the hook can't be run: {0}")]
    Run(Failure),
}

impl App {
    /// Waits until the hook's bindings know their objects; gives back what is not known after `patience`, and kinds
    /// that are not served.
    pub async fn settled(&self, hook: &HookName, patience: Duration) -> Vec<String> {
        let deadline = Instant::now() + patience;
        loop {
            let bindings = self.stages.health.bindings(hook);
            let settled = bindings.iter().all(|(status, pending)| pending.is_some() || status.is_synchronised());
            if settled || Instant::now() > deadline {
                let spec = self.roster.hook(hook).map(|hook| hook.spec.kubernetes.clone()).unwrap_or_default();
                return bindings.iter().zip(&spec).filter_map(|(binding, spec)| missing(binding, &spec.name)).collect();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Runs the hook once, for all that is asked for together. Nothing of it is queued or tried again.
    pub async fn run_once(&self, hook: &HookName, sets: &[Set]) -> Result<RunReport, OnceError> {
        let missing =
            || Failure { kind: FailureKind::Host, message: format!("hook {hook} is not loaded"), backtrace: None };
        let spec = &self.roster.hook(hook).ok_or_else(|| OnceError::Run(missing()))?.spec;
        let mut all = Vec::with_capacity(sets.len());
        for set in sets {
            all.push(triggers::trigger(&self.stages, spec, set).await?);
        }
        let queue = QueueName::Own(hook.clone());
        let job = Job { id: JobId(0), hook: hook.clone(), queue, attempt: 1, triggers: all };
        self.runs.report(job).await.map_err(OnceError::Run)
    }
}

/// Why a binding does not know its objects.
fn missing((status, pending): &(Arc<BindingStatus>, Option<String>), name: &BindingName) -> Option<String> {
    match pending {
        Some(reason) => Some(format!("binding {name} has no objects: {reason}")),
        None if status.is_synchronised() => None,
        None if status.late() > 0 => {
            let error = status.last_error().unwrap_or_default();
            Some(format!("binding {name} does not know all of its objects: {error}"))
        }
        None => Some(format!("binding {name} has not listed its objects")),
    }
}

//! One run by hand. The operator's hooks are held, and the requested run gets the snapshots that the hook's bindings
//! really have. A run is never repeated, and nothing starts by itself.
//!
//! | file | content |
//! | --- | --- |
//! | `request` | the request, and the binding that it concerns; pure |
//! | `target_objects` | the objects in the cluster |
//! | `triggers` | what the hook receives |
//! | `question` | the requests that the API server would send |

mod question;
mod request;
mod target_objects;
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

pub use question::{Answered, Question};
pub use request::{Asked, TriggerRequest, Wanted};
pub use target_objects::{Set, TargetObjects};

/// Why a requested run is not possible.
#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    /// The hook has no such binding, or the event cannot happen to it.
    #[error("hook {hook} has no binding {name:?} for {what}; it has {has}")]
    NoBinding {
        hook: HookName,
        /// The requested binding.
        name: String,
        /// For example `a schedule`.
        what: &'static str,
        /// The hook's bindings, in words.
        has: String,
    },
    /// The event cannot happen to any binding of the hook.
    #[error("hook {hook} has no binding for {what}; it has {has}")]
    None {
        hook: HookName,
        /// For example `a schedule`.
        what: &'static str,
        /// The hook's bindings, in words.
        has: String,
    },
    /// Several bindings fit.
    #[error("hook {hook} has several bindings; name one of them: {has}")]
    Several {
        hook: HookName,
        /// The bindings that fit.
        has: String,
    },
    /// There is nothing to run for.
    #[error("there is nothing to run for: the context is an empty list")]
    Nothing,
    /// The binding's kind was not found.
    #[error("binding {binding}")]
    Kind {
        binding: BindingName,
        #[source]
        source: DiscoveryError,
    },
    /// The object is of another kind.
    #[error("binding {binding} is about {wanted}, and the object is a {found}")]
    OtherKind {
        binding: BindingName,
        /// For example `v1 Secret`.
        wanted: String,
        /// The object's kind.
        found: String,
    },
    /// The object does not exist.
    #[error("binding {binding}: there is no {object}; give it with the cluster's state, or the whole object")]
    NoObject {
        binding: BindingName,
        /// For example `v1 Secret a/b`.
        object: String,
    },
    /// The object cannot be used.
    #[error("binding {binding}: the object can't be used")]
    Object {
        binding: BindingName,
        #[source]
        source: InvalidObject,
    },
    /// The cluster refused the object.
    #[error("the cluster does not take {object}")]
    Refused {
        /// For example `v1 Secret a/b`.
        object: String,
        #[source]
        source: kube::Error,
    },
    /// The filter failed on the object.
    #[error("binding {binding}: no filterResult for the object")]
    Filter {
        binding: BindingName,
        #[source]
        source: FilterError,
    },
    /// The hook does not run.
    #[error("hook {0} is not loaded")]
    NotLoaded(HookName),
    /// The host could not run the hook.
    #[error("the hook can't be run: {0}")]
    Run(Failure),
}

impl App {
    /// Waits until the hook's bindings know their objects. Returns a text for each binding that does not after
    /// `patience`, and for each kind that is not served.
    pub async fn settled(&self, hook: &HookName, patience: Duration) -> Vec<String> {
        let deadline = Instant::now() + patience;
        loop {
            let bindings = self.services.health.bindings(hook);
            let settled = bindings.iter().all(|(status, pending)| pending.is_some() || status.is_synchronised());
            if settled || Instant::now() > deadline {
                let spec = self.hook_registry.hook(hook).map(|hook| hook.spec.kubernetes.clone()).unwrap_or_default();
                return bindings.iter().zip(&spec).filter_map(|(binding, spec)| missing(binding, &spec.name)).collect();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Runs the hook once for all of these events together. Nothing is queued or repeated.
    pub async fn run_once(&self, hook: &HookName, sets: &[Set]) -> Result<RunReport, OnceError> {
        let missing =
            || Failure { kind: FailureKind::Host, message: format!("hook {hook} is not loaded"), backtrace: None };
        let spec = &self.hook_registry.hook(hook).ok_or_else(|| OnceError::Run(missing()))?.spec;
        let mut all = Vec::with_capacity(sets.len());
        for set in sets {
            all.push(triggers::trigger(&self.services, spec, set).await?);
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

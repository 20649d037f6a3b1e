//! Calls a hook once about a parent. Nothing is queued, applied or repeated. Scenarios do that.

use std::time::{Duration, Instant};

use boathook_core::model::{Cause, Failure, HookName, Reconcile, Reconciled, RunId, Trigger};
use boathook_sandbox::ReconcileRequest;

use super::{App, run_once::OnceError};

impl App {
    /// The hook's answer about a parent, or its failure. The call has the hook's permissions, limits and snapshots.
    pub async fn reconcile_once(
        &self,
        hook: &HookName,
        reconcile: Reconcile,
    ) -> Result<Result<Reconciled, Failure>, OnceError> {
        let loaded = self.services.hook_registry.hook(hook).ok_or_else(|| OnceError::NotLoaded(hook.clone()))?;
        let bindings = &loaded.spec.reconcilers;
        let found = bindings.iter().find(|binding| binding.name == reconcile.binding);
        let binding = found.ok_or_else(|| OnceError::NoBinding {
            hook: hook.clone(),
            name: reconcile.binding.to_string(),
            what: "objects that it reconciles",
            has: bindings.iter().map(|binding| binding.name.as_str()).collect::<Vec<_>>().join(", "),
        })?;
        let trigger = Trigger {
            hook: hook.clone(),
            binding: binding.name.clone(),
            queue: binding.queue.clone(),
            cause: Cause::Synchronization,
            group: None,
            snapshots: binding.include_snapshots_from.clone(),
            allow_failure: false,
            retry: binding.retry,
            debounce: Duration::ZERO,
            created: Instant::now(),
        };
        let caller = loaded.caller(RunId::new("once", 0), false);
        let caller = match self.services.reading_values(&loaded, caller).await {
            Ok(caller) => caller,
            Err(failure) => return Ok(Err(failure)),
        };
        let request = ReconcileRequest { caller, attempt: 1, trigger, reconcile, limits: loaded.spec.limits };
        let host = self.services.operator.clone();
        let (_, outcome) = self.services.sandbox.reconcile(&loaded.component, request, host).await.split();
        Ok(outcome)
    }
}

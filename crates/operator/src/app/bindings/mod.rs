//! Runs one `kubernetes` binding. The filter stage makes triggers of the informer's inputs, and `binding_states` learns
//! how far the binding is.
//!
//! | file | content |
//! | --- | --- |
//! | `informer` | the binding's inputs: its kind, its streams, its turn |
//! | `subscriptions` | the streams, by namespace |

mod informer;
mod subscriptions;

use std::sync::Arc;

use boathook_core::{
    fair::{Share, Tenant},
    filter::{self, Binding, Driver, Filter, Input, Output, OwnChanges, Room},
    memory::{BINDING, UNIT, WATCH},
    model::{Change, HookName, KubernetesBinding},
};
use futures::{StreamExt as _, future::OptionFuture};
use tokio::sync::{Notify, watch};
use tracing::warn;

use self::informer::{Informer, Place};
use super::{Services, binding_states::Progress, reconcile, upgrade_plan};
use crate::telemetry::metrics::RunLabels;

/// Runs until it is dropped. Each trigger gets the terms that the binding's entry in the document has at that time.
/// Nothing else in the entry may change.
pub(super) async fn run(
    services: Arc<Services>,
    hook: HookName,
    tenant: Tenant,
    terms: watch::Receiver<KubernetesBinding>,
    progress: Progress,
) {
    let spec = terms.borrow().clone();
    // Create the publisher first, so that a pending binding has an empty snapshot.
    let publisher = services.snapshots.publisher(&hook, &spec.name);
    let compiled = spec.jq_filter.as_deref().map(|text| services.filters.compile(&tenant, text));
    let filter = match OptionFuture::from(compiled).await.transpose() {
        Ok(filter) => filter.map(|filter| Arc::new(filter) as Arc<dyn Filter>),
        // The check of the document rejects such a filter.
        Err(error) => return progress.pending(&error.to_string()),
    };
    let Some(room) = room(&services, &hook, &tenant, &spec, &progress).await else { return };
    let reconciler = spec.role.as_ref().map(|role| reconcile::Informed::new(&services, &hook, role, &spec));
    let relist = Arc::new(Notify::new());
    let (queue, status) = (services.queue.clone(), progress.found());
    let labels = RunLabels { hook: &hook, binding: &spec.name, queue: &spec.queue };
    let timings = services.operator.metrics.binding_timings(labels);
    let writes = services.operator.access.own_writes().clone();
    let own = spec.ignore_own_writes.then(|| writes.follow(&hook));
    let binding = Binding::new(hook.clone(), spec.clone());
    let binding = if services.leadership.is_alone() { binding } else { binding.not_admitted() };
    let metadata_only = filter::uses_only_metadata(spec.content, filter.as_deref());
    let driver = Driver {
        room: Room::of(room),
        relist: relist.clone(),
        publisher,
        status: status.clone(),
        own: own.as_ref().map(|_| writes as Arc<dyn OwnChanges>),
        filter,
        binding,
        timings: Some(Box::new(timings)),
        out: {
            let (progress, reconciler) = (progress.clone(), reconciler.clone());
            let loops = services.loops.clone();
            move |output| match output {
                Output::Complete => progress.complete(true),
                Output::Incomplete => progress.complete(false),
                Output::Trigger(mut trigger) => {
                    upgrade_plan::put_on_terms(&mut trigger, &terms.borrow());
                    loops.slow(&mut trigger);
                    match &reconciler {
                        Some(reconciler) => reconciler.triggered(trigger),
                        None => drop(queue.push(trigger)),
                    }
                }
            }
        },
    };
    let place = Place { services, hook, tenant, spec: Arc::new(spec), progress: progress.clone(), relist };
    let inputs = Informer::new(place, status.clone(), metadata_only).into_stream();
    let inputs = Box::pin(inputs.inspect(move |input| {
        if let (Some(reconciler), Input::Change(_, Change::Upsert(object))) = (&reconciler, input) {
            reconciler.saw(object);
        }
    }));
    tokio::join!(filter::drive(driver, inputs), progress.follow(&status));
    drop(own);
}

/// The binding's size in watches: those that it has, and what the binding itself takes. Namespaces that are added by
/// label do not count, because only a bundle that its admin trusts beyond its own namespace sees more than one.
fn watches(spec: &KubernetesBinding) -> u64 {
    let namespaces = if spec.namespace_labels.is_some() { 1 } else { spec.namespaces.len().max(1) };
    BINDING / WATCH + (spec.names.len().max(1) as u64).saturating_mul(namespaces as u64)
}

/// Waits until the tenant has room for what this binding takes without any object. In the meantime the hook's other
/// bindings continue, as with a kind that is not served. Returns `None` if there is never enough room.
async fn room(
    services: &Services,
    hook: &HookName,
    tenant: &Tenant,
    spec: &KubernetesBinding,
    progress: &Progress,
) -> Option<Share> {
    let (pool, watches) = (&services.kept, watches(spec));
    let units = watches.saturating_mul(WATCH / UNIT);
    if let Some(share) = pool.try_take(tenant, units) {
        return Some(share);
    }
    let pending = |reason: &str| {
        warn!(%hook, binding = %spec.name, reason, "binding pending: there is no memory for it");
        progress.excused(reason);
    };
    let remedy = "use fewer bindings, names and namespaces, or give the operator more memory (--memory-limit)";
    if units > pool.most() {
        let most = pool.most() / (WATCH / UNIT);
        pending(&format!("it takes as much as {watches} watches, and one tenant has {most} of them at most: {remedy}"));
        return None;
    }
    let (used, all) = (pool.used(tenant), pool.capacity());
    pending(&format!("the bindings of {tenant} have used up their share, {used} KiB of {all}: {remedy}"));
    pool.take(tenant, units).await.ok()
}

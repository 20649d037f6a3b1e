//! Keeps one `kubernetes` binding going: lets the filter stage make triggers of what the feed tells
//! it, and tells queue and barrier how far it is.
//!
//! | file | its job |
//! | --- | --- |
//! | `feed` | the binding's inputs: finding its kind, its streams, its turn |
//! | `follow` | the streams, namespace by namespace |
//! | `namespaces` | which namespaces have the labels; pure |
//! | `own` | what the hook itself wrote |
//!
//! Never decides what is a trigger.

mod feed;
mod follow;
mod namespaces;
mod own;

use std::sync::Arc;

use tokio::sync::watch;

use self::{
    feed::{Feed, Place},
    own::Own,
};
use super::{Stages, barrier::Barrier, observers::Times, swap};
use crate::{
    filter::{self, Binding, Driver, OwnChanges},
    model::{HookName, KubernetesBinding},
    telemetry::metrics::RunLabels,
};

/// Runs until it is dropped. Its triggers are on the terms that its entry in the document has at that time;
/// nothing else of the entry may change.
pub(super) async fn keep(
    stages: Arc<Stages>,
    hook: HookName,
    terms: watch::Receiver<KubernetesBinding>,
    barrier: Arc<Barrier>,
) {
    let spec = terms.borrow().clone();
    let filter = match spec.jq_filter.as_deref().map(filter::compile).transpose() {
        Ok(filter) => filter,
        // The document's check lets no such filter through.
        Err(error) => return stages.health.pending(&hook, &spec.name, &error.to_string()),
    };
    let (queue, status) = (stages.queue.clone(), stages.health.enabled(&hook, &spec.name));
    let labels = RunLabels { hook: &hook, binding: &spec.name, queue: &spec.queue };
    status.report_to(Box::new(Times(stages.operator.metrics.binding_timings(labels))));
    let listed = {
        let (queue, status, barrier) = (queue.clone(), status.clone(), barrier.clone());
        let (hook, binding, health) = (hook.clone(), spec.name.clone(), stages.health.clone());
        async move {
            status.listed().await;
            health.listed(&hook, &binding);
            queue.listed(&hook, &binding);
            barrier.listed(&binding);
            status.synchronised().await;
            barrier.live(&binding);
        }
    };
    let writes = stages.operator.access.own_writes().clone();
    let own = spec.ignore_own_writes.then(|| writes.follow(&hook));
    let binding = Binding::new(hook.clone(), spec.clone());
    let binding = if stages.leadership.is_alone() { binding } else { binding.held_back() };
    let metadata_only = filter::uses_only_metadata(spec.content, filter.as_ref());
    let driver = Driver {
        // From the beginning, so that a pending binding has an empty snapshot.
        publisher: stages.snapshots.publisher(&hook, &spec.name),
        status,
        evaluator: stages.evaluator.clone(),
        own: own.as_ref().map(|_| Arc::new(Own(writes)) as Arc<dyn OwnChanges>),
        filter,
        binding,
        out: move |mut trigger| {
            swap::put_on_terms(&mut trigger, &terms.borrow());
            queue.push(trigger);
        },
    };
    let place = Place { stages, hook, spec: Arc::new(spec), barrier };
    let inputs = Box::pin(Feed::new(place, metadata_only).into_stream());
    tokio::join!(filter::drive(driver, inputs), listed);
    drop(own);
}

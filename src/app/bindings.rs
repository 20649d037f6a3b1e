//! Keeps one `kubernetes` binding going: finds its kind, subscribes to its streams, and lets the
//! filter stage make triggers of what comes.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, stream};
use tracing::{info, warn};

use super::Stages;
use crate::{
    discovery::DiscoveryError,
    filter::{self, Binding, Driver},
    model::{HookName, KubernetesBinding, Resource, error_chain},
    watch::selections_for,
};

/// Between two looks for a kind that is not there, or for an API server that does not answer.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Runs until it is dropped. `index` is the binding's place in the document.
pub(super) async fn keep(stages: Arc<Stages>, hook: HookName, index: usize, spec: KubernetesBinding) {
    let filter = match spec.jq_filter.as_deref().map(filter::compile).transpose() {
        Ok(filter) => filter,
        // The document's check lets no such filter through.
        Err(error) => return stages.health.pending(&hook, index, &error.to_string()),
    };
    // From the beginning, so that a pending binding has an empty snapshot.
    let publisher = stages.snapshots.publisher(&hook, &spec.name);
    let resource = find(&stages, &hook, index, &spec).await;
    let subscribe = |(source, selection)| stages.streams.subscribe(selection).map(move |change| (source, change));
    let sources: Vec<_> = selections_for(&spec, &resource).into_iter().enumerate().map(subscribe).collect();
    let (queue, status) = (stages.queue.clone(), stages.health.enabled(&hook, index));
    let listed = {
        let (queue, status) = (queue.clone(), status.clone());
        let (hook, binding) = (hook.clone(), spec.name.clone());
        async move {
            status.synchronised().await;
            queue.listed(&hook, &binding);
        }
    };
    let driver = Driver {
        publisher,
        status,
        evaluator: stages.evaluator.clone(),
        filter,
        binding: Binding::new(hook, spec, resource, sources.len()),
        out: move |trigger| {
            queue.push(trigger);
        },
    };
    tokio::join!(filter::drive(driver, stream::select_all(sources)), listed);
}

/// Looks until the kind is found; says once what it waits for.
async fn find(stages: &Stages, hook: &HookName, index: usize, spec: &KubernetesBinding) -> Arc<Resource> {
    let mut wait = FIRST_WAIT;
    let mut said = String::new();
    loop {
        let error = match stages.discovery.find(spec.api_version.as_deref(), &spec.kind).await {
            Ok(resource) => {
                info!(%hook, binding = %spec.name, %resource, "binding enabled");
                return resource;
            }
            Err(error) => error,
        };
        let reason = error_chain(&error);
        stages.health.pending(hook, index, &reason);
        if matches!(error, DiscoveryError::Unknown { .. }) {
            // There are no objects of a kind that is not served.
            stages.queue.listed(hook, &spec.name);
        }
        if reason != said {
            report(stages, hook, spec, &error, &reason);
            said = reason;
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

fn report(stages: &Stages, hook: &HookName, spec: &KubernetesBinding, error: &DiscoveryError, reason: &str) {
    match error {
        DiscoveryError::Unknown { .. } => {
            warn!(%hook, binding = %spec.name, reason, "binding pending: it starts when the kind is served");
        }
        DiscoveryError::Unavailable(_) => {
            let server = &stages.server;
            warn!(%hook, binding = %spec.name, server, reason, "API server unreachable: trying until it answers");
        }
    }
}

//! Gives Pods what they do not say themselves: labels of their namespace, requests, a security context.
//!
//! It never overrides what a Pod says, and never denies one.

mod defaults;

use boathook_sdk::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Labels of a namespace that its Pods inherit.
const LABELS: [&str; 2] = ["team", "cost-center"];
/// On a Pod or its namespace, with `true`: it stays as it is.
const SKIP_LABEL: &str = "pod-defaults.boathook.dev/skip";

fn config() -> Config {
    let namespaces = Kubernetes::new("namespaces")
        .api_version("v1")
        .kind("Namespace")
        .on_events([])
        .on_synchronization(false)
        .jq_filter("{labels: .metadata.labels}")
        .content(Content::None);
    // Containers that another webhook adds later get their defaults, too.
    let webhook = Mutating::new("pod-defaults.boathook.dev")
        .rule(Rule::new(["CREATE"], ["pods"]))
        .include_snapshots_from(["namespaces"])
        .reinvocation_if_needed()
        .timeout(std::time::Duration::from_secs(5));
    Config::new().kubernetes(namespaces).mutating(webhook)
}

#[derive(Default, Deserialize)]
struct Namespace {
    labels: Option<BTreeMap<String, String>>,
}

fn mutate(review: Review) -> Result<Mutation> {
    let namespace = snapshots::open("namespaces")?.get(None, review.namespace.as_deref().unwrap_or_default());
    let namespace: Namespace = namespace.map(|item| item.filter_result()).transpose()?.unwrap_or_default();
    let labels = namespace.labels.unwrap_or_default();
    let mut pod: kube::Object = review.object()?;
    let skip = |value: Option<&str>| value == Some("true");
    if skip(pod.label(SKIP_LABEL)) || skip(labels.get(SKIP_LABEL).map(String::as_str)) {
        return Ok(Mutation::unchanged());
    }
    let inherited: Vec<_> = labels.into_iter().filter(|(key, _)| LABELS.contains(&key.as_str())).collect();
    defaults::fill(&mut pod, &inherited);
    Ok(Mutation::object(&pod)?)
}

boathook_sdk::hook!(config, mutate = mutate);

#[cfg(test)]
mod tests;

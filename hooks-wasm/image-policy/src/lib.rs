//! Lets only Pods in whose images come from where the namespace's policy allows.
//!
//! It never changes a Pod, and never asks the API server for anything: policies come from a snapshot.

mod image;

use boathook_sdk::prelude::*;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The name of every policy, a ConfigMap.
const NAME: &str = "image-policy";
/// The namespace whose policy is for all namespaces that have none.
const FALLBACK: &str = "default";
/// On a policy, with `warn`: nothing is denied.
const MODE_LABEL: &str = "image-policy.boathook.dev/mode";

fn config() -> Config {
    let policies = Kubernetes::new("policies")
        .api_version("v1")
        .kind("ConfigMap")
        .names([NAME])
        .on_events([])
        .on_synchronization(false)
        .jq_filter(&format!(r#"{{registries: .data.registries, mode: .metadata.labels["{MODE_LABEL}"]}}"#))
        .content(Content::None);
    let pods = Rule::new(["CREATE", "UPDATE"], ["pods", "pods/ephemeralcontainers"]);
    let webhook = Validating::new("image-policy.boathook.dev")
        .rule(pods)
        .include_snapshots_from(["policies"])
        .timeout(std::time::Duration::from_secs(5));
    Config::new().kubernetes(policies).validating(webhook)
}

#[derive(Deserialize)]
struct Policy {
    registries: Option<String>,
    mode: Option<String>,
}

#[derive(Deserialize)]
struct Pod {
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    init_containers: Vec<Container>,
    #[serde(default)]
    containers: Vec<Container>,
    #[serde(default)]
    ephemeral_containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    #[serde(default)]
    image: String,
}

impl Pod {
    fn images(self) -> BTreeSet<String> {
        let Spec { init_containers, containers, ephemeral_containers } = self.spec;
        let all = init_containers.into_iter().chain(containers).chain(ephemeral_containers);
        all.map(|container| container.image).filter(|image| !image.is_empty()).collect()
    }
}

fn validate(review: Review) -> Result<Verdict> {
    let namespace = review.namespace.as_deref().unwrap_or_default();
    let Some((place, policy)) = policy(namespace)? else { return Ok(Verdict::allow()) };
    // A Pod that is there may be labelled and finish, whatever the policy has become.
    let known = review.old_object::<Pod>()?.map(Pod::images).unwrap_or_default();
    let places = policy.registries.unwrap_or_default();
    let images = review.object::<Pod>()?.images();
    let refused: Vec<&String> =
        images.iter().filter(|image| !known.contains(*image) && !image::is_allowed(image, &places)).collect();
    let text = |image: &String| {
        format!("image {image} is not from a place that the ConfigMap {place}/{NAME} allows in namespace {namespace}")
    };
    if refused.is_empty() {
        return Ok(Verdict::allow());
    }
    if policy.mode.as_deref() == Some("warn") {
        return Ok(refused.into_iter().fold(Verdict::allow(), |verdict, image| verdict.warn(text(image))));
    }
    let texts: Vec<String> = refused.into_iter().map(text).collect();
    Ok(Verdict::deny(texts.join("; ")))
}

/// The namespace's own policy, or the one for all, with where it is from.
fn policy(namespace: &str) -> Result<Option<(&str, Policy)>> {
    let policies = snapshots::open("policies")?;
    for place in [namespace, FALLBACK] {
        if let Some(item) = policies.get(place, NAME) {
            return Ok(Some((place, item.filter_result()?)));
        }
    }
    Ok(None)
}

boathook_sdk::hook!(config, validate = validate);

#[cfg(test)]
mod tests;

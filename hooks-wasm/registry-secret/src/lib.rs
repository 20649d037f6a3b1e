//! Copies the Secret `default/registry-credentials` into every namespace, and keeps the copies
//! as the source is.
//!
//! It never touches a Secret that is not labelled as its copy, and puts nothing on a copy but
//! that label.

mod cluster;
mod plan;
mod secret;
mod writer;

use boathook_sdk::prelude::*;
use cluster::Cluster;
use std::collections::BTreeSet;
use std::time::Duration;
use writer::Writer;

/// Name of the source and of every copy.
const NAME: &str = "registry-credentials";
/// Namespace of the source.
const SOURCE: &str = "default";
/// Marks a Secret as a copy.
const COPY_LABEL: &str = "registry-secret.boathook.dev/copy";
/// On a namespace, with `true`: no copy here.
const SKIP_LABEL: &str = "registry-secret.boathook.dev/skip";

fn config() -> Config {
    let namespaces = Kubernetes::new("namespaces")
        .api_version("v1")
        .kind("Namespace")
        .on_events([Change::Added, Change::Modified])
        .jq_filter(&format!(r#"{{skip: .metadata.labels["{SKIP_LABEL}"], phase: .status.phase}}"#))
        .content(Content::None)
        .include_snapshots_from(["source", "copies"]);
    // Only `namespaces` runs at the start: that run looks at everything.
    let source = Kubernetes::new("source")
        .api_version("v1")
        .kind("Secret")
        .namespaces([SOURCE])
        .names([NAME])
        .on_synchronization(false)
        .jq_filter("{type: .type, data: .data}")
        .content(Content::None)
        .include_snapshots_from(["namespaces", "copies"]);
    let copies = Kubernetes::new("copies")
        .api_version("v1")
        .kind("Secret")
        .names([NAME])
        .label(COPY_LABEL, "true")
        .on_synchronization(false)
        .jq_filter("{type: .type, data: .data, immutable: .immutable}")
        .content(Content::None)
        .include_snapshots_from(["namespaces", "source"]);
    // What stands in the way of a copy: when it goes, the copy can come.
    let others = Kubernetes::new("others")
        .api_version("v1")
        .kind("Secret")
        .names([NAME])
        .labels(Labels::new().not_in(COPY_LABEL, ["true"]))
        .on_synchronization(false)
        .on_events([Change::Deleted])
        .jq_filter(".metadata.name")
        .content(Content::None)
        .include_snapshots_from(["namespaces", "source", "copies"]);
    let secrets = Permission::new().resources(["secrets"]).verbs(["get", "create", "patch", "delete"]).names([NAME]);
    Config::new()
        .kubernetes(namespaces)
        .kubernetes(source)
        .kubernetes(copies)
        .kubernetes(others)
        .permission(secrets)
        // Room for a 10 kB Secret in 5 000 namespaces.
        .limits(Limits::new().time(Duration::from_secs(60)).host_calls(20_000).host_bytes("256Mi"))
}

fn run(ctx: Context) -> Result<()> {
    let cluster = Cluster::open()?;
    let mut writer = Writer::new(cluster.source.as_ref());
    if cluster.source.is_none() {
        if cluster.source_is_gone()? {
            cluster.copies.iter().for_each(|copy| writer.remove(&copy));
        }
    } else if ctx.synchronized("namespaces") || ctx.has("source") {
        for namespace in &cluster.namespaces {
            writer.add(&namespace.name, cluster.step(&namespace)?);
        }
    } else {
        for name in touched(&ctx) {
            if let Some(namespace) = cluster.namespaces.get(None, name) {
                writer.add(name, cluster.step(&namespace)?);
            }
        }
    }
    writer.finish()
}

/// The namespaces that the events are about.
fn touched(ctx: &Context) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for event in ctx.events("namespaces") {
        names.insert(event.target.name.as_str());
    }
    for event in ctx.events("copies").chain(ctx.events("others")) {
        names.extend(event.target.namespace.as_deref());
    }
    names
}

boathook_sdk::hook!(config, run);

#[cfg(test)]
mod tests;

//! Taints nodes by their labels: `taint.boathook.dev/NAME: EFFECT` gives a taint with that key
//! and effect, which leaves when the label does.
//!
//! It never touches a taint with another key.

mod taints;

use boathook_sdk::kube::{Object, Operation};
use boathook_sdk::prelude::*;
use boathook_sdk::snapshots::Snapshot;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use taints::{Node, wanted};

/// Writes of one node before a conflict becomes a failure of the run.
const TRIES: u32 = 5;

fn config() -> Config {
    let nodes = Kubernetes::new("nodes")
        .api_version("v1")
        .kind("Node")
        .on_events([Change::Added, Change::Modified])
        .jq_filter("{labels: .metadata.labels, taints: .spec.taints}")
        .content(Content::None);
    Config::new().kubernetes(nodes).permission(Permission::new().resources(["nodes"]).verbs(["get", "patch"]))
}

fn run(ctx: Context) -> Result<()> {
    let nodes = snapshots::open("nodes")?;
    let mut failure = Ok(());
    for name in names(&ctx, &nodes) {
        // Gone meanwhile: nothing to do.
        let Some(node) = nodes.get(None, &name) else { continue };
        let seen: Node = node.filter_result()?;
        for (key, value) in seen.invalid() {
            log::warn!("node {name}: label {key}={value} names no taint effect, ignored");
        }
        if let Err(error) = mend(&name, seen, node.resource_version) {
            failure = Err(error).with_context(|| format!("node {name}"));
        }
    }
    failure
}

/// The nodes to look at: all of them at the start, then those that changed.
fn names(ctx: &Context, nodes: &Snapshot) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if ctx.synchronized("nodes") {
        for node in nodes {
            names.insert(node.name);
        }
    }
    for event in ctx.events("nodes") {
        names.insert(event.target.name.clone());
    }
    names
}

/// Writes the taints that a node should have. The list is shared with others, so it is only
/// written over the version it was made from; after a conflict it is made anew.
fn mend(name: &str, mut node: Node, mut version: String) -> Result<()> {
    let target = ObjectRef::new("v1", "Node", None, name);
    for _ in 0..TRIES {
        let Some(taints) = wanted(&node) else { return Ok(()) };
        let taints = if taints.is_empty() { Value::Null } else { Value::Array(taints) };
        let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": taints}});
        match Operation::merge_patch(target.clone(), &patch).ignore_missing().run() {
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error.into()),
            Ok(_) => {
                log::info!("node {name}: taints are now {taints}");
                return Ok(());
            }
        }
        let Some(fresh) = kube::find_object::<Object>(&target)? else { return Ok(()) };
        version = fresh.resource_version().unwrap_or_default().to_owned();
        node = Node::of(&fresh);
    }
    Err(Error::retry(format!("others changed it {TRIES} times meanwhile")))
}

boathook_sdk::hook!(config, run);

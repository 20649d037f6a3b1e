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
        // The node is gone by now: nothing to do.
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

/// Writes the taints that a node should have. Others also write to the list, so the hook only
/// replaces the version that it made its list from. After a conflict it makes the list again.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use boathook_sdk::kube::Reason;
    use boathook_sdk::testing::{Kit, Run, Verb};

    fn kit() -> Kit {
        let mut kit = Kit::new(config, run);
        kit.filter("nodes", |node| json!({"labels": node["metadata"]["labels"], "taints": node["spec"]["taints"]}));
        kit
    }

    fn node(effect: &str) -> Value {
        let metadata = json!({"name": "n1", "labels": {"taint.boathook.dev/gpu": effect}});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    }

    fn n1() -> ObjectRef {
        ObjectRef::new("v1", "Node", None, "n1")
    }

    fn taints(kit: &Kit) -> Value {
        kit.find::<Value>(&n1()).unwrap()["spec"]["taints"].clone()
    }

    #[test]
    fn a_snapshot_that_is_behind_writes_over_nothing() {
        let mut kit = kit();
        let old = kit.given(&node("NoSchedule"));
        let mut new = node("NoSchedule");
        new["spec"]["taints"] = json!([{"key": "example.com/theirs", "effect": "NoExecute"}]);
        kit.given(&new);
        let ran = kit.run(Run::new().synchronization("nodes").snapshot("nodes", [old])).ok();
        assert_eq!(ran.written(), ["patch Node n1: conflict", "patch Node n1"]);
        let both = json!([
            {"key": "example.com/theirs", "effect": "NoExecute"},
            {"key": "taint.boathook.dev/gpu", "effect": "NoSchedule"},
        ]);
        assert_eq!(taints(&kit), both);
    }

    #[test]
    fn a_node_that_others_keep_changing_is_left_for_a_retry() {
        let mut kit = kit();
        for _ in 0..TRIES {
            kit.refuse(Verb::Patch, &n1(), Reason::Conflict);
        }
        let ran = kit.run(Run::new().added("nodes", &node("NoSchedule")));
        assert_eq!(ran.error().to_string(), "node n1: others changed it 5 times meanwhile");
        assert!(!ran.error().is_permanent() && ran.writes.len() == 5);
    }

    #[test]
    fn a_node_that_goes_meanwhile_is_no_failure() {
        let mut kit = kit();
        kit.refuse(Verb::Patch, &n1(), Reason::Conflict);
        kit.refuse_get(&n1(), Reason::NotFound);
        let ran = kit.run(Run::new().added("nodes", &node("NoSchedule"))).ok();
        assert_eq!(ran.written(), ["patch Node n1: conflict"]);
        kit.gone(&n1());
        let ran = kit.run(Run::new().synchronization("nodes").snapshot("nodes", [node("NoExecute")])).ok();
        assert!(ran.writes.iter().all(|write| write.is_ok()) && kit.objects().count() == 0);
    }

    #[test]
    fn what_is_right_is_not_written_again() {
        let mut kit = kit();
        kit.run(Run::new().added("nodes", &node("NoSchedule"))).ok();
        assert!(kit.run(Run::new().synchronization("nodes")).ok().writes.is_empty());
        assert_eq!(taints(&kit), json!([{"key": "taint.boathook.dev/gpu", "effect": "NoSchedule"}]));
    }

    #[test]
    fn one_node_that_fails_does_not_hold_up_the_others() {
        let mut kit = kit();
        kit.given(&node("NoSchedule"));
        let mut other = node("NoExecute");
        other["metadata"]["name"] = json!("n2");
        kit.given(&other);
        kit.refuse(Verb::Patch, &n1(), Reason::Unavailable);
        let ran = kit.run(Run::new().synchronization("nodes"));
        assert!(ran.error().to_string().starts_with("node n1: "), "{:?}", ran.error());
        assert_eq!(ran.written(), ["patch Node n1: unavailable", "patch Node n2"]);
    }
}

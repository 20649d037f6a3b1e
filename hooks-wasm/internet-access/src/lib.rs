//! Lays down the NetworkPolicy `allow-internet` in a namespace exactly while the namespace carries
//! the label `internet-access.boathook.dev/allow: "true"`.
//!
//! It never touches a NetworkPolicy that is not labelled as its own.

mod policy;

use boathook_sdk::kube::{Object, Operation};
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::Value;
use boathook_sdk::snapshots::Snapshot;
use policy::{MANAGED_LABEL, NAME, reference};
use std::collections::BTreeSet;

/// On a namespace, with `true`: its Pods may reach the internet.
const ALLOW_LABEL: &str = "internet-access.boathook.dev/allow";
/// Writes in one call to the host.
const BATCH: usize = 250;

fn config() -> Config {
    let namespaces = Kubernetes::new("namespaces")
        .api_version("v1")
        .kind("Namespace")
        .label(ALLOW_LABEL, "true")
        .jq_filter(".status.phase")
        .content(Content::None)
        .include_snapshots_from(["policies"]);
    // Only `namespaces` runs at the start: that run looks at everything.
    let policies = Kubernetes::new("policies")
        .api_version("networking.k8s.io/v1")
        .kind("NetworkPolicy")
        .names([NAME])
        .label(MANAGED_LABEL, "true")
        .on_synchronization(false)
        .jq_filter(".spec")
        .content(Content::None)
        .include_snapshots_from(["namespaces"]);
    let permission = Permission::new()
        .groups(["networking.k8s.io"])
        .resources(["networkpolicies"])
        .verbs(["get", "create", "update", "delete"])
        .names([NAME]);
    Config::new().kubernetes(namespaces).kubernetes(policies).permission(permission)
}

fn run(ctx: Context) -> Result<()> {
    let cluster = Cluster { namespaces: snapshots::open("namespaces")?, policies: snapshots::open("policies")? };
    let names = if ctx.synchronized("namespaces") { cluster.all() } else { touched(&ctx) };
    let mut operations = Vec::new();
    for name in names {
        operations.extend(cluster.mend(&name)?.map(|operation| (name, operation)));
    }
    write(operations)
}

/// The namespaces that the events are about.
fn touched(ctx: &Context) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for event in ctx.events("namespaces") {
        names.insert(event.target.name.clone());
    }
    for event in ctx.events("policies") {
        names.extend(event.target.namespace.clone());
    }
    names
}

/// What the hook sees of the cluster, at one moment.
struct Cluster {
    /// The namespaces that may reach the internet.
    namespaces: Snapshot,
    /// The policies that are ours.
    policies: Snapshot,
}

impl Cluster {
    /// Every namespace that has a policy or should have one.
    fn all(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for namespace in &self.namespaces {
            names.insert(namespace.name);
        }
        for policy in &self.policies {
            names.extend(policy.namespace);
        }
        names
    }

    /// The write that a namespace needs.
    fn mend(&self, name: &str) -> Result<Option<Operation>> {
        let policy = self.policies.get(name, NAME);
        let Some(namespace) = self.namespaces.get(None, name) else {
            let delete = |uid: &str| Operation::delete(reference(name)).ignore_missing().if_uid(uid);
            return Ok(policy.map(|policy| delete(&policy.uid)));
        };
        // Nothing can be created there, and what is there goes by itself.
        if namespace.filter_result::<Option<String>>()?.as_deref() == Some("Terminating") {
            return Ok(None);
        }
        Ok(match policy {
            // `create`, not `apply`: it cannot take over a policy that somebody else put there.
            None => Some(Operation::create_object(&policy::object(name, None))),
            Some(policy) if policy.filter_result::<Value>()? == policy::spec() => None,
            Some(policy) => Some(Operation::update_object(&policy::object(name, Some(&policy.resource_version)))),
        })
    }
}

fn write(operations: Vec<(String, Operation)>) -> Result<()> {
    let mut failure = Ok(());
    let mut operations = operations.into_iter().peekable();
    while operations.peek().is_some() {
        let (names, batch): (Vec<_>, Vec<_>) = operations.by_ref().take(BATCH).unzip();
        for (name, result) in names.iter().zip(kube::batch(batch)) {
            if let Err(error) = result
                && failure.is_ok()
            {
                failure = judge(name, error);
            }
        }
    }
    failure
}

/// What of a failed write is a failure of the run.
fn judge(namespace: &str, error: kube::Error) -> Result<()> {
    // The namespace goes or is gone: nothing is missing there.
    if error.is_not_found() || error.is_namespace_terminating() {
        return Ok(());
    }
    if !error.is_already_exists() {
        return Err(error.into());
    }
    // If it is ours, the snapshot was a moment behind, and its event will bring us here again.
    let found: Option<Object> = kube::find_object(&reference(namespace))?;
    if found.is_some_and(|policy| policy.label(MANAGED_LABEL) != Some("true")) {
        log::warn!("NetworkPolicy {namespace}/{NAME} is not managed by this hook: left alone");
    }
    Ok(())
}

boathook_sdk::hook!(config, run);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use boathook_sdk::kube::Reason;
    use boathook_sdk::serde_json::json;
    use boathook_sdk::testing::{Kit, Run, Verb};

    fn kit() -> Kit {
        let mut kit = Kit::new(config, run);
        kit.filter("namespaces", |namespace| namespace.pointer("/status/phase").cloned().unwrap_or_default());
        kit.filter("policies", |policy| policy["spec"].clone());
        kit
    }

    fn namespace(phase: &str) -> Value {
        let metadata = json!({"name": "web", "labels": {ALLOW_LABEL: "true"}});
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": {"phase": phase}})
    }

    #[test]
    fn the_policy_comes_and_goes_with_the_label() {
        let mut kit = kit();
        let ran = kit.run(Run::new().added("namespaces", &namespace("Active"))).ok();
        assert_eq!(ran.written(), ["create NetworkPolicy web/allow-internet"]);
        assert_eq!(kit.find::<Value>(&reference("web")).unwrap()["spec"], policy::spec());
        assert!(kit.run(Run::new().synchronization("namespaces")).ok().writes.is_empty());
        let ran = kit.run(Run::new().deleted("namespaces", &namespace("Active"))).ok();
        assert!(ran.writes.is_empty(), "with the namespace went the policy");
    }

    #[test]
    fn a_policy_that_was_altered_is_replaced_only_as_it_was_seen() {
        let mut kit = kit();
        kit.given(&namespace("Active"));
        let ours = kit.given(&policy::object("web", None));
        let mut altered = ours.clone();
        altered["spec"]["egress"] = json!([]);
        let stale = altered.clone();
        let ran = kit.run(Run::new().modified("policies", &altered)).ok();
        assert_eq!(ran.written(), ["update NetworkPolicy web/allow-internet"]);
        let ran = kit.run(Run::new().synchronization("namespaces").snapshot("policies", [stale]));
        assert_eq!(ran.written(), ["update NetworkPolicy web/allow-internet: conflict"]);
        assert!(!ran.error().is_permanent());
    }

    #[test]
    fn nothing_is_created_in_a_namespace_that_goes() {
        let mut kit = kit();
        assert!(kit.run(Run::new().added("namespaces", &namespace("Terminating"))).ok().writes.is_empty());
        // The hook was not told yet.
        kit.refuse(Verb::Create, &reference("web"), Reason::NotFound);
        kit.run(Run::new().modified("namespaces", &namespace("Active"))).ok();
    }

    #[test]
    fn somebody_elses_policy_is_warned_of() {
        let mut kit = kit();
        let mut theirs = policy::object("web", None);
        theirs["metadata"]["labels"] = Value::Null;
        kit.given(&theirs);
        let ran = kit.run(Run::new().added("namespaces", &namespace("Active"))).ok();
        assert!(ran.logged("NetworkPolicy web/allow-internet is not managed by this hook: left alone"));
        assert_eq!(ran.written(), ["create NetworkPolicy web/allow-internet: already-exists"]);
    }
}

//! Every namespace with the label `team` has a ConfigMap `team`, from which the programs in it learn
//! whose they are.
//!
//! It never touches an object with another name. A label that goes while the operator is down is not
//! noticed: nothing remembers it.

use boathook_sdk::kube::Operation;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use std::collections::BTreeSet;

/// The label, and the name of the ConfigMap.
const TEAM: &str = "team";

/// What wakes the hook, and what it may do.
fn config() -> Config {
    let namespaces = Kubernetes::new("namespaces")
        .api_version("v1")
        .kind("Namespace")
        .labels(Labels::new().exists(TEAM))
        // Run when this changes, and at no other change of a namespace.
        .jq_filter(".metadata.labels.team")
        .content(Content::None);
    let permission = Permission::new()
        .resources(["configmaps"])
        .verbs(["create", "patch", "delete"])
        .names([TEAM]);
    Config::new().kubernetes(namespaces).permission(permission)
}

/// Looks at each namespace that this run is about, and makes its ConfigMap as it should be.
fn run(ctx: Context) -> Result<()> {
    let namespaces = snapshots::open("namespaces")?;
    let mut names = BTreeSet::new();
    if ctx.synchronized("namespaces") {
        names.extend(namespaces.iter().map(|namespace| namespace.name));
    }
    names.extend(
        ctx.events("namespaces")
            .map(|event| event.target.name.clone()),
    );

    for name in names {
        let operation = match namespaces.get(None, &name) {
            Some(namespace) => {
                Operation::apply_object(&config_map(&name, &namespace.filter_result::<String>()?))
            }
            None => Operation::delete(ObjectRef::new("v1", "ConfigMap", name.as_str(), TEAM))
                .ignore_missing(),
        };
        match operation.run() {
            Ok(_) => log::info!("namespace {name}: done"),
            // It goes away, and everything in it.
            Err(error) if error.is_not_found() || error.is_namespace_terminating() => {}
            // The run fails, and is repeated after a while.
            Err(error) => return Err(error).with_context(|| format!("namespace {name}")),
        }
    }
    Ok(())
}

fn config_map(namespace: &str, team: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": TEAM},
        "data": {"team": team},
    })
}

boathook_sdk::hook!(config, run);

#[cfg(test)]
mod tests {
    use super::*;
    use boathook_sdk::testing::{Kit, Run};

    /// The hook and a cluster in memory. jq does not run here: this says what the `jqFilter` gives.
    fn kit() -> Kit {
        let mut kit = Kit::new(config, run);
        kit.filter("namespaces", |namespace| {
            namespace["metadata"]["labels"]["team"].clone()
        });
        kit
    }

    fn namespace(name: &str, team: &str) -> Value {
        let metadata = json!({"name": name, "labels": {"team": team}});
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    }

    #[test]
    fn the_config_map_tells_the_team_and_goes_with_the_label() {
        let mut kit = kit();
        let web = namespace("web", "shop");
        kit.run(Run::new().added("namespaces", &web)).ok();
        let made: Option<Value> = kit.find(&ObjectRef::new("v1", "ConfigMap", "web", TEAM));
        assert_eq!(made.unwrap()["data"], json!({"team": "shop"}));

        let ran = kit.run(Run::new().deleted("namespaces", &web)).ok();
        assert_eq!(ran.written(), ["delete ConfigMap web/team"]);
    }

    #[test]
    fn at_the_start_all_namespaces_with_the_label_are_put_right() {
        let mut kit = kit();
        kit.given(&namespace("a", "shop"));
        kit.given(&namespace("b", "search"));
        let ran = kit.run(Run::new().synchronization("namespaces")).ok();
        assert_eq!(
            ran.written(),
            ["patch ConfigMap a/team", "patch ConfigMap b/team"]
        );
    }
}

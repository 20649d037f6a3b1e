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

    #[test]
    fn the_config_map_tells_the_team() {
        assert_eq!(config_map("web", "shop")["data"], json!({"team": "shop"}));
    }
}

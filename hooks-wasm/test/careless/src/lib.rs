//! Makes the three mistakes that a fault reveals: for tests of `boathook test --sweep`.
//!
//! All objects are ConfigMaps of the namespace `default`. Without a fault, everything ends well.
//!
//! - A `careless=pair` named NAME gets `NAME-first` and then `NAME-second`. If the first exists, the hook takes both for
//!   done: an intermediate state is final.
//! - A `careless=phase` gets `data.drained` when its `data.phase` is `draining`. If the hook does not see this phase,
//!   nothing comes of it: a state that is not observed is lost.
//! - A `careless=child` is deleted if the `careless=owner` that `data.owner` names is not in the snapshot. The snapshot may
//!   be behind: a stale state leads to what cannot be undone.

use boathook_sdk::kube::Operation;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};

const NAMESPACE: &str = "default";

fn binding(name: &str) -> Kubernetes {
    Kubernetes::new(name).api_version("v1").kind("ConfigMap").namespaces([NAMESPACE]).label("careless", name)
}

fn config() -> Config {
    let owners = binding("owner").on_synchronization(false).on_events([]).content(Content::None);
    let child =
        binding("child").jq_filter(".data.owner").content(Content::None).include_snapshots_from(["child", "owner"]);
    Config::new()
        .kubernetes(owners)
        .kubernetes(child)
        .kubernetes(binding("pair").on_events([Change::Added]).content(Content::None))
        .kubernetes(binding("phase").jq_filter(".data.phase").content(Content::None))
        .permission(Permission::new().resources(["configmaps"]).verbs(["create", "patch", "delete"]))
}

fn run(ctx: Context) -> Result<()> {
    for trigger in &ctx.triggers {
        let binding = trigger.binding.as_str();
        match &trigger.cause {
            Cause::Synchronization => {
                for object in &snapshots::open(binding)? {
                    act(binding, &object.name, &object.filter_result().unwrap_or_default())?;
                }
            }
            Cause::Event(event) if event.change != Change::Deleted => {
                act(binding, &event.target.name, &event.filter_result().unwrap_or_default())?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn act(binding: &str, name: &str, value: &Value) -> Result<()> {
    match binding {
        "pair" => pair(name),
        "phase" if value == "draining" => drain(name),
        "child" => child(name, value.as_str().unwrap_or_default()),
        _ => Ok(()),
    }
}

fn pair(name: &str) -> Result<()> {
    for part in ["first", "second"] {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": NAMESPACE, "name": format!("{name}-{part}")},
        });
        match Operation::create_object(&map).run() {
            Err(error) if error.is_already_exists() => return Ok(()),
            created => created.map(drop)?,
        }
    }
    Ok(())
}

fn drain(name: &str) -> Result<()> {
    Operation::merge_patch(configmap(name), &json!({"data": {"drained": "yes"}})).ignore_missing().run()?;
    Ok(())
}

fn child(name: &str, owner: &str) -> Result<()> {
    let owned = snapshots::open("owner")?.iter().any(|known| known.name == owner);
    if !owned {
        Operation::delete(configmap(name)).ignore_missing().run()?;
    }
    log::info!("child {name} of {owner}: {owned}");
    Ok(())
}

fn configmap(name: &str) -> ObjectRef {
    ObjectRef::new("v1", "ConfigMap", NAMESPACE, name)
}

boathook_sdk::hook!(config, run);

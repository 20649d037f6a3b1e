//! Writes down the images of each Pod that comes in a ConfigMap: what a run costs in each language is measured with it.
//!
//! It never reads from the cluster.
use boathook_sdk::kube::Operation;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};

fn config() -> Config {
    let pods = Kubernetes::new("pods").api_version("v1").kind("Pod");
    Config::new().kubernetes(pods).permission(Permission::new().resources(["configmaps"]).verbs(["patch"]))
}

fn run(ctx: Context) -> Result<()> {
    for event in ctx.events("pods") {
        let pod: Value = event.object()?;
        let containers = pod["spec"]["containers"].as_array();
        let images: Vec<&str> =
            containers.into_iter().flatten().filter_map(|container| container["image"].as_str()).collect();
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"]},
            "data": {"images": images.join(" ")},
        });
        Operation::apply_object(&object).run()?;
    }
    Ok(())
}

boathook_sdk::hook!(config, run);

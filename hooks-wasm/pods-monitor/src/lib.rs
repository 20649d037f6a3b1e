//! Says the name of each Pod that is added while the operator runs.
//!
//! It never speaks of Pods that were there before.

use boathook_sdk::prelude::*;

/// The name that a binding without a name has.
const PODS: &str = "kubernetes";

fn config() -> &'static str {
    r#"{
      "configVersion": "v1",
      "kubernetes": [{
        "apiVersion": "v1",
        "kind": "Pod",
        "watchEvent": ["Added"]
      }]
    }"#
}

fn run(ctx: Context) -> Result<()> {
    for event in ctx.events(PODS) {
        log::info!("Pod '{}' added", event.target.name);
    }
    Ok(())
}

boathook_sdk::hook!(config, run);

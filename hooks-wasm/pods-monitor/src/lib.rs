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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use boathook_sdk::serde_json::{Value, json};
    use boathook_sdk::testing::{Kit, Run};

    fn pod(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "web", "name": name}})
    }

    #[test]
    fn pods_of_one_run_are_named_in_order() {
        let mut kit = Kit::new(config, run);
        let ran = kit.run(Run::new().added(PODS, &pod("b")).added(PODS, &pod("a"))).ok();
        let lines: Vec<_> = ran.log.iter().map(|line| line.message.as_str()).collect();
        assert_eq!(lines, ["Pod 'b' added", "Pod 'a' added"]);
    }

    #[test]
    fn pods_that_were_there_are_not_named() {
        let mut kit = Kit::new(config, run);
        kit.given(&pod("old"));
        assert!(kit.run(Run::new().synchronization(PODS)).ok().log.is_empty());
    }
}

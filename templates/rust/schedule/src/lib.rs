//! Says every five seconds how many Pods there are in each phase, and reports it as a metric.
//!
//! It never asks the API server: the operator knows the Pods.

use boathook_sdk::metrics::Group;
use boathook_sdk::prelude::*;
use std::collections::BTreeMap;

/// What wakes the hook. It needs no permission, as it calls nothing.
fn config() -> Config {
    // Kept for the runs of the clock; a Pod that changes runs nothing.
    let pods = Kubernetes::new("pods")
        .api_version("v1")
        .kind("Pod")
        .on_events([])
        .on_synchronization(false)
        .jq_filter(r#".status.phase // "Unknown""#)
        .content(Content::None);
    // Seconds, minutes, hours, days, months, weekdays. Five fields are those without seconds.
    let clock = Schedule::new("*/5 * * * * *")
        .name("clock")
        .include_snapshots_from(["pods"]);
    Config::new().kubernetes(pods).schedule(clock)
}

fn run(_: Context) -> Result<()> {
    let mut phases: BTreeMap<String, u32> = BTreeMap::new();
    for pod in &snapshots::open("pods")? {
        *phases.entry(pod.filter_result()?).or_default() += 1;
    }
    // What this run does not report is no longer served.
    let group = Group::new("pods");
    group.expire()?;
    for (phase, count) in &phases {
        group
            .metric("pods_in_phase")
            .label("phase", phase)
            .set(*count)?;
    }
    log::info!("{} Pods: {phases:?}", phases.values().sum::<u32>());
    Ok(())
}

boathook_sdk::hook!(config, run);

#[cfg(test)]
mod tests {
    use super::*;
    use boathook_sdk::serde_json::json;
    use boathook_sdk::testing::{Kit, Run};

    #[test]
    fn a_tick_counts_the_pods_of_each_phase() {
        let mut kit = Kit::new(config, run);
        // jq does not run here: this says what the `jqFilter` gives.
        kit.filter("pods", |pod| pod["status"]["phase"].clone());
        for (name, phase) in [("a", "Running"), ("b", "Running"), ("c", "Pending")] {
            let metadata = json!({"namespace": "web", "name": name});
            let status = json!({"phase": phase});
            kit.given(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}));
        }
        let ran = kit.run(Run::new().schedule("clock")).ok();
        assert!(ran.logged("3 Pods"));
        let running = kit.metric("pods_in_phase", &[("phase", "Running")]);
        assert_eq!(running, Some(2.0));
    }
}

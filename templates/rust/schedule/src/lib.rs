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

//! Fails in the way that a ConfigMap's data asks for: for tests of what follows a failure.
//!
//! It never writes to the cluster.
//!
//! It reads ConfigMaps labelled `test=fail`. `data.mode` is `retry`, `retry-after` (with
//! `data.delay` in milliseconds, 1000 without), `permanent`, `panic`, or anything else for
//! success. With `data.attempts`, only so many first attempts fail. Each run logs
//! `attempt N: MODE NAMES`.

use boathook_sdk::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn config() -> Config {
    Config::new().kubernetes(
        Kubernetes::new("configmaps")
            .api_version("v1")
            .kind("ConfigMap")
            .label("test", "fail")
            .on_events([Change::Added, Change::Modified])
            .jq_filter(".data"),
    )
}

fn run(ctx: Context) -> Result<()> {
    for event in ctx.events("configmaps") {
        let data: Option<BTreeMap<String, String>> = event.filter_result()?;
        let data = data.unwrap_or_default();
        let text = |key: &str| data.get(key).map(String::as_str);
        let mode = text("mode").unwrap_or("none");
        log::info!("attempt {}: {mode} {}", ctx.info.attempt, event.target.name);
        let attempts: u32 = text("attempts").map_or(Ok(u32::MAX), str::parse)?;
        if ctx.info.attempt > attempts {
            continue;
        }
        match mode {
            "retry" => return Err(Error::retry("asked to fail")),
            "retry-after" => {
                let delay = Duration::from_millis(text("delay").unwrap_or("1000").parse()?);
                return Err(Error::retry_after(delay, "asked to fail for a while"));
            }
            "permanent" => return Err(Error::permanent("asked to fail for good")),
            #[allow(clippy::panic)] // what is asked for
            "panic" => panic!("asked to panic"),
            _ => {}
        }
    }
    Ok(())
}

boathook_sdk::hook!(config, run);

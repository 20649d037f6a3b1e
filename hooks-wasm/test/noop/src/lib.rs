//! Does nothing, as fast as a hook can: what the dispatch benchmark measures.
//!
//! It never calls the host.
use boathook_sdk::prelude::*;

fn config() -> Config {
    Config::new()
        .on_startup(0)
        .kubernetes(Kubernetes::new("configmaps").api_version("v1").kind("ConfigMap").label("bench", "true"))
}

fn run(_: Context) -> Result<()> {
    Ok(())
}

boathook_sdk::hook!(config, run);

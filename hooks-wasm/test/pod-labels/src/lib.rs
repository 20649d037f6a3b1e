//! Keeps the labels of all Pods and does nothing with them: what the memory benchmark measures.
//!
//! It never calls the host.
use boathook_sdk::prelude::*;

fn config() -> Config {
    let pods =
        Kubernetes::new("pods").api_version("v1").kind("Pod").jq_filter(".metadata.labels").content(Content::None);
    Config::new().kubernetes(pods)
}

fn run(_: Context) -> Result<()> {
    Ok(())
}

boathook_sdk::hook!(config, run);

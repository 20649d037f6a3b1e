//! Allows every ConfigMap, as fast as a hook can: what the webhook benchmark measures.
//!
//! It never calls the host, and never looks into the object.
use boathook_sdk::prelude::*;

fn config() -> Config {
    let configmaps = Rule::new(["CREATE", "UPDATE"], ["configmaps"]);
    Config::new().validating(Validating::new("everything.allow.test").rule(configmaps))
}

fn validate(_: Review) -> Result<Verdict> {
    Ok(Verdict::allow())
}

boathook_sdk::hook!(config, validate = validate);

//! What the hostile guests share: each example of this package is a component that misbehaves in
//! one way.
//!
//! They harm nothing outside their sandbox; that is what the tests show.

use boathook_sdk::prelude::*;

/// Woken by ConfigMaps labelled `hostile=true`.
pub fn config() -> Config {
    Config::new()
        .kubernetes(Kubernetes::new("configmaps").api_version("v1").kind("ConfigMap").label("hostile", "true"))
        .permission(Permission::new().resources(["configmaps"]).verbs(["get"]))
}

/// Does nothing.
pub fn run(_: Context) -> Result<()> {
    Ok(())
}

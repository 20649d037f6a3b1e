//! Makes sure, whenever the operator starts, that there is a namespace `shared`.
//!
//! It never alters one that is there.

use boathook_sdk::kube::{IfExists, Operation};
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::json;

/// What wakes the hook, and what it may do. The number orders the hooks of one operator.
fn config() -> Config {
    Config::new().on_startup(10).permission(
        Permission::new()
            .resources(["namespaces"])
            .verbs(["create"]),
    )
}

fn run(_: Context) -> Result<()> {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shared"}});
    let created = Operation::create_object(&namespace)
        .if_exists(IfExists::Keep)
        .run()?;
    log::info!(
        "namespace shared {}",
        if created.is_some() {
            "created"
        } else {
            "is there"
        }
    );
    Ok(())
}

boathook_sdk::hook!(config, run);

#[cfg(test)]
mod tests {
    use super::*;
    use boathook_sdk::testing::{Kit, Run};

    #[test]
    fn it_creates_the_namespace_once() {
        let mut kit = Kit::new(config, run);
        let ran = kit.run(Run::new().startup()).ok();
        assert_eq!(ran.written(), ["create Namespace shared"]);
        assert!(ran.logged("namespace shared created"));

        let again = kit.run(Run::new().startup()).ok();
        assert!(again.logged("namespace shared is there"));
    }
}

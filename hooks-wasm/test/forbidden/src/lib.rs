//! Tries to delete a Secret without having asked for the permission: for tests of the grants.
//!
//! It never succeeds at anything. For each ConfigMap that appears with the label `e2e=forbidden`
//! it tries to delete the Secret of the same name and namespace, and fails for good with the
//! error that it gets.

use boathook_sdk::kube::Operation;
use boathook_sdk::prelude::*;

fn config() -> Config {
    Config::new()
        .kubernetes(
            Kubernetes::new("configmaps")
                .api_version("v1")
                .kind("ConfigMap")
                .label("e2e", "forbidden")
                .on_events([Change::Added]),
        )
        // Something else, so that it is the verb and the resource that are refused.
        .permission(Permission::new().resources(["configmaps"]).verbs(["get"]))
}

fn run(ctx: Context) -> Result<()> {
    let mut told = Vec::new();
    for event in ctx.events("configmaps") {
        let secret = ObjectRef::new("v1", "Secret", event.target.namespace.as_deref(), &event.target.name);
        told.push(match Operation::delete(secret).run() {
            Ok(_) => "the deletion was allowed".to_owned(),
            Err(error) => format!("{:?}: {error}", error.reason()),
        });
    }
    if told.is_empty() { Ok(()) } else { Err(Error::permanent(told.join("; "))) }
}

boathook_sdk::hook!(config, run);

//! Returns the children that its parent's `spec` says, and adopts objects that exist: for `Wish`es those that nobody has, and for
//! `ClusterWish`es those of other sets, too. `Wish`es own `Hope`s, and `Hope`s own `Wish`es.
//!
//! Each call logs the parent's name. With `spec.read`, it reads the ConfigMap of this name in `default`. Its answers therefore
//! depend on more than its arguments, so it is asked again at each `resync` of `ClusterWish`es.

use boathook_sdk::config::Adopt;
use boathook_sdk::kube::Object;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::Value;
use std::time::Duration;

fn config() -> Config {
    let events = Permission::new().groups(["events.k8s.io"]).resources(["events"]).verbs(["create", "patch"]);
    let maps = Permission::new().groups([""]).resources(["configmaps"]).verbs(["get"]);
    let unowned = |name: &str, kind: &str, owned: &str| {
        let binding = Reconcile::new(name, "example.com/v1", kind).adopt(Adopt::IfUnowned);
        binding.owns("v1", "ConfigMap").owns("example.com/v1", owned)
    };
    let everywhere = Reconcile::new("cluster-wishes", "example.com/v1", "ClusterWish").adopt(Adopt::Always);
    Config::new()
        .reconcile(unowned("wishes", "Wish", "Hope"))
        .reconcile(unowned("hopes", "Hope", "Wish"))
        .reconcile(everywhere.owns("v1", "ConfigMap").resync(Duration::from_secs(1)))
        .permission(events)
        .permission(maps)
}

fn reconcile(parent: reconcile::Parent) -> Result<Desired> {
    let spec: Value = parent.spec()?;
    log::info!("{}", parent.name());
    if let Some(name) = spec.get("read").and_then(Value::as_str) {
        kube::get_object::<Object>(&ObjectRef::new("v1", "ConfigMap", "default", name))?;
    }
    let children = spec.get("children").and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(Desired::new().children(children))
}

boathook_sdk::hook!(config, reconcile = reconcile);

//! Returns what its parent's `spec` says, for tests of what the host makes of it.
//!
//! | field of `spec` | effect |
//! | --- | --- |
//! | `children` | the objects |
//! | `noneWanted` | no children are wanted |
//! | `status`, `conditions` | of the parent |
//! | `requeueAfter` | in milliseconds |
//! | `fail` | `retry`, `permanent`, or `trap` |
//!
//! The status has `seen`, the names of the children that exist. Each call logs the parent's name. `ClusterWish`es with the
//! label `unseen` are not selected.

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use std::time::Duration;

fn config() -> Config {
    let owning = |name: &str, kind: &str| {
        let binding = Reconcile::new(name, "example.com/v1", kind);
        let binding = binding.owns("v1", "ConfigMap").owns("v1", "Namespace").owns("apps/v1", "Deployment");
        let retry = Retry::new().initial(Duration::from_millis(200)).max(Duration::from_millis(400));
        binding.retry(retry)
    };
    let everywhere = owning("cluster-wishes", "ClusterWish").labels(Labels::new().missing("unseen"));
    Config::new().reconcile(owning("wishes", "Wish")).reconcile(everywhere)
}

fn reconcile(parent: reconcile::Parent) -> Result<Desired> {
    let spec: Value = parent.spec()?;
    log::info!("{}", parent.name());
    let word = |name: &str| spec.get(name).and_then(Value::as_str).unwrap_or_default();
    match word("fail") {
        "retry" => return Err(Error::retry("it was wished")),
        "permanent" => return Err(Error::permanent("it was wished")),
        #[allow(clippy::panic)]
        "trap" => panic!("it was wished"),
        _ => {}
    }
    let list = |name: &str| spec.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut desired = if spec.get("noneWanted") == Some(&Value::Bool(true)) { Desired::none() } else { Desired::new() };
    desired = desired.children(list("children"));
    for condition in list("conditions") {
        let text = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default();
        desired = desired.condition(text("type"), text("status") == "True", text("reason"), text("message"));
    }
    let seen: Vec<_> = parent.children().iter().map(|child| child.target.name.as_str()).collect();
    let mut status = spec.get("status").cloned().unwrap_or_else(|| json!({}));
    if let Some(status) = status.as_object_mut() {
        status.insert("seen".to_owned(), json!(seen));
    }
    if let Some(after) = spec.get("requeueAfter").and_then(Value::as_u64) {
        desired = desired.requeue_after(Duration::from_millis(after));
    }
    Ok(desired.status(&status))
}

boathook_sdk::hook!(config, reconcile = reconcile);

//! Attaches to ServiceAccounts and Namespaces what their annotations say, for tests of what the host makes of it. A binding reads
//! the annotation with its name, as JSON.
//!
//! | field | effect |
//! | --- | --- |
//! | `children` | the objects |
//! | `labels`, `annotations` | of the object itself |
//! | `noneWanted` | no children are wanted |
//! | `status` | it is returned, and refused |
//!
//! Two bindings decorate ServiceAccounts: `attach`, those with the label `attach`, and `more`. Each call logs the binding and the
//! names of the object and of the children that exist.

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use std::time::Duration;

fn config() -> Config {
    let decorating = |name: &str, kind: &str| {
        let retry = Retry::new().initial(Duration::from_millis(200)).max(Duration::from_millis(400));
        let binding = Reconcile::new(name, "v1", kind).decorates().owns("v1", "ConfigMap").retry(retry);
        binding.annotations(Annotations::new().exists(name))
    };
    let events = Permission::new().groups(["events.k8s.io"]).resources(["events"]).verbs(["create", "patch"]);
    Config::new()
        .reconcile(decorating("attach", "ServiceAccount").labels(Labels::new().exists("attach")))
        .reconcile(decorating("more", "ServiceAccount"))
        .reconcile(decorating("space", "Namespace"))
        .permission(events)
}

fn reconcile(parent: reconcile::Parent) -> Result<Desired> {
    let object: Value = parent.object()?;
    let text = object.pointer(&format!("/metadata/annotations/{}", parent.binding)).and_then(Value::as_str);
    let says: Value = boathook_sdk::serde_json::from_str(text.unwrap_or("{}")).unwrap_or_default();
    let seen: Vec<_> = parent.children().iter().map(|child| child.target.name.as_str()).collect();
    log::info!("{} {} {seen:?}", parent.binding, parent.name());
    let list = says.get("children").and_then(Value::as_array).cloned().unwrap_or_default();
    let none = says.get("noneWanted") == Some(&Value::Bool(true));
    let mut desired = if none { Desired::none() } else { Desired::new() };
    desired = desired.children(list);
    if says.get("labels").is_some() || says.get("annotations").is_some() {
        let metadata = json!({
            "name": parent.name(), "namespace": parent.namespace(), "labels": says.get("labels"),
            "annotations": says.get("annotations"),
        });
        let (version, kind) = (object.get("apiVersion"), object.get("kind"));
        desired = desired.child(&json!({"apiVersion": version, "kind": kind, "metadata": metadata}));
    }
    Ok(match says.get("status") {
        Some(status) => desired.status(status),
        None => desired,
    })
}

boathook_sdk::hook!(config, reconcile = reconcile);

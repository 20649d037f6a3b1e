//! Attaches a ConfigMap to each ServiceAccount with the annotation `detach`, and undoes something outside before the ServiceAccount
//! ends, or loses the annotation. It logs `finalize NAME` then, and is not done while the ServiceAccount has the annotation `busy`.

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use std::time::Duration;

fn config() -> Config {
    let retry = Retry::new().initial(Duration::from_millis(200)).max(Duration::from_millis(400));
    let accounts = Reconcile::new("accounts", "v1", "ServiceAccount").decorates().owns("v1", "ConfigMap").retry(retry);
    Config::new().reconcile(accounts.annotations(Annotations::new().exists("detach")))
}

fn child(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"of": name}})
}

fn reconcile(parent: reconcile::Parent) -> Result<Desired> {
    Ok(Desired::new().child(&child(parent.name())))
}

fn finalize(parent: reconcile::Parent) -> Result<Finalized> {
    log::info!("finalize {}", parent.name());
    let object: Value = parent.object()?;
    let busy = object.pointer("/metadata/annotations/busy").is_some();
    Ok(if busy { Finalized::not_yet().child(&child(parent.name())) } else { Finalized::done() })
}

boathook_sdk::hook!(config, reconcile = reconcile, finalize = finalize);

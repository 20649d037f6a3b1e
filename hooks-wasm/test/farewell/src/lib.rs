//! Returns what its parent's `spec` says, also at the parent's end, and what the parent refers to. For tests of what the host
//! makes of it.
//!
//! | field of `spec` | effect |
//! | --- | --- |
//! | `children`, `events` | the objects, and the Events |
//! | `secret`, `shared` | the names of a Secret in the parent's namespace and of a ConfigMap in `infra` that it refers to |
//! | `end.done`, `end.children`, `end.status`, `end.events` | what `finalize` answers; the default of `done` is true |
//! | `end.fail` | `finalize` fails, to be retried |
//!
//! The status has `related`: the names of the related objects with their entries. Each call logs `reconcile NAME` or
//! `finalize NAME`. Wishes with the label `unseen` are not selected.

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use std::time::Duration;

fn config() -> Config {
    let retry = Retry::new().initial(Duration::from_millis(200)).max(Duration::from_millis(400));
    let binding = Reconcile::new("wishes", "example.com/v1", "Wish")
        .owns("v1", "ConfigMap")
        .labels(Labels::new().missing("unseen"))
        .related(Related::by_name("secret", "v1", "Secret", ".spec.secret"))
        .related(Related::by_name("shared", "v1", "ConfigMap", ".spec.shared").namespace("infra"))
        .related(Related::by_labels("accounts", "v1", "ServiceAccount", Labels::new().eq("wish", "true")))
        .revisions(3)
        .retry(retry);
    let events = Permission::new().groups(["events.k8s.io"]).resources(["events"]).verbs(["create", "patch"]);
    Config::new().reconcile(binding).permission(events)
}

fn list(spec: &Value, name: &str) -> Vec<Value> {
    spec.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn events(spec: &Value) -> Vec<reconcile::Event> {
    let text = |event: &Value, name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let event = |event: &Value| reconcile::Event {
        warns: text(event, "type") == "Warning",
        reason: text(event, "reason"),
        message: text(event, "message"),
    };
    list(spec, "events").iter().map(event).collect()
}

fn reconcile(parent: reconcile::Parent) -> Result<Desired> {
    let spec: Value = parent.spec()?;
    log::info!("reconcile {}", parent.name());
    let mut related = Vec::new();
    for entry in ["secret", "shared", "accounts"] {
        for one in parent.related(entry) {
            let object: kube::Object = one.object()?;
            related.push(format!("{entry} {}/{}", object.namespace().unwrap_or_default(), object.name()));
        }
    }
    let children = list(&spec, "children");
    let desired = if children.is_empty() { Desired::none() } else { Desired::new().children(children) };
    Ok(events(&spec).into_iter().fold(desired, Desired::event).status(&json!({"related": related})))
}

fn finalize(parent: reconcile::Parent) -> Result<Finalized> {
    let spec: Value = parent.spec()?;
    log::info!("finalize {}", parent.name());
    let end = spec.get("end").cloned().unwrap_or_default();
    if end.get("fail") == Some(&Value::Bool(true)) {
        return Err(Error::retry("it is not over"));
    }
    let done = end.get("done") != Some(&Value::Bool(false));
    let finalized = if done { Finalized::done() } else { Finalized::not_yet() };
    let finalized = finalized.children(list(&end, "children"));
    let finalized = events(&end).into_iter().fold(finalized, Finalized::event);
    Ok(match end.get("status") {
        Some(status) => finalized.status(status),
        None => finalized,
    })
}

boathook_sdk::hook!(config, reconcile = reconcile, finalize = finalize);

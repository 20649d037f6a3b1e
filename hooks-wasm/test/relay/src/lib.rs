//! Passes objects on between hooks, and keeps a book of it: for tests of what caused what.
//!
//! Each ConfigMap labelled `test=relay` has a holder. Several of these hooks, under other names, see all of them, and the
//! one that is the holder writes the next holder of `data.order` to the object. With `data.left`, it stops when nothing is
//! left. With `data.serial`, each write has another content.
//!
//! Each write is a line of JSON: the object's name and uid, the resource version that the hook saw, and the one that it
//! made.

use boathook_sdk::kube::{Object, Operation};
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Map, Value, json};

fn config() -> Config {
    let maps = Kubernetes::new("maps")
        .api_version("v1")
        .kind("ConfigMap")
        .label("test", "relay")
        .jq_filter(".data")
        .on_synchronization(false);
    Config::new()
        .kubernetes(maps)
        .permission(Permission::new().resources(["configmaps"]).verbs(["get", "patch"]))
        .retry(Retry::new())
}

fn run(ctx: Context) -> Result<()> {
    for event in ctx.events("maps").filter(|event| !matches!(event.change, Change::Deleted)) {
        let data: Value = event.filter_result()?;
        let Some(data) = next(&data, &ctx.info.hook) else { continue };
        let written = Operation::merge_patch(event.target.clone(), &json!({"data": data})).ignore_missing().run()?;
        let Some(written) = written else { continue };
        let object: Object = boathook_sdk::serde_json::from_str(written.as_str()).map(Object)?;
        let line = json!({
            "relay": event.target.name, "uid": event.uid, "saw": event.resource_version,
            "made": object.resource_version(),
        });
        log::info!("{line}");
    }
    Ok(())
}

/// What the holder writes.
fn next(data: &Value, hook: &str) -> Option<Map<String, Value>> {
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    let number = |key: &str| text(key).and_then(|text| text.parse::<u64>().ok());
    if text("holder") != Some(hook) || number("left") == Some(0) {
        return None;
    }
    let order: Vec<&str> = text("order").unwrap_or_default().split_whitespace().collect();
    let place = order.iter().position(|name| *name == hook)?;
    let next = order.iter().cycle().nth(place + 1)?;
    let mut data = Map::from_iter([("holder".to_owned(), json!(next))]);
    if let Some(left) = number("left") {
        data.insert("left".to_owned(), json!((left - 1).to_string()));
    }
    if let Some(serial) = number("serial") {
        data.insert("serial".to_owned(), json!((serial + 1).to_string()));
    }
    Some(data)
}

boathook_sdk::hook!(config, run);

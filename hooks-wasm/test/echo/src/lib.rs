//! Logs every trigger as one line of JSON, with the snapshots it may open: for tests of what
//! hooks receive.
//!
//! It never writes to the cluster.
//!
//! A line is an object: `echo` (the binding), `run`, `attempt`, `type` (`Startup`, `Schedule`,
//! `Synchronization`, `Event` or `Group`), the fields of that type (`scheduledAt` in
//! milliseconds, `missed`; `change`, `target`, `uid`, `resourceVersion`, `object`,
//! `filterResult`, `previousFilterResult`; `group`), and `snapshots`, by name: a list of
//! `namespace`, `name`, `object`, `filterResult`.

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Map, Value, from_str, json};
use std::time::UNIX_EPOCH;

fn config() -> Config {
    let configmaps = Kubernetes::new("configmaps")
        .api_version("v1")
        .kind("ConfigMap")
        .label("echo", "true")
        .jq_filter(".data")
        .include_snapshots_from(["configmaps"]);
    Config::new()
        .on_startup(1)
        .schedule(Schedule::new("* * * * * *").name("tick").include_snapshots_from(["configmaps"]))
        .kubernetes(configmaps)
}

fn run(ctx: Context) -> Result<()> {
    for trigger in &ctx.triggers {
        let mut line = json!({"echo": trigger.binding, "run": ctx.info.run_id, "attempt": ctx.info.attempt});
        let more = [told(&trigger.cause)?, json!({"snapshots": snapshots_of(trigger)?})];
        for part in more {
            if let (Value::Object(line), Value::Object(part)) = (&mut line, part) {
                line.extend(part);
            }
        }
        log::info!("{line}");
    }
    Ok(())
}

fn told(cause: &Cause) -> Result<Value> {
    Ok(match cause {
        Cause::Startup => json!({"type": "Startup"}),
        Cause::Synchronization => json!({"type": "Synchronization"}),
        Cause::Group(name) => json!({"type": "Group", "group": name}),
        Cause::Schedule(tick) => {
            let at = tick.scheduled_at.duration_since(UNIX_EPOCH)?.as_millis();
            json!({"type": "Schedule", "scheduledAt": u64::try_from(at)?, "missed": tick.missed})
        }
        Cause::Event(event) => json!({
            "type": "Event",
            "change": format!("{:?}", event.change),
            "target": {
                "apiVersion": event.target.api_version,
                "kind": event.target.kind,
                "namespace": event.target.namespace,
                "name": event.target.name,
            },
            "uid": event.uid,
            "resourceVersion": event.resource_version,
            "object": parsed(event.object_json())?,
            "filterResult": parsed(event.filter_result_json())?,
            "previousFilterResult": parsed(event.previous_filter_result_json())?,
        }),
        other => json!({"type": format!("{other:?}")}),
    })
}

fn snapshots_of(trigger: &Trigger) -> Result<Map<String, Value>> {
    let mut all = Map::new();
    for name in &trigger.snapshots {
        let mut items = Vec::new();
        for item in &snapshots::open(name)? {
            items.push(json!({
                "namespace": item.namespace,
                "name": item.name,
                "object": parsed(item.object_json())?,
                "filterResult": parsed(item.filter_result_json())?,
            }));
        }
        all.insert(name.clone(), Value::Array(items));
    }
    Ok(all)
}

fn parsed(text: Option<&str>) -> Result<Value> {
    Ok(from_str(text.unwrap_or("null"))?)
}

boathook_sdk::hook!(config, run);

//! Logs every trigger, with a document that a test writes into the built component: for tests of
//! what any binding receives.
//!
//! It never writes to the cluster.
//!
//! The component holds a slot of 16 KiB that begins with `# document of the guest tell`. A test
//! puts its document there, filled up with spaces.
//!
//! Each trigger is a line `told JSON`, with `binding`, `run`, `attempt`, `type` (`Startup`,
//! `Schedule`, `Synchronization`, `Event`, `Group`), the fields of that type (`missed`; `change`,
//! `kind`, `namespace`, `name`, `uid`, `object`, `result`, `previous`,
//! `before`; `group`), and `snapshots`:
//! by binding a list of `namespace/name` with `result`.
//!
//! It fails as the filter result of an event asks for, and for any other trigger one in its
//! snapshots: `fail` is `retry`, `permanent`, or `retry-after` (100 ms); with `attempts`, a text,
//! only so many first attempts do.

mod slot;

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Map, Value, from_str, json};
use std::time::Duration;

fn config() -> String {
    slot::document()
}

fn run(ctx: Context) -> Result<()> {
    let mut wishes = Vec::new();
    for trigger in &ctx.triggers {
        let mut line = told(trigger, &mut wishes)?;
        line.insert("run".into(), json!(ctx.info.run_id));
        line.insert("attempt".into(), json!(ctx.info.attempt));
        log::info!("told {}", Value::Object(line));
    }
    wishes.iter().try_for_each(|wish| fulfil(wish, ctx.info.attempt))
}

fn told(trigger: &Trigger, wishes: &mut Vec<Value>) -> Result<Map<String, Value>> {
    let mut line = Map::new();
    let mut say = |key: &str, value: Value| line.insert(key.to_owned(), value);
    say("binding", json!(trigger.binding));
    let snapshots = snapshots_of(trigger)?;
    if trigger.event().is_none() {
        wishes.extend(snapshots.values().filter_map(Value::as_object).flat_map(|items| items.values().cloned()));
    }
    say("snapshots", Value::Object(snapshots));
    match &trigger.cause {
        Cause::Startup => say("type", json!("Startup")),
        Cause::Synchronization => say("type", json!("Synchronization")),
        Cause::Schedule(tick) => {
            say("missed", json!(tick.missed));
            say("type", json!("Schedule"))
        }
        Cause::Group(group) => {
            say("group", json!(group));
            say("type", json!("Group"))
        }
        Cause::Event(event) => {
            say("change", json!(format!("{:?}", event.change)));
            say("kind", json!(event.target.kind));
            say("namespace", json!(event.target.namespace));
            say("name", json!(event.target.name));
            say("uid", json!(event.uid));
            say("object", parsed(event.object_json())?);
            let result = parsed(event.filter_result_json())?;
            wishes.push(result.clone());
            say("result", result);
            say("previous", parsed(event.previous_filter_result_json())?);
            say("before", parsed(event.previous_object_json())?);
            say("type", json!("Event"))
        }
        other => say("type", json!(format!("{other:?}"))),
    };
    Ok(line)
}

fn snapshots_of(trigger: &Trigger) -> Result<Map<String, Value>> {
    let mut all = Map::new();
    for name in &trigger.snapshots {
        let mut items = Map::new();
        for item in &snapshots::open(name)? {
            let result = parsed(item.filter_result_json())?;
            items.insert(format!("{}/{}", item.namespace.unwrap_or_default(), item.name), result);
        }
        all.insert(name.clone(), Value::Object(items));
    }
    Ok(all)
}

fn fulfil(wish: &Value, attempt: u32) -> Result<()> {
    let text = |key: &str| wish.get(key).and_then(Value::as_str);
    let attempts: u32 = text("attempts").map_or(Ok(u32::MAX), str::parse)?;
    if attempt > attempts {
        return Ok(());
    }
    match text("fail") {
        Some("retry") => Err(Error::retry("asked to fail")),
        Some("permanent") => Err(Error::permanent("asked to fail for good")),
        Some("retry-after") => Err(Error::retry_after(Duration::from_millis(100), "asked to fail for a while")),
        _ => Ok(()),
    }
}

fn parsed(text: Option<&str>) -> Result<Value> {
    Ok(from_str(text.unwrap_or("null"))?)
}

boathook_sdk::hook!(config, run);

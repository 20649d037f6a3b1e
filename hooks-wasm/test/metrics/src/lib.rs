//! Reports the metrics that ConfigMaps with the label `metrics: report` ask for: for tests of what the
//! operator makes of them.
//!
//! `data.ops` is a list in JSON of `{"add"|"set"|"observe": NAME, "value", "labels", "group",
//! "buckets"}` and `{"expire": GROUP}`. What the host refuses is logged. With `data.fail`, the run
//! fails afterwards; with `data.print`, that text goes to stdout.
//!
//! It never writes to the cluster.

use boathook_sdk::metrics::{Group, Metric};
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, from_str};

fn config() -> Config {
    let orders = Kubernetes::new("orders")
        .api_version("v1")
        .kind("ConfigMap")
        .label("metrics", "report")
        .jq_filter(".data")
        .on_synchronization(false);
    Config::new().kubernetes(orders)
}

fn run(ctx: Context) -> Result<()> {
    for event in ctx.events("orders") {
        let data: Value = from_str(event.filter_result_json().unwrap_or("null"))?;
        if let Some(text) = data["print"].as_str() {
            println!("{text}");
        }
        let ops: Vec<Value> = from_str(data["ops"].as_str().unwrap_or("[]"))?;
        for op in &ops {
            match report(op) {
                Ok(()) => {}
                Err(error) => log::info!("refused: {error}"),
            }
        }
        log::info!("reported {} of {}", ops.len(), event.target.name);
        if data["fail"].is_string() && ctx.info.attempt == 1 {
            return Err(Error::retry("as the order wants it"));
        }
    }
    Ok(())
}

fn report(op: &Value) -> Result<()> {
    if let Some(group) = op["expire"].as_str() {
        return Ok(Group::new(group).expire()?);
    }
    let value = op["value"].as_f64().unwrap_or(f64::NAN);
    let buckets: Vec<f64> = op["buckets"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let metric = |name| {
        let labels = op["labels"].as_object().into_iter().flatten();
        let labels = labels.map(|(name, value)| (name, value.as_str().unwrap_or_default()));
        let metric = Metric::new(name).labels(labels);
        if let Some(group) = op["group"].as_str() { metric.group(group) } else { metric }
    };
    match (op["add"].as_str(), op["set"].as_str(), op["observe"].as_str()) {
        (Some(name), ..) => metric(name).add(value)?,
        (_, Some(name), _) => metric(name).set(value)?,
        (.., Some(name)) => metric(name).observe(value, &buckets)?,
        _ => return Err(Error::permanent("an operation without a metric")),
    }
    Ok(())
}

boathook_sdk::hook!(config, run);

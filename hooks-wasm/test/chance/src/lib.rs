//! Writes down what time it is, and what chance has to say: for tests of runs that are done again.
//!
//! It never does the same thing twice, unless clocks and random numbers do.
//!
//! For each ConfigMap with the label `chance=true` that is new it makes the ConfigMap `NAME-made`, whose data
//! are readings of the clocks, random numbers, and the order of a hash map; and, if `data.password` is `yes`,
//! the Secret `NAME-made` with a random password.

use boathook_sdk::kube::Operation;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use std::collections::HashSet;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

fn config() -> String {
    "
configVersion: v1
kubernetes:
- name: maps
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchLabels: {chance: 'true'}}
  executeHookOnEvent: [Added]
  executeHookOnSynchronization: false
  jqFilter: .data
permissions:
  kubernetes:
  - {apiGroups: [''], resources: [configmaps, secrets], verbs: [create]}
"
    .to_owned()
}

fn run(ctx: Context) -> Result<()> {
    for trigger in &ctx.triggers {
        let Cause::Event(event) = &trigger.cause else { continue };
        let asked: Value = event.filter_result()?;
        kube::batch([made(&event.target)?]).into_iter().find_map(Result::err).map_or(Ok(()), Err)?;
        if asked.get("password").and_then(Value::as_str) == Some("yes") {
            kube::batch([secret(&event.target)?]).into_iter().find_map(Result::err).map_or(Ok(()), Err)?;
        }
    }
    Ok(())
}

fn made(target: &ObjectRef) -> Result<Operation> {
    let began = Instant::now();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let order: HashSet<u32> = (0..20).collect();
    let order: Vec<_> = order.iter().map(u32::to_string).collect();
    let data = json!({
        "wall": wall.to_string(), "elapsed": began.elapsed().as_nanos().to_string(), "random": random()?, "order": order.join(","),
    });
    Ok(Operation::create_object(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(target), "data": data}),
    ))
}

fn secret(target: &ObjectRef) -> Result<Operation> {
    let data = json!({"password": random()?});
    Ok(Operation::create_object(
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata(target), "stringData": data}),
    ))
}

fn metadata(target: &ObjectRef) -> Value {
    json!({"namespace": target.namespace, "name": format!("{}-made", target.name)})
}

fn random() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::permanent(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

boathook_sdk::hook!(config, run);

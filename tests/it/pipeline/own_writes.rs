//! `ignoreOwnWrites`: whom the writes of a hook wake.

use serde_json::{Value, json};

use super::fixture::{Operator, Pipeline};

const DEEDS: [&str; 7] = ["patch", "apply", "jq", "replace", "nothing", "create", "delete"];

fn map(name: &str, data: Value) -> Value {
    let metadata = json!({"namespace": "default", "name": name, "labels": {"meddle": "true"}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// The events that one binding received, without its name; sorted.
fn told(operator: &Operator, binding: &str) -> Vec<String> {
    let lines = operator.log.said("meddle");
    let prefix = format!("{binding} ");
    let mut told: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect();
    told.sort();
    told
}

#[tokio::test]
async fn a_hook_is_woken_by_what_others_write() {
    let pipeline = Pipeline::start(["meddle"]).await;
    let operator = &pipeline.operator;
    for deed in DEEDS {
        pipeline.create(map(deed, json!({"deed": deed}))).await;
    }
    let mut all: Vec<_> = DEEDS.iter().map(|deed| format!("Added {deed}")).collect();
    all.extend(["patch", "apply", "jq", "replace"].map(|deed| format!("Modified {deed}")));
    all.extend(["Added create-made", "Deleted delete"].map(str::to_owned));
    all.sort();
    operator.until("all is heard", |operator| (told(operator, "hears") == all).then_some(())).await;
    // Somebody else's write after that: what the hook was not told by then, it never is.
    pipeline.apply(map("patch", json!({"more": "yes"}))).await;
    pipeline.delete(map("create-made", json!({}))).await;
    let mut others: Vec<_> = DEEDS.iter().map(|deed| format!("Added {deed}")).collect();
    others.extend(["Modified patch", "Deleted create-made"].map(str::to_owned));
    others.sort();
    let woken = |operator: &Operator| {
        let told = told(operator, "ignores");
        others.iter().all(|line| told.contains(line)).then_some(told)
    };
    assert_eq!(operator.until("others' writes are told", woken).await, others);
}

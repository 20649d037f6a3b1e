//! What a hook's own reads and writes answer: the guest `allkube` makes them and logs the answers.
//! It never repeats the whole table of the host's own tests.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::harness::{Test, eventually};
use crate::objects::{create_namespace, meta};

pub async fn answers_are_as_the_interface_says(test: Arc<Test>) {
    let cluster = &test.shared().await.cluster;
    let namespace = test.name("x");
    create_namespace(&cluster.client, &namespace, &[]).await;
    let operator = test.operator_with(&cluster.kubeconfig, &["test/allkube"]).await;
    operator.ready().await;
    let map = ConfigMap { metadata: meta("start", &[("test", "allkube")]), ..ConfigMap::default() };
    let maps = Api::<ConfigMap>::namespaced(cluster.client.clone(), &namespace);
    maps.create(&PostParams::default(), &map).await.expect("create a ConfigMap");

    let answers = eventually("the guest has made all calls", async || {
        let answers = answers(&operator.log());
        if answers.iter().any(|(call, _)| call == "end") { Ok(answers) } else { Err(format!("{answers:?}")) }
    })
    .await;
    let of = |call: &str| {
        let found = answers.iter().find(|(name, _)| name == call);
        &found.unwrap_or_else(|| panic!("no call {call:?}: {answers:?}")).1
    };
    for call in
        ["create", "get", "list", "update", "patch-json", "patch-merge", "patch-jq", "apply-creates", "get-scale"]
    {
        assert!(of(call).get("ok").is_some_and(|ok| !ok.is_null()), "{call}: {}", of(call));
    }
    assert_eq!(of("list-field")["ok"], json!(["a"]));
    // What is missing, and who does not mind.
    for call in ["get-missing", "update-missing", "patch-missing", "delete-missing"] {
        let error = &of(call)["error"];
        assert_eq!((&error["reason"], &error["code"]), (&json!("NotFound"), &json!(404)), "{call}");
    }
    for call in ["patch-ignore-missing", "delete-ignore-missing"] {
        assert_eq!(of(call).get("ok"), Some(&Value::Null), "{call}: {}", of(call));
    }
    for call in ["create-again", "update-stale", "delete-other-version"] {
        assert_eq!(of(call)["error"]["code"], 409, "{call}: {}", of(call));
    }
    operator.stop().await;
}

/// Each call of the guest with its answer.
fn answers(log: &[Value]) -> Vec<(String, Value)> {
    let of_hook = log.iter().filter(|line| line["target"] == "hook" && line["hook"] == "allkube");
    let parsed = of_hook.filter_map(|line| serde_json::from_str::<Value>(line["message"].as_str()?).ok());
    parsed.filter_map(|answer| Some((answer["call"].as_str()?.to_owned(), answer.clone()))).collect()
}

//! Hooks that write to each other's objects without end are named, and honest bursts are not.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};

use crate::harness::{Cluster, Operator, Test, eventually_within, workspace};
use crate::objects::meta;
use crate::reconcile::{HELLO, WISH, apply, apply_file, child, get, wish};

const HOOKS: [&str; 5] = ["relay-1", "relay-2", "relay-3", "relay-4", "relay-5"];
/// More writes of a loop than this are made before it is named only if something is wrong.
const WRITES: usize = 300;
const CHILDREN: usize = 1_000;
const DEPLOYMENTS: usize = 100;
const LONG: Duration = Duration::from_secs(300);

fn messages(operator: &Operator) -> Vec<String> {
    operator.log().iter().filter_map(|line| line["message"].as_str().map(str::to_owned)).collect()
}

/// The lines that name a loop or a fight.
fn named(operator: &Operator) -> Vec<String> {
    let mut named = messages(operator);
    named.retain(|message| message.starts_with("a loop: ") || message.starts_with("a fight: "));
    named
}

/// With and without a content that is always another one.
pub async fn a_cycle_is_named_with_its_hooks(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let api = Api::<ConfigMap>::namespaced(cluster.client.clone(), "default");
    for (hooks, serial) in [(&HOOKS[..2], false), (&HOOKS[..3], true), (&HOOKS[..5], false), (&HOOKS[..5], true)] {
        let name = format!("endless-{}-{serial}", hooks.len());
        let place = test.dir().join(&name);
        std::fs::create_dir_all(&place).expect("create a directory");
        let operator = stopping(&place, &cluster.kubeconfig, hooks).await;
        let mut data = vec![("holder", hooks[0].to_owned()), ("order", hooks.join(" "))];
        data.extend(serial.then(|| ("serial", "0".to_owned())));
        let map = ConfigMap {
            metadata: meta(&name, &[("test", "relay")]),
            data: Some(data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            ..ConfigMap::default()
        };
        api.create(&PostParams::default(), &map).await.unwrap_or_else(|error| panic!("create {name}: {error}"));
        let line = operator.logs("a loop is named", |line| starts(line, "a loop: ")).await;
        let text = line["message"].as_str().unwrap_or_default();
        for hook in hooks {
            assert!(text.contains(&format!("hook {hook} writes ConfigMap default/{name} (.data.holder")), "{text}");
        }
        let log = operator.log();
        let before = log.iter().take_while(|line| !starts(line, "a loop: "));
        let writes = before.filter(|line| starts(line, r#"{"relay":"#) || starts(line, r#"{"made":"#)).count();
        assert!((1..=WRITES).contains(&writes), "{name}: it is named after {writes} writes");
        operator.stop().await;
        api.delete(&name, &Default::default()).await.unwrap_or_else(|error| panic!("delete {name}: {error}"));
    }
}

async fn stopping(place: &Path, kubeconfig: &Path, hooks: &[&str]) -> Operator {
    let hooks: Vec<String> = hooks.iter().map(|name| format!("{name}=test/relay")).collect();
    let hooks: Vec<&str> = hooks.iter().map(String::as_str).collect();
    let operator = Operator::start_with(place, kubeconfig, &hooks, &["--loops", "stop"]).await;
    operator.ready().await;
    operator
}

fn starts(line: &Value, text: &str) -> bool {
    line["message"].as_str().is_some_and(|message| message.starts_with(text))
}

/// A start with a thousand children, and a rolling update of a hundred Deployments.
pub async fn honest_bursts_are_no_loops(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let files = [format!("{HELLO}/crd.yaml"), format!("{WISH}/wishes.yaml"), format!("{WISH}/clusterwishes.yaml")];
    for file in files {
        apply_file(&cluster, &workspace().join(file)).await;
    }
    let children: Vec<Value> = (0..CHILDREN).map(|number| child(&format!("c-{number}"), "0", "1")).collect();
    apply(&test, &cluster, &wish("many", &children)).await;
    apply_apps(&test, &cluster, "nginxinc/nginx-unprivileged:1.29").await;
    let operator = test.operator_with(&cluster.kubeconfig, &["hello-app", "test/wish"]).await;
    operator.ready_within(LONG).await;
    let maps = Api::<ConfigMap>::namespaced(cluster.client.clone(), "default");
    eventually_within(LONG, "all children are there", async || {
        let found = maps.list_metadata(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let made =
            found.items.iter().filter(|map| map.metadata.name.as_deref().is_some_and(|name| name.starts_with("c-")));
        let made = made.count();
        if made == CHILDREN { Ok(()) } else { Err(format!("{made} of them")) }
    })
    .await;
    rolled_out(&cluster, "nginxinc/nginx-unprivileged:1.29").await;
    apply_apps(&test, &cluster, "nginxinc/nginx-unprivileged:1.30").await;
    rolled_out(&cluster, "nginxinc/nginx-unprivileged:1.30").await;
    assert_eq!(named(&operator), Vec::<String>::new());
    let (_, page) = operator.get("/metrics").await.expect("metrics");
    assert!(page.contains("boathook_loops 0\n"), "no loop is counted");
    operator.stop().await;
}

async fn apply_apps(test: &Test, cluster: &Cluster, image: &str) {
    let app = |number: usize| {
        json!({
            "apiVersion": "example.com/v1alpha1", "kind": "HelloApp",
            "metadata": {"name": format!("app-{number}"), "namespace": "default"}, "spec": {"image": image, "size": 1},
        })
    };
    let apps: Vec<String> = (0..DEPLOYMENTS).map(|number| app(number).to_string()).collect();
    let file = test.dir().join("apps.yaml");
    // What begins with a brace is one object to kubectl.
    std::fs::write(&file, format!("---\n{}", apps.join("\n---\n"))).expect("write a manifest");
    apply_file(cluster, &file).await;
}

/// Waits until each Deployment has the image, and its parent says so.
async fn rolled_out(cluster: &Cluster, image: &str) {
    eventually_within(LONG, &format!("all Deployments have {image}"), async || {
        let found = get(cluster, "deployments,helloapps", "--all-namespaces").await?;
        let none = Vec::new();
        let items = found["items"].as_array().unwrap_or(&none);
        let has = |item: &&Value| item.pointer("/spec/template/spec/containers/0/image") == Some(&json!(image));
        let deployments = items.iter().filter(|item| item["kind"] == "Deployment").filter(has).count();
        let seen = |item: &&Value| item["status"]["observedGeneration"] == item["metadata"]["generation"];
        let parents = items.iter().filter(|item| item["kind"] == "HelloApp").filter(seen).count();
        if (deployments, parents) == (DEPLOYMENTS, DEPLOYMENTS) {
            Ok(())
        } else {
            Err(format!("{deployments} Deployments, {parents} parents"))
        }
    })
    .await;
}

//! Hooks that answer the cluster's questions while they are written.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use kube::Error;
use serde_json::{Value, json};

use super::{Dev, command, put};
use crate::support::{
    cluster::{Admin, AdminError, TestCluster},
    guests::guest,
    until,
};

const VALIDATE: &str = "validate.reviewer.test";
const MUTATE: &str = "mutate.reviewer.test";

/// The reviewer does with it what these say: binding and key, value.
fn config_map(name: &str, wishes: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<_, _> =
        wishes.iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
    let metadata = json!({"namespace": "default", "name": name, "annotations": annotations});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

fn refusal(error: AdminError) -> String {
    match error {
        AdminError::Api(Error::Api(status)) => status.message,
        error => panic!("{error}"),
    }
}

/// Both of the hook's configurations are in the cluster.
async fn registered(dev: &mut Dev) {
    for kind in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let what = format!("{kind} boathook-reviewer");
        dev.next("log", |line| (line["message"] == "registered" && line["what"] == what).then_some(())).await;
    }
}

/// The next run that answered for this object.
async fn answered(dev: &mut Dev, binding: &str, object: &str) -> Value {
    let object = format!("ConfigMap default/{object}");
    dev.next("run", |run| {
        let fits = run["triggers"][0]["binding"] == binding && run["answer"]["object"] == object;
        fits.then(|| run.clone())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cluster_asks_the_hook_that_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let (component, bytes) = (folder.path().join("reviewer.wasm"), guest("reviewer"));
    put(&component, &bytes);
    let mut dev = Dev::start(command(folder.path(), ["reviewer.wasm", "--save", "state.yaml"]));
    let admin = dev.admin().await;
    registered(&mut dev).await;

    let deny = format!("{VALIDATE}/deny");
    let denied = admin.create(&config_map("denied", &[(&deny, "not here")])).await.unwrap_err();
    assert!(refusal(denied).ends_with("denied the request: not here"));
    let run = answered(&mut dev, VALIDATE, "denied").await;
    assert_eq!((&run["triggers"][0]["cause"], &run["outcome"]["result"]), (&json!("Validating"), &json!("succeeded")));
    let answer = ["decision", "operation", "message"].map(|key| run["answer"][key].as_str().unwrap());
    assert_eq!(answer, ["denied", "CREATE", "not here"]);

    let label = format!("{MUTATE}/label");
    admin.create(&config_map("mutated", &[(&label, "yes")])).await.unwrap();
    let run = answered(&mut dev, MUTATE, "mutated").await;
    assert_eq!(run["answer"]["decision"], "mutated");
    let effect = &run["effects"][0];
    assert_eq!((&effect["verb"], &effect["changes"][0]["path"]), (&json!("mutate"), &json!("metadata.labels")));

    keeps_answering(&mut dev, &admin, &component, &bytes).await;

    let ended = dev.ended().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let state = fs::read_to_string(folder.path().join("state.yaml")).unwrap();
    assert!(state.contains("name: mutated") && !state.contains("boathook-reviewer"), "nobody would answer: {state}");
}

/// A client that writes to the cluster while a new version takes over does not notice it.
async fn keeps_answering(dev: &mut Dev, admin: &Admin, component: &std::path::Path, bytes: &[u8]) {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writing = {
        let (stop, count, admin) = (stop.clone(), count.clone(), Admin::new(admin.client.clone()));
        tokio::spawn(async move {
            let sleep = format!("{VALIDATE}/sleep");
            while !stop.load(Ordering::Relaxed) {
                let name = format!("steady-{}", count.fetch_add(1, Ordering::Relaxed));
                admin.create(&config_map(&name, &[(&sleep, "5")])).await.map_err(refusal)?;
            }
            Ok::<_, String>(())
        })
    };
    for version in 1..=3 {
        let before = count.load(Ordering::Relaxed);
        until("requests while nothing changes", async || (count.load(Ordering::Relaxed) > before + 2).then_some(()))
            .await;
        // A custom section makes it another component.
        put(component, &[bytes, &[0, 2, 1, b'a' + version]].concat());
        let swapped = dev.line("swapped").await;
        assert_ne!(swapped["from"], swapped["to"]);
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(writing.await.unwrap(), Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_registers_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    put(&folder.path().join("reviewer.wasm"), &guest("reviewer"));
    let mut dev = Dev::start(command(folder.path(), ["reviewer.wasm", "--plan"]));
    let admin = dev.admin().await;
    let unasked = dev.line("unasked").await;
    assert!(unasked["reason"].as_str().unwrap().contains("a plan registers none"), "{unasked}");
    let deny = format!("{VALIDATE}/deny");
    admin.create(&config_map("let-through", &[(&deny, "no")])).await.unwrap();
    assert_eq!(dev.ended().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_nobody_says_how_to_reach_us_from_is_not_reported_the_hook() {
    let (folder, cluster) = (tempfile::tempdir().unwrap(), TestCluster::start().await);
    put(&folder.path().join("reviewer.wasm"), &guest("reviewer"));
    fs::write(folder.path().join("theirs"), cluster.cluster.kubeconfig()).unwrap();
    let mut dev = Dev::start(command(folder.path(), ["reviewer.wasm", "--kubeconfig", "theirs"]));
    let unasked = dev.line("unasked").await;
    assert!(unasked["reason"].as_str().unwrap().contains("--webhook-url"), "{unasked}");
    let deny = format!("{VALIDATE}/deny");
    cluster.admin.create(&config_map("let-through", &[(&deny, "no")])).await.unwrap();
    assert_eq!(dev.ended().await.code, Some(0));
}

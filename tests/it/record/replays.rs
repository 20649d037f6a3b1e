//! Recorded runs again: the same component does the same, another one is found out.

use std::path::Path;

use boathook_core::model::Operation;
use serde_json::{Value, json};

use super::{Recorded, altered, labelled, names, of_hook, records, replay, replayed};
use crate::{
    pipeline::{
        fixture::{config_map, guests},
        written::{Deed, hook},
    },
    support::guests::guest,
};

const HOOKS: [&str; 4] = ["registry-secret", "internet-access", "node-taint", "pods-monitor"];
const RUNS: usize = 1000;

/// Something for each of the example hooks to do.
async fn happen(recorded: &Recorded, number: usize) {
    let pipeline = &recorded.pipeline;
    let name = format!("n-{number}");
    if number < 120 {
        pipeline.create(labelled("Namespace", &name, json!({"internet-access.boathook.dev/allow": "true"}))).await;
    }
    pipeline.create(labelled("Node", &name, json!({"taint.boathook.dev/gpu": "NoSchedule"}))).await;
    let metadata = json!({"namespace": "default", "name": name});
    let spec = json!({"containers": [{"name": "web", "image": "web"}]});
    pipeline.create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})).await;
}

fn credentials() -> Value {
    let metadata = json!({"namespace": "default", "name": "registry-credentials"});
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": "eyJhdXRocyI6eyJyLmV4YW1wbGUiOnsiYXV0aCI6ImRYTmxjanB3WVhOeiJ9fX0="},
    })
}

#[tokio::test]
async fn a_thousand_runs_of_the_examples_are_the_same_and_altered_writes_are_found() {
    let recorded = Recorded::start(&guests(HOOKS), |_| ()).await;
    recorded.pipeline.create(credentials()).await;
    let mut number = 0;
    while number % 20 != 0 || names(&recorded.path()).len() < RUNS {
        happen(&recorded, number).await;
        number += 1;
        let idle = |operator: &crate::pipeline::fixture::Operator| {
            operator
                .app
                .queue()
                .stats()
                .queues
                .iter()
                .all(|queue| queue.length == 0 && queue.running == 0)
                .then_some(())
        };
        recorded.operator().until("the queues are idle", idle).await;
    }
    let (_records, path) = recorded.stop().await;
    let directory = path.to_str().unwrap();
    for hook in HOOKS {
        assert!(of_hook(&path, hook).len() > 20, "{hook}: {}", of_hook(&path, hook).len());
    }

    let ended = replay(&[directory]).await;
    let count = names(&path).len();
    assert!(count >= RUNS);
    let summary = format!("{count} runs: {count} same, 0 differ");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), summary.as_str()), "{}", ended.stderr);

    let component =
        altered(&guest("registry-secret"), "registry-secret.boathook.dev/copy", "registry-secret.boathook.dev/kopy");
    every_altered_write_is_found(&path, &component).await;
    // Which texts a component has changes nothing as long as it does the same.
    let component = altered(&guest("node-taint"), "names no taint effect", "NAMES NO TAINT EFFECT");
    let file = path.join("changed.wasm");
    std::fs::write(&file, component).unwrap();
    let (code, told) = replayed(&[directory, "--hook", "node-taint", "--with", file.to_str().unwrap()]).await;
    assert_eq!((code, &told["differ"]), (Some(0), &json!(0)));
}

async fn every_altered_write_is_found(path: &Path, component: &[u8]) {
    let file = path.join("altered.wasm");
    std::fs::write(&file, component).unwrap();
    let arguments = [path.to_str().unwrap(), "--hook", "registry-secret", "--with", file.to_str().unwrap()];
    let (code, told) = replayed(&arguments).await;
    assert_eq!(code, Some(1));
    let runs = told["runs"].as_array().unwrap();
    let mut writes = 0;
    for record in records(path).iter().filter(|record| record.header.hook == "registry-secret") {
        let operations = record.calls.iter().flat_map(|call| call.request.operations());
        let creates = operations.filter(|operation| matches!(operation, Operation::Create(_))).count();
        let run = runs.iter().find(|run| run["run"] == record.header.run).unwrap();
        let differences = run["differences"].as_array().unwrap();
        assert_eq!(differences.len(), creates, "{run:#}");
        for difference in differences {
            let paths: Vec<_> = difference["fields"].as_array().unwrap().iter().map(|field| &field["path"]).collect();
            let label = |word: &str| format!("/create/object/metadata/labels/registry-secret.boathook.dev~1{word}");
            assert_eq!(paths, [&label("copy"), &label("kopy")]);
        }
        writes += creates;
    }
    assert!(writes >= 100, "{writes}");
}

#[tokio::test]
async fn time_and_chance_are_the_same_again() {
    let recorded = Recorded::start(&guests(["chance"]), |_| ()).await;
    for name in ["a", "b", "c"] {
        recorded.pipeline.create(config_map(name, ("chance", "true"), json!({"password": "no"}))).await;
    }
    recorded.operator().told("run succeeded", "chance", 1).await;
    recorded.pipeline.create(config_map("d", ("chance", "true"), json!({"password": "yes"}))).await;
    let made = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "d-made"}});
    crate::support::until("the secret is made", async || recorded.pipeline.get(made.clone()).await).await;
    let (_records, path) = recorded.stop().await;
    let directory = path.to_str().unwrap();
    let withheld: Vec<_> = records(&path).iter().map(|record| record.ambient.random.is_none()).collect();
    assert!(withheld.contains(&true) && withheld.contains(&false), "{withheld:?}");
    // What a run that made a password does with other random numbers is not known; others are held to theirs.
    let plain: Vec<_> = names(&path).into_iter().zip(withheld).filter(|(_, withheld)| !withheld).collect();
    for (name, _) in plain {
        let ended = replay(&[path.join(name.to_string()).to_str().unwrap()]).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "1 run: 1 same, 0 differ"), "{}", ended.stderr);
    }
    // Another time is another write.
    let record = names(&path).first().unwrap().to_string();
    let mut other = boathook_operator::record::read(&path.join(&record)).unwrap();
    other.ambient.wall.iter_mut().for_each(|reading| *reading += 1);
    std::fs::write(path.join(&record), boathook_operator::record::encode(&other).unwrap()).unwrap();
    let ended = replay(&[path.join(&record).to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("/operations/0/create/object/data/wall"), "{}", ended.stdout);
    // The recorded run got no answer to this call, so a replay cannot compare anything after it.
    other.ambient.wall.iter_mut().for_each(|reading| *reading -= 1);
    other.calls[0].answer = None;
    other.calls.truncate(1);
    std::fs::write(path.join(&record), boathook_operator::record::encode(&other).unwrap()).unwrap();
    assert_eq!(replay(&[path.join(&record).to_str().unwrap()]).await.code, Some(0));
    let (_, told) = replayed(&[directory]).await;
    assert!(told["runs"].as_array().unwrap().iter().all(|run| run["result"] != "unusable"), "{told:#}");
}

#[tokio::test]
async fn runs_that_failed_fail_again() {
    let spins = "configVersion: v1\nonStartup: 1\nlimits: {time: 100ms}\nretry: {initial: 1h, max: 1h}\n";
    let hooks = [("spins", hook(spins, &Deed::Spins)), ("fail", guest("fail"))];
    let (pipeline, records) =
        Recorded::begin(&hooks, |config| config.which = boathook_operator::record::Which::Failed).await;
    let recorded = Recorded { pipeline, records };
    recorded.until("spins", 1).await;
    // One after the other: what waits for a retry takes its neighbours along.
    for mode in ["permanent", "panic"] {
        recorded.pipeline.create(config_map(mode, ("test", "fail"), json!({"mode": mode, "attempts": "1"}))).await;
        recorded.operator().said("fail", &format!("attempt 1: {mode} {mode}")).await;
    }
    recorded.until("fail", 2).await;
    let (_records, path) = recorded.stop().await;
    assert!(names(&path).iter().all(|name| name.failed));
    let (code, told) = replayed(&[path.to_str().unwrap()]).await;
    assert_eq!((code, &told["same"]), (Some(0), &json!(names(&path).len())), "{told:#}");
    // The replay reports a run that succeeds now.
    let says = hook("configVersion: v1\nonStartup: 1\n", &Deed::Says("done"));
    let file = path.join("says.wasm");
    std::fs::write(&file, says).unwrap();
    let ended = replay(&[path.to_str().unwrap(), "--hook", "spins", "--with", file.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stdout.contains("it ended otherwise\n    - limit-time: ") && ended.stdout.contains("\n    + success")
    );
}

/// What a new version may not do is what it asks for no more, and the other way round.
#[tokio::test]
async fn the_permissions_of_the_other_component_decide() {
    let (may, may_not) = (guest("chance"), altered(&guest("chance"), "verbs: [create]", "verbs: [update]"));
    for (recorded_with, tried, refused) in [(&may, &may_not, "now"), (&may_not, &may, "recorded")] {
        let recorded = Recorded::start(&[("chance", recorded_with.clone())], |_| ()).await;
        recorded.pipeline.create(config_map("a", ("chance", "true"), json!({"password": "no"}))).await;
        recorded.until("chance", 1).await;
        let (_records, path) = recorded.stop().await;
        let file = path.join("tried.wasm");
        std::fs::write(&file, tried).unwrap();
        let arguments = [path.to_str().unwrap(), "--with", file.to_str().unwrap()];
        let (code, told) = replayed(&arguments).await;
        assert_eq!((code, &told["same"]), (Some(1), &json!(0)), "{told:#}");
        let differences = told["runs"][0]["differences"].as_array().unwrap();
        let of = |kind: &str| differences.iter().find(|difference| difference["difference"] == kind).unwrap();
        let permission = of("permission");
        assert_eq!(
            (&permission["object"], &permission["verb"]),
            (&json!("v1 ConfigMap default/a-made"), &json!("create"))
        );
        let said = permission[refused].as_str().unwrap();
        assert!(said.contains("may not create configmaps") && said.contains("permissions.kubernetes"), "{said}");
        let outcome = of("outcome");
        let other = if refused == "now" { "recorded" } else { "now" };
        assert_eq!((&permission[other], &outcome[other]), (&Value::Null, &json!("success")));
        assert!(replay(&arguments).await.stdout.contains("is ruled otherwise by the hook's permissions"));
    }
}

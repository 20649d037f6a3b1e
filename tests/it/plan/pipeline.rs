//! An operator that only plans, with real hooks.

use serde_json::{Value, json};

use super::{Seen, revision};
use crate::{
    pipeline::fixture::{Operator, Pipeline, config_map, guests},
    support::cluster::TestCluster,
};

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

#[tokio::test]
async fn what_would_be_written_is_shown_and_nothing_is() {
    let cluster = TestCluster::start().await;
    let metadata = json!({"namespace": "default", "name": "registry-credentials"});
    let data = json!({"password": "aHVudGVyMg=="});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data});
    cluster.admin.create(&secret).await.unwrap();
    cluster.admin.create(&namespace("team-a")).await.unwrap();
    let before = revision(&cluster).await;
    let (seen, sink) = Seen::shared();
    let pipeline = Pipeline::on(cluster, &guests(["registry-secret"]), |options| {
        options.plan = true;
        options.effects = Some(sink);
    })
    .await;
    let created = |name: &'static str| {
        let seen = seen.clone();
        move |_: &Operator| {
            let line = format!("+ create v1 Secret {name}/registry-credentials (dry run)\n");
            seen.shown().into_iter().find(|shown| shown.starts_with(&line))
        }
    };
    let shown = pipeline.operator.until("the copy is planned", created("team-a")).await;
    assert!(shown.contains("  +   password: (sensitive)") && !shown.contains("aHVudGVyMg"), "{shown}");
    pipeline.operator.ready().await;
    assert_eq!(revision(&pipeline.cluster).await, before, "nothing was written");

    pipeline.create(namespace("team-b")).await;
    let after = revision(&pipeline.cluster).await;
    pipeline.operator.until("the next copy is planned", created("team-b")).await;
    pipeline.operator.told("run succeeded", "registry-secret", 2).await;
    assert_eq!(revision(&pipeline.cluster).await, after, "only the admin wrote");
    let audits = pipeline.operator.log.lines().into_iter().filter(|line| line["target"] == "audit");
    assert!(audits.clone().count() > 0 && audits.clone().all(|line| line["dry_run"] == true));
}

#[tokio::test]
async fn no_call_of_any_kind_writes_in_a_plan() {
    let (seen, sink) = Seen::shared();
    let pipeline = Pipeline::on(TestCluster::start().await, &guests(["allkube"]), |options| {
        options.plan = true;
        options.effects = Some(sink);
    })
    .await;
    pipeline.operator.ready().await;
    let a = config_map("a", ("made-by", "allkube"), json!({"key": "0"}));
    pipeline.create(a).await;
    pipeline.create(config_map("start", ("test", "allkube"), json!({}))).await;
    let before = revision(&pipeline.cluster).await;
    pipeline.operator.told("run succeeded", "allkube", 1).await;
    assert_eq!(revision(&pipeline.cluster).await, before);

    let shown = seen.shown();
    let is_shown = |text: &str| assert!(shown.iter().any(|shown| shown.contains(text)), "no {text:?} in {shown:#?}");
    is_shown("! create v1 ConfigMap default/a (dry run): already-exists: ");
    is_shown("(it exists, and is kept");
    is_shown("~ update v1 ConfigMap default/a (dry run)\n  ~ data.key: '0' -> '4'");
    is_shown("+ create v1 ConfigMap default/gen-");
    is_shown("  + data.merge: '1'");
    is_shown("  + data.jq: '1'");
    is_shown("  update v1 ConfigMap default/a (dry run): no change");
    is_shown("- delete v1 ConfigMap default/a (dry run)\n");
    is_shown("+ create apps/v1 Deployment default/web (dry run)");
    is_shown("which the plan only pretends to create");
    is_shown("+ create events.k8s.io/v1 Event default/start.");
    is_shown("! delete v1 Secret default/any (dry run): forbidden-by-grant: ");
    assert!(seen.all().iter().all(|effect| effect.dry_run), "{shown:#?}");
    let answers = pipeline.operator.log.said_json("allkube");
    let patched = answers.iter().find(|line| line["call"] == "patch-status").unwrap();
    let message = patched["error"]["message"].as_str().unwrap();
    assert!(message.contains("depends on apps/v1 Deployment default/web, which the plan only"), "{message}");
}

#[tokio::test]
async fn a_planned_run_that_fails_is_not_tried_again() {
    let pipeline = Pipeline::on(TestCluster::start().await, &guests(["fail"]), |options| options.plan = true).await;
    pipeline.operator.ready().await;
    pipeline.create(config_map("x", ("test", "fail"), json!({"mode": "retry"}))).await;
    let gone = |operator: &Operator| operator.app.queue().dead_letters().pop();
    let letter = pipeline.operator.until("the run is given up", gone).await;
    assert!(letter.failure.message.ends_with("(a plan tries no run again)"), "{letter:?}");
    assert_eq!(pipeline.operator.told("run failed", "fail", 1).await.len(), 1);
    let dump = pipeline.operator.app.queue().stats();
    assert!(dump.queues.iter().all(|queue| queue.retrying == 0), "{dump:?}");
}

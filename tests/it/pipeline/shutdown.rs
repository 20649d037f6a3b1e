//! How an operator ends: with and without runs at work, with and without an API server.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_cluster::Options;
use boathook_core::{
    model::{BindingName, Cause, HookName, QueueName, RetryPolicy, Tick, Trigger},
    queue::{Drained, Pushed},
};
use serde_json::json;

use super::{
    fixture::{Operator, Pipeline, config_map, guests, missing},
    written::{Deed, hook},
};
use crate::support::{
    cluster::{TestCluster, client},
    until,
};

const ON_START: &str = r#"{configVersion: v1, onStartup: 1, limits: {time: 120s, hostCalls: 1000000},
  permissions: {kubernetes: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}}"#;

fn tick(name: &str) -> Trigger {
    let hook = HookName::new(name).unwrap();
    Trigger {
        queue: QueueName::Own(hook.clone()),
        hook,
        binding: BindingName::new("tick"),
        cause: Cause::Schedule(Tick { scheduled_at: 0, missed: 0 }),
        group: None,
        snapshots: Arc::default(),
        allow_failure: false,
        retry: RetryPolicy::default(),
        debounce: std::time::Duration::ZERO,
        created: Instant::now(),
    }
}

fn running(operator: &Operator) -> Option<()> {
    (operator.app.queue().stats().running == 1).then_some(())
}

#[tokio::test]
async fn a_run_may_end_within_the_grace_period() {
    let hooks = [("waits", hook(ON_START, &Deed::WaitsFor("gate")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.grace_period = Duration::from_secs(60);
    })
    .await;
    pipeline.operator.said("waits", "begin").await;
    let Pipeline { cluster, operator } = pipeline;
    let queue = operator.app.queue();
    let open_the_gate = async {
        until("the shutdown has begun", async || (queue.push(tick("waits")) == Pushed::Refused).then_some(())).await;
        cluster.admin.create(&config_map("gate", ("is", "open"), json!({}))).await.unwrap();
    };
    let ((drained, log), ()) = tokio::join!(operator.shutdown(), open_the_gate);
    assert_eq!(drained, Drained { finished: 1, interrupted: 0 });
    assert_eq!(log.said("waits"), ["begin", "end"]);
    assert_eq!(log.told("run succeeded").len(), 1);
}

#[tokio::test]
async fn a_spinning_run_is_interrupted_after_the_grace_period() {
    let hooks = [("spins", hook(ON_START, &Deed::Spins)), ("good", hook(ON_START, &Deed::Says("good")))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.grace_period = Duration::from_millis(200);
    })
    .await;
    pipeline.operator.said("good", "good").await;
    pipeline.operator.until("the hook spins", running).await;
    let started = Instant::now();
    let (drained, log) = pipeline.operator.shutdown().await;
    assert_eq!(drained, Drained { finished: 0, interrupted: 1 });
    assert!(started.elapsed() >= Duration::from_millis(200));
    assert_eq!(log.told("run interrupted")[0]["hook"], "spins");
}

#[tokio::test]
async fn an_api_server_that_is_not_there_is_waited_for() {
    let address = free_address();
    let operator = Operator::start(client(&format!("http://{address}")), &guests(["echo"]), |_| ()).await;
    let pending = |operator: &Operator| {
        let missing = missing(&operator.app.readiness(), "echo");
        missing.contains("binding configmaps is pending: the API server did not list its kinds").then_some(())
    };
    operator.until("readiness says why", pending).await;
    let warned = operator.told("API server unreachable: retrying until it answers", "echo", 1).await;
    assert_eq!((&warned[0]["level"], &warned[0]["binding"]), (&json!("WARN"), &json!("configmaps")));
    assert!(operator.app.readiness().started);
    let cluster = TestCluster::with(Options::default().listen(address)).await;
    cluster.admin.create(&config_map("a", ("echo", "true"), json!({}))).await.unwrap();
    operator.ready().await;
}

#[tokio::test]
async fn an_operator_without_an_api_server_ends_at_once() {
    let unreachable = client(&format!("http://{}", free_address()));
    let operator = Operator::start(unreachable, &guests(["noop"]), |options| {
        // It would be reached if anything waited for it.
        options.grace_period = Duration::from_secs(600);
    })
    .await;
    operator.told("run succeeded", "noop", 1).await;
    let ended = tokio::time::timeout(Duration::from_secs(60), operator.shutdown()).await;
    assert_eq!(ended.expect("it ends").0, Drained::default());
}

/// Free a moment ago, and most likely still.
fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

//! Two operators of one Lease: one works, and the other takes over when the first is gone, however it goes. Nothing is
//! lost in the meantime, and they never work at the same time.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::harness::{Operator, Test, eventually};
use crate::ledger::{self, HOOK, NAME, Objects, settled, told};

/// Nobody follows within a test unless the Lease is given back.
pub const LONG: &str = "5m";
const SHORT: &str = "3s";
const SOME: usize = 6;

async fn replica(test: &Test, kubeconfig: &Path, lease: &str) -> Operator {
    let flags = ["--leader-elect", "--lease-duration", lease];
    Operator::start_with(test.dir(), kubeconfig, &[HOOK], &flags).await
}

/// The first works, and the second waits.
pub async fn two(test: &Test, kubeconfig: &Path, lease: &str) -> (Operator, Operator) {
    let first = replica(test, kubeconfig, lease).await;
    is(&first, "leader").await;
    let second = replica(test, kubeconfig, lease).await;
    is(&second, "standby").await;
    (first, second)
}

pub async fn is(operator: &Operator, role: &str) {
    eventually(&format!("it is ready, and {role}"), async || {
        let (code, body) = operator.get("/readyz").await?;
        let is = code == 200 && body.lines().any(|line| line.starts_with(&format!("{role}: ")));
        if is { Ok(()) } else { Err(body) }
    })
    .await;
}

/// When a replica worked: lines of runs and of their writes, in their order.
fn work(log: &[Value]) -> Vec<&Value> {
    let is_work = |line: &&Value| line["target"] == "audit" || line["target"] == "hook";
    log.iter().filter(is_work).collect()
}

fn time(line: &Value) -> &str {
    line["timestamp"].as_str().expect("a line has a time")
}

/// All that one did comes before all that the other did.
fn one_after_the_other(first: &[Value], second: &[Value]) {
    let (first, second) = (work(first), work(second));
    let (last, next) = (first.last().expect("the first worked"), second.first().expect("the second worked"));
    // Both clocks are this machine's, and both texts have the same length.
    assert!(time(last) < time(next), "at the same time:\n{last}\n{next}");
}

/// Objects come, change and go all the time, and the leader is killed.
pub async fn killed_under_load(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    let (first, second) = two(&test, &cluster.kubeconfig, SHORT).await;
    let mut objects = Objects::new(client);
    objects.rounds(SOME).await;
    settled(client, NAME).await;
    assert!(told(&second, NAME).is_empty(), "the standby runs nothing");

    // Somewhere among these.
    let (_, before) = tokio::join!(objects.rounds(SOME), async {
        eventually("it is at work", async || {
            let count = told(&first, NAME).len();
            if count > 2 * SOME { Ok(()) } else { Err(format!("{count} triggers")) }
        })
        .await;
        first.killed().await
    });
    objects.rounds(SOME).await;
    is(&second, "leader").await;
    objects.rounds(SOME).await;
    settled(client, NAME).await;
    one_after_the_other(&before, &second.log());

    // And back, with another one.
    let third = replica(&test, &cluster.kubeconfig, SHORT).await;
    is(&third, "standby").await;
    objects.rounds(1).await;
    let before = second.killed().await;
    objects.rounds(SOME).await;
    is(&third, "leader").await;
    settled(client, NAME).await;
    one_after_the_other(&before, &third.log());
    third.stop().await;
}

/// A rolling update: nobody waits for a Lease to run out.
pub async fn handed_over_on_sigterm(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    let (first, second) = two(&test, &cluster.kubeconfig, LONG).await;
    let mut objects = Objects::new(client);
    objects.rounds(SOME).await;
    let (_, before) = tokio::join!(objects.rounds(SOME), async {
        let status = first.terminate().await;
        assert_eq!(status.code(), Some(0), "exit code after SIGTERM ({status})");
        first.log()
    });
    is(&second, "leader").await;
    objects.rounds(SOME).await;
    settled(client, NAME).await;
    one_after_the_other(&before, &second.log());
    second.stop().await;
}

/// A process that stands still for longer than its Lease does not know that when it goes on.
pub async fn a_frozen_leader_writes_nothing_more(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    let (first, second) = two(&test, &cluster.kubeconfig, SHORT).await;
    let mut objects = Objects::new(client);
    objects.rounds(1).await;
    settled(client, NAME).await;
    ledger::tell(client, NAME, "held").await;
    objects.rounds(1).await;
    let held = |operator: &Operator| {
        let held = told(operator, NAME).iter().any(|told| told["ledger"] == "held");
        if held { Ok(()) } else { Err("no run is held yet") }
    };
    eventually("a run is held", async || held(&first)).await;

    first.freeze();
    is_leader_by_lease(&second).await;
    eventually("the same run is held there", async || held(&second)).await;
    let before = audited(&first);
    ledger::release(client, NAME, "held").await;
    objects.rounds(SOME).await;
    settled(client, NAME).await;
    first.thaw();
    let status = first.ended().await;
    assert_eq!(status.code(), Some(4), "exit code of a replica that does not lead any more ({status})");
    assert_eq!(audited(&first), before, "it wrote something");
    assert!(before > 0);
    objects.rounds(SOME).await;
    settled(client, NAME).await;
    second.stop().await;
}

/// With a run that is held it is not ready, and leads all the same.
async fn is_leader_by_lease(operator: &Operator) {
    eventually("it leads", async || {
        let (_, body) = operator.get("/healthz").await?;
        if body.lines().any(|line| line.starts_with("leader: ")) { Ok(()) } else { Err(body) }
    })
    .await;
}

/// Writes that the API server took.
fn audited(operator: &Operator) -> usize {
    operator.log().iter().filter(|line| line["target"] == "audit" && line["outcome"] == "ok").count()
}

//! Faults of a kind that clusters see: whatever they hide from the operator, nothing is lost.
//! Each test makes sure that its fault took place.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::harness::{ALL_HOOKS, Cluster, Operator, Proxy, Test, eventually};
use crate::ledger::{self, HOOK, NAME, Objects, attempts, entries, settled, synchronized_once, told};
use crate::outages::is_alive;
use crate::restarts::World;

/// Rounds of changes before, during and after a fault.
pub const SOME: usize = 8;

/// No connection lives longer than 200 ms: neither watches nor the hook's own requests.
pub async fn connections_cut_every_200_ms(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let (proxy, operator, mut objects) = behind_proxy(&test, &cluster).await;
    let before = proxy.were_reset();

    let end = Instant::now() + Duration::from_secs(10);
    let mut ticks = tokio::time::interval(Duration::from_millis(200));
    while Instant::now() < end {
        tokio::join!(ticks.tick(), objects.round());
        proxy.reset();
    }
    let cut = proxy.were_reset() - before;
    assert!(cut >= 10, "only {cut} connections were cut");

    goes_on(&cluster, operator, objects).await;
}

/// SIGKILL while a run is at work and others wait behind it.
pub async fn killed_in_the_middle_of_a_run(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    let mut objects = Objects::new(client);
    objects.rounds(SOME).await;
    let operator = test.operator_with(&cluster.kubeconfig, &[HOOK]).await;
    operator.ready().await;
    settled(client, NAME).await;
    let before = entries(client, NAME).await.expect("list entries");

    ledger::tell(client, NAME, "held").await;
    objects.rounds(1).await;
    eventually("a run is held", async || {
        told(&operator, NAME).iter().any(|told| told["ledger"] == "held").then_some(()).ok_or("none yet")
    })
    .await;
    objects.rounds(SOME).await;
    operator.kill().await;
    assert_eq!(entries(client, NAME).await.expect("list entries"), before, "the run had written nothing");
    objects.rounds(SOME).await;
    ledger::release(client, NAME, "held").await;

    // Twice more, as soon as the next operator writes.
    for _ in 0..2 {
        let before = entries(client, NAME).await;
        let operator = test.operator_with(&cluster.kubeconfig, &[HOOK]).await;
        eventually("the operator writes", async || {
            if entries(client, NAME).await == before { Err("nothing yet") } else { Ok(()) }
        })
        .await;
        operator.kill().await;
        objects.rounds(SOME).await;
    }

    let operator = test.operator_with(&cluster.kubeconfig, &[HOOK]).await;
    operator.ready().await;
    goes_on(&cluster, operator, objects).await;
}

/// Delays of at most a second: this takes about ten.
pub async fn a_failing_hook_holds_nobody_up(test: Arc<Test>) {
    fails_beside_others(test, &[3, 6, 12]).await;
}

pub async fn a_hook_fails_for_a_minute(test: Arc<Test>) {
    fails_beside_others(test, &[12, 24, 36, 48, 60]).await;
}

/// A hook fails whatever it does, so many times; others, one of them on the same objects, do not notice.
async fn fails_beside_others(test: Arc<Test>, attempts_at_least: &[u64]) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    let neighbour = "neighbour";
    let hooks = [ALL_HOOKS.as_slice(), &[HOOK, "neighbour=test/ledger"]].concat();
    let operator = test.operator_with(&cluster.kubeconfig, &hooks).await;
    operator.ready().await;
    let mut objects = Objects::new(client);
    objects.rounds(SOME).await;
    settled(client, NAME).await;
    let before = entries(client, NAME).await.expect("list entries");

    ledger::tell(client, NAME, "broken").await;
    let world = World::new(&test);
    world.make(&cluster).await;
    objects.rounds(SOME).await;
    for least in attempts_at_least {
        objects.rounds(3).await;
        settled(client, neighbour).await;
        eventually(&format!("{least} attempts"), async || {
            let attempts = attempts(&operator, NAME);
            if attempts >= *least { Ok(()) } else { Err(format!("{attempts} up to now")) }
        })
        .await;
    }
    world.change(&cluster).await;
    world.converged(&cluster).await;
    is_alive(&operator).await;
    assert_eq!(entries(client, NAME).await.expect("list entries"), before, "nothing came of the failed runs");

    ledger::release(client, NAME, "broken").await;
    synchronized_once(&operator, neighbour);
    goes_on(&cluster, operator, objects).await;
}

/// An operator with the ledger that reaches the cluster through a proxy only, and has done its first work.
pub async fn behind_proxy(test: &Test, cluster: &Cluster) -> (Proxy, Operator, Objects) {
    let proxy = Proxy::start(cluster);
    let kubeconfig = test.kubeconfig_via(cluster, &proxy.address);
    let mut objects = Objects::new(&cluster.client);
    objects.rounds(SOME).await;
    let operator = test.operator_with(&kubeconfig, &[HOOK]).await;
    operator.ready().await;
    objects.rounds(SOME).await;
    settled(&cluster.client, NAME).await;
    (proxy, operator, objects)
}

/// Everything that happened is worked off, and what happens from now on, too.
pub async fn goes_on(cluster: &Cluster, operator: Operator, mut objects: Objects) {
    settled(&cluster.client, NAME).await;
    objects.rounds(SOME).await;
    settled(&cluster.client, NAME).await;
    synchronized_once(&operator, NAME);
    operator.ready().await;
    operator.stop().await;
}

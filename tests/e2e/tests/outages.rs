//! The API server goes away under a running operator, and comes back.
//! The operator is never restarted here.

use std::sync::Arc;
use std::time::Duration;

use crate::copies::copied;
use crate::harness::{ALL_HOOKS, Operator, Proxy, Test, eventually_within};
use crate::objects::create_namespace;
use crate::restarts::World;

/// Attempts that an operator has to make while it is turned away: enough to have met every stream.
const ATTEMPTS: usize = 5;

/// The API server is there, and changes, but the operator cannot reach it.
pub async fn connections_cut(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let mut proxy = Proxy::start(&cluster);
    let kubeconfig = test.kubeconfig_via(&cluster, &proxy.address);
    let operator = test.operator_with(&kubeconfig, &ALL_HOOKS).await;
    operator.ready().await;
    let world = World::new(&test);
    world.make(&cluster).await;

    proxy.cut();
    world.change(&cluster).await;
    eventually_within(Duration::from_secs(60), "the operator tries to come back", async || {
        let attempts = proxy.turned_away();
        if attempts >= ATTEMPTS { Ok(()) } else { Err(format!("{attempts} attempts")) }
    })
    .await;
    is_alive(&operator).await;
    proxy.open();

    world.converged(&cluster).await;
    goes_on(&test, &cluster.client, operator).await;
}

pub async fn is_alive(operator: &Operator) {
    assert!(operator.is_running(), "the operator ended");
    let (code, body) = operator.get("/healthz").await.expect("/healthz answers");
    assert_eq!(code, 200, "/healthz without an API server: {body}");
}

pub async fn goes_on(test: &Test, client: &kube::Client, operator: Operator) {
    let name = test.name("after");
    create_namespace(client, &name, &[]).await;
    copied(client, &name).await;
    operator.ready().await;
    operator.stop().await;
}

//! A cluster without its operator: the API server refuses what hooks guard, and holds up no other request.
//! It never restarts anything politely only.

use std::sync::Arc;

use crate::harness::{Needs, Operator, Test};
use crate::webhooks::Site;
use crate::webhooks::reviewer::{CONFIGURATION, HOOK};

pub async fn after_sigterm(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let operator = started(&site).await;
    let uid = uid(&site).await;
    operator.stop().await;
    goes_on_without(&site, "without").await;
    let operator = started(&site).await;
    assert_eq!(self::uid(&site).await, uid, "it was never taken away");
    site.makes("default", "afterwards").await.expect("the hook allows it");
    operator.stop().await;
}

pub async fn after_sigkill(test: Arc<Test>) {
    let site = Site::new(&test).await;
    for round in 0..3 {
        let operator = started(&site).await;
        site.makes("default", &format!("with-{round}")).await.expect("the hook allows it");
        operator.kill().await;
        goes_on_without(&site, &format!("without-{round}")).await;
    }
    let operator = started(&site).await;
    site.makes("default", "afterwards").await.expect("the hook allows it");
    operator.stop().await;
}

/// The API server starts while nobody answers: what it writes itself must not depend on hooks.
pub async fn api_server_starts_alone(test: Arc<Test>) {
    let site = Site::with(&test, Needs { keeps_data: true, ..Needs::default() }).await;
    let operator = started(&site).await;
    operator.stop().await;
    site.cluster.stop().await;
    site.cluster.start_again().await;
    goes_on_without(&site, "without").await;

    // And the other way round: the operator is there, and the API server goes and comes.
    let operator = started(&site).await;
    site.cluster.stop().await;
    site.cluster.start_again().await;
    site.reviewed().await;
    site.makes("default", "afterwards").await.expect("the hook allows it");
    operator.stop().await;
}

async fn started(site: &Site) -> Operator {
    let operator = site.operator(&[HOOK]).await;
    operator.ready().await;
    site.reviewed().await;
    operator
}

/// With the operator away, what the cluster itself works with can be written. This operator runs outside of the cluster, so
/// no namespace is its own.
async fn goes_on_without(site: &Site, name: &str) {
    let namespace = "kube-system";
    site.makes(namespace, name).await.expect("the namespace is left out");
    site.cluster.kubectl(&["delete", "configmap", name, "--namespace", namespace]).await;
    // What is not reviewed is not held up anywhere.
    site.cluster.kubectl(&["create", "namespace", name]).await;
    site.cluster.kubectl(&["create", "secret", "generic", name, "--namespace", name, "--from-literal=a=b"]).await;
    let refused = site.makes(name, name).await.expect_err("the policy is Fail");
    assert!(refused.contains("failed calling webhook"), "{refused}");
}

async fn uid(site: &Site) -> String {
    let uid = |object: &serde_json::Value| object["metadata"]["uid"].as_str().map(str::to_owned);
    site.until(&["validatingwebhookconfiguration", CONFIGURATION], uid).await
}

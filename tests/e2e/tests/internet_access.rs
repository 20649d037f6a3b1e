//! `internet-access`: a NetworkPolicy exists in a namespace exactly while the namespace carries the label.
//! It never looks at how the hook gets there.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::{Client, ResourceExt};

use crate::harness::{Test, eventually};
use crate::objects::{create_namespace, label, label_namespace, policies};

const NAME: &str = "allow-internet";
pub const ALLOW: &str = "internet-access.boathook.dev/allow";
const MANAGED: &str = "internet-access.boathook.dev/managed";

/// What no Pod reaches under the policy's name of "the internet".
const PRIVATE: [&str; 3] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];

pub async fn policy_exists_while_labelled(test: Arc<Test>) {
    let cluster = &test.shared().await.cluster;
    let client = &cluster.client;
    let (labelled, later) = (test.name("labelled"), test.name("later"));
    create_namespace(client, &labelled, &[(ALLOW, "true")]).await;
    create_namespace(client, &later, &[]).await;
    let policy = allowed(client, &labelled).await;
    check(&policy);

    cluster.kubectl(&["label", "namespace", &later, &format!("{ALLOW}=true")]).await;
    allowed(client, &later).await;

    cluster.kubectl(&["label", "namespace", &labelled, &format!("{ALLOW}-")]).await;
    refused(client, &labelled).await;

    label_namespace(client, &later, ALLOW, Some("false")).await;
    refused(client, &later).await;
}

pub async fn removed_policy_comes_back(test: Arc<Test>) {
    let cluster = &test.shared().await.cluster;
    let client = &cluster.client;
    let name = test.name("x");
    create_namespace(client, &name, &[(ALLOW, "true")]).await;
    let before = allowed(client, &name).await;

    cluster.kubectl(&["delete", "networkpolicy", "--namespace", &name, NAME]).await;
    let after = allowed(client, &name).await;
    assert_ne!(before.uid(), after.uid(), "the policy is another one");

    // Once the label is gone, a removed policy stays removed.
    label_namespace(client, &name, ALLOW, None).await;
    refused(client, &name).await;
}

pub async fn other_values_allow_nothing(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let (unlabelled, denied) = (test.name("unlabelled"), test.name("denied"));
    create_namespace(client, &unlabelled, &[]).await;
    create_namespace(client, &denied, &[(ALLOW, "false")]).await;

    // The hook deals with one thing after the other: once it has dealt with two namespaces that came
    // later, one after the other, it is done with these.
    for number in 0..2 {
        let name = test.name(&format!("witness-{number}"));
        create_namespace(client, &name, &[(ALLOW, "true")]).await;
        allowed(client, &name).await;
    }
    for name in [&unlabelled, &denied] {
        let policy = policies(client, name).get_opt(NAME).await.expect("ask for a policy");
        assert!(policy.is_none(), "{name} has a policy");
    }
}

/// Waits until the namespace has the policy.
pub async fn allowed(client: &Client, namespace: &str) -> NetworkPolicy {
    eventually(&format!("{namespace} has a policy"), async || {
        let policy = policies(client, namespace).get_opt(NAME).await;
        policy.map_err(|error| error.to_string())?.ok_or_else(|| "there is none".to_owned())
    })
    .await
}

/// Waits until the namespace does not have the policy.
pub async fn refused(client: &Client, namespace: &str) {
    eventually(&format!("{namespace} has no policy"), async || match policies(client, namespace).get_opt(NAME).await {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err("there is one".to_owned()),
        Err(error) => Err(error.to_string()),
    })
    .await;
}

fn check(policy: &NetworkPolicy) {
    assert_eq!(label(policy, MANAGED), Some("true"), "labels: {:?}", policy.labels());
    let spec = policy.spec.as_ref().expect("a policy has a spec");
    let types = spec.policy_types.clone().unwrap_or_default();
    assert_eq!(types, ["Egress"], "it says nothing of what comes in");
    let blocks: Vec<_> = spec
        .egress
        .iter()
        .flatten()
        .flat_map(|rule| rule.to.iter().flatten())
        .filter_map(|peer| peer.ip_block.as_ref())
        .filter(|block| block.cidr == "0.0.0.0/0")
        .collect();
    assert_eq!(blocks.len(), 1, "one rule opens the internet: {spec:?}");
    let except = blocks[0].except.clone().unwrap_or_default();
    for range in PRIVATE {
        assert!(except.iter().any(|other| other == range), "{range} is not excepted: {except:?}");
    }
}

//! `registry-secret`: the Secret default/registry-credentials has a copy in every namespace.
//! It never looks at how the hook gets there.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::copies::{
    COPY, NAME, SKIP, SOURCE, copied, credentials, data, ensure_source, gone, new_source, set_password, source,
};
use crate::harness::Test;
use crate::objects::{create_namespace, delete, label, label_namespace, merge, meta, secrets};

pub async fn every_namespace_has_a_copy(test: Arc<Test>) {
    let shared = test.shared().await;
    let cluster = &shared.cluster;
    let _unchanged = shared.changing.lock().await;
    ensure_source(&cluster.client).await;

    let name = test.name("new");
    cluster.kubectl(&["create", "namespace", &name]).await;
    copied(&cluster.client, &name).await;
    let data = cluster
        .kubectl(&["get", "secret", "--namespace", &name, NAME, "--output=jsonpath={.data.\\.dockerconfigjson}"])
        .await;
    let source = source(&cluster.client).await;
    assert_eq!(data, encoded(&source), "the copy as kubectl shows it");

    // Those that Kubernetes itself made are like any other.
    for name in ["kube-system", "kube-public", "kube-node-lease"] {
        copied(&cluster.client, name).await;
    }
    assert_eq!(label(&source, COPY), None, "the source is not labelled as a copy");
}

pub async fn copies_follow_the_source(test: Arc<Test>) {
    let shared = test.shared().await;
    let client = &shared.cluster.client;
    let _changed_by_us = shared.changing.lock().await;
    ensure_source(client).await;
    let (first, second) = (test.name("first"), test.name("second"));
    for name in [&first, &second] {
        create_namespace(client, name, &[]).await;
        copied(client, name).await;
    }

    // Twice, for the second change finds copies that were already changed.
    for password in ["changed", "changed-again"] {
        set_password(client, password).await;
        for name in [&first, &second] {
            let copy = copied(client, name).await;
            assert_eq!(data(&copy), credentials(password), "the copy in {name}");
        }
    }
}

pub async fn lost_and_changed_copies_come_back(test: Arc<Test>) {
    let shared = test.shared().await;
    let (cluster, client) = (&shared.cluster, &shared.cluster.client);
    let _unchanged = shared.changing.lock().await;
    ensure_source(client).await;
    let name = test.name("x");
    create_namespace(client, &name, &[]).await;
    let before = copied(client, &name).await;

    cluster.kubectl(&["delete", "secret", "--namespace", &name, NAME]).await;
    let after = copied(client, &name).await;
    assert_ne!(before.uid(), after.uid(), "the copy is another one");

    merge(&secrets(client, &name), NAME, json!({"data": {"intruder": "eA=="}})).await;
    copied(client, &name).await;
}

pub async fn namespaces_opt_out(test: Arc<Test>) {
    let shared = test.shared().await;
    let (cluster, client) = (&shared.cluster, &shared.cluster.client);
    let _unchanged = shared.changing.lock().await;
    ensure_source(client).await;
    let (never, sometimes) = (test.name("never"), test.name("sometimes"));
    create_namespace(client, &never, &[(SKIP, "true")]).await;
    create_namespace(client, &sometimes, &[]).await;
    copied(client, &sometimes).await;

    let label = format!("{SKIP}=true");
    cluster.kubectl(&["label", "namespace", &sometimes, &label]).await;
    gone(client, &sometimes).await;

    cluster.kubectl(&["label", "namespace", &sometimes, &format!("{SKIP}-")]).await;
    copied(client, &sometimes).await;

    settled(&test, client).await;
    let copy = secrets(client, &never).get_opt(NAME).await.expect("ask for a copy");
    assert!(copy.is_none(), "a namespace that opted out from the start has a copy");
}

pub async fn copies_carry_no_foreign_metadata(test: Arc<Test>) {
    let shared = test.shared().await;
    let (cluster, client) = (&shared.cluster, &shared.cluster.client);
    let _changed_by_us = shared.changing.lock().await;
    ensure_source(client).await;
    // As people make it: applied, so that an annotation holds all of it, labelled by a tool, and
    // owned by something, with which the garbage collector would take the copies away.
    let owner = owner(client, &test.name("owner")).await;
    let manifest = test.dir().join("source.json");
    let source = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": NAME, "namespace": SOURCE, "ownerReferences": [owner],
            "labels": {"app.kubernetes.io/managed-by": "a-tool"}, "annotations": {"example.com/note": "ours"},
        },
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": encoded(&source(client).await)},
    });
    std::fs::write(&manifest, source.to_string()).expect("write a manifest");
    cluster.kubectl(&["apply", "--filename", &manifest.to_string_lossy()]).await;

    let name = test.name("x");
    create_namespace(client, &name, &[]).await;
    let copy = copied(client, &name).await;
    assert_eq!(copy.labels().keys().collect::<Vec<_>>(), [COPY], "labels of the copy");
    assert!(copy.annotations().is_empty(), "annotations of the copy: {:?}", copy.annotations());
    assert!(copy.owner_references().is_empty(), "owners of the copy: {:?}", copy.owner_references());
    assert!(copy.finalizers().is_empty(), "finalizers of the copy: {:?}", copy.finalizers());

    merge(&secrets(client, SOURCE), NAME, json!({"metadata": {"ownerReferences": null}})).await;
}

pub async fn foreign_secrets_stay(test: Arc<Test>) {
    let shared = test.shared().await;
    let client = &shared.cluster.client;
    let _unchanged = shared.changing.lock().await;
    ensure_source(client).await;
    // The namespace opts out until the user's own Secret is there.
    let name = test.name("x");
    create_namespace(client, &name, &[(SKIP, "true")]).await;
    let own = Secret {
        metadata: meta(NAME, &[("owner", "somebody")]),
        data: Some(BTreeMap::from([("own".to_owned(), ByteString(b"data".to_vec()))])),
        ..Secret::default()
    };
    let own = secrets(client, &name).create(&PostParams::default(), &own).await.expect("create a Secret");
    label_namespace(client, &name, SKIP, None).await;

    settled(&test, client).await;
    let now = secrets(client, &name).get(NAME).await.expect("the user's own Secret is there");
    assert_eq!((now.uid(), now.resource_version()), (own.uid(), own.resource_version()), "untouched");
}

pub async fn copies_go_with_the_source(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    let operator = test.operator(&cluster).await;
    operator.ready().await;
    let name = test.name("x");
    create_namespace(client, &name, &[]).await;

    // The source comes after the operator and the namespace.
    ensure_source(client).await;
    copied(client, &name).await;

    delete(&secrets(client, SOURCE), NAME).await;
    gone(client, &name).await;
    gone(client, "kube-system").await;

    // The type of a Secret cannot change: the hook has to create the copies again.
    ensure_source(client).await;
    let before = copied(client, &name).await;
    delete(&secrets(client, SOURCE), NAME).await;
    let opaque = Secret { type_: Some("Opaque".to_owned()), ..new_source() };
    secrets(client, SOURCE).create(&PostParams::default(), &opaque).await.expect("create the source");
    let after = copied(client, &name).await;
    assert_ne!(before.uid(), after.uid(), "the copy is another one");
    operator.stop().await;
}

/// Waits until the hook has dealt with everything that happened before the call: it deals with one
/// thing after the other, and two namespaces made now, one after the other, have their copies.
async fn settled(test: &Test, client: &Client) {
    for number in 0..2 {
        let name = test.name(&format!("witness-{number}"));
        create_namespace(client, &name, &[]).await;
        copied(client, &name).await;
    }
}

/// The credentials as they are in the object's JSON, in base64.
fn encoded(secret: &Secret) -> String {
    let secret = serde_json::to_value(secret).expect("a Secret is JSON");
    secret["data"][".dockerconfigjson"].as_str().expect("it has credentials").to_owned()
}

async fn owner(client: &Client, name: &str) -> OwnerReference {
    let owner = ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let api = Api::<ConfigMap>::namespaced(client.clone(), SOURCE);
    let owner = api.create(&PostParams::default(), &owner).await.expect("create an owner");
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: name.to_owned(),
        uid: owner.uid().expect("a created object has a uid"),
        ..OwnerReference::default()
    }
}

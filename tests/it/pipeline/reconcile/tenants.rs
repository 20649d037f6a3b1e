//! Reconcile hooks of a tenant's bundle: what they may watch, and with whose rights their children are written.

use boathook_core::model::{HookPhase, Installation};
use serde_json::{Value, json};

use super::{HELLO, condition, definition, gone, told};
use crate::{
    pipeline::{
        bundles::{Shelf, state},
        fixture::Pipeline,
        identity::{account, with_rbac},
        swap::put,
    },
    support::{cluster::TestCluster, guests::guest, until},
};

fn app(namespace: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1alpha1", "kind": "HelloApp", "metadata": {"name": "web", "namespace": namespace},
        "spec": {"image": "example.com/web:1", "size": 1},
    })
}

fn service(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace}})
}

/// Capsule CVE-2026-22872: a set of a tenant has neither a cluster-scoped parent nor cluster-scoped members.
// mutant: crates/operator/src/app/service_account.rs: `only_in.as_deref().filter(|_| !resource.namespaced)` => `only_in.as_deref().filter(|_| false)`
#[tokio::test]
async fn cve_2026_22872_a_confined_bundle_reconciles_nothing_cluster_scoped() {
    let cluster = TestCluster::start().await;
    for name in ["prod", "boathook"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.admin.create(&namespace).await.unwrap();
    }
    for kind in ["Wish", "ClusterWish"] {
        cluster.admin.create(&definition(kind)).await.unwrap();
    }
    let pipeline = Pipeline::on(cluster, &[], |_| ()).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    // It has cluster-scoped parents, and namespaces as members.
    let bundle = Installation { confined_to: Some("prod".to_owned()), ..shelf.bundle(&[("wish", &guest("wish"))]) };
    installer.install(bundle).await.unwrap();
    let held = state(&installer, "wish");
    assert_eq!(held.phase, HookPhase::Forbidden);
    assert!(held.reason.contains("in no namespace"), "{}", held.reason);
}

/// Kyverno CVE-2026-22039: a tenant's set is in the tenant's namespace, wherever its parents are.
// mutant: crates/operator/src/app/scope.rs: `spec.reconcilers.iter_mut().for_each(|binding| binding.namespaces = vec![namespace.to_owned()]);` => ``
#[tokio::test]
async fn cve_2026_22039_a_confined_bundle_reconciles_its_namespace_alone() {
    let cluster = TestCluster::start().await;
    for name in ["prod", "boathook"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.admin.create(&namespace).await.unwrap();
    }
    cluster.admin.create(&yaml_serde::from_str(HELLO).unwrap()).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[], |_| ()).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    let bundle =
        Installation { confined_to: Some("prod".to_owned()), ..shelf.bundle(&[("hello-app", &guest("hello-app"))]) };
    installer.install(bundle).await.unwrap();
    pipeline.operator.ready().await;
    pipeline.create(app("default")).await;
    pipeline.create(app("prod")).await;
    until("the Service is there", async || pipeline.get(service("prod")).await).await;
    assert_eq!(pipeline.get(service("default")).await, None);
    assert!(condition(&pipeline.get(app("default")).await.unwrap(), "Ready").is_none());
}

/// Otherwise, a tenant keeps a hook of the admins out of the whole cluster.
// mutant: crates/operator/src/app/hook_manager.rs: `self.hold(&hook, &Held::HookLoadError(reason.into())).await;` => `drop((hook, reason));`
#[tokio::test]
async fn a_confined_hook_gives_way_to_a_hook_of_the_admins() {
    let cluster = TestCluster::start().await;
    for name in ["prod", "boathook"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.admin.create(&namespace).await.unwrap();
    }
    cluster.admin.create(&yaml_serde::from_str(HELLO).unwrap()).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[], |_| ()).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    let hello = guest("hello-app");
    let bundle = || Installation { confined_to: Some("prod".to_owned()), ..shelf.bundle(&[("hello-app", &hello)]) };
    installer.install(bundle()).await.unwrap();
    pipeline.operator.ready().await;
    pipeline.create(app("prod")).await;
    until("the Service is there", async || pipeline.get(service("prod")).await).await;
    pipeline.operator.app.swap(put(&pipeline.operator, "of-admins", &hello)).await.unwrap();
    let held = state(&installer, "hello-app");
    assert_eq!(held.phase, HookPhase::Quarantined);
    assert!(held.reason.contains("a hook of the cluster's admins"), "{}", held.reason);
    assert!(!held.reason.contains("of-admins"), "{}", held.reason);
    // It does not come back.
    installer.install(bundle()).await.unwrap();
    assert_eq!(state(&installer, "hello-app").phase, HookPhase::Quarantined);
    pipeline.create(app("default")).await;
    until("the Service is there", async || pipeline.get(service("default")).await).await;
    assert!(pipeline.get(service("prod")).await.is_some());
}

/// Lets the ServiceAccount `prod/hook` do this in `prod`.
async fn allow(pipeline: &Pipeline, rules: Value) {
    let metadata = json!({"name": "hook", "namespace": "prod"});
    let group = "rbac.authorization.k8s.io";
    let api = format!("{group}/v1");
    pipeline.apply(json!({"apiVersion": api, "kind": "Role", "metadata": metadata, "rules": rules})).await;
    let binding = json!({"apiVersion": api, "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "hook"},
        "subjects": [{"kind": "ServiceAccount", "name": "hook", "namespace": "prod"}]});
    pipeline.apply(binding).await;
}

// mutant: crates/operator/src/app/reconcile/mod.rs: `Caller { permissions, ..caller.clone() }` => `Caller { permissions, identity: None, ..caller.clone() }`
#[tokio::test]
async fn children_are_written_with_the_rights_of_the_service_account() {
    let pipeline = with_rbac().await;
    pipeline.create(yaml_serde::from_str(HELLO).unwrap()).await;
    let watch = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let watches = [
        watch("example.com", &["helloapps"], &["get", "list", "watch", "patch"]),
        watch("example.com", &["helloapps/status"], &["patch"]),
        watch("apps", &["deployments"], &["get", "list", "watch", "patch", "create", "delete"]),
    ];
    let services = |verbs: &[&str]| watch("", &["services"], verbs);
    let rules = |services: Value| json!([watches[0], watches[1], watches[2], services]);
    allow(&pipeline, rules(services(&["list", "watch"]))).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    let bundle = Installation {
        identity: account("prod"),
        confined_to: Some("prod".to_owned()),
        ..shelf.bundle(&[("hello-app", &guest("hello-app"))])
    };
    installer.install(bundle).await.unwrap();
    pipeline.operator.ready().await;
    pipeline.create(app("prod")).await;
    let message = told(&pipeline.cluster, &app("prod"), "Stalled", "True", "MemberFailed").await;
    assert!(message.contains("Service prod/web") && message.contains("system:serviceaccount:prod:hook"), "{message}");
    assert_eq!(pipeline.get(service("prod")).await, None);
    allow(&pipeline, rules(services(&["*"]))).await;
    until("the Service is there", async || pipeline.get(service("prod")).await).await;
    pipeline.delete(app("prod")).await;
    gone(&pipeline.cluster, &service("prod")).await;
}

//! Reconcile hooks of a tenant's bundle: what they may watch, and with whose rights their children are written.

use std::time::Duration;

use boathook_core::model::{HookName, HookPhase, Installation};
use serde_json::{Value, json};

use super::{HELLO, condition, definition, gone, told};
use crate::{
    pipeline::{
        bundles::{Shelf, state},
        fixture::Pipeline,
        identity::{account, with_rbac},
        swap::put,
        written::{Deed, hook},
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
// mutant: crates/operator/src/app/bundles/mod.rs: `for hook in claims.free() {` => `for hook in Vec::<HookName>::new() {`
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
    // It does not come back while the other one runs.
    installer.install(bundle()).await.unwrap();
    assert_eq!(state(&installer, "hello-app").phase, HookPhase::Quarantined);
    pipeline.create(app("default")).await;
    until("the Service is there", async || pipeline.get(service("default")).await).await;
    assert!(pipeline.get(service("prod")).await.is_some());
    // Nobody has to release it when the other one is gone.
    let admins = HookName::new("of-admins").unwrap();
    assert!(pipeline.operator.app.quarantine(&admins, "it is not needed"));
    until("it is back", async || (state(&installer, "hello-app").phase == HookPhase::Ready).then_some(())).await;
    pipeline.delete(service("prod")).await;
    until("it repairs", async || pipeline.get(service("prod")).await).await;
}

/// It was loaded, and waits for the end of a run of its bundle, when the hook of the admins starts.
// mutant: crates/operator/src/app/bundles/mod.rs: `hook_manager.give_way(claims).await;` => `drop(claims);`
#[tokio::test]
async fn a_confined_hook_that_is_about_to_start_gives_way() {
    let cluster = TestCluster::start().await;
    for name in ["prod", "boathook"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.admin.create(&namespace).await.unwrap();
    }
    cluster.admin.create(&yaml_serde::from_str(HELLO).unwrap()).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[], |_| ()).await;
    let (shelf, installer, hello) = (Shelf::new(), pipeline.operator.app.installer(), guest("hello-app"));
    let (operator, admins) = (&pipeline.operator, HookName::new("of-admins").unwrap());
    operator.app.swap(put(operator, "of-admins", &hello)).await.unwrap();
    assert!(operator.app.quarantine(&admins, "not yet"));
    let spins =
        |time: &str| hook(&format!("{{configVersion: v1, onStartup: 1, limits: {{time: {time}}}}}"), &Deed::Spins);
    let bundle = |hooks: &[(&str, &[u8])]| Installation { confined_to: Some("prod".to_owned()), ..shelf.bundle(hooks) };
    let (slow, next) = (spins("6s"), spins("10ms"));
    installer.install(bundle(&[("slow", &slow)])).await.unwrap();
    let (installed, released) =
        tokio::join!(installer.install(bundle(&[("slow", &next), ("hello-app", &hello)])), async {
            // The new version is loaded by then, and the old one still runs.
            tokio::time::sleep(Duration::from_secs(2)).await;
            operator.app.release("of-admins").await
        });
    installed.unwrap();
    released.unwrap();
    let held = state(&installer, "hello-app");
    assert!(held.phase == HookPhase::Quarantined && held.reason.contains("a hook of the cluster's admins"), "{held:?}");
    pipeline.create(app("prod")).await;
    until("the admins' hook has it", async || {
        let found = pipeline.get(app("prod")).await?;
        (found["metadata"]["annotations"]["boathook.dev/manager"] == "boathook.dev/of-admins").then_some(())
    })
    .await;
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

//! Hooks that act as a ServiceAccount, and bundles that are confined to a namespace, on a cluster where RBAC decides.

use std::sync::Arc;

use boathook_cluster::{Cluster, Options};
use boathook_core::model::{HookPhase, Identity, InstallError, Installation, Installer, error_chain};
use serde_json::{Value, json};

use super::{
    bundles::{Shelf, name_of, state},
    fixture::{Pipeline, config_map},
    written::{Deed, hook},
};
use crate::support::{
    cluster::{Admin, TestCluster},
    guests::guest,
};

pub async fn with_rbac() -> Pipeline {
    with_rbac_and(|_| ()).await
}

/// With the ServiceAccount `prod/hook`, and the operator's own namespace.
pub async fn with_rbac_and(adjust: impl FnOnce(&mut boathook_operator::app::Options)) -> Pipeline {
    let cluster = Cluster::start(Options { rbac: true, ..Options::default() }).await.unwrap();
    let admin = Admin::new(cluster.client());
    for name in ["prod", "boathook"] {
        admin.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await.unwrap();
    }
    admin.create(&service_account()).await.unwrap();
    Pipeline::on(TestCluster { cluster, admin }, &[], adjust).await
}

pub fn service_account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "hook", "namespace": "prod"}})
}

pub fn account(namespace: &str) -> Option<Identity> {
    Some(Identity { namespace: namespace.to_owned(), service_account: "hook".to_owned() })
}

/// Lets the ServiceAccount `NAMESPACE/hook` do this with ConfigMaps of `default`.
pub async fn allow(pipeline: &Pipeline, namespace: &str, verbs: &[&str]) {
    let meta = |name: &str| json!({"name": name, "namespace": "default"});
    let group = "rbac.authorization.k8s.io";
    let api = format!("{group}/v1");
    pipeline
        .apply(json!({"apiVersion": api, "kind": "Role", "metadata": meta("hook"),
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]}))
        .await;
    pipeline
        .apply(json!({"apiVersion": api, "kind": "RoleBinding", "metadata": meta("hook"),
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "hook"},
            "subjects": [{"kind": "ServiceAccount", "name": "hook", "namespace": namespace}]}))
        .await;
}

// mutant: crates/kube/src/access/send.rs: `Some(identity) => request.header("Impersonate-User", identity.user()),` => `Some(_) => request,`
// mutant: crates/operator/src/app/service_account.rs: `Ok(missing) if missing.is_empty() => Ok(()),` => `Ok(_) => Ok(()),`
#[tokio::test]
async fn a_hook_acts_as_its_service_account_and_no_more() {
    let pipeline = with_rbac().await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let ledger = guest("ledger");
    let bundle = Installation { identity: account("prod"), ..shelf.bundle(&[("ledger", &ledger)]) };
    let source = config_map("o1", ("e2e", "ledger"), json!({"value": "1"}));
    let entry = config_map("ledger.team.prod.o1", ("x", "x"), Value::Null);

    // It may not watch.
    let installed = installer.install(bundle.clone()).await.unwrap();
    assert_eq!(installed.held, [name_of("ledger")]);
    let held = state(&installer, "ledger");
    assert_eq!(held.phase, HookPhase::Forbidden);
    let missing: Vec<String> = held.missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["list, watch configmaps in default"]);
    assert!(held.reason.contains("ServiceAccount prod/hook"), "{}", held.reason);

    // It may watch, and not write: RBAC says so, and not its grants.
    allow(&pipeline, "prod", &["list", "watch", "get"]).await;
    installer.install(bundle.clone()).await.unwrap();
    operator.ready().await;
    pipeline.create(source).await;
    let failed = &operator.told("run failed", "ledger.team.prod", 1).await[0];
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("is forbidden: User \"system:serviceaccount:prod:hook\" cannot patch"), "{error}");
    assert_eq!(pipeline.get(entry.clone()).await, None);

    allow(&pipeline, "prod", &["*"]).await;
    operator.told("run succeeded", "ledger.team.prod", 2).await;
    let written = pipeline.get(entry.clone()).await.unwrap();
    assert_eq!(written["data"]["value"], "1");
    assert_eq!(written["metadata"]["managedFields"][0]["manager"], "boathook.dev/ledger.team.prod");

    // Rights that went away are seen at the next look.
    allow(&pipeline, "prod", &["get"]).await;
    let again = installer.install(bundle).await.unwrap();
    assert_eq!(again.held, [name_of("ledger")]);
    assert_eq!(state(&installer, "ledger").phase, HookPhase::Forbidden);
}

/// It would stop every bundle's hooks each time.
#[tokio::test]
async fn an_api_server_that_is_away_takes_no_right_away() {
    let pipeline = with_rbac().await;
    let shelf = Shelf::new();
    let installer = pipeline.operator.app.installer();
    allow(&pipeline, "prod", &["list", "watch"]).await;
    let document = "{configVersion: v1, kubernetes: [{name: b, apiVersion: v1, kind: ConfigMap, namespace: \
                    {nameSelector: {matchNames: [default]}}}]}";
    let words = hook(document, &Deed::Says("hello"));
    let bundle = Installation { identity: account("prod"), ..shelf.bundle(&[("w", &words)]) };
    installer.install(bundle.clone()).await.unwrap();
    pipeline.operator.said("w.team.prod", "hello").await;
    pipeline.cluster.cluster.shutdown().await;
    let again = installer.install(bundle).await.unwrap();
    assert_eq!((again.kept, again.held), (vec![name_of("w")], Vec::new()));
    assert!(pipeline.operator.app.hook(&name_of("w.team.prod")).is_some());
}

// mutant: crates/operator/src/app/service_account.rs: `Ok(missing) if missing.is_empty() => Ok(()),` => `Ok(_) => Ok(()),`
#[tokio::test]
async fn a_new_version_that_may_not_watch_what_it_binds_waits() {
    let pipeline = with_rbac().await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    allow(&pipeline, "prod", &["list", "watch"]).await;
    let document = |kind: &str| {
        format!(
            "{{configVersion: v1, kubernetes: [{{name: b, apiVersion: v1, kind: {kind}, namespace: \
             {{nameSelector: {{matchNames: [default]}}}}}}]}}"
        )
    };
    let old = hook(&document("ConfigMap"), &Deed::Says("old"));
    let install =
        |bytes: &[u8]| installer.install(Installation { identity: account("prod"), ..shelf.bundle(&[("w", bytes)]) });
    install(&old).await.unwrap();
    operator.said("w.team.prod", "old").await;
    let error = install(&hook(&document("Secret"), &Deed::Says("new"))).await.unwrap_err();
    let InstallError::Forbidden { missing, .. } = &error else { panic!("{}", error_chain(&error)) };
    assert_eq!(missing[0].to_string(), "list, watch secrets in default");
    assert_eq!(state(&installer, "w").phase, HookPhase::Ready);
}

fn confined(installer: &Arc<dyn Installer>) -> (HookPhase, String) {
    let state = state(installer, "w");
    (state.phase, state.reason)
}

// mutant: crates/operator/src/app/scope.rs: `confined(&mut spec, namespace)?;` => `let _ = namespace;`
// mutant: crates/operator/src/app/service_account.rs: `only_in.as_deref().filter(|_| !resource.namespaced)` => `only_in.as_deref().filter(|_| false)`
#[tokio::test]
async fn a_confined_bundle_sees_and_reaches_its_namespace_alone() {
    let pipeline = with_rbac().await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    for namespace in ["mine", "other"] {
        pipeline.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
    }
    let watch = |what: &str| {
        hook(&format!("{{configVersion: v1, kubernetes: [{{name: b, apiVersion: v1, {what}}}]}}"), &Deed::Says("run"))
    };
    let bundle = |bytes: &[u8]| Installation { confined_to: Some("mine".to_owned()), ..shelf.bundle(&[("w", bytes)]) };
    let all = watch("kind: ConfigMap, labelSelector: {matchLabels: {w: x}}");
    installer.install(bundle(&all)).await.unwrap();
    operator.said("w.team.prod", "run").await;
    let map = |namespace: &str, name: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": {"w": "x"}}})
    };
    pipeline.create(map("other", "a")).await;
    pipeline.create(map("mine", "b")).await;
    let runs = operator.told("run succeeded", "w.team.prod", 2).await;
    assert_eq!(runs[1]["object"], "v1 ConfigMap mine/b");

    for (what, part) in [
        ("kind: ConfigMap, namespace: {nameSelector: {matchNames: [mine, other]}}", "watches ConfigMap in namespaces"),
        ("kind: Node", "in no namespace"),
    ] {
        let error = installer.install(bundle(&watch(what))).await.unwrap_err();
        let text = error_chain(&error);
        assert!(text.contains(part), "{text}");
        assert_eq!(confined(&installer), (HookPhase::Ready, String::new()));
    }

    // What it asks for everywhere it gets in its namespace.
    let permissions = "permissions: {kubernetes: [{apiGroups: [\"\"], resources: [secrets], verbs: [get]}]}";
    let asks = hook(&format!("{{configVersion: v1, onStartup: 1, {permissions}}}"), &Deed::Says("asks"));
    installer.install(bundle(&asks)).await.unwrap();
    let spec = &operator.app.hook(&name_of("w.team.prod")).unwrap().spec;
    assert_eq!(spec.permissions[0].namespaces, ["mine"]);
}

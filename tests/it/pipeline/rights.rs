//! What tenants try who would have their hooks watch or answer for more than is granted to them, or than their
//! ServiceAccount may: on a cluster where RBAC decides, for bundles that are confined and for some that are not.

use std::sync::Arc;

use boathook_core::model::{HookPhase, InstallError, Installation, Installer, Permission, error_chain};
use serde_json::{Value, json};

use super::{
    admission::webhooks,
    bundles::{Shelf, name_of, state},
    fixture::{Operator, Pipeline, config_map},
    identity::{account, allow, service_account, with_rbac, with_rbac_and},
    validating::validating,
    written::{Deed, hook},
};
use crate::support::{
    cluster::TestCluster,
    guests::{asks, guest},
    until,
};

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Permission {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    Permission {
        api_groups: list(groups),
        resources: list(resources),
        verbs: list(verbs),
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    }
}

const CALLS: [&str; 6] = ["get", "list", "create", "update", "patch", "delete"];

fn missing_of(error: InstallError) -> Vec<String> {
    let InstallError::Ungranted(missing) = error else { panic!("{}", error_chain(&error)) };
    missing.iter().flat_map(|(_, missing)| missing).map(ToString::to_string).collect()
}

const WATCHES: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, \
    namespace: {nameSelector: {matchNames: [default]}}}]}";

/// Whether anything of the bundle's hook is registered.
async fn registered(pipeline: &Pipeline) -> bool {
    let mut any = false;
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        let metadata = json!({"name": "boathook-w.team.prod"});
        let object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata});
        any |= pipeline.get(object).await.is_some();
    }
    any
}

/// The tag moves to a version that watches no more and calls no more, and has itself asked about writes.
// mutant: crates/operator/src/app/hook_manager.rs: `granted(&narrow(requested, terms), terms)` => `granted(&narrow(spec.permissions.to_vec(), terms), terms)`
#[tokio::test]
async fn a_version_that_adds_webhooks_waits_for_grants() {
    let cluster = TestCluster::start().await;
    let own = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "boathook"}});
    cluster.admin.create(&own).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[], webhooks).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let mut grants = vec![rule(&["*"], &["*"], &CALLS), rule(&[""], &["configmaps"], &["watch"])];
    let install = async |bytes: &[u8], grants: &[Permission]| {
        installer.install(Installation { grants: Some(grants.to_vec()), ..shelf.bundle(&[("w", bytes)]) }).await
    };
    let (old, new) = (hook(WATCHES, &Deed::Says("old")), guest("reviewer"));
    install(&old, &grants).await.unwrap();
    operator.said("w.team.prod", "old").await;

    let missing = missing_of(install(&new, &grants).await.unwrap_err());
    assert_eq!(missing, ["validate configmaps", "mutate configmaps", "convert widgets of reviewer.test"]);
    grants.push(rule(&[""], &["configmaps"], &["validate"]));
    grants.push(rule(&["reviewer.test"], &["*"], &["convert"]));
    assert_eq!(missing_of(install(&new, &grants).await.unwrap_err()), ["mutate configmaps"]);
    // A subresource is not its resource, and one namespace is not all of them.
    let narrow = Permission { namespaces: vec!["prod".to_owned()], ..rule(&[""], &["configmaps"], &["mutate"]) };
    grants.extend([rule(&[""], &["configmaps/*"], &["mutate"]), narrow]);
    assert_eq!(missing_of(install(&new, &grants).await.unwrap_err()), ["mutate configmaps"]);
    assert!(!registered(&pipeline).await);
    assert_eq!(state(&installer, "w").phase, HookPhase::Ready);

    grants.push(rule(&[""], &["configmaps"], &["mutate"]));
    install(&new, &grants).await.unwrap();
    until("it is registered", async || registered(&pipeline).await.then_some(())).await;
    // Taken back: nobody is asked any more.
    grants.pop();
    install(&new, &grants).await.unwrap();
    until("it is not registered", async || (!registered(&pipeline).await).then_some(())).await;
    assert_eq!(state(&installer, "w").phase, HookPhase::Ungranted);
}

/// What it would watch is asked for, too; and the bundle's own summary cannot leave it out.
// mutant: crates/core/src/model/requested.rs: `BindingRef::Kubernetes(binding) => vec![binding.asks()],` => `BindingRef::Kubernetes(_) => Vec::new(),`
// mutant: crates/operator/src/app/hook_manager.rs: `is_some_and(|declared| *declared != requested)` => `is_some_and(|_| false)`
#[tokio::test]
async fn a_version_that_watches_more_waits_for_grants() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    let grants = Some(vec![rule(&["*"], &["*"], &CALLS), rule(&[""], &["configmaps"], &["watch"])]);
    let bundle = |bytes: &[u8]| Installation { grants: grants.clone(), ..shelf.bundle(&[("w", bytes)]) };
    installer.install(bundle(&hook(WATCHES, &Deed::Says("old")))).await.unwrap();
    operator.said("w.team.prod", "old").await;
    for (kind, wanted) in [
        ("apiVersion: v1, kind: Secret", "watch secrets"),
        ("apiVersion: v1, kind: secrets", "watch secrets"),
        ("apiVersion: rbac.authorization.k8s.io/v1, kind: Role", "watch roles of rbac.authorization.k8s.io"),
        // Which group is not known without a cluster.
        ("kind: ConfigMap", "watch configmaps of *"),
    ] {
        let document = format!("{{configVersion: v1, kubernetes: [{{{kind}}}]}}");
        let more = hook(&document, &Deed::Says("more"));
        assert_eq!(missing_of(installer.install(bundle(&more)).await.unwrap_err()), [wanted]);
        let mut lied = bundle(&more);
        lied.grants = None;
        lied.hooks[0].declared = Some(Vec::new());
        let text = error_chain(&installer.install(lied).await.unwrap_err());
        assert!(text.contains("requests other permissions than the bundle states"), "{text}");
    }
    assert_eq!(operator.log.said("w.team.prod"), ["old"]);
}

/// A kind by a name that grants have for something else: its plural is only known where the cluster is asked.
// mutant: crates/operator/src/app/service_account.rs: `if *as_named && ` => `if false && `
#[tokio::test]
async fn a_kind_that_is_not_what_it_is_called_is_not_watched() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    // An admin who read "cm" as a resource of its own.
    let grants = Some(vec![rule(&["*"], &["cm", "configmap"], &["watch"])]);
    for kind in ["cm", "configmap"] {
        let document = format!("{{configVersion: v1, kubernetes: [{{apiVersion: v1, kind: {kind}}}]}}");
        let words = hook(&document, &Deed::Says("seen"));
        let bundle = Installation { grants: grants.clone(), ..shelf.bundle(&[("w", &words)]) };
        installer.remove(&bundle.id).await;
        installer.install(bundle).await.unwrap();
        let held = state(&installer, "w");
        assert_eq!(held.phase, HookPhase::Forbidden);
        assert!(held.reason.contains("the plural \"configmaps\""), "{}", held.reason);
    }
    assert_eq!(operator.log.said("w.team.prod"), [] as [String; 0]);
}

/// Grants are the tenant's own words. Its ServiceAccount, which may do nothing, cannot be asked about others' objects, in
/// its namespace or, unconfined, in all of them.
// mutant: crates/operator/src/app/hook_manager.rs: `account::check(&self.services, identity, &narrow(spec.asks_to_answer(), terms)).await?;` => `account::check(&self.services, identity, &[]).await?;`
#[tokio::test]
async fn who_is_asked_about_objects_could_read_and_update_them_itself() {
    let pipeline = with_rbac_and(webhooks).await;
    let shelf = Shelf::new();
    let installer = pipeline.operator.app.installer();
    let policy = guest("image-policy");
    let granted = Some(vec![rule(&["*"], &["*"], &["*"])]);
    let unconfined = |bytes: &[u8]| Installation {
        identity: account("prod"),
        grants: granted.clone(),
        ..shelf.bundle(&[("w", bytes)])
    };
    let confined = |bytes: &[u8]| Installation { confined_to: Some("prod".to_owned()), ..unconfined(bytes) };
    let lacks = async |bundle: Installation| {
        installer.remove(&bundle.id).await;
        installer.install(bundle).await.unwrap();
        let held = state(&installer, "w");
        assert_eq!(held.phase, HookPhase::Forbidden, "{}", held.reason);
        held.missing.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(lacks(confined(&policy)).await, ["get pods in prod", "get pods/ephemeralcontainers in prod"]);
    assert_eq!(lacks(unconfined(&policy)).await, ["get pods", "get pods/ephemeralcontainers"]);
    assert!(!registered(&pipeline).await);

    // Rights in its namespace are none elsewhere.
    let read = json!([{"apiGroups": [""], "resources": ["pods", "pods/ephemeralcontainers"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]);
    role(&pipeline, "prod", &read).await;
    assert_eq!(lacks(unconfined(&policy)).await, ["get pods", "get pods/ephemeralcontainers"]);
    installer.remove(&super::bundles::team()).await;
    installer.install(confined(&policy)).await.unwrap();
    until("it is registered", async || registered(&pipeline).await.then_some(())).await;

    // A version that would change Pods: it needs to be able to.
    let defaults = guest("pod-defaults");
    let error = installer.install(unconfined(&defaults)).await.unwrap_err();
    assert!(matches!(error, InstallError::Forbidden { .. }), "{}", error_chain(&error));
    assert!(error_chain(&error).contains("get, update pods"), "{}", error_chain(&error));

    // The right goes, and with the next look the registration.
    role(&pipeline, "prod", &json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]))
        .await;
    let again = installer.install(confined(&policy)).await.unwrap();
    assert_eq!(again.held, [name_of("w")]);
    until("it is not registered", async || (!registered(&pipeline).await).then_some(())).await;
}

/// Converted objects are those of all namespaces, and so are their rights.
// mutant: crates/core/src/model/requested.rs: `self.admission.iter().flat_map(AdmissionBinding::asks).chain(conversions)` => `self.admission.iter().flat_map(AdmissionBinding::asks).chain(conversions.take(0))`
#[tokio::test]
async fn who_converts_objects_could_update_them_itself() {
    let pipeline = with_rbac_and(webhooks).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks-wasm/crontab-conversion/crd.yaml");
    let definition: Value = yaml_serde::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    pipeline.create(definition.clone()).await;
    let converter = guest("crontab-conversion");
    let bundle = Installation { identity: account("prod"), ..shelf.bundle(&[("w", &converter)]) };
    let strategy = async || pipeline.get(definition.clone()).await.unwrap()["spec"]["conversion"]["strategy"].take();
    // A right to read them, and one to update those of its own namespace, are not enough.
    for (verbs, lacks) in [(json!(["list"]), "get, update"), (json!(["get"]), "update")] {
        cluster_role(
            &pipeline,
            &json!([{"apiGroups": ["stable.example.com"], "resources": ["crontabs"], "verbs": verbs}]),
        )
        .await;
        role(&pipeline, "prod", &json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])).await;
        assert_eq!(installer.install(bundle.clone()).await.unwrap().held, [name_of("w")]);
        let held = state(&installer, "w");
        assert_eq!(held.phase, HookPhase::Forbidden, "{}", held.reason);
        let missing: Vec<String> = held.missing.iter().map(ToString::to_string).collect();
        assert_eq!(missing, [format!("{lacks} crontabs of stable.example.com")]);
        assert_ne!(strategy().await, "Webhook");
    }
    cluster_role(
        &pipeline,
        &json!([{"apiGroups": ["stable.example.com"], "resources": ["crontabs"], "verbs": ["get", "update"]}]),
    )
    .await;
    installer.install(bundle).await.unwrap();
    until("it converts", async || (strategy().await == "Webhook").then_some(())).await;
}

/// The right to the objects is no right to those of the system's namespaces: that has a name of its own.
// mutant: crates/core/src/model/requested.rs: `rules.chain(self.include_system.then(system)).collect()` => `rules.chain(Some(system()).filter(|_| false)).collect()`
#[tokio::test]
async fn who_is_asked_about_the_systems_namespaces_has_a_right_to_them() {
    let pipeline = with_rbac_and(webhooks).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    let hook = validating(
        "{configVersion: v1, kubernetesValidating: [{name: a.b.c, namespace: {includeSystem: true}, \
         rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}]}",
    );
    let bundle = Installation { identity: account("prod"), ..shelf.bundle(&[("w", &hook)]) };
    let pods = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    cluster_role(&pipeline, &json!([pods])).await;
    assert_eq!(installer.install(bundle.clone()).await.unwrap().held, [name_of("w")]);
    let held = state(&installer, "w");
    assert_eq!(held.phase, HookPhase::Forbidden, "{}", held.reason);
    let missing: Vec<String> = held.missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["get systemnamespaces of boathook.dev"]);
    assert!(!registered(&pipeline).await);

    let system = json!({"apiGroups": ["boathook.dev"], "resources": ["systemnamespaces"], "verbs": ["get"]});
    cluster_role(&pipeline, &json!([pods, system])).await;
    installer.install(bundle).await.unwrap();
    until("it is registered", async || registered(&pipeline).await.then_some(())).await;
}

/// The ServiceAccount `prod/hook` may do this everywhere.
async fn cluster_role(pipeline: &Pipeline, rules: &Value) {
    let (group, meta) = ("rbac.authorization.k8s.io", json!({"name": "w"}));
    let api = format!("{group}/v1");
    pipeline.apply(json!({"apiVersion": api, "kind": "ClusterRole", "metadata": meta, "rules": rules})).await;
    pipeline
        .apply(json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "w"},
            "subjects": [{"kind": "ServiceAccount", "name": "hook", "namespace": "prod"}]}))
        .await;
}

/// The ServiceAccount `prod/hook` may do this in the namespace.
async fn role(pipeline: &Pipeline, namespace: &str, rules: &Value) {
    let (group, meta) = ("rbac.authorization.k8s.io", json!({"name": "w", "namespace": namespace}));
    let api = format!("{group}/v1");
    pipeline.apply(json!({"apiVersion": api, "kind": "Role", "metadata": meta, "rules": rules})).await;
    pipeline
        .apply(json!({"apiVersion": api, "kind": "RoleBinding", "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "w"},
            "subjects": [{"kind": "ServiceAccount", "name": "hook", "namespace": "prod"}]}))
        .await;
}

/// The system's namespaces are never a confined tenant's, and a grant of the objects alone does not have them.
#[tokio::test]
async fn the_systems_namespaces_are_asked_for_by_name() {
    let rules = "rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]";
    let of = |more: &str| {
        asks(&format!("{{configVersion: v1, kubernetesMutating: [{{name: a.b.c, {rules}{more}}}]}}"))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(""), ["mutate pods"]);
    let system = ["mutate pods", "mutate systemnamespaces of boathook.dev"];
    assert_eq!(of(", namespace: {includeSystem: true}"), system);
}

/// A RoleBinding may name a ServiceAccount that nobody made.
// mutant: crates/operator/src/app/service_account.rs: `if !access.exists(identity).await.map_err(unknown)? {` => `if false {`
#[tokio::test]
async fn a_service_account_that_is_not_there_is_nobody() {
    let pipeline = with_rbac().await;
    let (operator, shelf) = (&pipeline.operator, Shelf::new());
    let installer = operator.app.installer();
    allow(&pipeline, "prod", &["*"]).await;
    pipeline.delete(service_account()).await;
    let words = hook(WATCHES, &Deed::Says("seen"));
    let bundle = Installation { identity: account("prod"), ..shelf.bundle(&[("w", &words)]) };
    assert_eq!(installer.install(bundle.clone()).await.unwrap().held, [name_of("w")]);
    let held = state(&installer, "w");
    assert_eq!(held.phase, HookPhase::Forbidden);
    assert!(held.reason.contains("there is no ServiceAccount prod/hook"), "{}", held.reason);

    pipeline.create(service_account()).await;
    installer.install(bundle.clone()).await.unwrap();
    operator.said("w.team.prod", "seen").await;

    // It is deleted: the feed ends with the next look, and so do the runs.
    pipeline.delete(service_account()).await;
    assert_eq!(installer.install(bundle).await.unwrap().held, [name_of("w")]);
    let before = operator.log.said("w.team.prod").len();
    pipeline.create(config_map("later", ("x", "x"), Value::Null)).await;
    witness(operator, &installer, &shelf).await;
    assert_eq!(operator.log.said("w.team.prod").len(), before);
}

/// Another bundle that hears of everything that came until now.
async fn witness(operator: &Operator, installer: &Arc<dyn Installer>, shelf: &Shelf) {
    let words = hook(WATCHES, &Deed::Says("witness"));
    let id = boathook_core::model::BundleId { namespace: None, name: "witness".to_owned() };
    installer.install(Installation { id, ..shelf.bundle(&[("w", &words)]) }).await.unwrap();
    operator.said("w.witness", "witness").await;
}

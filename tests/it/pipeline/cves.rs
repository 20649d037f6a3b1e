//! Published flaws of other operators, tried on the whole of this one.

use boathook_cluster::{Cluster, Options};
use boathook_core::model::{HookPhase, Identity, InstallError, Installation};
use serde_json::{Value, json};

use super::{
    admission::webhooks,
    bundles::{Shelf, state},
    fixture::{Operator, Pipeline, config_map},
    tell::tell,
    validating::validating,
    written::{Deed, hook},
};
use crate::support::{
    cluster::{Admin, TestCluster},
    until,
};

/// Flux Operator CVE-2026-23990: no user, so no header, so the operator's own rights.
// mutant: crates/operator/src/app/scope.rs: `if name && account && !twice {` => `if name && !twice {`
#[tokio::test]
async fn cve_2026_23990_nobody_acts_as_a_service_account_without_a_name() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    let words = hook("{configVersion: v1, onStartup: 1}", &Deed::Says("ran"));
    for (namespace, name) in [("prod", ""), ("", "hook"), ("", ""), ("prod", " "), ("prod", "\u{0}"), ("prod", "a:b")] {
        let identity = Identity { namespace: namespace.to_owned(), service_account: name.to_owned() };
        let bundle = Installation { identity: Some(identity), ..shelf.bundle(&[("w", &words)]) };
        let error = installer.install(bundle).await.unwrap_err();
        assert!(matches!(error, InstallError::Name(_)), "{namespace:?} {name:?}: {error}");
    }
    assert_eq!(pipeline.operator.log.said("w.team.prod"), [] as [String; 0]);
}

/// Capsule CVE-2026-22872: what is in no namespace is in no tenant's, though the API server lets it pass every selector of
/// namespaces.
// mutant: crates/operator/src/app/service_account.rs: `only_in.as_deref().filter(|_| !resource.namespaced)` => `only_in.as_deref().filter(|_| false)`
// mutant: crates/operator/src/app/scope.rs: `if rule.scope == "Cluster" {` => `if false {`
// mutant: crates/operator/src/app/scope.rs: `"Namespaced".clone_into(&mut rule.scope);` => ``
#[tokio::test]
async fn cve_2026_22872_a_confined_bundle_hears_of_and_answers_for_nothing_cluster_scoped() {
    let cluster = TestCluster::start().await;
    for name in ["prod", "boathook"] {
        cluster.admin.create(&namespace(name)).await.unwrap();
    }
    let pipeline = Pipeline::on(cluster, &[], webhooks).await;
    let (shelf, installer) = (Shelf::new(), pipeline.operator.app.installer());
    let confined =
        |bytes: &[u8]| Installation { confined_to: Some("prod".to_owned()), ..shelf.bundle(&[("w", bytes)]) };
    for kind in ["apiVersion: v1, kind: Node", "apiVersion: v1, kind: Namespace"] {
        let document = format!(
            "{{configVersion: v1, kubernetes: [{{{kind}, namespace: {{nameSelector: {{matchNames: [prod]}}}}}}]}}"
        );
        let bundle = confined(&hook(&document, &Deed::Says("seen")));
        installer.install(bundle.clone()).await.unwrap();
        let held = state(&installer, "w");
        assert_eq!(held.phase, HookPhase::Forbidden, "{kind}");
        assert!(held.reason.contains("in no namespace"), "{}", held.reason);
        installer.remove(&bundle.id).await;
    }
    assert_eq!(pipeline.operator.log.said("w.team.prod"), [] as [String; 0]);

    // By name, or by what includes it.
    let asked = |scope: &str| {
        let rule =
            format!("{{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'], scope: {scope}}}");
        confined(&validating(&format!(
            "{{configVersion: v1, kubernetesValidating: [{{name: a.b.c, rules: [{rule}]}}]}}"
        )))
    };
    let metadata = json!({"name": "boathook-w.team.prod"});
    let kind = "ValidatingWebhookConfiguration";
    let ours = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata});
    installer.install(asked("Cluster")).await.unwrap();
    let held = state(&installer, "w");
    assert!(held.phase == HookPhase::Quarantined && held.reason.contains("not namespaced"), "{}", held.reason);
    installer.install(asked("'*'")).await.unwrap();
    let registered = until("it is registered", async || pipeline.get(ours.clone()).await).await;
    let [webhook] = registered["webhooks"].as_array().unwrap().as_slice() else { panic!("{registered}") };
    assert_eq!(webhook["rules"].as_array().unwrap().len(), 1);
    assert_eq!(webhook["rules"][0]["scope"], "Namespaced");
    let only = json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["prod"]});
    assert!(webhook["namespaceSelector"]["matchExpressions"].as_array().unwrap().contains(&only), "{webhook}");

    // The hook never answers, and what it is asked about fails.
    let of_tenant = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "prod"}});
    let error = pipeline.cluster.admin.create(&of_tenant).await.unwrap_err();
    assert!(format!("{error:?}").contains("a.b.c"), "{error:?}");
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}});
    for elsewhere in [role, namespace("other"), config_map("a", ("x", "x"), Value::Null)] {
        pipeline.create(elsewhere).await;
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

const DOCUMENT: &str = "configVersion: v1\nkubernetes: [{apiVersion: v1, kind: ConfigMap, \
    executeHookOnSynchronization: false, namespace: {nameSelector: {matchNames: [default]}}, \
    jqFilter: '.metadata.annotations[\"x/y\"] | split(\",\") | {first: .[0], far: .[9], n: (.[1] | tonumber)}'}]\n";

/// Argo Workflows CVE-2026-40886: an annotation in a form that nobody thought of. The hook's own filter fails on most of
/// these, and `1e999` is a number that no JSON reader accepts; the operator goes on, and the hook gets the next object.
// mutant: crates/sandbox/src/filters/instance.rs: `1 => Err(FilterError::Program(text())),` => `1 => Err(FilterError::Late(Duration::ZERO)),`
#[tokio::test]
async fn cve_2026_40886_no_object_stops_filters_or_contexts() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let admin = Admin::new(cluster.client());
    let pipeline = Pipeline::on(TestCluster { cluster, admin }, &[("tell", tell(DOCUMENT))], |_| ()).await;
    pipeline.operator.ready().await;
    let object = |name: &str, annotations: Value, data: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": name, "namespace": "default", "annotations": annotations}})
    };
    let texts = [
        "",
        ",",
        ",,,,,,,,,,,,",
        "a",
        "a,b",
        "1e999,1e999",
        "a,+1.5",
        "\u{0}",
        "ä🦀\u{202e}\r\n",
        "{}",
        "[",
        "\"",
        "null",
    ];
    for (n, text) in texts.iter().enumerate() {
        pipeline.create(object(&format!("hostile-{n}"), json!({"x/y": text}), json!({"text": text}))).await;
    }
    pipeline.create(object("hostile-long", json!({"x/y": ",".repeat(200_000)}), json!({}))).await;
    pipeline.create(object("hostile-none", json!(null), json!(null))).await;
    pipeline.create(object("good", json!({"x/y": "a,7"}), json!({}))).await;
    // The longest line is cut, and no JSON then.
    let good = |line: String| {
        let told: Option<Value> = line.strip_prefix("told ").and_then(|line| serde_json::from_str(line).ok());
        told.is_some_and(|told| told["name"] == "good" && told["result"]["n"] == 7)
    };
    let seen = |operator: &Operator| operator.log.said("tell").into_iter().any(good).then_some(());
    pipeline.operator.until("the hook gets the good one", seen).await;
}

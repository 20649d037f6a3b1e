//! Hooks that answer the API server: over TLS, registered by the operator, asked by the cluster.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_core::model::{AdmissionKind, HookName};
use boathook_operator::{
    app::{CertificateSource, Options, Reached, WebhookOptions},
    webhook::{AdmissionRequest, Settings, Unanswered},
};
use kube::{Client, Error};
use serde_json::{Value, json};

use super::fixture::{Operator, Pipeline, guests, missing};
use crate::{
    support::{cluster::TestCluster, guests::guest_file, until},
    webhook,
};

const VALIDATE: &str = "validate.reviewer.test";
const MUTATE: &str = "mutate.reviewer.test";
/// Of the operator; its own requests are not reviewed.
const OWN: &str = "boathook";

pub fn webhooks(options: &mut Options) {
    options.webhooks = Some(WebhookOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        settings: Settings::default(),
        instance: OWN.to_owned(),
        namespace: OWN.to_owned(),
        left_out: WebhookOptions::left_out(Some(OWN)),
        reached: Reached::Address,
        certificates: CertificateSource::Secret("certificates".to_owned(), CertificateSource::LIFETIME),
        client_ca: None,
    });
}

fn configuration(kind: &str) -> Value {
    let metadata = json!({"name": "boathook-reviewer"});
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata})
}

/// The reviewer at work, and the cluster asking it.
async fn reviewer(on: impl AsyncFnOnce(&TestCluster)) -> Pipeline {
    let cluster = TestCluster::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN}});
    cluster.admin.create(&namespace).await.unwrap();
    on(&cluster).await;
    let pipeline = Pipeline::on(cluster, &guests(["reviewer"]), webhooks).await;
    pipeline.operator.ready().await;
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        assert!(pipeline.get(configuration(kind)).await.is_some(), "ready before the hook is registered");
    }
    pipeline
}

fn config_map(name: &str, wishes: &[(&str, &str, &str)]) -> Value {
    let annotations: serde_json::Map<String, Value> =
        wishes.iter().map(|(binding, key, value)| (format!("{binding}/{key}"), json!(value))).collect();
    let metadata = json!({"namespace": "default", "name": name, "annotations": annotations});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

/// Creates a ConfigMap in `default`; the error is the API server's code and message.
async fn create(client: &Client, object: &Value, query: &str) -> Result<Value, (u16, String)> {
    let request = http::Request::post(format!("/api/v1/namespaces/default/configmaps{query}"))
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())
        .unwrap();
    client.request(request).await.map_err(|error| match error {
        Error::Api(status) => (status.code, status.message),
        error => panic!("{error}"),
    })
}

#[tokio::test]
async fn a_hook_allows_denies_and_mutates_what_the_cluster_asks_it() {
    let pipeline = reviewer(async |_| ()).await;
    let client = &pipeline.cluster.admin.client;
    let create = async |name, wishes: &[_]| create(client, &config_map(name, wishes), "").await;
    assert!(create("plain", &[]).await.is_ok());
    let denied = create("denied", &[(VALIDATE, "deny", "not here"), (VALIDATE, "code", "422")]).await;
    let (code, message) = denied.unwrap_err();
    assert_eq!(code, 422);
    assert!(
        message.contains("validate.reviewer.test") && message.ends_with("denied the request: not here"),
        "{message}"
    );
    let mutated = create("mutated", &[(MUTATE, "label", "yes")]).await.unwrap();
    assert_eq!(mutated["metadata"]["labels"]["reviewed"], "yes");
    // A trap is no decision: the policy is Fail.
    let (code, message) = create("trapped", &[(VALIDATE, "trap", "oh no")]).await.unwrap_err();
    assert_eq!(code, 500);
    assert!(message.contains("failed calling webhook") && message.contains("oh no"), "{message}");
    let lines = pipeline.operator.told("refused by the hook", "reviewer", 1).await;
    let told = ["binding", "operation", "object", "refusal"].map(|key| lines[0][key].as_str().unwrap());
    assert_eq!(told, [VALIDATE, "CREATE", "ConfigMap default/denied", "not here"]);
    let unanswered =
        "the hook did not answer the API server: failurePolicy decides about a review, and a conversion fails";
    let failed = pipeline.operator.told(unanswered, "reviewer", 1).await;
    assert_eq!((&failed[0]["why"], &failed[0]["object"]), (&json!("trap"), &json!("ConfigMap default/trapped")));
    let metrics = pipeline.operator.page("/metrics").await;
    for (binding, kind, outcome, count) in [
        (VALIDATE, "validating", "denied", 1),
        (VALIDATE, "validating", "failed", 1),
        (MUTATE, "mutating", "mutated", 1),
        (VALIDATE, "validating", "allowed", 2),
    ] {
        let labels = format!(r#"{{binding="{binding}",hook="reviewer",kind="{kind}",outcome="{outcome}"}}"#);
        let line = format!("boathook_webhook_answers_total{labels} {count}");
        assert!(metrics.contains(&line), "{line} in\n{metrics}");
    }
    assert!(metrics.contains(r#"boathook_webhook_answers_running{hook="reviewer"} 0"#));
    let expiry =
        metrics.lines().find(|line| line.starts_with("boathook_webhook_certificate_expiry_timestamp_seconds "));
    assert!(expiry.is_some_and(|line| !line.ends_with(" 0")), "{expiry:?}");
}

/// A Pod that reaches the port posts reviews that it made up: without the registered path, and with one that it got
/// hold of, for what the hook is not registered for.
// mutant: crates/operator/src/app/answers/mod.rs: `if !request.by_hand {` => `if false {`
// mutant: crates/operator/src/app/answers/scope.rs: `if asked { Ok(()) } else {` => `if true { Ok(()) } else {`
// mutant: crates/operator/src/app/answers/scope.rs: `if named || placed || differs(&self.kind.kind, text(kind)) {` => `if false {`
#[tokio::test]
async fn a_stranger_on_the_pod_network_runs_no_hook() {
    let pipeline = reviewer(async |_| ()).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "certificates", "namespace": OWN}});
    let secret = pipeline.get(secret).await.unwrap();
    let ca = STANDARD.decode(secret["data"]["ca.crt"].as_str().unwrap()).unwrap();
    let address = pipeline.operator.app.webhook_address().unwrap();
    let stranger = webhook::client::Client::new(address, &String::from_utf8(ca).unwrap(), None).by_address();
    let review = |kind: &str, resource: &str, namespace: &str, of: &str| {
        let annotations = json!({format!("{VALIDATE}/tell"): "1", format!("{VALIDATE}/write"): "forged"});
        let metadata = json!({"namespace": of, "name": "forged", "annotations": annotations});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "operation": "CREATE", "namespace": namespace, "name": "forged", "dryRun": false,
            "kind": {"group": "", "version": "v1", "kind": kind},
            "resource": {"group": "", "version": "v1", "resource": resource},
            "userInfo": {"username": "system:admin"},
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata},
        }})
    };
    let good = || review("ConfigMap", "configmaps", "default", "default");
    let answer = stranger.post(&format!("/validate/reviewer/{VALIDATE}"), good()).await;
    assert_eq!(answer.status, 404, "{}", answer.text);

    let registered = pipeline.get(configuration("ValidatingWebhookConfiguration")).await.unwrap();
    let leaked = |at: usize| {
        let url = registered["webhooks"][at]["clientConfig"]["url"].as_str().unwrap();
        url.strip_prefix(&format!("https://{address}")).unwrap().to_owned()
    };
    let path = leaked(0);
    assert!(path.starts_with(&format!("/validate/reviewer/{VALIDATE}/")), "{path}");
    for (forged, part) in [
        (review("ConfigMap", "secrets", "default", "default"), "no rule"),
        (review("ConfigMap", "configmaps", "kube-system", "kube-system"), "namespace \"kube-system\""),
        (review("ConfigMap", "configmaps", OWN, OWN), "namespace \"boathook\""),
        (review("ConfigMap", "configmaps", "default", "other"), "another object"),
        (review("Secret", "configmaps", "default", "default"), "another object"),
    ] {
        let answer = stranger.post(&path, &forged).await;
        assert!(answer.status == 403 && answer.text.contains(part), "{} {} {forged}", answer.status, answer.text);
    }
    let other = leaked(1);
    let swapped = format!("{}/{}", path.rsplit_once('/').unwrap().0, other.rsplit_once('/').unwrap().1);
    assert_eq!(stranger.post(&swapped, good()).await.status, 404);
    let asked = |operator: &Operator| operator.log.said("reviewer").iter().any(|line| line.starts_with("asked "));
    assert!(!asked(&pipeline.operator), "a forged review ran the hook");
    let written =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "forged", "namespace": "default"}});
    assert!(pipeline.get(written).await.is_none());
    // That is what a path is worth: who can read the registration can ask within it.
    assert_eq!(stranger.post(&path, good()).await.status, 200);
    assert!(asked(&pipeline.operator));
    let secrets = [path.rsplit_once('/').unwrap().1, other.rsplit_once('/').unwrap().1];
    let lines = format!("{:?}", pipeline.operator.log.lines());
    assert!(secrets.iter().all(|secret| !lines.contains(secret)), "the secret part of a path is in the log");
}

// mutant: crates/operator/src/app/answers/mod.rs: `let caller = hook.caller(run.clone(), dry_run);` => `let caller = hook.caller(run.clone(), false);`
#[tokio::test]
async fn a_review_sees_snapshots_and_writes_nothing_in_a_dry_run() {
    let wishes = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": "reviewer", "labels": {"reviewer": "all"}}});
    let pipeline = reviewer(async |cluster| drop(cluster.admin.create(&wishes).await.unwrap())).await;
    let client = &pipeline.cluster.admin.client;
    let object = |name, written| config_map(name, &[(VALIDATE, "tell", "1"), (VALIDATE, "write", written)]);
    create(client, &object("dry", "from-dry"), "?dryRun=All").await.unwrap();
    create(client, &object("wet", "from-wet"), "").await.unwrap();
    let said = pipeline.operator.until("both were asked about", |operator| {
        let said: Vec<Value> = (operator.log.said("reviewer").iter())
            .filter_map(|line| serde_json::from_str(line.strip_prefix("asked ")?).ok())
            .collect();
        (said.len() >= 2).then_some(said)
    });
    let said: Vec<_> =
        said.await.into_iter().map(|asked| (asked["dryRun"].clone(), asked["snapshot"].clone())).collect();
    assert_eq!(said, [(json!(true), json!(["reviewer"])), (json!(false), json!(["reviewer"]))]);
    assert!(pipeline.get(config_map("from-wet", &[])).await.is_some());
    assert!(pipeline.get(config_map("from-dry", &[])).await.is_none());
}

/// Ready means that the API server asks: here it asks another operator.
#[tokio::test]
async fn a_hook_that_is_not_registered_is_not_ready() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN}})).await.unwrap();
    let mut theirs = configuration("ValidatingWebhookConfiguration");
    let labels = json!({"app.kubernetes.io/managed-by": "boathook", "boathook.dev/instance": "other"});
    theirs["metadata"]["labels"] = labels;
    cluster.admin.create(&theirs).await.unwrap();
    let pipeline = Pipeline::on(cluster, &guests(["reviewer"]), webhooks).await;
    let mutating = configuration("MutatingWebhookConfiguration");
    until("what can be registered is", async || pipeline.get(mutating.clone()).await).await;
    assert!(pipeline.operator.app.webhook_address().is_some());
    const WAITS: &str = "its webhooks are not served and registered at the API server";
    let waits = |operator: &Operator| (missing(&operator.app.readiness(), "reviewer") == WAITS).then_some(());
    pipeline.operator.until("the hook waits for that alone", waits).await;
    pipeline.delete(theirs).await;
    pipeline.operator.ready().await;
    let ours = pipeline.get(configuration("ValidatingWebhookConfiguration")).await.unwrap();
    assert_eq!(ours["metadata"]["labels"]["boathook.dev/instance"], OWN);
}

#[tokio::test]
async fn what_a_quarantined_hook_registered_goes_and_comes_back_with_it() {
    let pipeline = reviewer(async |_| ()).await;
    let client = pipeline.cluster.admin.client.clone();
    let name = HookName::new("reviewer").unwrap();
    assert!(pipeline.operator.app.quarantine(&name, "as the test wants it"));
    let kind = || configuration("ValidatingWebhookConfiguration");
    for kind in [kind(), configuration("MutatingWebhookConfiguration")] {
        until("the registration is gone", async || pipeline.get(kind.clone()).await.is_none().then_some(())).await;
    }
    let object = config_map("let-through", &[(VALIDATE, "deny", "no")]);
    create(&client, &object, "").await.unwrap();
    pipeline.operator.app.release("reviewer").await.unwrap();
    until("the hook is registered again", async || pipeline.get(kind()).await).await;
    let object = config_map("refused", &[(VALIDATE, "deny", "no")]);
    let denied = |answer: Result<Value, (u16, String)>| answer.unwrap_err().1.ends_with("denied the request: no");
    assert!(denied(create(&client, &object, "").await));
    // A new version goes on under the same registration.
    let swapped = pipeline.operator.app.swap(guest_file("reviewer")).await.unwrap();
    assert_eq!(swapped.hook, name);
    assert!(denied(create(&client, &object, "").await));
    let uid = pipeline.get(kind()).await.unwrap()["metadata"]["uid"].clone();
    pipeline.operator.shutdown().await;
    let left = pipeline.cluster.admin.get(&kind()).await.unwrap().unwrap();
    assert_eq!(left["metadata"]["uid"], uid, "a restart must not open the cluster");
}

#[tokio::test]
async fn objects_are_converted_over_several_steps_when_the_cluster_asks() {
    let versions = ["v1", "v2", "v3"].map(|name| {
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        json!({"name": name, "served": true, "storage": name == "v2", "schema": schema})
    });
    let widgets = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.reviewer.test"},
        "spec": {
            "group": "reviewer.test",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": versions,
        },
    });
    let pipeline = reviewer(async |cluster| drop(cluster.admin.create(&widgets).await.unwrap())).await;
    until("the definition asks the hook", async || {
        let found = pipeline.get(widgets.clone()).await?;
        (found["spec"]["conversion"]["strategy"] == "Webhook").then_some(())
    })
    .await;
    let widget = |version: &str, annotations: Value| {
        let metadata = json!({"namespace": "default", "name": "w", "annotations": annotations});
        json!({"apiVersion": format!("reviewer.test/{version}"), "kind": "Widget", "metadata": metadata})
    };
    let mut first = widget("v1", json!({}));
    first["spec"] = json!({"size": 7});
    assert_eq!(pipeline.create(first).await["spec"], json!({"size": 7}));
    let get = async |version| pipeline.get(widget(version, json!({}))).await.unwrap()["spec"].clone();
    assert_eq!(get("v2").await, json!({"dimensions": {"size": 7}}));
    assert_eq!(get("v3").await, json!({"dimensions": {"sizes": [7]}}));
    // Its steps, in the order in which they are done.
    let answerer = pipeline.operator.app.answerer();
    let versioned = |version: &str, spec: Value| {
        let mut object = widget(version, json!({}));
        object["spec"] = spec;
        boathook_operator::webhook::Versioned {
            api_version: format!("reviewer.test/{version}"),
            json: object.to_string(),
        }
    };
    let request = |desired: &str| boathook_operator::webhook::ConversionRequest {
        crd: "widgets.reviewer.test".to_owned(),
        uid: "u".to_owned(),
        desired: desired.to_owned(),
        objects: vec![
            versioned("v3", json!({"dimensions": {"sizes": [3]}})),
            versioned("v1", json!({"size": 1})),
            versioned("v3", json!({"dimensions": {"sizes": [33]}})),
            versioned("v2", json!({"dimensions": {"size": 2}})),
        ],
    };
    let converted = answerer.convert(request("reviewer.test/v1"), Duration::from_secs(30)).await.unwrap();
    let boathook_operator::webhook::Converted::Objects(objects) = converted else { panic!("{converted:?}") };
    let sizes: Vec<Value> =
        objects.iter().map(|object| serde_json::from_str::<Value>(object).unwrap()["spec"]["size"].clone()).collect();
    assert_eq!(sizes, [json!(3), json!(1), json!(33), json!(2)]);
    let refused = answerer.convert(request("reviewer.test/v9"), Duration::from_secs(30)).await.unwrap();
    let boathook_operator::webhook::Converted::Failed(text) = refused else { panic!("{refused:?}") };
    assert!(text.contains("to v9: hooks convert v1 to v2, v2 to v1, v2 to v3, v3 to v2"), "{text}");
    // The API server never asks that.
    let forged = answerer.convert(request("other.test/v1"), Duration::from_secs(30)).await.unwrap_err();
    assert!(matches!(forged, Unanswered::OutOfScope(_)), "{forged:?}");
}

#[tokio::test]
async fn what_is_no_decision_is_distinguished() {
    let pipeline = Pipeline::on(TestCluster::start().await, &guests(["reviewer"]), |_| ()).await;
    pipeline.operator.ready().await;
    let answerer = pipeline.operator.app.answerer();
    let ask = async |hook: &str, binding: &str, wishes: &[_], patience| {
        let object = config_map("x", wishes);
        let request = json!({"uid": "u", "operation": "CREATE", "namespace": "default", "name": "x",
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "userInfo": {"username": "jane"}, "object": object, "dryRun": false});
        let request = AdmissionRequest {
            uid: "u".to_owned(),
            dry_run: false,
            operation: "CREATE".to_owned(),
            has_object: true,
            by_hand: false,
            json: Arc::from(request.to_string()),
        };
        answerer.review(AdmissionKind::Validating, hook, binding, request, Duration::from_millis(patience)).await
    };
    let long = 30_000;
    assert!(ask("reviewer", VALIDATE, &[], long).await.unwrap().verdict.denied.is_none());
    let unknown = ask("nobody", VALIDATE, &[], long).await.unwrap_err();
    assert_eq!(unknown, Unanswered::Unknown("there is no hook nobody".to_owned()));
    let unbound = ask("reviewer", MUTATE, &[], long).await.unwrap_err();
    assert!(
        matches!(&unbound, Unanswered::Unknown(text) if text.contains("no validating binding mutate.")),
        "{unbound:?}"
    );
    let failed = ask("reviewer", VALIDATE, &[(VALIDATE, "fail", "no luck")], long).await.unwrap_err();
    let expected = format!("hook reviewer, binding {VALIDATE}: no luck");
    assert_eq!(failed, Unanswered::Failed(expected));
    let late = ask("reviewer", VALIDATE, &[(VALIDATE, "sleep", "60000")], 300).await.unwrap_err();
    assert!(matches!(&late, Unanswered::Failed(_) | Unanswered::Deadline(_)), "{late:?}");
    let late = late.to_string();
    assert!(late.contains("no answer within 0.") && !late.contains("limits.time"), "{late}");
    assert!(pipeline.operator.app.quarantine(&HookName::new("reviewer").unwrap(), "as the test wants it"));
    let quarantined = ask("reviewer", VALIDATE, &[], long).await.unwrap_err();
    assert!(matches!(&quarantined, Unanswered::NotReady(text) if text.contains("quarantined")), "{quarantined:?}");
}

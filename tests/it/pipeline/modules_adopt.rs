//! Releases of Helm that modules take over.

use std::fs;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    modules_charts::{Bench, at},
    modules_commands::modules,
};
use crate::support::process::Ended;

fn map(name: &str, data: &Value) -> Value {
    let release = json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "default"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": {"name": name, "namespace": "default",
        "labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": release}})
}

/// What `bench.web()` renders to, in an earlier version: `web` has a key more, and there is `old`.
fn release() -> Vec<Value> {
    let web = json!({"port": "80", "release": "web default", "extra": "1"});
    ["web", "old", "more-0", "more-1", "more-2"]
        .map(|name| map(name, if name == "web" { &web } else { &Value::Null }))
        .into()
}

async fn send(bench: &Bench, method: &str, path: &str, manager: &str, body: &Value) -> Value {
    let request = http::Request::builder()
        .method(method)
        .uri(format!("/api/v1/namespaces/default/{path}?fieldManager={manager}"))
        .header("content-type", if method == "PATCH" { "application/merge-patch+json" } else { "application/json" })
        .body(body.to_string().into_bytes());
    bench.cluster.admin.client.request(request.unwrap()).await.unwrap()
}

/// Does what `helm install` has done, three revisions ago.
async fn helm(bench: &Bench, status: &str) {
    let objects = release();
    for object in &objects {
        send(bench, "POST", "configmaps", "helm", object).await;
    }
    let manifest: String =
        objects.iter().map(|one| format!("---\n# Source: web/templates/web.yaml\n{one}\n")).collect();
    let release = json!({"name": "web", "namespace": "default", "version": 3, "manifest": manifest, "hooks": null,
        "info": {"status": status, "last_deployed": "2026-05-04T09:12:40.123456789+02:00"},
        "chart": {"metadata": {"name": "web", "version": "1.0.0"}}});
    let text = STANDARD.encode(STANDARD.encode(release.to_string()));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": {"release": text},
        "metadata": {"name": "sh.helm.release.v1.web.v3", "labels": {"owner": "helm", "name": "web", "version": "3", "status": status}}});
    send(bench, "POST", "secrets", "helm", &secret).await;
}

async fn adopt(bench: &Bench, arguments: &[&str]) -> Ended {
    let arguments: Vec<&str> = ["adopt", "web", "--modules", "."].iter().chain(arguments).copied().collect();
    modules(&bench.cluster, bench.modules.path(), &arguments).await
}

fn managers(object: &Value) -> Vec<String> {
    let all = object["metadata"]["managedFields"].as_array().unwrap().iter();
    all.map(|entry| format!("{} {}", entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap()))
        .collect()
}

async fn bench() -> Bench {
    let bench = Bench::web().await;
    bench.put("values.yaml", "webEnabled: true\nweb: {port: 80, more: 3}\n");
    bench
}

// mutant: crates/operator/src/app/modules/adopt.rs: `own.insert("operation".to_owned(), "Apply".into());` => ``
#[tokio::test]
async fn a_release_of_helm_is_taken_over_with_its_fields_and_objects() {
    let bench = bench().await;
    helm(&bench, "deployed").await;
    let plan = adopt(&bench, &[]).await;
    assert_eq!(plan.code, Some(0), "{} {}", plan.stdout, plan.stderr);
    let lines: Vec<&str> = plan.stdout.lines().collect();
    assert_eq!(
        lines[..2],
        ["web: adopt revision 3 of Helm's release (web-1.0.0), 5 objects", "  then web: upgrade (adoption)"]
    );
    for line in ["    ~ v1 ConfigMap default/web", "    - v1 ConfigMap default/old", "    + v1 Secret default/web"] {
        assert!(lines.contains(&line), "{line:?} in {}", plan.stdout);
    }
    assert_eq!(lines.last(), Some(&"nothing was written: run the command with --yes to take over"));
    let before = bench.is_there("ConfigMap", "web").await;
    assert_eq!(managers(&before), ["helm Update"], "a plan writes nothing");

    // Somebody has edited an object.
    send(&bench, "PATCH", "configmaps/web", "kubectl-edit", &json!({"data": {"port": "99"}})).await;
    let plan = adopt(&bench, &[]).await;
    assert_eq!(plan.code, Some(1), "{} {}", plan.stdout, plan.stderr);
    let said = "in the way: v1 ConfigMap default/web: .data.port: conflict with \"kubectl-edit\"";
    assert!(plan.stdout.contains(said), "{}", plan.stdout);
    send(&bench, "PATCH", "configmaps/web", "helm", &json!({"data": {"port": "80"}})).await;

    let done = adopt(&bench, &["--yes"]).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    let taken = bench.is_there("ConfigMap", "web").await;
    assert_eq!(taken["data"], before["data"]);
    assert_eq!(managers(&taken), ["boathook.dev/modules/web Apply"]);
    let again = adopt(&bench, &["--yes"]).await;
    assert!(
        again.code == Some(2) && again.stderr.contains("is installed already, with revision 3"),
        "{}",
        again.stderr
    );

    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    bench.is_gone("ConfigMap", "old").await;
    let web = bench.is_there("ConfigMap", "web").await;
    assert_eq!(
        web["data"],
        json!({"port": "80", "release": "web default"}),
        "the key that the chart no longer has is gone"
    );
    assert_eq!(web["metadata"]["uid"], before["metadata"]["uid"]);
    let history = modules(&bench.cluster, bench.modules.path(), &["history", "web", "-o", "json"]).await;
    let history: Value = serde_json::from_str(&history.stdout).unwrap();
    let rows: Vec<_> = history.as_array().unwrap().iter().map(|row| (&row["revision"], &row["changed"][0])).collect();
    assert_eq!(rows, [(&json!(3), &json!("installation")), (&json!(4), &json!("adoption"))]);
    assert_eq!(history[0]["time"], "2026-05-04T07:12:40Z");
    assert!(bench.get("Secret", "sh.helm.release.v1.web.v3").await.is_some(), "Helm can take it back");
}

#[tokio::test]
async fn an_interrupted_takeover_is_finished_and_what_others_have_is_left() {
    let bench = bench().await;
    helm(&bench, "deployed").await;
    let other = json!({"metadata": {"annotations": {"meta.helm.sh/release-name": "api"}}});
    send(&bench, "PATCH", "configmaps/more-1", "helm", &other).await;
    bench.cluster.admin.delete(&map("more-2", &Value::Null)).await.unwrap();
    let done = adopt(&bench, &["--yes"]).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    for line in [
        "not taken over: v1 ConfigMap default/more-1: it belongs to the release api of Helm",
        "not taken over: v1 ConfigMap default/more-2: it does not exist",
    ] {
        assert!(done.stdout.contains(line), "{line:?} in {}", done.stdout);
    }
    // It is as if the command had ended before its last write.
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "boathook-module-web", "namespace": "default"}});
    bench.cluster.admin.delete(&secret).await.unwrap();
    let again = adopt(&bench, &["--yes"]).await;
    assert_eq!(again.code, Some(0), "{} {}", again.stdout, again.stderr);
    assert_eq!(managers(&bench.is_there("ConfigMap", "old").await), ["boathook.dev/modules/web Apply"]);
}

#[tokio::test]
async fn what_cannot_be_taken_over_is_refused() {
    let bench = bench().await;
    let none = adopt(&bench, &["--yes"]).await;
    let said = "there is no release web of Helm in the namespace default";
    assert!(none.code == Some(2) && none.stderr.contains(said), "{}", none.stderr);
    helm(&bench, "pending-upgrade").await;
    let pending = adopt(&bench, &["--yes"]).await;
    let said = "revision 3 of the release web is pending-upgrade: have Helm finish it first";
    assert!(pending.code == Some(2) && pending.stderr.contains(said), "{}", pending.stderr);
    bench.configure(json!({"webEnabled": "false"})).await;
    let off = adopt(&bench, &["--yes"]).await;
    assert!(off.code == Some(2) && off.stderr.contains("the module web is off"), "{}", off.stderr);
    assert_eq!(managers(&bench.is_there("ConfigMap", "web").await), ["helm Update"]);
    let bad = json!({"data": {"release": STANDARD.encode("%%")}});
    bench.configure(json!({"webEnabled": "true"})).await;
    send(&bench, "PATCH", "secrets/sh.helm.release.v1.web.v3", "x", &bad).await;
    let bad = adopt(&bench, &[]).await;
    assert!(bad.stderr.contains("sh.helm.release.v1.web.v3: it is not a release of Helm 3 or 4"), "{}", bad.stderr);
}

/// The operator's own release is one that no module has.
#[tokio::test]
async fn a_release_of_no_module_stays_when_modules_that_are_gone_are_deleted() {
    let bench = Bench::new(&[
        ("values.yaml", "goneEnabled: true\nkeptEnabled: true\n"),
        ("010-gone/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}"),
        ("020-kept/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}"),
    ])
    .await;
    helm(&bench, "deployed").await;
    let before = bench.is_there("ConfigMap", "old").await;
    let operator = bench.start().await;
    for module in ["gone", "kept"] {
        at(&operator, module, "ready").await;
    }
    operator.shutdown().await;
    fs::remove_dir_all(bench.modules.path().join("010-gone")).unwrap();
    bench.put("values.yaml", "keptEnabled: true\n");
    let operator = bench.start().await;
    bench.is_gone("ConfigMap", "gone").await;
    bench.is_gone("Secret", "boathook-module-gone").await;
    at(&operator, "kept", "ready").await;
    bench.is_there("ConfigMap", "kept").await;
    assert_eq!(bench.get("ConfigMap", "old").await, Some(before));
    assert!(bench.get("Secret", "sh.helm.release.v1.web.v3").await.is_some());
}

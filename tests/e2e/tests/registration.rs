//! What hooks register at the API server: kept as it should be, and taken back.
//! It never asks a hook more than whether it is asked.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Operator, Test, boathook};
use crate::webhooks::reviewer::{CONFIGURATION, DEFINITION, HOOK, definition};
use crate::webhooks::{MANAGED, SECRET, Site};

const VALIDATING: [&str; 2] = ["validatingwebhookconfiguration", CONFIGURATION];
const MUTATING: [&str; 2] = ["mutatingwebhookconfiguration", CONFIGURATION];
const WIDGETS: [&str; 2] = ["customresourcedefinition", DEFINITION];
const REPAIRED: &str = "registration repaired: another client changed or deleted it";

pub async fn changes_are_repaired(test: Arc<Test>) {
    let site = Site::new(&test).await;
    define(&site, &json!({"strategy": "None"})).await;
    let operator = site.operator(&[HOOK]).await;
    operator.ready().await;
    site.reviewed().await;
    let good = site.until(&VALIDATING, webhooks).await;
    let conversion = site.until(&WIDGETS, asks).await;

    patch(&site, &VALIDATING, json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}])).await;
    repaired(&operator, 1).await;
    assert_eq!(site.until(&VALIDATING, webhooks).await, good);
    patch(&site, &VALIDATING, json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}])).await;
    repaired(&operator, 2).await;
    assert_eq!(site.until(&VALIDATING, webhooks).await, good);
    // It would not be found by its label any more.
    patch(&site, &VALIDATING, json!([{"op": "remove", "path": "/metadata/labels"}])).await;
    repaired(&operator, 3).await;
    site.until(&VALIDATING, |object| object["metadata"]["labels"]["boathook.dev/hook"].as_str().map(drop)).await;
    for what in [VALIDATING, MUTATING] {
        site.cluster.kubectl(&["delete", what[0], what[1]]).await;
    }
    repaired(&operator, 5).await;
    assert_eq!(site.until(&VALIDATING, webhooks).await, good);
    site.reviewed().await;

    patch(&site, &WIDGETS, json!([{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}])).await;
    repaired(&operator, 6).await;
    assert_eq!(site.until(&WIDGETS, asks).await, conversion);
    // As somebody does who has the definition in a repository.
    let file = site.file("widgets.json", &definition(&json!({"strategy": "None"})));
    site.cluster.kubectl(&["replace", "--filename", &file]).await;
    repaired(&operator, 7).await;
    assert_eq!(site.until(&WIDGETS, asks).await, conversion);

    // What is as it should be is left alone: the API server fills in nothing that would be taken for a change.
    operator.stop().await;
    let versions = async || {
        let mut versions = Vec::new();
        for what in [VALIDATING, MUTATING, WIDGETS] {
            versions.push(site.object(&what).await.expect("it is there")["metadata"]["resourceVersion"].clone());
        }
        versions
    };
    let before = versions().await;
    let operator = site.operator(&[HOOK, "pod-defaults"]).await;
    operator.ready().await;
    site.until(&[MUTATING[0], "boathook-pod-defaults"], webhooks).await;
    assert_eq!(versions().await, before);
    operator.stop().await;
}

pub async fn it_goes_with_its_hook(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let former = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"service": {"namespace": "former", "name": "converter", "path": "/convert", "port": 443}},
        "conversionReviewVersions": ["v1"]}});
    define(&site, &former).await;
    let operator = site.operator(&[HOOK, "pod-defaults", "image-policy"]).await;
    operator.ready().await;
    site.reviewed().await;
    site.until(&WIDGETS, asks).await;
    operator.stop().await;
    let all =
        ["mutatingwebhookconfigurations boathook-pod-defaults", "mutatingwebhookconfigurations boathook-reviewer"];
    let [policy, reviewer] =
        ["image-policy", "reviewer"].map(|hook| format!("validatingwebhookconfigurations boathook-{hook}"));
    assert_eq!(site.registered().await, [all[0], all[1], &policy, &reviewer]);

    site.remove_hook("reviewer");
    let operator = site.operator(&[]).await;
    site.until_gone(&VALIDATING).await;
    site.until_gone(&MUTATING).await;
    site.until(&WIDGETS, |widgets| given_back(widgets, &former)).await;
    assert_eq!(site.registered().await, [all[0], &policy]);
    operator.ready().await;
    operator.stop().await;

    // And the last ones, with nobody left to answer.
    site.remove_hook("pod-defaults");
    site.remove_hook("image-policy");
    let operator = site.operator(&["startup"]).await;
    site.until_gone(&["validatingwebhookconfiguration", "boathook-image-policy"]).await;
    site.until_gone(&["mutatingwebhookconfiguration", "boathook-pod-defaults"]).await;
    operator.stop().await;
}

pub async fn uninstall_leaves_nothing(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let before = json!({"strategy": "None"});
    define(&site, &before).await;
    let operator = site.operator(&[HOOK]).await;
    operator.ready().await;
    site.reviewed().await;
    site.until(&WIDGETS, asks).await;
    operator.kill().await;
    // A Module whose operator stopped before its chart was deleted.
    crate::modules::define(&test, &site.cluster).await;
    let metadata = json!({"name": "web", "finalizers": ["boathook.dev/module", "example.com/other"]});
    let module = json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "Module", "metadata": metadata, "spec": {}});
    let file = site.file("module.json", &module);
    site.cluster.kubectl(&["create", "--filename", &file]).await;

    let shown = uninstall(&site, &[]).await;
    assert_eq!(shown.0, Some(2), "{}", shown.1);
    for what in
        ["validatingwebhookconfigurations boathook-reviewer", DEFINITION, SECRET, "would no longer keep Module web"]
    {
        assert!(shown.1.contains(what), "{what} in {}", shown.1);
    }
    let finalizers =
        async || site.object(&["module", "web"]).await.expect("it is there")["metadata"]["finalizers"].clone();
    assert_eq!(finalizers().await, json!(["boathook.dev/module", "example.com/other"]), "nothing is done yet");
    assert_eq!(site.registered().await.len(), 2, "nothing is done yet");
    let done = uninstall(&site, &["--yes"]).await;
    assert_eq!(done.0, Some(0), "{}", done.1);
    assert_eq!(site.registered().await, [] as [&str; 0]);
    assert_eq!(finalizers().await, json!(["example.com/other"]));
    assert!(given_back(&site.object(&WIDGETS).await.expect("it is there"), &before).is_some());
    for kind in ["secrets", "configmaps"] {
        let left = site.cluster.kubectl(&["get", kind, "--all-namespaces", MANAGED, "--output=name"]).await;
        assert_eq!(left, "");
    }
    site.makes("default", "free").await.expect("nobody is asked any more");
    let again = uninstall(&site, &["--yes"]).await;
    assert!(again.0 == Some(0) && again.1.contains("nothing"), "{again:?}");
}

async fn define(site: &Site, conversion: &Value) {
    let file = site.file("widgets.json", &definition(conversion));
    site.cluster.kubectl(&["create", "--filename", &file]).await;
    let established = ["wait", "--for=condition=Established", WIDGETS[0], WIDGETS[1], "--timeout=20s"];
    site.cluster.kubectl(&established).await;
}

async fn patch(site: &Site, what: &[&str; 2], patch: Value) {
    site.cluster.kubectl(&["patch", what[0], what[1], "--type=json", "--patch", &patch.to_string()]).await;
}

/// Waits for so many repairs, and makes sure that there are no more.
async fn repaired(operator: &Operator, count: usize) {
    let repairs = |line: &Value| line["message"] == REPAIRED;
    let what = format!("{count} repairs");
    operator.logs(&what, |_| operator.log().iter().filter(|line| repairs(line)).count() >= count).await;
    assert_eq!(operator.log().iter().filter(|line| repairs(line)).count(), count);
}

fn webhooks(configuration: &Value) -> Option<Value> {
    configuration.get("webhooks").cloned()
}

/// The definition's conversion, if it asks the operator.
fn asks(definition: &Value) -> Option<Value> {
    let conversion = &definition["spec"]["conversion"];
    let url = conversion["webhook"]["clientConfig"]["url"].as_str()?;
    url.contains(&format!("/convert/{DEFINITION}/")).then(|| conversion.clone())
}

/// It has this conversion, and no trace of the operator.
fn given_back(definition: &Value, conversion: &Value) -> Option<()> {
    let metadata = definition["metadata"].as_object()?;
    let text = |key: &str| metadata.get(key).map(Value::to_string).unwrap_or_default();
    let traces = text("labels").contains("boathook") || text("annotations").contains("boathook");
    (!traces && definition["spec"]["conversion"] == *conversion).then_some(())
}

/// The exit code, and all that was printed.
async fn uninstall(site: &Site, flags: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(boathook());
    command.arg("uninstall").arg("--kubeconfig").arg(&site.kubeconfig).args(flags).env_remove("KUBECONFIG");
    let output = command.kill_on_drop(true).output().await.expect("start boathook uninstall");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

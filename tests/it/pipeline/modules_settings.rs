//! Settings that a script of the module checks, and what is registered for a module that cannot be read.

use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

use boathook_core::model::{AdmissionKind, Verdict};
use boathook_operator::webhook::AdmissionRequest;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::{
    ResourceExt as _,
    api::{Api, ListParams},
};
use serde_json::{Value, json};

use super::{
    fixture::Operator,
    module_resources::{self, webhooks},
    modules_charts::{Bench, at, failed},
};
use crate::support::{
    guests::{compile, guest},
    until,
};

/// Ports with a meaning: each is another answer.
const CHECK: &str = r#"#!/bin/bash
case $(jq -r .port "$SETTINGS_PATH") in
  13) echo '{"valid": false, "message": "13 brings no luck", "warnings": ["think again"]}' ;;
  14) echo 'no such port' >&2; exit 3 ;;
  15) echo 'fine' ;;
  16) while true; do :; done ;;
  17) echo '{"valid": true, "warnings": ["17 is old"]}' >&2 ;;
  18) ;;
  *) echo '{"valid": true}'; echo 'a line for the log' >&2 ;;
esac
"#;

fn put_check(modules: &std::path::Path) {
    let script = modules.join("010-web/check-settings");
    fs::write(&script, CHECK).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Asks the operator about a Module, as the API server does.
async fn reviewed(operator: &Operator, settings: Value) -> Verdict {
    let object = json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "Module", "metadata": {"name": "web"},
        "spec": {"enabled": true, "settings": settings}});
    let request = AdmissionRequest {
        uid: "u".to_owned(),
        dry_run: false,
        operation: "CREATE".to_owned(),
        has_object: true,
        by_hand: false,
        json: Arc::from(json!({"operation": "CREATE", "object": object}).to_string()),
    };
    let (answerer, binding) = (operator.app.answerer(), "settings.modules.boathook.dev");
    let patience = Duration::from_secs(20);
    let answer = answerer.review(AdmissionKind::Validating, "module-settings", binding, request, patience).await;
    answer.unwrap().verdict
}

// mutant: crates/operator/src/app/module_settings.rs: `(refused, warnings) = self.checked(&change, patience.mul_f64(0.8)).await;` => ``
#[tokio::test]
async fn a_script_of_the_module_checks_settings_before_they_are_stored() {
    let bench = module_resources::Bench::web().await;
    put_check(bench.modules.path());
    let operator = bench.start_with(webhooks).await;
    bench.module(json!({"enabled": true, "settings": {"port": 81}})).await;
    bench.condition("Ready=True/Ready").await;
    // The webhook is registered a little later.
    let refused = async || {
        bench.module(json!({"enabled": true, "settings": {"port": 81}})).await;
        bench.try_module(json!({"enabled": true, "settings": {"port": 13}})).await.err()
    };
    let error = until("the script refuses settings", refused).await;
    assert!(error.contains("check-settings of the module web refuses the settings: 13 brings no luck"), "{error}");
    let map = |port: u32| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "addon-operator", "namespace": "default"}, "data": {"web": format!("port: {port}")}})
    };
    bench.cluster.admin.apply(&map(82)).await.unwrap();
    bench.module(json!({"enabled": true})).await;
    bench.port("82").await;
    let error = bench.cluster.admin.apply(&map(13)).await.unwrap_err().to_string();
    assert!(error.contains("13 brings no luck"), "{error}");
    // What the Module sets hides it.
    bench.module(json!({"enabled": true, "settings": {"port": 81}})).await;
    bench.port("81").await;
    bench.cluster.admin.apply(&map(13)).await.unwrap();

    // Whatever is no answer is a refusal.
    for (port, why) in [
        (14, "no such port"),
        (15, r#"it wrote "fine", which is no answer"#),
        (16, "the settings, so they are refused: "),
        (18, r#"it wrote "", which is no answer"#),
    ] {
        let denied = reviewed(&operator, json!({"port": port})).await.denied.unwrap().message;
        assert!(
            denied.contains("check-settings of the module web cannot check the settings") && denied.contains(why),
            "{denied}"
        );
    }
    let answer = reviewed(&operator, json!({"port": 17})).await;
    assert_eq!((answer.denied, answer.warnings), (None, vec!["17 is old".to_owned()]));
    let answer = reviewed(&operator, json!({"port": 13})).await;
    assert_eq!(answer.warnings, ["think again"]);
    // The schema comes first.
    let denied = reviewed(&operator, json!({"port": "a"})).await.denied.unwrap().message;
    assert!(denied.contains("want integer") && !denied.contains("check-settings"), "{denied}");
}

// mutant: crates/operator/src/app/modules/steps.rs: `&& let Err(why) = self.checks.accepted(name, &settings).await` => `&& let Err(why) = Ok::<(), String>(())`
#[tokio::test]
async fn nothing_of_a_module_runs_with_settings_that_its_script_refuses() {
    let bench = Bench::web().await;
    put_check(bench.modules.path());
    bench.configure(json!({"web": "port: 13"})).await;
    let operator = bench.start().await;
    let refused = "check-settings of the module web refuses the settings: 13 brings no luck";
    failed(&operator, "web", refused).await;
    assert!(bench.get("ConfigMap", "web").await.is_none());

    // Settings that are right start it, and wrong ones change nothing.
    bench.configure(json!({"web": "port: 81"})).await;
    bench.port("81").await;
    at(&operator, "web", "ready").await;
    for (port, why) in [("13", refused), ("15", "which is no answer")] {
        bench.configure(json!({"web": format!("port: {port}")})).await;
        failed(&operator, "web", why).await;
        bench.port("81").await;
    }
    bench.configure(json!({"web": "port: 82"})).await;
    bench.port("82").await;
    at(&operator, "web", "ready").await;

    // It can be turned off whatever its settings are.
    bench.configure(json!({"web": "port: 13"})).await;
    failed(&operator, "web", refused).await;
    bench.configure(json!({"web": "port: 13", "webEnabled": "false"})).await;
    bench.is_gone("ConfigMap", "web").await;
}

// mutant: crates/operator/src/app/modules/mod.rs: `let broken = self.broken.keys().filter(|name| !self.values.is_turned_off(name));` => `let broken = self.broken.keys();`
// mutant: crates/operator/src/app/module_values.rs: `modules.iter().chain(&self.broken).map(of).collect::<Vec<_>>()` => `modules.iter().map(of).collect::<Vec<_>>()`
#[tokio::test]
async fn what_is_registered_for_a_module_that_cannot_be_read_stays_until_the_module_is_off() {
    let bench = module_resources::Bench::web().await;
    let hooks = bench.modules.path().join("010-web/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("main.wasm"), guest("reviewer")).unwrap();
    compile(&[("main.web", guest("reviewer"))]).await;
    let registered: Api<ValidatingWebhookConfiguration> = Api::all(bench.cluster.admin.client.clone());
    let there = async || {
        let found = registered.list(&ListParams::default()).await.unwrap();
        found.items.iter().any(|one| one.name_any().contains("main")).then_some(())
    };
    let operator = bench.start_with(webhooks).await;
    bench.module(json!({"enabled": true})).await;
    bench.condition("Ready=True/Ready").await;
    until("the hook is registered", there).await;
    operator.shutdown().await;

    fs::write(bench.modules.path().join("010-web/openapi/config-values.yaml"), "type: [").unwrap();
    let operator = bench.start_with(webhooks).await;
    operator.until("modules have settled", |operator| operator.log.told("modules have settled").pop()).await;
    assert!(there().await.is_some(), "what it forbids stays forbidden");
    bench.module(json!({"enabled": false})).await;
    until("nothing of it is registered", async || there().await.is_none().then_some(())).await;
}

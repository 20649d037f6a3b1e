//! Modules with errors that pass, or that must not hold up the end of a module.

use std::fs;

use serde_json::json;

use super::modules_charts::{Bench, at, failed, object};

// mutant: crates/operator/src/app/modules/charts/render.rs: `_ => ReleaseError::Failed(format!("the chart: {error}")),` => `_ => ReleaseError::Refused(format!("the chart: {error}")),`
#[tokio::test]
async fn a_chart_that_fails_because_of_the_cluster_is_tried_again() {
    let template = "{{- if not (lookup \"v1\" \"ConfigMap\" \"default\" \"known\") }}{{ fail \"there is nothing yet\" }}{{ end }}\n\
                    apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";
    let bench = Bench::new(&[("values.yaml", "webEnabled: true\n"), ("010-web/templates/a.yaml", template)]).await;
    let operator = bench.start().await;
    failed(&operator, "web", "there is nothing yet").await;
    bench.cluster.admin.create(&object("ConfigMap", "known")).await.unwrap();
    at(&operator, "web", "ready").await;
    bench.is_there("ConfigMap", "web").await;
}

// mutant: crates/operator/src/app/modules/hooks.rs: `for hook in self.load_what_can_be(of, module).await {` => `for hook in self.load_all(of, module).await.map_err(|NotLoaded(why)| why)? {`
#[tokio::test]
async fn a_hook_that_cannot_be_loaded_does_not_hold_up_a_deletion() {
    let bench = Bench::web().await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    operator.shutdown().await;
    bench.put("010-web/hooks/bad.wasm", "this is no component");
    bench.configure(json!({"webEnabled": "false"})).await;
    let operator = bench.start().await;
    at(&operator, "web", "off").await;
    bench.is_gone("ConfigMap", "web").await;
    let told = operator.log.told("a hook cannot be loaded, and does not run for the deletion");
    assert!(!told.is_empty());

    // It does hold up the module itself.
    bench.configure(json!({"webEnabled": "true"})).await;
    failed(&operator, "web", "bad.web").await;
    assert!(bench.get("ConfigMap", "web").await.is_none());
    fs::remove_file(bench.modules.path().join("010-web/hooks/bad.wasm")).unwrap();
    at(&operator, "web", "ready").await;
}

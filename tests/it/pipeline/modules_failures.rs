//! Modules with errors that pass, or that must not hold up the end of a module.

use std::{fs, time::Duration};

use serde_json::json;

use super::{
    fixture::Operator,
    modules_charts::{Bench, at, failed, object, report},
    written::{Deed, hook},
};

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

#[tokio::test]
async fn a_run_without_end_is_ended_and_its_module_is_tried_again_until_it_is_off() {
    let bench = Bench::new(&[
        ("values.yaml", "spinsEnabled: true\nwebEnabled: true\n"),
        ("020-web/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}"),
    ])
    .await;
    let hooks = bench.modules.path().join("010-spins/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let spins = hook("{configVersion: v1, beforeHelm: 1, limits: {time: 300ms}}", &Deed::Spins);
    fs::write(hooks.join("main.wasm"), spins).unwrap();
    let operator = bench.start().await;
    failed(&operator, "spins", "hook main.spins: limits.time of 300ms reached").await;
    // Others go on.
    at(&operator, "web", "ready").await;
    let again = |operator: &Operator| report(operator, "spins").filter(|spins| spins.failures > 1).map(drop);
    operator.until("it is tried again", again).await;
    bench.configure(json!({"spinsEnabled": "false"})).await;
    at(&operator, "spins", "off").await;
}

#[tokio::test]
async fn an_upgrade_that_is_not_ready_in_time_has_failed() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Never, containers: [{name: c, image: \
               'example.com/c:1'}]}}";
    let bench = Bench::new(&[("values.yaml", "podEnabled: true\n"), ("010-pod/templates/a.yaml", pod)]).await;
    let operator = Operator::start(bench.cluster.admin.client.clone(), &[], |options| {
        bench.adjust(options);
        options.modules.as_mut().unwrap().chart_timeout = Duration::from_secs(1);
    })
    .await;
    failed(&operator, "pod", "not ready within 1 s: ").await;
    bench.is_there("Pod", "a").await;
}

//! Modules whose hooks are shell scripts, on a local cluster: what their hooks see and write, and what becomes of it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use boathook_core::model::HookName;
use boathook_modules::life::{Report, Subject};
use boathook_operator::app::{ModulesOptions, Options};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{interpreters, left_out, sandbox};
use crate::{
    pipeline::fixture::{Operator, Pipeline},
    support::{cluster::TestCluster, until},
};

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    if text.starts_with("#!") {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A script that tells what it sees, and then does this.
fn hook(config: &str, body: &str) -> String {
    format!(
        r#"#!/bin/bash
if [[ $1 == --config ]]; then echo '{config}'; exit; fi
set -e
binding=$(jq -r '.[0].binding' "$BINDING_CONTEXT_PATH")
{body}
"#
    )
}

/// Files of modules, and an operator that runs them.
struct Modules {
    folder: TempDir,
}

impl Modules {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("modules")).unwrap();
        files.iter().for_each(|(file, text)| put(folder.path(), file, text));
        Self { folder }
    }

    fn adjust(&self, options: &mut Options) {
        let mut modules = ModulesOptions::new(vec![self.folder.path().join("modules")]);
        modules.global_hooks = Some(self.folder.path().join("global-hooks")).filter(|directory| directory.is_dir());
        modules.retry_initial = Duration::from_millis(50);
        modules.retry_max = Duration::from_millis(200);
        options.modules = Some(modules);
        options.sandbox.interpreters = vec![interpreters()];
    }

    async fn start(&self) -> Pipeline {
        sandbox().await;
        Pipeline::on(TestCluster::start().await, &[], |options| self.adjust(options)).await
    }
}

fn report(operator: &Operator, module: &str) -> Option<Report> {
    let subject = Subject::Module(module.parse().unwrap());
    operator.app.modules().into_iter().find(|report| report.subject == subject)
}

async fn reaches(operator: &Operator, module: &str, at: &str) -> Report {
    let found = |operator: &Operator| report(operator, module).filter(|report| report.at == at);
    operator.until(&format!("module {module} is at {at}"), found).await
}

fn config_map(data: Value) -> Value {
    let metadata = json!({"namespace": "default", "name": "addon-operator"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

fn secret(module: &str) -> Value {
    let name = format!("boathook-module-values-{module}");
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": name}})
}

const WEB: &str =
    r#"{"configVersion": "v1", "onStartup": 1, "beforeHelm": 10, "afterHelm": 10, "afterDeleteHelm": 10}"#;
const SAYS: &str = r#"echo "$binding port=$(jq -r .web.port "$VALUES_PATH") replicas=$(jq -r '.web.replicas // "none"' "$VALUES_PATH") config=$(jq -c .web "$CONFIG_VALUES_PATH")"
if [[ $binding == onStartup ]]; then
  echo '{"op": "add", "path": "/web/replicas", "value": 3}' >> "$VALUES_JSON_PATCH_PATH"
fi"#;

fn web() -> Modules {
    let main = hook(WEB, SAYS);
    Modules::new(&[
        ("modules/010-web/values.yaml", "web: {port: 80}\nwebEnabled: true\n"),
        ("modules/010-web/hooks/main.sh", &main),
    ])
}

#[tokio::test]
async fn hooks_of_modules_see_values_write_values_and_follow_the_configuration() {
    if left_out() {
        return;
    }
    let modules = web();
    let pipeline = modules.start().await;
    let operator = &pipeline.operator;
    reaches(operator, "web", "ready").await;
    let said = operator.log.said("main.web");
    let lines = ["onStartup port=80 replicas=none config={}", "beforeHelm port=80 replicas=3 config={}"];
    assert_eq!(said, [&lines[..], &["afterHelm port=80 replicas=3 config={}"]].concat());
    pipeline.create(config_map(json!({"web": "port: 8080\n"}))).await;
    operator.said("main.web", r#"afterHelm port=8080 replicas=3 config={"port":8080}"#).await;
    assert!(!operator.log.said("main.web")[3..].iter().any(|line| line.starts_with("onStartup")), "it starts once");
    // What is not valid changes nothing.
    pipeline.apply(config_map(json!({"web": "port: 9\n", "webEnabled": "maybe"}))).await;
    operator
        .until("the warning", |operator| {
            operator.log.told("the configuration of modules is not valid").first().cloned()
        })
        .await;
    assert_eq!(report(operator, "web").unwrap().at, "ready");
    assert!(pipeline.get(secret("web")).await.is_some());
    pipeline.apply(config_map(json!({"web": "port: 8080\n", "webEnabled": "false"}))).await;
    let off = reaches(operator, "web", "off").await;
    assert_eq!((off.on, off.why.as_str()), (Some(false), "the configuration addon-operator turns it off"));
    operator.said("main.web", r#"afterDeleteHelm port=8080 replicas=3 config={"port":8080}"#).await;
    assert_eq!(pipeline.get(secret("web")).await, None, "what its hooks wrote is forgotten");
    assert!(operator.app.hook(&HookName::new("main.web").unwrap()).is_none());
    // It is on again, without what its hooks wrote before.
    let before = operator.log.said("main.web").len();
    pipeline.apply(config_map(json!({"web": "port: 8080\n", "webEnabled": "true"}))).await;
    reaches(operator, "web", "ready").await;
    let said = &operator.log.said("main.web")[before..];
    assert_eq!(said[0], r#"onStartup port=8080 replicas=none config={"port":8080}"#);
}

#[tokio::test]
async fn what_hooks_wrote_is_there_after_a_restart() {
    if left_out() {
        return;
    }
    let modules = web();
    let pipeline = modules.start().await;
    reaches(&pipeline.operator, "web", "ready").await;
    let Pipeline { cluster, operator } = pipeline;
    operator.shutdown().await;
    let again = Operator::start(cluster.admin.client.clone(), &[], |options| modules.adjust(options)).await;
    reaches(&again, "web", "ready").await;
    assert_eq!(again.log.said("main.web")[0], "onStartup port=80 replicas=3 config={}");
}

#[tokio::test]
async fn a_broken_module_and_a_chart_hold_up_only_those_that_need_them() {
    if left_out() {
        return;
    }
    let stage = r#"{"configVersion": "v1", "beforeHelm": 1}"#;
    let (breaks, good) = (hook(stage, "echo broken >&2; exit 1"), hook(stage, "echo ran"));
    let modules = Modules::new(&[
        ("modules/values.yaml", "brokenEnabled: true\nchartedEnabled: true\nwebEnabled: true\napiEnabled: true\n"),
        ("modules/010-broken/hooks/main.sh", &breaks),
        ("modules/010-charted/templates/a.yaml", "{{ fail \"no such chart\" }}"),
        ("modules/020-web/hooks/main.sh", &good),
        ("modules/030-api/hooks/main.sh", &good),
        ("modules/030-api/module.yaml", "requirements: {modules: {broken: ''}}\n"),
    ]);
    let pipeline = modules.start().await;
    let operator = &pipeline.operator;
    reaches(operator, "web", "ready").await;
    operator.until("the second failure", |operator| report(operator, "broken").filter(|it| it.failures > 1)).await;
    let broken = report(operator, "broken").unwrap();
    assert_eq!((broken.at, broken.error.as_deref()), ("BeforeHelm", Some("hook main.broken: broken")));
    let api = report(operator, "api").unwrap();
    assert_eq!((api.at, api.waits.as_deref()), ("Start", Some("the module broken")));
    assert_eq!(operator.log.said("main.api"), [""; 0]);
    let failed = |operator: &Operator| report(operator, "charted").and_then(|charted| charted.error);
    assert!(operator.until("the chart fails", failed).await.contains("no such chart"));
    // It is repaired by being turned off.
    pipeline.create(config_map(json!({"brokenEnabled": "false"}))).await;
    reaches(operator, "broken", "off").await;
    assert_eq!(report(operator, "api").unwrap().why, "it needs the module broken, which is off");
}

#[tokio::test]
async fn global_hooks_turn_modules_on_and_scripts_turn_them_off() {
    if left_out() {
        return;
    }
    let global = hook(
        r#"{"configVersion": "v1", "beforeAll": 1, "afterAll": 1}"#,
        r#"echo "$binding $(jq -c . "$VALUES_PATH")"
if [[ $binding == beforeAll ]]; then
  echo '[{"op": "add", "path": "/global/zone", "value": "a"}, {"op": "add", "path": "/dbEnabled", "value": true}]' > "$VALUES_JSON_PATCH_PATH"
fi"#,
    );
    let body = r#"echo "zone $(jq -r .global.zone "$VALUES_PATH")"
echo "size $(jq -r .db.size "$VALUES_PATH")""#;
    let db = hook(r#"{"configVersion": "v1", "beforeHelm": 1}"#, body);
    let enabled = r#"#!/bin/bash
if [[ $(jq -r .web.size "$VALUES_PATH") -gt 3 ]]; then
  echo true > "$MODULE_ENABLED_RESULT"
else
  echo "size is too small, after $(jq -c .global.enabledModules "$VALUES_PATH")" > "$MODULE_ENABLED_REASON"
  echo false > "$MODULE_ENABLED_RESULT"
fi
"#;
    let modules = Modules::new(&[
        ("global-hooks/hooks/main.sh", &global),
        ("modules/values.yaml", "global: {region: eu}\nwebEnabled: true\nweb: {size: 1}\n"),
        ("modules/010-db/hooks/main.sh", &db),
        ("modules/020-web/enabled", enabled),
    ]);
    let pipeline = modules.start().await;
    let operator = &pipeline.operator;
    reaches(operator, "db", "ready").await;
    operator.said("main.db", "zone a").await;
    let off = |operator: &Operator| report(operator, "web").filter(|web| web.on == Some(false));
    let web = operator.until("the script's answer", off).await;
    assert_eq!(web.why, "its script says no: size is too small, after [\"db\"]");
    operator.said("main.global", r#"afterAll {"global":{"region":"eu","zone":"a"}}"#).await;
    // A script sees values as they are now.
    pipeline.create(config_map(json!({"web": "size: 4\n", "db": "size: 5\n"}))).await;
    assert_eq!(reaches(operator, "web", "ready").await.on, Some(true));
    // A module that a global hook turned on has its configuration, too.
    operator.said("main.db", "size 5").await;
}

#[tokio::test]
async fn a_script_that_decides_reads_neither_the_cluster_nor_files_of_the_host() {
    if left_out() {
        return;
    }
    let enabled = r#"#!/bin/bash
if kubectl get configmap known > /dev/null 2>&1 || [[ -e /etc/passwd ]]; then
  echo true > "$MODULE_ENABLED_RESULT"
else
  echo "it sees nothing" > "$MODULE_ENABLED_REASON"
  echo false > "$MODULE_ENABLED_RESULT"
fi
"#;
    let modules = Modules::new(&[("modules/values.yaml", "webEnabled: true\n"), ("modules/010-web/enabled", enabled)]);
    sandbox().await;
    let cluster = TestCluster::start().await;
    let known = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "known"}});
    cluster.admin.create(&known).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[], |options| modules.adjust(options)).await;
    let answered = |operator: &Operator| report(operator, "web").filter(|web| web.on.is_some());
    let web = pipeline.operator.until("the script's answer", answered).await;
    assert_eq!((web.on, web.why.as_str()), (Some(false), "its script says no: it sees nothing"));
}

#[tokio::test]
async fn a_hook_writes_the_configuration_and_a_wrong_change_fails_its_run() {
    if left_out() {
        return;
    }
    let schema = "type: object\nproperties: {size: {type: integer, maximum: 9}, name: {type: string}}\n";
    let body = r#"size=$(jq -r '.web.size // 0' "$CONFIG_VALUES_PATH")
echo "$binding size=$size"
if [[ $size == 0 ]]; then
  echo '{"op": "add", "path": "/web/size", "value": 7}' > "$CONFIG_VALUES_JSON_PATCH_PATH"
elif [[ $(jq -r .web.size "$VALUES_PATH") == 8 ]]; then
  echo '{"op": "add", "path": "/web/name", "value": "x"}' > "$VALUES_JSON_PATCH_PATH"
  echo '{"op": "add", "path": "/web/size", "value": 10}' > "$CONFIG_VALUES_JSON_PATCH_PATH"
fi"#;
    let main = hook(r#"{"configVersion": "v1", "beforeHelm": 1}"#, body);
    let modules = Modules::new(&[
        ("modules/010-web/values.yaml", "webEnabled: true\n"),
        ("modules/010-web/openapi/config-values.yaml", schema),
        ("modules/010-web/hooks/main.sh", &main),
    ]);
    let pipeline = modules.start().await;
    let operator = &pipeline.operator;
    reaches(operator, "web", "ready").await;
    let written = until("the configuration", async || pipeline.get(config_map(json!({}))).await).await;
    let section: Value = serde_json::from_str(written["data"]["web"].as_str().unwrap()).unwrap();
    assert_eq!(section, json!({"size": 7}));
    assert_eq!(operator.log.said("main.web"), ["beforeHelm size=0"], "its own change needs no other run");
    pipeline.apply(config_map(json!({"web": "size: 8\n"}))).await;
    let failed = |operator: &Operator| report(operator, "web").and_then(|web| web.error);
    let error = operator.until("the refusal", failed).await;
    assert!(error.contains("the change of the configuration is refused: web.size"), "{error}");
    assert_eq!(pipeline.get(secret("web")).await, None, "nothing of the run is taken");
    let said = operator.log.said("main.web");
    assert!(!said.contains(&"beforeHelm size=7".to_owned()), "its own change was not a change by others: {said:?}");
}

#[tokio::test]
async fn synchronizations_come_before_the_first_stage_and_snapshots_with_each() {
    if left_out() {
        return;
    }
    let config = r#"{"configVersion": "v1", "beforeHelm": 1, "kubernetes": [{"name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "namespace": {"nameSelector": {"matchNames": ["default"]}}, "labelSelector": {"matchLabels": {"a": "b"}}, "jqFilter": ".metadata.name"}]}"#;
    let body = r#"names=$(jq -c '[(.[0].objects // .[0].snapshots.maps)[].filterResult]' "$BINDING_CONTEXT_PATH")
echo "$binding $(jq -r '.[0].type // "stage"' "$BINDING_CONTEXT_PATH") $names $(jq -c '.web.names' "$VALUES_PATH")"
if [[ $binding == maps ]]; then
  jq -n --argjson names "$names" '{op: "add", path: "/web/names", value: $names}' > "$VALUES_JSON_PATCH_PATH"
fi"#;
    let modules = Modules::new(&[
        ("modules/010-web/values.yaml", "webEnabled: true\n"),
        ("modules/010-web/hooks/main.sh", &hook(config, body)),
    ]);
    sandbox().await;
    let cluster = TestCluster::start().await;
    let metadata = json!({"namespace": "default", "name": "one", "labels": {"a": "b"}});
    cluster.admin.create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[], |options| modules.adjust(options)).await;
    reaches(&pipeline.operator, "web", "ready").await;
    let said = pipeline.operator.log.said("main.web");
    assert_eq!(said, [r#"maps Synchronization ["one"] null"#, r#"beforeHelm stage ["one"] ["one"]"#]);
}

#[tokio::test]
async fn ticks_and_events_wake_hooks_of_modules_until_the_module_is_off() {
    if left_out() {
        return;
    }
    let config = r#"{"configVersion": "v1", "beforeHelm": 1, "schedule": [{"name": "tick", "crontab": "* * * * * *"}], "kubernetes": [{"name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "namespace": {"nameSelector": {"matchNames": ["default"]}}, "labelSelector": {"matchLabels": {"a": "b"}}, "executeHookOnSynchronization": false}]}"#;
    let body = r#"jq -r '.[] | "\(.binding) \(.type // "stage")"' "$BINDING_CONTEXT_PATH"
if [[ $(jq -c '[.[].type]' "$BINDING_CONTEXT_PATH") == *Event* ]]; then
  echo '{"op": "add", "path": "/web/seen", "value": true}' > "$VALUES_JSON_PATCH_PATH"
fi
if [[ $binding == beforeHelm ]]; then
  echo "seen=$(jq -r .web.seen "$VALUES_PATH")"
fi"#;
    let modules = Modules::new(&[
        ("modules/010-web/values.yaml", "webEnabled: true\n"),
        ("modules/010-web/hooks/main.sh", &hook(config, body)),
    ]);
    let pipeline = modules.start().await;
    let operator = &pipeline.operator;
    reaches(operator, "web", "ready").await;
    operator.said("main.web", "tick Schedule").await;
    assert!(!operator.log.said("main.web").contains(&"seen=true".to_owned()));
    let metadata = json!({"namespace": "default", "name": "one", "labels": {"a": "b"}});
    pipeline.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await;
    operator.said("main.web", "maps Event").await;
    // What the hook wrote needs another chart, which begins with this stage.
    operator.said("main.web", "seen=true").await;
    pipeline.create(config_map(json!({"webEnabled": "false"}))).await;
    reaches(operator, "web", "off").await;
    // Its schedule and its watch end with the hook.
    let hook = HookName::new("main.web").unwrap();
    assert!(operator.app.hook(&hook).is_none(), "nothing wakes it any more");
    assert_eq!(operator.app.tick(&hook, "tick"), 0);
}

#[tokio::test]
async fn schedules_of_modules_wait_until_each_module_was_tried() {
    if left_out() {
        return;
    }
    let config = r#"{"configVersion": "v1", "schedule": [{"name": "tick", "crontab": "* * * * * *"}]}"#;
    let modules = Modules::new(&[
        ("modules/values.yaml", "webEnabled: true\nslowEnabled: true\n"),
        ("modules/010-web/hooks/main.sh", &hook(config, "echo tick")),
        ("modules/020-slow/hooks/main.sh", &hook(r#"{"configVersion": "v1", "beforeHelm": 1}"#, "sleep 3")),
    ]);
    let pipeline = modules.start().await;
    let operator = &pipeline.operator;
    operator.said("main.web", "tick").await;
    let lines = operator.log.lines();
    let place = |what: &str| lines.iter().position(|line| line["message"] == what);
    let (settled, tick) = (place("modules have settled"), place("tick"));
    assert!(settled.is_some() && settled < tick, "{settled:?} {tick:?}");
}

#[tokio::test]
async fn metrics_of_a_hook_go_with_its_module() {
    if left_out() {
        return;
    }
    let body = r#"echo '{"name": "web_ports", "set": 2, "group": "ports"}' > "$METRICS_PATH""#;
    let modules = Modules::new(&[
        ("modules/010-web/values.yaml", "webEnabled: true\n"),
        ("modules/010-web/hooks/main.sh", &hook(r#"{"configVersion": "v1", "beforeHelm": 1}"#, body)),
    ]);
    let pipeline = modules.start().await;
    let operator = &pipeline.operator;
    reaches(operator, "web", "ready").await;
    let has = async |line: &str| operator.page("/metrics/hooks").await.contains(line);
    until("the metric is shown", async || has(r#"web_ports{hook="main.web"} 2"#).await.then_some(())).await;
    pipeline.create(config_map(json!({"webEnabled": "false"}))).await;
    reaches(operator, "web", "off").await;
    until("the metric is gone", async || (!has("web_ports").await).then_some(())).await;
}

#[tokio::test]
async fn what_kubectl_writes_in_a_run_that_fails_stays_and_the_runs_patches_are_not_applied() {
    if left_out() {
        return;
    }
    let body = r#"echo '{"operation": "Create", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "never", "namespace": "default"}}}' > "$KUBERNETES_PATCH_PATH"
kubectl patch configmap state --type merge -p '{"data": {"phase": "failed"}}'
echo "no database" >&2
exit 1"#;
    let permissions = "permissions:\n  kubernetes:\n  - {apiGroups: [''], resources: [configmaps], verbs: [get, create, update, patch], namespaces: [default]}\n";
    let modules = Modules::new(&[
        ("modules/010-web/values.yaml", "webEnabled: true\n"),
        ("modules/010-web/hooks/main.sh", &hook(r#"{"configVersion": "v1", "beforeHelm": 1}"#, body)),
        ("modules/010-web/hooks/main.boathook.yaml", permissions),
    ]);
    sandbox().await;
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}});
    let cluster = TestCluster::start().await;
    cluster.admin.create(&map("state")).await.unwrap();
    let pipeline = Pipeline::on(cluster, &[], |options| modules.adjust(options)).await;
    let twice = |operator: &Operator| report(operator, "web").filter(|web| web.failures > 1).and_then(|web| web.error);
    let error = pipeline.operator.until("the second failure", twice).await;
    assert_eq!(error, "hook main.web: no database");
    assert_eq!(pipeline.get(map("state")).await.unwrap()["data"], json!({"phase": "failed"}));
    assert_eq!(pipeline.get(map("never")).await, None);
}

#[tokio::test]
async fn a_program_that_cannot_run_is_named_and_is_no_hook() {
    if left_out() {
        return;
    }
    let modules = Modules::new(&[
        ("modules/010-web/values.yaml", "webEnabled: true\n"),
        ("modules/010-web/hooks/program.py", "#!/usr/bin/env python3\nprint('configVersion: v1')\n"),
    ]);
    let pipeline = modules.start().await;
    let failed = |operator: &Operator| report(operator, "web").and_then(|web| web.error);
    let error = pipeline.operator.until("the refusal", failed).await;
    assert!(error.contains("program.py is executable, and is neither a component NAME.wasm nor a script"), "{error}");
    assert_eq!(report(&pipeline.operator, "web").unwrap().at, "Start");
}

#[tokio::test]
async fn stages_of_modules_are_refused_for_other_hooks() {
    if left_out() {
        return;
    }
    sandbox().await;
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.sh", &hook(r#"{"configVersion": "v1", "beforeHelm": 1}"#, "true"));
    let directory = folder.path().to_owned();
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |options| {
        options.hooks = Some(directory);
        options.sandbox.interpreters = vec![interpreters()];
    })
    .await;
    let quarantined = pipeline.operator.app.readiness().quarantined;
    let why =
        "its document has beforeHelm, which is for hooks of a module: put the hook into the `hooks` folder of a module";
    assert!(quarantined[0].1.contains(why), "{quarantined:?}");
}

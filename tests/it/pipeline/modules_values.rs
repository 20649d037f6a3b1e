//! Values of modules, as hooks see them that are components.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{
    fixture::{Operator, Pipeline},
    module_resources::webhooks,
    modules_charts::{Bench, at, failed},
};
use crate::{
    script::{build, python},
    support::{
        cluster::client,
        guests::{compile, go_guest, guest},
        until,
    },
};

/// The path of the configuration.
const MAP: &str = "/api/v1/namespaces/default/configmaps/addon-operator";

const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  port: {{ .Values.web.port | quote }}\n  \
                        replicas: {{ .Values.web.replicas | quote }}\n";
const CONFIG: &str =
    "properties: {port: {type: integer}, seen: {type: string}, refuse: {type: boolean}, gone: {type: string}}\n";
const VALUES: &str =
    "x-extend: {schema: config-values.yaml}\nproperties: {replicas: {type: integer}, gone: {type: integer}}\n";

/// What the guest `valued` does.
const TYPESCRIPT: &str = r#"import { hook, log, values } from "@boathook/sdk";

export default hook({
  config: { onStartup: 1 },
  run() {
    const seen = values.get<{ global: { region: string }; web: { port: number } }>();
    const config = values.config<{ web: unknown }>();
    log.info(`port=${seen.web.port} region=${JSON.stringify(seen.global.region)} config=${JSON.stringify(config.web)}`);
    values.set("/web/replicas", 3);
    values.set("/web/gone", 1);
    values.remove("/web/gone");
    values.setConfig("/web/seen", "yes");
    values.setConfig("/web/gone", "yes");
    values.removeConfig("/web/gone");
  },
});
"#;

const PYTHON: &str = r#"import json
import boathook
from boathook import log, values

boathook.configure({"onStartup": 1})


@boathook.on_startup
def run():
    seen, web = values.get(), json.dumps(values.config()["web"], separators=(",", ":"))
    log.info(f"port={seen['web']['port']} region={json.dumps(seen['global']['region'])} config={web}")
    values.set("/web/replicas", 3)
    values.set("/web/gone", 1)
    values.remove("/web/gone")
    values.set_config("/web/seen", "yes")
    values.set_config("/web/gone", "yes")
    values.remove_config("/web/gone")
"#;

pub(super) async fn bench() -> Bench {
    bench_of(guest("valued")).await
}

/// With this hook in the module `web`.
pub(super) async fn bench_of(hook: Vec<u8>) -> Bench {
    let bench = Bench::new(&[
        ("values.yaml", "webEnabled: true\nglobal: {region: eu}\nweb: {port: 80}\n"),
        ("010-web/templates/web.yaml", TEMPLATE),
        ("010-web/openapi/config-values.yaml", CONFIG),
        ("010-web/openapi/values.yaml", VALUES),
    ])
    .await;
    let hooks = bench.modules.path().join("010-web/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    std::fs::write(hooks.join("main.wasm"), &hook).unwrap();
    compile(&[("main.web", hook)]).await;
    bench
}

/// The hook of the module sees its values, and what it changes is taken.
async fn sees_and_changes(hook: Vec<u8>) {
    let bench = bench_of(hook).await;
    bench.configure(json!({"web": "port: 81"})).await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    assert_eq!(operator.log.said("main.web"), [r#"port=81 region="eu" config={"port":81}"#]);
    let map = bench.port("81").await;
    assert_eq!(map["data"]["replicas"], "3");
    let config = bench.is_there("ConfigMap", "addon-operator").await;
    let written: Value = serde_json::from_str(config["data"]["web"].as_str().unwrap()).unwrap();
    assert_eq!(written, json!({"port": 81, "seen": "yes"}));
}

#[tokio::test]
async fn a_component_sees_and_changes_the_values_of_its_module() {
    sees_and_changes(guest("valued")).await;
}

#[tokio::test]
async fn a_script_in_typescript_sees_and_changes_the_values_of_its_module() {
    let project = build::project(TYPESCRIPT);
    sees_and_changes(std::fs::read(build::built(project.path()).unwrap()).unwrap()).await;
}

#[tokio::test]
async fn a_script_in_python_sees_and_changes_the_values_of_its_module() {
    python::sandbox().await;
    sees_and_changes(python::packed(&[("hook.py", PYTHON)])).await;
}

#[tokio::test]
async fn a_component_in_go_sees_and_changes_the_values_of_its_module() {
    let Some(hook) = go_guest("valued") else { return };
    sees_and_changes(hook).await;
}

#[tokio::test]
async fn what_a_schema_refuses_fails_the_run_of_a_component() {
    let bench = bench().await;
    bench.configure(json!({"web": "refuse: true"})).await;
    let operator = bench.start().await;
    let why = failed(&operator, "web", "the change of values is refused").await;
    assert!(why.contains("web.port: want integer, but got string"), "{why}");
    assert!(bench.get("Secret", "boathook-module-values-web").await.is_none(), "nothing of the run is taken");
}

/// A client whose first read of the configuration fails. Somebody else writes the configuration just before its first write.
fn disturbed(url: &str) -> Client {
    let (inner, other) = (client(url), client(url));
    let (read, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let send = move |request: http::Request<Body>| {
        let (inner, other) = (inner.clone(), other.clone());
        let is_first = |method: http::Method, before: &AtomicBool| {
            *request.method() == method && request.uri().path() == MAP && !before.swap(true, Ordering::SeqCst)
        };
        let (fails, is_late) = (is_first(http::Method::GET, &read), is_first(http::Method::PUT, &written));
        async move {
            if fails {
                let answer = http::Response::builder().status(500).body(Body::from(b"not now".to_vec()));
                return Ok(answer.unwrap());
            }
            if is_late {
                let change = http::Request::patch(MAP)
                    .header("content-type", "application/merge-patch+json")
                    .body(json!({"data": {"other": "a: 1"}}).to_string().into_bytes());
                let _: Value = other.request(change.unwrap()).await.unwrap();
            }
            inner.send(request).await
        }
    };
    Client::new(tower::service_fn(send), "default")
}

// mutant: crates/operator/src/app/module_values.rs: `Err(kube::Error::Api(status)) if status.code == 409 => continue,` => ``
#[tokio::test]
async fn a_change_of_the_configuration_is_not_lost_and_overwrites_nobody() {
    let bench = bench().await;
    bench.configure(json!({"web": "port: 81"})).await;
    let operator = bench.start_with(disturbed(&bench.cluster.cluster.url())).await;
    failed(&operator, "web", "the change of the configuration is refused: the ConfigMap default/addon-operator: ")
        .await;
    at(&operator, "web", "ready").await;
    assert_eq!(operator.log.said("main.web").len(), 2, "the run was tried again once");
    let config = bench.is_there("ConfigMap", "addon-operator").await;
    assert_eq!(config["data"]["other"], "a: 1");
    let written: Value = serde_json::from_str(config["data"]["web"].as_str().unwrap()).unwrap();
    assert_eq!(written, json!({"port": 81, "seen": "yes"}));
}

#[tokio::test]
async fn a_component_outside_of_modules_has_no_values() {
    let pipeline = Pipeline::start(["valued"]).await;
    let why =
        "no values: the hook belongs to no module, so it has no values: put it into the `hooks` folder of a module";
    pipeline.operator.said("valued", why).await;
}

/// Definitions of the guest `valued-answers`.
fn definition(kind: &str, plural: &str, versions: &[&str]) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &&str| json!({"name": name, "served": true, "storage": *name == "v1", "schema": schema, "subresources": {"status": {}}});
    let versions: Vec<_> = versions.iter().map(version).collect();
    let names = json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.valued.test")},
        "spec": {"group": "valued.test", "scope": "Namespaced", "names": names, "versions": versions}})
}

// mutant: crates/operator/src/app/modules/mod.rs: `self.steps.hooks.ask_again(&of);` => ``
// mutant: crates/operator/src/app/module_values.rs: `seen(&self.store(), of, false)` => `seen(&self.store(), of, true)`
// mutant: crates/operator/src/app/hooks.rs: `["boathook:hook/kube", "boathook:hook/snapshots", "boathook:hook/values", "wasi:http/"]` => `["boathook:hook/kube", "boathook:hook/snapshots", "wasi:http/"]`
#[tokio::test]
async fn what_a_hook_of_a_module_answers_follows_its_values_and_does_not_change_them() {
    let bench = bench_of(guest("valued-answers")).await;
    let scales = definition("Scale", "scales", &["v1", "v2"]);
    for object in [&scales, &definition("Gauge", "gauges", &["v1"])] {
        bench.cluster.admin.create(object).await.unwrap();
    }
    let client = bench.cluster.admin.client.clone();
    let operator = Operator::start(client, &[], |options| {
        bench.adjust(options);
        webhooks(options);
    })
    .await;
    at(&operator, "web", "ready").await;
    let custom = |version: &str, kind: &str| {
        json!({"apiVersion": format!("valued.test/{version}"), "kind": kind, "metadata": {"namespace": "default", "name": "one"},
            "spec": {}})
    };
    until("the hook converts", async || {
        let found = bench.cluster.admin.get(&scales).await.unwrap().unwrap();
        (found["spec"]["conversion"]["strategy"] == "Webhook").then_some(())
    })
    .await;
    for kind in ["Scale", "Gauge"] {
        bench.cluster.admin.create(&custom("v1", kind)).await.unwrap();
    }
    for port in ["80", "81"] {
        if port == "81" {
            bench.configure(json!({"web": "port: 81"})).await;
        }
        let denied = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "default", "name": "denied", "labels": {"valued": "yes"}}});
        let denies = async || {
            let error = bench.cluster.admin.create(&denied).await.err()?.to_string();
            error.contains(&format!("port {port}, replicas null: ")).then_some(error)
        };
        let error = until(&format!("the hook denies because of port {port}"), denies).await;
        assert!(error.contains("reviews, conversions and reconcile only read them"), "{error}");
        let converted = async || {
            let found = bench.cluster.admin.get(&custom("v2", "Scale")).await.ok()??;
            let shown = found["spec"]["port"].to_string();
            (shown == port).then_some(())
        };
        until(&format!("the hook converts to port {port}"), converted).await;
        let made = async || (bench.get("ConfigMap", "one").await?["data"]["port"] == port).then_some(());
        until(&format!("the hook's child has port {port}"), made).await;
    }
}

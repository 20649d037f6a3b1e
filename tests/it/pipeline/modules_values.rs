//! Values of modules, as hooks see them that are components.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{
    fixture::Pipeline,
    modules_charts::{Bench, at, failed},
};
use crate::{
    script::{build, python},
    support::{
        cluster::client,
        guests::{compile, go_guest, guest},
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
async fn bench_of(hook: Vec<u8>) -> Bench {
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

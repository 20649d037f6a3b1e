//! What an operator shows of its modules while they run: how far they are, and what their values are made of.

use std::path::Path;

use boathook_operator::admin::{Client, ClientError, Socket, modules::Part};
use http::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    fixture::Operator,
    modules_charts::{Bench, at, failed},
    modules_values,
};
use crate::support::{
    process::{Ended, boathook, run},
    until,
};

/// Two modules: a Pod that is not ready before somebody says so, and a chart that is wrong.
async fn pod_and_broken() -> Bench {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Never, containers: [{name: c, image: \
               'example.com/c:1'}]}}";
    Bench::new(&[
        ("values.yaml", "podEnabled: true\nbrokenEnabled: true\n"),
        ("010-broken/templates/a.yaml", "{{ fail \"no such chart\" }}"),
        ("010-pod/templates/a.yaml", pod),
    ])
    .await
}

async fn pod_succeeds(bench: &Bench) {
    let request = http::Request::patch("/api/v1/namespaces/default/pods/a/status")
        .header("content-type", "application/merge-patch+json")
        .body(json!({"status": {"phase": "Succeeded"}}).to_string().into_bytes());
    let _: Value = bench.cluster.admin.client.request(request.unwrap()).await.unwrap();
}

// mutant: crates/operator/src/app/modules/mod.rs: `self.services.health.note_converge(self.converge(&now));` => ``
// mutant: crates/operator/src/telemetry/readiness.rs: `&& self.converge().is_none_or(|modules| modules.tried)` => ``
#[tokio::test]
async fn converge_is_shown_and_readiness_waits_until_each_module_was_tried() {
    let bench = pod_and_broken().await;
    let operator = bench.start().await;
    bench.is_there("Pod", "a").await;
    failed(&operator, "broken", "no such chart").await;
    assert_eq!(operator.page("/status/converge").await, "STARTUP_CONVERGE_IN_PROGRESS: 2 tasks\n");
    let ready = operator.page("/readyz").await;
    assert!(ready.contains("[-]modules are being tried: 2 of them are neither ready nor off\n"), "{ready}");
    assert!(!operator.app.readiness().ready());
    assert!(operator.app.readiness().serves, "webhooks are served in the meantime");
    pod_succeeds(&bench).await;
    at(&operator, "pod", "ready").await;
    // A module that is broken was tried, and stays on its way.
    let shows = async |page: &str, text: &str| (operator.page(page).await == text).then_some(());
    let broken = "STARTUP_CONVERGE_DONE\nCONVERGE_IN_PROGRESS: 1 tasks\n";
    until("the first round is over", async || shows("/status/converge", broken).await).await;
    operator.until("it is ready", |operator| operator.app.readiness().ready().then_some(())).await;
    let ready = operator.page("/readyz").await;
    assert!(ready.contains("[+]modules were tried\n") && ready.ends_with("\nready\n"), "{ready}");
    let json: Value = serde_json::from_str(&operator.page("/status/converge?output=json").await).unwrap();
    assert_eq!(json, json!({"STARTUP_CONVERGE_DONE": true, "CONVERGE_IN_PROGRESS": 1}));
    bench.configure(json!({"brokenEnabled": "false"})).await;
    let done = "STARTUP_CONVERGE_DONE\nCONVERGE_WAIT_TASK\n";
    until("nothing is to be done", async || shows("/status/converge", done).await).await;
}

#[tokio::test]
async fn an_operator_without_modules_has_converged() {
    let bench = Bench::new(&[]).await;
    let operator = Operator::start(bench.cluster.admin.client.clone(), &[], |_| ()).await;
    operator.ready().await;
    assert_eq!(operator.page("/status/converge").await, "STARTUP_CONVERGE_DONE\nCONVERGE_WAIT_TASK\n");
    // The same is true of a directory in which there is no module.
    let empty = bench.start().await;
    let done =
        async || (empty.page("/status/converge").await == "STARTUP_CONVERGE_DONE\nCONVERGE_WAIT_TASK\n").then_some(());
    until("it has converged", done).await;
    empty.until("it is ready", |operator| operator.app.readiness().ready().then_some(())).await;
}

/// An operator with an admin socket, whose module `web` has a hook that writes values and the configuration.
struct Asked {
    bench: Bench,
    operator: Operator,
    folder: TempDir,
    client: Client,
}

impl Asked {
    async fn start() -> Self {
        let bench = modules_values::bench().await;
        bench.put("020-api/module.yaml", "version: 1.2.0\nrequirements: {modules: {web: ''}}\n");
        bench.configure(json!({"web": "port: 8181", "apiEnabled": "true"})).await;
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("private/admin.sock");
        let operator = Operator::start(bench.cluster.admin.client.clone(), &[], |options| {
            bench.adjust(options);
            options.admin_socket = Some(Socket::At(socket.clone()));
        })
        .await;
        at(&operator, "api", "ready").await;
        Self { bench, operator, folder, client: Client::new(vec![socket]) }
    }

    async fn get(&self, path: &str) -> String {
        String::from_utf8(self.client.get(path).await.unwrap().to_vec()).unwrap()
    }

    async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).await).unwrap()
    }

    async fn command(&self, args: &[&str]) -> Ended {
        let mut command = boathook(["modules"]);
        command.args(args).args(["--socket", "private/admin.sock"]).current_dir(self.folder.path());
        run(command).await
    }
}

const HIDDEN: &str = "(hidden)";

// mutant: crates/operator/src/app/admin.rs: `part.hide(&mut data);` => ``
#[tokio::test]
async fn what_values_are_made_of_is_shown_by_the_running_operator() {
    let asked = Asked::start().await;
    let client = &asked.client;
    let values = client.section("web", Part::Values, true).await.unwrap();
    assert_eq!(values, json!({"global": {"region": "eu"}, "web": {"port": 8181, "seen": "yes", "replicas": 3}}));
    let hidden = client.section("web", Part::Values, false).await.unwrap();
    let web = json!({"port": HIDDEN, "seen": HIDDEN, "replicas": HIDDEN});
    assert_eq!(hidden, json!({"global": {"region": HIDDEN}, "web": web}));
    let config = client.section("web", Part::Config, true).await.unwrap();
    assert_eq!(config, json!({"global": {}, "web": {"port": 8181, "seen": "yes"}}));
    let patches = client.section("web", Part::Patches, true).await.unwrap();
    assert_eq!(patches["changes"][0]["hook"], "main.web");
    assert_eq!(patches["changes"][0]["operations"][0], json!({"op": "add", "path": "/web/replicas", "value": 3}));
    let patches = client.section("web", Part::Patches, false).await.unwrap();
    assert_eq!(patches["changes"][0]["operations"][0], json!({"op": "add", "path": "/web/replicas", "value": HIDDEN}));
    assert_eq!(client.section("global", Part::Values, true).await.unwrap(), json!({"global": {"region": "eu"}}));
    match client.section("nope", Part::Values, false).await {
        Err(ClientError::Refused { status: StatusCode::NOT_FOUND, text }) => {
            assert_eq!(text, "module \"nope\" does not exist: the modules are global, web, api");
        }
        other => panic!("{other:?}"),
    }
    let graph = client.graph().await.unwrap();
    let api = &graph.modules[1];
    assert_eq!((api.name.as_str(), api.on, api.needs[0].name.as_str()), ("api", Some(true), "web"));

    // What other values have is seen at once.
    asked.bench.configure(json!({"web": "port: 8282", "apiEnabled": "true"})).await;
    let new = async || (client.section("web", Part::Config, true).await.unwrap()["web"]["port"] == 8282).then_some(());
    until("the new port is shown", new).await;
}

#[tokio::test]
async fn old_paths_answer_as_addon_operator_did() {
    let asked = Asked::start().await;
    assert_eq!(asked.get("/module/list.text").await, "api\nweb\n");
    assert_eq!(asked.json("/module/list.json").await, json!({"enabledModules": ["api", "web"]}));
    let web = json!({"port": 8181, "seen": "yes", "replicas": 3});
    assert_eq!(asked.json("/module/web/values.json?showSecrets=true").await, web);
    let both = json!({"global": {"region": "eu"}, "web": web});
    assert_eq!(asked.json("/module/web/values.json?global=true&showSecrets=true").await, both);
    let yaml: Value = yaml_serde::from_str(&asked.get("/module/web/config.yaml?showSecrets=true").await).unwrap();
    assert_eq!(yaml, json!({"port": 8181, "seen": "yes"}));
    assert_eq!(asked.json("/module/web/values.json").await["port"], HIDDEN);
    assert_eq!(asked.json("/module/web/patches.json").await["changes"][0]["hook"], "main.web");
    assert_eq!(asked.json("/module/web/snapshots.json").await, json!({"main.web": {}}));
    assert_eq!(asked.json("/global/values.json?showSecrets=true").await, json!({"region": "eu"}));
    assert_eq!(asked.json("/global/list.json").await, json!({"globalHooks": []}));
    let dot = asked.get("/graph?format=text").await;
    assert!(dot.starts_with("digraph modules {\n") && dot.contains("\"api\" -> \"web\";"), "{dot}");
    for (path, status) in [
        ("/module/web/render", StatusCode::NOT_FOUND),
        ("/module/nope/values", StatusCode::NOT_FOUND),
        ("/module/web/values?global=perhaps", StatusCode::BAD_REQUEST),
        ("/graph?format=png", StatusCode::BAD_REQUEST),
    ] {
        match asked.client.get(path).await {
            Err(ClientError::Refused { status: got, text }) => assert_eq!(got, status, "{path}: {text}"),
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn commands_show_the_modules_of_the_running_operator() {
    let asked = Asked::start().await;
    let shown = asked.command(&["values", "web", "--live", "--show-secrets"]).await;
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let values: Value = yaml_serde::from_str(&shown.stdout).unwrap();
    assert_eq!(values["web"], json!({"port": 8181, "seen": "yes", "replicas": 3}));
    let shown = asked.command(&["values", "web", "--live", "-o", "json"]).await;
    let values: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(values["web"]["port"], HIDDEN);
    let shown = asked.command(&["config", "web", "-o", "json", "--show-secrets"]).await;
    let config: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(config["web"], json!({"port": 8181, "seen": "yes"}));
    let shown = asked.command(&["patches", "web"]).await;
    assert!(shown.stdout.contains("path: /web/replicas") && shown.stdout.contains(HIDDEN), "{}", shown.stdout);
    let shown = asked.command(&["graph", "--live"]).await;
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<_> = shown.stdout.lines().map(words).collect();
    assert_eq!(lines[0], "ORDER NAME VERSION CLASS NEEDS ON WHY");
    assert_eq!(lines[2], "20 api 1.2.0 critical web yes the configuration addon-operator");
    let shown = asked.command(&["graph", "--live", "--dot"]).await;
    assert!(shown.stdout.contains("\"api\" -> \"web\";"), "{}", shown.stdout);

    let refused = asked.command(&["values", "nope", "--live"]).await;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("module \"nope\" does not exist"), "{}", refused.stderr);
    let both = asked.command(&["values", "web", "--live", "--modules", "modules"]).await;
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    let neither = asked.command(&["values", "web"]).await;
    assert!(neither.code == Some(2) && neither.stderr.contains("--modules"), "{}", neither.stderr);
    let Asked { operator, folder, bench: _bench, .. } = asked;
    operator.shutdown().await;
    assert_eq!(gone(folder.path()).await.code, Some(4));
}

async fn gone(folder: &Path) -> Ended {
    let mut command = boathook(["modules", "patches", "web", "--socket", "private/admin.sock"]);
    command.current_dir(folder);
    run(command).await
}

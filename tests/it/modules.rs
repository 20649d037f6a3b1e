//! `boathook modules` as an author types it, and `boathook serve --modules`.

use std::{ffi::OsStr, fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    cluster::TestCluster,
    guests::cache_dir,
    process::{Ended, Process, boathook, run, terminate},
};

async fn modules<S: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = S>) -> Ended {
    let mut command = boathook(["modules"]);
    command.args(arguments).current_dir(folder);
    run(command).await
}

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn config_map(folder: &Path, file: &str, data: &Value) {
    put(folder, file, &json!({"kind": "ConfigMap", "data": data}).to_string());
}

/// Two modules, one with schemas, a configuration and patches.
fn example() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "modules/values.yaml", "global: {region: eu}\napiServer: {replicas: 2}\napiServerEnabled: false\n");
    put(at, "modules/010-web/Chart.yaml", "name: web\n");
    let schema = "
type: object
properties:
  port: {type: integer, default: 80}
  size: {type: integer, x-deckhouse-validations: [{expression: self >= oldSelf, message: size never shrinks}]}
";
    put(at, "modules/010-web/openapi/config-values.yaml", schema);
    let schema =
        "x-extend: {schema: config-values.yaml}\nx-required-for-helm: cert\nproperties: {cert: {type: string}}\n";
    put(at, "modules/010-web/openapi/values.yaml", schema);
    put(at, "modules/020-api-server/templates/a.yaml", "");
    config_map(
        at,
        "cm.yaml",
        &json!({"web": "port: 8080\nsize: 3\n", "webEnabled": "true", "webMaintenance": "NoResourceReconciliation"}),
    );
    config_map(at, "smaller.yaml", &json!({"web": "size: 2"}));
    config_map(at, "wrong.yaml", &json!({"web": "port: text", "apiServer": "replicas: 5", "unknown": "a: 1"}));
    put(at, "cert.json", r#"{"op": "add", "path": "/web/cert", "value": "PEM"}"#);
    put(
        at,
        "global.json",
        r#"[{"op":"add","path":"/global/nodes","value":3},{"op":"add","path":"/apiServerEnabled","value":true}]"#,
    );
    folder
}

#[tokio::test]
async fn modules_are_listed_with_what_decides_whether_they_are_on() {
    let folder = example();
    let listed = modules(folder.path(), ["list", "--modules", "modules", "--config", "cm.yaml"]).await;
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let lines: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["ORDER", "NAME", "ON", "CHART", "HOOKS", "CRDS", "MAINTENANCE", "DECIDED", "BY"]);
    assert_eq!(
        lines[1],
        ["10", "web", "yes", "Chart.yaml", "0", "0", "NoResourceReconciliation", "the", "configuration", "cm.yaml"]
    );
    assert_eq!(lines[2], ["20", "api-server", "no", "templates", "0", "0", "Managed", "modules/values.yaml"]);
    let arguments = ["list", "--modules", "modules", "--global-patch", "global.json", "-o", "json"];
    let listed = modules(folder.path(), arguments).await;
    let data: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!((&data[0]["on"], &data[0]["by"]), (&json!(false), &json!(null)));
    assert_eq!((&data[1]["on"], &data[1]["by"]), (&json!(true), &json!("the hook global.json")));
    assert_eq!(data[1]["key"], "apiServer");

    put(folder.path(), "modules/030-Broken/x", "");
    let listed = modules(folder.path(), ["list", "--modules", "modules"]).await;
    assert_eq!(listed.code, Some(1));
    assert!(
        listed.stderr.contains("modules/030-Broken cannot be a module: \"Broken\" is not a valid module name"),
        "{}",
        listed.stderr
    );
    assert!(listed.stdout.contains("api-server"));
}

#[tokio::test]
async fn values_are_printed_as_hooks_and_charts_see_them() {
    let folder = example();
    let base = ["values", "web", "--modules", "modules", "--config", "cm.yaml"];
    let printed = modules(folder.path(), base).await;
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    assert_eq!(printed.stdout, "global:\n  region: eu\nweb:\n  port: 8080\n  size: 3");
    let more = ["--global-patch", "global.json", "--patch", "cert.json", "--for-chart", "-o", "json"];
    let printed = modules(folder.path(), base.into_iter().chain(more)).await;
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let expected = json!({"global": {"region": "eu", "nodes": 3}, "web": {"port": 8080, "size": 3, "cert": "PEM"}});
    assert_eq!(serde_json::from_str::<Value>(&printed.stdout).unwrap(), expected);
}

#[tokio::test]
async fn a_value_has_its_writers() {
    let folder = example();
    let base = ["values", "web", "--modules", "modules", "--config", "cm.yaml", "--why"];
    let why = |path: &'static str| modules(folder.path(), base.into_iter().chain([path]));
    let told = why("web.port").await;
    let default = "  before: it is 80, written by a default of modules/010-web/openapi/config-values.yaml";
    assert_eq!(told.stdout, format!("web.port is 8080, written by the configuration cm.yaml\n{default}"));
    assert_eq!(why("/global/region").await.stdout, "/global/region is \"eu\", written by modules/values.yaml");
    let nothing = why("web.cert").await;
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(1), "web.cert has no value, and nothing wrote one"));
    let other = why("apiServer.replicas").await;
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("begin the path with web or global"), "{}", other.stderr);
    let told = modules(folder.path(), base.into_iter().chain(["web.port", "-o", "json"])).await;
    let data: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((&data["value"], &data["set"]), (&json!(8080), &json!(true)));
    assert_eq!(data["writers"][1], json!({"writer": "the configuration cm.yaml", "value": 8080, "removed": false}));
}

#[tokio::test]
async fn what_a_schema_refuses_names_the_path_and_the_writer() {
    let folder = example();
    let printed = modules(folder.path(), ["values", "web", "--modules", "modules", "--config", "wrong.yaml"]).await;
    assert_eq!(printed.code, Some(1));
    assert!(
        printed
            .stderr
            .contains("boathook: web.port: want integer, but got string (written by the configuration wrong.yaml)")
    );
    assert!(printed.stderr.contains("warning: wrong.yaml has the key unknown, and there is no module with this key"));
    assert!(printed.stdout.contains("port: 80"), "the default stays: {}", printed.stdout);
    // Another module's section is not what this is about.
    let other =
        modules(folder.path(), ["values", "api-server", "--modules", "modules", "--config", "wrong.yaml"]).await;
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    assert!(other.stdout.contains("replicas: 5"), "{}", other.stdout);
    let chart = modules(folder.path(), ["values", "web", "--modules", "modules", "--for-chart"]).await;
    assert_eq!((chart.code, chart.stderr.as_str()), (Some(1), "boathook: web.cert: is required and missing"));
    let base = ["values", "web", "--modules", "modules", "--config", "smaller.yaml", "--previous-config", "cm.yaml"];
    let smaller = modules(folder.path(), base).await;
    assert_eq!(smaller.code, Some(1));
    assert!(smaller.stderr.contains("web.size: size never shrinks"), "{}", smaller.stderr);
    put(folder.path(), "bad.json", r#"{"op": "add", "path": "/apiServer/a", "value": 1}"#);
    let bad = modules(folder.path(), ["values", "web", "--modules", "modules", "--patch", "bad.json"]).await;
    assert_eq!(bad.code, Some(1));
    assert!(
        bad.stderr.contains("bad.json: /apiServer/a may not be changed: the hook may change /web only"),
        "{}",
        bad.stderr
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_named() {
    let folder = example();
    for (arguments, why) in [
        (&["values", "nothing", "--modules", "modules"][..], "usable: web, api-server"),
        (&["values", "web", "--modules", "gone"], "gone cannot be read"),
        (&["values", "web", "--modules", "modules", "--config", "gone.yaml"], "cannot read gone.yaml"),
        (&["values", "web", "--modules", "modules", "--config", "cert.json"], "is not a ConfigMap"),
        (&["values", "web", "--modules", "modules", "--patch", "modules/values.yaml"], "the patch is not JSON"),
        (&["list", "--modules", "modules", "--strict"], "010-web/values.yaml is missing"),
    ] {
        let ended = modules(folder.path(), arguments).await;
        let strict = arguments.contains(&"--strict");
        assert_eq!(ended.code, Some(if strict { 1 } else { 2 }), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(why), "{arguments:?}: {}", ended.stderr);
    }
}

#[tokio::test]
async fn the_graph_says_what_a_module_needs_and_why_it_is_off() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put(at, "modules/values.yaml", "dbEnabled: true\nwebEnabled: true\napiEnabled: true\naskedEnabled: true\n");
    put(at, "modules/010-db/Chart.yaml", "name: db\nversion: 1.4.0\n");
    put(at, "modules/005-web/module.yaml", "requirements: {modules: {db: '>= 1.2', cache: '!optional'}}\n");
    put(
        at,
        "modules/api/module.yaml",
        "{weight: 30, critical: false, requirements: {modules: {db: '>= 2'}, kubernetes: '1'}}",
    );
    put(at, "modules/020-asked/enabled", "#!/bin/sh\n");
    fs::set_permissions(at.join("modules/020-asked/enabled"), fs::Permissions::from_mode(0o755)).unwrap();
    let shown = modules(at, ["graph", "--modules", "modules"]).await;
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let expected = "ORDER  NAME   VERSION  CLASS       NEEDS            ON   WHY
10     db     1.4.0    critical    -                yes  modules/values.yaml
5      web    -        critical    db >=1.2, cache?  yes  modules/values.yaml
20     asked  -        critical    -                ?    its script `enabled` decides
30     api    -        functional  db >=2           no   it needs another version of the module db, which is 1.4.0";
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(squeezed(&shown.stdout), squeezed(expected));
    assert!(shown.stderr.contains("has requirements.kubernetes, and only requirements.modules is looked at"));
    let dot = modules(at, ["graph", "--modules", "modules", "--dot"]).await;
    assert!(dot.stdout.contains("\"web\" -> \"cache\" [style=dashed];"), "{}", dot.stdout);
    assert!(dot.stdout.contains("\"api\" [label=\"api\\n30\", style=dotted];"), "{}", dot.stdout);
    let data = modules(at, ["graph", "--modules", "modules", "-o", "json"]).await;
    let data: Value = serde_json::from_str(&data.stdout).unwrap();
    assert_eq!(data[2]["on"], Value::Null);
    assert_eq!(data[1]["needs"][0], json!({"name": "db", "optional": false, "versions": ">=1.2"}));

    put(at, "modules/010-db/module.yaml", "requirements: {modules: {web: ''}}");
    let circle = modules(at, ["graph", "--modules", "modules"]).await;
    assert_eq!(circle.code, Some(2));
    let error = "these modules depend on each other in a circle: db -> web -> db; remove one of the dependencies";
    assert!(circle.stderr.contains(error), "{}", circle.stderr);
}

#[tokio::test]
async fn serve_runs_modules_and_shows_what_they_do() {
    let cluster = TestCluster::start().await;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "kubeconfig", &cluster.cluster.kubeconfig());
    put(at, "modules/values.yaml", "webEnabled: true\nchartedEnabled: true\n");
    put(at, "modules/010-web/values.yaml", "web: {port: 80}\n");
    put(at, "modules/020-charted/templates/a.yaml", "{{ fail \"no such database\" }}");
    put(at, "modules/030-idle/values.yaml", "");
    let serve = |more: &[&str]| {
        let mut command =
            boathook(["serve", "--kubeconfig", "kubeconfig", "--listen", "127.0.0.1:0", "--log-format", "json"]);
        command.args(["--modules", "modules", "--admin-socket", "private/admin.sock"]).args(more).current_dir(at);
        command.arg("--cache-dir").arg(cache_dir());
        command
    };
    for (more, why) in
        [(["--plan", "--strict-modules"], "--plan"), (["--node-agent", "--strict-modules"], "--node-agent")]
    {
        let ended = run(serve(&more)).await;
        assert!(ended.code == Some(2) && ended.stderr.contains(why), "{}", ended.stderr);
    }
    let mut process = Process::start(serve(&[]));
    let settled = |line: &str| line.contains("modules have settled").then_some(());
    process.logged("the modules have settled", settled).await.unwrap();
    let mut raw = boathook(["raw", "modules.text", "--socket", "private/admin.sock"]);
    raw.current_dir(at);
    let shown = run(raw).await;
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = shown.stdout.lines().map(words).collect();
    assert_eq!(lines[..3], ["NAME ON AT FAILURES WHY", "global yes ready 0", "web yes ready 0 modules/values.yaml"]);
    assert!(lines[3].starts_with("charted yes Chart ") && lines[3].contains("no such database"), "{}", lines[3]);
    assert_eq!(lines[4], "idle no off 0 nobody turns it on");
    terminate(&process);
    assert_eq!(process.ended().await.code, Some(0));
}

//! Modules with charts, as a user with kubectl sees them.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Backend, Cluster, Operator, Test, boathook, eventually_within, workspace};

/// A debug build compiles the chart engine in minutes, and keeps it for the rest of the run.
pub const COMPILED: Duration = Duration::from_secs(900);

const CRD: &str = r#"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: App, plural: apps, singular: app, listKind: AppList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}
"#;

/// Objects in two namespaces, of a kind of its own, and with what templates leave empty.
const TEMPLATE: &str = r#"apiVersion: v1
kind: Namespace
metadata: {name: web-room}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {port: {{ .Values.web.port | quote }}}
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: web-room}
stringData: {password: {{ randAlphaNum 16 | quote }}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: {{ .Values.web.port }}}]
  externalName:
---
apiVersion: example.com/v1
kind: App
metadata: {name: web}
spec: {size: {{ len (.Capabilities.APIVersions.Has "example.com/v1/App" | toString) }}}
"#;

/// Without replicas, so that it is rolled out where there are no nodes. The API server writes the request as `1`.
const DEPLOYMENT: &str = r#"---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector:
      containers: [{name: c, image: "example.com/c:1", resources: {requests: {cpu: 1000m}}}]
"#;

pub async fn get(cluster: &Cluster, arguments: &[&str]) -> Result<Value, String> {
    let text = cluster.try_kubectl(&[&["get", "--output", "json"], arguments].concat()).await?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

async fn configure(test: &Test, cluster: &Cluster, data: Value) {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "addon-operator", "namespace": "default"}, "data": data});
    let file = test.dir().join("config.json");
    fs::write(&file, config.to_string()).expect("write a manifest");
    cluster.kubectl(&["apply", "--filename", &file.display().to_string()]).await;
}

/// Waits until the ConfigMap and the Service have this port.
async fn port(cluster: &Cluster, port: i64) {
    eventually_within(COMPILED, &format!("the port is {port}"), async || {
        let map = get(cluster, &["configmap", "web"]).await?;
        let service = get(cluster, &["service", "web"]).await?;
        let found = (&map["data"]["port"], &service["spec"]["ports"][0]["port"]);
        if found == (&json!(port.to_string()), &json!(port)) { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

pub async fn gone(cluster: &Cluster, arguments: &[&str]) {
    eventually_within(COMPILED, &format!("{} is gone", arguments.join(" ")), async || {
        match get(cluster, arguments).await {
            Err(error) if error.contains("NotFound") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

async fn serve(test: &Test, cluster: &Cluster) -> Operator {
    serve_with(test, cluster, &[]).await
}

async fn serve_with(test: &Test, cluster: &Cluster, more: &[&str]) -> Operator {
    let (modules, interpreters) = (test.dir().join("modules"), workspace().join("interpreters/dist"));
    let text = |path: &std::path::Path| path.to_str().expect("the path is text").to_owned();
    let (modules, interpreters) = (text(&modules), text(&interpreters));
    let flags = [&["--interpreters", &interpreters, "--modules", &modules], more].concat();
    Operator::start_with(test.dir(), &cluster.kubeconfig, &[], &flags).await
}

async fn ready(operator: &Operator) {
    let is_ready = |line: &Value| line["message"] == "module is ready" && line["module"] == "web";
    eventually_within(COMPILED, "the module is ready", async || {
        operator.log().iter().any(is_ready).then_some(()).ok_or("no such line yet")
    })
    .await;
}

pub async fn a_chart_is_installed_changed_and_deleted(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    // The local cluster has no controller that rolls Deployments out.
    let deployment = if test.backend == Backend::Real { DEPLOYMENT } else { "" };
    let template = format!("{TEMPLATE}{deployment}");
    for (file, text) in [
        ("values.yaml", "webEnabled: true\nweb: {port: 80}\n"),
        ("010-web/crds/app.yaml", CRD),
        ("010-web/templates/web.yaml", &template),
    ] {
        let path = test.dir().join("modules").join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        fs::write(path, text).expect("write a file of a module");
    }
    let operator = serve(&test, &cluster).await;
    ready(&operator).await;
    port(&cluster, 80).await;
    let app = get(&cluster, &["app", "web"]).await.expect("the custom resource exists");
    assert_eq!(app["spec"]["size"], 4, "the templates see the kind: {app}");

    configure(&test, &cluster, json!({"web": "port: 8080"})).await;
    port(&cluster, 8080).await;
    cluster
        .kubectl(&[
            "patch",
            "service",
            "web",
            "--patch",
            r#"{"spec":{"ports":[{"name":"http","port":8080}],"selector":{"app":"other"}}}"#,
        ])
        .await;
    eventually_within(COMPILED, "the selector is repaired", async || {
        let service = get(&cluster, &["service", "web"]).await?;
        if service["spec"]["selector"] == json!({"app": "web"}) { Ok(()) } else { Err(service.to_string()) }
    })
    .await;
    let secret = get(&cluster, &["secret", "web", "--namespace=web-room"]).await.expect("the Secret exists");
    operator.stop().await;

    // Nothing is written at a restart.
    let versions = async || {
        let mut all = Vec::new();
        for of in [
            &["configmap,service,deployment,app"][..],
            &["secret,configmap", "--namespace=web-room"],
            &["crd", "apps.example.com"],
        ] {
            let found = get(&cluster, of).await.expect("the objects are listed");
            let items = found["items"].as_array().cloned().unwrap_or_else(|| vec![found.clone()]);
            all.extend(
                items
                    .iter()
                    .map(|item| format!("{} {}", item["metadata"]["name"], item["metadata"]["resourceVersion"])),
            );
        }
        all
    };
    let before = versions().await;
    let operator = serve(&test, &cluster).await;
    ready(&operator).await;
    assert_eq!(versions().await, before);
    let same = get(&cluster, &["secret", "web", "--namespace=web-room"]).await.expect("the Secret exists");
    assert_eq!(same["data"], secret["data"], "a password stays");

    configure(&test, &cluster, json!({"webEnabled": "false"})).await;
    for of in [&["configmap", "web"][..], &["app", "web"], &["secret", "boathook-module-web"]] {
        gone(&cluster, of).await;
    }
    cluster.kubectl(&["get", "crd", "apps.example.com"]).await;
    operator.stop().await;
}

async fn module(test: &Test, cluster: &Cluster, name: &str, spec: Value) -> Result<String, String> {
    let object =
        json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "Module", "metadata": {"name": name}, "spec": spec});
    let file = test.dir().join("module.json");
    fs::write(&file, object.to_string()).expect("write a manifest");
    cluster.try_kubectl(&["apply", "--server-side", "--filename", &file.display().to_string()]).await
}

/// Waits until the Module has this condition for its spec.
pub async fn condition(cluster: &Cluster, type_: &str, status: &str, reason: &str) -> Value {
    eventually_within(COMPILED, &format!("{type_} is {status}: {reason}"), async || {
        let module = get(cluster, &["module", "web"]).await?;
        let conditions = module["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let has =
            conditions.iter().any(|one| one["type"] == type_ && one["status"] == status && one["reason"] == reason);
        let current = module["status"]["observedGeneration"] == module["metadata"]["generation"];
        if has && current { Ok(module) } else { Err(module["status"].to_string()) }
    })
    .await
}

/// Adds the definitions of Boathook's kinds.
pub async fn define(test: &Test, cluster: &Cluster) {
    let definitions = test.dir().join("crds.yaml");
    let text = std::process::Command::new(boathook()).arg("crd").output().expect("run boathook crd").stdout;
    fs::write(&definitions, text).expect("write the definitions");
    cluster.kubectl(&["apply", "--server-side", "--filename", &definitions.display().to_string()]).await;
    let list = ["get", "modules,hookbundles", "--all-namespaces"];
    eventually_within(COMPILED, "both kinds are served", async || cluster.try_kubectl(&list).await).await;
}

/// With addon-operator's flag for it.
pub async fn the_namespace_of_modules_is_a_flag(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let templates = test.dir().join("modules/010-web/templates");
    fs::create_dir_all(&templates).expect("make a folder");
    let template =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {port: {{ .Values.web.port | quote }}}\n";
    fs::write(templates.join("web.yaml"), template).expect("write a template");
    cluster.kubectl(&["create", "namespace", "addons"]).await;
    let config = ["--from-literal=webEnabled=true", "--from-literal=web=port: 81"];
    cluster.kubectl(&[&["create", "configmap", "addon-operator", "--namespace=addons"], &config[..]].concat()).await;
    let operator = serve_with(&test, &cluster, &["--namespace", "addons"]).await;
    ready(&operator).await;
    let map = get(&cluster, &["configmap", "web", "--namespace=addons"]).await.expect("the ConfigMap exists");
    assert_eq!(map["data"], json!({"port": "81"}));
    get(&cluster, &["secret", "boathook-module-web", "--namespace=addons"]).await.expect("its revision is kept there");
    gone(&cluster, &["configmap", "web"]).await;
    operator.stop().await;
}

pub async fn a_module_resource_configures_a_module(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    define(&test, &cluster).await;
    let schema = "type: object\nproperties:\n  port: {type: integer, default: 80}\n";
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {port: {{ .Values.web.port | quote }}}\n---\n\
                    apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: {{ .Values.web.port }}}]\n";
    for (file, text) in [("010-web/openapi/config-values.yaml", schema), ("010-web/templates/web.yaml", template)] {
        let path = test.dir().join("modules").join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        fs::write(path, text).expect("write a file of a module");
    }
    let operator = serve_with(&test, &cluster, &["--module-resources"]).await;
    module(&test, &cluster, "web", json!({"enabled": true, "settings": {"port": 81}})).await.expect("it is a Module");
    port(&cluster, 81).await;
    let first = condition(&cluster, "Ready", "True", "Ready").await;
    assert_eq!(first["status"]["revision"], 1);
    module(&test, &cluster, "web", json!({"enabled": true, "settings": {"port": 82}})).await.expect("it is a Module");
    port(&cluster, 82).await;
    condition(&cluster, "Ready", "True", "Ready").await;
    module(&test, &cluster, "web", json!({"enabled": true, "settings": {"port": "a"}})).await.expect("it is stored");
    condition(&cluster, "Configured", "False", "SettingsRefused").await;
    port(&cluster, 82).await;
    let refused = module(&test, &cluster, "web", json!({"version": "v1"})).await.expect_err("it has no source");
    assert!(refused.contains("only a module with a source has versions"), "{refused}");
    let refused = module(&test, &cluster, "web-1", json!({})).await.expect_err("it is no name");
    assert!(refused.contains("the name of a Module"), "{refused}");
    module(&test, &cluster, "web", json!({"enabled": false})).await.expect("it is a Module");
    gone(&cluster, &["configmap", "web"]).await;
    condition(&cluster, "Ready", "True", "Disabled").await;
    cluster.kubectl(&["delete", "module", "web"]).await;
    operator.stop().await;
}

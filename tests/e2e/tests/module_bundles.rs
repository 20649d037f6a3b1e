//! Modules from a registry, as a user with kubectl sees them: the API server has their settings reviewed, and the chart and
//! the hooks act as a ServiceAccount.
//! It never looks at how the operator gets there.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::bundles::registry::{Registry, directory, meddle};
use crate::harness::{Backend, Cluster, Operator, Test, boathook, eventually, eventually_within, workspace};
use crate::modules::{COMPILED, condition, get, gone};
use crate::webhooks::{OWN, Site, text};

const NAMESPACE: &str = "--namespace=boathook";
const CHART: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {port: {{ .Values.web.port | quote }}}\n";
/// The second version has a Secret, too.
const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {a: b}\n";
const SCHEMA: &str = "type: object\nproperties:\n  port: {type: integer, default: 80}\n  size:\n    type: integer\n    \
                      x-deckhouse-validations: [{expression: self >= oldSelf, message: never shrinks}]\n";

/// The directory of a version of the module `web`, with the hook `meddle`.
fn version(test: &Test, version: &str, more: &[(&str, &[u8])]) -> PathBuf {
    let (own, definition) = (meddle(&test.slug()), format!("name: web\nversion: {version}\n"));
    let files = [
        ("module.yaml", definition.as_bytes()),
        ("openapi/config-values.yaml", SCHEMA.as_bytes()),
        ("templates/web.yaml", CHART.as_bytes()),
        ("hooks/meddle.wasm", &own),
    ];
    directory(&test.dir().join(version), &[files.as_slice(), more].concat())
}

/// The spec of the Module, with other fields.
fn spec(registry: &Registry, version: &str, more: &Value) -> Value {
    let grant = |resource: &str| json!({"apiGroups": [""], "resources": [resource], "verbs": ["*"]});
    let mut spec = json!({
        "source": {"oci": {"repository": registry.repository(), "insecure": true, "interval": "10s"}},
        "version": version,
        "verification": {"unsigned": true},
        "serviceAccountName": "web",
        "grants": [grant("configmaps"), grant("secrets")],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    spec
}

async fn module(site: &Site, spec: Value) {
    let object = json!({
        "apiVersion": "boathook.dev/v1alpha1", "kind": "Module", "metadata": {"name": "web"}, "spec": spec,
    });
    let file = site.file("module.json", &object);
    site.cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", &file]).await;
}

async fn start(site: &Site, registry: &Registry, test: &Test) -> Operator {
    let (store, interpreters) = (text(&test.dir().join("store")), text(&workspace().join("interpreters/dist")));
    let flags = ["--module-resources", "--bundle-store", &store, "--insecure-registry", &registry.host];
    site.operator_with(&[], &[flags.as_slice(), &["--interpreters", &interpreters]].concat()).await
}

/// The ServiceAccount may do everything with these.
async fn allow(cluster: &Cluster, resource: &str) {
    let (name, verbs) = (format!("web-{resource}"), "--verb=get,list,watch,create,update,patch,delete");
    let resource = format!("--resource={resource}");
    cluster.kubectl(&["create", "clusterrole", &name, verbs, &resource]).await;
    let role = format!("--clusterrole={name}");
    cluster.kubectl(&["create", "clusterrolebinding", &name, &role, "--serviceaccount=boathook:web"]).await;
}

async fn port(cluster: &Cluster, port: &str) {
    eventually_within(COMPILED, &format!("the port is {port}"), async || {
        let map = get(cluster, &["configmap", "web", NAMESPACE]).await?;
        if map["data"]["port"] == port { Ok(()) } else { Err(map["data"].to_string()) }
    })
    .await;
}

/// Makes a ConfigMap for the hook.
async fn ask(site: &Site, name: &str) {
    let metadata = json!({"name": name, "namespace": OWN, "labels": {"meddle": "true"}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"deed": "apply"}});
    let file = site.file("map.json", &map);
    site.cluster.kubectl(&["create", "--filename", &file]).await;
}

async fn is_done(cluster: &Cluster, name: &str) -> Result<(), String> {
    let map = get(cluster, &["configmap", name, NAMESPACE]).await?;
    if map["data"]["done"] == "yes" { Ok(()) } else { Err(map["data"].to_string()) }
}

async fn works(site: &Site, name: &str) {
    ask(site, name).await;
    eventually("the hook has changed the ConfigMap", async || is_done(&site.cluster, name).await).await;
}

pub async fn a_module_comes_from_a_registry(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let cluster = &site.cluster;
    let definitions = test.dir().join("crds.yaml");
    let printed = Command::new(boathook()).arg("crd").output().expect("run boathook crd").stdout;
    std::fs::write(&definitions, printed).expect("write the definitions");
    cluster.kubectl(&["apply", "--server-side", "--filename", &text(&definitions)]).await;
    eventually("Modules are served", async || cluster.try_kubectl(&["get", "modules"]).await).await;
    cluster.kubectl(&["create", "serviceaccount", "web", NAMESPACE]).await;
    allow(cluster, "configmaps").await;
    let registry = Registry::start(test.dir()).await;
    let first = registry.push(&version(&test, "1.0.0", &[]), "v1").await;
    let second = registry.push(&version(&test, "2.0.0", &[("templates/secret.yaml", SECRET.as_bytes())]), "v2").await;
    let operator = start(&site, &registry, &test).await;

    module(&site, spec(&registry, "v1", &json!({"settings": {"port": 81, "size": 3}}))).await;
    port(cluster, "81").await;
    let ready = condition(cluster, "Ready", "True", "Ready").await;
    assert_eq!((ready["status"]["digest"].as_str(), &ready["status"]["version"]), (Some(&*first), &json!("1.0.0")));
    works(&site, "first").await;

    // The API server asks the operator about settings, also for a dry run.
    for (settings, why) in [
        (json!({"port": "a"}), "web.port: want integer, but got string (written by the Module web)"),
        (json!({"size": 2}), "web.size: never shrinks"),
    ] {
        let patch = format!("--patch={}", json!({"spec": {"settings": settings}}));
        let patch = ["patch", "module", "web", "--type=merge", &patch];
        let refused = format!("admission webhook \"settings.modules.boathook.dev\" denied the request: {why}");
        let dry = [patch.as_slice(), &["--dry-run=server"]].concat();
        site.until_said("a dry run is refused", &dry, |said| said.err.contains(&refused).then_some(())).await;
        let said = cluster.kubectl_says(&patch).await;
        assert!(!said.ok && said.err.contains(&refused), "{said:?}");
    }
    let stored = get(cluster, &["module", "web"]).await.expect("the Module is there");
    assert_eq!(stored["spec"]["settings"], json!({"port": 81, "size": 3}));
    let change = r#"--patch={"spec":{"settings":{"port":82}}}"#;
    cluster.kubectl(&["patch", "module", "web", "--type=merge", change]).await;
    port(cluster, "82").await;
    condition(cluster, "Ready", "True", "Ready").await;

    // What is granted is not enough: the ServiceAccount's rights decide, if the API server checks them.
    module(&site, spec(&registry, "v2", &json!({"settings": {"port": 83, "size": 3}}))).await;
    if test.backend == Backend::Real {
        let failed = condition(cluster, "Ready", "False", "ChartFailed").await["status"].to_string();
        assert!(failed.contains("system:serviceaccount:boathook:web") && failed.contains("secrets"), "{failed}");
        allow(cluster, "secrets").await;
    }
    port(cluster, "83").await;
    let ready = condition(cluster, "Ready", "True", "Ready").await;
    assert_eq!((ready["status"]["digest"].as_str(), &ready["status"]["version"]), (Some(&*second), &json!("2.0.0")));

    // It is turned off, and on again.
    module(&site, spec(&registry, "v2", &json!({"enabled": false, "settings": {"port": 83, "size": 3}}))).await;
    for kind in ["configmap", "secret"] {
        gone(cluster, &[kind, "web", NAMESPACE]).await;
    }
    condition(cluster, "Ready", "True", "Disabled").await;
    ask(&site, "meanwhile").await;
    module(&site, spec(&registry, "v2", &json!({"enabled": true, "settings": {"port": 84, "size": 3}}))).await;
    port(cluster, "84").await;
    condition(cluster, "Ready", "True", "Ready").await;
    works(&site, "after").await;
    is_done(cluster, "meanwhile").await.expect_err("the hook ran while its module was off");

    // With the Module, all of it goes.
    cluster.kubectl(&["delete", "module", "web", "--timeout=60s"]).await;
    for what in [["configmap", "web"], ["secret", "web"], ["secret", "boathook-module-web"]] {
        gone(cluster, &[what.as_slice(), &[NAMESPACE]].concat()).await;
    }
    operator.stop().await;
}

//! `boathook modules render` as an author types it.

use std::{fs, path::Path};

use tempfile::{TempDir, tempdir};

use super::{interpreters, left_out, testdata};
use crate::{
    script::shell::cache_home,
    support::process::{self, Ended},
};

async fn render(folder: &Path, arguments: &[&str]) -> Ended {
    let mut command = process::boathook(["modules", "render"].iter().chain(arguments));
    command.current_dir(folder).env("BOATHOOK_INTERPRETERS", interpreters()).env("XDG_CACHE_HOME", cache_home());
    process::run(command).await
}

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Two modules: one with a chart of its own and a schema, one with templates only.
fn example() -> TempDir {
    let folder = tempdir().unwrap();
    let at = folder.path();
    put(at, "modules/010-web/Chart.yaml", "apiVersion: v2\nname: anything\nversion: 1.0.0\n");
    put(at, "modules/010-web/values.yaml", "web: {port: 80}\n");
    put(at, "modules/010-web/openapi/config-values.yaml", "properties: {port: {type: integer}}\n");
    let schema =
        "x-extend: {schema: config-values.yaml}\nx-required-for-helm: [cert]\nproperties: {cert: {type: string}}\n";
    put(at, "modules/010-web/openapi/values.yaml", schema);
    put(at, "modules/010-web/crds/web.yaml", "kind: CustomResourceDefinition\n");
    let service =
        "kind: Service\nport: {{ .Values.web.port }}\nname: {{ .Release.Name }}\nnamespace: {{ .Release.Namespace }}\n";
    put(at, "modules/010-web/templates/service.yaml", service);
    put(
        at,
        "modules/010-web/templates/secret.yaml",
        "kind: Secret\ncert: {{ .Values.web.cert }}\nregion: {{ .Values.global.region }}\n",
    );
    put(at, "modules/values.yaml", "global: {region: eu}\n");
    put(
        at,
        "modules/020-api/templates/a.yaml",
        "chart: {{ .Chart.Name }} {{ .Chart.Version }}\ndocs: {{ .Files.Get \"docs/h\" | quote }}\n",
    );
    put(at, "modules/020-api/docs/h", "a text");
    put(at, "modules/030-none/docs/h", "a text");
    put(at, "cert.json", r#"{"op": "add", "path": "/web/cert", "value": "PEM"}"#);
    put(at, "cm.yaml", "kind: ConfigMap\ndata: {web: 'port: 8080'}\n");
    folder
}

#[tokio::test]
async fn the_chart_of_a_module_is_rendered_with_the_modules_values() {
    if left_out().await {
        return;
    }
    let folder = example();
    let arguments = ["web", "--modules", "modules", "--config", "cm.yaml", "--patch", "cert.json", "--namespace", "ns"];
    let ended = render(folder.path(), &arguments).await;
    let wanted = "---
# Source: anything/templates/secret.yaml
kind: Secret
cert: PEM
region: eu
---
# Source: anything/templates/service.yaml
kind: Service
port: 8080
name: web
namespace: ns";
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), wanted, ""));

    let only = [&arguments[..], &["--show-only", "templates/service.yaml", "--release", "other"]].concat();
    let ended = render(folder.path(), &only).await;
    assert!(ended.stdout.starts_with("---\n# Source: anything/templates/service.yaml\nkind: Service\n"), "{ended:?}");
    assert!(ended.stdout.contains("name: other\n") && !ended.stdout.contains("Secret"), "{ended:?}");
    let ended = render(folder.path(), &[&arguments[..], &["--include-crds"]].concat()).await;
    assert!(
        ended.stdout.starts_with("---\n# Source: anything/crds/web.yaml\nkind: CustomResourceDefinition\n"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_module_with_templates_only_has_the_chart_that_addon_operator_makes() {
    if left_out().await {
        return;
    }
    let folder = example();
    let ended = render(folder.path(), &["api", "--modules", "modules"]).await;
    assert_eq!(ended.stdout, "---\n# Source: api/templates/a.yaml\nchart: api 0.2.0\ndocs: \"\"", "{ended:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_chart_is_named_with_its_place() {
    if left_out().await {
        return;
    }
    let folder = example();
    let error = async |code: i32, arguments: &[&str]| {
        let ended = render(folder.path(), arguments).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{ended:?}");
        ended.stderr
    };
    let modules = ["--modules", "modules"];
    let of = |more: &[&'static str]| [&modules[..], more].concat();
    let missing = error(1, &of(&["web"])).await;
    assert!(missing.contains("web") && missing.contains("cert") && missing.contains("--patch"), "{missing}");
    let gone = error(2, &of(&["gone"])).await;
    assert!(gone.contains("there is no usable module \"gone\"; usable: web, api"), "{gone}");
    let none = error(2, &of(&["none"])).await;
    assert!(none.contains("the module none has no chart: it needs a Chart.yaml or a folder templates/ in"), "{none}");
    let only = error(2, &of(&["api", "--show-only", "templates/b.yaml"])).await;
    assert!(only.contains("--show-only templates/b.yaml") && only.contains("there are: templates/a.yaml"), "{only}");
    let version = error(2, &of(&["api", "--kube-version", "new"])).await;
    assert!(version.contains("--kube-version new: write it like 1.36"), "{version}");
    put(folder.path(), "modules/020-api/templates/a.yaml", "a: b\nc: {{ .Values.api.none.more }}\n");
    let template = error(1, &of(&["api"])).await;
    assert!(
        template.contains("the chart of the module api: ") && template.contains("api/templates/a.yaml:2"),
        "{template}"
    );
}

#[tokio::test]
async fn a_chart_that_is_not_a_module_is_rendered_with_files_of_values() {
    if left_out().await {
        return;
    }
    let folder = tempdir().unwrap();
    put(folder.path(), "a.yaml", "replicas: 3\nglobal: {domain: a.example}\n");
    put(folder.path(), "b.yaml", "global: {domain: b.example}\n");
    let chart = testdata().join("charts/app");
    let chart = chart.to_str().unwrap();
    let arguments = [
        "--chart",
        chart,
        "--values",
        "a.yaml",
        "--values",
        "b.yaml",
        "--api-versions",
        "monitoring.coreos.com/v1/ServiceMonitor",
    ];
    let ended = render(folder.path(), &arguments).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("  name: release-name-app\n") && ended.stdout.contains("  replicas: 3\n"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("domain: b.example") && ended.stdout.contains("monitors: \"true\""),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stderr.contains("warning: the chart ") && ended.stderr.contains("skipping unknown hook"),
        "{}",
        ended.stderr
    );

    let random = testdata().join("charts/random");
    let arguments = ["--chart", random.to_str().unwrap(), "--now", "2026-01-02T12:00:00Z"];
    let first = render(folder.path(), &arguments).await;
    assert!(first.stdout.contains("now: \"2026-01-02T12:00:00Z\""), "{first:?}");
    assert_eq!(first.stdout, render(folder.path(), &arguments).await.stdout, "each time the same");

    put(folder.path(), "list.yaml", "[a]");
    let ended = render(folder.path(), &["--chart", chart, "--values", "list.yaml"]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("list.yaml is not a mapping"), "{ended:?}");
}

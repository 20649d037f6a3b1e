//! `boathook test` and `boathook dev` with modules: what passes, what does not and why, and snapshots of manifests.
//!
//! Left out where there is no Go, because the shell interpreter and the chart engine are not built there.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

use super::Author;
use crate::{
    charts,
    script::{
        interpreters,
        shell::{cache_home, sandbox},
    },
    support::{
        PATIENCE,
        guests::{go_guest, hooks_dir},
        process::{self, Ended, Process, terminate},
    },
};

/// Whether the chart engine and the interpreter are not there. Otherwise they are compiled, once for all tests.
async fn left_out() -> bool {
    let left_out = charts::left_out().await;
    if !left_out {
        sandbox().await;
    }
    left_out
}

const CONFIG: &str = "type: object\nproperties: {port: {type: integer, default: 80}}\n";
const MAP: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: web
data:
  port: {{ .Values.web.port | quote }}
";
const RENDERED: &str = "---
# Source: web/templates/map.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
data:
  port: \"80\"
";

/// A module `web` in a directory of modules.
struct Web {
    folder: TempDir,
}

impl Web {
    fn of(files: &[(&str, &str)]) -> Self {
        let web = Self { folder: tempfile::tempdir().unwrap() };
        web.put("modules/010-web/openapi/config-values.yaml", CONFIG);
        web.put("modules/010-web/templates/map.yaml", MAP);
        files.iter().for_each(|(file, text)| web.put(file, text));
        web
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn scenario(&self, name: &str, text: &str) {
        self.put(&format!("modules/010-web/scenarios/{name}.yaml"), &format!("name: {name}\n{text}"));
    }

    async fn test(&self, arguments: &[&str]) -> Ended {
        typed(self.folder.path(), &[&["test", "modules/010-web"], arguments].concat()).await
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = process::boathook(arguments);
    command.current_dir(folder).env("BOATHOOK_INTERPRETERS", interpreters()).env("XDG_CACHE_HOME", cache_home());
    command
}

async fn typed(folder: &Path, arguments: &[&str]) -> Ended {
    process::run(command(folder, arguments)).await
}

#[track_caller]
fn passes(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
}

#[track_caller]
fn fails(ended: &Ended, parts: &[&str]) {
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    for part in parts {
        assert!(ended.stdout.contains(part), "no {part:?} in:\n{}", ended.stdout);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_module_passes_its_scenarios() {
    if left_out().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = typed(folder.path(), &["new", "web-shop", "--from", "module"]).await;
    passes(&made);
    assert!(made.stderr.contains("next: boathook test web-shop; see"), "{}", made.stderr);
    let tested = typed(folder.path(), &["test", "web-shop", "-o", "json"]).await;
    passes(&tested);
    let told: Value = serde_json::from_str(&tested.stdout).unwrap();
    let expected = (&Value::from(2), &Value::from("web-shop"));
    assert_eq!((&told["passed"], &told["scenarios"][0]["module"]), expected, "{told:#}");
    // In its own folder, too, and as one of a directory of modules.
    let module = folder.path().join("web-shop");
    for (folder, arguments) in [(&*module, &["test", "--list"][..]), (folder.path(), &["test", ".", "--list"])] {
        let listed = typed(folder, arguments).await;
        passes(&listed);
        assert_eq!(listed.stdout.lines().count(), 2, "{}", listed.stdout);
    }
    passes(&typed(folder.path(), &["bundle", "pack", "web-shop", "-o", "shop.bundle", "--tag", "v1"]).await);
    let packed = typed(folder.path(), &["bundle", "inspect", "shop.bundle"]).await;
    passes(&packed);
    assert!(packed.stdout.contains("Module:   web-shop, "), "{}", packed.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn manifests_are_compared_with_a_snapshot() {
    if left_out().await {
        return;
    }
    let web = Web::of(&[]);
    web.scenario("snapshot", "steps: [{expect: {manifests: snapshots/web.yaml, within: 100ms}}]\n");
    let missing = "manifests: there is no file snapshots/web.yaml: write it with `boathook test --update`";
    fails(&web.test(&[]).await, &["steps[0]: expect does not hold", missing]);

    let snapshot = web.path("modules/010-web/scenarios/snapshots/web.yaml");
    let updated = web.test(&["--update"]).await;
    passes(&updated);
    assert!(updated.stdout.contains("1 scenarios: 0 passed, 0 failed, 1 changed"), "{}", updated.stdout);
    assert_eq!(fs::read_to_string(&snapshot).unwrap(), RENDERED);
    passes(&web.test(&[]).await);

    web.put("modules/010-web/templates/map.yaml", &MAP.replace("port:", "number:"));
    let text = "manifests: snapshots/web.yaml (-) is not what the module renders to (+):";
    fails(&web.test(&[]).await, &[text, "-  port: \"80\"\n", "+  number: \"80\"\n"]);
    assert_eq!(fs::read_to_string(&snapshot).unwrap(), RENDERED, "nothing is accepted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_can_be_accepted() {
    if left_out().await {
        return;
    }
    let web = Web::of(&[("modules/values.yaml", "web: {shared: 1}\n")]);
    web.put("modules/010-web/openapi/config-values.yaml", "type: object\nadditionalProperties: true\n");
    let steps = "settings: {port: 8080}\nsteps: [{expect: {values: {port: 81, shared: 1}, within: 100ms}}]\n";
    web.scenario("values", steps);
    fails(&web.test(&[]).await, &["values:", ".port", "- expected 81", "+ found    8080"]);
    passes(&web.test(&["--update"]).await);
    let text = fs::read_to_string(web.path("modules/010-web/scenarios/values.yaml")).unwrap();
    assert!(text.contains("values: {port: 8080, shared: 1}"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_are_refused_fail_a_scenario_that_does_not_expect_it() {
    if left_out().await {
        return;
    }
    let web = Web::of(&[]);
    web.scenario("first", "settings: {port: a}\nsteps: []\n");
    web.scenario("later", "steps: [{settings: {port: a}}]\n");
    web.scenario("expected", "steps:\n- settings: {port: a}\n- expect: {failed: want integer, values: {port: 80}}\n");
    let why = "the module web: the settings are refused: web.port: want integer, but got string";
    let ended = web.test(&[]).await;
    fails(&ended, &[why, "steps[0]: settings: the module web: ", "3 scenarios: 1 passed, 2 failed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_that_fails_is_reported_with_its_own_error() {
    if left_out().await {
        return;
    }
    let web = Web::of(&[]);
    let broken = "{{ if eq 80 (int .Values.web.port) }}\n{{ fail \"no such port\" }}{{ end }}\n";
    web.put("modules/010-web/templates/map.yaml", &format!("{broken}{MAP}"));
    web.scenario("fails", "steps: []\n");
    web.scenario("expected", "steps: [{expect: {failed: no such port}}]\n");
    web.scenario("repaired", "steps:\n- expect: {failed: no such port}\n- settings: {port: 81}\n- settle: operator\n");
    let why = "the module web: the chart: ";
    let place = "web/templates/map.yaml:2";
    fails(&web.test(&[]).await, &[why, place, "no such port", "3 scenarios: 2 passed, 1 failed"]);

    web.put("modules/010-web/openapi/config-values.yaml", "type: 5\n");
    let file = "modules/010-web/openapi/config-values.yaml";
    fails(&web.test(&["--filter", "fails"]).await, &["the module web cannot be used: ", file]);
}

const ROLLED_OUT: &str = r#"#!/bin/bash
if [[ $1 == --config ]]; then echo '{"configVersion": "v1", "afterHelm": 1}'; exit; fi
echo "rolled out"
"#;
const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_begin_when_a_chart_is_applied_and_can_make_it_ready() {
    if left_out().await {
        return;
    }
    let web = Web::of(&[
        ("modules/010-web/templates/deployment.yaml", DEPLOYMENT),
        ("modules/010-web/hooks/main.sh", ROLLED_OUT),
    ]);
    let status = "replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Progressing, \
                  status: 'True', reason: NewReplicaSetAvailable}, {type: Available, status: 'True'}]";
    let object = "apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: web}";
    web.scenario(
        "rolls",
        &format!(
            "steps:\n- expect: {{logged: [{{text: rolled out, times: 0}}], present: [{{{object}}}]}}\n- patch: {{{object}, \
             status: {{{status}}}}}\n- expect: {{logged: [rolled out]}}\n"
        ),
    );
    passes(&web.test(&[]).await);
    // It is said what the module waits for.
    web.scenario("waits", "steps: [{expect: {logged: [rolled out], within: 100ms}}]\n");
    fails(&web.test(&["--filter", "waits"]).await, &["the module web: it is at Chart, and waits for "]);
}

const ZONE: &str = r#"#!/bin/bash
if [[ $1 == --config ]]; then echo '{"configVersion": "v1", "beforeAll": 1}'; exit; fi
echo '{"op": "add", "path": "/global/zone", "value": "a"}' > "$VALUES_JSON_PATCH_PATH"
echo "zone a"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scenario_has_global_hooks_if_it_names_them() {
    if left_out().await {
        return;
    }
    let web = Web::of(&[
        ("modules/values.yaml", "global: {zone: none}\n"),
        ("global-hooks/hooks/zone.sh", ZONE),
        ("modules/010-web/templates/map.yaml", &MAP.replace(".Values.web.port", ".Values.global.zone")),
    ]);
    let map = |zone: &str| {
        let metadata = "metadata: {namespace: default, name: web}";
        format!("present: [{{apiVersion: v1, kind: ConfigMap, {metadata}, data: {{port: {zone}}}}}]")
    };
    web.scenario("alone", &format!("steps: [{{expect: {{{}}}}}]\n", map("none")));
    let hooks = "globalHooks: ../../../global-hooks\n";
    web.scenario(
        "global",
        &format!("{hooks}steps:\n- expect: {{logged: [zone a], {}}}\n- restart: operator\n", map("a")),
    );
    web.scenario("lost", "globalHooks: nowhere\nsteps: []\n");
    let ended = web.test(&[]).await;
    fails(&ended, &["globalHooks: modules/010-web/scenarios/nowhere is not a directory", "2 passed, 1 failed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_for_modules_is_refused_for_hooks_and_for_sweeps() {
    let author = Author::of("noop", &[("a", "name: x\nsettings: {}\nsteps: []\n")]).await;
    let ended = author.test(&[]).await;
    fails(
        &ended,
        &["settings is for scenarios of a module, and this one is of the hook noop: put it into MODULE/scenarios"],
    );
    let web = Web::of(&[]);
    web.scenario("swept", "steps: []\n");
    let ended = web.test(&["--sweep"]).await;
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("left out: it is about a module: a sweep plays scenarios of hooks"),
        "{}",
        ended.stdout
    );
    web.scenario("named", "module: web\nsteps: []\n");
    let why = "module is for scenarios of a hook, and this one is of the module web: remove the key";
    fails(&web.test(&["--filter", "named"]).await, &[why]);
}

/// A component that sets values of its module and of the configuration when it starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_of_a_module_is_tested_alone() {
    if left_out().await {
        return;
    }
    let given = "module: web\nvalues: {port: 80}\nglobal: {region: north}\nsettings: {more: 1}\n";
    let seen = "logged: ['port=80 region=\"north\" config={\"more\":1}']";
    let expected = "values: {port: 80, more: 1, replicas: 3, gone: null}, global: {region: north}, settings: {more: 1, seen: 'yes'}";
    let accepted = "global: {region: south}, settings: {more: 2}, within: 100ms";
    let author = Author::of(
        "valued",
        &[
            ("passes", &format!("name: x\n{given}steps: [{{expect: {{{seen}, {expected}}}}}]\n")),
            ("fails", &format!("name: x\n{given}steps: [{{expect: {{{accepted}}}}}]\n")),
            ("other", "name: x\nmodule: web\nsettings: {refuse: true}\nvalues: {port: 80}\nsteps: [{expect: {values: {port: text}}}]\n"),
        ],
    )
    .await;
    let test = async |flags: &[&str]| typed(author.folder.path(), &[&["test", "."], flags].concat()).await;
    let parts =
        ["global:", ".region", "- expected \"south\"", "settings:", ".more", "- expected 2", "2 passed, 1 failed"];
    fails(&test(&[]).await, &parts);
    passes(&test(&["--update"]).await);
    let text = fs::read_to_string(author.file("fails")).unwrap();
    assert!(text.contains("global: {region: \"north\"}, settings: {more: 1}"), "{text}");
    passes(&test(&[]).await);
    let swept = test(&["--sweep"]).await;
    assert!(swept.stdout.contains("left out: it is about a module"), "{}", swept.stdout);
}

/// Notes each stage in the log, and counts the tries before the chart in the values.
const STAGES: &str = r#"#!/bin/bash
if [[ $1 == --config ]]; then
  echo '{"configVersion": "v1", "beforeHelm": 1, "afterHelm": 1, "beforeDeleteHelm": 1, "afterDeleteHelm": 1}'
  exit
fi
stage=$(jq -r '.[0].binding' "$BINDING_CONTEXT_PATH")
echo "at $stage with $(jq -c .web.port "$VALUES_PATH")"
if [[ $stage == beforeHelm ]]; then
  jq -c '{op: "add", path: "/web/seen", value: .web.port}' "$VALUES_PATH" > "$VALUES_JSON_PATCH_PATH"
fi
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_goes_through_the_stages_of_its_module() {
    if left_out().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("stages/hook.sh");
    fs::create_dir_all(folder.path().join("stages/scenarios")).unwrap();
    fs::write(&script, STAGES).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: module-web}}";
    let scenario = format!(
        "name: stages
module: web
settings: {{port: 80}}
steps:
- expect: {{logged: [{{text: at beforeHelm with 80, times: 1}}, {{text: at afterHelm with 80, times: 1}}], values: {{seen: 80}}, present: [{map}]}}
- settings: {{port: 81}}
- expect: {{logged: [{{text: at beforeHelm with 81, times: 1}}, at afterHelm with 81], values: {{seen: 81}}}}
- restart: operator
- expect: {{logged: [at beforeHelm with 81, at afterHelm with 81, {{text: with 80, times: 0}}]}}
- settings: off
- expect: {{logged: [at beforeDeleteHelm, at afterDeleteHelm], absent: [{map}]}}
"
    );
    fs::write(folder.path().join("stages/scenarios/stages.yaml"), scenario).unwrap();
    passes(&typed(folder.path(), &["test", "stages"]).await);
}

/// The example of a module with a certificate: its hook alone, and the module with this hook.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_of_a_module_passes_its_scenarios() {
    let Some(hook) = go_guest("guard-certificate") else { return };
    if left_out().await {
        return;
    }
    let folder = hooks_dir(&[("guard-certificate", hook.clone())]).await;
    let put = |from: PathBuf, to: &str| {
        let to = folder.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    };
    for part in ["", "openapi", "templates", "scenarios"] {
        for file in fs::read_dir(Path::new("examples/modules/010-guard").join(part)).unwrap() {
            let path = file.unwrap().path();
            if path.is_file() {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                put(path, &format!("010-guard/{part}/{name}"));
            }
        }
    }
    put(PathBuf::from("hooks-wasm/go/guard-certificate/scenarios/replaced.yaml"), "guard-certificate/scenarios/x.yaml");
    fs::create_dir(folder.path().join("010-guard/hooks")).unwrap();
    fs::write(folder.path().join("010-guard/hooks/certificate.wasm"), hook).unwrap();
    let tested = typed(folder.path(), &["test", "."]).await;
    passes(&tested);
    assert!(tested.stdout.contains("2 scenarios: 2 passed"), "{}", tested.stdout);
}

/// Waits for a line that `dev` prints. A save may be seen in two parts, so others may be before it.
async fn line(dev: &mut Process, wanted: impl Fn(&Value) -> bool) -> Value {
    let found = |lines: &[String]| {
        let parsed = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        parsed.into_iter().find(|line| wanted(line))
    };
    let told = timeout(PATIENCE, dev.stdout.wait_for(|lines| found(lines).is_some())).await;
    match told.map(|told| told.map(|lines| found(&lines))) {
        Ok(Ok(Some(line))) => line,
        _ => panic!("no line: {:?} {:?}", dev.stdout.borrow().join("\n"), dev.stderr.borrow().join("\n")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_renders_a_module_with_each_save() {
    if left_out().await {
        return;
    }
    let web = Web::of(&[]);
    let mut dev = Process::start(command(web.folder.path(), &["dev", "modules/010-web", "-o", "json"]));
    let first = line(&mut dev, |line| line["type"] == "rendered").await;
    assert_eq!((&first["difference"], &first["manifests"]), (&Value::Null, &RENDERED.into()));
    web.put("modules/010-web/templates/map.yaml", &MAP.replace("port:", "number:"));
    let has = |line: &Value, part: &str| line["difference"].as_str().is_some_and(|text| text.contains(part));
    line(&mut dev, |line| has(line, "\n-  port: \"80\"\n+  number: \"80\"\n")).await;
    // The values that the module shares with others.
    web.put("modules/values.yaml", "web: {port: 81}\n");
    line(&mut dev, |line| has(line, "\n-  number: \"80\"\n+  number: \"81\"\n")).await;
    web.put("modules/010-web/templates/map.yaml", "{{ fail \"broken\" }}\n");
    let failed = line(&mut dev, |line| line["type"] == "failed").await;
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("web/templates/map.yaml:1") && error.contains("broken"), "{error}");
    terminate(&dev);
    assert_eq!(dev.ended().await.code, Some(0));

    for (arguments, part) in [
        (&["dev", "modules/010-web", "--plan"][..], "leave out --plan"),
        (&["dev", "modules/010-web", "--http-private-host", "a.internal"], "leave out --http-private-host"),
        (&["dev", "modules/010-web", "--http-ca", "ca.pem"], "leave out --http-ca"),
        (&["dev", "modules/010-web", "--dir", "keys=/tmp"], "leave out --dir"),
        (&["dev", "modules/010-web", "--var", "NODE_NAME=a"], "leave out --var"),
        (&["dev", "modules/010-web", "--open"], "leave out --open"),
        (&["dev", "modules/010-web", "."], "modules/010-web is a module: name it alone"),
        (&["dev", "modules", "--patch", "a.json"], "--config and --patch are for a module: name its directory"),
    ] {
        let refused = typed(web.folder.path(), arguments).await;
        assert_eq!(refused.code, Some(1), "{arguments:?}");
        assert!(refused.stderr.contains(part), "{arguments:?}: {}", refused.stderr);
    }
}

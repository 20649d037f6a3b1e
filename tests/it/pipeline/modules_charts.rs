//! Charts of modules on a cluster: applied, changed, repaired, pruned, deleted.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use boathook_modules::life::Report;
use boathook_operator::app::{ModulesOptions, Options};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    fixture::Operator,
    reconcile::crashes::{Life, mortal},
};
use crate::support::{
    cluster::{TestCluster, client},
    until,
};

/// A ConfigMap, a Secret with a password, and a ConfigMap that stays when the module goes.
const WEB: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  port: {{ .Values.web.port | quote }}
  release: "{{ .Release.Name }} {{ .Release.Namespace }}"
{{- range until (int .Values.web.more) }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more-{{ . }}}
{{- end }}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {password: {{ randAlphaNum 16 | quote }}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: kept
  annotations: {helm.sh/resource-policy: keep}
"#;

pub(super) struct Bench {
    pub cluster: TestCluster,
    pub modules: TempDir,
}

impl Bench {
    pub async fn new(files: &[(&str, &str)]) -> Self {
        let bench = Self { cluster: TestCluster::start().await, modules: TempDir::new().unwrap() };
        files.iter().for_each(|(file, text)| bench.put(file, text));
        bench
    }

    pub async fn web() -> Self {
        let values = "webEnabled: true\nweb: {port: 80, more: 0}\n";
        Self::new(&[("values.yaml", values), ("010-web/templates/web.yaml", WEB)]).await
    }

    pub fn put(&self, file: &str, text: &str) {
        let path = self.modules.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub async fn start(&self) -> Operator {
        self.start_with(self.cluster.admin.client.clone()).await
    }

    pub async fn start_with(&self, client: Client) -> Operator {
        Operator::start(client, &[], |options| self.adjust(options)).await
    }

    /// Has an operator run the modules.
    pub fn adjust(&self, options: &mut Options) {
        let (directories, retry) = (vec![self.modules.path().to_owned()], Duration::from_millis(200));
        options.modules =
            Some(ModulesOptions { retry_initial: retry, retry_max: retry * 5, ..ModulesOptions::new(directories) });
        options.sandbox.interpreters = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("interpreters/dist")];
    }

    /// Writes the configuration of modules.
    pub async fn configure(&self, data: Value) {
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "addon-operator", "namespace": "default"}, "data": data});
        self.cluster.admin.apply(&config).await.unwrap();
    }

    pub async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.cluster.admin.get(&object(kind, name)).await.unwrap()
    }

    pub async fn is_there(&self, kind: &str, name: &str) -> Value {
        until(&format!("{kind} {name} exists"), async || self.get(kind, name).await).await
    }

    pub async fn is_gone(&self, kind: &str, name: &str) {
        let gone = async || self.get(kind, name).await.is_none().then_some(());
        until(&format!("{kind} {name} is gone"), gone).await;
    }

    /// Waits until the ConfigMap `web` has this port.
    pub async fn port(&self, port: &str) -> Value {
        let mut shown = Value::Null;
        let has = async || {
            let found = self.get("ConfigMap", "web").await.unwrap_or_default();
            if found["data"] != shown {
                shown = found["data"].clone();
                eprintln!("the ConfigMap has {shown}");
            }
            (found["data"]["port"] == port).then_some(found)
        };
        until(&format!("the port is {port}"), has).await
    }

    /// Does what the controller of Jobs does when a Job has ended.
    pub async fn end(&self, job: &str, how: &str) {
        self.is_there("Job", job).await;
        let condition = json!({"type": how, "status": "True", "reason": "Test", "message": "it ended"});
        let status = json!({"status": {"conditions": [condition]}});
        let request = http::Request::patch(format!("/apis/batch/v1/namespaces/default/jobs/{job}/status"))
            .header("content-type", "application/merge-patch+json")
            .body(status.to_string().into_bytes());
        let _: Value = self.cluster.admin.client.request(request.unwrap()).await.unwrap();
    }
}

pub(super) fn object(kind: &str, name: &str) -> Value {
    let api_version = match kind {
        "Job" => "batch/v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        "App" => "example.com/v1",
        _ => "v1",
    };
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if kind != "CustomResourceDefinition" && kind != "Namespace" {
        object["metadata"]["namespace"] = json!("default");
    }
    object
}

pub(super) fn report(operator: &Operator, module: &str) -> Option<Report> {
    let of = format!("the module {module}");
    operator.app.modules().into_iter().find(|report| report.subject.to_string() == of)
}

/// Waits until a module is at this point of its life.
pub(super) async fn at(operator: &Operator, module: &str, place: &str) {
    let is_there = |operator: &Operator| report(operator, module).filter(|report| report.at == place).map(drop);
    operator.until(&format!("{module} is {place}"), is_there).await;
}

/// Waits until a module has failed with this.
pub(super) async fn failed(operator: &Operator, module: &str, why: &str) -> String {
    let has = |operator: &Operator| report(operator, module)?.error.filter(|error| error.contains(why));
    operator.until(&format!("{module} fails with {why:?}"), has).await
}

#[tokio::test]
async fn a_chart_lives_as_its_module_does() {
    let bench = Bench::web().await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    let map = bench.port("80").await;
    assert_eq!(map["data"]["release"], "web default");
    let labels = &map["metadata"]["labels"];
    assert_eq!(
        (&labels["app.kubernetes.io/managed-by"], &labels["heritage"]),
        (&json!("Helm"), &json!("addon-operator"))
    );
    assert_eq!(map["metadata"]["annotations"]["meta.helm.sh/release-name"], "web");
    let password = bench.is_there("Secret", "web").await["data"]["password"].clone();

    // Settings change it.
    bench.configure(json!({"web": "port: 8080"})).await;
    bench.port("8080").await;
    at(&operator, "web", "ready").await;

    // What somebody changes or deletes comes back. Fields of others stay.
    let mut other = object("ConfigMap", "web");
    other["metadata"]["labels"] = json!({"mine": "1"});
    other["data"] = json!({"port": "1"});
    bench.cluster.admin.apply(&other).await.unwrap();
    let map = bench.port("8080").await;
    assert_eq!(map["metadata"]["labels"]["mine"], "1");
    bench.cluster.admin.delete(&object("ConfigMap", "web")).await.unwrap();
    bench.port("8080").await;
    at(&operator, "web", "ready").await;

    // It is turned off, and on again.
    bench.configure(json!({"webEnabled": "false"})).await;
    at(&operator, "web", "off").await;
    for (kind, name) in [("ConfigMap", "web"), ("Secret", "web"), ("Secret", "boathook-module-web")] {
        bench.is_gone(kind, name).await;
    }
    let kept = bench.is_there("ConfigMap", "kept").await;
    assert!(kept["metadata"]["labels"].get("applyset.kubernetes.io/part-of").is_none(), "{kept}");
    bench.configure(json!({"webEnabled": "true"})).await;
    at(&operator, "web", "ready").await;
    bench.port("8080").await;
    let again = bench.is_there("Secret", "web").await["data"]["password"].clone();
    assert_ne!(again, password, "a new installation has a new password");
}

/// A client that notes writes.
fn noting(url: &str, writes: &Arc<Mutex<Vec<String>>>) -> Client {
    let (inner, writes) = (client(url), writes.clone());
    let send = move |request: http::Request<Body>| {
        if request.method() != http::Method::GET && !request.uri().path().contains("authorization.k8s.io") {
            writes.lock().unwrap().push(format!("{} {}", request.method(), request.uri()));
        }
        let inner = inner.clone();
        async move { inner.send(request).await }
    };
    Client::new(tower::service_fn(send), "default")
}

#[tokio::test]
async fn nothing_is_written_while_nothing_changes() {
    let bench = Bench::web().await;
    bench.put("010-web/crds/app.yaml", CRD);
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    operator.shutdown().await;
    let writes = Arc::new(Mutex::default());
    let operator = bench.start_with(noting(&bench.cluster.cluster.url(), &writes)).await;
    at(&operator, "web", "ready").await;
    assert_eq!(*writes.lock().unwrap(), [""; 0]);
    bench.configure(json!({"web": "port: 81"})).await;
    bench.port("81").await;
    assert!(!writes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_others_add_to_an_item_of_a_list_is_no_drift() {
    let bench = Bench::web().await;
    let template = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: web}\n\
                    webhooks:\n- {name: web.example.com, failurePolicy: Ignore, sideEffects: None, admissionReviewVersions: [v1], \
                    clientConfig: {url: 'https://127.0.0.1:1/x'}}\n";
    bench.put("010-web/templates/webhook.yaml", template);
    let writes = Arc::new(Mutex::default());
    let operator = bench.start_with(noting(&bench.cluster.cluster.url(), &writes)).await;
    at(&operator, "web", "ready").await;
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/web";
    let patch = async |of: &str, to: &str| -> Value {
        let body = json!([{"op": "add", "path": format!("/webhooks/0/{of}"), "value": to}]);
        let request = http::Request::patch(path).header("content-type", "application/json-patch+json");
        bench.cluster.admin.client.request(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap()
    };
    writes.lock().unwrap().clear();
    // As cert-manager's injector does it.
    patch("clientConfig/caBundle", "Cg==").await;
    bench.cluster.admin.delete(&object("ConfigMap", "web")).await.unwrap();
    bench.port("80").await;
    patch("failurePolicy", "Fail").await;
    let repaired = async || -> Option<Value> {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let found: Value = bench.cluster.admin.client.request(request).await.unwrap();
        (found["webhooks"][0]["failurePolicy"] == "Ignore").then_some(found)
    };
    let found = until("the policy is repaired", repaired).await;
    assert_eq!(found["webhooks"][0]["clientConfig"]["caBundle"], "Cg==");
    at(&operator, "web", "ready").await;
    let writes = writes.lock().unwrap();
    assert_eq!(writes.iter().filter(|write| write.contains(path)).count(), 1, "{writes:?}");
}

pub(super) fn hook(name: &str, event: &str, more: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n  annotations: {{helm.sh/hook: '{event}'{more}}}\nspec:\n  \
         template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: 'example.com/c:1'}}]}}}}\n"
    )
}

#[tokio::test]
async fn hooks_of_a_chart_are_waited_for() {
    let bench = Bench::web().await;
    for (name, event, more) in [
        ("before", "pre-install,pre-upgrade", ", helm.sh/hook-weight: '-5'"),
        ("second", "pre-install", ", helm.sh/hook-delete-policy: 'hook-succeeded,before-hook-creation'"),
        ("after", "post-install,post-upgrade", ""),
        ("last", "pre-delete", ""),
        ("gone", "post-delete", ""),
        ("tested", "test", ""),
    ] {
        bench.put(&format!("010-web/templates/{name}.yaml"), &hook(name, event, more));
    }
    let operator = bench.start().await;
    bench.is_there("Job", "before").await;
    let waits = report(&operator, "web").and_then(|web| web.waits);
    assert_eq!(waits.as_deref(), Some("the chart's pre-install hooks"));
    assert!(bench.get("Job", "second").await.is_none() && bench.get("ConfigMap", "web").await.is_none());
    bench.end("before", "Complete").await;
    bench.is_there("Job", "second").await;
    assert!(bench.get("ConfigMap", "web").await.is_none());
    bench.end("second", "Complete").await;
    bench.port("80").await;
    // A hook that fails is run again.
    bench.end("after", "Failed").await;
    failed(&operator, "web", "the post-install hook web/templates/after.yaml failed").await;
    let again = async || {
        bench.get("Job", "after").await.filter(|job| job.get("status").is_none_or(|it| it["conditions"].is_null()))
    };
    until("the hook runs again", again).await;
    bench.end("after", "Complete").await;
    at(&operator, "web", "ready").await;
    assert!(bench.get("Job", "second").await.is_none() && bench.get("Job", "tested").await.is_none());
    let first = bench.is_there("Job", "before").await["metadata"]["uid"].clone();

    // An upgrade runs its own hooks, and those that ran before are replaced.
    bench.configure(json!({"web": "port: 81"})).await;
    let replaced = async || bench.get("Job", "before").await.filter(|job| job["metadata"]["uid"] != first);
    until("the hook is replaced", replaced).await;
    assert_eq!(bench.is_there("ConfigMap", "web").await["data"]["port"], "80");
    bench.end("before", "Complete").await;
    bench.port("81").await;
    let pending = async || bench.get("Job", "after").await.filter(|job| job["status"]["conditions"].is_null());
    until("the hook after the upgrade runs", pending).await;
    bench.end("after", "Complete").await;
    at(&operator, "web", "ready").await;

    bench.configure(json!({"webEnabled": "false"})).await;
    bench.is_there("Job", "last").await;
    bench.port("81").await;
    assert!(bench.get("Job", "gone").await.is_none());
    bench.end("last", "Complete").await;
    bench.is_there("Job", "gone").await;
    bench.is_gone("ConfigMap", "web").await;
    bench.end("gone", "Complete").await;
    at(&operator, "web", "off").await;
}

#[tokio::test]
async fn a_broken_chart_blocks_only_what_needs_it() {
    let bench = Bench::new(&[
        ("values.yaml", "badEnabled: true\ngoodEnabled: true\nneedyEnabled: true\nunknownEnabled: true\n"),
        ("010-bad/templates/a.yaml", "{{ fail \"no such thing\" }}"),
        ("015-unknown/templates/a.yaml", "{apiVersion: example.com/v1, kind: Nothing, metadata: {name: a}}"),
        ("020-good/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}"),
        ("030-needy/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: needy}}"),
        ("030-needy/module.yaml", "requirements: {modules: {bad: '>= 0.0.0'}}"),
        ("010-bad/module.yaml", "version: 1.0.0"),
    ])
    .await;
    let operator = bench.start().await;
    at(&operator, "good", "ready").await;
    let why = failed(&operator, "bad", "no such thing").await;
    assert!(why.contains("bad/templates/a.yaml"), "{why}");
    let why = failed(&operator, "unknown", "serves no Nothing in example.com/v1").await;
    assert!(why.contains("unknown/templates/a.yaml"), "{why}");
    bench.is_there("ConfigMap", "good").await;
    assert!(bench.get("ConfigMap", "needy").await.is_none());
}

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: apps.example.com}\n\
                   spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: App, plural: apps, singular: app, listKind: \
                   AppList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema: \
                   {type: object, properties: {spec: {type: object, properties: {size: {type: integer}, old: {type: string}}}}}\n";

// mutant: crates/operator/src/app/definitions.rs: `if !changes.is_empty() {` => `if false {`
#[tokio::test]
async fn definitions_come_first_and_stay() {
    let bench = Bench::new(&[
        ("values.yaml", "appEnabled: true\napp: {size: 2}\n"),
        ("010-app/crds/app.yaml", CRD),
        ("010-app/crds/doc-app.yaml", "not a definition"),
        (
            "010-app/templates/app.yaml",
            "{{- if .Capabilities.APIVersions.Has \"example.com/v1/App\" }}\napiVersion: example.com/v1\nkind: App\nmetadata: {name: \
             app}\nspec: {size: {{ .Values.app.size }}}\n{{- end }}",
        ),
    ])
    .await;
    let operator = bench.start().await;
    at(&operator, "app", "ready").await;
    assert_eq!(bench.is_there("App", "app").await["spec"]["size"], 2);
    bench.configure(json!({"appEnabled": "false"})).await;
    at(&operator, "app", "off").await;
    bench.is_gone("App", "app").await;
    bench.is_there("CustomResourceDefinition", "apps.example.com").await;
    bench.put("010-app/crds/app.yaml", &CRD.replace("old: {type: string}", "new: {type: string}"));
    bench.configure(json!({"appEnabled": "true"})).await;
    let why = failed(&operator, "app", "is not safe").await;
    assert!(why.contains("crds/app.yaml: apps.example.com") && why.contains("objects would lose it"), "{why}");
    // A change that takes nothing away is applied.
    bench.put("010-app/crds/app.yaml", &CRD.replace("old: {type: string}", "old: {type: string}, new: {type: string}"));
    at(&operator, "app", "ready").await;
    let definition = bench.is_there("CustomResourceDefinition", "apps.example.com").await;
    let fields = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    assert_eq!(fields["new"]["type"], "string", "{definition}");
}

// mutant: crates/applyset/src/prune.rs: `(share && !situation.empty)` => `(false && !situation.empty)`
#[tokio::test]
async fn a_large_prune_waits_for_an_approval() {
    let bench = Bench::web().await;
    bench.configure(json!({"web": "more: 10"})).await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    bench.is_there("ConfigMap", "more-9").await;
    bench.configure(json!({"web": "more: 1"})).await;
    let why = failed(&operator, "web", "9 objects wait to be deleted").await;
    assert!(why.contains("boathook.dev/approve-prune of the v1 Secret default/boathook-module-web"), "{why}");
    bench.is_there("ConfigMap", "more-9").await;
    let secret = bench.is_there("Secret", "boathook-module-web").await;
    let hold: Value =
        serde_json::from_str(secret["metadata"]["annotations"]["boathook.dev/prune-hold"].as_str().unwrap()).unwrap();
    let mut approval = object("Secret", "boathook-module-web");
    approval["metadata"]["annotations"] = json!({"boathook.dev/approve-prune": hold["digest"]});
    bench.cluster.admin.apply(&approval).await.unwrap();
    bench.is_gone("ConfigMap", "more-9").await;
    at(&operator, "web", "ready").await;
    bench.is_there("ConfigMap", "more-0").await;
}

#[tokio::test]
async fn templates_look_up_what_is_there() {
    let bench = Bench::new(&[
        ("values.yaml", "seerEnabled: true\n"),
        (
            "010-seer/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seer}\ndata:\n  found: {{ (lookup \"v1\" \"ConfigMap\" \"default\" \
             \"known\").data.a | quote }}\n  none: {{ lookup \"v1\" \"ConfigMap\" \"default\" \"unknown\" | toJson | quote }}\n  all: \
             {{ range (lookup \"v1\" \"ConfigMap\" \"default\" \"\").items }}{{ .metadata.name }} {{ end }}\n  minor: {{ \
             .Capabilities.KubeVersion.Minor | quote }}\n  apps: {{ .Capabilities.APIVersions.Has \"apps/v1/Deployment\" | quote }}\n",
        ),
    ])
    .await;
    let mut known = object("ConfigMap", "known");
    known["data"] = json!({"a": "b"});
    bench.cluster.admin.create(&known).await.unwrap();
    let operator = bench.start().await;
    at(&operator, "seer", "ready").await;
    let data = bench.is_there("ConfigMap", "seer").await["data"].clone();
    assert_eq!((&data["found"], &data["none"], &data["apps"]), (&json!("b"), &json!("{}"), &json!("true")), "{data}");
    assert!(data["all"].as_str().unwrap().contains("known") && data["minor"] != "", "{data}");
}

// mutant: crates/operator/src/app/modules/charts/dependants.rs: `if items.iter().any(counts) {` => `if false {`
#[tokio::test]
async fn a_namespace_goes_only_if_nothing_else_is_in_it() {
    let bench = Bench::new(&[
        ("values.yaml", "roomEnabled: true\n"),
        (
            "010-room/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: room}\n---\napiVersion: v1\nkind: Namespace\nmetadata: \
             {name: room}\n",
        ),
    ])
    .await;
    let operator = bench.start().await;
    at(&operator, "room", "ready").await;
    let within = |name: &str| {
        let mut map = object("ConfigMap", name);
        map["metadata"]["namespace"] = json!("room");
        map
    };
    assert!(bench.cluster.admin.get(&within("a")).await.unwrap().is_some());
    bench.cluster.admin.create(&within("foreign")).await.unwrap();
    bench.configure(json!({"roomEnabled": "false"})).await;
    let why = failed(&operator, "room", "others may depend on them").await;
    assert!(why.contains("Namespace room"), "{why}");
    assert!(bench.cluster.admin.get(&within("a")).await.unwrap().is_none());
    bench.cluster.admin.delete(&within("foreign")).await.unwrap();
    at(&operator, "room", "off").await;
    bench.is_gone("Namespace", "room").await;
}

// mutant: crates/operator/src/app/modules/charts/release.rs: `adopt: Adopt::IfUnowned` => `adopt: Adopt::Always`
#[tokio::test]
async fn an_object_of_somebody_else_is_taken_over_or_refused() {
    let bench = Bench::web().await;
    bench.put("values.yaml", "webEnabled: true\nweb: {port: 80, more: 1}\n");
    // Nobody has the one. The other is a member of another set.
    let mut free = object("ConfigMap", "web");
    free["data"] = json!({"port": "1", "own": "2"});
    let mut taken = object("ConfigMap", "more-0");
    taken["metadata"]["labels"] = json!({"applyset.kubernetes.io/part-of": "applyset-other-v1"});
    for map in [&free, &taken] {
        bench.cluster.admin.create(map).await.unwrap();
    }
    let operator = bench.start().await;
    let map = bench.port("80").await;
    assert_eq!(map["data"]["own"], "2");
    let why = failed(&operator, "web", "it belongs to the set applyset-other-v1").await;
    assert!(why.contains("ConfigMap default/more-0"), "{why}");
    let other = bench.is_there("ConfigMap", "more-0").await;
    assert!(other["metadata"]["annotations"].get("meta.helm.sh/release-name").is_none(), "{other}");
    bench.cluster.admin.delete(&taken).await.unwrap();
    at(&operator, "web", "ready").await;
}

#[tokio::test]
async fn a_module_is_ready_when_its_objects_are() {
    let bench = Bench::new(&[
        ("values.yaml", "podEnabled: true\nneedyEnabled: true\n"),
        ("010-pod/module.yaml", "version: 1.0.0"),
        (
            "010-pod/templates/a.yaml",
            "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Never, containers: [{name: c, image: \
             'example.com/c:1'}]}}",
        ),
        ("020-needy/module.yaml", "requirements: {modules: {pod: '>= 1.0.0'}}"),
        ("020-needy/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: needy}}"),
    ])
    .await;
    let operator = bench.start().await;
    bench.is_there("Pod", "a").await;
    assert!(report(&operator, "pod").is_some_and(|report| report.at != "ready"));
    assert!(bench.get("ConfigMap", "needy").await.is_none());
    let status = json!({"status": {"phase": "Succeeded"}});
    let request = http::Request::patch("/api/v1/namespaces/default/pods/a/status")
        .header("content-type", "application/merge-patch+json")
        .body(status.to_string().into_bytes());
    let _: Value = bench.cluster.admin.client.request(request.unwrap()).await.unwrap();
    at(&operator, "needy", "ready").await;
}

#[tokio::test]
async fn objects_of_a_lower_wave_come_first_and_the_others_wait_until_they_are_ready() {
    let bench = Bench::new(&[
        ("values.yaml", "webEnabled: true\n"),
        ("010-web/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}"),
        (
            "010-web/templates/b.yaml",
            "{apiVersion: v1, kind: Pod, metadata: {name: first, annotations: {boathook.dev/wave: '-1'}}, spec: {restartPolicy: \
             Never, containers: [{name: c, image: 'example.com/c:1'}]}}",
        ),
    ])
    .await;
    let operator = bench.start().await;
    bench.is_there("Pod", "first").await;
    // Without a wave, a ConfigMap comes before a Pod.
    assert!(bench.get("ConfigMap", "web").await.is_none());
    let status = json!({"status": {"phase": "Succeeded"}});
    let request = http::Request::patch("/api/v1/namespaces/default/pods/first/status")
        .header("content-type", "application/merge-patch+json")
        .body(status.to_string().into_bytes());
    let _: Value = bench.cluster.admin.client.request(request.unwrap()).await.unwrap();
    at(&operator, "web", "ready").await;
    bench.is_there("ConfigMap", "web").await;
}

// mutant: crates/modules/src/life/entry.rs: `let charted = self.parts.chart && !self.maintained;` => `let charted = self.parts.chart;`
#[tokio::test]
async fn objects_of_a_module_in_maintenance_stay_as_they_are() {
    let bench = Bench::web().await;
    bench.put("values.yaml", "webEnabled: true\nweb: {port: 80, more: 0}\notherEnabled: true\nother: {port: 1}\n");
    let other =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {port: {{ .Values.other.port | quote }}}\n";
    bench.put("020-other/templates/a.yaml", other);
    let operator = bench.start().await;
    at(&operator, "other", "ready").await;
    // The other module comes after this one, so this one has seen the change when the other one has applied it.
    let settled = async |port: &str| {
        let has = async || (bench.get("ConfigMap", "other").await?["data"]["port"] == port).then_some(());
        until(&format!("the other port is {port}"), has).await;
    };
    let maintained = |port: &str, other: &str| {
        let (port, other) = (format!("port: {port}"), format!("port: {other}"));
        json!({"webMaintenance": "NoResourceReconciliation", "web": port, "other": other})
    };
    bench.configure(maintained("81", "2")).await;
    settled("2").await;
    assert_eq!(bench.is_there("ConfigMap", "web").await["data"]["port"], "80");
    // What somebody changes stays, too.
    let mut edited = object("ConfigMap", "web");
    edited["data"] = json!({"port": "1"});
    bench.cluster.admin.apply(&edited).await.unwrap();
    bench.configure(maintained("82", "3")).await;
    settled("3").await;
    assert_eq!(bench.is_there("ConfigMap", "web").await["data"]["port"], "1");
    bench.configure(json!({"webMaintenance": "", "web": "port: 82", "other": "port: 3"})).await;
    bench.port("82").await;
    at(&operator, "web", "ready").await;
}

/// Runs an operator until it dies after its last write, or until the module is at this point of its life.
pub(super) async fn until_death(bench: &Bench, life: &Arc<Life>, place: &str) {
    let operator = bench.start_with(mortal(&bench.cluster.cluster.url(), life)).await;
    let is_there = || report(&operator, "web").is_some_and(|report| report.at == place);
    until("it died, or is done", async || (life.is_over() || is_there()).then_some(())).await;
}

#[tokio::test]
async fn an_operator_that_dies_after_any_write_is_continued_by_the_next_one() {
    let mut most = 0;
    loop {
        most += 1;
        let (bench, life) = (Bench::web().await, Life::of(most));
        until_death(&bench, &life, "ready").await;
        let is_complete = !life.is_over();
        let operator = bench.start().await;
        at(&operator, "web", "ready").await;
        for (kind, name) in [("ConfigMap", "web"), ("Secret", "web"), ("ConfigMap", "kept")] {
            let found = bench.is_there(kind, name).await;
            assert!(
                found["metadata"]["labels"]["applyset.kubernetes.io/part-of"].is_string(),
                "after {most} writes: {found}"
            );
        }
        operator.shutdown().await;

        bench.configure(json!({"webEnabled": "false"})).await;
        until_death(&bench, &Life::of(most), "off").await;
        let operator = bench.start().await;
        at(&operator, "web", "off").await;
        for (kind, name) in [("ConfigMap", "web"), ("Secret", "web"), ("Secret", "boathook-module-web")] {
            assert!(bench.get(kind, name).await.is_none(), "after {most} writes: {kind} {name}");
        }
        bench.is_there("ConfigMap", "kept").await;
        if is_complete {
            break;
        }
    }
    assert!((5..20).contains(&most), "{most}");
}

// mutant: crates/operator/src/app/modules/configuration.rs: `if complete && self.usable {` => `if complete {`
#[tokio::test]
async fn a_configuration_that_cannot_be_read_deletes_nothing_after_a_restart() {
    let bench = Bench::web().await;
    bench.put("values.yaml", "web: {port: 80, more: 0}\n");
    bench.configure(json!({"webEnabled": "true"})).await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    let before = bench.is_there("ConfigMap", "web").await;
    operator.shutdown().await;
    bench.configure(json!({"webEnabled": "true", "web": "{{"})).await;
    let operator = bench.start().await;
    let waits = "modules wait, because their configuration cannot be read: correct the ConfigMap";
    until("the modules wait", async || (!operator.log.told(waits).is_empty()).then_some(())).await;
    assert!(report(&operator, "web").is_none_or(|report| report.on.is_none()), "nobody knows whether it is on");
    bench.configure(json!({"webEnabled": "true", "web": "port: 81"})).await;
    at(&operator, "web", "ready").await;
    assert_eq!(bench.port("81").await["metadata"]["uid"], before["metadata"]["uid"]);
}

// mutant: crates/operator/src/app/modules/charts/mod.rs: `Some(release) if release.record().is_ending() => self.delete().await,` => `Some(_) => self.delete().await,`
#[tokio::test]
async fn objects_of_a_chart_that_is_lost_stay_until_the_module_is_turned_off() {
    let bench = Bench::web().await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    operator.shutdown().await;
    fs::remove_dir_all(bench.modules.path().join("010-web/templates")).unwrap();
    let operator = bench.start().await;
    failed(&operator, "web", "the module's chart is gone and its objects are there").await;
    bench.is_there("ConfigMap", "web").await;
    bench.configure(json!({"webEnabled": "false"})).await;
    at(&operator, "web", "off").await;
    bench.is_gone("ConfigMap", "web").await;
}

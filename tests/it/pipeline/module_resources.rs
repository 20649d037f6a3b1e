//! Modules as resources: they configure modules of directories, and bring modules from a registry.

use std::{fs, path::Path, time::Duration};

use boathook_bundle::{HookInput, Input, ModuleFile, ModuleInput, Packed, Reach, Store, pack};
use boathook_core::model::HookName;
use boathook_operator::{
    app::{CertificateSource, ModuleResources, ModulesOptions, Options, Reached, WebhookOptions},
    hookbundle::SourceOptions,
    module,
    webhook::Settings,
};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::{
    ResourceExt as _,
    api::{Api, ListParams},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    fixture::Operator,
    modules_commands::modules,
    written::{Deed, hook},
};
use crate::{
    bundle::{registry::Registry, send},
    hookbundle::stage::shown,
    support::{
        cluster::TestCluster,
        guests::{asks, compile, guest},
        until,
    },
};

const TEMPLATE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {port: {{ .Values.web.port | quote }}}\n";
const SCHEMA: &str = "type: object\nproperties:\n  port: {type: integer, default: 80}\n  size:\n    type: integer\n    \
                      x-deckhouse-validations: [{expression: self >= oldSelf, message: never shrinks}]\n";

pub(super) struct Bench {
    pub cluster: TestCluster,
    pub modules: TempDir,
    store: TempDir,
    registry: Option<Registry>,
}

/// Has the cluster serve Modules.
pub async fn define(cluster: &TestCluster) {
    let definition = module::definition();
    cluster.admin.create(&definition).await.unwrap();
    until("Modules are served", async || {
        let found = cluster.admin.get(&definition).await.unwrap()?;
        let conditions = found["status"]["conditions"].as_array()?.clone();
        conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True").then_some(())
    })
    .await;
}

impl Bench {
    async fn new() -> Self {
        let cluster = TestCluster::start().await;
        define(&cluster).await;
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "web", "namespace": "default"}});
        cluster.admin.create(&account).await.unwrap();
        Self { cluster, modules: TempDir::new().unwrap(), store: TempDir::new().unwrap(), registry: None }
    }

    /// With the module `web` in a directory.
    pub async fn web() -> Self {
        let bench = Self::new().await;
        for (file, text) in [("010-web/templates/web.yaml", TEMPLATE), ("010-web/openapi/config-values.yaml", SCHEMA)] {
            let path = bench.modules.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        bench
    }

    async fn start(&self) -> Operator {
        self.start_with(|_| ()).await
    }

    pub async fn start_with(&self, adjust: impl FnOnce(&mut Options)) -> Operator {
        self.start_as(self.cluster.admin.client.clone(), adjust).await
    }

    async fn start_as(&self, client: kube::Client, adjust: impl FnOnce(&mut Options)) -> Operator {
        let directories = vec![self.modules.path().to_owned()];
        let store = Store::open(self.store.path()).unwrap();
        let sources = SourceOptions { store, policy: None, reach: Reach::Anywhere, ca: Vec::new() };
        Operator::start(client, &[], |options| {
            let retry = Duration::from_millis(200);
            options.modules = Some(ModulesOptions {
                retry_initial: retry,
                retry_max: retry * 5,
                resources: Some(ModuleResources { sources: Some(sources) }),
                ..ModulesOptions::new(directories)
            });
            options.sandbox.interpreters = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("interpreters/dist")];
            adjust(options);
        })
        .await
    }

    /// A client with a token of a ServiceAccount, as an operator in a pod has it.
    async fn client_of(&self, account: &str) -> kube::Client {
        let object = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": "default"}});
        self.cluster.admin.create(&object).await.unwrap();
        let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let request = http::Request::post(format!("/api/v1/namespaces/default/serviceaccounts/{account}/token"))
            .header("content-type", "application/json")
            .body(asked.to_string().into_bytes());
        let answer: Value = self.cluster.admin.client.request(request.unwrap()).await.unwrap();
        let mut config = kube::Config::new(self.cluster.cluster.url().parse().unwrap());
        config.auth_info.token = Some(answer["status"]["token"].as_str().unwrap().to_owned().into());
        (config.default_retry, config.read_timeout) = (false, None);
        kube::Client::try_from(config).unwrap()
    }

    /// Writes the Module `web`, as a whole.
    pub async fn module(&self, spec: Value) {
        self.try_module(spec).await.unwrap();
    }

    pub async fn try_module(&self, spec: Value) -> Result<(), String> {
        let mut module = object(spec.clone());
        module["spec"] = spec;
        for _ in 0..20 {
            let there = self.get("Module", "web").await;
            let Some(there) = there else {
                return self.cluster.admin.create(&module).await.map(drop).map_err(|error| error.to_string());
            };
            // All fields of the spec are replaced, and what the operator writes stays.
            module["metadata"] = there["metadata"].clone();
            let request = http::Request::put("/apis/boathook.dev/v1alpha1/modules/web")
                .header("content-type", "application/json")
                .body(module.to_string().into_bytes());
            match self.cluster.admin.client.request::<Value>(request.unwrap()).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("the Module changes all the time".to_owned())
    }

    async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let mut wanted = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}});
        if kind == "Module" {
            wanted = object(json!({}));
        }
        self.cluster.admin.get(&wanted).await.unwrap()
    }

    /// Waits for a condition of the Module: `Ready=True/Ready`.
    pub async fn condition(&self, wanted: &str) -> Value {
        let last = std::cell::RefCell::new(Value::Null);
        let look = async || {
            let found = self.get("Module", "web").await?;
            last.replace(found["status"].clone());
            let current = found["status"]["observedGeneration"] == found["metadata"]["generation"];
            let has = shown(&found["status"]).iter().any(|condition| condition.starts_with(wanted));
            (has && current).then(|| found["status"].clone())
        };
        let waited = tokio::time::timeout(crate::support::PATIENCE / 2, until(wanted, look)).await;
        waited.unwrap_or_else(|_| panic!("never: {wanted}: {:#}", last.borrow()))
    }

    pub async fn port(&self, port: &str) {
        let has = async || (self.get("ConfigMap", "web").await?["data"]["port"] == port).then_some(());
        until(&format!("the port is {port}"), has).await;
    }

    async fn is_gone(&self, kind: &str, name: &str) {
        let gone = async || self.get(kind, name).await.is_none().then_some(());
        until(&format!("{kind} {name} is gone"), gone).await;
    }

    /// The reasons of the Events about the Module.
    async fn events(&self) -> Vec<String> {
        let request = http::Request::get("/apis/events.k8s.io/v1/namespaces/default/events").body(Vec::new()).unwrap();
        let list: Value = self.cluster.admin.client.request(request).await.unwrap();
        let about = |event: &&Value| event["regarding"]["kind"] == "Module";
        let text = |event: &Value| format!("{} {}", event["type"].as_str().unwrap(), event["reason"].as_str().unwrap());
        list["items"].as_array().unwrap().iter().filter(about).map(text).collect()
    }

    async fn push(&self, tag: &str, packed: &Packed) -> String {
        send(packed, &self.registry.as_ref().unwrap().place(&format!("team/web:{tag}"))).await;
        packed.manifest.digest.to_string()
    }

    /// The spec of a module from the registry.
    fn sourced(&self, version: &str, more: Value) -> Value {
        let repository = format!("{}/team/web", self.registry.as_ref().unwrap().host);
        let mut spec = json!({
            "source": {"oci": {"repository": repository, "insecure": true}},
            "version": version,
            "verification": {"unsigned": true},
            "serviceAccountName": "web",
            "grants": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    }
}

fn object(spec: Value) -> Value {
    let mut object =
        json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "Module", "metadata": {"name": "web"}, "spec": spec});
    if object["spec"] == json!({}) {
        object.as_object_mut().unwrap().remove("spec");
    }
    object
}

/// Has the operator serve webhooks.
pub(super) fn webhooks(options: &mut Options) {
    options.webhooks = Some(WebhookOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        settings: Settings::default(),
        instance: "test".to_owned(),
        namespace: "default".to_owned(),
        left_out: WebhookOptions::left_out(None),
        reached: Reached::Address,
        certificates: CertificateSource::Memory,
        client_ca: None,
    });
}

/// A version of the module `web`, whose hook says a word before the chart is applied, and asks for a resource.
fn version(version: &str, word: &str, resource: &str) -> Packed {
    let document = format!(
        "{{configVersion: v1, beforeHelm: 1, permissions: {{kubernetes: [{{apiGroups: [\"\"], resources: [{resource}], \
         verbs: [get]}}]}}}}"
    );
    let component = hook(&document, &Deed::Says(word)).into();
    let file = |path: &str, content: &str| ModuleFile {
        path: path.to_owned(),
        content: content.to_owned().into(),
        executable: false,
    };
    let files = vec![
        file("module.yaml", &format!("version: {version}\n")),
        file("templates/web.yaml", TEMPLATE),
        file("openapi/config-values.yaml", SCHEMA),
    ];
    let hooks = vec![HookInput { name: HookName::new("main").unwrap(), component, asks: asks(&document) }];
    let module = Some(ModuleInput { name: "web".to_owned(), files });
    pack(Input { hooks, module, ..Input::default() }).unwrap()
}

// mutant: crates/operator/src/app/modules/supply.rs: `known.settings = (!refused.is_empty()).then_some(refused.join("; "));\n        let taken` => `let taken`
#[tokio::test]
async fn a_module_resource_configures_a_module_of_a_directory() {
    let bench = Bench::web().await;
    let operator = bench.start().await;
    bench.module(json!({"enabled": true, "settings": {"port": 81, "size": 3}})).await;
    bench.port("81").await;
    let status = bench.condition("Ready=True/Ready").await;
    assert_eq!((&status["state"], &status["enabled"], &status["revision"]), (&json!("Ready"), &json!(true), &json!(1)));
    assert!(status.get("digest").is_none());

    // Settings change it.
    bench.module(json!({"enabled": true, "settings": {"port": 82, "size": 3}})).await;
    bench.port("82").await;
    let status = bench.condition("Ready=True/Ready").await;
    assert_eq!(status["revision"], 2);

    // Settings that the schema or a rule refuses change nothing, and say why.
    for (settings, why) in
        [(json!({"port": "a"}), "web.port: want integer"), (json!({"port": 82, "size": 2}), "web.size: never shrinks")]
    {
        bench.module(json!({"enabled": true, "settings": settings})).await;
        let status = bench.condition("Configured=False/SettingsRefused").await;
        let text = shown(&status).join("\n");
        assert!(text.contains(why) && text.contains("the Module web"), "{text}");
        assert!(text.contains("Ready=False/SettingsRefused") && text.contains("Stalled=True"), "{text}");
    }
    bench.port("82").await;

    // The ConfigMap is below the Module.
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "addon-operator", "namespace": "default"},
        "data": {"web": "port: 90", "webEnabled": "false"}});
    bench.cluster.admin.apply(&config).await.unwrap();
    bench.module(json!({"settings": {"size": 4}})).await;
    bench.condition("Ready=True/Disabled").await;
    bench.is_gone("ConfigMap", "web").await;
    bench.module(json!({"enabled": true})).await;
    bench.port("90").await;
    bench.condition("Ready=True/Ready").await;

    // Nothing of it is repaired in maintenance.
    bench.module(json!({"enabled": true, "maintenance": "NoResourceReconciliation", "settings": {"port": 91}})).await;
    bench.condition("Ready=True/Ready").await;
    bench.port("90").await;
    bench.module(json!({"enabled": true, "maintenance": "Managed", "settings": {"port": 91}})).await;
    bench.port("91").await;
    bench.condition("Ready=True/Ready").await;

    // Without the Module, the ConfigMap decides.
    bench.cluster.admin.delete(&object(json!({}))).await.unwrap();
    bench.is_gone("ConfigMap", "web").await;
    bench.is_gone("Module", "web").await;
    let events = bench.events().await;
    for event in ["Normal Ready", "Warning SettingsRefused", "Normal Disabled"] {
        assert!(events.iter().any(|one| one == event), "{event}: {events:?}");
    }
    drop(operator);
}

// mutant: crates/operator/src/app/answers/mod.rs: `settings.is_at(hook)` => `settings.is_at("")`
#[tokio::test]
async fn settings_are_reviewed_before_they_are_stored() {
    let bench = Bench::web().await;
    let operator = bench.start_with(webhooks).await;
    bench.module(json!({"enabled": true, "settings": {"port": 81, "size": 3}})).await;
    bench.condition("Ready=True/Ready").await;
    // The webhook is registered a little later.
    let wrong = json!({"enabled": true, "settings": {"port": "a"}});
    let refused = async || {
        bench.module(json!({"enabled": true, "settings": {"port": 81, "size": 3}})).await;
        bench.try_module(wrong.clone()).await.err()
    };
    let error = until("wrong settings are refused", refused).await;
    assert!(error.contains("web.port: want integer, but got string (written by the Module web)"), "{error}");
    // Before that, they may have been stored, and the operator has refused them.
    bench.module(json!({"enabled": true, "settings": {"port": 81, "size": 3}})).await;
    bench.condition("Ready=True/Ready").await;
    let error = bench.try_module(json!({"enabled": true, "settings": {"port": 81, "size": 2}})).await.unwrap_err();
    assert!(error.contains("web.size: never shrinks"), "{error}");
    // What a Module sets hides what the ConfigMap has.
    bench.module(json!({"enabled": true, "settings": {"size": 3}})).await;
    bench.condition("Ready=True/Ready").await;
    let map = |data: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "addon-operator", "namespace": "default"}, "data": data})
    };
    for (data, why) in [
        (json!({"web": "host: a"}), "host"),
        (json!({"webEnabled": "yes"}), "write \"true\" or \"false\""),
        (json!({"web": "port: no"}), "web.port: want integer"),
    ] {
        let error = bench.cluster.admin.apply(&map(data)).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    bench.cluster.admin.apply(&map(json!({"web": "port: 90"}))).await.unwrap();
    // Other ConfigMaps and other changes of the Module are nobody's business.
    let mut other = map(json!({"web": "["}));
    other["metadata"]["name"] = "other".into();
    bench.cluster.admin.apply(&other).await.unwrap();
    bench.module(json!({"enabled": false, "settings": {"port": 82, "size": 3}})).await;
    bench.condition("Ready=True/Disabled").await;
    drop(operator);
}

// mutant: crates/operator/src/app/modules/mod.rs: `self.services.health.sources().note_modules(self.pending(&now));` => `self.services.health.sources().note_modules(PendingModules::default());`
#[tokio::test]
async fn a_hook_of_a_module_reviews_and_converts_objects_while_the_module_is_on() {
    let bench = Bench::web().await;
    let hooks = bench.modules.path().join("010-web/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("main.wasm"), guest("reviewer")).unwrap();
    compile(&[("main.web", guest("reviewer"))]).await;
    let versions = ["v1", "v2", "v3"].map(|name| {
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        json!({"name": name, "served": true, "storage": name == "v2", "schema": schema})
    });
    let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget"});
    let widgets = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.reviewer.test"},
        "spec": {"group": "reviewer.test", "scope": "Namespaced", "names": names, "versions": versions}});
    bench.cluster.admin.create(&widgets).await.unwrap();
    let converts = async || {
        let found = bench.cluster.admin.get(&widgets).await.unwrap().unwrap();
        found["spec"]["conversion"]["strategy"] == "Webhook"
    };
    let operator = bench.start_with(webhooks).await;
    // A name that is new each time.
    let mut tries = 0;
    let mut create = async || {
        tries += 1;
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("try-{tries}"),
            "namespace": "default", "annotations": {"validate.reviewer.test/deny": "not here"}}});
        bench.cluster.admin.create(&object).await.map(drop).map_err(|error| error.to_string())
    };
    create().await.unwrap();
    assert!(!converts().await);
    bench.module(json!({"enabled": true})).await;
    bench.condition("Ready=True/Ready").await;
    until("the hook denies", async || create().await.err().filter(|error| error.contains("not here"))).await;
    until("the hook converts", async || converts().await.then_some(())).await;

    // An operator that starts takes nothing back before it has loaded the hooks of modules.
    let registered: Api<ValidatingWebhookConfiguration> = Api::all(bench.cluster.admin.client.clone());
    let uids = async || {
        let found = registered.list(&ListParams::default()).await.unwrap();
        found.items.iter().filter_map(|one| one.uid()).collect::<Vec<_>>()
    };
    let before = uids().await;
    operator.shutdown().await;
    let operator = bench.start_with(webhooks).await;
    operator.until("the module is ready", |operator| operator.log.told("module is ready").pop()).await;
    assert_eq!(uids().await, before);
    assert!(converts().await);
    bench.module(json!({"enabled": false})).await;
    bench.condition("Ready=True/Disabled").await;
    until("nobody denies", async || create().await.ok()).await;
    until("nobody converts", async || (!converts().await).then_some(())).await;
}

#[tokio::test]
async fn a_module_resource_for_nothing_says_so() {
    let bench = Bench::new().await;
    let _operator = bench.start().await;
    bench.module(json!({"enabled": true})).await;
    let status = bench.condition("Ready=False/NotFound").await;
    assert!(shown(&status).join("\n").contains("Stalled=True/NotFound"), "{status}");
}

// mutant: crates/operator/src/app/modules/keeper.rs: `hooks.check(&source).await?;` => ``
#[tokio::test]
async fn a_module_comes_from_a_registry_changes_its_version_and_goes() {
    let mut bench = Bench::new().await;
    bench.registry = Some(Registry::start());
    let first = bench.push("v1", &version("1.0.0", "one", "configmaps")).await;
    let operator = bench.start().await;
    bench.module(bench.sourced("v1", json!({"settings": {"port": 81}}))).await;
    bench.port("81").await;
    let status = bench.condition("Ready=True/Ready").await;
    assert_eq!((status["digest"].as_str(), &status["version"]), (Some(first.as_str()), &json!("1.0.0")));
    let said = |word: &str| operator.log.said("main.web").iter().any(|line| line == word);
    assert!(said("one"));

    // A version that is not there leaves the running one as it is.
    bench.module(bench.sourced("v2", json!({"settings": {"port": 82}}))).await;
    bench.condition("Ready=False/NotFound").await;
    bench.port("82").await;
    // So does one that requests more than is granted.
    bench.push("v3", &version("3.0.0", "three", "secrets")).await;
    bench.module(bench.sourced("v3", json!({"settings": {"port": 82}}))).await;
    let status = bench.condition("Fetched=False/MissingGrants").await;
    assert_eq!(status["digest"].as_str(), Some(first.as_str()));
    assert!(!said("three"));

    let second = bench.push("v2", &version("2.0.0", "two", "configmaps")).await;
    bench.module(bench.sourced("v2", json!({"settings": {"port": 83}}))).await;
    bench.port("83").await;
    let status = bench.condition("Ready=True/Ready").await;
    assert_eq!((status["digest"].as_str(), &status["version"]), (Some(second.as_str()), &json!("2.0.0")));
    assert!(said("two"));

    // It is turned off, and on.
    bench.module(bench.sourced("v2", json!({"enabled": false}))).await;
    bench.is_gone("ConfigMap", "web").await;
    bench.condition("Ready=True/Disabled").await;
    bench.module(bench.sourced("v2", json!({}))).await;
    bench.port("80").await;
    bench.condition("Ready=True/Ready").await;

    // With the Module, everything of it goes.
    bench.cluster.admin.delete(&object(json!({}))).await.unwrap();
    bench.is_gone("Module", "web").await;
    assert!(bench.get("ConfigMap", "web").await.is_none(), "the chart's objects go first");
    assert!(bench.get("Secret", "boathook-module-web").await.is_none());
    let left = fs::read_dir(bench.store.path().join("tenants")).unwrap().flatten();
    let left = left.filter_map(|tenant| fs::read_dir(tenant.path().join("modules")).ok()).flatten();
    assert_eq!(left.count(), 0, "the unpacked files are removed");
}

// mutant: crates/operator/src/app/modules/supply.rs: `let awaited = known.is_sourced() && !known.given_up` => `let awaited = false && !known.given_up`
#[tokio::test]
async fn a_module_from_a_registry_survives_a_restart_without_the_registry() {
    let mut bench = Bench::new().await;
    bench.registry = Some(Registry::start());
    let digest = bench.push("v1", &version("1.0.0", "one", "configmaps")).await;
    let operator = bench.start().await;
    bench.module(bench.sourced("v1", json!({}))).await;
    bench.condition("Ready=True/Ready").await;
    operator.shutdown().await;
    bench.registry.as_mut().unwrap().end();
    let operator = bench.start().await;
    let running = |operator: &Operator| (!operator.log.told("module is ready").is_empty()).then_some(());
    operator.until("the version in the store runs", running).await;
    let status = bench.condition("Fetched=False/RegistryUnavailable").await;
    assert_eq!(status["digest"].as_str(), Some(digest.as_str()));
    bench.port("80").await;
    operator.shutdown().await;

    // Nothing is deleted while it is not known what the module is, also when another module has gone through all its steps.
    bench.store = TempDir::new().unwrap();
    let other = TEMPLATE.replace("web", "other");
    for (file, text) in
        [("values.yaml", "otherEnabled: true\nother: {port: 1}\n"), ("other/templates/other.yaml", other.as_str())]
    {
        let path = bench.modules.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let operator = bench.start().await;
    operator.until("the other module is ready", running).await;
    bench.condition("Ready=False/RegistryUnavailable").await;
    bench.port("80").await;
    // Unless somebody deletes it. Then its hooks cannot run.
    bench.cluster.admin.delete(&object(json!({}))).await.unwrap();
    bench.is_gone("Module", "web").await;
    bench.is_gone("ConfigMap", "web").await;
    drop(operator);
}

// mutant: crates/operator/src/app/modules/charts/mod.rs: `Ok(Caller { identity: terms.identity.clone(), permissions, ..operator })` => `Ok(operator)`
#[tokio::test]
async fn the_chart_of_a_module_from_a_registry_may_do_what_is_granted() {
    let mut bench = Bench::new().await;
    bench.registry = Some(Registry::start());
    bench.push("v1", &version("1.0.0", "one", "configmaps")).await;
    let _operator = bench.start().await;
    let reading = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]);
    bench.module(bench.sourced("v1", json!({"grants": reading}))).await;
    let status = bench.condition("Ready=False/ChartFailed").await;
    let text = shown(&status).join("\n");
    assert!(text.contains("configmaps") && text.contains("patch"), "{text}");
    assert!(bench.get("ConfigMap", "web").await.is_none());
    bench.module(bench.sourced("v1", json!({}))).await;
    bench.port("80").await;
    // An account that is not there has no rights at all.
    bench.module(bench.sourced("v1", json!({"serviceAccountName": "nobody"}))).await;
    bench.condition("Ready=False/ServiceAccountForbidden").await;
}

// mutant: crates/operator/src/app/modules/keeper.rs: `if own == identity.user() {` => `if false {`
#[tokio::test]
async fn a_module_from_a_registry_cannot_act_as_the_operator() {
    let mut bench = Bench::new().await;
    bench.registry = Some(Registry::start());
    bench.push("v1", &version("1.0.0", "one", "configmaps")).await;
    let operator = bench.start_as(bench.client_of("operator").await, |_| ()).await;
    bench.module(bench.sourced("v1", json!({"serviceAccountName": "operator"}))).await;
    let status = bench.condition("Ready=False/ServiceAccountForbidden").await;
    let text = shown(&status).join("\n");
    assert!(text.contains("ServiceAccount default/operator is the operator's own: name another one"), "{text}");
    assert!(text.contains("Stalled=True/ServiceAccountForbidden"), "{text}");
    assert!(bench.get("ConfigMap", "web").await.is_none() && operator.log.said("main.web").is_empty());
    // Another one of its namespace may be named, and one that runs is not replaced by the operator's.
    bench.module(bench.sourced("v1", json!({}))).await;
    bench.port("80").await;
    bench.condition("Ready=True/Ready").await;
    bench.module(bench.sourced("v1", json!({"serviceAccountName": "operator", "settings": {"port": 81}}))).await;
    bench.condition("Fetched=False/ServiceAccountForbidden").await;
    bench.port("81").await;
}

#[tokio::test]
async fn a_module_from_a_registry_is_previewed_and_rolled_back() {
    let mut bench = Bench::new().await;
    bench.registry = Some(Registry::start());
    bench.push("v1", &version("1.0.0", "one", "configmaps")).await;
    let operator = bench.start().await;
    bench.module(bench.sourced("v1", json!({"settings": {"port": 81}}))).await;
    bench.port("81").await;
    bench.condition("Ready=True/Ready").await;
    operator.shutdown().await;

    // A preview has no files of it unless a directory has them.
    let files = TempDir::new().unwrap();
    let command = async |arguments: &[&str]| modules(&bench.cluster, files.path(), arguments).await;
    let plan = command(&["plan", "--modules", "."]).await;
    assert!(plan.code == Some(2) && plan.stderr.contains("it is from a registry"), "{}", plan.stderr);
    bench.module(bench.sourced("v1", json!({"enabled": false}))).await;
    let plan = command(&["plan", "--modules", "."]).await;
    let expected = "web: delete (the Module web turns it off)\n  - v1 ConfigMap default/web";
    assert_eq!((plan.code, plan.stdout.as_str()), (Some(1), expected), "{}", plan.stderr);
    for (file, text) in [("web/templates/web.yaml", TEMPLATE), ("web/openapi/config-values.yaml", SCHEMA)] {
        let path = files.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::write(files.path().join("web/module.yaml"), "version: 1.0.0\n").unwrap();
    bench.module(bench.sourced("v1", json!({"settings": {"port": 81}}))).await;
    let plan = command(&["plan", "--modules", "."]).await;
    assert_eq!((plan.code, plan.stdout.as_str()), (Some(0), "web: stay (revision 1)"), "{}", plan.stderr);
    bench.module(bench.sourced("v1", json!({"settings": {"port": 82}}))).await;
    let diff = command(&["diff", "web", "--modules", "."]).await;
    assert!(diff.code == Some(1) && diff.stdout.contains("-  port: '81'\n+  port: '82'"), "{}", diff.stdout);

    // Its revisions are the operator's to write, and its objects are its account's.
    let _operator = bench.start().await;
    bench.port("82").await;
    bench.condition("Ready=True/Ready").await;
    let back = command(&["rollback", "web"]).await;
    assert_eq!(back.stdout, "the operator is asked to apply the manifests of revision 1 of web", "{}", back.stderr);
    bench.port("81").await;
    let rolled_back = async || (bench.get("Module", "web").await?["status"]["revision"] == 3).then_some(());
    until("the status has the revision of the rollback", rolled_back).await;
    let history = command(&["history", "web", "-o", "json"]).await;
    let history: Value = serde_json::from_str(&history.stdout).unwrap();
    let changed: Vec<_> = history.as_array().unwrap().iter().map(|one| one["changed"].clone()).collect();
    assert_eq!(changed, [json!(["installation"]), json!(["settings"]), json!(["rollback"])]);
    // New settings end the rollback.
    bench.module(bench.sourced("v1", json!({"settings": {"port": 83}}))).await;
    bench.port("83").await;
}

// mutant: crates/operator/src/module/source.rs: `if own != name.as_str() {` => `if false {`
#[tokio::test]
async fn artifacts_that_are_no_module_are_refused() {
    let mut bench = Bench::web().await;
    bench.registry = Some(Registry::start());
    let hooks = pack(Input { hooks: vec![crate::bundle::hook("copy", b"x", "configmaps")], ..Input::default() });
    bench.push("hooks", &hooks.unwrap()).await;
    let other = ModuleInput { name: "other".to_owned(), files: Vec::new() };
    bench.push("other", &pack(Input { module: Some(other), ..Input::default() }).unwrap()).await;
    let _operator = bench.start().await;
    bench.module(bench.sourced("hooks", json!({}))).await;
    bench.condition("Ready=False/NameTaken").await;
    bench.cluster.admin.delete(&object(json!({}))).await.unwrap();
    fs::remove_dir_all(bench.modules.path().join("010-web")).unwrap();
    drop(_operator);
    let _operator = bench.start().await;
    bench.module(bench.sourced("hooks", json!({}))).await;
    bench.condition("Ready=False/NotAModule").await;
    bench.module(bench.sourced("other", json!({}))).await;
    let status = bench.condition("Ready=False/OtherModule").await;
    assert!(shown(&status).join("\n").contains("it is the module \"other\""), "{status}");
    let signed = json!({"keys": [{"name": "ci", "publicKey": crate::bundle::trust::p256().public().to_pem()}]});
    bench.module(bench.sourced("other", json!({"verification": signed}))).await;
    bench.condition("Ready=False/Unsigned").await;
}

#[tokio::test]
async fn specs_that_cannot_be_meant_are_refused() {
    let bench = Bench::new().await;
    let sourced = |more: Value| {
        let mut spec = json!({"source": {"oci": {"repository": "r.example.com/web"}}, "version": "v1",
            "verification": {"unsigned": true}, "serviceAccountName": "web"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    for (name, spec, refused) in [
        ("web", json!({}), None),
        ("web-a", sourced(json!({})), None),
        ("web-b", json!({"version": "v1"}), Some("only a module with a source has versions")),
        ("web-c", sourced(json!({"version": null})), Some("say which version")),
        ("web-d", sourced(json!({"verification": null})), Some("say why to trust it")),
        ("web-e", sourced(json!({"serviceAccountName": null})), Some("say which ServiceAccount")),
        ("web-f", json!({"serviceAccountName": "web"}), Some("is the admin's")),
        ("web-g", sourced(json!({"source": {"oci": {"repository": "r.example.com/web:v1"}}})), Some("without a tag")),
        ("web-h", sourced(json!({"grants": [{"apiGroups": [""]}]})), Some("each rule has apiGroups")),
        ("web-1", json!({}), Some("the name of a Module")),
        ("global", json!({}), Some("the name of a Module")),
    ] {
        let mut object = object(spec.clone());
        object["metadata"]["name"] = name.into();
        object["spec"] = spec;
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.retain(|_, value| !value.is_null());
        }
        let answer = bench.cluster.admin.create(&object).await.map(drop).map_err(|error| error.to_string());
        match (refused, answer) {
            (None, Ok(())) => {}
            (Some(why), Err(error)) if error.contains(why) => {}
            (wanted, answer) => panic!("{name}: wanted {wanted:?}, got {answer:?}"),
        }
    }
}

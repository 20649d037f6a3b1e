//! CustomResourceDefinitions that a HookBundle carries: they come with a grant, change only safely, and stay when it goes.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::registry::directory;
use super::{NAME, Site, TEAM};
use crate::harness::{Backend, Operator, Test, eventually, hook_file, workspace};
use crate::reconcile::{apply, child, get, has, told, wish};

const DEFINITION: &str = "helloapps.example.com";
const FILE: &str = "hooks-wasm/hello-app/crd.yaml";

/// The definition with these versions: their names, and whether objects are stored in it.
fn definition(versions: &[(&str, bool)]) -> Value {
    let text = std::fs::read_to_string(workspace().join(FILE)).expect("read the definition");
    let mut definition: Value = yaml_serde::from_str(&text).expect("the definition is YAML");
    let first = definition["spec"]["versions"][0].clone();
    let version = |(name, storage): &(&str, bool)| {
        let mut version = first.clone();
        (version["name"], version["storage"]) = (json!(name), json!(storage));
        version
    };
    definition["spec"]["versions"] = versions.iter().map(version).collect();
    definition
}

fn bundle(test: &Test, tag: &str, versions: &[(&str, bool)]) -> PathBuf {
    let hook = std::fs::read(hook_file("hello-app")).expect("read a hook");
    let definition = definition(versions).to_string().into_bytes();
    directory(&test.dir().join(tag), &[("hello-app.wasm", &hook), ("crds/helloapps.yaml", &definition)])
}

/// All that the hook itself needs.
fn grants() -> Vec<Value> {
    let all = |group: &str| json!({"apiGroups": [group], "resources": ["*"], "verbs": ["*"]});
    ["example.com", "apps", ""].map(all).to_vec()
}

/// The grants that the condition's message prints.
fn printed(message: &str) -> Vec<Value> {
    let lines = message.lines().filter_map(|line| line.strip_prefix("- "));
    lines.map(|line| serde_json::from_str(line).expect("each line is a grant")).collect()
}

impl Site {
    /// Which rights are needed is not what this is about: the ServiceAccount may do everything, and the operator may watch
    /// everything.
    async fn opens(&self) {
        if self.cluster.backend == Backend::Local {
            return;
        }
        let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}]);
        let (api, metadata) = ("rbac.authorization.k8s.io/v1", json!({"name": "watches-all"}));
        let role = json!({"apiVersion": api, "kind": "ClusterRole", "metadata": metadata, "rules": rules});
        self.try_apply(&role).await.expect("make a role");
        for (name, role, account) in
            [("team", "cluster-admin", "team-a:hooks"), ("operator-watches", "watches-all", "boathook:boathook")]
        {
            let (role, account) = (format!("--clusterrole={role}"), format!("--serviceaccount={account}"));
            self.cluster.kubectl(&["create", "clusterrolebinding", name, &role, &account]).await;
        }
    }

    async fn is_defined(&self) -> bool {
        let get = ["get", "customresourcedefinition", DEFINITION, "--ignore-not-found", "--output=name"];
        !self.cluster.kubectl(&get).await.is_empty()
    }

    async fn versions(&self) -> Vec<String> {
        let get = ["get", "customresourcedefinition", DEFINITION, "--output=jsonpath={.spec.versions[*].name}"];
        self.cluster.kubectl(&get).await.split(' ').map(str::to_owned).collect()
    }

    async fn app(&self, version: &str, name: &str, size: u32) -> Result<String, String> {
        let metadata = json!({"name": name, "namespace": "default"});
        let spec = json!({"image": "registry.example.com/web:1", "size": size});
        let version = format!("example.com/{version}");
        self.try_apply(&json!({"apiVersion": version, "kind": "HelloApp", "metadata": metadata, "spec": spec})).await
    }

    /// A kind is served a moment after its definition is there.
    async fn makes(&self, version: &str, name: &str) {
        eventually("the kind is served", async || self.app(version, name, 1).await).await;
        has(&self.cluster, "deployment", name, "/spec/replicas", json!(1)).await;
    }

    async fn unconfined(&self) -> Operator {
        self.operator_with(&["--unconfined-namespace", TEAM]).await
    }
}

pub async fn its_kinds_come_with_it_change_safely_and_stay(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    site.opens().await;
    let first = site.registry.push(&bundle(&test, "v1", &[("v1alpha1", true)]), "v1").await;
    let second = site.registry.push(&bundle(&test, "v2", &[("v1alpha1", true), ("v1beta1", false)]), "v2").await;
    site.registry.push(&bundle(&test, "v3", &[("v1", true)]), "v3").await;
    let operator = site.unconfined().await;

    // All is granted but the definition, and the condition prints the grant.
    site.bundle("v1", json!({"grants": grants()})).await;
    let message = site.condition("Granted=False/MissingGrants").await;
    assert!(!site.is_defined().await, "it was not granted");
    let missing = printed(&message);
    let names: Vec<_> = missing.iter().map(|grant| &grant["resourceNames"]).collect();
    assert_eq!(names, [&json!([DEFINITION])], "{message}");
    let all = [grants(), missing].concat();
    site.change(json!({ "grants": all })).await;
    site.runs(&first).await;
    assert_eq!(site.versions().await, ["v1alpha1"]);
    site.makes("v1alpha1", "one").await;

    // A version more.
    site.names("v2").await;
    site.runs(&second).await;
    assert_eq!(site.versions().await, ["v1alpha1", "v1beta1"]);
    site.makes("v1beta1", "two").await;

    // The version in which objects are stored is not there any more.
    site.names("v3").await;
    let message = site.condition("Progressing=True/DefinitionRefused").await;
    let reason = "version v1alpha1 is removed, and objects may be stored in it";
    assert!(message.contains(DEFINITION) && message.contains(reason), "{message}");
    site.runs(&second).await;
    assert_eq!(site.versions().await, ["v1alpha1", "v1beta1"]);
    site.app("v1alpha1", "one", 3).await.expect("change the object");
    has(&site.cluster, "deployment", "one", "/spec/replicas", json!(3)).await;

    // What the bundle defined stays, with its objects.
    site.cluster.kubectl(&["delete", "hookbundle", NAME, "--namespace", TEAM]).await;
    site.has_no_hooks(&operator).await;
    assert_eq!(site.versions().await, ["v1alpha1", "v1beta1"]);
    for name in ["one", "two"] {
        for kind in ["helloapp", "deployment"] {
            get(&site.cluster, kind, name).await.expect("it stays");
        }
    }
    operator.stop().await;
}

/// Its objects have no conditions. Their author sees an Event, and the owner of the bundle sees the error of the hook.
pub async fn a_kind_without_a_status_is_told_in_its_bundle_and_in_an_event(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    site.opens().await;
    let text =
        std::fs::read_to_string(workspace().join("hooks-wasm/test/wish/wishes.yaml")).expect("read a definition");
    let with: Value = yaml_serde::from_str(&text).expect("the definition is YAML");
    let mut without = with.clone();
    without["spec"]["versions"][0].as_object_mut().expect("a version").remove("subresources");
    site.apply_text(&without.to_string()).await;
    let hook = std::fs::read(hook_file("test/farewell")).expect("read a hook");
    let folder = directory(&test.dir().join("farewell"), &[("farewell.wasm", &hook)]);
    let first = site.registry.push(&folder, "v1").await;
    let operator = site.unconfined().await;
    let events = json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]});
    let grants = [grants(), vec![events]].concat();
    site.bundle("v1", json!({ "grants": grants })).await;
    site.runs(&first).await;

    let parent = wish("web", &[child("a", "0", "1")]);
    eventually("the kind is served", async || site.try_apply(&parent).await).await;
    let says = "objects of kind Wish have no status: add `subresources: {status: {}}` to version v1 of the \
                CustomResourceDefinition wishes.example.com";
    let error = |status: &Value| {
        let mut errors = status["hooks"].as_array()?.iter().filter_map(|hook| hook["lastError"].as_str());
        errors.any(|error| error.contains(says)).then_some(())
    };
    site.status("the hook's error is in the HookBundle", error).await;
    let about = "--field-selector=involvedObject.kind=Wish,involvedObject.name=web,reason=NotReconciled";
    eventually("an Event says so", async || {
        let found =
            site.cluster.try_kubectl(&["get", "events", about, "--output=jsonpath={.items[*].message}"]).await?;
        if found.contains(says) { Ok(()) } else { Err(found) }
    })
    .await;
    assert!(get(&site.cluster, "configmap", "a").await.is_err(), "nothing is applied");

    apply(&test, &site.cluster, &with).await;
    told(&site.cluster, "wish", "web", "Ready", "True").await;
    operator.stop().await;
}

//! HookBundles with the operator's own installer: real hooks on a local cluster, out of a real registry.

use boathook_bundle::{HookInput, Input, Packed, pack};
use boathook_core::model::HookName;
use serde_json::{Value, json};

use super::stage::{Keeping, Stage, get, shown};
use crate::{
    bundle::send,
    pipeline::{
        fixture::Operator,
        written::{Deed, hook},
    },
    support::{guests::asks, until},
};

/// The permission for the events that every version receives.
pub fn watch() -> Value {
    json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]})
}

/// A hook that says a word whenever a ConfigMap of the team changes, and asks for what is named.
fn version(word: &str, resource: &str) -> Packed {
    let document = format!(
        "{{configVersion: v1, kubernetes: [{{name: maps, apiVersion: v1, kind: ConfigMap, \
         namespace: {{nameSelector: {{matchNames: [team]}}}}}}], \
         permissions: {{kubernetes: [{{apiGroups: [\"\"], resources: [{resource}], verbs: [get]}}]}}}}"
    );
    let component = hook(&document, &Deed::Says(word)).into();
    let name = HookName::new("words").unwrap();
    pack(Input { hooks: vec![HookInput { name, component, asks: asks(&document) }], ..Input::default() }).unwrap()
}

pub struct Scene {
    pub stage: Stage,
    pub operator: Operator,
    _keeping: Keeping,
}

impl Scene {
    pub async fn new() -> Self {
        let stage = Stage::new().await;
        let operator = Operator::start(stage.cluster.admin.client.clone(), &[], |_| ()).await;
        let keeping = stage.keep(operator.app.installer());
        Self { stage, operator, _keeping: keeping }
    }

    pub async fn push(&self, packed: &Packed) -> String {
        send(packed, &self.stage.registry.place("team/a:v1")).await;
        packed.manifest.digest.to_string()
    }

    /// A ConfigMap changes.
    async fn touch(&self, value: &str) {
        let metadata = json!({"name": "a", "namespace": "team"});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}});
        self.stage.cluster.admin.apply(&object).await.unwrap();
    }

    fn said(&self) -> Vec<String> {
        self.operator.log.said("words.a.team")
    }

    pub async fn digest(&self, digest: &str) -> Value {
        self.stage.status("a", digest, |status| status["digest"] == digest).await
    }
}

#[tokio::test]
async fn installed_upgraded_suspended_and_deleted() {
    let scene = Scene::new().await;
    let stage = &scene.stage;
    let first = scene.push(&version("one", "configmaps")).await;
    // Beside one that cannot be had.
    stage.bundle("gone", json!({})).await;
    stage.bundle("a", json!({"grants": [watch(), get("configmaps")], "source": {"oci": {"interval": "10s"}}})).await;
    let status = stage.condition("a", "Ready=True/HooksReady").await;
    assert_eq!(status["digest"], first.as_str());
    assert_eq!(status["hooks"][0]["hook"], "words.a.team");
    scene.touch("1").await;
    scene.operator.said("words.a.team", "one").await;
    let ran = stage.status("a", "its last run", |status| status["hooks"][0]["lastRun"].is_string()).await;
    assert_eq!(ran["hooks"][0]["failures"], 0);

    let second = scene.push(&version("two", "secrets")).await;
    let status = stage.condition("a", "Granted=False/MissingGrants").await;
    assert_eq!((&status["digest"], &status["pending"]["digest"]), (&json!(first), &json!(second)));
    assert!(shown(&status).join("\n").contains("Ready=True"));
    assert!(!scene.said().contains(&"two".to_owned()), "it did not start");
    stage.change("a", json!({"grants": [watch(), get("configmaps"), get("secrets")]})).await;
    scene.digest(&second).await;
    scene.touch("2").await;
    scene.operator.said("words.a.team", "two").await;

    stage.change("a", json!({"suspend": true})).await;
    stage.condition("a", "Suspended=True").await;
    let before = scene.said().len();
    scene.touch("3").await;
    stage.change("a", json!({"suspend": false})).await;
    stage.condition("a", "Ready=True").await;
    // As at the operator's start: it receives the objects that exist.
    scene.operator.until("it goes on", |_| (scene.said().len() > before).then_some(())).await;

    stage.delete("a").await;
    until("it is gone", async || stage.get("a").await.is_none().then_some(())).await;
    let name = HookName::new("words.a.team").unwrap();
    assert!(scene.operator.app.hook(&name).is_none());
    stage.condition("gone", "Ready=False/NotFound").await;
}

#[tokio::test]
async fn a_version_that_does_not_load_changes_nothing() {
    let scene = Scene::new().await;
    let first = scene.push(&version("one", "configmaps")).await;
    scene.stage.bundle("a", json!({"grants": [watch(), get("*")]})).await;
    scene.stage.condition("a", "Ready=True").await;
    scene.push(&super::stage::packed("configmaps")).await;
    scene.stage.change("a", json!({"settings": {"look": "again"}})).await;
    let status = scene.stage.condition("a", "Progressing=True/HookRefused").await;
    let text = shown(&status).join("\n");
    assert!(
        text.contains("Ready=True/HooksReady") && text.contains("hook copy of the new version cannot be used"),
        "{text}"
    );
    assert_eq!(status["digest"], first.as_str());
    let events = || scene.stage.events("a");
    until("its Event", async || events().await.contains(&"Warning HookRefused".to_owned()).then_some(())).await;
}

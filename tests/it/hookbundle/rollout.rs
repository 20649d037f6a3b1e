//! What the controller does with the comparison of a new version, and with a version that fails after it took over.

use std::sync::Arc;

use boathook_core::model::{Comparison, HookComparison, HookName};
use serde_json::{Value, json};

use super::{
    desk::{Desk, desk, id},
    stage::{Keeping, Stage, get, shown},
};
use crate::support::until;

/// Equal and different runs of the one hook.
fn runs(equal: u64, different: u64) -> Comparison {
    let example = (different > 0).then(|| "delete v1 ConfigMap team/a is new".to_owned());
    let hook = HookComparison { name: HookName::new("copy").unwrap(), equal, different, skipped: 0, example };
    Comparison { hooks: vec![hook], ..Comparison::default() }
}

struct Scene {
    stage: Stage,
    desk: Arc<Desk>,
    keeping: Option<Keeping>,
    first: String,
    second: String,
}

impl Scene {
    /// A version runs, and another one is on trial.
    async fn new(rollout: Value) -> Self {
        let (stage, desk) = (Stage::new().await, desk());
        let first = stage.push("a", "configmaps").await;
        let keeping = Some(stage.keep(desk.clone()));
        let more = json!({
            "grants": [get("configmaps"), get("secrets")], "source": {"oci": {"interval": "10s"}}, "rollout": rollout,
        });
        stage.bundle("a", more).await;
        stage.condition("a", "Ready=True/HooksReady").await;
        let second = stage.push("a", "secrets").await;
        stage.change("a", json!({"settings": {"look": "again"}})).await;
        let scene = Self { stage, desk, keeping, first, second };
        let status = scene.phase("Comparing").await;
        assert_eq!(status["rollout"]["previous"]["digest"], scene.first.as_str());
        assert_eq!(scene.runs(), scene.first);
        scene
    }

    /// Another process leads.
    async fn next(&mut self) {
        drop(self.keeping.take());
        self.desk = desk();
        self.keeping = Some(self.stage.keep(self.desk.clone()));
        until("it runs again", async || self.desk.has(&id("a")).map(drop)).await;
    }

    fn compares(&self, equal: u64, different: u64) {
        *self.desk.comparison.lock().unwrap() = runs(equal, different);
    }

    fn has_run(&self, runs: u64, failures: u64) {
        *self.desk.runs.lock().unwrap() = (runs, failures);
    }

    /// Waits for this phase of the second version.
    async fn phase(&self, phase: &str) -> Value {
        let of =
            |status: &Value| status["rollout"]["phase"] == phase && status["rollout"]["digest"] == self.second.as_str();
        self.stage.status("a", phase, of).await
    }

    /// The digest of what runs.
    fn runs(&self) -> String {
        self.desk.has(&id("a")).unwrap().digest
    }

    fn count(&self, line: &str) -> usize {
        self.desk.log().iter().filter(|known| *known == line).count()
    }

    async fn approve(&self) {
        self.stage.change("a", json!({"rollout": {"approvedDigest": self.second}})).await;
    }

    async fn event(&self, reason: &str) {
        until(reason, async || self.stage.events("a").await.contains(&reason.to_owned()).then_some(())).await;
    }
}

#[tokio::test]
async fn a_version_that_differs_is_held_back_until_somebody_names_it() {
    let scene = Scene::new(json!({"strategy": "Shadow", "runs": 2})).await;
    scene.stage.condition("a", "Progressing=True/Comparing").await;
    scene.compares(1, 1);
    let status = scene.phase("HeldBack").await;
    assert_eq!((status["digest"].as_str(), scene.runs()), (Some(scene.first.as_str()), scene.first.clone()));
    let text = shown(&status).join("\n");
    assert!(text.contains("Ready=True/HooksReady") && text.contains("Progressing=False/HeldBack"), "{text}");
    assert!(text.contains("1 of 2 runs differ; hook copy: delete v1 ConfigMap team/a is new"), "{text}");
    assert_eq!(status["pending"]["reason"], "HeldBack");
    assert_eq!(status["rollout"]["hooks"][0]["different"], 1);
    scene.event("Warning HeldBack").await;

    // A yes for another version is none for this one.
    scene
        .stage
        .change("a", json!({"rollout": {"approvedDigest": scene.first}, "settings": {"look": "once more"}}))
        .await;
    scene.phase("HeldBack").await;
    assert_eq!(scene.runs(), scene.first);
    scene.approve().await;
    let status = scene.phase("Watching").await;
    assert_eq!((status["digest"].as_str(), scene.runs()), (Some(scene.second.as_str()), scene.second.clone()));
    scene.has_run(3, 0);
    let status = scene.phase("Complete").await;
    assert_eq!(status.get("pending"), None);
    for reason in ["Normal Comparing", "Normal Upgraded", "Normal RolloutComplete"] {
        scene.event(reason).await;
    }
}

// mutant: crates/operator/src/hookbundle/reconciler/mod.rs: `Some(rollout) if self.running.is_some() && !context.standby => {` => `Some(rollout) if false => {`
#[tokio::test]
async fn a_version_that_is_equal_takes_over_and_goes_back_if_it_fails_more() {
    let mut scene = Scene::new(json!({"strategy": "Shadow", "runs": 2})).await;
    // The comparison is not skipped by another leader, but begins again.
    scene.compares(1, 0);
    scene.next().await;
    let begun = format!("shadow team/a {}", scene.second);
    until("it begins again", async || (scene.count(&begun) == 1).then_some(())).await;
    assert_eq!(scene.runs(), scene.first);
    scene.compares(2, 0);
    scene.phase("Watching").await;
    assert_eq!(scene.runs(), scene.second);

    // Another leader continues to watch, and goes back to a version that it has never run.
    scene.next().await;
    assert_eq!(scene.runs(), scene.second);
    scene.stage.status("a", "it is watched", |status| status["rollout"]["phase"] == "Watching").await;
    // Runs count from the moment when the new leader begins to watch.
    let failing = async || {
        let (runs, failures) = *scene.desk.runs.lock().unwrap();
        scene.has_run(runs + 1, failures + 1);
        scene.desk.has(&id("a")).filter(|bundle| bundle.digest == scene.first).map(drop)
    };
    until("it goes back", failing).await;
    let status = scene.phase("RolledBack").await;
    assert_eq!(status["digest"], scene.first.as_str());
    assert!(shown(&status).join("\n").contains("Progressing=False/RolledBack"), "{status}");
    scene.event("Warning RolledBack").await;

    // Neither a new leader nor another change tries it again, and somebody who names it does.
    scene.next().await;
    scene.stage.change("a", json!({"settings": {"look": "at others"}})).await;
    let generation = scene.stage.get("a").await.unwrap()["metadata"]["generation"].clone();
    scene.stage.status("a", "the change counts", |status| status["observedGeneration"] == generation).await;
    scene.phase("RolledBack").await;
    assert_eq!((scene.runs(), scene.count(&begun)), (scene.first.clone(), 0));
    scene.approve().await;
    scene.phase("Watching").await;
    assert_eq!(scene.runs(), scene.second);
}

#[tokio::test]
async fn what_is_not_granted_is_not_compared() {
    let scene = Scene::new(json!({"strategy": "Shadow", "runs": 2})).await;
    scene.stage.change("a", json!({"grants": [get("configmaps")]})).await;
    let status = scene.stage.condition("a", "Granted=False/MissingGrants").await;
    assert_eq!(status["pending"]["missing"], json!([get("secrets")]));
    assert_eq!(scene.runs(), scene.first);
    assert_eq!(status.get("rollout"), None, "{status}");
}

#[tokio::test]
async fn a_longer_trial_can_be_shortened() {
    let scene = Scene::new(json!({"strategy": "Shadow", "duration": "168h"})).await;
    scene.compares(9, 0);
    scene.stage.change("a", json!({"rollout": {"strategy": "Shadow", "duration": "1s"}})).await;
    scene.phase("Watching").await;
    assert_eq!(scene.runs(), scene.second);
}

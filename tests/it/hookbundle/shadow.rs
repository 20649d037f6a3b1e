//! Real hooks in the shadow of others: what is compared, and that nothing of it happens.

use boathook_bundle::{HookInput, Input, Packed, pack};
use boathook_core::model::HookName;
use serde_json::{Value, json};

use super::{
    stage::shown,
    whole::{Scene, watch},
};
use crate::support::{
    guests::{asks, guest},
    until,
};

const SLOT: &[u8] = b"# deeds of the guest meddle:";
const SLOT_SIZE: usize = 256;

/// The guest `meddle`, which does something else than it is asked for: `ASKED=DEED …`.
fn meddle(deeds: &str) -> Packed {
    let mut bytes = guest("meddle");
    let at =
        bytes.windows(SLOT.len()).position(|window| window == SLOT).expect("the guest has a slot: run make guests");
    let slot = &mut bytes[at + SLOT.len()..at + SLOT_SIZE];
    slot.fill(b' ');
    slot[1..=deeds.len()].copy_from_slice(deeds.as_bytes());
    let binding = |name: &str| format!("{{name: {name}, apiVersion: v1, kind: ConfigMap}}");
    let document = format!(
        "{{configVersion: v1, kubernetes: [{}, {}], permissions: {{kubernetes: [{{apiGroups: [''], \
         resources: [configmaps], verbs: [get, create, update, patch, delete]}}]}}}}",
        binding("hears"),
        binding("ignores")
    );
    let name = HookName::new("meddle").unwrap();
    pack(Input { hooks: vec![HookInput { name, component: bytes.into(), asks: asks(&document) }], ..Input::default() })
        .unwrap()
}

fn map(name: &str, deed: &str) -> Value {
    let metadata = json!({"name": name, "namespace": "team", "labels": {"meddle": "true"}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"deed": deed}})
}

/// A scene with a version that does `deeds`, and which compares this many runs of each further one. More must be compared
/// than wait at the moment of a takeover: the new version is watched for as many runs.
async fn begin(deeds: &str, runs: u32) -> (Scene, String) {
    let scene = Scene::new().await;
    let first = scene.push(&meddle(deeds)).await;
    let verbs = ["get", "create", "update", "patch", "delete"];
    let grant = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs});
    let more = json!({
        "grants": [watch(), grant], "source": {"oci": {"interval": "10s"}},
        "rollout": {"strategy": "Shadow", "runs": runs},
    });
    scene.stage.bundle("a", more).await;
    scene.stage.condition("a", "Ready=True/HooksReady").await;
    (scene, first)
}

/// Waits until a version is compared.
async fn compared(scene: &Scene, digest: &str) {
    let of = |status: &Value| status["rollout"]["phase"] == "Comparing" && status["rollout"]["digest"] == digest;
    scene.stage.status("a", "it is compared", of).await;
}

/// Has the hook treat objects, one after the other, until the status is as it is wanted. Gives the status, and how many
/// objects there were. `made` is what shows that the version that runs has treated the object of this name.
async fn works_until(
    scene: &Scene,
    made: impl Fn(&str) -> (Value, bool),
    is: impl Fn(&Value) -> bool,
) -> (Value, usize) {
    let mut count = 0;
    let work = async || {
        let name = format!("one-{count}");
        count += 1;
        scene.stage.cluster.admin.create(&map(&name, "version")).await.unwrap();
        let (object, done) = made(&name);
        until("the version that runs has treated it", async || {
            let found = scene.stage.cluster.admin.get(&object).await.unwrap()?;
            (!done || found["data"]["done"] == "yes").then_some(())
        })
        .await;
        let status = scene.stage.get("a").await?["status"].clone();
        is(&status).then_some(status)
    };
    let status = until("the status is as it should be", work).await;
    (status, count)
}

// mutant: crates/operator/src/record/replay/shadow.rs: `&Caller { dry_run: true, ..caller.clone() }` => `caller`
#[tokio::test]
async fn a_version_that_would_delete_what_the_other_keeps_is_held_back() {
    let (scene, first) = begin("version=apply", 8).await;
    let second = scene.push(&meddle("version=delete")).await;
    compared(&scene, &second).await;
    let (status, made) =
        works_until(&scene, |name| (map(name, ""), true), |status| status["rollout"]["phase"] == "HeldBack").await;
    assert_eq!(status["digest"], first.as_str());
    let text = shown(&status).join("\n");
    assert!(text.contains("Progressing=False/HeldBack") && text.contains("delete v1 ConfigMap team/one-"), "{text}");
    assert!(status["rollout"]["hooks"][0]["different"].as_i64().unwrap() > 0, "{status}");
    for n in 0..made {
        assert!(
            scene.stage.cluster.admin.get(&map(&format!("one-{n}"), "")).await.unwrap().is_some(),
            "{n} was deleted"
        );
    }
    // Lines of the version in the shadow are not those of the hook.
    let added = scene.operator.log.said("meddle.a.team");
    assert_eq!(added.iter().filter(|line| *line == "hears Added one-0").count(), 1, "{added:?}");
    let metrics = scene.operator.page("/metrics").await;
    let differs = r#"boathook_hook_shadow_runs_total{hook="meddle.a.team",result="different"}"#;
    assert!(metrics.contains(differs), "{metrics}");
}

#[tokio::test]
async fn a_version_that_does_the_same_takes_over_and_goes_back_when_it_fails() {
    let (scene, first) = begin("version=create", 20).await;
    let second = scene.push(&meddle("version=create late=fail")).await;
    compared(&scene, &second).await;
    // A creation would find its object, if it were sent once more.
    let is = |status: &Value| {
        let different = status["rollout"]["hooks"][0]["different"].as_i64().unwrap_or_default();
        assert_eq!(different, 0, "{status:#}");
        status["digest"] == second.as_str()
    };
    works_until(&scene, |name| (map(&format!("{name}-made"), ""), false), is).await;

    scene.stage.cluster.admin.create(&map("late", "late")).await.unwrap();
    let back = |status: &Value| status["rollout"]["phase"] == "RolledBack" && status["digest"] == first.as_str();
    let status = scene.stage.status("a", "it goes back", back).await;
    assert!(status["rollout"]["failures"].as_i64().unwrap() >= 3, "{status}");
    scene.digest(&first).await;
}

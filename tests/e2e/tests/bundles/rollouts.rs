//! New versions on trial: one that would delete something is held back, an equal one takes over, and goes back when it fails.
//! The versions are the guest `meddle`, which does something else than it is asked for.

use std::sync::Arc;

use serde_json::{Value, json};

use super::registry::{directory, meddle};
use super::{Site, TEAM, condition};
use crate::harness::{Test, eventually};

const SLOT: &[u8] = b"# deeds of the guest meddle:";
const SLOT_SIZE: usize = 256;

/// A version that does this: `ASKED=DEED …`.
fn version(deeds: &str) -> Vec<u8> {
    let mut bytes = meddle("1");
    let at =
        bytes.windows(SLOT.len()).position(|window| window == SLOT).expect("the guest has a slot: run `make guests`");
    let slot = &mut bytes[at + SLOT.len()..at + SLOT_SIZE];
    slot.fill(b' ');
    slot[1..=deeds.len()].copy_from_slice(deeds.as_bytes());
    bytes
}

impl Site {
    async fn publishes(&self, test: &Test, tag: &str, deeds: &str) -> String {
        let files = directory(&test.dir().join(tag), &[("meddle.wasm", version(deeds).as_slice())]);
        self.registry.push(&files, tag).await
    }

    /// Waits until this version is in this phase of its rollout.
    async fn rollout(&self, digest: &str, phase: &str) -> Value {
        let of = |status: &Value| {
            let rollout = &status["rollout"];
            (rollout["digest"] == digest && rollout["phase"] == phase).then(|| status.clone())
        };
        self.status(&format!("{digest} is {phase}"), of).await
    }

    /// Has the hook treat one ConfigMap after the other, until the rollout is in this phase. Gives their number.
    async fn works_until(&self, prefix: &str, digest: &str, phase: &str) -> usize {
        let mut count = 0;
        let mut seen = Value::Null;
        while seen["rollout"]["digest"] != digest || seen["rollout"]["phase"] != phase {
            assert!(count < 200, "never {phase}: {seen:#}");
            self.works(&format!("{prefix}-{count}"), "version").await;
            count += 1;
            seen = self.status("it has a status", |status| Some(status.clone())).await;
        }
        count
    }
}

pub async fn a_new_version_is_compared_before_it_takes_over(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let operator = site.operator().await;
    let first = site.publishes(&test, "v1", "version=apply").await;
    // More than wait at the moment of a takeover: the new version is watched for as many runs.
    site.bundle("v1", json!({"rollout": {"strategy": "Shadow", "runs": 20}})).await;
    site.runs(&first).await;

    // One that would delete what the first one keeps is held back, and deletes nothing.
    let second = site.publishes(&test, "v2", "version=delete").await;
    site.names("v2").await;
    site.rollout(&second, "Comparing").await;
    let count = site.works_until("kept", &second, "HeldBack").await;
    let status = site.rollout(&second, "HeldBack").await;
    assert_eq!(status["digest"], first.as_str());
    let message = condition(&status, "Ready=True").expect("the first version is ready");
    assert!(message.contains("held back") && message.contains("delete v1 ConfigMap team-a/kept-"), "{message}");
    for n in 0..count {
        assert!(site.is_done(&format!("kept-{n}")).await, "{n} was deleted");
    }

    // One that does the same takes over by itself.
    let third = site.publishes(&test, "v3", "version=patch late=fail").await;
    site.names("v3").await;
    site.rollout(&third, "Comparing").await;
    site.works_until("same", &third, "Watching").await;
    site.runs(&third).await;

    // It fails more than the version before, which comes back and does the work.
    site.asks("late", "late").await;
    let status = site.rollout(&third, "RolledBack").await;
    assert_eq!(status["digest"], first.as_str(), "{status:#}");
    site.runs(&first).await;
    site.works("back", "version").await;
    let get = ["get", "configmap", "late", "--namespace", TEAM, "--output=name"];
    eventually("nothing was lost", async || site.cluster.try_kubectl(&get).await).await;
    site.events(&["Comparing", "HeldBack", "Upgraded", "RolledBack"]).await;
    operator.stop().await;
}

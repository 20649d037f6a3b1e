//! A replica that does not lead follows what the leader says of HookBundles, and writes nothing.

use boathook_kube::election::{Leadership, Standing};
use serde_json::json;
use tokio::{sync::watch, time::Instant};

use super::{
    desk::{desk, id},
    stage::{Stage, get},
};
use crate::support::until;

#[tokio::test]
async fn a_standby_has_at_work_what_the_leader_has_and_takes_over() {
    let stage = Stage::new().await;
    let (leader, standby) = (desk(), desk());
    let first = stage.push("a", "configmaps").await;
    let (to, told) = watch::channel(Standing::Standby { led: true });
    let _following = stage.keep_led(standby.clone(), Leadership::observing(told));
    stage.bundle("a", json!({"grants": [get("configmaps")], "source": {"oci": {"interval": "10s"}}})).await;

    // Nobody leads, so nothing is said of it, and nothing is at work.
    let leading = stage.keep(leader.clone());
    stage.condition("a", "Ready=True/HooksReady").await;
    until("the standby follows", async || standby.has(&id("a")).filter(|bundle| bundle.digest == first)).await;
    let log = standby.log();
    assert!(log.iter().all(|line| line.starts_with("install ") && line.ends_with(&first)), "{log:?}");

    // Grants are the spec's, and not the leader's to decide.
    stage.change("a", json!({"grants": []})).await;
    let nothing_granted = async || standby.has(&id("a")).filter(|bundle| bundle.grants == Some(Vec::new()));
    until("what was taken back is taken back there, too", nothing_granted).await;
    stage.change("a", json!({"grants": [get("configmaps"), get("secrets")]})).await;
    stage.condition("a", "Ready=True").await;

    // A new version is the leader's to decide on; here there is none any more.
    drop(leading);
    let before = stage.get("a").await.unwrap();
    let events = stage.events("a").await;
    let second = stage.push("a", "secrets").await;
    stage.change("a", json!({"suspend": true})).await;
    until("the standby follows spec", async || standby.has(&id("a")).filter(|bundle| bundle.suspended)).await;
    stage.change("a", json!({"suspend": false})).await;
    until("the standby follows spec", async || standby.has(&id("a")).filter(|bundle| !bundle.suspended)).await;
    assert_eq!(standby.has(&id("a")).unwrap().digest, first);
    assert_eq!(stage.get("a").await.unwrap()["status"], before["status"]);
    assert_eq!(stage.events("a").await, events);

    to.send_replace(Standing::Leading { until: Instant::now() + std::time::Duration::from_secs(3600) });
    let status = stage.status("a", "the new version", |status| status["digest"] == second.as_str()).await;
    assert_eq!(standby.has(&id("a")).unwrap().digest, status["digest"].as_str().unwrap());

    // Without the lead, nobody lets it go.
    to.send_replace(Standing::Over);
    stage.delete("a").await;
    until("it is gone there", async || standby.has(&id("a")).is_none().then_some(())).await;
    assert!(
        stage.get("a").await.is_some_and(|bundle| !bundle["metadata"]["finalizers"].as_array().unwrap().is_empty())
    );
}

//! Memory and disk that run out: the operator's Pod comes back, and goes on with what it did.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Node;
use super::objects::restarts;

/// With another volume for the cache than the shipped one, if one is given.
async fn at_work(node: &Node, cache: Value) {
    node.sh("kubectl apply --server-side -f deploy/install.yaml").await;
    if !cache.is_null() {
        let patch = json!({"spec": {"template": {"spec": {"volumes": [{"name": "cache", "emptyDir": cache}]}}}});
        node.sh(&format!("kubectl -n boathook patch deployment boathook --patch '{patch}'")).await;
    }
    node.team_at_work().await;
}

/// Something in the container takes all of its memory, and the kernel kills for it.
pub async fn a_pod_killed_for_memory_comes_back(node: Arc<Node>) {
    at_work(&node, Value::Null).await;
    let before = node.pod().await;
    // `tail` keeps the last line of a file that has no end. In the container's cgroup it counts as the operator's memory, and
    // the kernel prefers the operator, whose oom_score_adj is higher.
    let hog = "
        pid=$(pgrep -of '^/usr/local/bin/boathook serve')
        if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
            group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/$pid/cgroup)
        else
            group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/$pid/cgroup)
        fi
        sh -c \"echo \\$\\$ >$group/cgroup.procs; exec tail /dev/zero\" || true";
    node.until("the operator is killed", async || {
        // It finds no process once the operator is gone.
        node.says(hog).await;
        let pod = node.pod().await;
        if restarts(&pod) > 0 { Ok(()) } else { Err("it runs") }
    })
    .await;
    node.until("its container is there again, for that reason", async || {
        let pod = node.pod().await;
        let status = &pod["status"]["containerStatuses"][0];
        let reason = status["lastState"]["terminated"]["reason"].as_str();
        if status["ready"] == true && reason == Some("OOMKilled") { Ok(()) } else { Err(format!("{status:#}")) }
    })
    .await;
    assert_eq!(node.pod().await["metadata"]["uid"], before["metadata"]["uid"]);
    node.bundle_is_ready("hooks").await;
    node.meddles("again").await;
    node.images_are_reviewed().await;
}

/// The kubelet evicts a Pod that has more in its cache than the volume may have.
pub async fn a_pod_beyond_its_volume_is_replaced(node: Arc<Node>) {
    at_work(&node, json!({"sizeLimit": "64Mi"})).await;
    let before = node.pod().await;
    let name = before["metadata"]["name"].as_str().expect("a Pod has a name");
    let uid = before["metadata"]["uid"].as_str().expect("a Pod has a uid");
    node.sh(&format!("fallocate -l 80M /run/node/kubelet/pods/{uid}/volumes/kubernetes.io~empty-dir/cache/more")).await;
    // The operator ends with success when it is asked to, so the Pod's own status has another word for it.
    node.until("the Pod is evicted", async || {
        let about = format!("--field-selector=reason=Evicted,involvedObject.name={name}");
        let events =
            node.try_sh(&format!("kubectl -n boathook get events {about} -o jsonpath='{{.items[*].message}}'")).await?;
        let volume = "Usage of EmptyDir volume \"cache\" exceeds the limit";
        if events.contains(volume) { Ok(()) } else { Err(events) }
    })
    .await;
    node.available().await;
    node.bundle_is_ready("hooks").await;
    node.meddles("again").await;
    node.images_are_reviewed().await;
}

/// A volume that is really full refuses writes. What is at work goes on, the operator stays ready and says what it lacks;
/// with room it goes on by itself.
pub async fn a_full_volume_stops_nothing_else(node: Arc<Node>) {
    at_work(&node, json!({"medium": "Memory", "sizeLimit": "64Mi"})).await;
    let pod = node.pod().await;
    let uid = pod["metadata"]["uid"].as_str().expect("a Pod has a uid");
    let fill = format!("/run/node/kubelet/pods/{uid}/volumes/kubernetes.io~empty-dir/cache/fill");
    node.sh(&format!("dd if=/dev/zero of={fill} bs=1M 2>/dev/null || true")).await;
    let key = node.push(&format!("{}/team/more:v1", super::registry::HOST), &["test/noop"]).await;
    let watched = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]}]);
    node.bundle("more", &key, watched).await;
    node.until("the HookBundle says what is missing", async || {
        let found = node.get("hookbundle more -n team-a").await?;
        if found["status"].to_string().contains("No space left") { Ok(()) } else { Err(found["status"].to_string()) }
    })
    .await;
    node.meddles("while-full").await;
    node.images_are_reviewed().await;
    let now = node.pod().await;
    assert_eq!((restarts(&now), &now["status"]["containerStatuses"][0]["ready"]), (0, &json!(true)));
    node.sh(&format!("rm {fill}")).await;
    node.bundle_is_ready("more").await;
}

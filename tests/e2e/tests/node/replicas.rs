//! Two replicas: a leader that goes, and a rolling update under reviews.

use std::sync::Arc;

use serde_json::Value;

use super::{Node, book, objects::TEAM, registry::HOST};

/// The component `replicas`, from a single replica, as the book goes there.
async fn two(node: &Node) {
    node.sh("kubectl apply --server-side -f deploy/install.yaml").await;
    node.team_at_work().await;
    let page = book::section("admin/install.md", "Changing to several replicas");
    // With the tests' registry, without which a replica waits for the team's bundle for a minute.
    let registry = format!(
        "patches:
- target: {{kind: Deployment, name: boathook}}
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/env/-
      value: {{name: BOATHOOK_INSECURE_REGISTRIES, value: '{HOST}'}}
"
    );
    node.written_kustomization("my-boathook", &format!("{}\n{registry}", page.yaml[0]));
    for command in page.commands {
        let said = node.says_in(&node.dir, &command).await;
        assert!(said.ok, "$ {command}\n{}{}", said.out, said.err);
    }
    let pods = node.pods().await;
    assert_eq!(pods.len(), 2);
}

/// The addresses behind the webhooks' Service whose Pods end.
async fn ending(node: &Node) -> Vec<Value> {
    let slices = node.list("endpointslices -n boathook -l kubernetes.io/service-name=boathook-webhooks").await;
    let all = slices.iter().filter_map(|slice| slice["endpoints"].as_array()).flatten();
    all.filter(|endpoint| endpoint["conditions"]["terminating"] == true).cloned().collect()
}

async fn leader(node: &Node) -> String {
    node.until("a replica leads", async || {
        let lease = node.get("lease boathook -n boathook").await?;
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        let pods = node.pods().await;
        let of = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).find(|name| holder.starts_with(*name));
        of.map(str::to_owned).ok_or_else(|| format!("{holder:?} of {:?}", super::objects::names(&pods)))
    })
    .await
}

pub async fn another_leads_when_the_leader_goes(node: Arc<Node>) {
    two(&node).await;
    let first = leader(&node).await;
    node.meddles("with-the-first").await;
    // Without a word. A container's host name is its Pod's.
    node.sh(&format!(
        "for pid in $(pgrep -f '^/usr/local/bin/boathook serve'); do
             ! grep -qx {first} /proc/$pid/root/etc/hostname || kill -KILL $pid
         done"
    ))
    .await;
    node.until("another leads", async || {
        let now = leader(&node).await;
        if now == first { Err(now) } else { Ok(()) }
    })
    .await;
    node.meddles("with-the-second").await;
    node.images_are_reviewed().await;
}

/// The webhook's `failurePolicy` is `Fail`: a single review without an answer would be a request that is refused.
pub async fn a_rolling_update_answers_every_review(node: Arc<Node>) {
    two(&node).await;
    let stop = node.dir.join("stop");
    let log = node.dir.join("reviews.log");
    let review = format!("kubectl -n {TEAM} run asked --image=localhost/pause:1 --dry-run=server -o name");
    // kube-proxy learns of Pods that are ready a little later.
    node.until("the Service leads to a Pod", async || node.try_sh(&review).await.map(drop)).await;
    let reviews =
        format!("until [ -e {stop} ]; do {review} >>{log} 2>&1; done", stop = stop.display(), log = log.display());
    let reviewing = node.start("reviews", &node.dir, &reviews).await;
    node.sh("kubectl -n boathook rollout restart deploy/boathook").await;
    // A Pod that ends closes its port some time before it is gone.
    let ends =
        node.until("a Pod ends", async || Some(ending(&node).await).filter(|all| !all.is_empty()).ok_or("none")).await;
    assert!(ends.iter().all(|endpoint| endpoint["conditions"]["ready"] == false), "{ends:#?}");
    node.available().await;
    node.until("only the new Pods run", async || match node.pods().await.len() {
        2 => Ok(()),
        other => Err(other),
    })
    .await;
    std::fs::write(&stop, "").expect("write a file");
    reviewing.ended(std::time::Duration::from_secs(30)).await;
    let answers = std::fs::read_to_string(&log).expect("read the answers");
    let refused: Vec<_> = answers.lines().filter(|line| *line != "pod/asked").collect();
    assert!(refused.is_empty(), "{} of {}: {refused:#?}", refused.len(), answers.lines().count());
    assert!(answers.lines().count() > 10, "{answers}");
    node.meddles("afterwards").await;
}

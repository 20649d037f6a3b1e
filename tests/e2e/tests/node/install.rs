//! `deploy/install.yaml` as it is shipped, from the first command of the book to the last.

use std::sync::Arc;

use serde_json::Value;

use super::objects::{TEAM, restarts};
use super::{Node, book};
use crate::harness::hook_file;

const PAGE: &str = "admin/install.md";

/// Installs, runs a HookBundle of a registry with a webhook, survives an eviction and a drain, and takes all of it out.
pub async fn as_printed(node: Arc<Node>) {
    for command in book::section(PAGE, "Installing").commands.iter().filter(|command| !command.starts_with("helm ")) {
        node.sh(command).await;
    }
    the_pod_is_confined(&node).await;
    probes_answer_by_the_service(&node).await;
    nothing_is_wrong(&node).await;
    node.team_at_work().await;
    nothing_is_wrong(&node).await;

    evicted(&node).await;
    drained(&node).await;
    taken_out(&node).await;
}

async fn nothing_is_wrong(node: &Node) {
    let log = node.operators_log().await;
    let loud: Vec<_> = log.iter().filter(|line| line["level"] == "WARN" || line["level"] == "ERROR").collect();
    assert!(loud.is_empty(), "a fresh install complains: {loud:#?}");
}

/// By what the kernel says of the process: no image and no manifest can promise that.
async fn the_pod_is_confined(node: &Node) {
    let level =
        "kubectl get namespace boathook -o jsonpath='{.metadata.labels.pod-security\\.kubernetes\\.io/enforce}'";
    assert_eq!(node.sh(level).await, "restricted");
    let process = "pid=$(pgrep -of '^/usr/local/bin/boathook serve')";
    let status = node.sh(&format!("{process}; cat /proc/$pid/status")).await;
    let field = |name: &str| -> Vec<&str> {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}: {status}"));
        line.split_whitespace().skip(1).collect()
    };
    assert_eq!(field("Uid:"), ["65532"; 4]);
    assert_eq!(field("Gid:"), ["65532"; 4]);
    assert_eq!((field("CapEff:"), field("CapBnd:")), (vec!["0000000000000000"], vec!["0000000000000000"]));
    assert_eq!((field("NoNewPrivs:"), field("Seccomp:")), (vec!["1"], vec!["2"]));
    let mounts = node.sh(&format!("{process}; cat /proc/$pid/mountinfo")).await;
    let root = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|line| line[4] == "/");
    assert!(root.expect("it has a root")[5].split(',').any(|option| option == "ro"), "{mounts}");
    // A projected token, which expires and is renewed, and not one of a Secret.
    let volumes = "kubectl -n boathook get pods -o jsonpath='{.items[0].spec.volumes[*].projected.sources[*].serviceAccountToken.expirationSeconds}'";
    assert_eq!(node.sh(volumes).await, "3607");
}

async fn probes_answer_by_the_service(node: &Node) {
    let address = node.sh("kubectl -n boathook get service boathook-metrics -o jsonpath='{.spec.clusterIP}'").await;
    for path in ["startupz", "healthz", "readyz", "metrics", "metrics/hooks"] {
        node.sh(&format!("curl --silent --fail --max-time 10 http://{address}:9115/{path}")).await;
    }
}

/// The PodDisruptionBudget lets one go, and its successor has the HookBundles at work again.
async fn evicted(node: &Node) {
    let before = node.pod().await;
    let name = before["metadata"]["name"].as_str().expect("a Pod has a name");
    let eviction = format!(
        "kubectl create --raw /api/v1/namespaces/boathook/pods/{name}/eviction -f - <<E\n{{\"apiVersion\": \"policy/v1\", \
         \"kind\": \"Eviction\", \"metadata\": {{\"name\": \"{name}\", \"namespace\": \"boathook\"}}}}\nE\n\
         kubectl -n boathook wait pod/{name} --for=delete --timeout=60s"
    );
    node.sh(&eviction).await;
    successor(node, &before, "evicted").await;
}

async fn drained(node: &Node) {
    let before = node.pod().await;
    node.sh("kubectl drain node-1 --ignore-daemonsets --delete-emptydir-data --force --timeout=90s").await;
    assert!(node.pods().await.is_empty(), "nothing runs on a drained node");
    node.sh("kubectl uncordon node-1").await;
    successor(node, &before, "drained").await;
}

/// Another Pod is there and does what the one before did.
async fn successor(node: &Node, before: &Value, mark: &str) {
    node.available().await;
    let now = node.pod().await;
    assert_ne!(now["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(restarts(&now), 0, "{:#}", now["status"]);
    node.bundle_is_ready("hooks").await;
    node.meddles(mark).await;
    node.images_are_reviewed().await;
}

/// Everything of the operator goes; what the team has, and what hooks made, stays.
async fn taken_out(node: &Node) {
    // The page also removes the roles that an admin has printed.
    node.sh(&format!("boathook rbac {} | kubectl apply -f -", hook_file("registry-secret").display())).await;
    assert!(node.get("clusterrole boathook:boathook").await.is_ok());
    for command in book::section(PAGE, "Uninstalling").commands {
        let said = node.says(&command).await;
        // It shows what it would do, and says so by its code.
        let shows = command.starts_with("boathook uninstall") && !command.contains("--yes");
        assert_eq!(said.ok, !shows, "$ {command}\n{}{}", said.out, said.err);
        if shows {
            // The hooks' registrations went with their HookBundles.
            assert!(said.out.contains("secrets boathook/boathook-webhook-certificates"), "{}", said.out);
        }
    }
    nothing_is_left(node, &["boathook"]).await;
    assert_eq!(node.get(&format!("configmap at-first-1 -n {TEAM}")).await.expect("it stays")["data"]["done"], "yes");
}

/// No object of the cluster has one of these names in its own, but for what the tests made in the team's namespace.
pub async fn nothing_is_left(node: &Node, names: &[&str]) {
    node.until("nothing is left", async || {
        let list = "for kind in $(kubectl api-resources --verbs=list -o name | grep -v events); do kubectl get $kind -A \
                    --ignore-not-found -o 'custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name' --no-headers; done";
        let all = node.try_sh(list).await?;
        let left = all.lines().filter(|line| names.iter().any(|name| line.contains(name)));
        let left: Vec<_> = left.filter(|line| !line.contains(&format!(" {TEAM} "))).collect();
        if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
    })
    .await;
}

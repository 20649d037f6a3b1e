//! The hostile tenant, who may create HookBundles, ServiceAccounts, Secrets and ConfigMaps in one namespace, and
//! nothing else. Several actors work at the same time until the program ends. They try again what the API server
//! refuses.

use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use serde_json::{Value, json};

use super::cluster::{Cluster, bundles, core};
use super::program::{crossed, pause, wanted};
use super::registry::{self, WAYS};

const TEAM: &str = "team-a";
/// HookBundles of a flood that are there at the same time.
const FLOOD: usize = 120;
const OBJECTS: usize = 200;
/// Each has this many bytes, and hooks keep snapshots of all of them.
const SIZE: usize = 20_000;
/// Between two deeds of one actor.
const BEAT: Duration = Duration::from_millis(200);

pub async fn run() {
    let cluster = Cluster::new().await;
    let all = [
        ("floods", floods(cluster.clone()).boxed()),
        ("changes", changes_its_mind(cluster.clone()).boxed()),
        ("names", names_what_is_not_its_own(cluster.clone()).boxed()),
        ("fills", fills(cluster.clone()).boxed()),
        ("looks", looks_around(cluster).boxed()),
    ];
    join_all(all.into_iter().filter(|(name, _)| wanted(name)).map(|(_, actor)| actor)).await;
}

fn bundle(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
        "metadata": {"name": name, "namespace": TEAM}, "spec": spec})
}

fn spec(reference: &str) -> Value {
    json!({
        "source": {"oci": {"reference": reference, "insecure": true, "interval": "10s"}},
        "serviceAccountName": "hooks", "verification": {"unsigned": true},
        "grants": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    })
}

async fn put(cluster: &Cluster, name: &str, spec: Value) -> Result<Value, String> {
    cluster.apply(&format!("{}/{name}", bundles(TEAM)), &bundle(name, spec)).await
}

/// Many HookBundles, each at a repository of its own that behaves badly in one of the ways; the oldest go again.
async fn floods(cluster: Cluster) {
    let ways: Vec<_> = WAYS.into_iter().filter(|way| wanted(way)).collect();
    for n in 0_usize.. {
        let Some(way) = ways.get(n % ways.len().max(1)) else { return };
        let _ =
            put(&cluster, &format!("flood-{}", n % FLOOD), spec(&format!("{}/{way}/n{n}:v1", registry::HOST))).await;
        if n % 3 == 0 {
            let _ = cluster.delete(&format!("{}/flood-{}", bundles(TEAM), (n * 7) % FLOOD)).await;
        }
        pause(BEAT).await;
    }
}

/// Suspends, resumes and deletes in the middle of pulls, and moves from one account and one size of settings to another.
async fn changes_its_mind(cluster: Cluster) {
    let ways: Vec<_> = WAYS.into_iter().filter(|way| wanted(way)).collect();
    for n in 0_usize.. {
        let Some(way) = ways.get(n % ways.len().max(1)) else { return };
        let name = format!("moody-{}", n % 5);
        let mut wanted = spec(&format!("{}/{way}/moody:v1", registry::HOST));
        wanted["suspend"] = (n % 2 == 0).into();
        wanted["settings"] = json!({"text": "x".repeat(if n % 7 == 0 { 900_000 } else { 10 })});
        wanted["serviceAccountName"] = ["hooks", "ghost", "default"][n % 3].into();
        let _ = put(&cluster, &name, wanted).await;
        pause(BEAT).await;
        if n % 5 == 4 {
            let _ = cluster.delete(&format!("{}/{name}", bundles(TEAM))).await;
        }
    }
}

/// Other namespaces' accounts and Secrets, addresses of the cluster, the victim's own bundle.
async fn names_what_is_not_its_own(cluster: Cluster) {
    let addresses = [
        "10.99.0.1:5002/internal/x:v1",
        "127.0.0.1:9115/metrics/x:v1",
        "169.254.169.254:80/latest/x:v1",
        "10.0.0.1:443/api/x:v1",
        "10.99.0.1:6443/api/x:v1",
        "10.99.0.1:10250/pods/x:v1",
        "localhost:9115/x/y:v1",
    ];
    for n in 0_usize.. {
        let _ = put(&cluster, &format!("inward-{}", n % addresses.len()), spec(addresses[n % addresses.len()])).await;
        // What is signed by the victim's key alone runs here without it, by the policy; its settings and Secrets do not come along.
        let mut theirs = spec("10.99.0.1:5000/team-b/hooks:v1");
        theirs["source"]["oci"]["pullSecrets"] = json!([{"name": "canary"}]);
        let _ = put(&cluster, "theirs", theirs).await;
        for account in ["team-b:hooks", "system:serviceaccount:team-b:hooks", "../team-b/hooks", "hooks/../../team-b"] {
            let mut wanted = spec(&format!("{}/author/spin-run:v1", registry::HOST));
            wanted["serviceAccountName"] = account.into();
            if put(&cluster, "other-account", wanted).await.is_ok() {
                crossed(&format!("the API server takes the ServiceAccount {account:?} in a HookBundle"));
            }
        }
        pause(BEAT * 5).await;
    }
}

/// Objects that its hooks' bindings match: all of their snapshots have all of them.
async fn fills(cluster: Cluster) {
    for n in 0_usize.. {
        let name = format!("object-{}", n % OBJECTS);
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"n": n.to_string(), "text": "x".repeat(SIZE)},
            "metadata": {"name": name, "namespace": TEAM, "labels": {"hostile": "true", "meddle": "true"}}});
        let _ = cluster.apply(&format!("{}/{name}", core(TEAM, "configmaps")), &object).await;
        if n % 10 == 0 {
            let ghost =
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ghost", "namespace": TEAM}});
            let _ = cluster.create(&core(TEAM, "serviceaccounts"), &ghost).await;
            let _ = cluster.delete(&format!("{}/ghost", core(TEAM, "serviceaccounts"))).await;
        }
        pause(BEAT).await;
    }
}

/// Reads all that it may, and looks for what it may not: the judge's canaries are looked for in this log, too.
async fn looks_around(cluster: Cluster) {
    loop {
        for path in [
            core("team-b", "secrets"),
            core("kube-system", "secrets"),
            core("boathook", "secrets"),
            bundles("team-b"),
            "/api/v1/secrets".to_owned(),
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations".to_owned(),
        ] {
            if cluster.get(&path).await.is_ok() {
                crossed(&format!("the tenant may read {path}"));
            }
        }
        if let Ok(mine) = cluster.get(&bundles(TEAM)).await {
            // Whatever the operator tells of a bundle is in its status.
            for one in mine["items"].as_array().into_iter().flatten() {
                let status = one["status"].to_string();
                if status.contains(registry::INTERNAL_TOKEN) {
                    crossed(&format!("the status of a HookBundle quotes an internal service: {status}"));
                }
            }
        }
        pause(Duration::from_secs(5)).await;
    }
}

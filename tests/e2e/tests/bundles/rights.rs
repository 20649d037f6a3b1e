//! As whom hooks act, and that the operator needs no other right than those that it is given.
//! It never looks at roles, only at what the API server lets happen and at its audit log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::audit::{Request, accesses};
use super::registry::{directory, meddle};
use super::{HOOKS, OPERATOR, OWN, Site, TEAM, condition, grant};
use crate::harness::{Test, eventually, eventually_within};

/// The roles of the manifests, as the pages for admins give them.
// mutant: crates/kube/src/access/send.rs: `Some(identity) => request.header("Impersonate-User", identity.user()),` => `Some(_) => request,`
pub async fn hooks_act_as_their_service_account(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let hooks = directory(&test.dir().join("v1"), &[("meddle.wasm", &meddle("1"))]);
    let digest = site.registry.push(&hooks, "v1").await;
    let operator = site.operator().await;
    site.bundle("v1", json!({})).await;
    site.runs(&digest).await;
    site.works("a", "apply").await;

    // The write came from the operator, as the ServiceAccount; no write of the operator's own is about the team's
    // objects.
    let requests = site.audit().of(OPERATOR);
    let of_hook: Vec<_> = requests.iter().filter(|one| one.acts_as.is_some()).collect();
    let wrote = |one: &&&Request| one.resource == "/configmaps" && one.name == "a" && one.verb == "patch";
    assert_eq!(of_hook.iter().find(wrote).and_then(|one| one.acts_as.as_deref()), Some(HOOKS), "{requests:#?}");
    assert!(of_hook.iter().all(|one| one.acts_as.as_deref() == Some(HOOKS) && one.namespace == TEAM), "{of_hook:#?}");
    let own: BTreeSet<_> = accesses(requests.iter().filter(|one| one.acts_as.is_none() && one.namespace == TEAM));
    let expected = ["get /serviceaccounts in team-a", "list /configmaps in team-a", "watch /configmaps in team-a"];
    let about_itself = |access: &String| access.contains("hookbundles") || access.contains("events.k8s.io/events");
    let own: Vec<_> = own.into_iter().filter(|access| !about_itself(access)).collect();
    assert!(own.iter().all(|access| expected.contains(&access.as_str())), "{own:?}");
    assert_eq!(refused(&requests), [] as [String; 0]);

    // What is granted is not yet what the ServiceAccount may: the API server has the last word.
    site.cluster.kubectl(&["delete", "rolebinding", "hooks", "--namespace", TEAM]).await;
    site.role("reads", &["get", "list", "watch"], &["configmaps"], "team-a:hooks").await;
    eventually("the API server has noticed", async || {
        let can = ["auth", "can-i", "patch", "configmaps", "--namespace", TEAM, "--as", HOOKS];
        if site.cluster.try_kubectl(&can).await.is_ok() { Err("it may still") } else { Ok(()) }
    })
    .await;
    site.asks("b", "apply").await;
    let refused = operator.logs("that the cluster refused it", |line| line["outcome"] == "forbidden-by-cluster").await;
    assert_eq!(refused["hook"], "meddle.team-hooks.team-a", "{refused}");
    assert!(!site.is_done("b").await);
    operator.stop().await;
}

/// What `boathook rbac --hook-bundles --tenant` prints is enough, and each of it is used but what only other hooks
/// would use.
// mutant: crates/author/src/rbac/needs/bundles.rs: `add(&place, "", "secrets", &["get"], Part::Logins);` => `add(&place, "", "secrets", &["get", "list"], Part::Logins);`
pub async fn generated_roles_are_enough(test: Arc<Test>) {
    let hooks = directory(&test.dir().join("v1"), &[("meddle.wasm", &meddle("1"))]);
    let site = Site::generated(&test, &hooks).await;
    let digest = site.registry.push(&hooks, "v1").await;
    let secret = ["create", "secret", "docker-registry", "login", "--namespace", TEAM, "--docker-server=a.example.com"];
    site.cluster.kubectl(&[secret.as_slice(), &["--docker-username=a", "--docker-password=b"]].concat()).await;
    let operator = site.operator().await;
    let source = json!({
        "reference": site.registry.reference("v1"), "insecure": true, "pullSecrets": [{"name": "login"}],
    });
    site.bundle("v1", json!({"source": {"oci": source}})).await;
    site.runs(&digest).await;
    for (name, deed) in [("a", "apply"), ("p", "patch"), ("j", "jq"), ("r", "replace")] {
        site.works(name, deed).await;
    }
    site.asks("c", "create").await;
    let made = ["get", "configmap", "c-made", "--namespace", TEAM];
    eventually("the hook has made one", async || site.cluster.try_kubectl(&made).await).await;
    site.asks("d", "delete").await;
    let gone = ["get", "configmap", "d", "--namespace", TEAM, "--ignore-not-found", "--output=name"];
    eventually("the hook has deleted it", async || match site.cluster.kubectl(&gone).await.as_str() {
        "" => Ok(()),
        there => Err(there.to_owned()),
    })
    .await;
    site.cluster.kubectl(&["delete", "hookbundle", super::NAME, "--namespace", TEAM]).await;
    operator.stop().await;

    let requests = site.audit().of(OPERATOR);
    assert_eq!(refused(&requests), [] as [String; 0]);
    let used = accesses(requests.iter().filter(|one| one.acts_as.is_none()));
    let given = given(&site, &hooks).await;
    // Kinds that come later, API servers without streaming lists, failed runs, and the impersonation that is no request
    // of its own.
    let others = [
        "list /configmaps in team-a",
        "list apiextensions.k8s.io/customresourcedefinitions in the cluster",
        "watch apiextensions.k8s.io/customresourcedefinitions in the cluster",
        "patch events.k8s.io/events in team-a",
        "impersonate /serviceaccounts in team-a",
    ];
    // A right to objects everywhere is used in any namespace.
    let is_used = |access: &String| match access.strip_suffix(" in the cluster") {
        Some(what) => used.iter().any(|one| one.split(" in ").next() == Some(what)),
        None => used.contains(access),
    };
    let unused: Vec<_> = given.iter().filter(|access| !is_used(access) && !others.contains(&access.as_str())).collect();
    assert_eq!(unused, [] as [&String; 0], "used: {used:#?}");
}

/// The operator's rights in the generated roles, as the audit log would name their use.
async fn given(site: &Site, hooks: &std::path::Path) -> BTreeSet<String> {
    let roles: Value = serde_json::from_str(&site.rbac(hooks, &["-o", "json"]).await).expect("JSON");
    let own = |role: &&Value| role["metadata"]["name"] == format!("{OWN}:boathook") && role["rules"].is_array();
    let words = |rule: &Value, key: &str| -> Vec<String> {
        rule[key].as_array().into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned())).collect()
    };
    let mut all = BTreeSet::new();
    for role in roles["items"].as_array().expect("items").iter().filter(own) {
        let place = role["metadata"]["namespace"].as_str().unwrap_or("the cluster");
        for rule in role["rules"].as_array().expect("rules") {
            for group in words(rule, "apiGroups") {
                for resource in words(rule, "resources") {
                    let each = words(rule, "verbs").into_iter();
                    all.extend(each.map(|verb| format!("{verb} {group}/{resource} in {place}")));
                }
            }
        }
    }
    all
}

fn refused(requests: &[Request]) -> Vec<String> {
    requests.iter().filter(|one| one.code == 403).map(|one| format!("{one:?}")).collect()
}

/// Watches are the operator's own; so it asks again and again what the ServiceAccount may see.
// mutant: crates/operator/src/hookbundle/reconciler/mod.rs: `if !wanted.suspended && running.at.elapsed() >= RIGHTS {` => `if false {`
pub async fn a_right_that_goes_ends_the_feed(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let hooks = directory(&test.dir().join("v1"), &[("meddle.wasm", &meddle("1"))]);
    let digest = site.registry.push(&hooks, "v1").await;
    let operator = site.operator().await;
    site.bundle("v1", json!({"grants": [grant("configmaps", &["*"])]})).await;
    site.runs(&digest).await;
    site.works("before", "apply").await;
    site.cluster.kubectl(&["delete", "rolebinding", "hooks", "--namespace", TEAM]).await;
    eventually_within(Duration::from_secs(90), "the hook is no longer fed", async || {
        let get = ["get", "hookbundle", super::NAME, "--namespace", TEAM, "--output=json"];
        let object: Value =
            serde_json::from_str(&site.cluster.kubectl(&get).await).map_err(|error| error.to_string())?;
        condition(&object["status"], "Granted=False/ServiceAccountForbidden")
            .ok_or_else(|| object["status"].to_string())
    })
    .await;
    site.asks("meanwhile", "apply").await;
    let bind = ["create", "rolebinding", "hooks", "--namespace", TEAM, "--role=hooks", "--serviceaccount=team-a:hooks"];
    site.cluster.kubectl(&bind).await;
    eventually_within(Duration::from_secs(90), "the hook is fed again", async || {
        let get = ["get", "hookbundle", super::NAME, "--namespace", TEAM, "--output=json"];
        let object: Value =
            serde_json::from_str(&site.cluster.kubectl(&get).await).map_err(|error| error.to_string())?;
        condition(&object["status"], "Ready=True/HooksReady").ok_or_else(|| object["status"].to_string())
    })
    .await;
    site.works("after", "apply").await;
    assert!(!site.is_done("meanwhile").await, "it was told of what it may not see");
    operator.stop().await;
}

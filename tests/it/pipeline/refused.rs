//! A kind that the operator may not watch: that is the affair of the hook that binds it.

use boathook_cluster::{Cluster, Options};
use boathook_core::{model::QueueName, queue::QueueState};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::{
    fixture::{Operator, config_map, missing},
    tell::{change, tell, told, told_of},
};
use crate::support::cluster::{Admin, TestCluster};

const OPERATOR: &str = "operator";

/// A cluster where RBAC decides, and a client that is the operator's.
pub async fn with_rbac() -> (TestCluster, kube::Client) {
    let cluster = Cluster::start(Options { rbac: true, ..Options::default() }).await.unwrap();
    let admin = Admin::new(cluster.client());
    let kubeconfig = Kubeconfig::from_yaml(&cluster.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.impersonate = Some(OPERATOR.to_owned());
    (config.default_retry, config.read_timeout) = (false, None);
    let client = kube::Client::try_from(config).unwrap();
    (TestCluster { cluster, admin }, client)
}

/// Lets the operator list and watch these in all namespaces.
pub async fn allow(cluster: &TestCluster, name: &str, resources: &[&str]) {
    let group = "rbac.authorization.k8s.io";
    let object = |kind: &str, more: Value| {
        let mut object = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let rules = json!([{"apiGroups": ["*"], "resources": resources, "verbs": ["get", "list", "watch"]}]);
    cluster.admin.create(&object("ClusterRole", json!({"rules": rules}))).await.unwrap();
    let binding = json!({
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": OPERATOR}],
    });
    cluster.admin.create(&object("ClusterRoleBinding", binding)).await.unwrap();
}

const DENIED: &str = "
configVersion: v1
kubernetes:
- {name: secrets, apiVersion: v1, kind: Secret, namespace: {nameSelector: {matchNames: [default]}}}
- {name: both, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {wakes: both}},
   includeSnapshotsFrom: [secrets], queue: common, executeHookOnSynchronization: false}
- {name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {wakes: maps}}}
";
const OTHER: &str = "
configVersion: v1
kubernetes:
- {name: maps, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {wakes: other}}, queue: common}
";

#[tokio::test]
// mutant: crates/operator/src/app/binding_states.rs: `self.queue.exempt_from_sync(&self.states.hook, &self.name);` => `let _ = &self.queue;`
async fn a_kind_that_the_operator_may_not_watch_holds_up_neither_other_hooks_nor_other_bindings() {
    let (cluster, client) = with_rbac().await;
    allow(&cluster, "maps", &["configmaps", "namespaces", "customresourcedefinitions"]).await;
    let hooks = [("denied", tell(DENIED)), ("other", tell(OTHER))];
    let operator = Operator::start(client, &hooks, |_| ()).await;
    let create = async |name: &str, wakes: &str| {
        cluster.admin.create(&config_map(name, ("wakes", wakes), json!({}))).await.unwrap();
    };
    let refused = "binding pending: give the operator a role for this, see boathook rbac";
    assert_eq!(operator.told(refused, "denied", 1).await[0]["binding"], "secrets");
    // The event of `both` includes the Secrets: it waits at the head of the common queue, and is passed.
    told_of(&operator, "other", "Synchronization", 1).await;
    told_of(&operator, "denied", "Synchronization", 1).await;
    create("b", "both").await;
    let waits = |operator: &Operator| {
        let common = QueueName::Shared("common".into());
        let dump = operator.app.queue().dump(9).into_iter().find(|dump| dump.queue == common)?;
        matches!(dump.state, QueueState::WaitingForList(_)).then_some(())
    };
    operator.until("the event waits", waits).await;
    create("o", "other").await;
    let events = told_of(&operator, "other", "Event", 1).await;
    assert_eq!(change(&events[0]), "Added default/o");
    // The hook's other binding is live, too.
    create("m", "maps").await;
    assert_eq!(change(&told_of(&operator, "denied", "Event", 1).await[0]), "Added default/m");
    let told_of_both =
        |operator: &Operator| told(operator, "denied").iter().filter(|line| line["binding"] != "maps").count();
    assert_eq!(told_of_both(&operator), 0, "nothing runs with the snapshot of what cannot be listed");
    let waits = missing(&operator.app.readiness(), "denied");
    assert!(waits.contains("does not let the operator list and watch v1 Secret"), "{waits}");
    allow(&cluster, "secrets", &["secrets"]).await;
    operator.ready().await;
    // The Secrets are synchronized, and `both` tells of its object.
    operator.until("the rest is told", |operator| (told_of_both(operator) >= 2).then_some(())).await;
    assert_eq!(missing(&operator.app.readiness(), "denied"), "");
}

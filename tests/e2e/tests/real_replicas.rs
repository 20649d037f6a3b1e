//! Replicas where RBAC decides, because the local cluster applies RBAC only on request.
//! It never gives the operator more than the manifests do.

use std::sync::Arc;

use serde_json::json;

use crate::harness::Test;
use crate::ledger::{HOOK, NAME, Objects, settled};
use crate::rbac::{ACCOUNT, Setup, is_refusal};
use crate::replicas::{LONG, is, two};

/// As the ServiceAccount of the manifests, with their rules for the Lease: a test of theirs says that they have these. One
/// follows at once, so it may also watch.
pub async fn the_rights_of_the_manifests_are_enough(test: Arc<Test>) {
    let setup = Setup::new(&test, &[HOOK]).await;
    setup.apply_roles(&[]).await;
    let (api, group, metadata) =
        ("rbac.authorization.k8s.io/v1", "coordination.k8s.io", json!({"name": "lease", "namespace": ACCOUNT}));
    let rules = json!([
        {"apiGroups": [group], "resources": ["leases"], "verbs": ["create"]},
        {"apiGroups": [group], "resources": ["leases"], "resourceNames": ["boathook"], "verbs": ["get", "watch", "patch"]},
    ]);
    setup.apply(&json!({"apiVersion": api, "kind": "Role", "metadata": metadata, "rules": rules})).await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lease"});
    let subjects = json!([{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": ACCOUNT}]);
    setup
        .apply(&json!({"apiVersion": api, "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": subjects}))
        .await;
    let (first, second) = two(&test, &setup.kubeconfig().await, LONG).await;
    first.stop().await;
    is(&second, "leader").await;
    let mut objects = Objects::new(&setup.cluster.client);
    objects.rounds(1).await;
    settled(&setup.cluster.client, NAME).await;
    let forbidden: Vec<_> = second.log().into_iter().filter(is_refusal).collect();
    assert!(forbidden.is_empty(), "{forbidden:?}");
    second.stop().await;
}

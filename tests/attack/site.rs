//! Where the attack takes place: the operator of `deploy/install.yaml` with a policy of trust, a tenant who is attacked, and
//! one who attacks. Each has a namespace, and nothing but a token of a ServiceAccount with a role there.

use std::path::PathBuf;

use serde_json::json;

use super::{registry, victim};
use crate::node::{HOST, Node};

/// The attackers' namespace.
pub const ATTACKER: &str = "team-a";
/// Values that belong to one place each.
pub const CANARIES: [(&str, &str); 3] = [
    ("team-b", "canary-team-b-5b1f07"),
    ("kube-system", "canary-kube-system-93ad42"),
    ("boathook", "canary-boathook-c80e6d"),
];

pub struct Site<'a> {
    pub node: &'a Node,
    /// The operator's Pod.
    pub address: String,
}

impl<'a> Site<'a> {
    /// Installed, and the victim at work.
    pub async fn installed(node: &'a Node) -> Self {
        let key = super::signatures::key(node).await;
        policy(node, &key).await;
        for team in [ATTACKER, victim::TEAM] {
            team_with_rights(node, team).await;
        }
        node.sh(&format!(
            "kubectl -n {} create configmap image-policy --from-literal=registries=localhost/",
            victim::TEAM
        ))
        .await;
        for (namespace, value) in CANARIES {
            node.sh(&format!("kubectl -n {namespace} create secret generic canary --from-literal=value={value}")).await;
        }
        for (name, hooks) in [("hooks", ["image-policy", "test/meddle"].as_slice()), (victim::OTHER, &["test/noop"])] {
            let reference = format!("{HOST}/{}/{name}:v1", victim::TEAM);
            node.pushed(&reference, hooks).await;
            super::signatures::sign(node, &reference, super::signatures::FORMS[0]).await;
            let spec = json!({
                "source": {"oci": {"reference": reference, "insecure": true}}, "serviceAccountName": "hooks",
                "grants": [{"apiGroups": [""], "resources": ["*"], "verbs": ["*"]}],
                "verification": {"keys": [{"name": "cosign", "publicKey": key}]},
            });
            node.apply(&json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
                "metadata": {"name": name, "namespace": victim::TEAM}, "spec": spec}))
                .await;
        }
        for name in ["hooks", victim::OTHER] {
            node.hook_bundle_is_ready(victim::TEAM, name).await;
        }
        let pod = node.pod().await;
        let address = pod["status"]["podIP"].as_str().expect("a Pod has an address").to_owned();
        Self { node, address }
    }

    /// The rights of a team's own user.
    pub async fn kubeconfig(&self, team: &str) -> PathBuf {
        let file = self.node.dir.join(format!("{team}.kubeconfig"));
        self.node
            .sh(&format!(
                "token=$(kubectl -n {team} create token user --duration=4h)
                 cp $KUBECONFIG {file}
                 for user in $(kubectl config get-users --kubeconfig {file} | tail -n +2); do
                     kubectl config unset users.$user --kubeconfig {file} >/dev/null
                     kubectl config set-credentials $user --token=$token --kubeconfig {file} >/dev/null
                 done",
                file = file.display()
            ))
            .await;
        file
    }

    /// The network namespace of a Pod that has no rights and no program but the pause.
    pub async fn strangers_network(&self) -> String {
        self.node
            .sh("kubectl create namespace strangers
                 until kubectl -n strangers run stranger --image=localhost/pause:1 --overrides='{\"spec\": {\"automountServiceAccountToken\": false}}' 2>/dev/null; do sleep 0.2; done
                 kubectl -n strangers wait pod/stranger --for=condition=Ready --timeout=60s")
            .await;
        let find = "address=$(kubectl -n strangers get pod stranger -o jsonpath='{.status.podIP}')
                    for file in /run/netns/*; do
                        if nsenter --net=$file ip -o address | grep -qF \" $address/\"; then printf %s $file; fi
                    done";
        let found = self.node.sh(find).await;
        assert!(found.starts_with("/run/netns/"), "the Pod has a network namespace: {found}");
        found
    }
}

/// What the admin decides: the victim's bundles are signed, and the tests' registries may be spoken to.
async fn policy(node: &Node, key: &str) {
    let text = format!(
        "apiVersion: boathook.dev/v1alpha1\nkind: BundlePolicy\nsources:\n- match: {HOST}/{}/*\n  keys: [{{name: cosign, file: cosign.pub}}]\n\
         - match: '*'\n  unsigned: true\n",
        victim::TEAM
    );
    node.sh("kubectl apply --server-side -f deploy/install.yaml").await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trust", "namespace": "boathook"},
        "data": {"policy.yaml": text, "cosign.pub": key}});
    node.apply(&map).await;
    let container = json!({"name": "boathook", "args": ["serve", "--policy", "/etc/boathook/trust/policy.yaml"],
        "volumeMounts": [{"name": "trust", "mountPath": "/etc/boathook/trust", "readOnly": true}]});
    let volume = json!({"name": "trust", "configMap": {"name": "trust"}});
    let patch = json!({"spec": {"template": {"spec": {"containers": [container], "volumes": [volume]}}}});
    node.sh(&format!("kubectl -n boathook patch deployment boathook --patch '{patch}'")).await;
    node.registries_are_allowed(&[HOST, registry::HOST, registry::AUTHORS]).await;
}

/// A namespace with a user who may keep HookBundles and what they need, and an account for their hooks.
async fn team_with_rights(node: &Node, team: &str) {
    let hooks =
        json!([{"apiGroups": [""], "resources": ["configmaps", "pods", "pods/ephemeralcontainers"], "verbs": ["*"]}]);
    let own = json!([
        {"apiGroups": ["boathook.dev"], "resources": ["hookbundles"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["serviceaccounts", "secrets", "configmaps", "pods"], "verbs": ["*"]},
    ]);
    node.sh(&format!("kubectl create namespace {team}")).await;
    for (account, rules) in [("hooks", hooks), ("user", own)] {
        node.account(team, account, &rules).await;
    }
    for command in crate::node::book::section("admin/install.md", "HookBundles").commands {
        node.sh(&command.replace("-n team-a", &format!("-n {team}"))).await;
    }
}

/// All objects of a namespace, as text.
pub async fn everything_in(node: &Node, namespace: &str) -> String {
    node.sh(&format!(
        "for kind in $(kubectl api-resources --verbs=list --namespaced -o name); do
             kubectl get $kind -n {namespace} -o json --ignore-not-found
         done"
    ))
    .await
}

/// Whether a text has a value, as it is or as Secrets and logins have it.
pub fn has(text: &str, value: &str) -> bool {
    (0..3).any(|shift| text.contains(&base64_inner(value, shift))) || text.contains(value)
}

/// What base64 makes of the inner bytes of a value that begins `shift` bytes after a group of three.
fn base64_inner(value: &str, shift: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let inner = value.as_bytes().get((3 - shift) % 3..).unwrap_or_default();
    let groups = inner.chunks_exact(3);
    groups
        .flat_map(|group| {
            let bits = group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
            [18, 12, 6, 0].map(|at| char::from(LETTERS[bits >> at & 63]))
        })
        .collect()
}

/// The operator's own token, which no tenant may ever see.
pub async fn operators_token(node: &Node) -> String {
    let token = "pid=$(pgrep -of '^/usr/local/bin/boathook serve'); cat /proc/$pid/root/var/run/secrets/kubernetes.io/serviceaccount/token";
    node.sh(token).await.trim().to_owned()
}

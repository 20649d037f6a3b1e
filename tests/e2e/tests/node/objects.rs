//! What the tests make and look at: HookBundles and their namespace, the operator's Pods, what hooks do.

use serde_json::{Value, json};

use super::Node;
use super::registry::HOST;

/// The namespace with HookBundles, as the book calls it.
pub const TEAM: &str = "team-a";

impl Node {
    /// The namespace of a team, whose ServiceAccount `hooks` may do what `rules` say.
    pub async fn team(&self, rules: Value) {
        self.sh(&format!("kubectl create namespace {TEAM}")).await;
        self.account(TEAM, "hooks", &rules).await;
    }

    /// A ServiceAccount that may do in its namespace what `rules` say.
    pub async fn account(&self, namespace: &str, name: &str, rules: &Value) {
        self.sh(&format!("kubectl -n {namespace} create serviceaccount {name}")).await;
        let metadata = json!({"name": name, "namespace": namespace});
        self.apply(&json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
             "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]},
        ]}))
        .await;
    }

    /// A HookBundle of the team with a tag of the registry, which is signed with the key.
    pub async fn bundle(&self, name: &str, key: &str, grants: Value) {
        self.apply(&json!({
            "apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
            "metadata": {"name": name, "namespace": TEAM},
            "spec": {
                "source": {"oci": {"reference": format!("{HOST}/team/{name}:v1"), "insecure": true}},
                "serviceAccountName": "hooks",
                "grants": grants,
                "verification": {"keys": [{"name": "ci", "publicKey": key}]},
            },
        }))
        .await;
    }

    /// Waits until a HookBundle of the team is Ready.
    pub async fn bundle_is_ready(&self, name: &str) {
        self.hook_bundle_is_ready(TEAM, name).await;
    }

    pub async fn hook_bundle_is_ready(&self, namespace: &str, name: &str) {
        self.until(&format!("HookBundle {name} is Ready"), async || {
            let found = self.get(&format!("hookbundle {name} -n {namespace}")).await?;
            let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True");
            if ready { Ok(()) } else { Err(format!("{:#}", found["status"])) }
        })
        .await;
    }

    /// Waits for the Deployment, as an admin does.
    pub async fn available(&self) {
        self.sh("kubectl -n boathook rollout status deploy/boathook --timeout=150s").await;
    }

    /// The operator's Pods that are not about to end.
    pub async fn pods(&self) -> Vec<Value> {
        let mut pods = self.list("pods -n boathook -l app.kubernetes.io/name=boathook").await;
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["phase"] == "Running");
        pods
    }

    /// The operator's only Pod.
    pub async fn pod(&self) -> Value {
        self.until("there is one Pod of the operator", async || {
            let mut pods = self.pods().await;
            match (pods.pop(), pods.is_empty()) {
                (Some(pod), true) => Ok(pod),
                (pod, _) => Err(format!("{}", pods.len() + usize::from(pod.is_some()))),
            }
        })
        .await
    }

    /// The log of the operator's Pods, line by line.
    pub async fn operators_log(&self) -> Vec<Value> {
        let text = self.sh("kubectl -n boathook logs --tail=-1 -l app.kubernetes.io/name=boathook").await;
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The hook `image-policy` of the team is asked: the API server comes to it by the Service.
    pub async fn images_are_reviewed(&self) {
        self.until("the hook denies an image", async || match self.review("example.com/other:1").await {
            Err(denied) if denied.contains("is not from a place that the ConfigMap") => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
        self.review("localhost/pause:1").await.expect("the policy allows the image");
    }

    /// Asks the API server whether the team may run this image; nothing is kept.
    pub async fn review(&self, image: &str) -> Result<String, String> {
        self.try_sh(&format!("kubectl -n {TEAM} run asked --image={image} --dry-run=server -o name")).await
    }

    /// The tests' registry is at a private address and speaks no TLS. The operator's admin has to allow that; nothing
    /// changes where it was done before.
    pub async fn registry_is_allowed(&self) {
        self.registries_are_allowed(&[HOST]).await;
    }

    pub async fn registries_are_allowed(&self, hosts: &[&str]) {
        let hosts = hosts.join(",");
        self.sh(&format!("kubectl -n boathook set env deploy/boathook BOATHOOK_INSECURE_REGISTRIES={hosts}")).await;
        self.available().await;
    }

    /// A team with the hooks `image-policy` and `meddle`, out of the registry, at work. The operator need not be there yet: it is
    /// waited for with what the registry needs.
    pub async fn team_at_work(&self) {
        self.registry_is_allowed().await;
        let key = self.push(&format!("{HOST}/team/hooks:v1"), &["image-policy", "test/meddle"]).await;
        let resources = json!(["configmaps", "pods", "pods/ephemeralcontainers"]);
        self.team(json!([{"apiGroups": [""], "resources": resources, "verbs": ["*"]}])).await;
        for command in super::book::section("admin/install.md", "HookBundles").commands {
            self.sh(&command).await;
        }
        self.sh(&format!("kubectl -n {TEAM} create configmap image-policy --from-literal=registries=localhost/")).await;
        self.bundle("hooks", &key, json!([{"apiGroups": [""], "resources": ["*"], "verbs": ["*"]}])).await;
        self.bundle_is_ready("hooks").await;
        self.meddles("at-first").await;
        self.images_are_reviewed().await;
    }

    /// The hook `meddle` receives an event about a ConfigMap, and changes it as the team's ServiceAccount. It gets no
    /// event about a ConfigMap from before it ran, so each try creates a new one.
    pub async fn meddles(&self, name: &str) {
        let mut tries = 0;
        self.until(&format!("the hook changes {name}"), async || {
            tries += 1;
            let one = format!("{name}-{tries}");
            self.apply(&json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"deed": "patch"},
                "metadata": {"name": one, "namespace": TEAM, "labels": {"meddle": "true"}},
            }))
            .await;
            let done =
                format!("kubectl -n {TEAM} wait configmap/{one} --for=jsonpath='{{.data.done}}'=yes --timeout=5s");
            self.try_sh(&done).await
        })
        .await;
    }
}

/// The `name` of each object's metadata.
pub fn names(objects: &[Value]) -> Vec<String> {
    objects.iter().filter_map(|object| Some(object["metadata"]["name"].as_str()?.to_owned())).collect()
}

/// How often the operator's container has ended.
pub fn restarts(pod: &Value) -> u64 {
    pod["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or_default()
}

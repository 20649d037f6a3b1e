//! HookBundles: a cluster, a registry, and an operator that has nothing but the rights of its manifests, or those that
//! `boathook rbac` prints.
//! It never tells the operator what to do but by objects and by what is in the registry.

mod audit;
pub mod definitions;
pub mod http;
pub mod registry;
pub mod rights;
mod rollouts;
mod versions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::config::Kubeconfig;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Backend, Cluster, Needs, Operator, Test, boathook, eventually, workspace};
use audit::Audit;
use registry::{Registry, say};

pub use rollouts::a_new_version_is_compared_before_it_takes_over;
pub use versions::{
    nothing_is_left_by_uninstall, settings_fit_the_schema, versions_come_wait_and_go_back,
    what_makes_no_sense_is_refused,
};

/// The operator's namespace and ServiceAccount.
const OWN: &str = "boathook";
/// A namespace with HookBundles, and the ServiceAccount of their hooks.
const TEAM: &str = "team-a";
const ACCOUNT: &str = "hooks";
const NAME: &str = "team-hooks";
/// The operator, as the API server sees it.
const OPERATOR: &str = "system:serviceaccount:boathook:boathook";
/// Its hooks.
const HOOKS: &str = "system:serviceaccount:team-a:hooks";

pub struct Site {
    cluster: Arc<Cluster>,
    registry: Registry,
    dir: PathBuf,
    kubeconfig: PathBuf,
}

impl Site {
    /// The operator has the rights of the manifests, where the API server minds rights.
    async fn installed(test: &Test) -> Self {
        let mut site = Self::new(test).await;
        if test.backend == Backend::Real {
            let manifests = workspace().join("deploy/install.yaml");
            site.until_applied(&["--server-side", "--filename", text(&manifests)]).await;
            site.cluster.kubectl(&["create", "namespace", TEAM]).await;
            let tenant = ["create", "rolebinding", "boathook-tenant", "--namespace", TEAM];
            let role = ["--clusterrole=boathook-tenant", "--serviceaccount=boathook:boathook"];
            site.cluster.kubectl(&[tenant.as_slice(), &role].concat()).await;
            site.watches(&["configmaps"]).await;
            site.becomes_the_operator().await;
        } else {
            site.defines().await;
            for namespace in [OWN, TEAM] {
                site.cluster.kubectl(&["create", "namespace", namespace]).await;
            }
            site.kubeconfig = site.admins_kubeconfig();
        }
        site.cluster.kubectl(&["create", "serviceaccount", ACCOUNT, "--namespace", TEAM]).await;
        site.team_may(&["configmaps"]).await;
        site
    }

    /// The operator has what `boathook rbac` prints for these hooks, and nothing else.
    async fn generated(test: &Test, hooks: &Path) -> Self {
        let mut site = Self::new(test).await;
        site.defines().await;
        for namespace in [OWN, TEAM] {
            site.cluster.kubectl(&["create", "namespace", namespace]).await;
        }
        site.cluster.kubectl(&["create", "serviceaccount", "boathook", "--namespace", OWN]).await;
        let roles = site.rbac(hooks, &[]).await;
        site.apply_text(&roles).await;
        site.becomes_the_operator().await;
        site
    }

    async fn new(test: &Test) -> Self {
        let audit_log = test.backend == Backend::Real;
        let cluster = test.own_cluster_with(Needs { audit_log, ..Needs::default() }).await;
        let registry = Registry::start(test.dir()).await;
        let kubeconfig = cluster.kubeconfig.clone();
        Self { cluster, registry, dir: test.dir().to_owned(), kubeconfig }
    }

    /// What `boathook rbac` prints for the operator and the team.
    async fn rbac(&self, hooks: &Path, more: &[&str]) -> String {
        let mut command = Command::new(boathook());
        command.arg("rbac").arg(hooks).args(["--hook-bundles", "--tenant"]).arg(format!("{TEAM}:{ACCOUNT}"));
        command.arg("--kubeconfig").arg(&self.cluster.kubeconfig).args(more).env("XDG_CACHE_HOME", &self.dir);
        say(&mut command).await
    }

    /// HookBundles are served.
    async fn defines(&self) {
        let definition = say(Command::new(boathook()).arg("crd")).await;
        self.apply_text(&definition).await;
        eventually("HookBundles are served", async || self.cluster.try_kubectl(&["get", "hookbundles"]).await).await;
    }

    /// The operator gets nothing but a token of its ServiceAccount.
    async fn becomes_the_operator(&mut self) {
        let token = self.cluster.kubectl(&["create", "token", "boathook", "--namespace", OWN]).await;
        self.kubeconfig = self.kubeconfig_of("operator", Some(json!({"token": token.trim()})));
    }

    /// The admin, who looks at the operator's namespace.
    fn admins_kubeconfig(&self) -> PathBuf {
        self.kubeconfig_of("admin", None)
    }

    fn kubeconfig_of(&self, name: &str, user: Option<Value>) -> PathBuf {
        let config = Kubeconfig::read_from(&self.cluster.kubeconfig).expect("read a kubeconfig");
        let mut config = serde_json::to_value(config).expect("a kubeconfig as data");
        if let Some(user) = user {
            config["users"][0]["user"] = user;
        }
        config["contexts"][0]["context"]["namespace"] = OWN.into();
        let file = self.dir.join(format!("{name}-kubeconfig"));
        std::fs::write(&file, config.to_string()).expect("write a kubeconfig");
        file
    }

    /// The operator may follow these in the team's namespace.
    async fn watches(&self, resources: &[&str]) {
        self.role("boathook-watch", &["list", "watch"], resources, "boathook:boathook").await;
    }

    /// What the team's own ServiceAccount may do there.
    async fn team_may(&self, resources: &[&str]) {
        let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
        self.role("hooks", &verbs, resources, "team-a:hooks").await;
    }

    async fn role(&self, name: &str, verbs: &[&str], resources: &[&str], account: &str) {
        let (verbs, resources) = (format!("--verb={}", verbs.join(",")), format!("--resource={}", resources.join(",")));
        let namespace = ["--namespace", TEAM];
        self.cluster.kubectl(&[["create", "role", name].as_slice(), &namespace, &[&verbs, &resources]].concat()).await;
        let (role, account) = (format!("--role={name}"), format!("--serviceaccount={account}"));
        let bind = ["create", "rolebinding", name];
        self.cluster.kubectl(&[bind.as_slice(), &namespace, &[&role, &account]].concat()).await;
    }

    async fn operator(&self) -> Operator {
        self.operator_with(&[]).await
    }

    async fn operator_with(&self, flags: &[&str]) -> Operator {
        let store = self.dir.join("store");
        // The registry is on the loopback, without TLS.
        let registry = ["--insecure-registry", &self.registry.host];
        let own = [["--hook-bundles", "on", "--bundle-store", text(&store)].as_slice(), &registry].concat();
        Operator::start_with(&self.dir, &self.kubeconfig, &[], &[own.as_slice(), flags].concat()).await
    }

    fn audit(&self) -> Audit {
        Audit(self.cluster.audit_log())
    }

    /// Applies a HookBundle of this tag, with other fields of its spec; null leaves one out.
    async fn bundle(&self, tag: &str, more: Value) {
        let refused = self.try_bundle(tag, more).await.err();
        assert_eq!(refused, None);
    }

    async fn try_bundle(&self, tag: &str, more: Value) -> Result<String, String> {
        let mut spec = json!({
            "source": {"oci": {"reference": self.registry.reference(tag), "insecure": true, "interval": "10s"}},
            "verification": {"unsigned": true},
            "serviceAccountName": ACCOUNT,
            "grants": [grant("configmaps", &["*"])],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        let metadata = json!({"name": NAME, "namespace": TEAM});
        self.try_apply(&json!({
            "apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle", "metadata": metadata, "spec": spec,
        }))
        .await
    }

    /// Merges into the HookBundle's spec.
    async fn change(&self, spec: Value) {
        let patch = format!("--patch={}", json!({"spec": spec}));
        self.cluster.kubectl(&["patch", "hookbundle", NAME, "--namespace", TEAM, "--type=merge", &patch]).await;
    }

    /// Waits until the HookBundle's status is as `find` wants it.
    async fn status<T>(&self, what: &str, find: impl Fn(&Value) -> Option<T>) -> T {
        eventually(what, async || {
            let found =
                self.cluster.try_kubectl(&["get", "hookbundle", NAME, "--namespace", TEAM, "-o", "json"]).await?;
            let object: Value = serde_json::from_str(&found).map_err(|error| error.to_string())?;
            find(&object["status"]).ok_or_else(|| format!("{:#}", object["status"]))
        })
        .await
    }

    /// Waits for a condition, `Ready=True/HooksReady`; gives its message.
    async fn condition(&self, wanted: &str) -> String {
        self.status(wanted, |status| condition(status, wanted)).await
    }

    /// Waits until this version is at work.
    async fn runs(&self, digest: &str) {
        let of =
            |status: &Value| (status["digest"] == digest && condition(status, "Ready=True").is_some()).then_some(());
        self.status(&format!("{digest} is at work"), of).await;
    }

    /// Has the hook meddle with a ConfigMap of this name, and waits until it did.
    async fn works(&self, name: &str, deed: &str) {
        self.asks(name, deed).await;
        self.done(name).await;
    }

    async fn asks(&self, name: &str, deed: &str) {
        let metadata = json!({"name": name, "namespace": TEAM, "labels": {"meddle": "true"}});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"deed": deed}});
        self.try_apply(&map).await.expect("make a ConfigMap");
    }

    async fn done(&self, name: &str) {
        eventually(&format!("the hook has done what {name} asks for"), async || match self.is_done(name).await {
            true => Ok(()),
            false => Err("not yet"),
        })
        .await;
    }

    async fn is_done(&self, name: &str) -> bool {
        let get = ["get", "configmap", name, "--namespace", TEAM, "--output=jsonpath={.data.done}"];
        self.cluster.kubectl(&get).await == "yes"
    }

    async fn apply_text(&self, text_of: &str) {
        let file = self.dir.join("applied.yaml");
        std::fs::write(&file, text_of).expect("write a file");
        self.until_applied(&["--filename", text(&file)]).await;
    }

    async fn try_apply(&self, object: &Value) -> Result<String, String> {
        let file = self.dir.join("object.json");
        std::fs::write(&file, object.to_string()).expect("write a file");
        self.cluster.try_kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", text(&file)]).await
    }

    /// A kind is served a moment after its definition is there.
    async fn until_applied(&self, arguments: &[&str]) {
        let apply = [["apply"].as_slice(), arguments].concat();
        eventually("the API server takes it", async || self.cluster.try_kubectl(&apply).await).await;
    }
}

/// The message of a condition, if it holds: `TYPE=STATUS`, `TYPE=STATUS/REASON`.
fn condition(status: &Value, wanted: &str) -> Option<String> {
    let part = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let all = status["conditions"].as_array()?;
    let shown = |one: &Value| format!("{}={}/{}", part(one, "type"), part(one, "status"), part(one, "reason"));
    let found = all.iter().find(|one| shown(one).starts_with(wanted))?;
    Some(part(found, "message"))
}

fn grant(resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [""], "resources": [resource], "verbs": verbs})
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are texts")
}

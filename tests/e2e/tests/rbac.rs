//! `boathook rbac` against an API server that enforces RBAC: the operator runs as a ServiceAccount that has the
//! generated roles and nothing else.
//! It never looks at how roles are made, only at what they let happen.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::bindings::told::{changes_up_to, write_hooks};
use crate::copies::{NAME, SKIP, copied, ensure_source, gone, set_password};
use crate::harness::{ALL_HOOKS, Cluster, Needs, Test, boathook, eventually, hook_file};
use crate::internet_access::{ALLOW, allowed, refused};
use crate::node_taint::{create_node, tainted};
use crate::objects::{create_namespace, label_namespace, meta};

/// The operator's namespace and ServiceAccount, as `boathook rbac` has them by default.
pub const ACCOUNT: &str = "boathook";
/// Fails when a ConfigMap asks it to, so that the operator has an Event to send.
const FAILING: &str = "test/fail";

pub async fn generated_roles_are_enough(test: Arc<Test>) {
    let setup = Setup::new(&test, &hooks()).await;
    setup.apply_roles(&[]).await;
    let operator = test.operator_with(&setup.kubeconfig().await, &hooks()).await;
    operator.ready().await;
    let client = &setup.cluster.client;

    provoke(client, &test.slug()).await;
    let name = test.slug();
    copied(client, &name).await;
    allowed(client, &name).await;
    tainted(client, &name, &["gpu:NoSchedule"]).await;
    set_password(client, "second").await;
    copied(client, &name).await;
    label_namespace(client, &name, SKIP, Some("true")).await;
    gone(client, &name).await;
    label_namespace(client, &name, ALLOW, None).await;
    refused(client, &name).await;
    let events = Api::<k8s_openapi::api::events::v1::Event>::namespaced(client.clone(), ACCOUNT);
    eventually("the failed run is told of", async || {
        let found = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        if found.items.is_empty() { Err("there is no Event".to_owned()) } else { Ok(()) }
    })
    .await;
    let forbidden: Vec<_> = operator.log().into_iter().filter(is_refusal).collect();
    assert!(forbidden.is_empty(), "{forbidden:?}");
    operator.stop().await;

    // All that the hooks ask for was used; so says the log, the roles' other end.
    let log = test.dir().join("operator-1.log");
    let used = setup.rbac(&["--check", "--used", path(&log)]).await;
    assert_eq!(used.status.code(), Some(0), "{}", text(&used));
    assert_eq!(text(&used).matches("it requests what it used").count(), hooks().len(), "{}", text(&used));

    // The command says the same, and that the roles of others are others.
    let own = setup.kubeconfig().await;
    let checked = setup.rbac(&["--check", "--kubeconfig", path(&own)]).await;
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
    let user = format!("system:serviceaccount:{ACCOUNT}:other");
    let other =
        setup.rbac(&["--check", "--as", &user, "--kubeconfig", path(&setup.cluster.kubeconfig), "-o", "json"]).await;
    assert_eq!(other.status.code(), Some(1), "{}", text(&other));
    let found: Value = serde_json::from_slice(&other.stdout).expect("JSON");
    assert_eq!(found["missing"].as_array().map(Vec::len), found["asked"].as_u64().map(|asked| asked as usize));
}

/// Takes one rule after the other away; each time something is refused.
pub async fn every_rule_is_needed(test: Arc<Test>) {
    let setup = Setup::new(&test, &hooks()).await;
    setup.apply_roles(&[]).await;
    let kubeconfig = setup.kubeconfig().await;
    let rules = setup.rules().await;
    assert!(rules.len() >= 7, "{rules:?}");
    for (number, (namespace, rule)) in rules.iter().enumerate() {
        setup.without(namespace.as_deref(), rule).await;
        setup.has_not(&kubeconfig, namespace.as_deref(), rule).await;
        let checked = setup.rbac(&["--check", "--kubeconfig", path(&kubeconfig)]).await;
        assert_eq!(checked.status.code(), Some(1), "without {rule:?}: {}", text(&checked));

        let operator = test.operator_with(&kubeconfig, &hooks()).await;
        if namespace.is_some() {
            // An object from before would cause no event. No binding needs the right to report failures, so the
            // operator gets ready without it.
            operator.ready().await;
        }
        provoke(&setup.cluster.client, &format!("{}-{number}", test.slug())).await;
        operator.logs(&format!("what is refused without {rule:?}"), is_refusal).await;
        operator.kill().await;
        setup.apply_roles(&[]).await;
    }
}

/// With `--per-hook`, the operator may be each hook's ServiceAccount, and only these; what a hook writes is the
/// right of its own account alone.
pub async fn a_hook_acts_as_itself(test: Arc<Test>) {
    let setup = Setup::new(&test, &ALL_HOOKS).await;
    setup.apply_roles(&["--per-hook"]).await;
    ensure_source(&setup.cluster.client).await;
    let (admin, own) = (setup.cluster.kubeconfig.clone(), setup.kubeconfig().await);
    let user = format!("system:serviceaccount:{ACCOUNT}:{ACCOUNT}");
    let checked = setup.rbac(&["--per-hook", "--check", "--as", &user, "--kubeconfig", path(&admin)]).await;
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));

    let secret = ["get", "secret", NAME, "--namespace", "default"];
    let patch = ["patch", "secret", NAME, "--namespace", "default", "--patch", r#"{"metadata":{"labels":{"a":"b"}}}"#];
    let nodes = ["get", "nodes", "some"];
    let as_hook = |hook: &str| format!("--as=system:serviceaccount:{ACCOUNT}:{ACCOUNT}-{hook}");
    setup.kubectl(&own, &secret, &as_hook("registry-secret")).await.expect("the hook's account may");
    setup.kubectl(&own, &patch, &as_hook("registry-secret")).await.expect("the hook's account may");
    let refused = [
        setup.kubectl(&own, &patch, "--as=").await,
        setup.kubectl(&own, &patch, &as_hook("node-taint")).await,
        setup.kubectl(&own, &nodes, &as_hook("registry-secret")).await,
        setup.kubectl(&own, &secret, "--as=system:serviceaccount:default:default").await,
        setup.kubectl(&own, &secret, "--as=admin").await,
    ];
    for answer in refused {
        let complaint = answer.expect_err("it is refused");
        assert!(complaint.contains("orbidden"), "{complaint}");
    }
}

/// A hook of a kind that the API server does not have yet: the roles, made without it, let the operator learn of
/// it.
pub async fn a_kind_that_comes_later(test: Arc<Test>) {
    let document = "configVersion: v1\nkubernetes: [{name: ferries, apiVersion: sea.example.com/v1, kind: Ferry}]\n";
    write_hooks(&test, &[("ferries", document.to_owned())]);
    let setup = Setup { hooks: vec![test.dir().join("hooks")], ..Setup::new(&test, &[]).await };
    setup.apply_roles(&[]).await;
    let operator = test.operator_with(&setup.kubeconfig().await, &[]).await;
    operator.logs("that it waits for the kind", |line| line.to_string().contains("binding pending")).await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ferries.sea.example.com"},
        "spec": {
            "group": "sea.example.com", "scope": "Namespaced",
            "names": {"plural": "ferries", "singular": "ferry", "kind": "Ferry"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]
        }
    });
    setup.apply(&definition).await;
    operator.ready().await;
    let ferry =
        json!({"apiVersion": "sea.example.com/v1", "kind": "Ferry", "metadata": {"name": "a", "namespace": "default"}});
    setup.apply(&ferry).await;
    changes_up_to(&operator, "ferries", "Added a").await;
    let complaint =
        operator.log().into_iter().find(|line| is_refusal(line) || line.to_string().contains("may not list"));
    assert_eq!(complaint, None);
    operator.stop().await;
}

fn hooks() -> Vec<&'static str> {
    ALL_HOOKS.into_iter().chain([FAILING]).collect()
}

/// Gives every hook something to do, in objects of this name.
async fn provoke(client: &Client, name: &str) {
    ensure_source(client).await;
    create_namespace(client, name, &[(ALLOW, "true")]).await;
    create_node(client, name, &[("taint.boathook.dev/gpu", "NoSchedule")]).await;
    let data = [("mode".to_owned(), "permanent".to_owned())];
    let map =
        ConfigMap { metadata: meta("failing", &[("test", "fail")]), data: Some(data.into()), ..ConfigMap::default() };
    let maps = Api::<ConfigMap>::namespaced(client.clone(), name);
    maps.create(&PostParams::default(), &map).await.expect("create a ConfigMap");
}

/// The API server said no.
pub fn is_refusal(line: &Value) -> bool {
    let text = line.to_string();
    text.contains("is forbidden: User")
        || text.contains("403") && text.to_lowercase().contains("forbidden")
        || text.contains("may not patch events")
}

pub fn path(path: &Path) -> &str {
    path.to_str().expect("paths of tests are texts")
}

pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A cluster with the operator's ServiceAccount, and hooks to make roles for.
pub struct Setup {
    pub cluster: Arc<Cluster>,
    dir: PathBuf,
    hooks: Vec<PathBuf>,
}

impl Setup {
    pub async fn new(test: &Test, hooks: &[&str]) -> Self {
        let cluster = test.own_cluster_with(Needs::default()).await;
        create_namespace(&cluster.client, ACCOUNT, &[]).await;
        cluster.kubectl(&["create", "serviceaccount", ACCOUNT, "--namespace", ACCOUNT]).await;
        let hooks = hooks.iter().map(|hook| hook_file(hook)).collect();
        Self { cluster, dir: test.dir().to_owned(), hooks }
    }

    pub async fn rbac(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(boathook());
        command.arg("rbac").args(&self.hooks).args(arguments).env_remove("KUBECONFIG").env("XDG_CACHE_HOME", &self.dir);
        command.kill_on_drop(true).output().await.expect("start boathook rbac")
    }

    /// Applies what the command prints, as an admin would.
    pub async fn apply_roles(&self, arguments: &[&str]) {
        let arguments: Vec<_> =
            arguments.iter().copied().chain(["--kubeconfig", path(&self.cluster.kubeconfig)]).collect();
        let printed = self.rbac(&arguments).await;
        assert!(printed.status.success(), "{}", text(&printed));
        self.apply_text(&printed.stdout).await;
    }

    pub async fn apply(&self, object: &Value) {
        self.apply_text(object.to_string().as_bytes()).await;
    }

    async fn apply_text(&self, text: &[u8]) {
        let file = self.dir.join("applied.yaml");
        std::fs::write(&file, text).expect("write a file");
        let applied = async || self.cluster.try_kubectl(&["apply", "--filename", path(&file)]).await;
        // A kind is served a moment after its definition is there.
        eventually("the API server takes it", applied).await;
    }

    /// A kubeconfig with nothing but a token of the operator's ServiceAccount.
    pub async fn kubeconfig(&self) -> PathBuf {
        let token = self.cluster.kubectl(&["create", "token", ACCOUNT, "--namespace", ACCOUNT]).await;
        let config = Kubeconfig::read_from(&self.cluster.kubeconfig).expect("read a kubeconfig");
        let mut config = serde_json::to_value(config).expect("a kubeconfig as data");
        config["users"][0]["user"] = json!({"token": token.trim()});
        config["contexts"][0]["context"]["namespace"] = ACCOUNT.into();
        let file = self.dir.join("operator-kubeconfig");
        std::fs::write(&file, config.to_string()).expect("write a kubeconfig");
        file
    }

    async fn kubectl(&self, kubeconfig: &Path, arguments: &[&str], who: &str) -> Result<String, String> {
        let file = format!("--kubeconfig={}", path(kubeconfig));
        let who = (who != "--as=").then_some(who);
        let arguments: Vec<_> = arguments.iter().copied().chain([file.as_str()]).chain(who).collect();
        self.cluster.try_kubectl(&arguments).await
    }

    /// Every rule, with the namespace of its role.
    pub async fn rules(&self) -> Vec<(Option<String>, PolicyRule)> {
        let of = |namespace: Option<String>, rules: Option<Vec<PolicyRule>>| {
            rules.unwrap_or_default().into_iter().map(move |rule| (namespace.clone(), rule))
        };
        let mut all: Vec<_> = of(None, self.cluster_role().await.rules).collect();
        all.extend(of(Some(ACCOUNT.to_owned()), self.role().await.rules));
        all
    }

    async fn cluster_role(&self) -> ClusterRole {
        self.cluster_roles().get(&role_name()).await.expect("there is a ClusterRole")
    }

    async fn role(&self) -> Role {
        self.roles().get(&role_name()).await.expect("there is a Role")
    }

    fn cluster_roles(&self) -> Api<ClusterRole> {
        Api::all(self.cluster.client.clone())
    }

    fn roles(&self) -> Api<Role> {
        Api::namespaced(self.cluster.client.clone(), ACCOUNT)
    }

    /// Takes a rule away.
    pub async fn without(&self, namespace: Option<&str>, rule: &PolicyRule) {
        let rest =
            |rules: Option<Vec<PolicyRule>>| rules.map(|rules| rules.into_iter().filter(|one| one != rule).collect());
        let (name, params) = (role_name(), PostParams::default());
        let replaced = if namespace.is_none() {
            let mut role = self.cluster_role().await;
            role.rules = rest(role.rules);
            self.cluster_roles().replace(&name, &params, &role).await.map(drop)
        } else {
            let mut role = self.role().await;
            role.rules = rest(role.rules);
            self.roles().replace(&name, &params, &role).await.map(drop)
        };
        replaced.expect("replace a role");
    }

    /// Waits until the API server has noticed that the rule is gone.
    pub async fn has_not(&self, kubeconfig: &Path, namespace: Option<&str>, rule: &PolicyRule) {
        let config = Kubeconfig::read_from(kubeconfig).expect("read a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
        let client = Client::try_from(config.expect("use a kubeconfig")).expect("make a client");
        let first = |texts: &Option<Vec<String>>| texts.as_ref().and_then(|texts| texts.first().cloned());
        let attributes = ResourceAttributes {
            verb: rule.verbs.first().cloned(),
            group: first(&rule.api_groups),
            resource: first(&rule.resources),
            name: first(&rule.resource_names),
            namespace: namespace.map(str::to_owned),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let reviews = Api::<SelfSubjectAccessReview>::all(client);
        eventually(&format!("{rule:?} is gone"), async || {
            let answer = reviews.create(&PostParams::default(), &review).await.map_err(|error| error.to_string())?;
            let allowed = answer.status.is_some_and(|status| status.allowed);
            if allowed { Err("it is still allowed".to_owned()) } else { Ok(()) }
        })
        .await;
    }
}

fn role_name() -> String {
    format!("{ACCOUNT}:{ACCOUNT}")
}

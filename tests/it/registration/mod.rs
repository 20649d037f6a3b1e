//! Registrations on a local cluster: what is made, repaired, left alone and taken back.
//!
//! Never asks a hook: documents are enough.

use std::{collections::BTreeSet, sync::Arc};

use boathook_core::{
    hooks::parse,
    model::{BundleId, HookName, HookSpec, Source},
    tasks::Tasks,
};
use boathook_operator::registration::{Endpoint, Pending, Registrant, Removed, Settings, Wanted, remove, run};
use serde_json::{Value, json};
use tokio::{sync::watch, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::support::{PATIENCE, cluster::TestCluster, until};

const CRD: &str = "crontabs.example.com";

const POLICY: &str = r#"
configVersion: v1
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]
  namespace: {labelSelector: {matchLabels: {team: a}}}
- name: everywhere.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  failurePolicy: Ignore
  sideEffects: NoneOnDryRun
  timeoutSeconds: 3
  matchPolicy: Exact
  matchConditions: [{name: named, expression: "object.metadata.name != 'x'"}]
  namespace: {includeSystem: true}
kubernetesMutating:
- name: defaults.example.com
  rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE], scope: Namespaced}]
  reinvocationPolicy: IfNeeded
"#;

const CONVERSION: &str = r#"
configVersion: v1
kubernetesCustomResourceConversion:
- name: crontabs
  crdName: crontabs.example.com
  conversions: [{fromVersion: v1, toVersion: v2}, {fromVersion: v2, toVersion: v1}]
"#;

fn spec(name: &str, document: &str) -> Arc<HookSpec> {
    Arc::new(parse(&HookName::new(name).unwrap(), document, &|_| Ok(())).unwrap())
}

fn ready(name: &str, document: &str) -> Registrant {
    Registrant { spec: spec(name, document), source: Source::Directory, settled: true, ready: true }
}

fn bundle(namespace: Option<&str>, name: &str) -> BundleId {
    BundleId { namespace: namespace.map(str::to_owned), name: name.to_owned() }
}

fn of(id: &BundleId, registrant: Registrant) -> Registrant {
    Registrant { source: Source::Bundle(id.clone()), ..registrant }
}

fn service() -> Endpoint {
    Endpoint::Service { namespace: "ops".to_owned(), name: "boathook".to_owned(), port: 443 }
}

fn url() -> Endpoint {
    Endpoint::Url("https://hooks.example.com:9443/".to_owned())
}

struct Operator {
    wanted: watch::Sender<Option<Wanted>>,
    registered: watch::Receiver<Wanted>,
    _keeping: AbortOnDropHandle<()>,
}

impl Operator {
    fn start(cluster: &TestCluster, instance: &str, endpoint: Endpoint) -> Self {
        let left_out = ["kube-system", "ops"].map(str::to_owned).to_vec();
        let settings = Settings { instance: instance.to_owned(), left_out, endpoint };
        let (wanted, known) = watch::channel(None);
        let (tells, registered) = watch::channel(Wanted::default());
        let keeping = tokio::spawn(run(cluster.admin.client.clone(), settings, known, tells, Tasks::default()));
        Self { wanted, registered, _keeping: AbortOnDropHandle::new(keeping) }
    }

    /// Waits until just these hooks have all they want.
    async fn until_in_place(&mut self, hooks: &[&str]) {
        let names = |wanted: &Wanted| wanted.hooks.iter().map(|hook| hook.spec.name.to_string()).collect::<Vec<_>>();
        timeout(PATIENCE, self.registered.wait_for(|wanted| names(wanted) == hooks)).await.unwrap().unwrap();
    }

    fn want<const N: usize>(&self, ca: &str, hooks: [Registrant; N]) {
        self.want_with(ca, hooks, Pending::default());
    }

    fn want_with<const N: usize>(&self, ca: &str, hooks: [Registrant; N], pending: Pending) {
        self.wanted.send_replace(Some(Wanted { ca: Some(ca.into()), hooks: hooks.into(), pending, paths: None }));
    }
}

fn configuration(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}})
}

fn validating(name: &str) -> Value {
    configuration("ValidatingWebhookConfiguration", name)
}

fn definition() -> Value {
    let version = |name: &str, storage: bool| {
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        json!({"name": name, "served": true, "storage": storage, "schema": schema})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"},
            "versions": [version("v1", false), version("v2", true)],
        },
    })
}

async fn until_there(cluster: &TestCluster, object: &Value, holds: impl Fn(&Value) -> bool) -> Value {
    let what = format!("{object} as expected");
    until(&what, async || cluster.admin.get(object).await.unwrap().filter(|found| holds(found))).await
}

async fn until_gone(cluster: &TestCluster, object: &Value) {
    let gone = async || cluster.admin.get(object).await.unwrap().is_none().then_some(());
    until(&format!("{object} is gone"), gone).await;
}

fn ca(found: &Value) -> String {
    use base64::Engine as _;
    let text = found["webhooks"][0]["clientConfig"]["caBundle"].as_str().unwrap();
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
}

#[tokio::test]
async fn a_hook_that_is_ready_is_registered_as_its_document_says() {
    let cluster = TestCluster::start().await;
    let mut operator = Operator::start(&cluster, "ops", service());
    operator.want("one", [ready("policy", POLICY)]);
    let found = until_there(&cluster, &validating("boathook-policy"), |_| true).await;
    let [first, second] = found["webhooks"].as_array().unwrap().as_slice() else { panic!("{found}") };
    let reference =
        json!({"namespace": "ops", "name": "boathook", "port": 443, "path": "/validate/policy/policy.example.com"});
    assert_eq!(first["clientConfig"]["service"], reference);
    let left_out = json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "ops"]});
    let selector = json!({"matchLabels": {"team": "a"}, "matchExpressions": [left_out]});
    assert_eq!(first["namespaceSelector"], selector);
    assert_eq!((&first["failurePolicy"], &first["timeoutSeconds"]), (&json!("Fail"), &json!(10)));
    assert!(second["namespaceSelector"].as_object().is_none_or(|selector| selector.is_empty()), "{second}");
    let policies = ["failurePolicy", "sideEffects", "matchPolicy"].map(|key| second[key].as_str().unwrap());
    assert_eq!(policies, ["Ignore", "NoneOnDryRun", "Exact"]);
    assert_eq!(second["matchConditions"][0]["name"], "named");
    assert_eq!((&second["timeoutSeconds"], ca(&found).as_str()), (&json!(3), "one"));
    let mutating = configuration("MutatingWebhookConfiguration", "boathook-policy");
    let found = until_there(&cluster, &mutating, |_| true).await;
    assert_eq!(found["webhooks"][0]["reinvocationPolicy"], "IfNeeded");
    assert_eq!(found["webhooks"][0]["rules"][0]["scope"], "Namespaced");
    // Another certificate.
    operator.want("two", [ready("policy", POLICY)]);
    until_there(&cluster, &validating("boathook-policy"), |found| ca(found) == "two").await;
    until_there(&cluster, &mutating, |found| ca(found) == "two").await;
    operator.until_in_place(&["policy"]).await;
}

#[tokio::test]
async fn what_somebody_changes_or_deletes_is_repaired() {
    let cluster = TestCluster::start().await;
    let operator = Operator::start(&cluster, "ops", url());
    operator.want("one", [ready("policy", POLICY)]);
    let name = validating("boathook-policy");
    let whole = |found: &Value| found["webhooks"].as_array().is_some_and(|all| all.len() == 2);
    let first = until_there(&cluster, &name, whole).await;
    assert_eq!(
        first["webhooks"][0]["clientConfig"]["url"],
        "https://hooks.example.com:9443/validate/policy/policy.example.com"
    );
    let mut meddled = name.clone();
    meddled["webhooks"] = json!([]);
    meddled["metadata"]["labels"] = json!({"team": "x", "app.kubernetes.io/managed-by": null});
    cluster.admin.apply(&meddled).await.unwrap();
    let second = until_there(&cluster, &name, whole).await;
    assert_eq!((&second["webhooks"], &second["metadata"]["uid"]), (&first["webhooks"], &first["metadata"]["uid"]));
    let labels = &second["metadata"]["labels"];
    assert_eq!((&labels["team"], &labels["app.kubernetes.io/managed-by"]), (&json!("x"), &json!("boathook")));
    cluster.admin.delete(&name).await.unwrap();
    let third = until_there(&cluster, &name, |found| found["metadata"]["uid"] != first["metadata"]["uid"]).await;
    assert_eq!(third["webhooks"], first["webhooks"]);
}

#[tokio::test]
async fn registrations_go_with_their_hooks_and_stay_while_one_is_not_ready() {
    let cluster = TestCluster::start().await;
    let operator = Operator::start(&cluster, "ops", url());
    operator.want("one", [ready("a", POLICY), ready("b", POLICY), ready("c", POLICY)]);
    for hook in ["boathook-a", "boathook-b", "boathook-c"] {
        until_there(&cluster, &validating(hook), |_| true).await;
    }
    drop(operator);
    // After a restart: one is not ready, one is gone, one has another document.
    let operator = Operator::start(&cluster, "ops", url());
    let unready = Registrant { ready: false, ..ready("a", CONVERSION) };
    operator.want("two", [unready, ready("c", CONVERSION), ready("d", POLICY)]);
    until_gone(&cluster, &validating("boathook-b")).await;
    until_gone(&cluster, &validating("boathook-c")).await;
    until_there(&cluster, &validating("boathook-d"), |_| true).await;
    let kept = cluster.admin.get(&validating("boathook-a")).await.unwrap().unwrap();
    assert_eq!(ca(&kept), "one");
}

// mutant: crates/operator/src/registration/plan.rs: `ours.filter(|object| !wanted.pending.may_want(object))` => `ours`
// mutant: crates/operator/src/registration/plan.rs: `label(definition, INSTANCE).is_some() && !wanted.pending.may_want(definition)` => `label(definition, INSTANCE).is_some()`
#[tokio::test]
async fn nothing_goes_before_the_source_that_may_want_it_is_settled() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&definition()).await.unwrap();
    let (own, tenants, other) = (bundle(None, "own"), bundle(Some("team"), "a"), bundle(Some("team"), "b"));
    let operator = Operator::start(&cluster, "ops", url());
    let hooks = [
        ready("file", POLICY),
        ready("broken", POLICY),
        of(&own, ready("policy.own", POLICY)),
        of(&tenants, ready("policy.a.team", POLICY)),
        of(&other, ready("policy.b.team", POLICY)),
        of(&tenants, ready("convert.a.team", CONVERSION)),
    ];
    operator.want("one", hooks);
    let asks = |found: &Value| found["spec"]["conversion"]["strategy"] == "Webhook";
    until_there(&cluster, &definition(), asks).await;
    drop(operator);

    // A start: only the directory was read, and one of its hooks cannot be loaded.
    let operator = Operator::start(&cluster, "ops", url());
    let there = async |hook: &str| {
        let name = validating(&format!("boathook-{hook}"));
        cluster.admin.get(&name).await.unwrap().is_some()
    };
    let pending = Pending {
        hooks: BTreeSet::from(["broken".to_owned()]),
        bundles: BTreeSet::from([own.clone()]),
        unlisted: true,
        ..Pending::default()
    };
    operator.want_with("two", [], pending.clone());
    until_gone(&cluster, &validating("boathook-file")).await;
    for hook in ["broken", "policy.own", "policy.a.team", "policy.b.team"] {
        assert!(there(hook).await, "{hook}");
    }

    // HookBundles are listed: one was deleted while nobody was there. The other's registry is away.
    let listed =
        Pending { unlisted: false, bundles: BTreeSet::from([own.clone(), tenants.clone()]), ..pending.clone() };
    operator.want_with("two", [], listed);
    until_gone(&cluster, &validating("boathook-policy.b.team")).await;
    for hook in ["broken", "policy.own", "policy.a.team"] {
        assert!(there(hook).await, "{hook}");
    }
    assert!(asks(&cluster.admin.get(&definition()).await.unwrap().unwrap()));

    // An operator without any hook that answers takes back as little.
    drop(operator);
    let pending = Pending { bundles: BTreeSet::from([own.clone(), tenants.clone()]), ..Pending::default() };
    let removed = remove(cluster.admin.client.clone(), "ops", pending, false).await.unwrap();
    let gone = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];
    assert_eq!(removed.deleted, gone.map(|kind| format!("{kind} boathook-broken")));
    assert_eq!(removed.restored, Vec::<String>::new());
    let removed = remove(cluster.admin.client.clone(), "ops", Pending::default(), false).await.unwrap();
    assert_eq!((removed.deleted.len(), removed.restored), (4, vec![CRD.to_owned()]));
}

/// As when the registry is away, and the store has an older version.
// mutant: crates/operator/src/registration/plan.rs: `if hook.settled { desired } else { webhooks::widened(known, desired) }` => `desired`
#[tokio::test]
async fn a_version_that_may_be_old_narrows_nothing() {
    let cluster = TestCluster::start().await;
    let own = bundle(None, "own");
    let operator = Operator::start(&cluster, "ops", url());
    operator.want("one", [of(&own, ready("policy.own", POLICY))]);
    let mutating = configuration("MutatingWebhookConfiguration", "boathook-policy.own");
    until_there(&cluster, &mutating, |_| true).await;
    drop(operator);

    let operator = Operator::start(&cluster, "ops", url());
    let older = "{configVersion: v1, kubernetesValidating: [{name: policy.example.com, failurePolicy: Ignore, \
        rules: [{apiGroups: [''], apiVersions: [v1], resources: [secrets], operations: [CREATE]}]}]}";
    let pending = Pending { bundles: BTreeSet::from([own.clone()]), ..Pending::default() };
    let unsure = Registrant { settled: false, ..of(&own, ready("policy.own", older)) };
    operator.want_with("two", [unsure], pending);
    let found = until_there(&cluster, &validating("boathook-policy.own"), |found| ca(found) == "two").await;
    let [first, second] = found["webhooks"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!((&first["failurePolicy"], &first["rules"][0]["resources"]), (&json!("Fail"), &json!(["pods"])));
    assert_eq!(second["name"], "everywhere.example.com");
    assert!(cluster.admin.get(&mutating).await.unwrap().is_some());

    operator.want("two", [of(&own, ready("policy.own", older))]);
    until_gone(&cluster, &mutating).await;
    let found = cluster.admin.get(&validating("boathook-policy.own")).await.unwrap().unwrap();
    assert_eq!(found["webhooks"].as_array().unwrap().len(), 1);
    assert_eq!(found["webhooks"][0]["rules"][0]["resources"], json!(["secrets"]));
}

// mutant: crates/operator/src/registration/plan.rs: `let instance = label(object, INSTANCE).filter(|instance| *instance != settings.instance)?;` => `let instance = label(object, INSTANCE).filter(|_| false)?;`
// mutant: crates/operator/src/registration/plan.rs: `left.into_values().filter(|object| label(object, INSTANCE) == Some(&settings.instance));` => `left.into_values();`
#[tokio::test]
async fn another_operators_are_left_alone() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&definition()).await.unwrap();
    let other = Operator::start(&cluster, "other", url());
    other.want("theirs", [ready("policy", POLICY), ready("convert", CONVERSION)]);
    until_there(&cluster, &validating("boathook-policy"), |_| true).await;
    let theirs =
        until_there(&cluster, &definition(), |found| found["spec"]["conversion"]["strategy"] == "Webhook").await;
    let mut ours = Operator::start(&cluster, "ops", url());
    ours.want("ours", [ready("policy", POLICY), ready("convert", CONVERSION), ready("mine", POLICY)]);
    // It was looked at by then: kinds are looked through in this order, and hooks in theirs.
    until_there(&cluster, &configuration("MutatingWebhookConfiguration", "boathook-mine"), |_| true).await;
    ours.until_in_place(&["mine"]).await;
    let found = cluster.admin.get(&validating("boathook-policy")).await.unwrap().unwrap();
    assert_eq!(ca(&found), "theirs");
    let removed = remove(cluster.admin.client.clone(), "ops", Pending::default(), false).await.unwrap();
    let deleted = ["validatingwebhookconfigurations boathook-mine", "mutatingwebhookconfigurations boathook-mine"];
    assert_eq!((&removed.deleted, &removed.restored), (&deleted.map(str::to_owned).to_vec(), &vec![]));
    assert_eq!(removed.others, BTreeSet::from(["other".to_owned()]));
    let still = cluster.admin.get(&definition()).await.unwrap().unwrap();
    assert_eq!(still["spec"]["conversion"], theirs["spec"]["conversion"]);
}

#[tokio::test]
async fn a_definition_is_waited_for_repaired_and_given_back() {
    let cluster = TestCluster::start().await;
    let operator = Operator::start(&cluster, "ops", service());
    operator.want("one", [ready("convert", CONVERSION)]);
    let mut before = definition();
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://old.example.com/"}, "conversionReviewVersions": ["v1"]},
    });
    before["spec"]["conversion"] = conversion.clone();
    cluster.admin.create(&before).await.unwrap();
    let path = |found: &Value| found["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"].clone();
    let taken = until_there(&cluster, &before, |found| path(found) == "/convert/crontabs.example.com").await;
    assert_eq!(taken["spec"]["conversion"]["webhook"]["clientConfig"].get("url"), None);
    let changed = json!({"apiVersion": before["apiVersion"], "kind": before["kind"], "metadata": before["metadata"],
        "spec": {"conversion": {"strategy": "None", "webhook": null}}});
    cluster.admin.apply(&changed).await.unwrap();
    until_there(&cluster, &before, |found| path(found) == "/convert/crontabs.example.com").await;
    operator.want("one", []);
    let after = until_there(&cluster, &before, |found| found["spec"]["conversion"] == conversion).await;
    let metadata = &after["metadata"];
    let traces = [&metadata["labels"], &metadata["annotations"]].map(|all| all.to_string().contains("boathook"));
    assert_eq!(traces, [false, false], "{metadata}");
}

#[tokio::test]
async fn everything_is_taken_back_on_request() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&definition()).await.unwrap();
    let operator = Operator::start(&cluster, "ops", url());
    operator.want("one", [ready("policy", POLICY), ready("convert", CONVERSION)]);
    let asks = |found: &Value| found["spec"]["conversion"]["strategy"] == "Webhook";
    until_there(&cluster, &definition(), asks).await;
    until_there(&cluster, &configuration("MutatingWebhookConfiguration", "boathook-policy"), |_| true).await;
    drop(operator);
    let expected = Removed {
        deleted: vec![
            "validatingwebhookconfigurations boathook-policy".to_owned(),
            "mutatingwebhookconfigurations boathook-policy".to_owned(),
        ],
        restored: vec![CRD.to_owned()],
        others: BTreeSet::new(),
    };
    let client = || cluster.admin.client.clone();
    assert_eq!(remove(client(), "ops", Pending::default(), true).await.unwrap(), expected);
    assert!(cluster.admin.get(&validating("boathook-policy")).await.unwrap().is_some());
    assert_eq!(remove(client(), "ops", Pending::default(), false).await.unwrap(), expected);
    assert!(cluster.admin.get(&validating("boathook-policy")).await.unwrap().is_none());
    let found = cluster.admin.get(&definition()).await.unwrap().unwrap();
    assert_eq!(found["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(remove(client(), "ops", Pending::default(), false).await.unwrap(), Removed::default());
}

#[tokio::test]
async fn a_hook_whose_name_no_object_can_have_is_registered_too() {
    let cluster = TestCluster::start().await;
    let operator = Operator::start(&cluster, "ops", service());
    operator.want("one", [ready("Odd_One.", POLICY), ready("odd-one", POLICY)]);
    let odd = HookName::new("Odd_One.").unwrap();
    assert_ne!(odd.configuration(), "boathook-odd-one", "two hooks never share one");
    let found = until_there(&cluster, &validating(&odd.configuration()), |_| true).await;
    assert_eq!(found["metadata"]["labels"]["boathook.dev/hook"], "Odd_One");
    let path = &found["webhooks"][0]["clientConfig"]["service"]["path"];
    assert_eq!(*path, format!("/validate/{}/policy.example.com", odd.subdomain()));
    until_there(&cluster, &validating("boathook-odd-one"), |_| true).await;
}

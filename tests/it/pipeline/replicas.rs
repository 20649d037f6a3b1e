//! Several replicas of one operator: one runs hooks, and the others know everything, answer, and take over.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use boathook_core::model::AdmissionKind;
use boathook_kube::election::{ElectionConfig, Leadership};
use boathook_operator::{
    admin::{self, Socket, views::RunView},
    app::{CertificateSource, Options, Reached, WebhookOptions},
    telemetry::Role,
    webhook::{AdmissionRequest, Settings, Unanswered},
};
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{
    fixture::{Operator, config_map, guests},
    modules_charts::{Bench, at},
    modules_values::bench_of,
    written::{Deed, hook},
};
use crate::support::{
    cluster::{TestCluster, client},
    guests::{compile, guest},
    until,
};

/// So long that nobody follows within a test unless the Lease is given back.
const LONG: Duration = Duration::from_secs(300);
const SHORT: Duration = Duration::from_secs(3);

struct Replica {
    operator: Operator,
    runs: Arc<Mutex<Vec<RunView>>>,
}

impl Replica {
    async fn start(
        client: Client,
        name: &str,
        duration: Duration,
        hooks: &[(&str, Vec<u8>)],
        adjust: impl FnOnce(&mut Options),
    ) -> Self {
        let runs = Arc::new(Mutex::new(Vec::new()));
        let told = runs.clone();
        let operator = Operator::start(client, hooks, |options| {
            options.election = Some(ElectionConfig::new("default", "boathook", name, duration));
            options.run_ended = Some(Arc::new(move |run| told.lock().unwrap().push(run.clone())));
            adjust(options);
        })
        .await;
        Self { operator, runs }
    }

    async fn ledger(cluster: &TestCluster, name: &str, duration: Duration) -> Self {
        Self::start(cluster.admin.client.clone(), name, duration, &guests(["ledger"]), |_| ()).await
    }

    fn leadership(&self) -> Leadership {
        self.operator.app.leadership()
    }

    async fn is(&self, role: Role) {
        let is = |operator: &Operator| {
            let readiness = operator.app.readiness();
            (readiness.role == role && readiness.ready()).then_some(())
        };
        self.operator.until(&format!("it is ready, and {}", role.as_str()), is).await;
    }

    fn runs(&self) -> Vec<RunView> {
        self.runs.lock().unwrap().clone()
    }

    async fn shows(&self, line: &str) {
        let shown = async || self.operator.page("/metrics").await.lines().any(|shown| shown == line).then_some(());
        until(&format!("its metrics have {line}"), shown).await;
    }

    /// How often it asked for this path, names left out, and for all of a kind.
    async fn lists(&self) -> Vec<String> {
        let page = self.operator.page("/metrics").await;
        let lists = page.lines().filter(|line| {
            line.starts_with("boathook_kubernetes_client_request_latency_seconds_count")
                && line.contains("verb=\"GET\"")
                && line.contains("/configmaps\"")
        });
        lists.map(str::to_owned).collect()
    }
}

/// A ConfigMap that the ledger enters.
async fn note(cluster: &TestCluster, name: &str) {
    cluster.admin.create(&config_map(name, ("e2e", "ledger"), json!({"value": name}))).await.unwrap();
}

async fn entered(cluster: &TestCluster, name: &str) {
    let entry = config_map(&format!("ledger.{name}"), ("x", "x"), Value::Null);
    until(&format!("{name} is entered"), async || cluster.admin.get(&entry).await.unwrap()).await;
}

async fn holder(cluster: &TestCluster) -> String {
    let metadata = json!({"namespace": "default", "name": "boathook"});
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata});
    let lease = cluster.admin.get(&lease).await.unwrap().unwrap();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_standby_knows_everything_runs_nothing_and_follows_at_once() {
    let cluster = TestCluster::start().await;
    note(&cluster, "before").await;
    let first = Replica::ledger(&cluster, "first", LONG).await;
    first.is(Role::Leader).await;
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("private/admin.sock");
    let client = cluster.admin.client.clone();
    let with_socket = |options: &mut Options| options.admin_socket = Some(Socket::At(socket.clone()));
    let second = Replica::start(client, "second", LONG, &guests(["ledger"]), with_socket).await;
    second.is(Role::Standby).await;
    first.shows("boathook_leader 1").await;
    second.shows("boathook_leader 0").await;
    assert!(holder(&cluster).await.starts_with("first_"));
    let admin = admin::Client::new(vec![socket.clone()]);
    assert!(admin.hooks().await.unwrap().standby);
    let health = second.operator.page("/readyz").await;
    assert!(health.contains("standby: ") && health.ends_with("ready\n"), "{health}");

    note(&cluster, "meanwhile").await;
    entered(&cluster, "meanwhile").await;
    second.shows(r#"boathook_kube_snapshot_objects{binding="sources",hook="ledger",queue="hook/ledger"} 2"#).await;
    assert_eq!(second.runs().len(), 0);
    assert!(!first.runs().is_empty());

    let lists = second.lists().await;
    assert!(!lists.is_empty());
    let (drained, _) = first.operator.shutdown().await;
    assert_eq!(drained.interrupted, 0);
    second.is(Role::Leader).await;
    assert!(!admin.hooks().await.unwrap().standby);
    second.shows("boathook_leader_transitions_total 1").await;
    assert!(holder(&cluster).await.starts_with("second_"));
    // Its hook receives the objects that the replica knows, as at a start. The replica has not listed them again.
    note(&cluster, "after").await;
    entered(&cluster, "after").await;
    let runs = second.runs();
    assert_eq!(runs[0].triggers[0].cause, "Synchronization", "{:?}", runs[0]);
    assert_eq!(second.lists().await, lists);
}

#[tokio::test]
async fn modules_run_where_the_leader_is_and_the_next_one_writes_nothing_that_is_there() {
    let bench = Bench::web().await;
    let start = async |name: &str| {
        Replica::start(bench.cluster.admin.client.clone(), name, LONG, &[], |options| bench.adjust(options)).await
    };
    let first = start("first").await;
    at(&first.operator, "web", "ready").await;
    let before = bench.port("80").await;
    let second = start("second").await;
    second.is(Role::Standby).await;
    assert!(second.operator.app.modules().is_empty(), "a standby runs no module");
    assert_eq!(second.operator.page("/status/converge").await, "STARTUP_CONVERGE_NOT_STARTED\n");
    first.operator.shutdown().await;
    at(&second.operator, "web", "ready").await;
    let after = bench.is_there("ConfigMap", "web").await;
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    bench.configure(json!({"web": "port: 81"})).await;
    bench.port("81").await;
}

#[tokio::test]
async fn another_follows_a_leader_that_is_gone_without_a_word() {
    let cluster = TestCluster::start().await;
    let first = Replica::ledger(&cluster, "first", SHORT).await;
    first.is(Role::Leader).await;
    let second = Replica::ledger(&cluster, "second", SHORT).await;
    second.is(Role::Standby).await;
    note(&cluster, "with-both").await;
    entered(&cluster, "with-both").await;
    drop(first);
    note(&cluster, "with-nobody").await;
    second.is(Role::Leader).await;
    entered(&cluster, "with-nobody").await;
    assert!(holder(&cluster).await.starts_with("second_"));
}

/// A client whose requests about Leases get no answer while it is cut.
fn cut_off(url: &str, cut: Arc<AtomicBool>) -> Client {
    let inner = client(url);
    let send = move |request: http::Request<Body>| {
        let (inner, lost) = (inner.clone(), cut.load(Ordering::SeqCst) && request.uri().path().contains("/leases"));
        async move { if lost { pending().await } else { inner.send(request).await } }
    };
    Client::new(tower::service_fn(send), "default")
}

/// As after a process was stopped for a while: it is asked before it has looked at its clock.
#[tokio::test]
async fn who_led_until_its_time_was_over_does_not_report_that_it_leads() {
    let (cluster, cut) = (TestCluster::start().await, Arc::new(AtomicBool::new(false)));
    let first = Replica::start(cut_off(&cluster.cluster.url(), cut.clone()), "first", SHORT, &[], |_| ()).await;
    first.leadership().gained().await;
    first.shows("boathook_leader 1").await;
    assert!(first.operator.app.tasks().kill("what follows from leading"));
    cut.store(true, Ordering::SeqCst);
    first.leadership().lost().await;
    first.shows("boathook_leader 0").await;
}

#[tokio::test]
async fn who_cannot_renew_has_ended_everything_before_another_leads() {
    const ON_START: &str = r#"{configVersion: v1, onStartup: 1, limits: {time: 120s, hostCalls: 1000000},
      permissions: {kubernetes: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}}"#;
    let cluster = TestCluster::start().await;
    let hooks = [("waits", hook(ON_START, &Deed::WaitsFor("gate")))];
    let cut = Arc::new(AtomicBool::new(false));
    let url = cluster.cluster.url();
    let first = Replica::start(cut_off(&url, cut.clone()), "first", SHORT, &hooks, |_| ()).await;
    first.operator.said("waits", "begin").await;
    let second = Replica::start(client(&url), "second", SHORT, &hooks, |_| ()).await;
    second.is(Role::Standby).await;

    cut.store(true, Ordering::SeqCst);
    let (lost, gained) = (first.leadership(), second.leadership());
    tokio::join!(
        async {
            lost.lost().await;
            assert!(!gained.leads());
        },
        async {
            gained.gained().await;
            assert!(lost.check().is_err());
            assert_eq!(first.operator.app.queue().stats().running, 0);
        },
    );
    // The later of two logs of one thread hears both.
    assert!(!second.operator.log.told("the Lease cannot be written: retrying").is_empty());
    let ended = first.runs();
    let interrupted = |run: &RunView| run.outcome.kind.as_deref() == Some("interrupted");
    assert!(!ended.is_empty() && ended.iter().all(interrupted), "{ended:?}");
    second
        .operator
        .until("the hook runs there", |operator| (operator.app.queue().stats().running == 1).then_some(()))
        .await;
    first.shows("boathook_leader 0").await;
    first.shows("boathook_leader_transitions_total 2").await;
    // The old one never leads again, and does not take the Lease from the new one when it ends.
    cut.store(false, Ordering::SeqCst);
    let ran = first.runs().len();
    first.operator.app.shutdown().await;
    assert_eq!(first.runs.lock().unwrap().len(), ran);
    assert!(holder(&cluster).await.starts_with("second_"));
}

/// Each replica has its server, and all have the same certificates.
fn webhooks() -> WebhookOptions {
    WebhookOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        settings: Settings::default(),
        instance: "boathook".to_owned(),
        namespace: "boathook".to_owned(),
        left_out: WebhookOptions::left_out(Some("boathook")),
        reached: Reached::Address,
        certificates: CertificateSource::Secret("certificates".to_owned(), CertificateSource::LIFETIME),
        client_ca: None,
    }
}

#[tokio::test]
async fn every_replica_answers_and_the_one_that_leads_registers() {
    let cluster = TestCluster::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "boathook"}});
    cluster.admin.create(&namespace).await.unwrap();
    let wishes = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": "reviewer", "labels": {"reviewer": "all"}}});
    cluster.admin.create(&wishes).await.unwrap();
    let replica = async |name| {
        let client = cluster.admin.client.clone();
        Replica::start(client, name, LONG, &guests(["reviewer"]), |options| options.webhooks = Some(webhooks())).await
    };
    let registered = async || {
        let metadata = json!({"name": "boathook-reviewer"});
        let kind = "ValidatingWebhookConfiguration";
        let object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata});
        let found = cluster.admin.get(&object).await.unwrap().unwrap();
        found["webhooks"][0]["clientConfig"]["url"].as_str().unwrap().to_owned()
    };
    let first = replica("first").await;
    first.is(Role::Leader).await;
    let at_first = registered().await;
    let second = replica("second").await;
    second.is(Role::Standby).await;
    let address = second.operator.app.webhook_address().unwrap().to_string();
    assert_eq!(registered().await, at_first);

    // A standby's answer knows its snapshots, and its writes are the request's and not the leader's.
    let binding = "validate.reviewer.test";
    let annotations = json!({format!("{binding}/write"): "from-standby"});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": "x", "annotations": annotations}});
    let request = json!({"uid": "u", "operation": "CREATE", "namespace": "default", "name": "x",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "userInfo": {"username": "jane"}, "object": object, "dryRun": false});
    let request = AdmissionRequest {
        uid: "u".to_owned(),
        dry_run: false,
        operation: "CREATE".to_owned(),
        has_object: true,
        by_hand: false,
        json: Arc::from(request.to_string()),
    };
    let answerer = second.operator.app.answerer();
    let answer =
        answerer.review(AdmissionKind::Validating, "reviewer", binding, request, Duration::from_secs(30)).await;
    assert_eq!(answer.unwrap().verdict.denied, None);
    let written = config_map("from-standby", ("x", "x"), Value::Null);
    assert!(cluster.admin.get(&written).await.unwrap().is_some());

    first.operator.shutdown().await;
    second.is(Role::Leader).await;
    assert!(registered().await.contains(&address), "not {at_first} any more");
}

/// Asks a replica about a ConfigMap, as the API server does.
async fn denial(operator: &Operator, hook: &str) -> Result<String, Unanswered> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": "x", "labels": {"valued": "yes"}}});
    let request = json!({"uid": "u", "operation": "CREATE", "namespace": "default", "name": "x",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "userInfo": {"username": "jane"}, "object": object, "dryRun": false});
    let request = AdmissionRequest {
        uid: "u".to_owned(),
        dry_run: false,
        operation: "CREATE".to_owned(),
        has_object: true,
        by_hand: false,
        json: Arc::from(request.to_string()),
    };
    let (answerer, binding) = (operator.app.answerer(), "validate.valued.test");
    let answer = answerer.review(AdmissionKind::Validating, hook, binding, request, Duration::from_secs(30)).await?;
    Ok(answer.verdict.denied.map(|denied| denied.message).unwrap_or_default())
}

// mutant: crates/operator/src/app/modules/mod.rs: `self.steps.hooks.end_stand_ins(&report.subject).await;` => ``
// mutant: crates/operator/src/app/services.rs: `if hook.stands_in { values.read_of_leader(of).await? } else { values.read(of)? }` => `values.read(of)?`
#[tokio::test]
async fn every_replica_answers_for_hooks_of_modules_with_the_values_of_the_leader() {
    let bench = bench_of(guest("valued-answers")).await;
    // One hook changes the values that the other one reads, and a module that is off has both.
    for (file, hook) in [("010-web/hooks/other", "valued"), ("020-off/hooks/main", "valued-answers")] {
        let path = bench.modules.path().join(format!("{file}.wasm"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, guest(hook)).unwrap();
    }
    compile(&[("other.web", guest("valued")), ("main.off", guest("valued-answers"))]).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "boathook"}});
    bench.cluster.admin.create(&namespace).await.unwrap();
    bench.configure(json!({"web": "port: 81"})).await;
    let start = async |name: &str| {
        Replica::start(bench.cluster.admin.client.clone(), name, LONG, &[], |options| {
            bench.adjust(options);
            options.webhooks = Some(webhooks());
        })
        .await
    };
    let first = start("first").await;
    at(&first.operator, "web", "ready").await;
    let answer = denial(&first.operator, "main.web").await.unwrap();
    assert!(answer.starts_with("port 81, replicas 3: "), "{answer}");
    let second = start("second").await;
    second.is(Role::Standby).await;
    assert_eq!(denial(&second.operator, "main.web").await.unwrap(), answer);
    assert!(second.runs().iter().all(|run| run.hook != "other.web"), "a standby runs nothing");

    // What is said elsewhere is known here at once.
    bench.configure(json!({"web": "port: 82"})).await;
    let answer = denial(&second.operator, "main.web").await.unwrap();
    assert!(answer.starts_with("port 82, replicas 3: "), "{answer}");

    // The next leader starts its modules, and answers for those that are on.
    first.operator.shutdown().await;
    at(&second.operator, "web", "ready").await;
    let answer = denial(&second.operator, "main.web").await.unwrap();
    assert!(answer.starts_with("port 82, replicas 3: "), "{answer}");
    let is_gone = |operator: &Operator| {
        operator.app.hooks().iter().all(|hook| hook.spec.name.as_str() != "main.off").then_some(())
    };
    second.operator.until("what stood in for a module that is off is gone", is_gone).await;
    assert!(matches!(denial(&second.operator, "main.off").await, Err(Unanswered::Unknown(_))));
    second
        .operator
        .until("the other hook ran", |_| second.runs().iter().find(|run| run.hook == "other.web").cloned())
        .await;
}

//! Who may see the console.

use std::sync::Arc;

use boathook_cluster::{Options, User};
use boathook_operator::{
    admin::Refused,
    console::{Access, Again, Repeats, ReplayView, ScenarioView},
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};

use super::Shown;
use crate::{
    pipeline::fixture::guests,
    support::{
        cluster::{Admin, TestCluster},
        until,
    },
};

/// A cluster with RBAC and some users, and the administrator's own client.
async fn guarded() -> TestCluster {
    let options = Options::default().rbac(true);
    let options = options.user("of-jane", User::new("jane").group("viewers")).user("of-joe", User::new("joe"));
    let mut cluster = TestCluster::with(options).await;
    cluster.admin = Admin::new(cluster.cluster.client());
    let url = json!({"nonResourceURLs": ["/boathook/console"], "verbs": ["get"]});
    let role = |name: &str, kind: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        })
    };
    let mut viewer = role("viewer", "ClusterRole");
    viewer["rules"] = json!([url]);
    let mut binding = role("viewers", "ClusterRoleBinding");
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "viewer"});
    binding["subjects"] = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "viewers"}]);
    for object in [viewer, binding] {
        cluster.admin.create(&object).await.unwrap();
    }
    cluster
}

// mutant: crates/operator/src/console/server.rs: `Err(denied) => denied.into_response(),` => `Err(_) => next.run(request).await,`
// mutant: crates/operator/src/console/reviews.rs: `return Err(Denied::BadToken);` => `return Ok(());`
// mutant: crates/operator/src/console/reviews.rs: `if is(&answer, "/status/allowed") && !is(&answer, "/status/denied") {` => `if true {`
#[tokio::test]
async fn only_users_whom_the_api_server_allows_see_anything() {
    let shown = Shown::on(guarded().await, &guests(["noop"]), Access::Reviewed, |_| ()).await;
    let host = format!("Host: {}", shown.address);

    let got = shown.ask("GET", "/api/hooks", &[&host]).await;
    assert_eq!((got.status, got.body.contains("needs a token")), (401, true), "{}", got.body);
    assert!(got.head.contains("www-authenticate: bearer"), "{}", got.head);
    let got = shown.get_with("/api/hooks", "of-nobody").await;
    assert_eq!((got.status, got.body.contains("does not accept this token")), (401, true), "{}", got.body);
    let got = shown.get_with("/api/hooks", "of-joe").await;
    assert_eq!((got.status, got.body.contains("joe may not see the console")), (403, true), "{}", got.body);
    assert!(got.body.contains("/boathook/console"), "it says what to grant: {}", got.body);
    for path in ["/api/nothing", "/api/hooks/noop", "/api/logs?run=x", "/api", "/api/a/b"] {
        for token in ["of-nobody", "of-joe"] {
            let got = shown.get_with(path, token).await;
            assert!(matches!(got.status, 401 | 403), "{path}: {}", got.status);
        }
    }

    let got = shown.get_with("/api/hooks", "of-jane").await;
    let hooks: Value = serde_json::from_str(&got.body).unwrap();
    assert_eq!((got.status, hooks["hooks"][0]["name"].as_str()), (200, Some("noop")));
    assert!(got.head.contains("cache-control: no-store"), "{}", got.head);
}

#[tokio::test]
async fn a_page_that_sends_many_requests_asks_the_api_server_once() {
    let shown = Shown::on(guarded().await, &guests(["noop"]), Access::Reviewed, |_| ()).await;
    let reviews = async || {
        let page = shown.pipeline.operator.page("/metrics").await;
        let asked = |line: &&str| line.contains("latency_seconds_count") && line.contains("/tokenreviews\"");
        page.lines().filter(asked).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>()
    };
    for _ in 0..3 {
        let got = futures::future::join_all((0..8).map(|_| shown.get_with("/api/hooks", "of-jane"))).await;
        assert!(got.iter().all(|got| got.status == 200));
    }
    // The first requests may ask at the same time.
    assert!((1..=2).contains(&reviews().await), "{}", reviews().await);
}

/// The roles of the operator itself may be missing.
#[tokio::test]
async fn an_operator_that_may_not_ask_says_so_in_its_log() {
    let cluster = guarded().await;
    let config = kube::Config::new(cluster.cluster.url().parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    let shown = Shown::on(cluster, &[], Access::Reviewed, |options| options.client = client).await;
    let got = shown.get_with("/api/hooks", "of-jane").await;
    assert_eq!((got.status, got.body.contains("its log says why")), (503, true), "{}", got.body);
    let said = async || {
        let lines = shown.pipeline.operator.log.lines();
        let said = |line: &Value| line["message"].as_str().is_some_and(|text| text.contains("boathook rbac --console"));
        lines.iter().any(said).then_some(())
    };
    until("the operator says what is missing", said).await;
    // A page that stays open does not fill the log, whatever it sends.
    for token in ["of-jane", "of-jane", "of-joe", "of-nobody"] {
        assert_eq!(shown.get_with("/api/hooks", token).await.status, 503, "{token}");
    }
    let lines = shown.pipeline.operator.log.lines();
    let said = lines.iter().filter(|line| line.to_string().contains("boathook rbac --console")).count();
    assert_eq!(said, 1);
}

#[tokio::test]
async fn a_secret_of_dev_is_needed_whole_and_only_on_loopback() {
    let shown = Shown::start(&guests(["noop"])).await;
    assert_eq!(shown.get("/api/hooks").await.status, 200);
    for wrong in ["", "x", &shown.token[1..]] {
        assert_eq!(shown.get_with("/api/hooks", wrong).await.status, 401, "{wrong}");
    }
    let got = shown.get_with(&format!("/api/hooks?secret={}", shown.token), "x").await;
    assert_eq!(got.status, 401, "an address is no place for a secret");
    let log = shown.pipeline.operator.log.lines();
    assert!(log.iter().all(|line| !line.to_string().contains(&shown.token)), "no log line has it");

    let listen = ([0, 0, 0, 0], 0).into();
    let options = boathook_operator::console::Options { listen, access: Access::random(), again: None };
    let client = shown.pipeline.cluster.admin.client.clone();
    let error = boathook_operator::console::Server::start(&options, client, &Default::default()).await.err().unwrap();
    assert!(error.to_string().contains("choose a loopback address"), "{error}");
}

/// Repeats nothing, and counts who asks.
struct Nothing;

impl Repeats for Nothing {
    fn is_recorded<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, Refused>> {
        async move { Ok(run == "p-1") }.boxed()
    }

    fn replay<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<ReplayView, Refused>> {
        async move { Err(Refused::Conflict(format!("there is no record of run {run}"))) }.boxed()
    }

    fn scenario<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<ScenarioView, Refused>> {
        async move { Err(Refused::Conflict(format!("there is no record of run {run}"))) }.boxed()
    }
}

// mutant: crates/operator/src/console/server.rs: `if matches!(options.access, Access::Reviewed) && options.again.is_some() {` => `if false {`
#[tokio::test]
async fn runs_are_repeated_only_for_the_secret_of_dev() {
    let again = || Some(Again(Arc::new(Nothing)));
    let with = |options: &mut boathook_operator::app::Options| {
        if let Some(console) = &mut options.console {
            console.again = again();
        }
    };
    let shown = Shown::on(TestCluster::start().await, &[], Access::random(), with).await;
    assert_eq!(shown.view("/api/again?run=p-1").await["recorded"], true);
    assert_eq!(shown.view("/api/again?run=p-2").await["recorded"], false);
    for path in ["/api/again?run=p-1", "/api/replay?run=p-1", "/api/scenario?run=p-1"] {
        assert_eq!(shown.get_with(path, "wrong").await.status, 401, "{path}");
    }
    for path in ["/api/replay?run=p-2", "/api/scenario?run=p-2"] {
        let got = shown.get(path).await;
        assert_eq!((got.status, got.body.contains("no record of run p-2")), (409, true), "{path}: {}", got.body);
    }
    for path in ["/api/replay", "/api/replay?run=a&run=b", "/api/again?other=x"] {
        assert_eq!(shown.get(path).await.status, 400, "{path}");
    }

    let listen = ([127, 0, 0, 1], 0).into();
    let options = boathook_operator::console::Options { listen, access: Access::Reviewed, again: again() };
    let client = shown.pipeline.cluster.admin.client.clone();
    let error = boathook_operator::console::Server::start(&options, client, &Default::default()).await.err().unwrap();
    assert!(error.to_string().contains("repeats no runs"), "{error}");
}

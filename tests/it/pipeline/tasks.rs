//! The operator's long-lived tasks: whichever of them ends by itself, it does not go unnoticed.

use std::task::Poll;

use boathook_bundle::{Reach, Store};
use boathook_kube::election::ElectionConfig;
use boathook_operator::{
    admin::Socket,
    app::{App, CertificateSource, ModuleResources, ModulesOptions, Options, Reached, WebhookOptions},
    console::{self, Access},
    hookbundle::SourceOptions,
    record::RecordConfig,
    webhook::Settings,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::yield_now,
};

use super::{
    fixture::{Operator, guests, options},
    module_resources,
};
use crate::support::{PATIENCE, cluster::TestCluster, guests::hooks_dir, log::Log, until};

const OWN: &str = "boathook";

/// The tasks of an operator that has everything. If you add a task, add its name here, so that the test below kills it.
/// The tasks that keep bundles start beside the operator, and are killed elsewhere: "HookBundles" and "bundle NAME" in
/// `src/cmd/serve/mod.rs`, "list of HookBundles" in `tests/it/hookbundle/control.rs`.
const TASKS: [&str; 26] = [
    "admin socket",
    "certificates of webhooks",
    "console",
    "election",
    "failure Events",
    "Events of answers",
    HEALTH,
    "hook reviewer",
    "hooks that wait for others",
    "idle code",
    "jumps of the clock",
    "live ticks",
    "members of modules",
    "modules",
    "news of kinds",
    "queues",
    "registrations",
    "source of the module web",
    "status of Modules",
    "watch of customresourcedefinitions",
    "watch of mutatingwebhookconfigurations",
    "watch of validatingwebhookconfigurations",
    "webhook server",
    "webhooks",
    "what follows from leading",
    "what to register",
];
/// Nobody can end a thread from outside; `crates/core/src/tasks.rs` has tests of those that panic.
const THREADS: [&str; 3] = ["clock of filters", "clock of runs", "records"];
const HEALTH: &str = "health and metrics";
const DEFECT: &str = "a task of the operator ended by itself: this is a defect";

struct Whole {
    operator: Operator,
    _cluster: TestCluster,
    _files: TempDir,
}

/// A cluster for an operator with everything, and a folder for its files.
async fn surroundings() -> (TestCluster, TempDir) {
    let (cluster, files) = (TestCluster::start().await, tempfile::tempdir().unwrap());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN}});
    cluster.admin.create(&namespace).await.unwrap();
    module_resources::define(&cluster).await;
    // Nothing answers there.
    let oci = json!({"repository": "127.0.0.1:1/web", "insecure": true});
    let module = json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "Module", "metadata": {"name": "web"},
        "spec": {"source": {"oci": oci}, "version": "v1", "verification": {"unsigned": true}, "serviceAccountName": "web"}});
    cluster.admin.create(&module).await.unwrap();
    (cluster, files)
}

fn everything(options: &mut Options, files: &TempDir) {
    let store = Store::open(&files.path().join("store")).unwrap();
    let sources = SourceOptions { store, policy: None, reach: Reach::Anywhere, ca: Vec::new() };
    options.webhooks = Some(WebhookOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        settings: Settings::default(),
        instance: OWN.to_owned(),
        namespace: OWN.to_owned(),
        left_out: WebhookOptions::left_out(Some(OWN)),
        reached: Reached::Address,
        certificates: CertificateSource::Secret("certificates".to_owned(), CertificateSource::LIFETIME),
        client_ca: None,
    });
    options.election = Some(ElectionConfig::new("default", OWN, "first", std::time::Duration::from_secs(300)));
    options.record = Some(RecordConfig::new(files.path().join("records"), options.hooks.clone().unwrap()));
    let resources = Some(ModuleResources { sources: Some(sources) });
    options.modules = Some(ModulesOptions { resources, ..ModulesOptions::new(Vec::new()) });
    options.admin_socket = Some(Socket::At(files.path().join("private/socket")));
    options.console =
        Some(console::Options { listen: ([127, 0, 0, 1], 0).into(), access: Access::random(), again: None });
}

/// An operator with everything, at work.
async fn whole() -> Whole {
    let (cluster, files) = surroundings().await;
    let adjust = |options: &mut Options| everything(options, &files);
    let operator = Operator::start(cluster.admin.client.clone(), &guests(["reviewer"]), adjust).await;
    operator.ready().await;
    assert_eq!(operator.app.readiness().quarantined, []);
    // Some start a moment after the operator leads.
    let running = async || (operator.app.tasks().names().len() >= TASKS.len() + THREADS.len()).then_some(());
    until("all tasks run", running).await;
    Whole { operator, _cluster: cluster, _files: files }
}

impl Whole {
    /// The status and the text of a page; none when nobody answers.
    async fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(self.operator.app.address()).await.ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.ok()?;
        Some((text.split(' ').nth(1)?.parse().ok()?, text))
    }
}

#[tokio::test]
async fn every_long_lived_task_is_known_by_its_name() {
    let whole = whole().await;
    let mut expected = [TASKS.as_slice(), &THREADS].concat();
    expected.sort_unstable();
    let mut names = whole.operator.app.tasks().names();
    names.sort_unstable();
    assert_eq!(names, expected);
    let (status, text) = whole.get("/healthz").await.unwrap();
    assert!(status == 200 && text.contains("\r\n\r\nok\n"), "{text}");
    let tasks = whole.operator.app.tasks().clone();
    whole.operator.shutdown().await;
    assert_eq!(tasks.first_ended(), None, "an ordinary end is no defect");
}

/// As `boathook serve` gives a start up after a signal, wherever it is.
#[tokio::test]
async fn a_start_that_is_given_up_is_no_defect() {
    let (cluster, files) = surroundings().await;
    let (log, _collecting) = Log::collect();
    let hooks = hooks_dir(&guests(["reviewer"])).await;
    for turns in (0..).map(|power| 1_u64 << power) {
        let options = options(cluster.admin.client.clone(), hooks.path(), |options| everything(options, &files));
        let mut start = Box::pin(App::start(options));
        let mut started = None;
        for _ in 0..turns {
            if let Poll::Ready(app) = futures::poll!(&mut start) {
                started = Some(app.unwrap());
                break;
            }
            yield_now().await;
        }
        drop(start);
        // What was dropped ends.
        for _ in 0..100 {
            yield_now().await;
        }
        assert_eq!(log.told(DEFECT), [] as [Value; 0], "after {turns} turns");
        if let Some(app) = started {
            app.shutdown().await;
            return;
        }
    }
}

// mutant: crates/core/src/tasks.rs: `self.shared.ended.send_if_modified(|first| {` => `watch::Sender::new(None).send_if_modified(|first| {`
#[tokio::test]
async fn whichever_task_ends_the_operator_is_broken_and_says_so() {
    for task in TASKS {
        let whole = whole().await;
        let app = &whole.operator.app;
        assert!(app.tasks().kill(task), "{task}");
        let ended = tokio::time::timeout(PATIENCE, app.tasks().ended()).await.unwrap_or_else(|_| panic!("{task}"));
        assert_eq!(ended.task, task);
        assert!(!app.readiness().ready(), "{task}");
        if task == HEALTH {
            until("nobody answers the kubelet", async || whole.get("/healthz").await.is_none().then_some(())).await;
            continue;
        }
        for path in ["/healthz", "/readyz"] {
            let (status, text) = whole.get(path).await.unwrap();
            assert!(status == 503 && text.contains(&format!("[-]{ended}\n")), "{task}: {text}");
        }
        // What lives by it may end behind it.
        let told = whole.operator.log.told(DEFECT);
        assert_eq!(told[0]["task"], task);
        // It can still be taken down.
        tokio::time::timeout(PATIENCE, whole.operator.shutdown()).await.unwrap_or_else(|_| panic!("{task}"));
    }
}

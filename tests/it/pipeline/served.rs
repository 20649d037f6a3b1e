//! `boathook serve --bundle`, on the real binary with a real registry that comes and goes.

use std::{ffi::OsString, fs, path::PathBuf};

use boathook_bundle::{FileInput, HookInput, Input, Packed, pack};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::Command,
};

use super::{
    bundles::name_of,
    fixture::config_map,
    written::{Deed, hook},
};
use crate::{
    bundle::{registry::Registry, send, send_as_wkg},
    support::{
        cluster::TestCluster,
        guests::{asks, cache_dir, guest, image_policy_asks},
        process::{Process, boathook, terminate},
        until,
    },
};

const DOCUMENT: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, \
    namespace: {nameSelector: {matchNames: [default]}}, labelSelector: {matchLabels: {w: x}}}]}";

fn version(deed: &Deed<'_>) -> Packed {
    let component = hook(DOCUMENT, deed).into();
    let schema = json!({"properties": {"word": {"type": "string"}}}).to_string();
    let files = vec![FileInput { name: "settings.schema.json".to_owned(), content: schema.into() }];
    let hooks = vec![HookInput { name: name_of("words"), component, asks: asks(DOCUMENT) }];
    pack(Input { hooks, files, ..Input::default() }).unwrap()
}

struct Desk {
    files: TempDir,
    cluster: TestCluster,
    reference: String,
}

impl Desk {
    async fn new(registry: &Registry) -> Self {
        let (cluster, files) = (TestCluster::start().await, tempfile::tempdir().unwrap());
        fs::write(files.path().join("kubeconfig"), cluster.cluster.kubeconfig()).unwrap();
        Self { files, cluster, reference: format!("{}/team/hooks:v1", registry.host) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn serve(&self, more: &[&str]) -> Serving {
        Serving(Process::start(self.command(more)))
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut arguments: Vec<OsString> =
            vec!["serve".into(), "--bundle".into(), format!("team={}", self.reference).into()];
        for (flag, path) in [
            ("--kubeconfig", self.at("kubeconfig")),
            ("--cache-dir", cache_dir()),
            ("--bundle-store", self.at("store")),
        ] {
            arguments.extend([flag.into(), path.into()]);
        }
        let flags = ["--plain-http", "--listen", "127.0.0.1:0", "--log-format", "json", "--bundle-interval", "1s"];
        arguments.extend(flags.iter().chain(more).map(Into::into));
        boathook(arguments)
    }

    async fn touch(&self, value: &str) {
        self.cluster.admin.apply(&config_map("a", ("w", "x"), json!({"value": value}))).await.unwrap();
    }
}

struct Serving(Process);

impl Serving {
    /// Waits for a line of the log with this message, and these words in it.
    async fn told(&mut self, message: &str, words: &[&str]) -> Value {
        let find = |line: &str| {
            let value: Value = serde_json::from_str(line).ok()?;
            let text = value.to_string();
            (text.contains(message) && words.iter().all(|word| text.contains(word))).then_some(value)
        };
        match self.0.logged(message, find).await {
            Ok(line) => line,
            Err(error) => panic!("{error} {words:?}\n{}", self.0.stderr.borrow().join("\n")),
        }
    }

    async fn end(self) {
        terminate(&self.0);
        assert_eq!(self.0.ended().await.code, Some(0));
    }
}

#[tokio::test]
async fn a_tag_is_followed_and_a_registry_may_be_away() {
    let registry = Registry::start();
    let desk = Desk::new(&registry).await;
    send(&version(&Deed::Says("first")), &registry.place("team/hooks:v1")).await;
    let mut serving = desk.serve(&["--unverified"]);
    serving.told("bundle installed", &["\"bundle\":\"team\"", "\"started\":1"]).await;
    serving.told("first", &["words.team"]).await;

    send(&version(&Deed::TellsSettings), &registry.place("team/hooks:v1")).await;
    serving.told("hook swapped", &["words.team"]).await;
    desk.touch("1").await;
    serving.told("\"{}\"", &["words.team"]).await;

    drop(registry);
    serving.told("bundle refused: the running version continues", &["team/hooks:v1"]).await;
    serving.end().await;

    // Another start without the registry, with settings.
    fs::write(desk.at("settings.yaml"), "word: hello\n").unwrap();
    let settings = format!("team={}", desk.at("settings.yaml").display());
    let mut serving = desk.serve(&["--unverified", "--bundle-settings", &settings]);
    serving.told("cannot pull the bundle: using the version in the store", &[]).await;
    serving.told(r#"{\"word\":\"hello\"}"#, &["words.team"]).await;
    // Settings are read again, and held against the schema.
    fs::write(desk.at("settings.yaml"), "word: 1\n").unwrap();
    serving.told("bundle not installed", &["/word"]).await;
    serving.end().await;

    // What one policy let in, another does not have to.
    let other = format!("sha256:{}", "0".repeat(64));
    let mut serving = desk.serve(&["--digest", &other]);
    serving.told("the store has no version of the bundle that this policy let in", &[]).await;
    serving.end().await;
}

/// The helper would leave a file.
// mutant: src/cmd/place.rs: `None => place(&reference(text)?, flags, credentials(flags.docker_config.as_deref())?),` => `None => tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(registry(&reference(text)?, flags))),`
#[tokio::test]
async fn the_operator_starts_no_credential_helper() {
    use std::os::unix::fs::PermissionsExt as _;
    let registry = Registry::start();
    let desk = Desk::new(&registry).await;
    fs::create_dir(desk.at("bin")).unwrap();
    let (program, started) = (desk.at("bin/docker-credential-test"), desk.at("started"));
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", started.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = json!({"credHelpers": {registry.host.clone(): "test"}});
    fs::write(desk.at("docker.json"), config.to_string()).unwrap();
    let config = desk.at("docker.json").display().to_string();
    let mut command = desk.command(&["--unverified", "--docker-config", &config]);
    command.env("PATH", format!("{}:{}", desk.at("bin").display(), std::env::var("PATH").unwrap()));
    let mut serving = Serving(Process::start(command));
    serving.told("cannot pull the bundle", &["which the operator does not run"]).await;
    assert!(!started.exists());
    serving.end().await;
}

/// As wkg pushes it, the hook has the name of its repository.
#[tokio::test]
async fn an_artifact_of_a_single_component_runs() {
    let registry = Registry::start();
    let desk = Desk::new(&registry).await;
    send_as_wkg(&hook(DOCUMENT, &Deed::Says("alone")), &registry.place("team/hooks:v1")).await;
    let mut serving = desk.serve(&["--unverified"]);
    serving.told("alone", &["hooks.team"]).await;
    serving.end().await;
}

#[tokio::test]
async fn what_is_not_trusted_does_not_run_and_stops_nothing() {
    let registry = Registry::start();
    let desk = Desk::new(&registry).await;
    let (good, bad) = (version(&Deed::Says("good")), version(&Deed::Says("bad")));
    send(&good, &registry.place("team/hooks:v1")).await;
    let digest = good.manifest.digest.to_string();
    let mut serving = desk.serve(&["--digest", &digest]);
    serving.told("good", &["words.team"]).await;
    send(&bad, &registry.place("team/hooks:v1")).await;
    serving.told("bundle refused: the running version continues", &["is not among the 1 that are allowed"]).await;
    desk.touch("1").await;
    let told = |line: &str| line.contains("run succeeded").then_some(());
    serving.0.logged("a run", told).await.unwrap();
    assert!(!serving.0.stderr.borrow().iter().any(|line| line.contains("\"bad\"")));
    serving.end().await;
}

/// Before the bundle is loaded, while its registry is away and the store is empty: what its hook forbids stays
/// forbidden, and the operator says that it is not ready, and why.
// mutant: src/cmd/serve/mod.rs: `bundles: named.as_ref().map(bundles::Named::ids).unwrap_or_default(),` => `bundles: Vec::new(),`
#[tokio::test]
async fn a_named_bundle_that_is_missing_opens_nothing() {
    let registry = Registry::start();
    let desk = Desk::new(&registry).await;
    let component = guest("image-policy").into();
    let hooks = vec![HookInput { name: name_of("image-policy"), component, asks: image_policy_asks() }];
    let packed = pack(Input { hooks, ..Input::default() }).unwrap();
    send(&packed, &registry.place("team/hooks:v1")).await;
    // Nobody listens there: what is registered refuses Pods.
    let flags = ["--unverified", "--webhook-listen", "127.0.0.1:0", "--webhook-url", "https://127.0.0.1:9"];
    let metadata = json!({"name": "boathook-image-policy.team"});
    let kind = "ValidatingWebhookConfiguration";
    let registered = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata});
    let there = async || desk.cluster.admin.get(&registered).await.unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "p"},
        "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let refused = async || desk.cluster.admin.create(&pod).await.unwrap_err().to_string();

    let mut serving = desk.serve(&flags);
    serving.told("registered", &["validatingwebhookconfigurations boathook-image-policy.team"]).await;
    // Outside of the cluster, the namespace of the kubeconfig is not the operator's own.
    let served = serving.told("webhooks served", &[]).await;
    assert_eq!(served["left_out"], "kube-system");
    let selector = there().await.unwrap()["webhooks"][0]["namespaceSelector"]["matchExpressions"].clone();
    let left_out = json!([{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]);
    assert_eq!(selector, left_out);
    assert!(refused().await.contains("failed calling webhook"));
    serving.end().await;
    drop(registry);
    fs::remove_dir_all(desk.at("store")).unwrap();
    assert!(refused().await.contains("failed calling webhook"));

    let mut serving = desk.serve(&flags);
    serving.told("the store has no version of the bundle that this policy let in", &[]).await;
    let listening = serving.told("listening", &[]).await;
    let page = async || {
        let mut stream = TcpStream::connect(listening["listen"].as_str().unwrap()).await.unwrap();
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let why = text.contains("[-]bundle team is missing: ") && text.contains("cannot connect");
        why.then_some(text)
    };
    let text = until("the missing bundle is named", page).await;
    assert!(text.starts_with("HTTP/1.1 503"), "{text}");
    assert!(there().await.is_some());
    assert!(refused().await.contains("failed calling webhook"));
    serving.end().await;

    // The flag is gone: nobody wants it any more.
    let hooks = tempfile::tempdir().unwrap();
    let mut arguments: Vec<OsString> = vec!["serve".into(), "--hooks".into(), hooks.path().into()];
    arguments.extend(["--kubeconfig".into(), desk.at("kubeconfig").into(), "--hook-bundles".into(), "off".into()]);
    arguments.extend(["--listen", "127.0.0.1:0", "--log-format", "json"].iter().chain(&flags[1..]).map(Into::into));
    let mut serving = Serving(Process::start(boathook(arguments)));
    serving.told("registration removed: no hook needs it", &["boathook-image-policy.team"]).await;
    assert!(there().await.is_none());
    serving.end().await;
}

#[tokio::test]
async fn flags_that_can_not_be_meant_are_refused() {
    let bundle = ["serve", "--bundle", "127.0.0.1:1/x:v1"];
    for (more, part) in [
        (&[][..], "--unverified"),
        (&["--unverified", "--bundle", "127.0.0.1:1/y/x:v1"], "two bundles are called x"),
        (&["--unverified", "--bundle-settings", "y=/nowhere"], "no --bundle is called y"),
        (&["--unverified", "--bundle-settings", "/nowhere"], "write BUNDLE=FILE"),
        (&["--unverified", "--bundle-interval", "1ms"], "at least 1s"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store").display().to_string();
        let arguments = bundle.iter().chain(more).copied().chain(["--bundle-store", &store]);
        let ended = Process::start(boathook(arguments)).ended().await;
        assert_ne!(ended.code, Some(0));
        assert!(ended.stderr.contains(part), "{more:?}: {}", ended.stderr);
    }
}

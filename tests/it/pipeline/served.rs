//! `boathook serve --bundle`, on the real binary with a real registry that comes and goes.

use std::{ffi::OsString, fs, path::PathBuf};

use boathook::bundle::{FileInput, HookInput, Input, Packed, pack};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    bundles::name_of,
    fixture::config_map,
    written::{Deed, hook},
};
use crate::{
    bundle::{registry::Registry, send},
    support::{
        cluster::TestCluster,
        guests::cache_dir,
        process::{Process, boathook, terminate},
    },
};

const DOCUMENT: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, \
    namespace: {nameSelector: {matchNames: [default]}}, labelSelector: {matchLabels: {w: x}}}]}";

fn version(deed: &Deed<'_>) -> Packed {
    let component = hook(DOCUMENT, deed).into();
    let schema = json!({"properties": {"word": {"type": "string"}}}).to_string();
    let files = vec![FileInput { name: "settings.schema.json".to_owned(), content: schema.into() }];
    let hooks = vec![HookInput { name: name_of("words"), component, permissions: Vec::new() }];
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
        Serving(Process::start(boathook(arguments)))
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
    serving.told("bundle not looked at: what runs goes on", &["team/hooks:v1"]).await;
    serving.end().await;

    // Another start without the registry, with settings.
    fs::write(desk.at("settings.yaml"), "word: hello\n").unwrap();
    let settings = format!("team={}", desk.at("settings.yaml").display());
    let mut serving = desk.serve(&["--unverified", "--bundle-settings", &settings]);
    serving.told("bundle not pulled: taking what the store has", &[]).await;
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
    serving.told("bundle not looked at: what runs goes on", &["is not among the 1 that are allowed"]).await;
    desk.touch("1").await;
    let told = |line: &str| line.contains("run succeeded").then_some(());
    serving.0.logged("a run", told).await.unwrap();
    assert!(!serving.0.stderr.borrow().iter().any(|line| line.contains("\"bad\"")));
    serving.end().await;
}

#[tokio::test]
async fn flags_that_can_not_be_meant_are_refused() {
    let bundle = ["serve", "--bundle", "127.0.0.1:1/x:v1"];
    for (more, part) in [
        (&[][..], "--unverified"),
        (&["--unverified", "--bundle", "127.0.0.1:1/y/x:v1"], "two bundles are called x"),
        (&["--unverified", "--bundle-settings", "y=/nowhere"], "no --bundle is called y"),
        (&["--unverified", "--bundle-settings", "/nowhere"], "write NAME=FILE"),
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

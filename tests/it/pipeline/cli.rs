//! What a person types, on the real binary: exit code, stdout, stderr.

use std::{
    ffi::OsString,
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use super::written::{Deed, hook};
use crate::support::{
    cluster::{TestCluster, client},
    guests::{cache_dir, guest, guest_file, hooks_dir},
    process::{Ended, Process, boathook, run, terminate},
};

async fn inspect(file: &Path, more: &[&str]) -> Ended {
    let mut command = boathook(["inspect"]);
    command.arg(file).args(more);
    run(command).await
}

#[track_caller]
fn assert_failed(ended: &Ended, parts: &[&str]) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part:?} in: {}", ended.stderr);
    }
}

#[tokio::test]
async fn inspect_shows_what_a_hook_is() {
    let file = guest_file("registry-secret");
    let text = inspect(&file, &[]).await;
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    let size = format!("Size:     {} bytes", fs::metadata(&file).unwrap().len());
    for part in ["Name:     registry-secret", "Digest:   sha256:", &size, "boathook:hook/kube@0.1.0", "kind: Namespace"]
    {
        assert!(text.stdout.contains(part), "no {part:?} in: {}", text.stdout);
    }

    let json = inspect(&file, &["-o", "json"]).await;
    assert_eq!(json.code, Some(0));
    let facts: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&facts["name"], &facts["document"]["configVersion"]), (&"registry-secret".into(), &"v1".into()));
    assert_eq!(facts["document"]["kubernetes"].as_array().unwrap().len(), 4);
    assert_eq!(facts["document"]["permissions"]["kubernetes"][0]["resources"][0], "secrets");
    let digest = facts["digest"].as_str().unwrap();
    assert!(text.stdout.contains(digest));

    let yaml = inspect(&file, &["--output", "yaml"]).await;
    let same: Value = yaml_serde::from_str(&yaml.stdout).unwrap();
    assert_eq!(same, facts);
}

#[tokio::test]
async fn inspect_says_what_is_wrong_with_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let whole = guest("noop");
    for (path, parts) in [
        (file("text.wasm", b"#!/bin/sh\n"), &["hook text: "] as &[_]),
        (file("empty.wasm", b""), &["hook empty: "]),
        (file("half.wasm", &whole[..whole.len() / 2]), &["hook half: "]),
        (file("core.wasm", &wat::parse_str("(module)").unwrap()), &["hook core: "]),
        (file("-x.wasm", &whole), &["-x"]),
        (directory.path().join("missing.wasm"), &["missing.wasm", "No such file"]),
        (guest_file("hostile-bad-config"), &["8 errors", "kubernetes[0].colour", "limits.time", "schedule[0].crontab"]),
        (guest_file("hostile-panic-config"), &["its config function failed", "no configuration today"]),
    ] {
        assert_failed(&inspect(&path, &[]).await, parts);
    }
}

/// The flags of a `serve` that works.
struct Serve {
    files: TempDir,
    hooks: TempDir,
    _cluster: TestCluster,
}

impl Serve {
    async fn prepare() -> Self {
        let (cluster, files) = (TestCluster::start().await, tempfile::tempdir().unwrap());
        fs::write(files.path().join("kubeconfig"), cluster.cluster.kubeconfig()).unwrap();
        Self { files, hooks: hooks_dir(&[("noop", guest("noop"))]).await, _cluster: cluster }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.files.path().join("kubeconfig")
    }

    fn start(&self, kubeconfig: Option<&Path>, hooks: &Path, more: &[&str]) -> Process {
        let mut arguments: Vec<OsString> = vec!["serve".into(), "--hooks".into(), hooks.into()];
        if let Some(kubeconfig) = kubeconfig {
            arguments.extend(["--kubeconfig".into(), kubeconfig.into()]);
        }
        arguments.extend(["--cache-dir".into(), cache_dir().into()]);
        arguments.extend(more.iter().map(Into::into));
        Process::start(boathook(arguments))
    }
}

const ANY_PORT: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[tokio::test]
async fn serve_says_why_it_can_not_start() {
    let serve = Serve::prepare().await;
    let (kubeconfig, hooks, missing) = (serve.kubeconfig(), serve.hooks.path(), serve.files.path().join("missing"));
    let ended = serve.start(None, hooks, &ANY_PORT).ended().await;
    assert_failed(&ended, &["found no cluster", "--kubeconfig"]);

    let ended = serve.start(Some(&missing), hooks, &ANY_PORT).ended().await;
    assert_failed(&ended, &["cannot use the kubeconfig", missing.to_str().unwrap()]);

    let ended =
        serve.start(Some(&kubeconfig), hooks, &["--listen", "127.0.0.1:0", "--context", "nowhere"]).ended().await;
    assert_failed(&ended, &["cannot use the kubeconfig", "nowhere"]);

    let ended = serve.start(Some(&kubeconfig), &missing, &ANY_PORT).ended().await;
    assert_eq!(ended.code, Some(1));
    for part in ["error: the operator cannot start: the hooks directory", missing.to_str().unwrap(), "No such file"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }

    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = serve.start(Some(&kubeconfig), hooks, &["--listen", &address]).ended().await;
    assert_failed(&ended, &["cannot listen on", &address, "--listen", "in use"]);

    let ended =
        serve.start(Some(&kubeconfig), hooks, &["--listen", "127.0.0.1:0", "--log-level", "x=loud"]).ended().await;
    assert_failed(&ended, &["x=loud"]);
}

#[tokio::test]
async fn serve_ends_with_success_when_it_is_asked_to() {
    let serve = Serve::prepare().await;
    let mut process = serve.start(
        Some(&serve.kubeconfig()),
        serve.hooks.path(),
        &["--listen", "127.0.0.1:0", "--log-format", "json"],
    );
    let field = |line: &str| serde_json::from_str::<Value>(line).ok()?["listen"].as_str().map(str::to_owned);
    let address = process.logged("it listens", field).await.unwrap();
    process.logged("the hook runs", |line| line.contains("run succeeded").then_some(())).await.unwrap();
    let metrics = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = client(&format!("http://{address}")).request_text(metrics).await.unwrap();
    assert!(metrics.contains("boathook_"), "{metrics}");
    terminate(&process);
    let ended = process.ended().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
    assert!(ended.stderr.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", ended.stderr);
    assert!(ended.stderr.lines().last().unwrap().contains("shut down"), "{}", ended.stderr);
}

#[tokio::test]
async fn serve_tells_by_its_exit_code_that_a_run_was_interrupted() {
    let serve = Serve::prepare().await;
    let document = r#"{configVersion: v1, onStartup: 1, limits: {time: 300s, hostCalls: 1000000},
      permissions: {kubernetes: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}}"#;
    let waiting = hooks_dir(&[("waits", hook(document, &Deed::WaitsFor("nothing")))]).await;
    let flags = ["--listen", "127.0.0.1:0", "--grace-period", "100ms", "--log-format", "json"];
    let mut process = serve.start(Some(&serve.kubeconfig()), waiting.path(), &flags);
    process.logged("the hook runs", |line| line.contains(r#""message":"begin""#).then_some(())).await.unwrap();
    terminate(&process);
    let ended = process.ended().await;
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains(r#""interrupted":1"#), "{}", ended.stderr);
}

#[tokio::test]
async fn serve_ends_when_it_is_asked_to_while_it_starts() {
    let serve = Serve::prepare().await;
    // Each takes all the time that a `config` may take.
    let slow = ["a", "b", "c", "d", "e", "f"].map(|name| (name, guest("hostile-spin-config")));
    let slow = hooks_dir(&slow).await;
    let mut process = serve.start(Some(&serve.kubeconfig()), slow.path(), &ANY_PORT);
    process.logged("it listens", |line| line.contains("listening").then_some(())).await.unwrap();
    terminate(&process);
    let ended = process.ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("hooks started"), "{}", ended.stderr);
}

#[tokio::test]
async fn a_cluster_serves_loopback_only() {
    let ended = run(boathook(["cluster", "--listen", "0.0.0.0:0"])).await;
    assert_failed(&ended, &["loopback only", "0.0.0.0:0", "127.0.0.1"]);

    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let mut command = boathook(["cluster", "--write-kubeconfig"]);
    command.arg(&kubeconfig);
    let mut process = Process::start(command);
    process.stdout.wait_for(|lines| lines.iter().any(|line| line == "ready")).await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(&kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    let version = kube::Client::try_from(config).unwrap().apiserver_version().await.unwrap();
    assert_eq!(version.major, "1");
    terminate(&process);
    assert_eq!(process.ended().await.code, Some(0));
}

#[tokio::test]
async fn help_tells_of_every_subcommand() {
    let help = run(boathook(["--help"])).await;
    assert_eq!(help.code, Some(0));
    for name in [
        "serve",
        "cluster",
        "inspect",
        "demo",
        "hooks",
        "queues",
        "snapshots",
        "runs",
        "dead-letters",
        "log-level",
        "pause",
        "resume",
        "reload",
        "quarantine",
        "release",
        "raw",
    ] {
        assert!(help.stdout.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{}", help.stdout);
        let of_command = run(boathook([name, "--help"])).await;
        assert_eq!((of_command.code, of_command.stderr.as_str()), (Some(0), ""), "{name}");
        assert!(of_command.stdout.contains(&format!("Usage: boathook {name}")), "{}", of_command.stdout);
        assert!(of_command.stdout.contains("Examples:"), "{}", of_command.stdout);
    }
    assert!(!help.stdout.contains("settings-worker"));
    let unknown = run(boathook(["sevre"])).await;
    assert_eq!((unknown.code, unknown.stderr.contains("serve")), (Some(2), true), "{}", unknown.stderr);
    let version = run(boathook(["--version"])).await;
    assert_eq!(version.stdout, format!("boathook {}", env!("CARGO_PKG_VERSION")));
}

//! What a person types, on the real binary against an operator in this process.

use std::path::Path;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    process::Command,
};

use super::{Asked, socket_in};
use crate::{
    pipeline::fixture::{config_map, guests},
    support::{
        cluster::TestCluster,
        guests::{cache_dir, hooks_dir},
        process::{Ended, Process, boathook, run, terminate},
        until,
    },
};

async fn typed(socket: &Path, arguments: &[&str]) -> Ended {
    let mut command = boathook(arguments);
    command.arg("--socket").arg(socket);
    run(command).await
}

#[track_caller]
fn done(ended: Ended) -> String {
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    ended.stdout
}

#[tokio::test]
async fn views_as_text_json_and_yaml() {
    let asked = Asked::start(&guests(["fail", "registry-secret"])).await;
    asked.pipeline.create(config_map("bad", ("test", "fail"), json!({"mode": "retry"}))).await;
    asked.pipeline.operator.told("run failed", "fail", 1).await;
    let socket = asked.socket();

    let text = done(typed(&socket, &["hooks"]).await);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..4], ["NAME", "STATE", "BINDINGS", "OBJECTS"]);
    assert_eq!((rows[1][0], rows[1][3], rows[2][..3].join(" ").as_str()), ("fail", "1", "registry-secret ready 4"));
    let data: Value = serde_json::from_str(&done(typed(&socket, &["hooks", "-o", "json"]).await)).unwrap();
    assert_eq!(data["hooks"][1]["name"], "registry-secret");
    let one: Value =
        yaml_serde::from_str(&done(typed(&socket, &["hooks", "registry-secret", "-o", "yaml"]).await)).unwrap();
    assert_eq!(one, data["hooks"][1]);
    let one = done(typed(&socket, &["hooks", "registry-secret"]).await);
    assert!(one.contains("State:        ready") && one.contains("synchronised"), "{one}");

    let text = done(typed(&socket, &["queues"]).await);
    assert!(text.contains("Queue hook/fail: 1 tasks"), "{text}");
    let text = done(typed(&socket, &["runs", "fail", "--failed"]).await);
    assert!(text.contains("failed (retry)") && text.contains("asked to fail"), "{text}");
    let text = done(typed(&socket, &["snapshots", "fail"]).await);
    assert!(text.contains("Binding configmaps: 1 objects") && text.contains(r#"{"mode":"retry"}"#), "{text}");
    let raw = done(typed(&socket, &["raw", "hook/list.yaml"]).await);
    assert_eq!(raw, "- fail\n- registry-secret");
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let asked = Asked::start(&guests(["noop"])).await;
    let ended = typed(&asked.socket(), &["hooks", "nope"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains(r#"error: hook "nope" does not exist: the hooks are noop"#), "{}", ended.stderr);
    let ended = typed(&asked.socket(), &["snapshots", "nope"]).await;
    assert_eq!((ended.code, ended.stderr.contains("the hooks are noop")), (Some(1), true), "{}", ended.stderr);
    let ended = typed(&asked.socket(), &["dead-letters", "retry"]).await;
    assert_eq!((ended.code, ended.stderr.contains("--all")), (Some(2), true), "{}", ended.stderr);

    let nobody = asked.directory.path().join("nobody.sock");
    let ended = typed(&nobody, &["hooks"]).await;
    assert_eq!(ended.code, Some(4));
    for part in ["nobody.sock", "boathook serve", "--socket"] {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
    let ended = run(boathook(["hooks"])).await;
    assert_eq!((ended.code, ended.stderr.contains("turned off")), (Some(1), true), "{}", ended.stderr);
}

/// The real operator, with its socket still to be said.
fn operator(files: &Path, hooks: &Path) -> Command {
    let mut command = boathook(["serve", "--listen", "127.0.0.1:0", "--kubeconfig"]);
    command.arg(files.join("kubeconfig")).arg("--hooks").arg(hooks).arg("--cache-dir").arg(cache_dir());
    command
}

fn serve(files: &Path, hooks: &Path, socket: &Path) -> Process {
    let mut command = operator(files, hooks);
    command.arg("--admin-socket").arg(socket);
    Process::start(command)
}

#[tokio::test]
async fn the_default_place_is_the_same_for_serve_and_for_questions() {
    let (cluster, files) = (TestCluster::start().await, tempfile::tempdir().unwrap());
    std::fs::write(files.path().join("kubeconfig"), cluster.cluster.kubeconfig()).unwrap();
    let hooks = hooks_dir(&guests(["noop"])).await;
    let by_default = |mut command: Command| {
        command.env_remove("BOATHOOK_ADMIN_SOCKET").env("XDG_RUNTIME_DIR", files.path());
        command
    };
    let place = files.path().join("boathook/admin.sock");
    let nobody = run(by_default(boathook(["hooks"]))).await;
    assert_eq!(nobody.code, Some(4));
    assert!(nobody.stderr.contains(&*place.to_string_lossy()), "{}", nobody.stderr);

    let mut serving = Process::start(by_default(operator(files.path(), hooks.path())));
    serving.logged("it starts", |line| line.contains("hooks started").then_some(())).await.unwrap();
    assert!(place.exists());
    assert!(done(run(by_default(boathook(["hooks"]))).await).contains("noop"));
}

#[tokio::test]
async fn the_log_level_is_shown_and_changed() {
    let (cluster, files) = (TestCluster::start().await, tempfile::tempdir().unwrap());
    std::fs::write(files.path().join("kubeconfig"), cluster.cluster.kubeconfig()).unwrap();
    let (hooks, socket) = (hooks_dir(&guests(["noop"])).await, socket_in(files.path()));
    let mut command = operator(files.path(), hooks.path());
    command.args(["--log-level", "warn", "--admin-socket"]).arg(&socket);
    let mut serving = Process::start(command);
    until("it answers", async || (typed(&socket, &["log-level"]).await.code == Some(0)).then_some(())).await;
    assert_eq!(done(typed(&socket, &["log-level"]).await), "warn");

    let set = done(typed(&socket, &["log-level", "set", "info,boathook_operator::admin=debug", "--for", "10m"]).await);
    assert!(set.starts_with("info,boathook_operator::admin=debug until 20") && set.ends_with("then warn"), "{set}");
    serving.logged("it logs that", |line| line.contains("an admin changed").then_some(())).await.unwrap();
    assert_eq!(done(typed(&socket, &["log-level", "set", "error"]).await), "error");
    let noisy: Value = serde_json::from_str(&done(typed(&socket, &["raw", "/config/list"]).await)).unwrap();
    assert_eq!((&noisy[0]["name"], &noisy[0]["value"]), (&json!("log.level"), &json!("error")));
    let bad = typed(&socket, &["log-level", "set", "boathook=loud"]).await;
    assert_eq!((bad.code, bad.stderr.contains("boathook=loud")), (Some(1), true), "{}", bad.stderr);

    let form = "name=log.level&value=debug&duration=90s";
    let answer = post_form(&socket, "/config/set", form).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("expireAt"), "{answer}");
    let level = done(typed(&socket, &["log-level"]).await);
    assert!(level.starts_with("debug until ") && level.ends_with("then error"), "{level}");
    let answer = post_form(&socket, "/config/set", "name=colour&value=red").await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("log.level"), "{answer}");
}

/// As old scripts do it.
async fn post_form(socket: &Path, path: &str, form: &str) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n", form.len());
    let request = format!("{head}content-type: application/x-www-form-urlencoded\r\n\r\n{form}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn an_operator_takes_the_socket_of_a_killed_one_and_not_that_of_a_living_one() {
    let (cluster, files) = (TestCluster::start().await, tempfile::tempdir().unwrap());
    std::fs::write(files.path().join("kubeconfig"), cluster.cluster.kubeconfig()).unwrap();
    let hooks = hooks_dir(&guests(["noop"])).await;
    let socket = socket_in(files.path());
    let started = |line: &str| line.contains("hooks started").then_some(());

    let mut first = serve(files.path(), hooks.path(), &socket);
    first.logged("the first starts", started).await.unwrap();
    assert!(done(typed(&socket, &["hooks"]).await).contains("noop"));

    let second = serve(files.path(), hooks.path(), &socket).ended().await;
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(second.stderr.contains("another operator serves the admin socket"), "{}", second.stderr);
    assert!(done(typed(&socket, &["hooks"]).await).contains("noop"), "the first one was not harmed");

    let id = rustix::process::Pid::from_raw(first.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    first.ended().await;
    assert!(socket.exists(), "nobody cleaned up");
    assert_eq!(typed(&socket, &["hooks"]).await.code, Some(4));

    let mut third = serve(files.path(), hooks.path(), &socket);
    third.logged("the third starts", started).await.unwrap();
    assert!(done(typed(&socket, &["hooks"]).await).contains("noop"));
    terminate(&third);
    assert_eq!(third.ended().await.code, Some(0));
    assert!(!socket.exists());
}

#[tokio::test]
async fn watching_shows_changes() {
    let asked = Asked::start(&guests(["noop", "echo"])).await;
    let mut command = boathook(["hooks", "-o", "json", "--watch", "--interval", "100ms", "--socket"]);
    command.arg(asked.socket());
    let mut watching = Process::start(command);
    let states = |lines: &[String]| -> Vec<Value> {
        let text = lines.join("\n");
        let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>().map_while(Result::ok);
        documents.map(|document| document["hooks"][0]["state"].clone()).collect()
    };
    watching.stdout.wait_for(|lines| !states(lines).is_empty()).await.unwrap();
    asked.client.command("echo", "quarantine").await.unwrap();
    watching.stdout.wait_for(|lines| states(lines).contains(&json!("quarantined"))).await.unwrap();
    assert_eq!(states(&watching.stdout.borrow())[0], "ready");
    terminate(&watching);
    assert_eq!(watching.ended().await.code, Some(0));
}

#[tokio::test]
async fn watching_outlives_the_operator() {
    let asked = Asked::start(&guests(["noop"])).await;
    let socket = socket_in(asked.directory.path());
    let mut command = boathook(["queues", "--watch", "--interval", "100ms", "--socket"]);
    command.arg(&socket);
    let mut watching = Process::start(command);
    watching.stdout.wait_for(|lines| lines.iter().any(|line| line.contains("tasks"))).await.unwrap();
    asked.pipeline.operator.shutdown().await;
    watching.logged("it says that nobody answers", |line| line.contains("no operator").then_some(())).await.unwrap();
    terminate(&watching);
    assert_eq!(watching.ended().await.code, Some(0));
}

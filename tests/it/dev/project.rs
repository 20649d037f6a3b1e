//! A project that is built on each change.

use serde_json::{Value, json};

use super::{Dev, command};
use crate::author;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_line_is_seen_in_the_next_run() {
    let folder = author::fresh("dev");
    let project = author::project(&folder, "my-dev", "label-watcher").await;
    let _one_at_a_time = author::BUILDING.lock().await;
    let mut command = command(&folder, ["my-dev", "--rerun"]);
    author::with_tools(&mut command);
    let mut dev = Dev::start(command);
    let admin = dev.admin().await;
    assert_eq!(dev.line("building").await["hook"], "my-dev");
    dev.line("swapped").await;
    // An object that comes before this run is in its snapshot, and also causes an event.
    assert_eq!(dev.line("run").await["triggers"][0]["cause"], "Synchronization");
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": {"team": "shop"}}});
    admin.create(&namespace).await.unwrap();
    let run = dev.said("namespace web: done").await;
    let effect = &run["effects"][0];
    assert_eq!((&effect["action"], &effect["object"]["kind"]), (&"create".into(), &"ConfigMap".into()));

    // What does not compile leaves the old version at work.
    let source = project.join("src/lib.rs");
    author::edit(&source, "\"data\": {\"team\": team},", "\"data\": {\"team\": },");
    let failed = dev.line("failed").await;
    assert_eq!(failed["error"], "cargo did not build my-dev");
    assert!(dev.process.stderr.borrow().iter().any(|line| line.contains("src/lib.rs:")), "the compiler says where");

    author::edit(&source, "\"data\": {\"team\": },", "\"data\": {\"team\": team, \"seen\": \"yes\"},");
    let swapped = dev.line("swapped").await;
    assert_eq!((&swapped["kept"], &swapped["begun"]), (&1.into(), &0.into()));
    assert_eq!(dev.line("again").await["triggers"], 1);
    let run = dev.said("namespace web: done").await;
    let changes = run["effects"][0]["changes"].as_array().unwrap();
    let added = |change: &Value| change["path"] == "data.seen" && change["after"] == "yes";
    assert!(changes.iter().any(added), "{run}\n{}", dev.told());
    assert_eq!(dev.ended().await.code, Some(0));
}

/// A script is bundled and swapped as a component is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_line_of_a_script_is_seen_in_the_next_run() {
    let folder = author::fresh("dev-ts");
    author::script::project(&folder, "my-script", "ts", "label-watcher").await;
    let mut dev = Dev::start(command(&folder, ["my-script", "--rerun"]));
    let admin = dev.admin().await;
    assert_eq!(dev.line("building").await["hook"], "my-script");
    dev.line("swapped").await;
    // An object that comes before this run is in its snapshot, and also causes an event.
    assert_eq!(dev.line("run").await["triggers"][0]["cause"], "Synchronization");
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": {"team": "shop"}}});
    admin.create(&namespace).await.unwrap();
    dev.said("namespace web: done").await;

    // What cannot be bundled, and what a hook lacks, leaves the old version at work.
    let source = folder.join("my-script/src/hook.ts");
    author::edit(&source, "data: { team } };", "data: { team };");
    assert!(dev.line("failed").await["error"].as_str().unwrap().contains("esbuild cannot bundle my-script"));
    author::edit(&source, "data: { team };", "data: { team, seen: process.pid } };");
    let failed = dev.line("failed").await;
    assert!(failed["error"].as_str().unwrap().contains("hooks have no `process`"), "{failed}");

    author::edit(&source, "seen: process.pid", "seen: \"yes\"");
    let swapped = dev.line("swapped").await;
    assert_eq!((&swapped["kept"], &swapped["begun"]), (&1.into(), &0.into()));
    assert_eq!(dev.line("again").await["triggers"], 1);
    let run = dev.said("namespace web: done").await;
    let changes = run["effects"][0]["changes"].as_array().unwrap();
    let added = |change: &Value| change["path"] == "data.seen" && change["after"] == "yes";
    assert!(changes.iter().any(added), "{run}\n{}", dev.told());
    assert_eq!(dev.ended().await.code, Some(0));
}

#[tokio::test]
async fn without_cargo_it_ends_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    author::project(folder.path(), "web", "startup").await;
    let mut without = command(folder.path(), ["web"]);
    without.env("CARGO", "no-such-cargo");
    let ended = crate::support::process::run(without).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cannot run no-such-cargo: install Rust"), "{}", ended.stderr);
}

//! What `boathook dev` tells an author before a run has ended, and of what the cluster will refuse.

use std::{fs, path::Path};

use serde_json::Value;
use tokio::time::timeout;

use super::command;
use crate::{
    pipeline::{
        validating::validating,
        written::{Deed, hook},
    },
    support::{
        PATIENCE,
        guests::cache_dir,
        process::{Ended, Process, terminate},
    },
};

/// `boathook dev` with a component, until it has printed a line of this type that `wanted` holds for.
async fn dev(folder: &Path, component: &[u8], kind: &str, wanted: impl Fn(&Value) -> bool) -> (Vec<Value>, Ended) {
    fs::write(folder.join("web.wasm"), component).unwrap();
    let mut dev = command(folder, ["dev", "web.wasm", "-o", "json"]);
    dev.env("XDG_CACHE_HOME", cache_dir().parent().unwrap());
    let mut dev = Process::start(dev);
    let parsed = |line: &String| serde_json::from_str::<Value>(line).unwrap();
    let told = dev.stdout.wait_for(|lines| lines.iter().map(parsed).any(|line| line["type"] == kind && wanted(&line)));
    let told = timeout(PATIENCE, told).await.map(|told| told.map(|lines| lines.iter().map(parsed).collect::<Vec<_>>()));
    let Ok(Ok(lines)) = told else {
        panic!("no line {kind}: {:?} {:?}", dev.stdout.borrow().join("\n"), dev.stderr.borrow().join("\n"));
    };
    terminate(&dev);
    (lines, dev.ended().await)
}

#[tokio::test]
async fn a_run_that_takes_long_is_reported_before_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let document = "{configVersion: v1, onStartup: 1, limits: {time: 300s}}";
    let (lines, ended) = dev(folder.path(), &hook(document, &Deed::Spins), "slow", |_| true).await;
    let slow = lines.last().unwrap();
    assert_eq!((&slow["hook"], &slow["binding"]), (&"web".into(), &"onStartup".into()));
    assert!(lines.iter().all(|line| line["type"] != "run"), "{lines:?}");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// The hook is loaded all the same: the cluster alone knows what its version understands.
#[tokio::test]
async fn a_condition_that_does_not_compile_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let component = validating(
        "{configVersion: v1, kubernetesValidating: [{name: a.b.c, matchConditions: [{name: bad, expression: 'x +'}], \
         rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}]}",
    );
    let refused = |line: &Value| line["message"] == "not everything is registered: retrying";
    let (lines, ended) = dev(folder.path(), &component, "log", refused).await;
    let warnings: Vec<_> = lines.iter().filter_map(|line| line["warning"].as_str()).collect();
    let [warning] = warnings.as_slice() else { panic!("{lines:?}") };
    assert!(warning.starts_with("a.b.c: matchConditions \"bad\": compilation failed"), "{warning}");
    assert!(lines.iter().any(|line| line["type"] == "swapped"), "{lines:?}");
    let problem = lines.last().unwrap()["problem"].as_str().unwrap();
    assert_eq!(problem.matches("compilation failed").count(), 1, "{problem}");
    assert!(!problem.contains("Status {"), "{problem}");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// As `boathook build` does, and once for each version.
#[tokio::test]
async fn a_misspelt_kind_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let document = "{configVersion: v1, kubernetes: [{name: a, apiVersion: apps/v1, kind: Deploymnt}, \
        {name: b, apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler}]}";
    let component = hook(document, &Deed::Says("ran"));
    let misspelt = |line: &Value| line["warning"].as_str().is_some_and(|warning| warning.contains("is known in"));
    let (lines, ended) = dev(folder.path(), &component, "log", misspelt).await;
    let warnings: Vec<_> = lines.iter().filter_map(|line| line["warning"].as_str()).collect();
    let warning = "kubernetes binding \"a\": no kind \"Deploymnt\" is known in apps/v1: did you mean \"Deployment\"?";
    assert_eq!(warnings, [warning]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

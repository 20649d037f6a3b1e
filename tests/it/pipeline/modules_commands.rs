//! `boathook modules` on a cluster, as an admin types it.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::modules_charts::{Bench, at, hook};
use crate::{
    script::shell::cache_home,
    support::{
        cluster::TestCluster,
        process::{Ended, boathook, run},
        until,
    },
};

/// Runs a command on a cluster, in a directory.
pub async fn modules(cluster: &TestCluster, directory: &Path, arguments: &[&str]) -> Ended {
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    fs::write(kubeconfig.path(), cluster.cluster.kubeconfig()).unwrap();
    let mut command = boathook(["modules"].iter().chain(arguments));
    command.args(["--namespace", "default", "--kubeconfig"]).arg(kubeconfig.path());
    command.env("BOATHOOK_INTERPRETERS", concat!(env!("CARGO_MANIFEST_DIR"), "/interpreters/dist"));
    command.env("XDG_CACHE_HOME", cache_home()).current_dir(directory);
    run(command).await
}

#[tokio::test]
async fn what_would_change_is_shown_before_it_does() {
    let bench = Bench::web().await;
    let plan = modules(&bench.cluster, bench.modules.path(), &["plan", "--modules", "."]).await;
    assert_eq!(plan.code, Some(1), "{}", plan.stderr);
    let expected = "web: install (installation)\n  + v1 ConfigMap default/kept\n  + v1 ConfigMap default/web\n  + v1 Secret default/web";
    assert_eq!(plan.stdout, expected);
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    let diff = modules(&bench.cluster, bench.modules.path(), &["diff", "web", "--modules", "."]).await;
    assert_eq!((diff.code, diff.stdout.as_str()), (Some(0), ""), "{}", diff.stderr);
    let plan = modules(&bench.cluster, bench.modules.path(), &["plan", "--modules", "."]).await;
    assert_eq!((plan.code, plan.stdout.as_str()), (Some(0), "web: stay (revision 1)"));

    // The directory changes, and the configuration in the cluster does.
    operator.shutdown().await;
    bench.put("010-web/templates/job.yaml", &hook("before", "pre-upgrade", ""));
    bench.put("020-new/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}");
    bench.configure(json!({"web": "port: 81\nmore: 1", "newEnabled": "true"})).await;
    let diff = modules(&bench.cluster, bench.modules.path(), &["diff", "web", "--modules", "."]).await;
    assert_eq!(diff.code, Some(1), "{}", diff.stderr);
    for line in [
        "diff -u -N APPLIED/v1.ConfigMap.default.web PLANNED/v1.ConfigMap.default.web",
        "-  port: '80'\n+  port: '81'\n",
        "--- APPLIED/v1.ConfigMap.default.more-0",
        "-  password: '*** (before)'\n+  password: '*** (after)'",
    ] {
        assert!(diff.stdout.contains(line), "{line:?} in {}", diff.stdout);
    }
    let plan = modules(&bench.cluster, bench.modules.path(), &["plan", "--modules", ".", "-o", "json"]).await;
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert_eq!((&plan[0]["action"], &plan[0]["why"]), (&json!("upgrade"), &json!("chart, settings")));
    assert_eq!(plan[0]["hooks"], json!([{"event": "pre-upgrade", "template": "web/templates/job.yaml"}]));
    assert_eq!((&plan[1]["module"], &plan[1]["action"]), (&json!("new"), &json!("install")));

    // It is turned off.
    bench.configure(json!({"webEnabled": "false"})).await;
    let plan = modules(&bench.cluster, bench.modules.path(), &["plan", "--modules", "."]).await;
    let expected = "web: delete (the configuration addon-operator turns it off)\n  - v1 ConfigMap default/web\n  - v1 Secret default/web";
    assert!(plan.stdout.starts_with(expected), "{}", plan.stdout);
    assert!(!plan.stdout.contains("kept"), "{}", plan.stdout);
    // Nobody knows what a chart gives that is wrong.
    bench.configure(json!({"webEnabled": "true"})).await;
    bench.put("010-web/templates/bad.yaml", "{{ fail \"no such thing\" }}");
    let plan = modules(&bench.cluster, bench.modules.path(), &["plan", "--modules", "."]).await;
    assert!(plan.code == Some(2) && plan.stderr.contains("no such thing"), "{}", plan.stderr);
    let other = modules(&bench.cluster, bench.modules.path(), &["diff", "other", "--modules", "."]).await;
    assert!(other.code == Some(2) && other.stderr.contains("there is no module other"), "{}", other.stderr);
}

#[tokio::test]
async fn modules_are_turned_on_and_off_and_rolled_back_from_the_command_line() {
    let bench = Bench::web().await;
    bench.put("values.yaml", "web: {port: 80, more: 0}\n");
    let operator = bench.start().await;
    let on = modules(&bench.cluster, bench.modules.path(), &["enable", "web"]).await;
    assert_eq!((on.code, on.stdout.as_str()), (Some(0), "the ConfigMap addon-operator turns the module web on"));
    at(&operator, "web", "ready").await;
    let again = modules(&bench.cluster, bench.modules.path(), &["enable", "web"]).await;
    assert_eq!(again.stdout, "the ConfigMap addon-operator already turns the module web on");
    bench.configure(json!({"webEnabled": "true", "web": "port: 81"})).await;
    let history = async || {
        let shown = modules(&bench.cluster, bench.modules.path(), &["history", "web"]).await;
        shown.stdout.lines().last()?.contains("deployed").then_some(shown.stdout)
    };
    bench.port("81").await;
    let shown =
        until("revision 2 is deployed", async || history().await.filter(|text| text.lines().count() == 3)).await;
    let words: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["REVISION", "TIME", "CHART", "DIGEST", "CHANGED", "RESULT"]);
    assert_eq!((words[1][0], &words[1][4..]), ("1", &["installation", "superseded"][..]));
    assert_eq!((words[2][0], &words[2][4..]), ("2", &["settings", "deployed"][..]));
    let back = modules(&bench.cluster, bench.modules.path(), &["rollback", "web"]).await;
    assert_eq!(back.stdout, "the operator is asked to apply the manifests of revision 1 of web", "{}", back.stderr);
    bench.port("80").await;
    let shown = modules(&bench.cluster, bench.modules.path(), &["history", "web", "-o", "json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((&shown[2]["rollbackTo"], &shown[2]["changed"]), (&json!(1), &json!(["rollback"])));
    assert_eq!(shown[2]["digest"], shown[0]["digest"]);
    let end = modules(&bench.cluster, bench.modules.path(), &["rollback", "web", "--end"]).await;
    assert_eq!(end.stdout, "the operator is asked to apply what the chart of web gives", "{}", end.stderr);
    bench.port("81").await;
    let both = modules(&bench.cluster, bench.modules.path(), &["rollback", "web", "--end", "--to", "1"]).await;
    assert_eq!(both.code, Some(2));
    let off = modules(&bench.cluster, bench.modules.path(), &["disable", "web"]).await;
    assert_eq!(off.stdout, "the ConfigMap addon-operator turns the module web off");
    at(&operator, "web", "off").await;
    let gone = modules(&bench.cluster, bench.modules.path(), &["history", "web"]).await;
    assert!(
        gone.code == Some(2) && gone.stderr.contains("is not installed in the namespace default"),
        "{}",
        gone.stderr
    );
}

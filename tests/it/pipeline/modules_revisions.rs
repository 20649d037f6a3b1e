//! Revisions of modules: what is kept of them, and rollbacks.

use boathook_modules::ModuleName;
use boathook_operator::app::{ModuleRevision, ModulesInCluster};
use serde_json::{Value, json};

use super::{
    modules_charts::{Bench, at, failed, hook, object, report, until_death},
    reconcile::crashes::Life,
};
use crate::support::until;

fn web() -> ModuleName {
    "web".parse().unwrap()
}

fn commands(bench: &Bench) -> ModulesInCluster {
    ModulesInCluster::new(bench.cluster.admin.client.clone(), "default".to_owned())
}

async fn history(bench: &Bench) -> Vec<ModuleRevision> {
    commands(bench).history(&web()).await.unwrap()
}

/// Each revision: its number, why it is there, what it is rolled back to, and its result.
fn shown(history: &[ModuleRevision]) -> Vec<String> {
    let one = |one: &ModuleRevision| {
        let causes: Vec<_> = one.changed.iter().map(|cause| cause.shown()).collect();
        let to = one.rollback_to.map_or_else(String::new, |to| format!(" to {to}"));
        format!("{} {}{to} {}", one.revision, causes.join("+"), one.outcome.shown())
    };
    history.iter().map(one).collect()
}

/// Waits until the module has this revision, and it is deployed.
async fn deployed(bench: &Bench, revision: u64) -> ModuleRevision {
    let is_there = async || {
        let last = history(bench).await.pop()?;
        (last.revision == revision && last.outcome.shown() == "deployed").then_some(last)
    };
    until(&format!("revision {revision} is deployed"), is_there).await
}

/// The Secrets with what revisions rendered to.
async fn kept(bench: &Bench) -> Vec<String> {
    let request = http::Request::get("/api/v1/namespaces/default/secrets?labelSelector=boathook.dev/module-revision");
    let found: Value = bench.cluster.admin.client.request(request.body(Vec::new()).unwrap()).await.unwrap();
    let name = |secret: &Value| secret["metadata"]["name"].as_str().unwrap().to_owned();
    found["items"].as_array().unwrap().iter().map(name).collect()
}

async fn password(bench: &Bench) -> Value {
    bench.is_there("Secret", "web").await["data"]["password"].clone()
}

#[tokio::test]
async fn a_module_is_rolled_back_until_its_values_change_or_the_admin_ends_it() {
    let bench = Bench::web().await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    let first = password(&bench).await;
    bench.configure(json!({"web": "port: 81"})).await;
    deployed(&bench, 2).await;
    assert_ne!(password(&bench).await, first, "passwords depend on values");
    assert_eq!(shown(&history(&bench).await), ["1 installation superseded", "2 settings deployed"]);
    assert_eq!(commands(&bench).roll_back(&web(), None).await.unwrap(), 1);
    deployed(&bench, 3).await;
    bench.port("80").await;
    assert_eq!(password(&bench).await, first);
    assert_eq!(shown(&history(&bench).await)[1..], ["2 settings superseded", "3 rollback to 1 deployed"]);
    let secret = bench.is_there("Secret", "boathook-module-web").await;
    assert!(secret["metadata"]["annotations"]["boathook.dev/rollback"].as_str().unwrap_or_default().is_empty());

    // It lasts: over drift, and over a restart.
    bench.cluster.admin.delete(&object("ConfigMap", "web")).await.unwrap();
    bench.port("80").await;
    operator.shutdown().await;
    let before = bench.is_there("ConfigMap", "web").await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    assert_eq!(bench.is_there("ConfigMap", "web").await, before);

    // The values change.
    bench.configure(json!({"web": "port: 82"})).await;
    bench.port("82").await;
    let fourth = deployed(&bench, 4).await;
    assert_eq!((fourth.rollback_to, shown(&[fourth])), (None, vec!["4 settings deployed".to_owned()]));
    // The admin asks for one, for another, and for the end.
    commands(&bench).roll_back(&web(), Some(2)).await.unwrap();
    bench.port("81").await;
    commands(&bench).roll_back(&web(), Some(1)).await.unwrap();
    bench.port("80").await;
    commands(&bench).end_rollback(&web()).await.unwrap();
    bench.port("82").await;
    at(&operator, "web", "ready").await;

    let error = commands(&bench).roll_back(&web(), Some(99)).await.unwrap_err().to_string();
    assert!(error.contains("revision 99 of web is not kept; there are 1, 2, 3, 4, 5, 6, 7"), "{error}");
    let error = commands(&bench).end_rollback(&web()).await.unwrap_err().to_string();
    assert!(error.contains("the module web is not rolled back"), "{error}");
    let error = commands(&bench).history(&"other".parse().unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("the module other is not installed in the namespace default"), "{error}");
}

const STUCK: &str = "{{- if .Values.web.stuck }}\napiVersion: v1\nkind: Pod\nmetadata: {name: stuck}\nspec: {restartPolicy: \
                     Never, containers: [{name: c, image: 'example.com/c:1'}]}\n{{- end }}\n";

#[tokio::test]
async fn a_rollback_ends_the_wait_for_objects_that_are_never_ready() {
    let bench = Bench::web().await;
    bench.put("010-web/templates/stuck.yaml", STUCK);
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    bench.configure(json!({"web": "stuck: true"})).await;
    bench.is_there("Pod", "stuck").await;
    assert_eq!(report(&operator, "web").unwrap().at, "Chart");
    assert_eq!(shown(&history(&bench).await)[1..], ["2 settings pending"]);
    commands(&bench).roll_back(&web(), None).await.unwrap();
    at(&operator, "web", "ready").await;
    bench.is_gone("Pod", "stuck").await;
    assert_eq!(shown(&history(&bench).await)[1..], ["2 settings failed", "3 rollback to 1 deployed"]);
}

#[tokio::test]
async fn a_rollback_needs_neither_values_nor_a_chart_that_are_right() {
    let bench = Bench::web().await;
    bench.put("010-web/openapi/values.yaml", "properties: {port: {type: integer}, more: {type: integer}}\n");
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    bench.configure(json!({"web": "port: 81"})).await;
    deployed(&bench, 2).await;
    bench.put("010-web/templates/bad.yaml", "{{ fail \"no such thing\" }}");
    bench.configure(json!({"web": "port: 82"})).await;
    failed(&operator, "web", "no such thing").await;
    commands(&bench).roll_back(&web(), Some(1)).await.unwrap();
    bench.port("80").await;
    at(&operator, "web", "ready").await;
}

#[tokio::test]
async fn a_rollback_that_cannot_be_done_says_why() {
    let bench = Bench::web().await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    let ask = async |what: &str| {
        let mut secret = object("Secret", "boathook-module-web");
        secret["metadata"]["annotations"] = json!({"boathook.dev/rollback": what});
        bench.cluster.admin.apply(&secret).await.unwrap();
    };
    ask("99").await;
    let why = failed(&operator, "web", "revision 99: it is not kept; there are 1;").await;
    assert!(why.contains("the annotation boathook.dev/rollback of the v1 Secret default/boathook-module-web"), "{why}");
    ask("first").await;
    failed(&operator, "web", "is \"first\": write the number of a revision, or end").await;
    ask("end").await;
    at(&operator, "web", "ready").await;
    bench.cluster.admin.delete(&object("Secret", "boathook-module-web.v1")).await.unwrap();
    let error = commands(&bench).roll_back(&web(), Some(1)).await.unwrap_err().to_string();
    assert!(error.contains("revision 1 of web are lost: there is no Secret boathook-module-web.v1"), "{error}");
}

#[tokio::test]
async fn hooks_of_a_rollback_run() {
    let bench = Bench::web().await;
    for event in ["pre-rollback", "post-rollback"] {
        bench.put(&format!("010-web/templates/{event}.yaml"), &hook(event, event, ""));
    }
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    bench.configure(json!({"web": "port: 81"})).await;
    deployed(&bench, 2).await;
    assert!(bench.get("Job", "pre-rollback").await.is_none());
    commands(&bench).roll_back(&web(), None).await.unwrap();
    bench.is_there("Job", "pre-rollback").await;
    assert_eq!(bench.is_there("ConfigMap", "web").await["data"]["port"], "81");
    bench.end("pre-rollback", "Complete").await;
    bench.end("post-rollback", "Complete").await;
    deployed(&bench, 3).await;
    bench.port("80").await;
}

#[tokio::test]
async fn old_revisions_go_and_all_of_them_with_the_module() {
    let bench = Bench::web().await;
    let operator = bench.start().await;
    at(&operator, "web", "ready").await;
    for revision in 2..14 {
        bench.configure(json!({"web": format!("port: {}", 80 + revision)})).await;
        deployed(&bench, revision).await;
    }
    let all: Vec<u64> = history(&bench).await.iter().map(|one| one.revision).collect();
    assert_eq!(all, (4..14).collect::<Vec<_>>());
    let mut secrets: Vec<String> = (4..14).map(|revision| format!("boathook-module-web.v{revision}")).collect();
    secrets.sort();
    let mut found = kept(&bench).await;
    found.sort();
    assert_eq!(found, secrets);
    bench.configure(json!({"webEnabled": "false"})).await;
    at(&operator, "web", "off").await;
    assert_eq!(kept(&bench).await, [""; 0]);
}

#[tokio::test]
async fn an_operator_that_dies_during_a_rollback_is_continued_and_rolls_back_once() {
    let mut most = 0;
    loop {
        most += 1;
        let bench = Bench::web().await;
        let operator = bench.start().await;
        at(&operator, "web", "ready").await;
        bench.configure(json!({"web": "port: 81"})).await;
        deployed(&bench, 2).await;
        operator.shutdown().await;
        commands(&bench).roll_back(&web(), Some(1)).await.unwrap();
        let life = Life::of(most);
        until_death(&bench, &life, "ready").await;
        let is_complete = !life.is_over();
        let operator = bench.start().await;
        deployed(&bench, 3).await;
        at(&operator, "web", "ready").await;
        bench.port("80").await;
        assert_eq!(shown(&history(&bench).await)[2..], ["3 rollback to 1 deployed"], "after {most} writes");
        if is_complete {
            break;
        }
    }
    assert!((3..15).contains(&most), "{most}");
}

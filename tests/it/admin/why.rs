//! What led to an object, and why a hook did not run, as the operator tells it.

use boathook_core::fair::Pool;
use boathook_operator::admin::{
    Client, Socket,
    why::{ChainView, WhyNotView, WhyView},
};
use serde_json::{Value, json};

use super::{Asked, socket_in};
use crate::{
    pipeline::{
        fixture::{Pipeline, config_map, guests},
        reconcile,
        written::{Deed, hook},
    },
    support::{
        cluster::TestCluster,
        filters::{HUNGRY, crowded},
        guests::guest,
        process::{boathook, run},
    },
};

/// An object that goes from hook to hook.
fn relayed(name: &str, order: &[&str], left: u32) -> Value {
    let data = json!({"holder": order[0], "order": order.join(" "), "left": left.to_string()});
    config_map(name, ("test", "relay"), data)
}

fn hooks(chain: &ChainView) -> Vec<&str> {
    chain.steps.iter().map(|step| step.hook.as_str()).collect()
}

async fn why(asked: &Asked, object: &str, wanted: impl Fn(&WhyView) -> bool) -> WhyView {
    let ask = async |client: &Client| client.why(object).await;
    asked.until(&format!("it is known why {object} is so"), ask, wanted).await
}

#[tokio::test]
async fn a_chain_over_hooks_leads_back_to_somebody_else() {
    let names = ["relay-1", "relay-2", "relay-3"];
    let relays: Vec<(&str, Vec<u8>)> = names.into_iter().map(|name| (name, guest("relay"))).collect();
    let asked = Asked::start(&relays).await;
    let created = asked.pipeline.create(relayed("one", &names, 4)).await;
    let object = "configmap/default/one";
    let view = why(&asked, object, |view| view.chains.first().is_some_and(|chain| chain.steps.len() == 4)).await;
    let chain = &view.chains[0];
    assert_eq!(hooks(chain), ["relay-1", "relay-3", "relay-2", "relay-1"]);
    assert_eq!(
        chain.origin,
        "somebody else changed ConfigMap default/one: no hook of this process is known to have done it"
    );
    let live = asked.pipeline.get(relayed("one", &names, 0)).await.unwrap();
    assert_eq!(chain.steps[0].resource_version.as_deref(), live["metadata"]["resourceVersion"].as_str());
    for (at, pair) in chain.steps.windows(2).enumerate() {
        let seen = pair[0].reason.as_ref().unwrap();
        assert_eq!((seen.binding.as_str(), seen.cause.as_str()), ("maps", "Modified"));
        assert_eq!((&seen.uid, &seen.resource_version), (&pair[1].uid, &pair[1].resource_version));
        // The hook of the last write wrote the object a moment before, too.
        if at > 0 {
            assert_eq!((pair[0].certainty.as_str(), pair[0].possibly), ("certain", false));
        }
        assert!(pair[0].fields.contains(&".data.holder".to_owned()), "{pair:?}");
    }
    let first = chain.steps[3].reason.as_ref().unwrap();
    assert_eq!(
        (first.cause.as_str(), first.resource_version.as_deref()),
        ("Added", created["metadata"]["resourceVersion"].as_str())
    );
    assert_eq!((view.newer, view.forgotten), (None, None));

    // Somebody else writes after that.
    let order = json!({"holder": "nobody", "order": "", "left": "0"});
    asked.pipeline.apply(config_map("one", ("test", "relay"), order)).await;
    let view = why(&asked, object, |view| view.newer.is_some()).await;
    assert_eq!(hooks(&view.chains[0]).len(), 4, "the writes of hooks stay known");

    let mut command = boathook(["why", object]);
    command.arg("--socket").arg(asked.socket());
    let ended = run(command).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for part in
        ["is the newest that a binding saw", "by hook relay-3, run ", "because of maps Added ConfigMap default/one"]
    {
        assert!(ended.stdout.contains(part), "no {part:?} in {}", ended.stdout);
    }
}

#[tokio::test]
async fn a_child_leads_back_to_its_parent() {
    let asked = Asked::on(reconcile::cluster().await, &guests(["wish"])).await;
    asked.pipeline.operator.ready().await;
    let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": {"value": "1"}});
    let metadata = json!({"name": "parent", "namespace": "default"});
    let spec = json!({"children": [child]});
    let parent = json!({"apiVersion": "example.com/v1", "kind": "Wish", "metadata": metadata, "spec": spec});
    asked.pipeline.create(parent).await;
    let view = why(&asked, "configmap/default/child", |view| !view.chains.is_empty()).await;
    let [chain] = view.chains.as_slice() else { panic!("{view:?}") };
    assert_eq!((hooks(chain), chain.steps[0].verb.as_str()), (vec!["wish"], "patch"));
    let reason = chain.steps[0].reason.as_ref().unwrap();
    assert_eq!(reason.object.as_deref(), Some("Wish.example.com default/parent"), "{view:?}");
    assert!(chain.origin.contains("somebody else changed Wish.example.com default/parent"), "{view:?}");
    // Somebody else changes the child, and the hook puts it right because of that, and not because of its parent.
    let drift = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "child"},
        "data": {"value": "2"}});
    asked.pipeline.apply(drift).await;
    let child_caused = |chain: &ChainView| {
        let reason = chain.steps[0].reason.as_ref().and_then(|reason| reason.object.as_deref());
        reason == Some("ConfigMap default/child")
    };
    let by_drift = |view: &WhyView| view.chains.first().is_some_and(child_caused);
    let view = why(&asked, "configmap/default/child", by_drift).await;
    assert!(view.chains[0].origin.contains("somebody else changed ConfigMap default/child"), "{view:?}");
}

#[tokio::test]
async fn what_is_no_object_is_refused_and_what_is_not_known_is_told() {
    let asked = Asked::start(&guests(["noop"])).await;
    for bad in ["", "configmap", "configmap/", "/default/a", "configmap//a", "a/b/c/d"] {
        let error = asked.client.why(bad).await.unwrap_err().to_string();
        assert!(error.contains("KIND/NAME or KIND/NAMESPACE/NAME"), "{bad}: {error}");
    }
    let view = asked.client.why("configmap/default/nothing").await.unwrap();
    assert_eq!((view.chains.len(), view.newer), (0, None));
    let error = asked.client.why_not("nope", "configmap/default/a").await.unwrap_err().to_string();
    assert!(error.contains("the hooks are noop"), "{error}");
    let error = asked.client.why_not("noop", "gadget/default/a").await.unwrap_err().to_string();
    assert!(error.contains(r#"serves no kind "gadget""#), "{error}");
    let error = asked.client.why_not("noop", "configmap/a").await.unwrap_err().to_string();
    assert!(error.contains("name it as configmap/NAMESPACE/a"), "{error}");
    let client = &asked.client;
    let raw = |path: &'static str| async move { client.get(path).await.unwrap_err().to_string() };
    assert!(raw("/why").await.contains("object"));
    assert!(raw("/why?object=a/b&more=1").await.contains("more"));
}

/// One finding that blocks: its stage, and a part of its text.
fn blocks(view: &WhyNotView, stage: &str, part: &str) -> bool {
    view.findings.iter().any(|finding| finding.blocks && finding.stage == stage && finding.text.contains(part))
}

async fn why_not(asked: &Asked, hook: &str, name: &str, stage: &str, part: &str) {
    let object = if name.contains('/') { name.to_owned() } else { format!("configmap/default/{name}") };
    let ask = async |client: &Client| client.why_not(hook, &object).await;
    asked
        .until(&format!("{hook} does not run for {object} because of {stage}: {part}"), ask, |view| {
            blocks(view, stage, part)
        })
        .await;
}

const SELECTORS: &str = r#"
configVersion: v1
kubernetes:
- name: labels
  apiVersion: v1
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [default]}}
  labelSelector: {matchLabels: {test: "yes"}}
"#;

const NAMES: &str = r#"
configVersion: v1
kubernetes:
- {name: named, apiVersion: v1, kind: ConfigMap, nameSelector: {matchNames: [other]}}
"#;

const FIELDS: &str = r#"
configVersion: v1
kubernetes:
- name: fields
  apiVersion: v1
  kind: ConfigMap
  fieldSelector: {matchExpressions: [{field: metadata.namespace, operator: NotEquals, value: default}]}
"#;

const SPACES: &str = r#"
configVersion: v1
kubernetes:
- {name: spaces, apiVersion: v1, kind: ConfigMap, namespace: {labelSelector: {matchLabels: {team: a}}}}
"#;

#[tokio::test]
async fn each_selector_is_named() {
    let says = |document: &str| hook(document, &Deed::Says("ran"));
    let asked = Asked::start(&[
        ("labels", says(SELECTORS)),
        ("names", says(NAMES)),
        ("fields", says(FIELDS)),
        ("spaces", says(SPACES)),
    ])
    .await;
    asked.pipeline.create(config_map("a", ("test", "no"), json!({}))).await;
    why_not(&asked, "labels", "a", "selector", "does not match its labelSelector test=yes").await;
    why_not(&asked, "labels", "configmap/kube-system/a", "selector", "watches other namespaces: default").await;
    why_not(&asked, "labels", "missing", "selector", "the object does not exist").await;
    why_not(&asked, "names", "a", "selector", "its nameSelector does not name the object: other").await;
    why_not(&asked, "fields", "a", "selector", "does not match its fieldSelector metadata.namespace!=default").await;
    why_not(&asked, "spaces", "a", "selector", "namespace default does not match its selector team=a").await;
    why_not(&asked, "labels", "secret/default/a", "kind", "watches Secret").await;
}

const EVENTS: &str = r#"
configVersion: v1
kubernetes:
- name: maps
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchLabels: {test: "yes"}}
  executeHookOnEvent: [Added]
  executeHookOnSynchronization: false
  jqFilter: if .data.fail then error("no " + .data.fail) else .data.seen end
"#;

#[tokio::test]
async fn what_the_binding_made_of_the_last_change_is_told() {
    let asked = Asked::unready(&[("events", hook(EVENTS, &Deed::Says("ran")))]).await;
    asked.pipeline.create(config_map("before", ("test", "yes"), json!({"seen": "1"}))).await;
    asked.pipeline.operator.ready().await;
    let of = |name: &str, data: Value| config_map(name, ("test", "yes"), data);
    asked.pipeline.create(of("a", json!({"seen": "1"}))).await;
    asked.pipeline.operator.said("events", "ran").await;
    let object = "configmap/default/a";
    let view = asked.client.why_not("events", object).await.unwrap();
    assert!(view.findings.iter().all(|finding| !finding.blocks), "{view:?}");
    assert!(view.findings.iter().any(|finding| finding.text.contains("became the event Added")), "{view:?}");
    asked.pipeline.apply(of("a", json!({"seen": "1", "unseen": "2"}))).await;
    why_not(&asked, "events", "a", "filter", "did not change the result of its jqFilter").await;
    asked.pipeline.apply(of("a", json!({"seen": "2"}))).await;
    why_not(&asked, "events", "a", "events", "is Modified, which its executeHookOnEvent does not name").await;
    asked.pipeline.apply(of("a", json!({"fail": "way"}))).await;
    why_not(&asked, "events", "a", "filter", "no way").await;
}

const LATE: &str = r#"
configVersion: v1
kubernetes:
- {name: before, apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {test: "yes"}}, executeHookOnSynchronization: false}
- {name: widgets, apiVersion: example.com/v1, kind: Widget}
"#;

#[tokio::test]
async fn starts_pauses_and_what_was_there_before_are_told() {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&config_map("old", ("test", "yes"), json!({}))).await.unwrap();
    let asked = Asked::on(cluster, &[("late", hook(LATE, &Deed::Says("ran")))]).await;
    why_not(&asked, "late", "old", "events", "was there before the hook").await;
    why_not(&asked, "late", "old", "start", "binding widgets is pending").await;
    let ask = async |client: &Client| client.command("late", "pause").await;
    asked.until("the hook is paused", ask, |()| true).await;
    asked.pipeline.create(config_map("new", ("test", "yes"), json!({}))).await;
    why_not(&asked, "late", "new", "hook", "it is paused").await;
    why_not(&asked, "late", "new", "queue", "the end of the hook's pause").await;
}

fn slow(more: &str) -> String {
    format!(
        "configVersion: v1\n{more}kubernetes:\n- {{name: maps, apiVersion: v1, kind: ConfigMap, \
         labelSelector: {{matchLabels: {{test: 'yes'}}}}, executeHookOnSynchronization: false{}}}\n",
        if more.is_empty() { ", debounce: 10m" } else { "" }
    )
}

#[tokio::test]
async fn debounce_rate_and_runs_under_way_are_told() {
    let rate = slow("settings: {executionMinInterval: 1h, executionBurst: 1}\n");
    let may = "permissions: {kubernetes: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]}\n";
    let waits = slow(may);
    let hooks = [
        ("debounced", hook(&slow(""), &Deed::Says("ran"))),
        ("rated", hook(&rate, &Deed::Says("ran"))),
        ("busy", hook(&waits, &Deed::WaitsFor("never"))),
    ];
    let asked = Asked::start(&hooks).await;
    asked.pipeline.create(config_map("a", ("test", "yes"), json!({}))).await;
    asked.pipeline.operator.said("busy", "begin").await;
    asked.pipeline.operator.said("rated", "ran").await;
    asked.pipeline.create(config_map("b", ("test", "yes"), json!({}))).await;
    why_not(&asked, "debounced", "a", "queue", "waits for the object to be quiet (debounce)").await;
    why_not(&asked, "rated", "b", "queue", "the rate limit of the hook").await;
    why_not(&asked, "busy", "b", "queue", "the run that is under way in its queue").await;
    let view = asked.client.why_not("rated", "configmap/default/a").await.unwrap();
    assert!(
        view.findings.iter().any(|finding| finding.stage == "run" && finding.text.contains("succeeded")),
        "{view:?}"
    );
    asked.pipeline.create(config_map("never", ("for", "busy"), json!({}))).await;
}

#[tokio::test]
async fn failures_and_filters_without_memory_are_told() {
    let hungry = format!(
        "configVersion: v1\nkubernetes:\n- {{name: maps, apiVersion: v1, kind: ConfigMap, \
         labelSelector: {{matchLabels: {{test: 'yes'}}}}, jqFilter: '{HUNGRY}'}}\n"
    );
    let mut hooks = guests(["fail", "meddle"]);
    hooks.push(("hungry", hook(&hungry, &Deed::Says("ran"))));
    let (cluster, directory) = (TestCluster::start().await, tempfile::tempdir().unwrap());
    let (socket, memory) = (socket_in(directory.path()), Pool::new(512 << 20));
    let pipeline = Pipeline::on(cluster, &hooks, |options| {
        options.admin_socket = Some(Socket::At(socket.clone()));
        options.sandbox.filters.memory = memory.clone();
    })
    .await;
    let asked = Asked { pipeline, client: Client::new(vec![socket]), directory };
    asked.pipeline.operator.ready().await;
    asked.pipeline.create(config_map("bad", ("test", "fail"), json!({"mode": "permanent"}))).await;
    why_not(&asked, "fail", "bad", "queue", "boathook dead-letters retry").await;
    let view = asked.client.why_not("fail", "configmap/default/bad").await.unwrap();
    assert!(
        view.findings.iter().any(|finding| finding.stage == "run" && finding.text.contains("asked to fail")),
        "{view:?}"
    );
    let own = json!({"deed": "patch"});
    asked.pipeline.create(config_map("own", ("meddle", "true"), own)).await;
    why_not(&asked, "meddle", "own", "events", "the hook made the last change").await;
    let taken = crowded(&memory);
    asked.pipeline.create(config_map("big", ("test", "yes"), json!({}))).await;
    why_not(&asked, "hungry", "big", "filter", "could not run on the newest state yet").await;
    drop(taken);
}

//! What a hook receives about objects, where it depends on the API server: kinds, selectors, changes.
//! It never looks at what a hook writes.

pub mod told;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::harness::{Operator, Test, eventually};
use crate::objects::{Labels, create_namespace, delete, label_namespace, merge, meta};
use told::{changes_up_to, told, write_hooks};

fn maps(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

async fn create(client: &Client, namespace: &str, name: &str, labels: Labels<'_>) {
    let map = ConfigMap { metadata: meta(name, labels), ..ConfigMap::default() };
    let created = maps(client, namespace).create(&PostParams::default(), &map).await;
    created.unwrap_or_else(|error| panic!("create ConfigMap {namespace}/{name}: {error}"));
}

/// A document with one binding to ConfigMaps.
fn document(more: &str) -> String {
    format!("configVersion: v1\nkubernetes: [{{name: maps, apiVersion: v1, kind: ConfigMap, {more}}}]\n")
}

async fn start(test: &Test, hooks: &[(&str, String)]) -> Operator {
    write_hooks(test, hooks);
    let operator = test.operator_with(&test.shared().await.cluster.kubeconfig, &[]).await;
    operator.ready().await;
    operator
}

pub async fn selectors_choose(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let (one, two, three) = (test.name("one"), test.name("two"), test.name("three"));
    for namespace in [&one, &two, &three] {
        create_namespace(client, namespace, &[]).await;
    }
    let labelled = "labelSelector: {matchLabels: {selectors: 'yes'}}";
    let in_one = format!("namespace: {{nameSelector: {{matchNames: [{one}]}}}}");
    let expressions = "[{key: tier, operator: In, values: [a, b]}, {key: env, operator: NotIn, values: [dev]}, \
                       {key: needed, operator: Exists}, {key: unwanted, operator: DoesNotExist}]";
    let fields = "[{field: metadata.name, operator: NotEquals, value: not-this}, \
                  {field: metadata.namespace, operator: Equals, value: ";
    let hooks = [
        ("names", document(&format!("nameSelector: {{matchNames: [first, second]}}, {in_one}"))),
        ("labels", document(&format!("labelSelector: {{matchExpressions: {expressions}}}, {in_one}"))),
        ("fields", document(&format!("{labelled}, fieldSelector: {{matchExpressions: {fields}{two}}}]}}"))),
        ("namespaces", document(&format!("{labelled}, namespace: {{nameSelector: {{matchNames: [{one}, {two}]}}}}"))),
    ];
    let operator = start(&test, &hooks).await;

    create(client, &one, "third", &[]).await;
    create(client, &one, "first", &[]).await;
    changes_up_to(&operator, "names", "Added first").await;
    create(client, &one, "second", &[]).await;
    assert_eq!(changes_up_to(&operator, "names", "Added second").await, ["Added first", "Added second"]);

    let all: Labels<'_> = &[("tier", "b"), ("env", "prod"), ("needed", "x")];
    create(client, &one, "tier-c", &[("tier", "c"), ("env", "prod"), ("needed", "x")]).await;
    create(client, &one, "env-dev", &[("tier", "a"), ("env", "dev"), ("needed", "x")]).await;
    create(client, &one, "not-needed", &[("tier", "a"), ("env", "prod")]).await;
    create(client, &one, "unwanted", &[("tier", "a"), ("needed", "x"), ("unwanted", "x")]).await;
    create(client, &one, "without-env", &[("tier", "a"), ("needed", "x")]).await;
    create(client, &one, "all", all).await;
    assert_eq!(changes_up_to(&operator, "labels", "Added all").await, ["Added without-env", "Added all"]);

    for (namespace, name) in [(&three, "in-three"), (&two, "not-this"), (&one, "in-one"), (&two, "in-two")] {
        create(client, namespace, name, &[("selectors", "yes")]).await;
    }
    assert_eq!(changes_up_to(&operator, "fields", "Added in-two").await, ["Added in-two"]);
    changes_up_to(&operator, "namespaces", "Added in-two").await;
    let mut both = changes_up_to(&operator, "namespaces", "Added in-one").await;
    // One stream a namespace: nothing is promised of the order between them.
    both.sort();
    assert_eq!(both, ["Added in-one", "Added in-two", "Added not-this"]);
    operator.stop().await;
}

pub async fn changes_are_reported(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let namespace = test.name("x");
    create_namespace(client, &namespace, &[]).await;
    let labels: Labels<'_> = &[("changes", "yes")];
    create(client, &namespace, "before", labels).await;
    let of = format!(
        "labelSelector: {{matchLabels: {{changes: 'yes'}}}}, namespace: {{nameSelector: {{matchNames: [{namespace}]}}}}"
    );
    let hooks = [("filtered", document(&format!("jqFilter: .data, {of}"))), ("whole", document(&of))];
    let operator = start(&test, &hooks).await;
    for hook in ["filtered", "whole"] {
        let first = &told(&operator, hook)[0];
        assert_eq!(first["type"], "Synchronization", "{first}");
        let known: Vec<_> = first["snapshots"]["maps"].as_object().expect("a snapshot").keys().collect();
        assert_eq!(known, [&format!("{namespace}/before")]);
    }

    let api = maps(client, &namespace);
    create(client, &namespace, "a", labels).await;
    merge(&api, "a", json!({"data": {"n": "1"}})).await;
    // Only for those who see it.
    merge(&api, "a", json!({"metadata": {"annotations": {"note": "x"}}})).await;
    // Another manager of the same field: the server writes metadata that nobody asked for.
    let same = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"n": "1"}});
    let applied = api.patch("a", &PatchParams::apply("somebody-else"), &Patch::Apply(same)).await.expect("apply");
    assert!(applied.metadata.managed_fields.is_some_and(|fields| fields.len() > 1), "the managers are noted");
    // The same name, another object.
    delete(&api, "a").await;
    create(client, &namespace, "a", labels).await;
    // It stops to match, and matches again.
    merge(&api, "a", json!({"metadata": {"labels": {"changes": "no"}}})).await;
    merge(&api, "a", json!({"metadata": {"labels": {"changes": "yes"}}})).await;
    create(client, &namespace, "last", labels).await;

    let filtered = changes_up_to(&operator, "filtered", "Added last").await;
    let rest = ["Deleted a", "Added a", "Deleted a", "Added a", "Added last"];
    assert_eq!(filtered, [&["Added a", "Modified a"], &rest[..]].concat());
    let whole = changes_up_to(&operator, "whole", "Added last").await;
    assert_eq!(whole, [&["Added a", "Modified a", "Modified a"], &rest[..]].concat());
    operator.stop().await;
}

pub async fn kinds_are_found(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let binding = |kind: &str| format!("configVersion: v1\nkubernetes: [{{name: gadgets, {kind}}}]\n");
    let hooks = [
        ("by-short-name", binding("kind: paga")),
        ("by-plural", binding("apiVersion: parity.example.com/v1, kind: PARITYGADGETS")),
        ("by-kind", binding("kind: paritygadget")),
        ("builtin", binding("kind: cm, labelSelector: {matchLabels: {kinds: 'yes'}}")),
    ];
    write_hooks(&test, &hooks);
    let operator = test.operator_with(&test.shared().await.cluster.kubeconfig, &[]).await;
    // The kind is not there yet. Who needs another does not wait for it.
    for (hook, _) in &hooks[..3] {
        let pending = |line: &Value| line["hook"] == *hook && line["binding"] == "gadgets" && is_pending(line);
        operator.logs("that the binding is pending", pending).await;
    }
    let namespace = test.name("x");
    create_namespace(client, &namespace, &[]).await;
    create(client, &namespace, "a", &[("kinds", "yes")]).await;
    eventually("the neighbour is told of its object", async || {
        let told = told(&operator, "builtin").iter().any(|line| line.to_string().contains(&format!("{namespace}/a")));
        let changes = told::changes(&operator, "builtin");
        if told || changes == ["Added a"] { Ok(()) } else { Err(format!("{changes:?}")) }
    })
    .await;

    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    definitions.create(&PostParams::default(), &gadgets()).await.expect("define a kind");
    operator.ready().await;
    let kind = GroupVersionKind::gvk("parity.example.com", "v1", "ParityGadget");
    let resource = ApiResource::from_gvk_with_plural(&kind, "paritygadgets");
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &resource);
    api.create(&PostParams::default(), &DynamicObject::new("g", &resource)).await.expect("create a custom resource");
    for (hook, _) in &hooks[..3] {
        assert_eq!(changes_up_to(&operator, hook, "Added g").await, ["Added g"], "{hook}");
    }
    // The kind goes, and its objects with it; it comes back empty, and is followed again.
    let name = "paritygadgets.parity.example.com";
    delete(&definitions, name).await;
    for (hook, _) in &hooks[..3] {
        assert_eq!(changes_up_to(&operator, hook, "Deleted g").await, ["Added g", "Deleted g"], "{hook}");
    }
    eventually("the definition is gone", async || match definitions.get_opt(name).await {
        Ok(None) => Ok(()),
        found => Err(format!("{found:?}")),
    })
    .await;
    definitions.create(&PostParams::default(), &gadgets()).await.expect("define the kind again");
    eventually("an object of the kind can be created", async || {
        api.create(&PostParams::default(), &DynamicObject::new("h", &resource)).await.map_err(|error| error.to_string())
    })
    .await;
    for (hook, _) in &hooks[..3] {
        let all = changes_up_to(&operator, hook, "Added h").await;
        assert_eq!(all, ["Added g", "Deleted g", "Added h"], "{hook}");
    }
    operator.stop().await;
}

pub async fn namespaces_come_and_go_with_their_labels(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let (one, two) = (test.name("one"), test.name("two"));
    create_namespace(client, &one, &[("chosen", "yes")]).await;
    create_namespace(client, &two, &[]).await;
    let labels = "labelSelector: {matchLabels: {by-namespace: 'yes'}}";
    let chosen = "labelSelector: {matchLabels: {chosen: 'yes'}}";
    let hooks = [
        ("by-label", document(&format!("{labels}, namespace: {{{chosen}}}"))),
        ("by-both", document(&format!("{labels}, namespace: {{{chosen}, nameSelector: {{matchNames: [{two}]}}}}"))),
    ];
    let operator = start(&test, &hooks).await;
    create(client, &one, "in-one", &[("by-namespace", "yes")]).await;
    create(client, &two, "in-two", &[("by-namespace", "yes")]).await;
    assert_eq!(changes_up_to(&operator, "by-label", "Added in-one").await, ["Added in-one"]);
    label_namespace(client, &two, "chosen", Some("yes")).await;
    for hook in ["by-label", "by-both"] {
        changes_up_to(&operator, hook, "Added in-two").await;
    }
    label_namespace(client, &two, "chosen", None).await;
    let rest = ["Added in-two", "Deleted in-two"];
    let all = changes_up_to(&operator, "by-label", "Deleted in-two").await;
    assert_eq!(all, [&["Added in-one"], &rest[..]].concat());
    assert_eq!(changes_up_to(&operator, "by-both", "Deleted in-two").await, rest);
    operator.stop().await;
}

pub async fn metadata_is_enough(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let namespace = test.name("x");
    create_namespace(client, &namespace, &[]).await;
    let labels: Labels<'_> = &[("metadata", "yes")];
    create(client, &namespace, "before", labels).await;
    let of = "jqFilter: .metadata.labels, labelSelector: {matchLabels: {metadata: 'yes'}}, content: metadata";
    let operator = start(&test, &[("metadata", document(of))]).await;
    let first = &told(&operator, "metadata")[0];
    assert_eq!(first["snapshots"]["maps"][format!("{namespace}/before")], json!({"metadata": "yes"}), "{first}");
    create(client, &namespace, "a", labels).await;
    let api = maps(client, &namespace);
    merge(&api, "a", json!({"data": {"n": "1"}})).await;
    merge(&api, "a", json!({"metadata": {"labels": {"more": "yes"}}})).await;
    assert_eq!(changes_up_to(&operator, "metadata", "Modified a").await, ["Added a", "Modified a"]);
    let last = told(&operator, "metadata").pop().expect("it was told");
    let object = &last["object"];
    // What comes over the wire is of another kind; hooks see the object's own.
    assert_eq!((&object["apiVersion"], &object["kind"]), (&json!("v1"), &json!("ConfigMap")), "{last}");
    assert_eq!((&object["metadata"]["labels"]["more"], &object["data"]), (&json!("yes"), &Value::Null), "{last}");
    operator.stop().await;
}

pub async fn failed_runs_are_seen_as_events(test: Arc<Test>) {
    let client = &test.shared().await.cluster.client;
    let namespace = test.name("x");
    create_namespace(client, &namespace, &[]).await;
    let regarding = format!("{{apiVersion: v1, kind: ConfigMap, namespace: {namespace}, name: board}}");
    let of = "jqFilter: .data, labelSelector: {matchLabels: {fails: 'yes'}}";
    let document = format!("{}failureEvents: {{regarding: {regarding}}}\n", document(of));
    let operator = start(&test, &[("failing", document)]).await;
    let data = [("fail".to_owned(), "permanent".to_owned())];
    let map = ConfigMap { metadata: meta("bad", &[("fails", "yes")]), data: Some(data.into()), ..ConfigMap::default() };
    maps(client, &namespace).create(&PostParams::default(), &map).await.expect("create a ConfigMap");
    let events = Api::<Event>::namespaced(client.clone(), &namespace);
    let event = eventually("there is an Event", async || {
        let found = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        found
            .items
            .into_iter()
            .find(|event| event.reason.as_deref() == Some("TriggersGivenUp"))
            .ok_or("none".to_owned())
    })
    .await;
    let regarding = event.regarding.expect("it is about an object");
    assert_eq!((regarding.kind.as_deref(), regarding.name.as_deref()), (Some("ConfigMap"), Some("board")));
    let note = event.note.expect("it says something");
    assert!(note.contains("hook failing") && note.contains("asked to fail for good"), "{note}");
    operator.stop().await;
}

fn is_pending(line: &Value) -> bool {
    line["message"].as_str().is_some_and(|message| message.contains("pending"))
}

fn gadgets() -> CustomResourceDefinition {
    let definition = json!({
        "metadata": {"name": "paritygadgets.parity.example.com"},
        "spec": {
            "group": "parity.example.com",
            "scope": "Namespaced",
            "names": {"plural": "paritygadgets", "singular": "paritygadget", "kind": "ParityGadget", "shortNames": ["paga"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    serde_json::from_value(definition).expect("a definition")
}

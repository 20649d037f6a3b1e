//! Hooks that answer, on the in-memory host: requests and conversions as a cluster would ask them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_sdk::admission::Operation;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use boathook_sdk::testing::{Asked, Kit};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn config() -> Config {
    let maps = Kubernetes::new("maps").api_version("v1").kind("ConfigMap").group("all");
    let rule = || Rule::new(["CREATE", "UPDATE", "DELETE"], ["configmaps"]);
    Config::new()
        .kubernetes(maps)
        .validating(Validating::new("v.example.com").rule(rule()).include_snapshots_from(["maps"]))
        .mutating(Mutating::new("m.example.com").rule(rule()).group("all"))
        .conversion(Conversion::new("c", "things.example.com").step("v1", "v2"))
        .permission(Permission::new().resources(["configmaps"]).verbs(["create"]))
}

fn map(name: &str, data: Value) -> Value {
    let metadata = json!({"namespace": "web", "name": name});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

fn kit() -> Kit {
    let mut kit = Kit::answering(config);
    kit.given(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}));
    kit
}

/// Says how many there are; denies deletions.
fn validate(review: Review) -> Result<Verdict> {
    if review.operation == Operation::Delete {
        let old: kube::Object = review.old_object()?.unwrap();
        return Ok(Verdict::deny(format!("{} stays", old.name())).code(409).reason("Conflict"));
    }
    let others = snapshots::open("maps")?.len();
    Ok(Verdict::allow().warn(format!("{} has {others} for {}", review.resource.resource, review.user.username)))
}

fn mutate(review: Review) -> Result<Mutation> {
    snapshots::open("maps")?;
    kube::Operation::create_object(&map("log", json!({}))).run()?;
    match review.name.as_str() {
        "same" => Ok(Mutation::unchanged()),
        "patched" => Ok(Mutation::patch(&json!([{"op": "add", "path": "/data/b", "value": "2"}]))?),
        "misfit" => Ok(Mutation::patch(&json!([{"op": "remove", "path": "/none"}]))?),
        "denied" => Ok(Verdict::deny("no").into()),
        _ => Err(Error::permanent("nothing to say")),
    }
}

fn convert(request: conversion::Request) -> Result<conversion::Converted> {
    request.each(|thing| match thing["spec"].take() {
        Value::Null => Err(Error::permanent("it has no spec")),
        spec => {
            thing["spec"] = json!({"in": spec, "to": request.to});
            Ok(())
        }
    })
}

#[test]
fn a_review_sees_request_and_snapshots() {
    let mut kit = kit();
    kit.given(&map("a", json!({})));
    let ran = kit.validate(validate, Asked::create("v.example.com", &map("b", json!({}))).user("jane", ["g"]));
    assert_eq!(ran.answer().warnings, ["configmaps has 1 for jane"]);
    let ran = kit.validate(validate, Asked::delete("v.example.com", &map("a", json!({}))));
    let denied = ran.answer().denied.clone().unwrap();
    assert_eq!(
        (denied.message.as_str(), denied.code, denied.reason.as_deref()),
        ("a stays", Some(409), Some("Conflict"))
    );
}

#[test]
fn a_mutation_shows_the_object_after_it_and_a_dry_run_keeps_no_writes() {
    let mut kit = kit();
    let mut asked = |name: &str| {
        let ran = kit.mutate(mutate, Asked::create("m.example.com", &map(name, json!({"a": "1"}))).dry_run());
        assert_eq!(ran.written(), ["create ConfigMap web/log"]);
        assert_eq!(kit.objects().count(), 1);
        ran
    };
    assert_eq!(asked("same").answer().object["data"], json!({"a": "1"}));
    assert_eq!(asked("patched").answer().object["data"], json!({"a": "1", "b": "2"}));
    assert!(!asked("denied").answer().verdict.is_allowed());
    assert_eq!(asked("other").error().to_string(), "nothing to say");
}

#[test]
fn each_object_is_converted_or_named() {
    let mut kit = Kit::answering(config);
    let thing = |name: &str, spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec});
    let ran = kit.convert(convert, "c", ("v1", "v2"), [thing("a", json!(1)), thing("b", json!(2))]);
    let found: Vec<_> = ran.answer().iter().map(|thing| (thing.api_version(), thing["spec"]["in"].clone())).collect();
    assert_eq!(found, [("example.com/v2", json!(1)), ("example.com/v2", json!(2))]);
    let ran = kit.convert(convert, "c", ("v1", "v2"), [thing("c", Value::Null)]);
    assert_eq!(ran.error().to_string(), "Thing c: it has no spec");
}

#[test]
fn a_question_that_can_not_be_is_told() {
    type Attempt = fn(&mut Kit);
    let tries: [(Attempt, &str); 4] = [
        (
            |kit| drop(kit.validate(validate, Asked::create("m.example.com", &map("a", json!({}))))),
            "no kubernetesValidating binding \"m.example.com\"",
        ),
        (
            |kit| drop(kit.mutate(mutate, Asked::create("v.example.com", &map("a", json!({}))))),
            "no kubernetesMutating binding",
        ),
        (
            |kit| drop(kit.mutate(mutate, Asked::create("m.example.com", &map("misfit", json!({}))))),
            "cannot be applied",
        ),
        (|kit| drop(kit.convert(convert, "c", ("v2", "v1"), [json!({})])), "with the step v2 to v1"),
    ];
    for (attempt, complaint) in tries {
        let result = catch_unwind(AssertUnwindSafe(|| attempt(&mut kit())));
        let error = result.expect_err("it panics");
        let text = error.downcast_ref::<String>().expect("a text");
        assert!(text.contains(complaint), "no {complaint:?} in {text}");
    }
}

#[test]
fn an_object_ends_when_the_hook_has_undone_its_work() {
    fn config() -> Config {
        let apps = Reconcile::new("apps", "example.com/v1", "App").owns("v1", "ConfigMap");
        Config::new().reconcile(apps.related(Related::by_name("key", "v1", "Secret", ".spec.keys[].name")))
    }
    fn reconcile(app: reconcile::Parent) -> Result<Desired> {
        let keys: Vec<_> =
            app.related("key").map(|key| Ok(key.object::<kube::Object>()?.name().to_owned())).collect::<Result<_>>()?;
        let page = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}});
        let made = reconcile::Event::warning("Made", "it is made");
        Ok(Desired::new().child(&page).status(&json!({"keys": keys})).event(made))
    }
    fn finalize(app: reconcile::Parent) -> Result<Finalized> {
        assert!(app.is_deleting());
        let left = app.children().len();
        let answer = if left == 0 { Finalized::done() } else { Finalized::not_yet() };
        Ok(answer.status(&json!({"left": left})).requeue_after(std::time::Duration::from_secs(1)))
    }
    let mut kit = Kit::answering(config);
    for (namespace, name) in [("shop", "a"), ("shop", "b"), ("other", "c")] {
        let metadata = json!({"namespace": namespace, "name": name});
        kit.given(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}));
    }
    let metadata = json!({"namespace": "shop", "name": "web"});
    let spec = json!({"keys": [{"name": "a"}, {"name": "c"}, {}]});
    let app = json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": metadata, "spec": spec});
    let app = kit.given(&app).object_ref();
    let made = kit.reconcile(reconcile, "apps", &app);
    assert_eq!(made.answer().status, json!({"keys": ["a"]}));
    assert!(made.answer().events[0].warns && made.answer().events[0].reason == "Made");
    let first = kit.finalize(finalize, "apps", &app);
    assert_eq!((first.answer().done, &first.answer().status), (false, &json!({"left": 1})));
    assert!(kit.find::<Value>(&ObjectRef::new("v1", "ConfigMap", "shop", "page")).is_none());
    let second = kit.finalize(finalize, "apps", &app);
    assert!(second.answer().done && kit.find::<Value>(&app).is_none());
}

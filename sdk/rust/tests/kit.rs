//! Hooks in the in-memory host of `boathook_sdk::testing`: what it shows of a hook, and where it is strict.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_sdk::kube::{EventType, IfExists, Object, Operation, Reason};
use boathook_sdk::metrics::{Group, Metric};
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use boathook_sdk::testing::{Change, Kit, Run, Verb};
use boathook_sdk::{clock, random, settings, values};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, UNIX_EPOCH};

fn config() -> Config {
    let secrets = Kubernetes::new("secrets")
        .api_version("v1")
        .kind("Secret")
        .label("copy", "yes")
        .jq_filter(".data")
        .content(Content::Metadata)
        .previous_object(true);
    let pods = Kubernetes::new("pods").kind("pods").namespace_labels(Labels::new().exists("team")).group("all");
    let all = ["get", "list", "create", "update", "patch", "delete"];
    Config::new()
        .on_startup(1)
        .kubernetes(secrets)
        .kubernetes(pods)
        .schedule(Schedule::new("@hourly").name("hourly").include_snapshots_from(["secrets"]))
        .permission(Permission::new().resources(["configmaps", "events", "pods/eviction", "pods"]).verbs(all))
        .permission(Permission::new().resources(["nodes", "nodes/status"]).verbs(["get", "patch"]).names(["n1"]))
}

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "m"}, "data": data})
}

fn map_ref() -> ObjectRef {
    ObjectRef::new("v1", "ConfigMap", "default", "m")
}

fn secret(data: Value) -> Value {
    let metadata = json!({"namespace": "default", "name": "s", "labels": {"copy": "yes"}});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
}

/// A kit whose start-up runs this.
fn started(run: fn(Context) -> Result<()>) -> Kit {
    let mut kit = Kit::new(config, run);
    kit.filter("secrets", |secret| secret["data"].clone());
    kit
}

fn told(result: std::thread::Result<()>) -> String {
    let error = result.expect_err("it panics");
    error.downcast_ref::<String>().expect("a text").clone()
}

#[test]
fn an_event_delivers_what_the_binding_asks_for() {
    fn run(ctx: Context) -> Result<()> {
        let Some(event) = ctx.events("secrets").next() else { return Err(Error::permanent("no event")) };
        let object: Object = event.object()?;
        log::info!("{:?} {} {}", event.change, event.filter_result::<Value>()?, object.get("data").is_none());
        let before: Option<Value> = event.previous_filter_result()?;
        let whole: Option<Object> = event.previous_object()?;
        log::info!("before: {before:?} {:?}", whole.map(|object| object.name().to_owned()));
        let items: Vec<_> = snapshots::open("secrets")?.iter().map(|item| item.name).collect();
        log::info!("attempt {}: {items:?}", ctx.info.attempt);
        Ok(())
    }
    let mut kit = started(run);
    let ran = kit.run(Run::new().added("secrets", &secret(json!({"a": "1"})))).ok();
    let messages: Vec<_> = ran.log.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(messages, [r#"Added {"a":"1"} true"#, "before: None None", r#"attempt 1: ["s"]"#]);
    let ran = kit.run(Run::new().modified("secrets", &secret(json!({"a": "2"}))).attempt(2)).ok();
    assert!(ran.logged(r#"before: Some(Object {"a": String("1")}) Some("s")"#), "{:?}", ran.log);
    assert!(ran.logged("attempt 2"));
    let ran = kit.run(Run::new().deleted("secrets", &secret(json!({"a": "2"})))).ok();
    assert!(ran.logged(r#"Deleted {"a":"2"}"#) && ran.logged("attempt 1: []"), "{:?}", ran.log);
    assert_eq!(kit.objects().count(), 0);
}

#[test]
fn groups_schedules_and_selectors_are_the_documents() {
    fn run(ctx: Context) -> Result<()> {
        for trigger in &ctx.triggers {
            log::info!("{} {:?} {:?}", trigger.binding, trigger.cause, trigger.snapshots);
        }
        snapshots::open("pods")?;
        Ok(())
    }
    let mut kit = started(run);
    kit.given(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": {"team": "a"}}}));
    let pod =
        |namespace: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": "p"}});
    let ran = kit.run(Run::new().added("pods", &pod("web"))).ok();
    assert!(ran.logged(r#"pods Group("all") ["pods"]"#), "{:?}", ran.log);
    let at = UNIX_EPOCH + Duration::from_secs(60);
    let ran = kit.run(Run::new().schedule_at("hourly", at, 3));
    assert!(ran.logged("missed: 3"), "{:?}", ran.log);
    assert!(ran.error().to_string().contains("it can open: secrets"), "{:?}", ran.error());
    let elsewhere = told(catch_unwind(AssertUnwindSafe(|| drop(kit.run(Run::new().added("pods", &pod("default")))))));
    assert!(elsewhere.contains("does not select Pod default/p"), "{elsewhere}");
}

#[test]
fn writes_do_what_they_do_in_a_cluster() {
    fn run(_: Context) -> Result<()> {
        Operation::create_object(&map(json!({"a": "1"}))).run()?;
        let kept = Operation::create_object(&map(json!({}))).if_exists(IfExists::Keep).run()?;
        assert!(kept.is_none());
        assert!(Operation::create_object(&map(json!({}))).run().unwrap_err().is_already_exists());
        Operation::merge_patch(map_ref(), &json!({"data": {"a": null, "b": "2"}})).run()?;
        Operation::json_patch(map_ref(), &json!([{"op": "add", "path": "/data/c", "value": "3"}])).run()?;
        let found: Object = kube::get_object(&map_ref())?;
        assert_eq!(found["data"], json!({"b": "2", "c": "3"}));
        let mut old = found.clone();
        old["data"] = json!({"d": "4"});
        Operation::update_object(&old).run()?;
        let conflict = Operation::update_object(&found).run().unwrap_err();
        assert!(conflict.is_conflict() && conflict.code() == Some(409));
        Operation::apply_object(&map(json!({"e": "5"}))).run()?;
        Operation::apply_object(&map(json!({}))).run()?;
        let wrong = Operation::delete(map_ref()).if_uid("another").run().unwrap_err();
        assert!(wrong.is_conflict());
        Operation::create_object(&map(json!({"new": "1"}))).if_exists(IfExists::Replace).run()?;
        Operation::delete(map_ref()).run()?;
        assert!(Operation::delete(map_ref()).run().unwrap_err().is_not_found());
        Operation::delete(map_ref()).ignore_missing().run()?;
        assert!(kube::find_object::<Object>(&map_ref())?.is_none());
        Ok(())
    }
    let mut kit = started(run);
    let ran = kit.run(Run::new().startup()).ok();
    let verbs: Vec<_> = ran.writes.iter().map(|write| write.verb).collect();
    assert_eq!(verbs[..4], [Verb::Create, Verb::Create, Verb::Create, Verb::Patch]);
    assert_eq!(ran.written()[2], "create ConfigMap default/m: already-exists");
    assert_eq!(ran.writes[3].object::<Object>().unwrap().unwrap()["data"], json!({"b": "2"}));
    assert_eq!(ran.writes[3].sent::<Value>().unwrap(), json!({"data": {"a": null, "b": "2"}}));
    assert_eq!(ran.writes[7].object::<Object>().unwrap().unwrap()["data"], json!({"d": "4", "e": "5"}));
    assert_eq!(ran.writes[8].object::<Object>().unwrap().unwrap()["data"], json!({"d": "4"}));
}

#[test]
fn status_finalizers_namespaces_and_evictions() {
    fn run(_: Context) -> Result<()> {
        let node = ObjectRef::new("v1", "Node", None, "n1");
        Operation::merge_patch(node.clone(), &json!({"status": {"phase": "x"}, "spec": {"unschedulable": true}}))
            .run()?;
        Operation::merge_patch(node, &json!({"status": {"phase": "y"}, "spec": null})).subresource("status").run()?;
        Operation::delete(map_ref()).run()?;
        let late = Operation::delete(map_ref()).wait(Duration::from_secs(1)).run().unwrap_err();
        assert_eq!(late.reason(), Reason::Timeout);
        Operation::merge_patch(map_ref(), &json!({"metadata": {"finalizers": null}})).run()?;
        let pod = ObjectRef::new("v1", "Pod", "default", "p");
        Operation::create_subresource(pod, "eviction", &json!({"apiVersion": "policy/v1", "kind": "Eviction"}))
            .run()?;
        let mut elsewhere = map(json!({}));
        for (namespace, terminating) in [("gone", false), ("going", true)] {
            elsewhere["metadata"]["namespace"] = json!(namespace);
            let error = Operation::create_object(&elsewhere).run().unwrap_err();
            assert_eq!((error.is_not_found(), error.is_namespace_terminating()), (!terminating, terminating));
        }
        Ok(())
    }
    let mut kit = started(run);
    kit.given(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}));
    kit.given(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "p"}}));
    let going = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}, "status": {"phase": "Terminating"}});
    kit.given(&going);
    let mut held = map(json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    kit.given(&held);
    let ran = kit.run(Run::new().startup()).ok();
    assert!(ran.written().contains(&"create Pod default/p/eviction".to_owned()), "{:?}", ran.written());
    let node: Value = kit.find(&ObjectRef::new("v1", "Node", None, "n1")).unwrap();
    assert_eq!((&node["spec"], &node["status"]), (&json!({"unschedulable": true}), &json!({"phase": "y"})));
    let left: Vec<_> = kit.objects().map(|object| object.name()).collect();
    assert_eq!(left, ["going", "n1"]);
}

#[test]
fn lists_are_chosen_and_paged() {
    fn run(_: Context) -> Result<()> {
        let pods = kube::list_objects::<Object>("v1", "Pod").labels("app in (web)").fields("spec.n=1").page_size(2);
        let names: Vec<_> = pods.all()?.iter().map(|pod| pod.name().to_owned()).collect();
        log::info!("{names:?}");
        assert!(kube::list_objects::<Object>("v1", "Pod").labels("a b").all().unwrap_err().is_invalid());
        Ok(())
    }
    let mut kit = started(run);
    for n in 0..6 {
        let metadata = json!({"namespace": "web", "name": format!("p{n}"), "labels": {"app": "web"}});
        kit.given(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"n": i32::from(n != 3)}}));
    }
    assert!(kit.run(Run::new().startup()).ok().logged(r#"["p0", "p1", "p2", "p4", "p5"]"#));
}

#[test]
fn what_the_document_does_not_ask_for_is_forbidden() {
    fn run(_: Context) -> Result<()> {
        kube::find_object::<Object>(&ObjectRef::new("v1", "Node", None, "n2"))?;
        Ok(())
    }
    let mut kit = started(run);
    let ran = kit.run(Run::new().startup());
    assert!(ran.error().is_permanent());
    let text = ran.error().to_string();
    assert!(
        text.contains(r#"may not get nodes "n2": add {apiGroups: [""], resources: [nodes], verbs: [get]}"#),
        "{text}"
    );
    kit.without_grants();
    kit.run(Run::new().startup()).ok();
}

#[test]
fn a_test_can_have_writes_fail_and_snapshots_be_behind() {
    fn run(ctx: Context) -> Result<()> {
        let stale = snapshots::open("secrets")?.get("default", "s").map(|item| item.resource_version);
        log::info!("{stale:?}");
        if ctx.info.attempt == 1 {
            kube::emit_event(&map_ref(), EventType::Warning, "Tried", "once")?;
        }
        Ok(Operation::create_object(&map(json!({}))).run().map(drop)?)
    }
    let mut kit = started(run);
    let old = kit.given(&secret(json!({"a": "1"})));
    let new = kit.given(&secret(json!({"a": "2"})));
    assert_ne!(old.resource_version(), new.resource_version());
    kit.refuse(Verb::Create, &map_ref(), Reason::Unavailable);
    let woken = || Run::new().synchronization("secrets");
    let ran = kit.run(woken().snapshot("secrets", [&old]));
    assert!(!ran.error().is_permanent() && ran.logged(old.resource_version().unwrap()));
    assert_eq!(ran.written(), ["create ConfigMap default/m: unavailable"]);
    assert_eq!((ran.events[0].reason.as_str(), ran.events[0].event_type), ("Tried", EventType::Warning));
    let dry = kit.run(woken().dry_run()).ok();
    assert!(dry.writes[0].is_ok() && kit.find::<Value>(&map_ref()).is_none());
    let ran = kit.run(woken().attempt(2)).ok();
    assert!(ran.events.is_empty() && kit.find::<Value>(&map_ref()).is_some());
}

#[test]
fn metrics_count_when_a_run_succeeds() {
    fn run(ctx: Context) -> Result<()> {
        Metric::new("runs_total").label("kind", "a").inc()?;
        Metric::new("seconds").observe(0.2, &[0.1, 0.5])?;
        Group::new("pods").metric("pods").label("node", ctx.info.attempt).set(3)?;
        assert!(Metric::new("runs_total").set(1).is_err() && Metric::new("0").inc().is_err());
        if ctx.info.attempt == 2 { Err(Error::retry("later")) } else { Ok(()) }
    }
    let mut kit = started(run);
    for attempt in [1, 2, 3] {
        drop(kit.run(Run::new().startup().attempt(attempt)));
    }
    assert_eq!(kit.metric("runs_total", &[("kind", "a")]), Some(2.0));
    assert_eq!(kit.metric("seconds_bucket", &[("le", "0.1")]), Some(0.0));
    assert_eq!(kit.metric("seconds_bucket", &[("le", "0.5")]), Some(2.0));
    assert_eq!((kit.metric("seconds_count", &[]), kit.metric("seconds_sum", &[])), (Some(2.0), Some(0.4)));
    assert_eq!((kit.metric("pods", &[("node", "1")]), kit.metric("pods", &[("node", "3")])), (None, Some(3.0)));
}

#[test]
fn time_and_chance_and_settings_are_the_tests() {
    fn run(_: Context) -> Result<()> {
        let since = clock::now().duration_since(UNIX_EPOCH)?.as_secs();
        let wanted: Value = settings::get()?;
        log::info!("{since} {} {} {wanted}", random::number(), random::below(10));
        Operation::create_object(&map(json!({}))).if_exists(IfExists::Keep).run()?;
        Ok(())
    }
    let log = |kit: &mut Kit| kit.run(Run::new().startup()).ok().log[0].message.clone();
    let (mut one, mut other) = (started(run), started(run));
    one.settings(&json!({"a": 1}));
    other.settings(&json!({"a": 1}));
    let first = log(&mut one);
    assert!(first.starts_with("1767225600 ") && first.ends_with(r#" {"a":1}"#), "{first}");
    assert_eq!(first, log(&mut other));
    one.advance(Duration::from_secs(60));
    assert!(log(&mut one).starts_with("1767225660 "));
    let made: Value = one.find(&map_ref()).unwrap();
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
}

#[test]
fn what_the_host_can_not_do_fails_the_test_whatever_the_hook_makes_of_it() {
    fn run(_: Context) -> Result<()> {
        drop(Operation::jq_patch(map_ref(), ".data.a = 1").run());
        Ok(())
    }
    let mut kit = started(run);
    kit.given(&map(json!({})));
    let text = told(catch_unwind(AssertUnwindSafe(|| drop(kit.run(Run::new().startup())))));
    assert!(text.contains("cannot do a jq patch") && text.contains("boathook test"), "{text}");
}

#[test]
fn a_test_that_can_not_be_is_told_why() {
    fn run(_: Context) -> Result<()> {
        Ok(())
    }
    type Change = fn(&mut Kit);
    let tries: [(Change, &str); 6] = [
        (|kit| drop(kit.run(Run::new())), "at least one trigger"),
        (|kit| drop(kit.run(Run::new().schedule("daily"))), "no schedule \"daily\""),
        (|kit| drop(kit.run(Run::new().synchronization("nodes"))), "no kubernetes binding \"nodes\""),
        (|kit| drop(kit.run(Run::new().added("secrets", &secret(json!({}))))), "kit.filter(\"secrets\""),
        (|kit| drop(kit.given(&json!({"kind": "Secret"}))), "needs apiVersion, kind and metadata.name"),
        (
            |kit| drop(kit.given(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}))),
            "Pod needs a namespace",
        ),
    ];
    for (attempt, complaint) in tries {
        let mut kit = Kit::new(config, run);
        let text = told(catch_unwind(AssertUnwindSafe(|| attempt(&mut kit))));
        assert!(text.contains(complaint), "no {complaint:?} in {text}");
    }
}

#[cfg(feature = "test-yaml")]
#[test]
fn a_document_in_yaml_is_read() {
    fn run(_: Context) -> Result<()> {
        Ok(kube::Operation::delete(map_ref()).ignore_missing().run().map(drop)?)
    }
    let config = || {
        "configVersion: v1\nonStartup: 1\npermissions:\n  kubernetes:\n  - apiGroups: ['']\n    \
         resources: [configmaps]\n    verbs: [delete]\n"
    };
    Kit::new(config, run).run(Run::new().startup()).ok();
}

#[cfg(not(feature = "test-yaml"))]
#[test]
fn a_document_in_yaml_needs_a_feature() {
    fn run(_: Context) -> Result<()> {
        Ok(())
    }
    let text = told(catch_unwind(|| drop(Kit::new(|| "configVersion: v1\nonStartup: 1\n", run))));
    assert!(text.contains("test-yaml"), "{text}");
}

#[test]
fn http_is_answered_by_the_test_within_the_permissions() {
    use boathook_sdk::http::{Error as HttpError, ErrorKind, Request, Response};
    const ITEM: &str = "https://api.example.com/v1/items/1?full=yes";
    fn config() -> Config {
        let http = HttpPermission::new(["api.example.com"]).methods(["GET", "POST"]).paths(["/v1/items/*"]);
        Config::new().on_startup(1).http(http)
    }
    fn run(_: Context) -> Result<()> {
        let item: Value = Request::get(ITEM).send()?.ok()?.json()?;
        Request::post("https://api.example.com/v1/items/copies").json(&item)?.header("x-a", "b").send()?.ok()?;
        Ok(())
    }
    let mut kit = Kit::new(config, run);
    kit.http("GET", ITEM, Ok(Response::new(200, r#"{"name": "one"}"#)));
    kit.http("POST", "https://api.example.com/v1/items/copies", Ok(Response::new(201, "")));
    let ran = kit.run(Run::new().startup()).ok();
    let sent: Vec<_> = ran.sent.iter().map(|sent| (sent.method(), sent.content())).collect();
    assert_eq!(sent, [("GET", &b""[..]), ("POST", br#"{"name":"one"}"#)]);
    assert_eq!(ran.sent[1].header_value("Content-Type"), Some("application/json"));

    let down = HttpError::new(ErrorKind::Timeout, "too late");
    kit.http("GET", ITEM, Err(down));
    kit.run(Run::new().startup()).ok();
    let ran = kit.run(Run::new().startup());
    assert!(ran.error().to_string().contains("too late"), "{}", ran.error());

    fn other(_: Context) -> Result<()> {
        Request::delete("https://api.example.com/v1/items/1").send()?;
        Ok(())
    }
    let ran = Kit::new(config, other).run(Run::new().startup());
    assert!(ran.error().to_string().contains("methods: [DELETE]") && ran.sent.is_empty(), "{}", ran.error());
    let ran = Kit::new(config, run).run(Run::new().startup());
    assert!(ran.error().to_string().contains("Kit::http gives one"), "{}", ran.error());
}

#[test]
fn values_are_seen_and_what_a_run_changes_is_told() {
    fn run(_: Context) -> Result<()> {
        let seen: Value = values::get()?;
        let config: Value = values::config()?;
        values::set("/web/port", &json!([seen["web"]["port"], config["web"]["port"]]))?;
        values::remove("/web/old")?;
        values::set_config("/web/seen", "yes")?;
        values::remove_config("/web/gone")
    }
    let mut kit = started(run);
    let error = kit.run(Run::new().startup()).error().to_string();
    assert!(error.contains("belongs to no module"), "{error}");
    assert!(kit.changes().is_empty(), "the run has failed");
    kit.values(&json!({"global": {}, "web": {"port": 80}}), &json!({"global": {}, "web": {"port": 81}}));
    let _ = kit.run(Run::new().startup()).ok();
    let changed = |path: &str, value: Option<Value>, config| Change { path: path.to_owned(), value, config };
    let expected = [
        changed("/web/port", Some(json!([80, 81])), false),
        changed("/web/old", None, false),
        changed("/web/seen", Some(json!("yes")), true),
        changed("/web/gone", None, true),
    ];
    assert_eq!(kit.changes(), expected);
}

#[test]
fn a_stage_of_a_module_runs_the_hook_with_all_its_snapshots() {
    fn run(ctx: Context) -> Result<()> {
        assert!(ctx.has("beforeHelm"));
        let names: Vec<_> = snapshots::open("secrets")?.iter().map(|item| item.name).collect();
        values::set("/web/secrets", &names)
    }
    let mut kit = Kit::new(|| config().before_helm(10), run);
    kit.filter("secrets", |secret| secret["data"].clone());
    kit.values(&json!({"global": {}, "web": {}}), &json!({}));
    kit.given(&secret(json!({})));
    let _ = kit.run(Run::new().stage("beforeHelm")).ok();
    let change = Change { path: "/web/secrets".to_owned(), value: Some(json!(["s"])), config: false };
    assert_eq!(kit.changes(), [change]);
    let wrong = AssertUnwindSafe(|| drop(kit.run(Run::new().stage("afterHelm"))));
    assert!(told(catch_unwind(wrong)).contains("the hook has no afterHelm"));
}

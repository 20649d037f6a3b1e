//! One parent and its set, step by step. `property` has random histories.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_core::model::Resource;
use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::{
    desired::{Answer, RECREATE, Rules},
    expression::READY,
    id::{self, GROUP_KINDS, NAMESPACES, PART_OF, TOOLING},
    order::{GATE, WAVE},
    prune::PRUNE,
    status::{Condition, conditions},
};

const MANAGER: &str = "boathook";

/// A set and the versions of what it writes.
struct Bench {
    set: Set,
    now: Instant,
    version: u64,
    across: bool,
    generation: i64,
}

fn parent(change: impl FnOnce(&mut Value)) -> Parent {
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "App",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "generation": 1}});
    change(&mut object);
    Parent::read(&object).unwrap()
}

fn thing(kind: &str, name: &str, annotations: &[(&str, &str)]) -> Value {
    let api_version = match kind {
        "Deployment" => "apps/v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        "Thing" => "example.com/v1",
        _ => "v1",
    };
    let annotations: serde_json::Map<_, _> =
        annotations.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let mut object =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "annotations": annotations}});
    if kind == "CustomResourceDefinition" {
        object["spec"] = json!({"group": "example.com", "names": {"kind": "Thing"}});
    }
    object
}

fn map(name: &str) -> Value {
    thing("ConfigMap", name, &[])
}

fn in_wave(kind: &str, name: &str, wave: &str) -> Value {
    thing(kind, name, &[(WAVE, wave)])
}

fn error(reason: CallReason, message: &str) -> CallError {
    CallError { reason, message: message.to_owned(), code: None, status: None }
}

impl Bench {
    fn new(change: impl FnOnce(&mut Policy)) -> Self {
        let mut policy = Policy::new(MANAGER);
        change(&mut policy);
        let mut set = Set::new(parent(|_| ()), policy);
        set.listed();
        Self { set, now: Instant::now(), version: 10, across: false, generation: 1 }
    }

    fn rules(&self) -> Rules {
        let owns = [
            ("v1", "ConfigMap", true),
            ("v1", "Namespace", false),
            ("v1", "PersistentVolumeClaim", true),
            ("apps/v1", "Deployment", true),
            ("example.com/v1", "Thing", true),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", false),
        ];
        let owns =
            owns.iter().map(|(version, kind, namespaced)| Resource::of(version, kind, "x", *namespaced)).collect();
        Rules { owns, across: self.across, ..Rules::default() }
    }

    fn want(&mut self, members: Vec<Value>) {
        let answer = Answer { generation: self.generation, members, means_empty: false };
        let desired = Desired::new(answer, &self.set.parent, &self.rules()).unwrap();
        self.set.desire(desired);
    }

    /// What is planned, one word for each member.
    fn planned(&self) -> Vec<String> {
        let word = |action: &Action| match action {
            Action::Blocked { by } => format!("blocked by {by}"),
            Action::Refuse { owner } => format!("refused: {owner}"),
            Action::Unready(readiness) => format!("unready: {}", readiness.reason),
            Action::Repair { drift, fight, .. } => {
                format!(
                    "repair {}{}",
                    drift.as_deref().unwrap_or("gone"),
                    if fight.is_some() { ", a fight" } else { "" }
                )
            }
            Action::Retry { stalled, .. } => format!("retry{}", if *stalled { ", stalled" } else { "" }),
            other => format!("{other:?}").split([' ', '{']).next().unwrap().to_lowercase(),
        };
        let steps = self.set.plan(self.now).steps.into_iter().filter(|step| step.action != Action::Mark);
        steps.map(|step| format!("{}: {}", step.member.name, word(&step.action))).collect()
    }

    fn take(&mut self) -> Vec<Request> {
        let all = self.set.take(100, self.now);
        let (marks, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|request| request.action == Action::Mark);
        for mark in marks {
            let Verb::Mark { body } = &mark.verb else { panic!() };
            self.set.finished(&mark, Ok(Some(body)), self.now);
        }
        rest
    }

    /// What the API server answers to an apply: all fields of the body are owned.
    fn response(&mut self, request: &Request) -> Value {
        let Verb::Apply { body, .. } = &request.verb else { panic!("{request:?}") };
        let mut object: Value = serde_json::from_str(body).unwrap();
        self.version += 1;
        let uid = object["metadata"].get("uid").cloned().unwrap_or_else(|| json!(format!("uid-{}", self.version)));
        object["metadata"]["uid"] = uid;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object
    }

    /// Sends all that is due, and shows the results. Returns the names.
    fn run(&mut self) -> Vec<String> {
        let requests = self.take();
        for request in &requests {
            self.succeed(request);
        }
        requests.iter().map(|request| request.object.name.clone()).collect()
    }

    fn succeed(&mut self, request: &Request) -> Value {
        match &request.verb {
            Verb::Apply { .. } => {
                let object = self.response(request);
                self.set.finished(request, Ok(Some(&object.to_string())), self.now);
                self.show(&object, "boathook");
                object
            }
            Verb::Delete { .. } => {
                self.set.finished(request, Ok(None), self.now);
                self.set.gone(&request.object, None, self.now);
                Value::Null
            }
            other => panic!("{other:?}"),
        }
    }

    fn show(&mut self, object: &Value, writer: &str) -> bool {
        let (version, kind) = (object["apiVersion"].as_str().unwrap().into(), object["kind"].as_str().unwrap().into());
        let mut read = Object::from_json(&object.to_string(), &version, &kind).unwrap();
        read.last_managers = writer.split(',').map(Into::into).collect();
        self.set.observe(&read, self.now)
    }

    fn change(&mut self, object: &mut Value, writer: &str, change: impl FnOnce(&mut Value)) -> bool {
        change(object);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.show(object, writer)
    }

    fn foreign(&mut self, kind: &str, name: &str, change: impl FnOnce(&mut Value)) -> Value {
        let mut object = thing(kind, name, &[]);
        object["metadata"]["namespace"] = json!("shop");
        object["metadata"]["uid"] = json!(format!("foreign-{name}"));
        self.change(&mut object, "kubectl", change);
        object
    }

    fn status(&self, generation: i64) -> Vec<Condition> {
        conditions(&self.set.plan(self.now), generation, &[], Timestamp::UNIX_EPOCH)
    }

    /// The condition that holds, its reason and message.
    fn says(&self) -> String {
        let all = self.status(self.generation);
        let condition = all.iter().find(|condition| condition.status == "True").unwrap();
        format!("{} {}: {}", condition.type_, condition.reason, condition.message)
    }
}

#[test]
fn a_value_that_the_api_server_writes_differently_is_applied_once() {
    let mut bench = Bench::new(|_| ());
    let mut wanted = map("a");
    wanted["data"] = json!({"cpu": "1000m"});
    bench.want(vec![wanted]);
    let request = bench.take().remove(0);
    let mut object = bench.response(&request);
    object["data"]["cpu"] = json!("1");
    bench.set.finished(&request, Ok(Some(&object.to_string())), bench.now);
    bench.show(&object, MANAGER);
    assert_eq!(bench.run(), Vec::<String>::new(), "it is as it was applied");
    bench.change(&mut object, "kubectl-edit", |object| object["data"]["cpu"] = json!("2"));
    assert_eq!(bench.run(), ["a"], "somebody changed it");
}

#[test]
fn nothing_is_pruned_before_all_members_are_listed() {
    let mut bench = Bench::new(|_| ());
    bench.set.listed = false;
    bench.want(vec![map("m")]);
    assert_eq!(bench.set.plan(bench.now).stage, Stage::Listing);
    assert!(bench.take().is_empty());
}

#[test]
fn a_member_is_created_changed_and_left() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m")]);
    let request = bench.take().remove(0);
    let Verb::Apply { body, force: true } = &request.verb else { panic!() };
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["metadata"]["resourceVersion"], "1", "it creates, and nothing else");
    assert_eq!(bench.planned(), ["m: sent"]);
    assert!(bench.take().is_empty(), "it is on its way");
    let object = bench.succeed(&request);
    assert!(bench.planned().is_empty());
    assert!(bench.says().starts_with("Ready Current: 1 member is as desired"));
    assert!(!bench.show(&object, "x"), "the same state again is no news");
    let mut changed = map("m");
    changed["data"] = json!({"a": "b"});
    bench.want(vec![changed]);
    let request = bench.take().remove(0);
    let Verb::Apply { body, force: false } = &request.verb else { panic!() };
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["metadata"]["uid"], body["metadata"].get("resourceVersion")), (&object["metadata"]["uid"], None));
    bench.succeed(&request);
    assert!(bench.planned().is_empty());
}

// mutant: crates/applyset/src/set/plan.rs: `            (Owner::Us, _) => {}` => `            (Owner::Us | Owner::Nobody, Adopt::Never) => {}`
#[test]
fn what_belongs_to_others_is_refused_or_adopted_by_policy() {
    let controller = json!([{"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "o", "controller": true}]);
    let planned = |adopt: Adopt| {
        let mut bench = Bench::new(|policy| policy.adopt = adopt);
        bench.want(["free", "held", "other"].map(map).to_vec());
        bench.foreign("ConfigMap", "free", |_| ());
        bench.foreign("ConfigMap", "other", |object| object["metadata"]["labels"] = json!({PART_OF: "x"}));
        bench.foreign("ConfigMap", "held", |object| object["metadata"]["ownerReferences"] = controller.clone());
        bench.planned()
    };
    let [free, held, other] =
        ["free: refused: nobody", "held: refused: the controller Other o", "other: refused: the set x"];
    assert_eq!(planned(Adopt::Never), [free, held, other]);
    assert_eq!(planned(Adopt::IfUnowned), ["free: adopt", held, other]);
    assert_eq!(planned(Adopt::Always), ["free: adopt", held, "other: adopt"]);
    let mut bench = Bench::new(|policy| policy.adopt = Adopt::IfUnowned);
    bench.want(vec![map("m")]);
    let object = bench.foreign("ConfigMap", "m", |_| ());
    let request = bench.take().remove(0);
    let Verb::Apply { body, force: true } = &request.verb else { panic!() };
    let body: Value = serde_json::from_str(body).unwrap();
    for name in ["uid", "resourceVersion"] {
        assert_eq!(body["metadata"][name], object["metadata"][name], "it adopts what was judged");
    }
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m")]);
    bench.foreign("ConfigMap", "m", |_| ());
    assert!(
        bench.says().starts_with("Stalled MemberRefused: ConfigMap shop/m: it belongs to nobody: rename"),
        "{}",
        bench.says()
    );
}

#[test]
fn an_object_that_no_watch_shows_is_not_overwritten() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m")]);
    let request = bench.take().remove(0);
    bench.set.finished(&request, Err(error(CallReason::Conflict, "the object has been modified")), bench.now);
    assert_eq!(bench.planned(), ["m: read"], "at once");
    let request = bench.take().remove(0);
    let mut object = map("m");
    object["metadata"] = json!({"name": "m", "namespace": "shop", "uid": "x", "resourceVersion": "5"});
    bench.set.finished(&request, Ok(Some(&object.to_string())), bench.now);
    assert_eq!(bench.planned(), ["m: refused: nobody"]);
}

#[test]
fn what_is_not_wanted_any_more_is_forgotten_if_it_never_was_a_member() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m"), map("n")]);
    let requests = bench.take();
    bench.set.finished(&requests[0], Err(error(CallReason::Conflict, "it exists")), bench.now);
    bench.want(vec![]);
    bench.set.finished(&requests[1], Err(error(CallReason::Conflict, "it exists")), bench.now);
    assert!(bench.planned().is_empty() && bench.set.members.is_empty());
}

#[test]
fn drift_is_repaired_and_a_fight_is_slowed() {
    let mut bench = Bench::new(|_| ());
    let mut wanted = map("m");
    wanted["data"] = json!({"a": "b"});
    bench.want(vec![wanted]);
    let request = bench.take().remove(0);
    let mut object = bench.succeed(&request);
    assert!(!bench.change(&mut object, "kubectl", |object| object["data"]["other"] = json!("x")), "another field");
    for round in 0..5 {
        assert!(bench.change(&mut object, "kubectl", |object| object["data"]["a"] = json!("c")));
        let fight = if round < 3 { "" } else { ", a fight" };
        assert_eq!(bench.planned(), [format!("m: repair .data.a{fight}")]);
        if round >= 3 {
            assert!(bench.take().is_empty(), "not at once");
            let wake = bench.set.plan(bench.now).wake.unwrap();
            bench.change(&mut object, "kubectl", |object| object["data"]["a"] = json!("d"));
            assert_eq!(bench.set.plan(bench.now).wake, Some(wake), "an event does not bypass the wait");
            assert!(
                bench.says().contains("Fight: ConfigMap shop/m: kubectl changes .data.a again and again"),
                "{}",
                bench.says()
            );
            bench.now = wake;
        }
        let request = bench.take().remove(0);
        assert!(matches!(request.verb, Verb::Apply { force: true, .. }));
        object = bench.succeed(&request);
        assert!(bench.planned().is_empty());
    }
}

#[test]
fn a_deleted_member_is_created_again() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m")]);
    for _ in 0..3 {
        let request = bench.take().remove(0);
        let object = bench.succeed(&request);
        let uid = object["metadata"]["uid"].as_str().unwrap();
        assert!(!bench.set.gone(&request.object, Some("another"), bench.now), "the end of an earlier object");
        assert!(bench.set.gone(&request.object, Some(uid), bench.now));
    }
    bench.run();
    bench.set.gone(&ObjectRef { namespace: Some("shop".into()), ..ObjectRef::of(&map("m")) }, None, bench.now);
    assert_eq!(bench.planned(), ["m: repair gone, a fight"]);
    assert!(bench.take().is_empty());
    bench.now = bench.set.plan(bench.now).wake.unwrap();
    assert_eq!(bench.run(), ["m"]);
}

// mutant: crates/applyset/src/set/state.rs: `self.awaited.as_ref().is_some_and(|awaited| now < awaited.until)` => `false`
// mutant: crates/applyset/src/set/mod.rs: `        if state.is_stale(&object.resource_version) {` => `        if false {`
#[test]
fn own_writes_are_seen_before_anything_is_concluded() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m")]);
    let request = bench.take().remove(0);
    let object = bench.response(&request);
    bench.set.finished(&request, Ok(Some(&object.to_string())), bench.now);
    assert_eq!(bench.planned(), ["m: unready: NotFound"]);
    assert!(bench.set.own_writes_until(bench.now).is_some());
    bench.show(&object, "boathook");
    assert!(bench.planned().is_empty() && bench.set.own_writes_until(bench.now).is_none());
    let mut changed = map("m");
    changed["data"] = json!({"a": "b"});
    bench.want(vec![changed]);
    let request = bench.take().remove(0);
    let after = bench.response(&request);
    bench.set.finished(&request, Ok(Some(&after.to_string())), bench.now);
    assert!(!bench.show(&object, "boathook"), "the watch is late");
    assert_eq!(bench.planned(), ["m: unready: NotApplied"], "and what it shows is no drift");
    bench.now += Duration::from_secs(11);
    assert_eq!(bench.set.own_writes_until(bench.now), None, "the wait is bounded");
    assert_eq!(bench.planned(), ["m: read"]);
    let request = bench.take().remove(0);
    bench.set.finished(&request, Ok(Some(&after.to_string())), bench.now);
    assert!(bench.planned().is_empty());
}

#[test]
fn a_change_that_the_watch_shows_before_the_response_is_no_drift() {
    let mut bench = Bench::new(|_| ());
    let with = |value: &str| {
        let mut object = map("m");
        object["data"] = json!({"a": value});
        vec![object]
    };
    bench.want(with("1"));
    bench.run();
    bench.want(with("2"));
    let request = bench.take().remove(0);
    let object = bench.response(&request);
    bench.show(&object, "boathook");
    assert_eq!(bench.planned(), ["m: sent"]);
    bench.set.finished(&request, Ok(Some(&object.to_string())), bench.now);
    assert!(bench.planned().is_empty());
    bench.want(with("3"));
    let request = bench.take().remove(0);
    let mut object = bench.response(&request);
    let response = object.to_string();
    bench.change(&mut object, "kubectl", |object| object["data"]["a"] = json!("x"));
    bench.set.finished(&request, Ok(Some(&response)), bench.now);
    assert_eq!(bench.planned(), ["m: repair .data.a"], "somebody was faster than the response");
}

#[test]
fn after_a_restart_nothing_is_sent_for_what_is_as_desired() {
    let mut bench = Bench::new(|_| ());
    let mut wanted = map("m");
    wanted["data"] = json!({"a": "b"});
    bench.want(vec![wanted.clone()]);
    let request = bench.take().remove(0);
    let mut object = bench.succeed(&request);
    let restarted = |object: &Value, wanted: &Value| {
        let mut bench = Bench::new(|_| ());
        bench.show(object, "x");
        bench.want(vec![wanted.clone()]);
        bench.planned()
    };
    assert!(restarted(&object, &wanted).is_empty());
    let mut other = wanted.clone();
    other["data"] = json!({});
    assert_eq!(restarted(&object, &other), ["m: change"], "a field is not desired any more");
    object["data"]["a"] = json!("c");
    assert_eq!(restarted(&object, &wanted), ["m: change"], "somebody changed it in the meantime");
}

#[test]
fn later_waves_wait_for_what_their_gates_say() {
    let mut bench = Bench::new(|_| ());
    let exists = thing("Deployment", "exists", &[(GATE, "exists")]);
    bench.want(vec![exists.clone(), thing("Deployment", "first", &[]), in_wave("ConfigMap", "second", "1")]);
    assert_eq!(bench.planned(), ["exists: create", "first: create", "second: blocked by Deployment.apps shop/exists"]);
    bench.run();
    assert_eq!(
        bench.planned(),
        [
            "exists: unready: LessReplicas",
            "first: unready: LessReplicas",
            "second: blocked by Deployment.apps shop/first"
        ]
    );
    // The newest generation wins: nobody waits for the old one's readiness.
    bench.generation = 2;
    bench.want(vec![exists, in_wave("ConfigMap", "second", "1")]);
    assert_eq!(bench.planned(), ["exists: unready: LessReplicas", "second: create"]);
    let old = Answer { generation: 1, members: vec![map("old")], means_empty: false };
    let old = Desired::new(old, &bench.set.parent, &bench.rules()).unwrap();
    assert!(!bench.set.desire(old), "an old answer that comes late");
    assert_eq!(bench.planned(), ["exists: unready: LessReplicas", "second: create"]);
}

#[test]
fn drift_in_a_later_wave_waits_for_no_gate() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("first"), in_wave("ConfigMap", "second", "1")]);
    let request = bench.take().remove(0);
    bench.succeed(&request);
    let request = bench.take().remove(0);
    let mut second = bench.succeed(&request);
    bench.want(vec![map("first"), thing("Deployment", "slow", &[]), in_wave("ConfigMap", "second", "1")]);
    bench.run();
    bench.change(&mut second, "kubectl", |object| object["metadata"]["annotations"][WAVE] = json!("7"));
    assert_eq!(
        bench.planned(),
        ["slow: unready: LessReplicas", "second: repair .metadata.annotations[\"boathook.dev/wave\"]"]
    );
}

#[test]
fn a_failed_member_blocks_only_what_needs_it() {
    let mut bench = Bench::new(|_| ());
    bench.across = true;
    let mut inside = map("inside");
    inside["metadata"]["namespace"] = json!("n");
    let crd = thing("CustomResourceDefinition", "things.example.com", &[]);
    let members = vec![
        crd,
        thing("Namespace", "n", &[]),
        inside,
        map("beside"),
        thing("Deployment", "web", &[]),
        thing("Thing", "t", &[]),
        in_wave("ConfigMap", "later", "1"),
    ];
    bench.want(members);
    let requests = bench.take();
    assert_eq!(
        requests.iter().map(|request| &*request.object.name).collect::<Vec<_>>(),
        ["n"],
        "kinds are sent in order"
    );
    bench.set.finished(&requests[0], Err(error(CallReason::ForbiddenByCluster, "namespaces is forbidden")), bench.now);
    let requests = bench.take();
    assert_eq!(requests.iter().map(|request| &*request.object.name).collect::<Vec<_>>(), ["things.example.com"]);
    bench.succeed(&requests[0]);
    assert_eq!(bench.run(), ["beside"]);
    assert_eq!(bench.run(), ["web"]);
    assert_eq!(
        bench.planned(),
        [
            "n: retry, stalled",
            "things.example.com: unready: Installing",
            "inside: blocked by Namespace n",
            "web: unready: LessReplicas",
            "t: blocked by CustomResourceDefinition.apiextensions.k8s.io things.example.com",
            "later: blocked by Namespace n"
        ]
    );
    assert!(bench.says().starts_with("Stalled MemberFailed: Namespace n: namespaces is forbidden"), "{}", bench.says());
}

#[test]
fn a_failure_is_retried_later_and_a_new_answer_at_once() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m")]);
    let request = bench.take().remove(0);
    bench.set.finished(&request, Err(error(CallReason::Unavailable, "down")), bench.now);
    assert_eq!(bench.planned(), ["m: retry"]);
    assert_eq!(bench.says(), "Reconciling Progressing: ConfigMap shop/m: down");
    assert!(bench.take().is_empty());
    bench.now = bench.set.plan(bench.now).wake.unwrap();
    let request = bench.take().remove(0);
    bench.set.finished(&request, Err(error(CallReason::Invalid, "bad")), bench.now);
    bench.want(vec![map("m")]);
    assert_eq!(bench.planned(), ["m: retry, stalled"], "the same answer");
    let mut other = map("m");
    other["data"] = json!({"a": "b"});
    bench.want(vec![other]);
    assert_eq!(bench.planned(), ["m: create"]);
}

#[test]
fn fields_of_others_are_taken_after_they_are_named() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m")]);
    bench.run();
    let mut other = map("m");
    other["data"] = json!({"a": "b"});
    bench.want(vec![other]);
    let request = bench.take().remove(0);
    let conflict =
        error(CallReason::Conflict, "Apply failed with 1 conflict: conflict with \"kubectl\" using v1: .data.a");
    bench.set.finished(&request, Err(conflict), bench.now);
    let request = bench.take().remove(0);
    assert!(matches!(request.verb, Verb::Apply { force: true, .. }), "at once");
    bench.succeed(&request);
    let lost: Vec<_> = bench.set.lost().map(|(id, text)| format!("{id}: {text}")).collect();
    assert_eq!(lost, ["ConfigMap shop/m: Apply failed with 1 conflict: conflict with \"kubectl\" using v1: .data.a"]);
}

#[test]
fn an_immutable_field_is_reported_or_the_member_is_recreated() {
    let immutable = || error(CallReason::Invalid, "spec.selector: Invalid value: field is immutable");
    let planned = |annotations: &[(&str, &str)]| {
        let mut bench = Bench::new(|_| ());
        bench.want(vec![thing("Deployment", "m", annotations)]);
        bench.run();
        let mut other = thing("Deployment", "m", annotations);
        other["spec"] = json!({"selector": {}});
        bench.want(vec![other]);
        let request = bench.take().remove(0);
        bench.set.finished(&request, Err(immutable()), bench.now);
        bench
    };
    assert_eq!(planned(&[]).planned(), ["m: retry, stalled"]);
    let mut bench = planned(&[(RECREATE, "true")]);
    assert_eq!(bench.planned(), ["m: recreate"]);
    bench.run();
    assert_eq!(bench.planned(), ["m: create"], "and that is no fight");
}

#[test]
fn members_that_are_not_desired_any_more_go_last_first() {
    let mut bench = Bench::new(|policy| policy.limits.max_share = 100);
    bench.want(vec![
        map("stays"),
        map("a"),
        in_wave("ConfigMap", "b", "1"),
        thing("ConfigMap", "kept", &[(PRUNE, "false")]),
    ]);
    bench.run();
    bench.run();
    bench.want(vec![map("stays"), map("new")]);
    assert_eq!(bench.planned(), ["new: create"], "the new one is there first");
    bench.run();
    assert_eq!(bench.planned(), ["kept: release", "a: blocked by the removal of later waves", "b: prune"]);
    let requests = bench.take();
    bench.set.finished(&requests[1], Ok(None), bench.now);
    assert_eq!(bench.planned(), ["b: terminating", "kept: sent", "a: blocked by the removal of later waves"]);
    bench.set.gone(&requests[1].object, None, bench.now);
    let request = bench.take().remove(0);
    assert_eq!((&*request.object.name, matches!(&request.verb, Verb::Delete { .. })), ("a", true));
    bench.succeed(&request);
    assert_eq!(bench.planned(), ["kept: sent"]);
}

#[test]
fn a_held_prune_waits_for_its_approval() {
    let mut bench = Bench::new(|_| ());
    bench.want((0..4).map(|n| map(&format!("m{n}"))).collect());
    bench.run();
    bench.want(vec![]);
    assert!(bench.take().is_empty());
    let plan = bench.set.plan(bench.now);
    let hold = plan.hold.unwrap();
    assert!(plan.waits && hold.reason == "Empty" && hold.count == 4);
    assert!(bench.says().contains(&format!("Stalled ApprovalRequired: 4 objects wait to be deleted, because the answer has no members, and does not say that it means it: ConfigMap shop/m0, ConfigMap shop/m1, ConfigMap shop/m2, ConfigMap shop/m3; approve {}", hold.digest)), "{}", bench.says());
    bench.set.approve(Some(hold.digest.as_str()));
    assert!(bench.take().is_empty(), "the list is not stored");
    bench.set.recall(Some(hold.clone()));
    let requests = bench.take();
    assert_eq!(requests.len(), 4);
    bench.succeed(&requests[0]);
    assert_eq!(bench.set.plan(bench.now).hold, Some(hold), "it stays in the status until all are gone");
    requests[1..].iter().for_each(|request| drop(bench.succeed(request)));
    assert_eq!(bench.set.plan(bench.now).hold, None);
    assert!(bench.set.members.is_empty());
}

#[test]
fn a_deleted_parent_is_torn_down_in_reverse() {
    let build = |deletion: Deletion, finalizers: &[&str]| {
        let mut bench = Bench::new(|policy| policy.deletion = deletion);
        let claim = in_wave("PersistentVolumeClaim", "disk", "2");
        bench.want(vec![map("a"), in_wave("ConfigMap", "b", "1"), claim]);
        for _ in 0..3 {
            bench.run();
        }
        let mut disk = bench.foreign("PersistentVolumeClaim", "disk", |_| ());
        let labels = json!({PART_OF: bench.set.id().as_str()});
        let owner = bench.set.parent.owner_reference();
        bench.change(&mut disk, "x", |object| {
            object["metadata"]["labels"] = labels;
            object["metadata"]["ownerReferences"] = json!([owner]);
            object["metadata"]["annotations"] = json!({WAVE: "2"});
        });
        let deleting = parent(|object| {
            object["metadata"]["deletionTimestamp"] = json!("2024-05-01T10:00:00Z");
            object["metadata"]["finalizers"] = json!(finalizers);
        });
        bench.set.update_parent(deleting);
        bench
    };
    let mut bench = build(Deletion::Delete, &["foregroundDeletion"]);
    assert!(bench.set.needs_finalizer());
    assert_eq!(bench.planned(), ["a: blocked by the removal of later waves", "b: prune"]);
    let hold = bench.set.plan(bench.now).hold.unwrap();
    assert_eq!((hold.reason.as_str(), hold.count), ("Dependants", 1), "the claim needs an approval");
    let disk =
        ObjectRef { namespace: Some("shop".into()), ..ObjectRef::of(&thing("PersistentVolumeClaim", "disk", &[])) };
    bench.set.no_dependants(&disk);
    assert_eq!(bench.set.plan(bench.now).hold, None);
    bench.set.doubt_dependants();
    assert_eq!(bench.set.plan(bench.now).hold.map(|hold| hold.count), Some(1), "it may have got dependants since");
    bench.set.no_dependants(&disk);
    for expected in ["disk", "b", "a"] {
        assert_eq!(bench.set.plan(bench.now).stage, Stage::Deleting);
        assert_eq!(bench.run(), [expected]);
    }
    assert_eq!(bench.set.plan(bench.now).stage, Stage::Deleted);
    // `kubectl delete --cascade=orphan` adds the finalizer.
    for bench in [build(Deletion::Orphan, &[]), build(Deletion::Delete, &["orphan"])] {
        assert_eq!(bench.planned(), ["a: release", "b: release", "disk: release"]);
    }
}

/// The watch of the members is ahead of that of the parents.
// mutant: crates/applyset/src/set/mod.rs: `let at = if lost(&drift) && !knew {` => `let at = if false {`
#[test]
fn members_that_are_orphaned_before_the_deletion_is_seen_are_left() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("a")]);
    let request = bench.take().remove(0);
    let mut object = bench.succeed(&request);
    bench.change(&mut object, "kube-controller-manager", |object| {
        object["metadata"]["ownerReferences"] = json!([]);
    });
    assert_eq!(bench.run(), Vec::<String>::new(), "the deletion of the parent may follow");
    let mut other = Bench { now: bench.now, ..Bench::new(|_| ()) };
    other.want(vec![map("a")]);
    let request = other.take().remove(0);
    let mut kept = other.succeed(&request);
    other.change(&mut kept, "kubectl-edit", |object| object["metadata"]["ownerReferences"] = json!([]));
    other.now += Duration::from_secs(2);
    assert_eq!(other.run(), ["a"], "no deletion followed");
    bench.set.update_parent(parent(|object| {
        object["metadata"]["deletionTimestamp"] = json!("2024-05-01T10:00:00Z");
    }));
    bench.now += Duration::from_secs(2);
    assert_eq!(bench.planned(), ["a: release"]);
}

/// Kubernetes removes the owner references first and its mark then, while no operator may run.
// mutant: crates/applyset/src/set/plan.rs: `parent.deleting && seen.owner == Owner::Us && !seen.owned && ` => `false && seen.owner == Owner::Us && `
// mutant: crates/applyset/src/set/plan.rs: ` && parent.can_own(id.namespace.as_deref())` => ``
#[test]
fn a_set_that_begins_after_its_members_were_orphaned_leaves_them() {
    let build = |change: &dyn Fn(&mut Policy)| {
        let mut bench = Bench::new(change);
        bench.set.update_parent(parent(|object| {
            object["metadata"]["deletionTimestamp"] = json!("2024-05-01T10:00:00Z");
        }));
        let (id, owner) = (bench.set.id().clone(), bench.set.parent.owner_reference());
        for (name, namespace, owners) in
            [("a", "shop", json!([])), ("b", "shop", json!([owner])), ("c", "far", json!([]))]
        {
            bench.foreign("ConfigMap", name, |object| {
                object["metadata"]["namespace"] = json!(namespace);
                object["metadata"]["labels"] = json!({PART_OF: id.as_str()});
                object["metadata"]["ownerReferences"] = owners;
            });
        }
        bench
    };
    // The parent never could own what is in another namespace.
    assert_eq!(build(&|_| ()).planned(), ["a: release", "c: prune", "b: prune"]);
    let mut bench = build(&|policy| (policy.finalizes, policy.adopt) = (true, Adopt::Always));
    bench.set.must_finalize(true);
    bench.want(vec![map("a"), map("b")]);
    bench.set.finalized(false);
    assert_eq!(bench.planned(), ["a: release"], "to write it would make the parent its owner again");
    bench.foreign("ConfigMap", "a", |_| ());
    assert!(bench.planned().contains(&"a: refused: nobody".to_owned()), "{:?}", bench.planned());
}

#[test]
fn a_producer_that_finalizes_says_what_goes_and_when() {
    let build = |finalizers: &[&str]| {
        let mut bench = Bench::new(|policy| policy.finalizes = true);
        bench.want(vec![map("a"), in_wave("ConfigMap", "b", "1"), map("c")]);
        for _ in 0..3 {
            bench.run();
        }
        assert!(bench.set.needs_finalizer());
        bench.set.update_parent(parent(|object| {
            object["metadata"]["deletionTimestamp"] = json!("2024-05-01T10:00:00Z");
            object["metadata"]["finalizers"] = json!(finalizers);
        }));
        bench.set.must_finalize(true);
        bench
    };
    let mut bench = build(&[]);
    assert_eq!(bench.set.plan(bench.now).stage, Stage::Finalizing);
    assert_eq!(bench.planned(), [""; 0], "it has not answered");
    let mut changed = map("a");
    changed["data"] = json!({"new": "1"});
    bench.want(vec![changed, map("d")]);
    bench.set.finalized(false);
    // More than half of them go without an approval, after what replaces them is there, and the last ones first.
    assert_eq!(bench.planned(), ["a: change", "d: create"]);
    bench.run();
    assert_eq!(bench.run(), ["b"]);
    assert_eq!(bench.run(), ["c"]);
    bench.set.must_finalize(true);
    assert!(bench.set.is_finalizing() && bench.planned().is_empty());
    assert!(!bench.set.plan(bench.now).waits);
    bench.set.finalized(true);
    bench.set.must_finalize(true);
    assert!(!bench.set.is_finalizing(), "it is not asked again");
    assert_eq!(bench.planned(), ["a: prune", "d: prune"]);
    // What Kubernetes deletes is not written.
    let mut bench = build(&["foregroundDeletion"]);
    bench.want(vec![map("d")]);
    bench.set.finalized(false);
    assert_eq!((bench.set.plan(bench.now).stage, bench.planned()), (Stage::Finalizing, Vec::new()));
    // What Kubernetes takes the parent out of leaves the set at once, and stays when its mark is gone.
    let mut bench = build(&["orphan"]);
    let released = ["a: release", "b: release", "c: release"];
    assert_eq!(
        (bench.set.plan(bench.now).stage, bench.planned()),
        (Stage::Finalizing, released.map(String::from).to_vec())
    );
    bench.set.update_parent(parent(|object| object["metadata"]["deletionTimestamp"] = json!("2024-05-01T10:00:00Z")));
    assert_eq!(bench.planned(), released);
    bench.set.finalized(true);
    assert_eq!(
        (bench.set.plan(bench.now).stage, bench.planned()),
        (Stage::Deleting, released.map(String::from).to_vec())
    );
}

#[test]
fn a_finalizer_is_needed_only_where_owner_references_are_not_enough() {
    let needs = |across: bool, members: Vec<Value>| {
        let mut bench = Bench::new(|_| ());
        bench.across = across;
        bench.want(members);
        bench.set.needs_finalizer()
    };
    assert!(!needs(false, vec![map("a"), thing("Deployment", "b", &[])]));
    assert!(needs(false, vec![map("a"), in_wave("ConfigMap", "b", "1")]));
    assert!(needs(true, vec![thing("Namespace", "n", &[])]));
    let mut far = map("a");
    far["metadata"]["namespace"] = json!("other");
    assert!(needs(true, vec![far]));
}

#[test]
fn the_parent_names_where_members_are_before_they_are_there() {
    let mut bench = Bench::new(|_| ());
    bench.across = true;
    let mut far = map("far");
    far["metadata"]["namespace"] = json!("other");
    bench.want(vec![map("near"), far]);
    let requests = bench.set.take(100, bench.now);
    assert_eq!(requests.iter().map(|request| &*request.object.name).collect::<Vec<_>>(), ["web", "near"]);
    let Verb::Mark { body } = &requests[0].verb else { panic!() };
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["metadata"]["annotations"][GROUP_KINDS], "ConfigMap");
    assert_eq!(body["metadata"]["annotations"][NAMESPACES], "other");
    bench.set.finished(&requests[0], Ok(Some(&body.to_string())), bench.now);
    bench.succeed(&requests[1]);
    assert_eq!(bench.run(), ["far"]);
    assert!(bench.set.plan(bench.now).steps.is_empty());
    let kubectl = parent(|object| object["metadata"]["annotations"] = json!({TOOLING: "kubectl/v1.36.0"}));
    bench.set.update_parent(kubectl);
    assert_eq!(bench.set.plan(bench.now).stage, Stage::OtherTool("kubectl/v1.36.0".to_owned()));
    assert!(bench.take().is_empty());
}

#[test]
fn a_mark_that_another_manager_keeps_is_not_sent_without_end() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("a")]);
    let mark = bench.set.take(1, bench.now).pop().unwrap();
    let Verb::Mark { body } = &mark.verb else { panic!("{mark:?}") };
    let mut response: Value = serde_json::from_str(body).unwrap();
    response["metadata"]["annotations"][NAMESPACES] = json!("elsewhere");
    bench.set.finished(&mark, Ok(Some(&response.to_string())), bench.now);
    let marks = |bench: &Bench| {
        let steps = bench.set.plan(bench.now).steps;
        steps.into_iter().map(|step| step.action).filter(|action| !matches!(action, Action::Create)).collect::<Vec<_>>()
    };
    let waits = marks(&bench);
    assert!(
        matches!(&waits[..], [Action::Retry { message, .. }] if message.contains("another field manager")),
        "{waits:?}"
    );
    bench.now += Duration::from_secs(2);
    assert_eq!(marks(&bench), [Action::Mark]);
}

#[test]
fn a_deletion_that_the_watch_shows_after_a_newer_response_counts() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("a")]);
    let mark = bench.set.take(1, bench.now).pop().unwrap();
    let Verb::Mark { body } = &mark.verb else { panic!("{mark:?}") };
    let mut response: Value = serde_json::from_str(body).unwrap();
    response["metadata"]["resourceVersion"] = json!("12");
    bench.set.finished(&mark, Ok(Some(&response.to_string())), bench.now);
    let shown = |version: &str, deleting: bool| {
        parent(|object| {
            object["metadata"]["resourceVersion"] = json!(version);
            object["metadata"]["deletionTimestamp"] =
                if deleting { json!("2024-05-01T10:00:00Z") } else { Value::Null };
        })
    };
    assert!(!bench.set.update_parent(shown("10", false)));
    assert_eq!(bench.set.stage(), Stage::Applying);
    assert!(bench.set.update_parent(shown("11", true)));
    assert_eq!(bench.set.stage(), Stage::Deleting);
}

// mutant: crates/applyset/src/id.rs: `.filter(|known| *known != manager)` => `.filter(|_| false)`
#[test]
fn the_set_of_another_manager_is_left_alone() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("a"), map("b")]);
    bench.run();
    let of = |manager: &str| parent(|object| object["metadata"]["annotations"] = json!({id::MANAGER: manager}));
    bench.set.update_parent(of("boathook.dev/other"));
    bench.want(vec![map("a")]);
    let stage = Stage::OtherManager { has: "boathook.dev/other".to_owned(), wants: bench.set.policy.manager.clone() };
    assert_eq!(bench.set.plan(bench.now).stage, stage);
    assert!(bench.take().is_empty());
    // Somebody hands it over.
    bench.set.update_parent(of(&bench.set.policy.manager.clone()));
    assert!(bench.run().contains(&"b".to_owned()));
}

// mutant: crates/applyset/src/set/mod.rs: `managers: others(&object.last_managers, &self.policy.manager),` => `managers: object.last_managers.clone(),`
#[test]
fn a_fight_is_the_same_one_if_it_is_repaired_within_a_second() {
    let mut bench = Bench::new(|_| ());
    let mut wanted = map("m");
    wanted["data"] = json!({"a": "1"});
    bench.want(vec![wanted]);
    let request = bench.take().remove(0);
    let mut object = bench.succeed(&request);
    for writers in ["thief", "boathook,thief", "thief"] {
        bench.change(&mut object, writers, |object| object["data"]["a"] = json!("2"));
        let request = bench.take().remove(0);
        object = bench.succeed(&request);
    }
    bench.change(&mut object, "boathook,thief", |object| object["data"]["a"] = json!("2"));
    assert_eq!(bench.planned(), ["m: repair .data.a, a fight"]);
    assert!(bench.says().contains("thief changes .data.a again and again (4 times)"), "{}", bench.says());
}

#[test]
fn an_expression_decides_about_readiness() {
    let mut bench = Bench::new(|_| ());
    let ready = (READY, "has(self.status) && self.status.phase == 'Up'");
    bench.want(vec![thing("Thing", "first", &[ready]), in_wave("ConfigMap", "second", "1")]);
    let request = bench.take().remove(0);
    let mut first = bench.succeed(&request);
    assert_eq!(bench.planned(), ["first: unready: Expression", "second: blocked by Thing.example.com shop/first"]);
    assert!(bench.says().contains("its expression does not hold yet"), "{}", bench.says());
    assert!(bench.take().is_empty());
    assert!(bench.change(&mut first, "its-controller", |object| object["status"] = json!({"phase": "Up"})));
    assert_eq!(bench.run(), ["second"]);
    assert!(bench.planned().is_empty());
    // A change of the expression is a change of the member.
    bench.want(vec![
        thing("Thing", "first", &[(READY, "self.status.phase == 'Down'")]),
        in_wave("ConfigMap", "second", "1"),
    ]);
    assert_eq!(bench.run(), ["first"]);
    assert_eq!(bench.planned(), ["first: unready: Expression"]);
}

#[test]
fn an_invalid_answer_changes_nothing_and_is_reported() {
    let mut bench = Bench::new(|_| ());
    bench.want(vec![map("m")]);
    bench.run();
    bench.generation = 2;
    let answer = Answer { generation: 2, members: vec![thing("Secret", "s", &[])], means_empty: false };
    bench.set.reject(Desired::new(answer, &bench.set.parent, &bench.rules()).unwrap_err());
    assert!(
        bench.says().starts_with("Stalled InvalidAnswer: v1 Secret s: its kind is not declared"),
        "{}",
        bench.says()
    );
    assert!(bench.take().is_empty());
    bench.want(vec![map("m")]);
    assert!(bench.says().starts_with("Ready"));
}

#[test]
fn conditions_change_only_when_something_does() {
    let mut bench = Bench::new(|_| ());
    let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
    bench.want(vec![map("m")]);
    let first = conditions(&bench.set.plan(bench.now), 1, &[], at(1));
    let show = |all: &[Condition]| {
        all.iter().map(|it| format!("{} {} {}", it.type_, it.status, it.last_transition_time)).collect::<Vec<_>>()
    };
    let (one, two) = ("1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z");
    assert_eq!(
        show(&first),
        [format!("Ready False {one}"), format!("Reconciling True {one}"), format!("Stalled False {one}")]
    );
    assert_eq!(conditions(&bench.set.plan(bench.now), 1, &first, at(2)), first);
    bench.run();
    let mut foreign = first.clone();
    foreign.push(Condition { type_: "Custom".into(), ..first[0].clone() });
    let second = conditions(&bench.set.plan(bench.now), 1, &foreign, at(2));
    assert_eq!(
        show(&second),
        [
            format!("Ready True {two}"),
            format!("Reconciling False {two}"),
            format!("Stalled False {one}"),
            format!("Custom False {one}")
        ]
    );
    assert!(
        second
            .iter()
            .take(3)
            .all(|it| it.observed_generation == Some(1) && it.reason.chars().all(char::is_alphanumeric))
    );
    let newer = conditions(&bench.set.plan(bench.now), 2, &second, at(3));
    assert_eq!(newer[1].message, "generation 2 is not answered yet");
    assert_eq!(newer[0].observed_generation, Some(1));
}

#[test]
fn a_message_is_bounded() {
    let mut bench = Bench::new(|_| ());
    bench.want((0..50).map(|n| map(&format!("{n}{}", "x".repeat(200)))).collect());
    for request in bench.take() {
        bench.set.finished(&request, Err(error(CallReason::Invalid, &"é".repeat(2_000))), bench.now);
    }
    let says = bench.says();
    assert!(
        says.starts_with("Stalled MemberFailed: 50 of 50: ConfigMap shop/0") && says.len() < 2_200,
        "{}",
        says.len()
    );
}

/// Not a measurement: a plan that is quadratic would take minutes.
#[test]
fn a_large_set_is_planned() {
    let mut bench = Bench::new(|_| ());
    bench.want((0..3_000).map(|n| map(&format!("m{n}"))).collect());
    while !bench.run().is_empty() {}
    assert!(bench.planned().is_empty());
}

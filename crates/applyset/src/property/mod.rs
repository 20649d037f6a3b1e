//! Random histories of two sets in a small cluster: changes of what is desired, edits and deletions by others, claims of
//! one object, failures, late watches, and crashes that lose all memory. Whatever happens, no write may
//! break an invariant, and the end state depends only on what the parents want. The sets are those of two parents, or of two
//! decorators of one parent. In some histories, members have waves, and one of them is of a kind whose deletion needs an
//! approval; and in some, objects that nobody has are adopted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cluster;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{CallError, CallReason, Object, ObjectRef, Resource};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    Action, Adopt, Answer, Desired, Owner, Parent, Policy, READY, Request, Rules, Set, Stage, Step, Verb,
    id::{self, MemberId, PART_OF},
    order::WAVE,
    prune::Limits,
};
use cluster::{Cluster, Live, reference};

/// The names that the parents may use. Both may use the last one.
const NAMES: [[&str; 4]; 2] = [["a0", "a1", "a2", "shared"], ["b0", "b1", "b2", "shared"]];
/// An object that the API server refuses.
const BAD: &str = "a2";
/// With waves: the first member of each parent, which is ready when somebody else has set a field of it, and one that waits for
/// it. The latter is a PersistentVolumeClaim.
const FIRST: [&str; 2] = ["a0", "b0"];
const SECOND: [&str; 2] = ["a1", "b1"];
const VALUES: [&str; 3] = ["x", "y", "1000m"];
const MANAGER: &str = "boathook";

#[derive(Debug, Clone)]
enum Op {
    /// A parent wants these of its names, with these values.
    Want(usize, Vec<Option<usize>>, bool),
    /// Another manager changes a field.
    Edit(&'static str, Field, usize),
    Delete(&'static str),
    /// Somebody creates an object without a set.
    Create(&'static str),
    /// The driver sends requests. Each has a fate.
    Send(usize, Vec<Fate>),
    /// The watch shows some changes.
    Show(usize, usize),
    Crash(usize),
    /// The producer answers.
    Answer(usize),
    Approve(usize),
    Pass(u64),
    DeleteParent(usize),
}

#[derive(Debug, Clone, Copy)]
enum Field {
    Owned,
    Foreign,
    Label,
    Item,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Done,
    /// Nothing happens.
    Refused,
    /// It happens, and the response is lost.
    Lost,
    /// The operator is killed after it.
    Killed,
}

/// What the two sets are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Each has a parent.
    Parents,
    /// They are of decorators of the same parent. It is deleted for a decorator that does not select it any more.
    Decorators,
}

/// What differs between histories.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    kind: Kind,
    waves: bool,
    adopt: Adopt,
}

impl Shape {
    fn plain(kind: Kind) -> Self {
        Self { kind, waves: false, adopt: Adopt::Never }
    }

    fn kind_of(self, name: &str) -> &'static str {
        if self.waves && SECOND.contains(&name) { "PersistentVolumeClaim" } else { "ConfigMap" }
    }
}

#[derive(Debug, Clone)]
enum Event {
    Shown(Box<Object>),
    Gone(ObjectRef, String),
}

struct Actor {
    parent: Value,
    decorator: Option<Arc<str>>,
    want: Vec<Option<usize>>,
    means_empty: bool,
    set: Set,
    events: VecDeque<Event>,
    /// What the watch with a label selector shows: the names of objects in it.
    selected: BTreeSet<String>,
    answered: bool,
    /// Approvals that were given, by digest.
    approved: Option<String>,
    status: Option<Value>,
}

struct World {
    cluster: Cluster,
    actors: Vec<Actor>,
    now: Instant,
    shape: Shape,
    /// Members that somebody else has set the field of, at some time.
    was_up: BTreeSet<String>,
    /// What people created, and what they last put in.
    foreign: BTreeSet<String>,
    requests: usize,
    bad: bool,
}

fn policy(shape: Shape) -> Policy {
    Policy { adopt: shape.adopt, limits: Limits { max_share: 60, max_objects: 2 }, ..Policy::new(MANAGER) }
}

fn rules() -> Rules {
    let claims = Resource::of("v1", "PersistentVolumeClaim", "persistentvolumeclaims", true);
    Rules { owns: vec![Resource::of("v1", "ConfigMap", "configmaps", true), claims], ..Rules::default() }
}

fn member(name: &str, value: usize, shape: Shape) -> Value {
    let value = VALUES[value];
    let mut object = json!({"apiVersion": "v1", "kind": shape.kind_of(name), "metadata": {"name": name, "labels": {"app": "x"}},
        "data": {"a": value, "b": "constant"}, "items": [{"name": "one", "v": value}]});
    if value == "y" {
        object["data"]["only-y"] = json!("y");
        object["items"] = json!([{"name": "two", "v": "z"}, {"name": "one", "v": value}]);
    }
    if shape.waves && FIRST.contains(&name) {
        object["metadata"]["annotations"] = json!({READY: "'of-others' in self.data"});
    }
    if shape.waves && SECOND.contains(&name) {
        object["metadata"]["annotations"] = json!({WAVE: "1"});
    }
    object
}

fn read(parent: &Value, decorator: Option<&Arc<str>>) -> Parent {
    let parent = Parent::read(parent).unwrap();
    match decorator {
        Some(decorator) => parent.decorated_by(decorator),
        None => parent,
    }
}

impl Actor {
    fn new(at: usize, shape: Shape) -> Self {
        let kind = shape.kind;
        let name = if kind == Kind::Parents { ["a", "b"][at] } else { "a" };
        let parent = json!({"apiVersion": "example.com/v1", "kind": "App",
            "metadata": {"name": name, "namespace": "n", "uid": format!("parent-{name}"), "generation": 1}});
        let decorator = (kind == Kind::Decorators).then(|| format!("hook/{at}").into());
        Self {
            set: Set::new(read(&parent, decorator.as_ref()), policy(shape)),
            parent,
            decorator,
            want: vec![None; 4],
            means_empty: false,
            events: VecDeque::new(),
            selected: BTreeSet::new(),
            answered: false,
            approved: None,
            status: None,
        }
    }

    fn members(&self, names: &[&str], shape: Shape) -> Vec<Value> {
        let wanted = names.iter().zip(&self.want);
        wanted.filter_map(|(name, value)| Some(member(name, (*value)?, shape))).collect()
    }

    /// Whether somebody approved the prune that is stored.
    fn is_approved(&self) -> bool {
        let stored = self.status.as_ref().and_then(|hold| hold["digest"].as_str());
        stored.is_some() && stored == self.approved.as_deref()
    }

    fn seen(&self) -> Parent {
        read(&self.parent, self.decorator.as_ref())
    }

    fn deleting(&self) -> bool {
        self.parent["metadata"].get("deletionTimestamp").is_some()
    }
}

impl World {
    fn new(shape: Shape, bad: bool) -> Self {
        let actors = vec![Actor::new(0, shape), Actor::new(1, shape)];
        let mut world = Self {
            cluster: Cluster::default(),
            actors,
            now: Instant::now(),
            shape,
            was_up: BTreeSet::new(),
            foreign: BTreeSet::new(),
            requests: 0,
            bad,
        };
        (0..2).for_each(|at| world.start(at));
        world
    }

    /// The operator starts, with no memory.
    fn start(&mut self, at: usize) {
        let actor = &mut self.actors[at];
        actor.set = Set::new(actor.seen(), policy(self.shape));
        actor.events.clear();
        actor.selected.clear();
        actor.answered = false;
        for live in self.cluster.objects.values() {
            if selects(at, &actor.set, live) {
                actor.selected.insert(live.text("/metadata/name").to_owned());
                actor.set.observe(&live.watched("unknown"), self.now);
            }
        }
        actor.set.listed();
        actor.set.approve(actor.approved.as_deref());
        actor.set.recall(actor.status.as_ref().and_then(|hold| serde_json::from_value(hold.clone()).ok()));
    }

    /// All watches will show the object as it is now.
    fn notify(&mut self, name: &str, before: Option<&Live>, writer: &str) {
        for (at, actor) in self.actors.iter_mut().enumerate() {
            let live = self.cluster.objects.get(name).filter(|live| selects(at, &actor.set, live));
            match live {
                Some(live) => {
                    actor.selected.insert(name.to_owned());
                    actor.events.push_back(Event::Shown(Box::new(live.watched(writer))));
                }
                None if actor.selected.remove(name) => {
                    let before = before.unwrap();
                    actor.events.push_back(Event::Gone(reference(before), before.text("/metadata/uid").to_owned()));
                }
                None => {}
            }
        }
    }

    fn changed(&mut self, name: &str, writer: &str, change: impl FnOnce(&mut Cluster)) {
        let before = self.cluster.objects.get(name).cloned();
        change(&mut self.cluster);
        let after = self.cluster.objects.get(name).map(|live| &live.object);
        if after.is_some_and(is_up) {
            self.was_up.insert(name.to_owned());
        }
        if before.as_ref().map(|live| &live.object) != after {
            self.notify(name, before.as_ref(), writer);
        }
    }

    fn play(&mut self, op: Op) {
        match op {
            Op::Want(at, want, means_empty) => {
                let actor = &mut self.actors[at];
                (actor.want, actor.means_empty) = (want, means_empty);
                let generation = actor.parent["metadata"]["generation"].as_i64().unwrap() + 1;
                actor.parent["metadata"]["generation"] = json!(generation);
                actor.set.update_parent(actor.seen());
                self.answer(at);
            }
            Op::Edit(name, field, value) => {
                let path: &[&str] = match field {
                    Field::Owned => &["f:data", "f:a"],
                    Field::Foreign => &["f:data", "f:of-others"],
                    Field::Label => &["f:metadata", "f:labels", "f:applyset.kubernetes.io/part-of"],
                    Field::Item => &["f:items", "k:{\"name\":\"one\"}", "f:v"],
                };
                let value = (!matches!(field, Field::Label)).then(|| json!(["p", "q", "r"][value]));
                self.changed(name, "kubectl", |cluster| cluster.edit("kubectl", name, path, value));
            }
            Op::Delete(name) => {
                self.foreign.remove(name);
                self.changed(name, "kubectl", |cluster| drop(cluster.delete(name, None)));
            }
            Op::Create(name) if !self.cluster.objects.contains_key(name) => {
                let kind = self.shape.kind_of(name);
                let body = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "n"}, "data": {"a": "mine"}});
                self.changed(name, "kubectl", |cluster| drop(cluster.apply("kubectl", &body, true)));
                self.foreign.insert(name.to_owned());
            }
            Op::Create(_) => {}
            Op::Send(at, fates) => self.send(at, &fates),
            Op::Show(at, count) => (0..count).for_each(|_| self.show(at)),
            Op::Crash(at) => self.start(at),
            Op::Answer(at) => self.answer(at),
            Op::Approve(at) => {
                let actor = &mut self.actors[at];
                actor.approved = actor.status.as_ref().map(|hold| hold["digest"].as_str().unwrap().to_owned());
                actor.set.approve(actor.approved.as_deref());
            }
            Op::Pass(ms) => self.now += Duration::from_millis(ms),
            Op::DeleteParent(at) => {
                let actor = &mut self.actors[at];
                actor.parent["metadata"]["deletionTimestamp"] = json!("2024-05-01T10:00:00Z");
                actor.set.update_parent(actor.seen());
            }
        }
    }

    fn answer(&mut self, at: usize) {
        let actor = &mut self.actors[at];
        let (generation, means_empty) = (actor.parent["metadata"]["generation"].as_i64().unwrap(), actor.means_empty);
        let answer = Answer { generation, members: actor.members(&NAMES[at], self.shape), means_empty };
        let desired = Desired::new(answer, &actor.seen(), &rules()).unwrap();
        actor.set.desire(desired);
        actor.answered = true;
    }

    fn show(&mut self, at: usize) {
        let actor = &mut self.actors[at];
        match actor.events.pop_front() {
            Some(Event::Shown(object)) => drop(actor.set.observe(&object, self.now)),
            Some(Event::Gone(object, uid)) => drop(actor.set.gone(&object, Some(&uid), self.now)),
            None => {}
        }
    }

    /// What the driver does: the status first, then the requests.
    fn send(&mut self, at: usize, fates: &[Fate]) {
        let plan = self.actors[at].set.plan(self.now);
        let hold = plan.hold.as_ref().map(|hold| serde_json::to_value(hold).unwrap());
        self.actors[at].status.clone_from(&hold);
        self.actors[at].set.recall(plan.hold);
        let requests = self.actors[at].set.take(fates.len(), self.now);
        let actor = &self.actors[at];
        assert!(actor.answered || actor.deleting() || requests.is_empty(), "invariant 1: {requests:?}");
        let prunes = requests.iter().filter(|request| request.action == Action::Prune).count();
        let most = policy(self.shape).limits.max_objects;
        assert!(
            actor.deleting() || actor.is_approved() || prunes <= most,
            "invariant 3: {prunes} at once: {requests:?}"
        );
        for (request, fate) in requests.iter().zip(fates) {
            self.requests += 1;
            let lost =
                || CallError { reason: CallReason::Timeout, message: "no answer".into(), code: None, status: None };
            let changes = self.cluster.changes;
            let result = match fate {
                Fate::Refused => Err(lost()),
                Fate::Done => self.perform(at, request),
                Fate::Lost | Fate::Killed => self.perform(at, request).and(Err(lost())),
            };
            if *fate == Fate::Killed {
                self.start(at);
                return;
            }
            let now = self.now;
            let set = &mut self.actors[at].set;
            let applied = matches!(request.verb, Verb::Apply { .. }) && result.is_ok();
            set.finished(request, result.as_ref().map(|text| text.as_deref()).map_err(Clone::clone), now);
            let events = self.actors[at]
                .events
                .iter()
                .any(|event| matches!(event, Event::Shown(object) if *object.key.name == *request.object.name));
            if applied && events && self.cluster.changes > changes {
                assert!(self.actors[at].set.own_writes_until(now).is_some(), "invariant 5");
            }
        }
    }

    fn perform(&mut self, at: usize, request: &Request) -> Result<Option<String>, CallError> {
        let name = request.object.name.as_str();
        let before = self.cluster.objects.get(name).cloned();
        let owner =
            before.as_ref().map(|live| Owner::of(&live.object, self.actors[at].set.id(), self.actors[at].set.parent()));
        let changes = self.cluster.changes;
        if request.action == Action::Create && self.shape.waves && name == SECOND[at] {
            let waits = self.actors[at].want[0].is_some();
            assert!(!waits || self.was_up.contains(FIRST[at]), "invariant 7: {name} before {} is ready", FIRST[at]);
        }
        let result = match &request.verb {
            Verb::Mark { body } => {
                assert_eq!(self.shape.kind, Kind::Parents, "the parent of a decorator is not written to");
                let body: Value = serde_json::from_str(body).unwrap();
                let parent = &mut self.actors[at].parent;
                for mapping in ["labels", "annotations"] {
                    parent["metadata"][mapping] = body["metadata"][mapping].clone();
                }
                return Ok(Some(parent.to_string()));
            }
            Verb::Apply { body, .. } if self.bad && name == BAD && !body.is_empty() => {
                let message = "data.a: Invalid value: it is bad".to_owned();
                Err(CallError { reason: CallReason::Invalid, message, code: Some(422), status: None })
            }
            Verb::Apply { body, force } => {
                let body: Value = serde_json::from_str(body).unwrap();
                self.cluster.apply(MANAGER, &body, *force).map(|object| Some(object.to_string()))
            }
            Verb::Delete { uid, .. } => self.cluster.delete(name, Some(uid)).map(|_| None),
            Verb::Read => self.read(name).map(|live| Some(live.json().to_string())),
            Verb::Release => {
                let live = self.read(name)?;
                let patch = self.actors[at].set.release(&live.object);
                let after = patch.map_or_else(|| live.json(), |patch| self.cluster.patch(name, &patch));
                Ok(Some(after.to_string()))
            }
        };
        if self.cluster.changes > changes {
            let adopts = request.action == Action::Adopt { from: Owner::Nobody } && self.shape.adopt != Adopt::Never;
            if adopts {
                self.foreign.remove(name);
            }
            let may = |owner: Owner| owner == Owner::Us || owner == Owner::Nobody && adopts;
            assert!(owner.is_none_or(may), "invariant 2: {request:?} wrote {before:?}");
            self.notify(name, before.as_ref(), MANAGER);
        }
        if let Verb::Delete { .. } = request.verb {
            self.check_deletion(at, name);
        }
        result
    }

    fn read(&self, name: &str) -> Result<Live, CallError> {
        let not_found =
            || CallError { reason: CallReason::NotFound, message: "not found".into(), code: None, status: None };
        self.cluster.objects.get(name).cloned().ok_or_else(not_found)
    }

    fn check_deletion(&self, at: usize, name: &str) {
        let actor = &self.actors[at];
        let precious = self.shape.waves && SECOND.contains(&name);
        assert!(!precious || actor.is_approved(), "invariant 3: {name} without an approval");
        if actor.deleting() {
            return;
        }
        let wanted = NAMES[at].iter().zip(&actor.want).any(|(own, value)| *own == name && value.is_some());
        assert!(!wanted, "{name} is wanted");
        let empty = actor.want.iter().all(Option::is_none);
        let approved = actor.approved.is_some();
        assert!(!empty || actor.means_empty || approved, "invariant 3: {name} of an empty set");
    }

    /// Everything outside calms down: producers answer, watches catch up, requests succeed, prunes are approved.
    fn settle(&mut self) {
        for round in 0..60 {
            let before = (self.cluster.changes, self.requests);
            for (at, first) in FIRST.into_iter().enumerate() {
                self.play(Op::Answer(at));
                self.play(Op::Show(at, 1_000));
                self.send(at, &[Fate::Done; 8]);
                self.play(Op::Approve(at));
                if self.cluster.objects.get(first).is_some_and(|live| self.shape.waves && !is_up(&live.object)) {
                    self.play(Op::Edit(first, Field::Foreign, 0));
                }
            }
            let open = |actor: &Actor| {
                let plan = actor.set.plan(self.now);
                let due = |step: &Step| step.action.sends() && step.at.is_none_or(|at| at <= self.now);
                !actor.events.is_empty() || plan.waits || plan.steps.iter().any(due)
            };
            let quiet = !self.actors.iter().any(open);
            if quiet && before == (self.cluster.changes, self.requests) {
                let wake = self.actors.iter().filter_map(|actor| actor.set.plan(self.now).wake).min();
                match wake {
                    // A failure that stays is retried forever.
                    Some(wake) if round < 24 => self.now = wake,
                    _ => return,
                }
            }
        }
        assert!(self.bad, "it never ends");
    }

    /// The end state is a function of what the parents want.
    fn check_end(&self) {
        for (at, (actor, names)) in self.actors.iter().zip(NAMES).enumerate() {
            let id = actor.set.id().to_string();
            let mut expected = BTreeMap::new();
            for (name, value) in names.iter().zip(&actor.want) {
                if let Some(value) = value.filter(|_| !actor.deleting()) {
                    expected.insert((*name).to_owned(), value);
                }
            }
            let owner = |live: &Live| Owner::of(&live.object, actor.set.id(), actor.set.parent());
            let bad = |name: &str| self.bad && name == BAD;
            let taken = |name: &String| {
                self.cluster.objects.get(name).is_some_and(|live| match owner(live) {
                    Owner::Us => false,
                    Owner::Nobody => self.shape.adopt == Adopt::Never && self.foreign.contains(name),
                    Owner::Set(_) | Owner::Controller(_) => name == "shared",
                })
            };
            // What is not applied holds up later waves.
            let blocked = self.shape.waves && expected.keys().any(|name| name != SECOND[at] && taken(name));
            let mut behind = false;
            for (name, value) in &expected {
                let live = self.cluster.objects.get(name);
                let excused = taken(name) || bad(name) || blocked && name == SECOND[at];
                behind |= excused;
                match live {
                    _ if excused => {}
                    None => panic!("{name} is missing"),
                    Some(live) => {
                        assert_eq!(owner(live), Owner::Us, "{name}");
                        check_fields(live, *value);
                    }
                }
            }
            let labelled = |live: &Live| id::label(&live.object, PART_OF) == Some(&id);
            // While a desired member is not applied, nothing is pruned, because it may replace what would go. An object
            // that lost its label is no member, and a watch with a label selector does not show it.
            for (name, live) in self.cluster.objects.iter().filter(|_| !behind) {
                let member = labelled(live) || at == 0 && owner(live) == Owner::Us;
                assert!(!member || expected.contains_key(name), "{name} was not pruned: {live:?}");
            }
            let all = self.cluster.objects.values();
            assert!(
                all.filter(|live| labelled(live)).all(|live| owner(live) == Owner::Us),
                "a label is only on members"
            );
            let done = actor.set.plan(self.now).stage;
            assert_eq!(done == Stage::Deleted, actor.deleting(), "{done:?}");
        }
        for name in &self.foreign {
            if let Some(live) = self.cluster.objects.get(name) {
                assert!(id::label(&live.object, PART_OF).is_none(), "invariant 2: {live:?}");
            }
        }
    }

    /// Whether the set may not know the object yet, which is somebody else's. The watch showed it before the set wanted it, so
    /// the set forgot it. The set would learn of it from the request that creates the member, but the member still waits for
    /// an earlier wave.
    fn is_unseen(&self, at: usize, live: &Live) -> bool {
        let set = &self.actors[at].set;
        let member = MemberId::of(&reference(live));
        let is_held_up = |step: &Step| step.member == member && matches!(step.action, Action::Blocked { .. });
        Owner::of(&live.object, set.id(), set.parent()) != Owner::Us && set.plan(self.now).steps.iter().any(is_held_up)
    }

    /// Nothing is sent while nothing changes, not even after a restart.
    fn check_quiet(&mut self) {
        let (requests, changes) = (self.requests, self.cluster.changes);
        for at in 0..2 {
            let all = self.cluster.objects.values().filter(|live| selects(at, &self.actors[at].set, live));
            let all: Vec<_> = all.map(|live| (live.watched("unknown"), self.is_unseen(at, live))).collect();
            for (object, unseen) in &all {
                let set = &mut self.actors[at].set;
                let news = set.observe(object, self.now);
                assert!(!news || *unseen, "there is nothing new: {}", object.json);
                assert!(!news || !set.observe(object, self.now), "the same is new twice: {}", object.json);
            }
            self.send(at, &[Fate::Done; 8]);
        }
        assert_eq!(self.requests, requests, "invariant 4");
        (0..2).for_each(|at| self.start(at));
        self.settle();
        assert_eq!(self.cluster.changes, changes, "invariant 6: a restart changes nothing");
        let assumed = self.actors.iter().all(|actor| !actor.want.contains(&Some(2)));
        let plain = self.cluster.objects.values().all(|live| {
            live.object["items"].as_array().is_none_or(|items| items.len() < 2)
                && live.object["data"].get("of-others").is_none()
        });
        if assumed
            && plain
            && !self.bad
            && self.foreign.is_empty()
            && self.actors.iter().all(|actor| actor.want[3].is_none())
        {
            assert_eq!(self.requests, requests, "invariant 4 after a restart");
        }
    }
}

/// Whether somebody else has set the field that makes a member ready.
fn is_up(object: &Value) -> bool {
    object["data"].get("of-others").is_some()
}

/// One of the two watches has a label selector, as watches for many members have.
fn selects(at: usize, set: &Set, live: &Live) -> bool {
    at == 0 || id::label(&live.object, PART_OF) == Some(set.id().as_str())
}

fn check_fields(live: &Live, value: usize) {
    let text = if VALUES[value] == "1000m" { "1" } else { VALUES[value] };
    assert_eq!(live.text("/data/a"), text, "{live:?}");
    assert_eq!(live.object["data"].get("only-y").is_some(), text == "y", "{live:?}");
    let items = live.object["items"].as_array().unwrap();
    let one = items.iter().find(|item| item["name"] == "one").unwrap();
    assert_eq!(one["v"], text, "{live:?}");
    assert_eq!(items.iter().any(|item| item["name"] == "two"), text == "y", "{live:?}");
}

fn names() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a0", "a1", "a2", "b0", "b1", "shared"])
}

fn op() -> impl Strategy<Value = Op> {
    let at = || 0..2_usize;
    let value = || prop::option::of(0..3_usize);
    let field = prop::sample::select(vec![Field::Owned, Field::Foreign, Field::Label, Field::Item]);
    let fate = prop::sample::select(vec![Fate::Done, Fate::Done, Fate::Done, Fate::Refused, Fate::Lost, Fate::Killed]);
    prop_oneof![
        4 => (at(), prop::collection::vec(value(), 4), any::<bool>()).prop_map(|(at, want, empty)| Op::Want(at, want, empty)),
        3 => (names(), field, 0..3_usize).prop_map(|(name, field, value)| Op::Edit(name, field, value)),
        2 => names().prop_map(Op::Delete),
        1 => names().prop_map(Op::Create),
        8 => (at(), prop::collection::vec(fate, 1..4)).prop_map(|(at, fates)| Op::Send(at, fates)),
        6 => (at(), 1..6_usize).prop_map(|(at, count)| Op::Show(at, count)),
        1 => at().prop_map(Op::Crash),
        4 => at().prop_map(Op::Answer),
        1 => at().prop_map(Op::Approve),
        2 => prop::sample::select(vec![100, 2_000, 20_000]).prop_map(Op::Pass),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Parents, Kind::Decorators])
}

fn shape() -> impl Strategy<Value = Shape> {
    let adopt = prop::sample::select(vec![Adopt::Never, Adopt::IfUnowned]);
    (kind(), any::<bool>(), adopt).prop_map(|(kind, waves, adopt)| Shape { kind, waves, adopt })
}

fn play(shape: Shape, ops: Vec<Op>, bad: bool) -> World {
    let mut world = World::new(shape, bad);
    (0..2).for_each(|at| world.play(Op::Answer(at)));
    ops.into_iter().for_each(|op| world.play(op));
    world.settle();
    world.check_end();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    // mutant: crates/applyset/src/set/plan.rs: `Action::Create => Verb::Apply { body: with(member?, None, Some("1"))?` => `Action::Create => Verb::Apply { body: with(member?, None, None)?`
    // mutant: crates/applyset/src/set/mod.rs: `    if drift.is_empty() {` => `    if true {`
    // mutant: crates/applyset/src/set/plan.rs: `        Gate::Ready => is_ready(state, &member.digest, now),` => `        Gate::Ready => state.exists(now),`
    // mutant: crates/applyset/src/set/plan.rs: `let precious = order::is_precious(id) && !state.no_dependants;` => `let precious = false;`
    // mutant: crates/applyset/src/prune.rs: `if count > limits.max_objects {` => `if false {`
    #[test]
    fn every_history_ends_as_the_parents_want(shape in shape(), ops in prop::collection::vec(op(), 0..40)) {
        play(shape, ops, false).check_quiet();
    }

    #[test]
    fn a_member_that_fails_stops_no_other(kind in kind(), ops in prop::collection::vec(op(), 0..30)) {
        play(Shape::plain(kind), ops, true);
    }

    // mutant: crates/applyset/src/set/plan.rs: `                Some(seen) if seen.owner == Owner::Us => {` => `                Some(seen) => {`
    #[test]
    fn a_deleted_parent_leaves_nothing(shape in shape(), ops in prop::collection::vec(op(), 0..30), at in 0..2_usize, more in prop::collection::vec(op(), 0..10)) {
        play(shape, ops.into_iter().chain([Op::DeleteParent(at)]).chain(more).collect(), false);
    }
}

/// The same history, killed after each request in turn.
#[test]
fn a_crash_after_any_request_changes_nothing() {
    [Kind::Parents, Kind::Decorators].into_iter().for_each(crash_after_each);
}

fn crash_after_each(kind: Kind) {
    let end = |killed: Option<usize>| {
        let mut world = World::new(Shape::plain(kind), false);
        let step = |world: &mut World, count: usize| {
            for _ in 0..count {
                for at in 0..2 {
                    world.play(Op::Answer(at));
                    let fate = if killed == Some(world.requests) { Fate::Killed } else { Fate::Done };
                    world.send(at, &[fate]);
                    world.play(Op::Show(at, 10));
                    world.now += Duration::from_secs(5);
                }
            }
        };
        world.play(Op::Want(0, vec![Some(0), Some(1), None, Some(0)], false));
        world.play(Op::Want(1, vec![Some(1), None, Some(2), None], false));
        step(&mut world, 8);
        world.play(Op::Edit("a0", Field::Owned, 0));
        world.play(Op::Delete("b0"));
        world.play(Op::Want(0, vec![Some(1), None, Some(0), None], false));
        step(&mut world, 12);
        world.settle();
        world.check_end();
        let object = |(name, live): (&String, &Live)| {
            let mut object = live.object.clone();
            object["metadata"].as_object_mut().unwrap().retain(|name, _| name != "uid" && name != "resourceVersion");
            (name.clone(), object)
        };
        (world.cluster.objects.iter().map(object).collect::<BTreeMap<_, _>>(), world.requests)
    };
    let (expected, requests) = end(None);
    assert!(requests > 10 && !expected.is_empty(), "{requests}");
    for killed in 0..requests {
        assert_eq!(end(Some(killed)).0, expected, "killed after request {killed}");
    }
}

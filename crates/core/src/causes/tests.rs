//! The rules of causes, one by one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use super::{memory::Memory, *};

fn hook(name: &str) -> HookName {
    HookName::new(name).unwrap()
}

fn at(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(second)
}

fn object(name: &str) -> ObjectId {
    ObjectId { group: "".into(), kind: "ConfigMap".into(), namespace: Some("ns".into()), name: name.into() }
}

fn saw(name: &str, version: &str) -> Reason {
    let what = if version.is_empty() { "Deleted" } else { "Modified" };
    let seen =
        Seen { object: Arc::new(object(name)), version: Version::new(&format!("uid-{name}"), version), managers: None };
    Reason { binding: BindingName::new("maps"), what, seen: Some(seen) }
}

fn run(id: u64, of: &str, second: u64, reasons: Vec<Reason>) -> Run {
    let count = reasons.len();
    Run { id: RunId::new("p", id), hook: hook(of), began: at(second), reasons, count, span: None }
}

fn made(name: &str, version: &str) -> Made {
    Made::Version {
        version: Version::new(&format!("uid-{name}"), version),
        certain: true,
        content: 0,
        fields: vec![".data.x".into()],
    }
}

fn write<'a>(hook: &'a HookName, run: &'a RunId, second: u64, name: &str, made: Made) -> NewWrite<'a> {
    NewWrite {
        hook,
        run,
        at: at(second),
        object: object(name),
        verb: "patch",
        subresource: None,
        made,
        manager: "boathook.dev/h",
        shared: false,
    }
}

/// A run that writes one object.
fn act(causes: &Causes, id: u64, of: &str, second: u64, reasons: Vec<Reason>, name: &str, version: &str) {
    let run = run(id, of, second, reasons);
    let (hook, id) = (run.hook.clone(), run.id.clone());
    let live = causes.begin(run);
    causes.wrote(write(&hook, &id, second, name, made(name, version)));
    drop(live);
}

fn steps(chain: &Chain) -> Vec<String> {
    chain.steps.iter().map(|step| format!("{} {}", step.write.run.hook, step.write.object.name)).collect()
}

fn why(causes: &Causes, name: &str) -> Vec<Chain> {
    causes.why(|id| *id.name == *name, 10)
}

#[test]
fn a_chain_leads_back_to_the_first_cause() {
    let causes = Causes::new(Bounds::default());
    act(&causes, 1, "one", 1, vec![saw("root", "1")], "a", "2");
    act(&causes, 2, "two", 2, vec![saw("a", "2")], "b", "3");
    act(&causes, 3, "three", 3, vec![saw("other", "9"), saw("b", "3")], "c", "4");
    let [chain] = why(&causes, "c").try_into().unwrap();
    assert_eq!(steps(&chain), ["three c", "two b", "one a"]);
    assert_eq!(chain.origin, Origin::SomebodyElse(Arc::new(object("root"))));
    assert_eq!(chain.steps[0].reason, Some(saw("b", "3")), "the reason that the chain follows");
    assert!(chain.steps.iter().all(|step| !step.possibly));
    assert_eq!(causes.why_seen(&Version::new("uid-b", "3")).unwrap().steps.len(), 2);
}

#[test]
fn a_patch_in_a_second_with_others_is_doubted_if_the_hook_wrote_the_object_a_moment_before() {
    let causes = Causes::new(Bounds::default());
    let patch = |id: u64, of: &str, second: u64, version: &str| {
        let run = run(id, of, second, Vec::new());
        let unsure = match made("a", version) {
            Made::Version { version, content, fields, .. } => {
                Made::Version { version, certain: false, content, fields }
            }
            other => other,
        };
        let (hook, run_id) = (run.hook.clone(), run.id.clone());
        let live = causes.begin(run);
        causes.wrote(NewWrite { shared: true, ..write(&hook, &run_id, second, "a", unsure) });
        drop(live);
    };
    patch(1, "one", 10, "2");
    patch(2, "two", 10, "3");
    patch(3, "one", 11, "4");
    patch(4, "one", 20, "5");
    let certain = |chain: &Chain| matches!(chain.steps[0].write.made, Made::Version { certain: true, .. });
    let found: Vec<_> = why(&causes, "a").iter().map(certain).collect();
    assert_eq!(found, [true, false, true, true], "newest first");
}

#[test]
fn starts_and_schedules_are_first_causes() {
    let causes = Causes::new(Bounds::default());
    let reason = Reason { binding: BindingName::new("nightly"), what: "Schedule", seen: None };
    act(&causes, 1, "one", 1, vec![reason.clone()], "a", "2");
    let [chain] = why(&causes, "a").try_into().unwrap();
    assert_eq!((chain.origin, chain.steps[0].reason.as_ref()), (Origin::Reason, Some(&reason)));
    let id = RunId::new("event", 0);
    causes.wrote(write(&hook("one"), &id, 2, "told", made("told", "3")));
    causes.wrote(write(&hook("two"), &id, 3, "other", made("other", "4")));
    let [chain] = why(&causes, "other").try_into().unwrap();
    assert_eq!((chain.steps[0].write.run.hook.as_str(), chain.origin), ("two", Origin::Operator));
}

#[test]
fn a_version_has_one_maker() {
    let causes = Causes::new(Bounds::default());
    act(&causes, 1, "one", 1, vec![saw("root", "1")], "a", "2");
    // It changed nothing, and got the same version as an answer.
    act(&causes, 2, "two", 2, vec![saw("root", "1")], "a", "2");
    let [chain] = why(&causes, "a").try_into().unwrap();
    assert_eq!(chain.steps[0].write.run.hook.as_str(), "one");
    // What a run has seen before it began is not its own.
    act(&causes, 3, "three", 3, vec![saw("b", "7")], "b", "7");
    assert!(why(&causes, "b").is_empty());
}

#[test]
fn another_uid_is_another_object() {
    let causes = Causes::new(Bounds::default());
    act(&causes, 1, "one", 1, Vec::new(), "a", "2");
    let forged = Version::new("uid-other", "2");
    assert_eq!(causes.why_seen(&forged), None, "the same resource version of another object");
    let seen = Seen { object: Arc::new(object("a")), version: forged, managers: None };
    let reason = Reason { seen: Some(seen), ..saw("a", "2") };
    act(&causes, 2, "two", 2, vec![reason], "b", "3");
    let [chain] = why(&causes, "b").try_into().unwrap();
    assert_eq!((chain.steps.len(), chain.origin), (1, Origin::SomebodyElse(Arc::new(object("a")))));
}

#[test]
fn a_deletion_causes_its_event_and_that_of_its_mark() {
    let causes = Causes::new(Bounds::default());
    let remover = run(1, "one", 1, vec![saw("root", "1")]);
    let (name, id) = (remover.hook.clone(), remover.id.clone());
    let live = causes.begin(remover);
    let deletion = Made::Deletion { uid: "uid-a".into(), marked: Some("5".into()) };
    causes.wrote(NewWrite { verb: "delete", ..write(&name, &id, 1, "a", deletion) });
    drop(live);
    act(&causes, 2, "two", 2, vec![saw("a", "5")], "b", "6");
    act(&causes, 3, "three", 3, vec![saw("a", "")], "c", "7");
    for (of, chain) in [("two b", why(&causes, "b")), ("three c", why(&causes, "c"))] {
        assert_eq!(steps(&chain[0]), [of, "one a"]);
    }
}

#[test]
fn a_write_without_a_response_is_possibly_the_cause() {
    let causes = Causes::new(Bounds::default());
    let first = run(1, "one", 1, vec![saw("root", "1")]);
    let (name, id) = (first.hook.clone(), first.id.clone());
    let live = causes.begin(first);
    causes.wrote(write(&name, &id, 1, "a", Made::Unknown));
    drop(live);
    act(&causes, 2, "two", 2, vec![saw("a", "8")], "b", "9");
    let [chain] = why(&causes, "b").try_into().unwrap();
    assert_eq!(steps(&chain), ["two b", "one a"]);
    assert_eq!(chain.steps.iter().map(|step| step.possibly).collect::<Vec<_>>(), [true, false]);
    // An event that came long after it, and the end of an object that nobody deleted, are not its.
    act(&causes, 3, "three", 10_000, vec![saw("a", "10")], "c", "11");
    assert_eq!(why(&causes, "c")[0].steps.len(), 1);
    act(&causes, 4, "four", 3, vec![saw("a", "")], "d", "12");
    assert_eq!(why(&causes, "d")[0].steps.len(), 1);
}

#[test]
fn a_run_can_learn_of_more_reasons_before_it_writes() {
    let causes = Causes::new(Bounds::default());
    act(&causes, 1, "one", 1, Vec::new(), "member", "2");
    let parent = run(2, "two", 2, vec![Reason { what: "Again", seen: None, ..saw("parent", "1") }]);
    let (name, id) = (parent.hook.clone(), parent.id.clone());
    let _live = causes.begin(parent);
    causes.add_reasons(&id, vec![saw("member", "2")]);
    assert_eq!(causes.reasons(&id).len(), 2);
    causes.wrote(write(&name, &id, 3, "parent", made("parent", "3")));
    assert_eq!(steps(&why(&causes, "parent")[0]), ["two parent", "one member"]);
}

#[test]
fn what_is_about_the_same_object_explains_a_write() {
    let causes = Causes::new(Bounds::default());
    act(&causes, 1, "one", 1, vec![saw("root", "1")], "a", "2");
    act(&causes, 2, "two", 2, vec![saw("root", "1")], "b", "3");
    // One run takes both events, and writes to each of the objects.
    let both = run(3, "three", 3, vec![saw("a", "2"), saw("b", "3"), saw("c", "4")]);
    let (name, id) = (both.hook.clone(), both.id.clone());
    let live = causes.begin(both);
    for (object, version) in [("a", "5"), ("b", "6"), ("c", "7"), ("d", "8")] {
        causes.wrote(write(&name, &id, 4, object, made(object, version)));
    }
    drop(live);
    assert_eq!(steps(&why(&causes, "a")[0]), ["three a", "one a"]);
    assert_eq!(steps(&why(&causes, "b")[0]), ["three b", "two b"]);
    let of_c = &why(&causes, "c")[0];
    assert_eq!((steps(of_c), &of_c.origin), (vec!["three c".to_owned()], &Origin::SomebodyElse(Arc::new(object("c")))));
    assert_eq!(steps(&why(&causes, "d")[0]), ["three d", "two b"], "the newest of them");
}

#[test]
fn a_million_causes_are_bounded_and_it_tells_what_it_forgot() {
    let bounds = Bounds { writes: 1_000, bytes: 256 * 1024 };
    let mut memory = Memory::new(bounds);
    let name = hook("one");
    for n in 0..1_000_000_u64 {
        let id = RunId::new("p", n);
        memory.began(run(n, "one", n, vec![saw("root", &n.to_string())]));
        memory.wrote(write(&name, &id, n, &format!("a{n}"), made(&format!("a{n}"), &n.to_string())));
        memory.ended(&id);
    }
    assert!(memory.len() <= bounds.writes && memory.bytes() <= bounds.bytes, "{} {}", memory.len(), memory.bytes());
    assert!(memory.len() > 100, "{}", memory.len());
    let forgotten = memory.forgotten();
    assert_eq!(forgotten.writes + memory.len() as u64, 1_000_000);
    assert_eq!(forgotten.until, Some(at(forgotten.writes - 1)));
    assert_eq!(memory.objects().count(), memory.len());
}

#[test]
fn one_run_with_many_writes_is_bounded_too() {
    let mut memory = Memory::new(Bounds { writes: 100, bytes: 1 << 20 });
    let (name, id) = (hook("one"), RunId::new("p", 1));
    memory.began(run(1, "one", 1, vec![saw("root", "1")]));
    for n in 0..10_000_u64 {
        memory.wrote(write(&name, &id, n, "same", made("same", &n.to_string())));
    }
    assert_eq!((memory.len(), memory.writes_to(&object("same")).count()), (100, 100));
    // All of it goes, and nothing is left.
    let other = hook("two");
    for n in 0..100_u64 {
        memory.wrote(write(&other, &RunId::new("q", n), n, "b", made("b", &format!("b{n}"))));
    }
    assert_eq!(memory.writes_to(&object("same")).count(), 0);
    assert_eq!(memory.objects().count(), 1);
}

#[test]
fn a_chain_that_reaches_what_is_forgotten_says_so() {
    let causes = Causes::new(Bounds { writes: 2, bytes: 1 << 20 });
    for n in 1..=3 {
        act(&causes, n, "one", n, vec![saw("a", &n.to_string())], "a", &(n + 1).to_string());
    }
    let chains = why(&causes, "a");
    assert_eq!((chains.len(), chains[0].steps.len()), (2, 2));
    assert_eq!(chains[0].origin, Origin::Forgotten(Arc::new(object("a"))));
    assert_eq!(causes.forgotten().writes, 1);
}

#[test]
fn long_chains_are_cut() {
    let causes = Causes::new(Bounds::default());
    for n in 1..=100 {
        act(&causes, n, "one", n, vec![saw("a", &n.to_string())], "a", &(n + 1).to_string());
    }
    let chains = why(&causes, "a");
    assert_eq!((chains[0].steps.len(), &chains[0].origin), (32, &Origin::TooLong));
}

#[test]
fn the_last_writes_are_listed_and_those_of_a_run_are_explained() {
    let causes = Causes::new(Bounds::default());
    act(&causes, 1, "one", 1, vec![saw("a", "1")], "b", "2");
    act(&causes, 2, "two", 2, vec![saw("b", "2")], "c", "3");
    let names = |writes: Vec<Write>| writes.iter().map(|write| write.object.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(causes.writes(|_| true, 9)), ["c", "b"]);
    assert_eq!(names(causes.writes(|_| true, 1)), ["c"]);
    assert_eq!(names(causes.writes(|write| &*write.object.name == "b", 9)), ["b"]);
    let [chain] = causes.why_run("p-2", 9).try_into().unwrap();
    assert_eq!(steps(&chain), ["two c", "one b"]);
    assert!(causes.why_run("p-3", 9).is_empty());
}

#[test]
fn runs_under_way_are_listed_and_can_still_learn_reasons() {
    let causes = Causes::new(Bounds::default());
    let (first, second) = (run(1, "one", 1, vec![saw("a", "1"), saw("b", "1")]), run(2, "two", 2, Vec::new()));
    let id = second.id.clone();
    let (ends, _stays) = (causes.begin(first), causes.begin(second));
    let listed = causes.under_way(1);
    assert_eq!(
        listed.iter().map(|run| (run.id.as_str(), run.reasons.len(), run.count)).collect::<Vec<_>>(),
        [("p-1", 1, 2), ("p-2", 0, 0)]
    );
    causes.add_reasons(&id, vec![saw("c", "1")]);
    assert_eq!(causes.reasons(&id).len(), 1);
    drop(ends);
    assert_eq!(causes.under_way(1).len(), 1);
}

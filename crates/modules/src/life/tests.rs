//! The life of modules, step by step.

use super::*;
use crate::{
    graph::Node,
    layout::{Class, Dependency},
};

fn name(text: &str) -> ModuleName {
    text.parse().unwrap()
}

/// `name order: needed needed`, with a chart; `name! order` has a script, too.
fn node(text: &str) -> (Node, Parts) {
    let (head, needed) = text.split_once(':').unwrap_or((text, ""));
    let mut words = head.split_whitespace();
    let own = words.next().unwrap();
    let order = words.next().map_or(1, |order| order.parse().unwrap());
    let dependencies = needed.split_whitespace();
    let dependencies = dependencies.map(|word| Dependency { name: name(word), optional: false, versions: None });
    let dependencies = dependencies.collect();
    let parts = Parts { chart: true, script: own.ends_with('!') };
    let own = name(own.trim_end_matches('!'));
    (Node { name: own, order, class: Class::Critical, version: None, dependencies }, parts)
}

/// A life, and what runs.
struct Run {
    life: Life,
    running: BTreeMap<String, TaskId>,
    waiting: Vec<(TaskId, u32)>,
    log: Vec<String>,
}

fn shown(subject: &Subject, step: &Step) -> String {
    let of = match subject {
        Subject::Global => "global".to_owned(),
        Subject::Module(name) => name.to_string(),
    };
    match step {
        Step::Script { on } => {
            format!("{of} script {}", on.iter().map(ModuleName::as_str).collect::<Vec<_>>().join(","))
        }
        step => format!("{of} {step:?}"),
    }
}

impl Run {
    fn of(modules: &[&str]) -> Self {
        let all: Vec<_> = modules.iter().map(|text| node(text)).collect();
        let parts: BTreeMap<_, _> = all.iter().map(|(node, parts)| (node.name.clone(), *parts)).collect();
        let life = Life::new(Graph::new(all.into_iter().map(|(node, _)| node)).unwrap(), |name| parts[name]);
        Self { life, running: BTreeMap::new(), waiting: Vec::new(), log: Vec::new() }
    }

    fn send(&mut self, event: Event) -> &mut Self {
        let actions = self.life.handle(event);
        self.act(actions)
    }

    fn act(&mut self, actions: Vec<Action>) -> &mut Self {
        for action in actions {
            match action {
                Action::Start(task, subject, step) => {
                    let text = shown(&subject, &step);
                    self.log.push(text.clone());
                    self.running.insert(text, task);
                }
                Action::Abort(task, subject) => {
                    self.log.push(format!("abort {subject}"));
                    self.running.retain(|_, running| *running != task);
                }
                Action::Wait(task, _, failures) => self.waiting.push((task, failures)),
            }
        }
        self
    }

    /// Takes other modules, which are all on.
    fn replace(&mut self, modules: &[&str], broken: &[&str], renewed: &[&str]) -> &mut Self {
        let all: Vec<_> = modules.iter().map(|text| node(text)).collect();
        let parts: BTreeMap<_, _> = all.iter().map(|(node, parts)| (node.name.clone(), *parts)).collect();
        let graph = Graph::new(all.into_iter().map(|(node, _)| node)).unwrap();
        let graph = graph.with_broken(broken.iter().map(|module| (name(module), "not read".to_owned())));
        let renewed = renewed.iter().map(|module| name(module)).collect();
        let votes = parts.keys().map(|module| (module.clone(), Decision { on: true, by: None })).collect();
        let actions = self.life.replace(graph, votes, |name| parts[name], &renewed);
        self.act(actions)
    }

    fn vote(&mut self, on: &[&str]) -> &mut Self {
        let votes = on.iter().map(|module| (name(module), Decision { on: true, by: None })).collect();
        self.send(Event::Votes(votes))
    }

    fn end(&mut self, step: &str, end: End) -> &mut Self {
        let task = self.running.remove(step).unwrap_or_else(|| panic!("{step} does not run: {:?}", self.running));
        self.send(Event::Ended(task, end))
    }

    fn done(&mut self, step: &str) -> &mut Self {
        self.end(step, End::Done)
    }

    /// The global hooks have started.
    fn open(&mut self) -> &mut Self {
        self.send(Event::Begin).done("global Start").done("global BeforeAll")
    }

    /// Ends all steps well, until nothing runs.
    fn all(&mut self) -> &mut Self {
        while let Some(step) = self.running.keys().next().cloned() {
            let end = if step.contains(" script") { End::Answer(true, None) } else { End::Done };
            self.end(&step, end);
        }
        self
    }

    fn took(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    fn report(&self, module: &str) -> Report {
        let subject = Subject::Module(name(module));
        self.life.reports().into_iter().find(|report| report.subject == subject).unwrap()
    }
}

#[test]
fn a_module_goes_through_all_steps_after_the_global_hooks() {
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).send(Event::Begin).all();
    let steps = ["global Start", "global BeforeAll", "web Start", "web BeforeHelm", "web Chart", "web AfterHelm"];
    assert_eq!(run.took(), [&steps[..], &["global AfterAll"]].concat());
    assert!(run.life.has_settled());
    assert_eq!((run.report("web").at, run.report("web").on), ("ready", Some(true)));
}

#[test]
fn modules_were_tried_even_if_the_hooks_after_them_fail() {
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).open().done("web Start").done("web BeforeHelm").done("web Chart");
    assert!(!run.life.were_tried());
    run.done("web AfterHelm").end("global AfterAll", End::Failed("no".to_owned()));
    assert!(run.life.were_tried() && !run.life.has_settled());
}

// mutant: crates/modules/src/life/entry.rs: `Phase::Start => Phase::BeforeHelm,` => `Phase::Start => Phase::Chart,`
#[test]
fn nothing_is_rendered_before_the_synchronizations() {
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).open();
    // What the synchronizations write is no reason to render, and nothing begins before all of them have succeeded.
    run.send(Event::Changed(Subject::Module(name("web")), None));
    assert_eq!(run.took(), ["global Start", "global BeforeAll", "web Start"]);
    run.done("web Start");
    assert_eq!(run.took(), ["web BeforeHelm"]);
}

#[test]
fn numbers_order_and_dependencies_need() {
    let mut run = Run::of(&["a 1", "b 2", "c 3: b"]);
    run.vote(&["a", "b", "c"]).open();
    assert_eq!(run.took().last().unwrap(), "a Start");
    run.end("a Start", End::Failed("broken".to_owned()));
    assert_eq!(run.took(), ["b Start"], "a was tried");
    assert_eq!(run.report("c").waits.unwrap(), "the module b");
    run.done("b Start").done("b BeforeHelm").end("b Chart", End::Failed("no".to_owned()));
    run.took();
    assert_eq!(run.report("c").waits.unwrap(), "the module b", "tried is not ready");
    let (task, failures) = run.waiting.pop().unwrap();
    assert_eq!(failures, 1);
    run.send(Event::Due(task));
    assert_eq!(run.took(), ["global AfterAll", "b Chart"].map(str::to_owned)[1..].to_vec());
    run.done("b Chart").done("b AfterHelm");
    assert_eq!(run.took().last().unwrap(), "c Start");
    assert_eq!(run.report("a").error.unwrap(), "broken");
}

#[test]
fn modules_with_the_same_number_go_side_by_side() {
    let mut run = Run::of(&["a 1", "b 1", "c 2"]);
    run.vote(&["a", "b", "c"]).open();
    assert_eq!(run.took()[2..], ["a Start", "b Start"]);
    run.done("a Start").done("a BeforeHelm").done("a Chart").done("a AfterHelm");
    assert_eq!((run.report("a").at, run.report("c").waits.unwrap().as_str()), ("ready", "the module b"));
    run.all();
    assert_eq!((run.report("b").at, run.report("c").at), ("ready", "ready"));
}

#[test]
fn a_change_ends_the_wait_of_an_older_one() {
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).open().done("web Start").done("web BeforeHelm");
    run.took();
    run.send(Event::Changed(Subject::Module(name("web")), None));
    assert_eq!(run.took(), ["abort the module web", "web BeforeHelm"]);
    // What its own hook writes before the chart is in the chart.
    run.send(Event::Changed(Subject::Module(name("web")), Some(Step::BeforeHelm))).done("web BeforeHelm");
    assert_eq!(run.took(), ["web Chart"]);
    // And what it writes after the chart needs another one.
    run.done("web Chart").send(Event::Changed(Subject::Module(name("web")), Some(Step::AfterHelm)));
    run.done("web AfterHelm");
    assert_eq!(run.took(), ["web AfterHelm", "web BeforeHelm"]);
}

#[test]
fn only_what_a_change_concerns_runs_again() {
    let mut run = Run::of(&["a", "b"]);
    run.vote(&["a", "b"]).open().all();
    run.took();
    run.send(Event::Changed(Subject::Module(name("b")), None)).all();
    assert_eq!(run.took(), ["b BeforeHelm", "b Chart", "b AfterHelm"]);
    run.send(Event::Changed(Subject::Global, None)).all();
    let again = run.took();
    assert_eq!(again.first().unwrap(), "global BeforeAll");
    assert!(again.contains(&"a Chart".to_owned()) && again.contains(&"b Chart".to_owned()), "{again:?}");
    assert_eq!(again.last().unwrap(), "global AfterAll");
    run.send(Event::Drifted(name("a"))).all();
    assert_eq!(run.took(), ["a BeforeHelm", "a Chart", "a AfterHelm"]);
}

#[test]
fn what_after_all_writes_begins_another_round() {
    let mut run = Run::of(&[]);
    run.open();
    run.send(Event::Changed(Subject::Global, Some(Step::AfterAll))).done("global AfterAll");
    assert_eq!(run.took().last().unwrap(), "global BeforeAll");
    run.all();
    assert_eq!(run.took(), ["global AfterAll"]);
}

#[test]
fn modules_are_deleted_after_those_that_need_them() {
    let mut run = Run::of(&["db 1", "api 2: db", "web 3"]);
    run.vote(&["db", "api", "web"]).open().all();
    run.took();
    run.vote(&["web"]).all();
    let deleted = ["BeforeDeleteHelm", "Delete", "AfterDeleteHelm", "Stop"];
    let mut expected = vec!["global BeforeAll".to_owned()];
    for module in ["api", "db"] {
        expected.extend(deleted.map(|step| format!("{module} {step}")));
    }
    expected.push("global AfterAll".to_owned());
    assert_eq!(run.took(), expected);
    assert_eq!((run.report("db").at, run.report("db").on), ("off", Some(false)));
    run.vote(&["db", "web"]).all();
    assert!(run.took().contains(&"db Start".to_owned()), "it starts over");
}

#[test]
fn modules_are_deleted_in_the_reverse_order_of_their_numbers() {
    let mut run = Run::of(&["a 1", "b 2", "c 2"]);
    run.vote(&["a", "b", "c"]).open().all();
    run.took();
    run.vote(&[]).all();
    let took = run.took();
    let place = |step: &str| took.iter().position(|took| took == step).unwrap_or_else(|| panic!("{step}: {took:?}"));
    for later in ["b Stop", "c Stop"] {
        assert!(place(later) < place("a BeforeDeleteHelm"), "{took:?}");
    }
    assert_eq!(took.last().unwrap(), "global AfterAll");
    assert_eq!(run.report("a").at, "off");
}

#[test]
fn a_broken_module_can_be_turned_off() {
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).open().done("web Start").done("web BeforeHelm").end("web Chart", End::Refused("no".to_owned()));
    assert_eq!(run.report("web").waits.unwrap(), "a change of its values, or a restart of the operator");
    assert!(run.waiting.is_empty(), "another try would fail, too");
    run.all().took();
    run.vote(&[]).all();
    assert_eq!(run.took()[1..5], ["web BeforeDeleteHelm", "web Delete", "web AfterDeleteHelm", "web Stop"]);
}

#[test]
fn what_is_in_the_cluster_and_off_is_deleted_with_its_hooks_and_what_is_gone_from_disk_in_the_end() {
    let mut run = Run::of(&["web", "old"]);
    run.life.graph = std::mem::take(&mut run.life.graph).with_broken([(name("unreadable"), "why".to_owned())]);
    run.vote(&["web"]).send(Event::Installed(vec![name("old"), name("gone"), name("unreadable")])).send(Event::Begin);
    run.all();
    let took = run.took();
    let place = |step: &str| took.iter().position(|took| took == step).unwrap_or_else(|| panic!("{step}: {took:?}"));
    assert!(place("old BeforeDeleteHelm") < place("old Delete"));
    assert!(place("global AfterAll") < place("gone Delete"));
    assert!(!took.iter().any(|took| took.contains("unreadable")), "nobody knows what it is: {took:?}");
    assert!(run.life.reports().iter().all(|report| report.subject != Subject::Module(name("gone"))));
}

#[test]
fn scripts_see_the_modules_before_them_and_are_asked_again_when_that_changes() {
    let mut run = Run::of(&["a! 1", "b! 2", "c! 3"]);
    run.vote(&["a", "b", "c"]).open();
    assert_eq!(run.took()[2..], ["a script "], "a script waits for the answers of those before it");
    run.end("a script ", End::Answer(true, None));
    assert_eq!(run.took(), ["b script a", "a Start"]);
    run.end("b script a", End::Answer(false, Some("too small".to_owned())));
    assert_eq!(run.took(), ["c script a"]);
    assert_eq!(run.report("b").why, "its script says no: too small");
    run.end("c script a", End::Failed("exit status 1".to_owned())).all();
    assert_eq!((run.report("c").on, run.report("a").at), (None, "ready"), "a script that fails holds up its module");
    let (task, _) = run.waiting.pop().unwrap();
    run.took();
    run.send(Event::Due(task));
    assert_eq!(run.took(), ["c script a"]);
    run.all().took();
    run.send(Event::Changed(Subject::Module(name("b")), None)).end("b script a", End::Answer(true, None));
    assert!(run.running.contains_key("c script a,b"), "{:?}", run.running);
}

#[test]
fn scripts_are_asked_again_when_global_values_change() {
    let mut run = Run::of(&["a!"]);
    run.vote(&["a"]).open().all();
    run.took();
    run.send(Event::Changed(Subject::Global, None)).done("global BeforeAll");
    assert!(run.running.contains_key("a script "), "{:?}", run.running);
    run.end("a script ", End::Answer(false, None)).all();
    assert_eq!((run.report("a").at, run.report("a").on), ("off", Some(false)));
}

#[test]
fn a_maintained_module_runs_its_hooks_and_keeps_its_objects() {
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).open().all();
    run.took();
    let kept = Event::Maintained([(name("web"), Maintenance::NoResourceReconciliation)].into());
    run.send(kept).send(Event::Changed(Subject::Module(name("web")), None)).all();
    assert_eq!(run.took(), ["web BeforeHelm", "web AfterHelm"]);
    run.send(Event::Maintained(BTreeMap::new())).all();
    assert_eq!(run.took(), ["web BeforeHelm", "web Chart", "web AfterHelm"]);
}

fn paused(module: &str) -> Event {
    Event::Maintained([(name(module), Maintenance::Paused)].into())
}

// mutant: crates/modules/src/life/plan.rs: `entry.slot.is_free() && !entry.paused` => `entry.slot.is_free()`
#[test]
fn no_step_of_a_paused_module_begins_and_nobody_waits_for_it() {
    let mut run = Run::of(&["low 1", "web 2", "high 3"]);
    run.vote(&["low", "web", "high"]).open();
    run.done("low Start").done("low BeforeHelm").done("low Chart").done("low AfterHelm");
    run.took();
    run.send(paused("web"));
    assert_eq!(run.took(), ["abort the module web", "high Start"]);
    run.all();
    assert_eq!(run.took(), ["high BeforeHelm", "high Chart", "high AfterHelm", "global AfterAll"]);
    let report = run.report("web");
    assert_eq!((report.at, report.paused), ("Start", true));
    assert_eq!(report.waits.as_deref(), Some("the end of its maintenance, which is Paused"));
    run.send(Event::Changed(Subject::Module(name("web")), None)).send(Event::Drifted(name("web")));
    assert!(run.running.is_empty(), "{:?}", run.running);
    run.send(Event::Maintained(BTreeMap::new())).all();
    assert_eq!(run.took(), ["web Start", "web BeforeHelm", "web Chart", "web AfterHelm"]);
    // It is not deleted while it is paused, and nothing waits for that.
    run.send(paused("web")).vote(&[]).all();
    assert_eq!((run.report("high").at, run.report("low").at), ("off", "off"));
    assert!(!run.took().iter().any(|step| step.starts_with("web ")));
    run.send(Event::Maintained(BTreeMap::new())).all();
    assert_eq!(run.took(), ["web BeforeDeleteHelm", "web Delete", "web AfterDeleteHelm", "web Stop"]);
}

// mutant: crates/modules/src/life/entry.rs: `if self.slot.again && matches!(self.phase, Phase::Chart | Phase::AfterHelm) {` => `if false {`
#[test]
fn a_pause_loses_no_change() {
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).open().done("web Start").done("web BeforeHelm").done("web Chart");
    // The step that runs does not see it.
    run.send(Event::Changed(Subject::Module(name("web")), None));
    run.took();
    run.send(paused("web")).all();
    assert_eq!(run.took(), ["abort the module web", "global AfterAll"]);
    run.send(Event::Maintained(BTreeMap::new())).all();
    assert_eq!(run.took(), ["web BeforeHelm", "web Chart", "web AfterHelm"]);
}

#[test]
fn what_is_paused_from_the_beginning_does_not_start_and_is_not_deleted() {
    let mut run = Run::of(&["web"]);
    run.send(Event::Maintained(
        [(name("web"), Maintenance::Paused), (name("gone"), Maintenance::Paused), (name("new"), Maintenance::Paused)]
            .into(),
    ));
    run.send(Event::Installed(vec![name("gone")])).vote(&["web"]).send(Event::Begin).all();
    assert_eq!(run.took(), ["global Start", "global BeforeAll", "global AfterAll"]);
    run.replace(&["web", "new"], &[], &[]).all();
    assert!(!run.took().iter().any(|step| step.starts_with("new ")));
    assert_eq!(run.report("new").at, "Start");
    assert!(run.report("gone").paused);
    run.send(Event::Maintained(BTreeMap::new())).all();
    let took = run.took();
    assert!(
        ["gone Delete", "web Start", "new Start"].iter().all(|step| took.iter().any(|one| one == step)),
        "{took:?}"
    );
}

#[test]
fn a_broken_before_all_hook_holds_up_the_first_round_only() {
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).send(Event::Begin).done("global Start").end("global BeforeAll", End::Failed("no".to_owned()));
    assert_eq!(run.report("web").waits, None);
    assert!(run.running.is_empty());
    let (task, _) = run.waiting.pop().unwrap();
    run.send(Event::Due(task)).all();
    run.vote(&[]).end("global BeforeAll", End::Failed("no".to_owned()));
    assert!(run.running.contains_key("web BeforeDeleteHelm"), "{:?}", run.running);
}

#[test]
fn a_slow_step_lets_others_go_on() {
    let mut run = Run::of(&["a 1", "b 2"]);
    run.vote(&["a", "b"]).open();
    run.took();
    let task = run.running["a Start"];
    run.send(Event::Trouble(task, "onStartup of hook x fails".to_owned()));
    assert_eq!(run.took(), ["b Start"]);
    assert_eq!(run.report("a").error.unwrap(), "onStartup of hook x fails");
    run.all();
    assert_eq!((run.report("a").at, run.report("a").error), ("ready", None));
}

#[test]
fn nothing_is_deleted_because_there_is_no_module_at_all() {
    let mut run = Run::of(&[]);
    run.send(Event::Installed(vec![name("web")])).send(Event::Begin).all();
    assert_eq!(run.took(), ["global Start", "global BeforeAll", "global AfterAll"]);
    assert!(run.life.has_no_modules());
}

#[test]
fn a_module_that_has_lost_its_chart_still_gets_to_that_step() {
    let (node, _) = node("web");
    let life = Life::new(Graph::new([node]).unwrap(), |_| Parts::default());
    let mut run = Run { life, running: BTreeMap::new(), waiting: Vec::new(), log: Vec::new() };
    run.send(Event::Installed(vec![name("web")])).vote(&["web"]).open().done("web Start").done("web BeforeHelm");
    assert_eq!(run.took().last().unwrap(), "web Chart");
}

#[test]
fn a_deletion_that_waits_is_taken_back() {
    for fails in [true, false] {
        let mut run = Run::of(&["web"]);
        run.vote(&["web"]).open().all();
        run.vote(&[]).done("global BeforeAll").done("web BeforeDeleteHelm");
        if fails {
            run.end("web Delete", End::Failed("it waits for an approval".to_owned()));
        }
        run.took();
        run.vote(&["web"]).all();
        let took = run.took();
        assert_eq!(took.contains(&"abort the module web".to_owned()), !fails, "{took:?}");
        assert!(took.contains(&"web Start".to_owned()) && !took.contains(&"web Stop".to_owned()), "{took:?}");
        assert_eq!(run.report("web").at, "ready");
        run.vote(&[]).all();
        assert!(run.took().contains(&"web Delete".to_owned()), "its objects are still known");
    }
}

#[test]
fn a_drift_is_not_forgotten_while_a_step_runs() {
    let steps = ["web Start", "web BeforeHelm", "web Chart", "web AfterHelm"];
    for at in 2..4 {
        for fails in [false, true] {
            let mut run = Run::of(&["web"]);
            run.vote(&["web"]).open();
            for step in &steps[..at] {
                run.done(step);
            }
            run.took();
            run.send(Event::Drifted(name("web")));
            assert_eq!(run.took(), [""; 0]);
            run.end(steps[at], if fails { End::Failed("no".to_owned()) } else { End::Done });
            assert!(run.took().contains(&"web BeforeHelm".to_owned()), "{}", steps[at]);
            run.all();
            assert_eq!(run.report("web").at, "ready");
        }
    }
    let mut run = Run::of(&["web"]);
    run.vote(&["web"]).open();
    for step in &steps[..3] {
        run.done(step);
    }
    run.end("web AfterHelm", End::Refused("no".to_owned())).took();
    run.send(Event::Drifted(name("web")));
    assert_eq!(run.took(), ["web BeforeHelm"]);
}

// mutant: crates/modules/src/life/entry.rs: `Phase::Chart => self.slot.hold = Hold::None,` => `Phase::Chart => {}`
#[test]
fn a_chart_that_was_refused_is_tried_again_when_somebody_asks_for_another_revision() {
    for end in [End::Refused("no".to_owned()), End::Failed("no".to_owned())] {
        let mut run = Run::of(&["web"]);
        run.vote(&["web"]).open().done("web Start").done("web BeforeHelm").end("web Chart", end).took();
        run.send(Event::Drifted(name("web")));
        assert_eq!(run.took(), ["web Chart"]);
    }
}

#[test]
fn a_failure_after_a_change_is_tried_at_once_only_once() {
    let failed = || End::Failed("no".to_owned());
    let mut run = Run::of(&[]);
    run.send(Event::Begin).done("global Start").took();
    run.send(Event::Changed(Subject::Global, None)).end("global BeforeAll", failed());
    assert_eq!((run.took(), run.waiting.len()), (vec!["global BeforeAll".to_owned()], 0));
    run.end("global BeforeAll", failed());
    assert_eq!((run.took(), run.waiting.len()), (vec![], 1));
    let mut run = Run::of(&[]);
    run.open().took();
    run.send(Event::Changed(Subject::Global, None)).end("global AfterAll", failed());
    assert_eq!(run.took(), ["global BeforeAll"], "the change is seen from the start");
}

#[test]
fn a_module_that_comes_later_goes_through_all_steps() {
    let mut run = Run::of(&["a"]);
    run.vote(&["a"]).open().all();
    run.took();
    run.replace(&["a", "b"], &[], &[]);
    run.all();
    let steps = ["b Start", "b BeforeHelm", "b Chart", "b AfterHelm"];
    assert_eq!(run.took(), [&["global BeforeAll"], &steps[..], &["global AfterAll"]].concat());
    assert_eq!((run.report("a").at, run.report("b").at), ("ready", "ready"));
    run.vote(&["a"]).all();
    run.took();
    run.replace(&["a"], &[], &[]).all();
    assert!(run.life.reports().iter().all(|report| report.subject != Subject::Module(name("b"))));
}

// mutant: crates/modules/src/life/mod.rs: `self.unread.insert(name);` => ``
#[test]
fn what_is_in_the_cluster_of_a_module_that_comes_later_is_kept_and_is_deleted_with_its_hooks() {
    let mut run = Run::of(&[]);
    run.replace(&[], &["web"], &[]).send(Event::Installed(vec![name("web")])).open().all();
    run.took();
    assert!(run.running.is_empty(), "its objects stay while nothing is known of it");
    run.replace(&["web"], &[], &[]).all();
    assert_eq!(run.report("web").at, "ready");
    assert!(!run.took().iter().any(|step| step.contains("Delete")));
    // It never comes, and nobody wants it any more.
    let mut run = Run::of(&[]);
    run.replace(&[], &["web"], &[]).send(Event::Installed(vec![name("web")])).open().all();
    run.replace(&[], &[], &[]).all();
    assert!(run.took().contains(&"web Delete".to_owned()));
    let mut run = Run::of(&[]);
    run.replace(&[], &["web"], &[]).send(Event::Installed(vec![name("web")])).open().all();
    // It comes, and is off at once.
    run.replace(&["web"], &[], &[]).vote(&[]).all();
    assert!(run.took().contains(&"web Delete".to_owned()), "what it has in the cluster is deleted");
}

// mutant: crates/modules/src/life/entry.rs: `*self = Self { phase: Phase::Start, released, maintained, paused, values, ..fresh };` => ``
#[test]
fn a_new_version_starts_again_and_ends_what_the_old_one_does() {
    let mut run = Run::of(&["web", "other"]);
    run.vote(&["web", "other"]).open().all();
    run.took();
    run.replace(&["web", "other"], &[], &["web"]);
    assert_eq!(run.took(), ["web Start"]);
    run.done("web Start").done("web BeforeHelm");
    run.took();
    // The old version's chart may never be ready.
    run.replace(&["web", "other"], &[], &["web"]);
    assert_eq!(run.took(), ["abort the module web", "web Start"]);
    run.all();
    // What is being deleted is not started again.
    run.vote(&["other"]);
    run.took();
    let graph = Graph::new([node("web").0, node("other").0]).unwrap();
    let votes = BTreeMap::from([(name("other"), Decision { on: true, by: None })]);
    let actions = run.life.replace(graph, votes, |_| node("web").1, &BTreeSet::from([name("web")]));
    run.act(actions).all();
    assert_eq!(run.report("web").at, "off");
    assert!(!run.took().contains(&"web Start".to_owned()));
}

//! Random modules, changes, failures and restarts against a model that knows only what must never happen, and where
//! everything must end. The seeds are fixed.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{
    graph::Node,
    layout::{Class, Dependency},
};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.next(n) == 0
    }
}

/// What the world knows of a module.
#[derive(Debug, Default, Clone)]
struct Known {
    /// Its hooks have started since it was last stopped.
    started: bool,
    /// The revision of values that its last `BeforeHelm` began with, if it succeeded.
    prepared: Option<u64>,
    /// Its chart has objects.
    applied: bool,
    ready: bool,
    revision: u64,
    /// It runs, or has something that must be deleted.
    present: bool,
}

struct World {
    dice: Dice,
    graph: Graph,
    parts: BTreeMap<ModuleName, Parts>,
    life: Life,
    votes: BTreeMap<ModuleName, bool>,
    /// What scripts say.
    scripts: BTreeMap<ModuleName, bool>,
    known: BTreeMap<ModuleName, Known>,
    broken: BTreeSet<ModuleName>,
    paused: BTreeSet<ModuleName>,
    running: BTreeMap<TaskId, (Subject, Step)>,
    waiting: BTreeSet<TaskId>,
    after_all: usize,
}

fn name(index: usize) -> ModuleName {
    format!("m{index}").parse().unwrap()
}

fn graph(dice: &mut Dice, size: usize) -> Graph {
    let nodes: Vec<Node> = (0..size)
        .map(|index| {
            let mut dependencies = Vec::new();
            for other in 0..index {
                if dice.one_in(4) {
                    let optional = dice.one_in(3);
                    dependencies.push(Dependency { name: name(other), optional, versions: None });
                }
            }
            let order = dice.next(3) as u32;
            Node { name: name(index), order, class: Class::Critical, version: None, dependencies }
        })
        .collect();
    Graph::new(nodes).unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let size = 1 + dice.next(7);
        let graph_seed = dice.next(1 << 30) as u64;
        let own = graph(&mut Dice(graph_seed), size);
        let names: Vec<ModuleName> = own.order().to_vec();
        let parts: BTreeMap<_, _> =
            names.iter().map(|name| (name.clone(), Parts { chart: !dice.one_in(3), script: dice.one_in(3) })).collect();
        let life = Life::new(graph(&mut Dice(graph_seed), size), |name| parts[name]);
        Self {
            graph: own,
            life,
            votes: names.iter().map(|name| (name.clone(), !dice.one_in(3))).collect(),
            scripts: names.iter().map(|name| (name.clone(), !dice.one_in(4))).collect(),
            known: names.iter().map(|name| (name.clone(), Known::default())).collect(),
            broken: BTreeSet::new(),
            paused: BTreeSet::new(),
            running: BTreeMap::new(),
            waiting: BTreeSet::new(),
            after_all: 0,
            parts,
            dice,
        }
    }

    /// Everything is lost but what is in the cluster.
    fn restart(&mut self) {
        let nodes = self.graph.order().iter().map(|name| Node {
            name: name.clone(),
            order: self.graph.number(name).unwrap_or(0),
            class: Class::Critical,
            version: None,
            dependencies: self.graph.dependencies(name).to_vec(),
        });
        let parts = self.parts.clone();
        self.life = Life::new(Graph::new(nodes).unwrap(), |name| parts[name]);
        self.running.clear();
        self.waiting.clear();
        for known in self.known.values_mut() {
            (known.started, known.prepared, known.ready) = (false, None, false);
            known.present = known.applied;
        }
    }

    fn begin(&mut self) {
        self.vote();
        self.pause();
        let installed = self.known.iter().filter(|(_, known)| known.applied).map(|(name, _)| name.clone()).collect();
        self.send(Event::Installed(installed));
        self.send(Event::Begin);
    }

    fn vote(&mut self) {
        let votes = self.votes.iter().map(|(name, on)| (name.clone(), Decision { on: *on, by: None })).collect();
        self.send(Event::Votes(votes));
    }

    fn pause(&mut self) {
        let paused = self.paused.iter().map(|name| (name.clone(), Maintenance::Paused)).collect();
        self.send(Event::Maintained(paused));
    }

    /// Which modules are on in the end.
    fn on(&self) -> BTreeSet<ModuleName> {
        let vote = |name: &ModuleName| Decision { on: self.votes[name], by: None };
        let script = |name: &ModuleName, _: &[ModuleName]| match (self.parts[name].script, self.scripts[name]) {
            (true, false) => Answer::No(None),
            _ => Answer::Yes,
        };
        let states = self.graph.states(vote, script);
        states.into_iter().filter(|(_, state)| matches!(state, State::On(_))).map(|(name, _)| name).collect()
    }

    fn send(&mut self, event: Event) {
        let actions = self.life.handle(event);
        for action in actions {
            match action {
                Action::Start(task, subject, step) => {
                    self.check(&subject, &step);
                    assert!(self.running.insert(task, (subject, step)).is_none());
                }
                Action::Abort(task, subject) => {
                    assert!(self.running.remove(&task).is_some_and(|(of, _)| of == subject), "it runs");
                }
                Action::Wait(task, ..) => drop(self.waiting.insert(task)),
            }
        }
    }

    /// What must never happen.
    fn check(&mut self, subject: &Subject, step: &Step) {
        let Subject::Module(name) = subject else {
            assert!(!self.running.values().any(|(of, _)| of == subject), "one step of the global hooks at a time");
            return;
        };
        if matches!(step, Step::Script { .. }) {
            return;
        }
        assert!(!self.paused.contains(name), "{name} begins {step:?} and is paused");
        let others = self.running.values().filter(|(of, step)| of == subject && !matches!(step, Step::Script { .. }));
        assert_eq!(others.count(), 0, "one step of {name} at a time");
        let known = self.known[name].clone();
        match step {
            Step::Start | Step::BeforeHelm | Step::Chart | Step::AfterHelm => {
                for needed in self.graph.needs(name) {
                    let is_on = matches!(self.life.state(needed), Some(State::On(_)));
                    assert!(!is_on || self.known[needed].ready, "{name} begins {step:?} before {needed} is ready");
                }
                assert!(*step == Step::Start || known.started, "{name} begins {step:?} before its synchronizations");
                if *step == Step::Chart {
                    assert!(known.prepared.is_some(), "{name} renders before its hooks ran");
                }
            }
            Step::BeforeDeleteHelm | Step::Delete | Step::AfterDeleteHelm | Step::Stop => {
                for (other, of_other) in &self.known {
                    let needs = self.graph.needs(other).any(|needed| needed == name);
                    let off = matches!(self.life.state(other), Some(State::Off(_)));
                    assert!(!(needs && off && of_other.present), "{name} is deleted before {other}, which needs it");
                }
            }
            Step::Script { .. } | Step::BeforeAll | Step::AfterAll => unreachable!("of other subjects"),
        }
        let known = self.known.get_mut(name).unwrap();
        known.ready = false;
        known.present = true;
        match step {
            Step::BeforeHelm => known.prepared = Some(known.revision),
            Step::Chart => known.applied = true,
            _ => {}
        }
    }

    /// Lets a step end.
    fn end(&mut self, task: TaskId, well: bool) {
        let (subject, step) = self.running.remove(&task).unwrap();
        let end = match (&subject, well) {
            (_, false) if self.dice.one_in(8) => End::Refused("no".to_owned()),
            (_, false) => End::Failed("no".to_owned()),
            (Subject::Module(name), true) => match &step {
                Step::Script { .. } => End::Answer(self.scripts[name], None),
                _ => End::Done,
            },
            (Subject::Global, true) => End::Done,
        };
        if well {
            match &subject {
                Subject::Global => self.after_all += usize::from(step == Step::AfterAll),
                Subject::Module(name) => {
                    let known = self.known.get_mut(name).unwrap();
                    match step {
                        Step::Start => known.started = true,
                        Step::AfterHelm => known.ready = known.prepared == Some(known.revision),
                        Step::Delete => known.applied = false,
                        Step::Stop => (known.started, known.prepared, known.present) = (false, None, false),
                        _ => {}
                    }
                }
            }
        }
        self.send(Event::Ended(task, end));
    }

    fn changed(&mut self, name: Option<ModuleName>) {
        for (known_name, known) in &mut self.known {
            if name.as_ref().is_none_or(|name| name == known_name) {
                known.revision += 1;
                known.ready = false;
            }
        }
        self.send(Event::Changed(name.map_or(Subject::Global, Subject::Module), None));
    }

    fn some(&mut self) -> ModuleName {
        let index = self.dice.next(self.known.len());
        self.known.keys().nth(index).cloned().unwrap()
    }

    /// One thing happens.
    fn happen(&mut self) {
        match self.dice.next(13) {
            0 => {
                let name = self.some();
                let on = self.votes.get_mut(&name).unwrap();
                *on = !*on;
                self.vote();
            }
            1 => {
                let name = self.some();
                self.changed(Some(name));
            }
            2 if self.dice.one_in(3) => self.changed(None),
            3 if self.dice.one_in(6) => {
                self.restart();
                self.begin();
            }
            4 => {
                let name = self.some();
                let answer = self.scripts.get_mut(&name).unwrap();
                *answer = !*answer;
                // A script depends on values.
                self.changed(Some(name));
            }
            5 => {
                if let Some(task) = self.running.keys().next().copied() {
                    self.send(Event::Trouble(task, "slow".to_owned()));
                }
            }
            6 if self.dice.one_in(2) => {
                let name = self.some();
                self.send(Event::Drifted(name));
            }
            7 => {
                let name = self.some();
                if !self.paused.remove(&name) {
                    self.paused.insert(name);
                }
                self.pause();
            }
            _ => drop(self.progress(3)),
        }
    }

    /// A step ends, or a wait does.
    fn progress(&mut self, fails_one_in: usize) -> bool {
        if !self.waiting.is_empty() && self.dice.one_in(3) || self.running.is_empty() {
            let index = self.dice.next(self.waiting.len().max(1));
            let Some(task) = self.waiting.iter().nth(index).copied() else { return false };
            self.waiting.remove(&task);
            self.send(Event::Due(task));
            return true;
        }
        let index = self.dice.next(self.running.len());
        let task = *self.running.keys().nth(index).unwrap();
        let well = match &self.running[&task].0 {
            Subject::Module(name) if self.broken.contains(name) => false,
            _ => fails_one_in == 0 || !self.dice.one_in(fails_one_in),
        };
        self.end(task, well);
        true
    }

    /// Everything succeeds from now on, except modules that are broken.
    fn settle(&mut self) {
        self.paused.clear();
        self.pause();
        // What was refused waits for a change.
        let names: Vec<_> = self.known.keys().cloned().collect();
        for name in names {
            self.changed(Some(name));
        }
        self.changed(None);
        for _ in 0..20_000 {
            let quiet = self.running.is_empty() && self.waiting.is_empty();
            if quiet || (!self.broken.is_empty() && self.only_broken()) {
                return;
            }
            self.progress(0);
        }
        panic!("it never comes to rest: {:?} {:?}", self.running, self.life.reports());
    }

    fn only_broken(&self) -> bool {
        let (on, blocked) = (self.on(), self.blocked());
        self.known.iter().all(|(name, known)| blocked.contains(name) || known.ready == on.contains(name))
            && self.after_all > 0
    }

    /// Broken modules, and all that need them.
    fn blocked(&self) -> BTreeSet<ModuleName> {
        let mut blocked = self.broken.clone();
        for name in self.graph.order() {
            if self.graph.needs(name).any(|needed| blocked.contains(needed)) {
                blocked.insert(name.clone());
            }
        }
        blocked
    }
}

#[test]
fn whatever_happens_everything_ends_as_the_configuration_wants_it() {
    for seed in 0..3000 {
        let mut world = World::new(seed);
        world.begin();
        for _ in 0..world.dice.next(200) {
            world.happen();
        }
        world.settle();
        let on = world.on();
        for (name, known) in &world.known {
            let expected = on.contains(name);
            assert_eq!(known.ready, expected, "seed {seed}: {name}: {known:?} {:#?}", world.life.reports());
            assert!(!expected || known.prepared == Some(known.revision), "seed {seed}: {name} has old values");
            let applied = expected && world.parts[name].chart;
            assert_eq!(known.applied, applied, "seed {seed}: {name}: {known:?} {:#?}", world.life.reports());
        }
        assert!(world.life.has_settled() && world.after_all > 0, "seed {seed}");
    }
}

#[test]
fn a_broken_module_holds_up_only_those_that_need_it() {
    for seed in 0..1500 {
        let mut world = World::new(seed);
        let broken = world.some();
        world.votes.insert(broken.clone(), true);
        world.parts.insert(broken.clone(), Parts { chart: true, script: false });
        world.restart();
        world.broken.insert(broken);
        world.begin();
        world.settle();
        let (on, blocked) = (world.on(), world.blocked());
        for (name, known) in world.known.iter().filter(|(name, _)| !blocked.contains(*name)) {
            assert_eq!(known.ready, on.contains(name), "seed {seed}: {name}: {:#?}", world.life.reports());
        }
    }
}

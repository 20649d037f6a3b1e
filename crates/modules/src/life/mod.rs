//! The life of modules: what runs next, from the first global hook to the last object that is deleted. Events go in, and
//! actions come out. It knows neither a clock nor a cluster: the code that carries out an action reports its end as an event.
//!
//! ```text
//!  global hooks:  Start ─▶ BeforeAll ─▶ (modules) ─▶ AfterAll ─▶ settled        a change of `global` begins at BeforeAll
//!  a module:      Start ─▶ BeforeHelm ─▶ Chart ─▶ AfterHelm ─▶ ready            a change of its values begins at BeforeHelm
//!                 BeforeDeleteHelm ─▶ Delete ─▶ AfterDeleteHelm ─▶ Stop ─▶ off
//! ```
//!
//! `Start` lasts until the start-up and the synchronizations of all hooks have succeeded, so nothing is rendered without the
//! values that they write. A module begins when the modules that it needs are ready, and when those with smaller numbers were
//! tried. A module that fails is tried again later, and only the modules that need it wait for it.

mod entry;
mod plan;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use entry::{Entry, Hold, Phase, Slot};

use crate::{
    config::Maintenance,
    graph::{Answer, Graph, State, Unknown},
    names::ModuleName,
    values::Decision,
};

/// What a step is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    Global,
    Module(ModuleName),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("the global hooks"),
            Self::Module(name) => write!(f, "the module {name}"),
        }
    }
}

/// Something that takes time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Ask the module's script `enabled`, which sees that these modules are on.
    Script {
        on: Vec<ModuleName>,
    },
    /// Load the hooks, and wait for their start-up and their synchronizations.
    Start,
    BeforeAll,
    AfterAll,
    BeforeHelm,
    /// Apply the chart, and wait until its objects are ready.
    Chart,
    AfterHelm,
    BeforeDeleteHelm,
    /// Delete the chart's objects.
    Delete,
    AfterDeleteHelm,
    /// Stop the hooks, and forget what they wrote.
    Stop,
}

/// A step that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u64);

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Done,
    /// What a script says, and why.
    Answer(bool, Option<String>),
    /// Another try may succeed.
    Failed(String),
    /// Another try fails, too, until something changes.
    Refused(String),
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The votes are known, and the first step may begin.
    Begin,
    /// Which modules are on, before scripts and dependencies decide. A module that is missing is off.
    Votes(BTreeMap<ModuleName, Decision>),
    /// How modules are kept. A module that is missing is managed.
    Maintained(BTreeMap<ModuleName, Maintenance>),
    /// Values of the subject are different, because of a step of the subject itself, or for another reason.
    Changed(Subject, Option<Step>),
    /// These modules have objects in the cluster.
    Installed(Vec<ModuleName>),
    /// The objects of this module are no longer as they were applied.
    Drifted(ModuleName),
    Ended(TaskId, End),
    /// A step failed, and goes on trying by itself.
    Trouble(TaskId, String),
    /// The time after the failure of this step is over.
    Due(TaskId),
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Start(TaskId, Subject, Step),
    /// End this step. Its end is not reported. Nothing of the same subject may begin before it has ended.
    Abort(TaskId, Subject),
    /// Report [`Event::Due`] after a time that grows with the number of failures.
    Wait(TaskId, Subject, u32),
}

/// What a module does, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub subject: Subject,
    /// Whether the module is on. `None` if that is not known yet.
    pub on: Option<bool>,
    /// Why it is on or off.
    pub why: String,
    /// `ready`, `off`, or the step that it is at.
    pub at: &'static str,
    /// What it waits for, if it waits.
    pub waits: Option<String>,
    /// Why its last try failed.
    pub error: Option<String>,
    /// How often it failed since it last succeeded.
    pub failures: u32,
    /// Another try fails, too, until something changes.
    pub refused: bool,
    /// Nothing of it begins, because of its maintenance.
    pub paused: bool,
}

/// What a module consists of, as far as its life depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    pub chart: bool,
    /// It has a script `enabled`.
    pub script: bool,
}

/// The state of all modules.
#[derive(Debug)]
pub struct Life {
    graph: Graph,
    begun: bool,
    votes: BTreeMap<ModuleName, Decision>,
    states: BTreeMap<ModuleName, State>,
    /// How modules are kept, those that are not there included.
    maintenance: BTreeMap<ModuleName, Maintenance>,
    global: Slot,
    round: Round,
    /// The first round got to the modules.
    opened: bool,
    /// Each module was tried once.
    tried: bool,
    /// The first round is over.
    settled_once: bool,
    modules: BTreeMap<ModuleName, Entry>,
    /// Modules that have objects in the cluster, and of which nothing else is known yet.
    unread: BTreeSet<ModuleName>,
    last: u64,
}

/// How far the global hooks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Start,
    BeforeAll,
    Modules,
    AfterAll,
    Settled,
}

impl Life {
    /// The modules of a graph. Nothing happens before [`Event::Begin`].
    pub fn new(graph: Graph, parts: impl Fn(&ModuleName) -> Parts) -> Self {
        let modules = graph.order().iter().map(|name| (name.clone(), Entry::new(parts(name)))).collect();
        Self {
            graph,
            begun: false,
            votes: BTreeMap::new(),
            states: BTreeMap::new(),
            maintenance: BTreeMap::new(),
            global: Slot::default(),
            round: Round::Start,
            opened: false,
            tried: false,
            settled_once: false,
            modules,
            unread: BTreeSet::new(),
            last: 0,
        }
    }

    /// Takes other modules: some came, some are gone, and those of `renewed` have other files, so their hooks start
    /// again. A module must not leave before it is off, or its objects count as those of a module that is gone from disk.
    /// The votes come with them, because a module without a vote is off, and what it has in the cluster is deleted.
    pub fn replace(
        &mut self,
        graph: Graph,
        votes: BTreeMap<ModuleName, Decision>,
        parts: impl Fn(&ModuleName) -> Parts,
        renewed: &BTreeSet<ModuleName>,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        self.graph = graph;
        for name in self.graph.order() {
            let parts = parts(name);
            match self.modules.get_mut(name) {
                // Its first steps were those of a module that is gone.
                Some(entry) if renewed.contains(name) || entry.gone => entry.renew(parts, name, &mut actions),
                Some(_) => {}
                None => {
                    let mut entry = Entry::new(parts);
                    entry.released = self.unread.remove(name);
                    entry.parts.chart |= entry.released;
                    self.modules.insert(name.clone(), entry);
                }
            }
        }
        let graph = &self.graph;
        let given_up = |name: &&ModuleName| !graph.contains(name) && !graph.broken().contains_key(*name);
        let given_up: Vec<ModuleName> = self.unread.iter().filter(given_up).cloned().collect();
        for name in given_up {
            self.unread.remove(&name);
            self.modules.entry(name).or_insert_with(Entry::gone);
        }
        self.maintain(&mut actions);
        let graph = &self.graph;
        self.modules.retain(|name, entry| graph.contains(name) || entry.phase != Phase::Off);
        for (name, entry) in &mut self.modules {
            entry.gone = !graph.contains(name);
            if entry.gone {
                entry.turn_off(name, &mut actions);
            }
        }
        self.states.retain(|name, _| graph.contains(name));
        self.voted(votes);
        if self.begun {
            self.plan(&mut actions);
        }
        actions
    }

    /// Takes an event, and returns what to do next.
    pub fn handle(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Begin => self.begun = true,
            Event::Votes(votes) => self.voted(votes),
            Event::Maintained(maintenance) => {
                self.maintenance = maintenance;
                self.maintain(&mut actions);
            }
            Event::Changed(Subject::Global, by) => self.global_changed(by.as_ref(), &mut actions),
            Event::Changed(Subject::Module(name), by) => {
                if let Some(entry) = self.modules.get_mut(&name) {
                    entry.values += 1;
                    entry.changed(by.as_ref(), &name, &mut actions);
                }
            }
            Event::Installed(names) => {
                self.installed(names);
                self.maintain(&mut actions);
            }
            Event::Drifted(name) => {
                if let Some(entry) = self.modules.get_mut(&name) {
                    entry.drifted();
                }
            }
            Event::Ended(task, end) => self.ended(task, end, &mut actions),
            Event::Trouble(task, why) => {
                if let Some(slot) = self.slots().find(|slot| slot.runs(task)) {
                    slot.failures = slot.failures.max(1);
                    slot.error = Some(why);
                }
            }
            Event::Due(task) => {
                if let Some(slot) = self.slots().find(|slot| slot.hold == Hold::After(task)) {
                    slot.hold = Hold::None;
                }
            }
        }
        if self.begun {
            self.plan(&mut actions);
        }
        actions
    }

    /// Whether there is no module at all. Then nothing that is installed counts as gone from disk.
    pub fn has_no_modules(&self) -> bool {
        self.graph.order().is_empty()
    }

    /// Whether each module was tried. What follows, `afterAll`, may fail again and again.
    pub fn were_tried(&self) -> bool {
        self.tried
    }

    /// Whether the first round is over.
    pub fn has_settled(&self) -> bool {
        self.settled_once
    }

    /// Whether a module is on. `None` if that is not known yet.
    pub fn state(&self, name: &ModuleName) -> Option<&State> {
        self.states.get(name)
    }

    /// What everything does, in order, the global hooks first.
    pub fn reports(&self) -> Vec<Report> {
        let global = Report {
            subject: Subject::Global,
            on: Some(true),
            why: String::new(),
            at: match self.round {
                Round::Start => "Start",
                Round::BeforeAll => "BeforeAll",
                Round::Modules => "waiting for modules",
                Round::AfterAll => "AfterAll",
                Round::Settled => "ready",
            },
            waits: None,
            error: self.global.error.clone(),
            failures: self.global.failures,
            refused: self.global.hold == Hold::Refused,
            paused: false,
        };
        let gone = self.modules.keys().filter(|name| !self.graph.contains(name));
        let modules = self.graph.order().iter().chain(gone).filter_map(|name| Some((name, self.modules.get(name)?)));
        std::iter::once(global).chain(modules.map(|(name, entry)| self.report(name, entry))).collect()
    }

    fn report(&self, name: &ModuleName, entry: &Entry) -> Report {
        let (on, why) = match self.states.get(name) {
            Some(State::On(decision)) => {
                (Some(true), decision.by.as_ref().map(ToString::to_string).unwrap_or_default())
            }
            Some(State::Off(why)) => (Some(false), why.to_string()),
            Some(State::Unknown(why)) => (None, why.to_string()),
            None if self.graph.contains(name) => (None, "the global hooks have not started".to_owned()),
            None => (Some(false), "its directory is gone".to_owned()),
        };
        let script = entry.script.as_ref();
        Report {
            subject: Subject::Module(name.clone()),
            on,
            why,
            at: entry.phase.shown(),
            waits: self.waits(name, entry),
            error: entry.slot.error.clone().or_else(|| script.and_then(|script| script.slot.error.clone())),
            failures: entry.slot.failures,
            refused: entry.slot.hold == Hold::Refused,
            paused: entry.paused,
        }
    }

    fn slots(&mut self) -> impl Iterator<Item = &mut Slot> {
        let modules = self.modules.values_mut();
        let all = modules.flat_map(|entry| {
            let script = entry.script.as_mut().map(|script| &mut script.slot);
            std::iter::once(&mut entry.slot).chain(script)
        });
        std::iter::once(&mut self.global).chain(all)
    }

    fn voted(&mut self, votes: BTreeMap<ModuleName, Decision>) {
        let on = |votes: &BTreeMap<ModuleName, Decision>| -> BTreeSet<ModuleName> {
            votes.iter().filter(|(_, decision)| decision.on).map(|(name, _)| name.clone()).collect()
        };
        if self.opened && on(&votes) != on(&self.votes) {
            self.round_again();
        }
        self.votes = votes;
    }

    /// Begins another round, after the step of the global hooks that runs.
    fn round_again(&mut self) {
        match self.round {
            Round::Start => {}
            Round::BeforeAll | Round::AfterAll if self.global.running.is_some() => self.global.again = true,
            Round::BeforeAll | Round::Modules | Round::AfterAll | Round::Settled => {
                self.round = Round::BeforeAll;
                self.global.hold = Hold::None;
            }
        }
    }

    fn global_changed(&mut self, by: Option<&Step>, actions: &mut Vec<Action>) {
        if self.global.hold == Hold::Refused {
            self.global.hold = Hold::None;
        }
        // Modules render after these steps.
        let before = matches!(by, Some(Step::Start | Step::BeforeAll)) || self.round == Round::Start;
        for (name, entry) in &mut self.modules {
            entry.values += 1;
            if !before || self.opened {
                entry.changed(None, name, actions);
            }
        }
        if !before {
            self.round_again();
        }
    }

    /// Has all modules kept as they should be.
    fn maintain(&mut self, actions: &mut Vec<Action>) {
        for (name, entry) in &mut self.modules {
            entry.maintain(self.maintenance.get(name).copied().unwrap_or_default(), name, actions);
        }
    }

    fn installed(&mut self, names: Vec<ModuleName>) {
        let empty = self.has_no_modules();
        for name in names {
            // Nobody knows what a module is that cannot be read.
            if self.graph.broken().contains_key(&name) {
                self.unread.insert(name);
                continue;
            }
            // Rather a volume that is not mounted than the wish to delete all modules.
            if empty {
                continue;
            }
            let entry = self.modules.entry(name).or_insert_with(Entry::gone);
            entry.released = true;
            // It may have lost its chart since. The step `Chart` says so.
            entry.parts.chart = true;
        }
    }

    fn ended(&mut self, task: TaskId, end: End, actions: &mut Vec<Action>) {
        if self.global.runs(task) {
            let again = self.global.again;
            let Some(step) = self.global.end(&end, Subject::Global, actions) else {
                if again && self.round == Round::AfterAll {
                    self.round = Round::BeforeAll;
                }
                return;
            };
            match step {
                Step::Start => self.round = Round::BeforeAll,
                Step::BeforeAll => (self.round, self.opened) = (Round::Modules, true),
                _ => (self.round, self.settled_once) = (Round::Settled, true),
            }
            if std::mem::take(&mut self.global.again) {
                self.round = Round::BeforeAll;
            }
            return;
        }
        let found = self.modules.iter_mut().find(|(_, entry)| entry.runs(task));
        let Some((name, entry)) = found else { return };
        let subject = Subject::Module(name.clone());
        if let Some(script) = entry.script.as_mut().filter(|script| script.slot.runs(task)) {
            match &end {
                End::Answer(true, _) => script.answer = Answer::Yes,
                End::Answer(false, why) => script.answer = Answer::No(why.clone()),
                // What it said before still holds.
                End::Failed(why) | End::Refused(why) if script.answer == Answer::Waiting => {
                    script.answer = Answer::Failed(why.clone());
                }
                _ => {}
            }
            script.slot.end(&end, subject, actions);
            return;
        }
        let again = entry.slot.again;
        if entry.slot.end(&end, subject, actions).is_some() {
            entry.advance();
        } else if again && matches!(entry.phase, Phase::Chart | Phase::AfterHelm) {
            entry.phase = Phase::BeforeHelm;
        }
        if entry.phase == Phase::Off && !self.graph.contains(name) {
            let name = name.clone();
            self.modules.remove(&name);
        }
    }

    fn waits(&self, name: &ModuleName, entry: &Entry) -> Option<String> {
        if entry.slot.running.is_some() || matches!(entry.phase, Phase::Ready | Phase::Off) {
            return match self.states.get(name) {
                Some(State::Unknown(Unknown::Script)) => Some("its script `enabled`".to_owned()),
                _ => None,
            };
        }
        if entry.paused {
            return Some("the end of its maintenance, which is Paused".to_owned());
        }
        match entry.slot.hold {
            Hold::After(_) => return Some("its next try".to_owned()),
            Hold::Refused => return Some("a change of its values, or a restart of the operator".to_owned()),
            Hold::None => {}
        }
        if !self.is_open() {
            return Some("the global hooks".to_owned());
        }
        self.blocker(name, entry).map(|other| format!("the module {other}"))
    }
}

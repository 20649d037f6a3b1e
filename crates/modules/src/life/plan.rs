//! Which steps begin now: a function of the state.

use std::cell::RefCell;

use super::{Action, Life, Round, Step, Subject, TaskId, entry::Entry, entry::Phase};
use crate::{
    graph::{Answer, State, Unknown},
    names::ModuleName,
};

impl Life {
    /// Starts everything that can begin.
    pub(super) fn plan(&mut self, actions: &mut Vec<Action>) {
        self.plan_global(actions);
        if !self.is_open() {
            return;
        }
        let asked = self.evaluate();
        self.ask_scripts(asked, actions);
        self.switch(actions);
        self.begin_steps(actions);
        if self.round == Round::Modules && self.modules_rest() {
            (self.round, self.tried) = (Round::AfterAll, true);
            self.plan_global(actions);
        }
    }

    /// Whether modules may begin steps. Once they could, a broken `beforeAll` hook does not hold them up.
    pub(super) fn is_open(&self) -> bool {
        match self.round {
            Round::Start => false,
            Round::BeforeAll => self.opened && self.global.was_tried(),
            Round::Modules | Round::AfterAll | Round::Settled => true,
        }
    }

    fn plan_global(&mut self, actions: &mut Vec<Action>) {
        let step = match self.round {
            Round::Start => Step::Start,
            Round::BeforeAll => Step::BeforeAll,
            Round::AfterAll => Step::AfterAll,
            Round::Modules | Round::Settled => return,
        };
        if self.global.is_free() {
            let task = self.task();
            self.global.running = Some((task, step.clone()));
            actions.push(Action::Start(task, Subject::Global, step));
        }
    }

    fn task(&mut self) -> TaskId {
        self.last += 1;
        TaskId(self.last)
    }

    /// Evaluates which modules are on. Returns what scripts have to be asked.
    fn evaluate(&mut self) -> Vec<(ModuleName, Vec<ModuleName>)> {
        let asked = RefCell::new(Vec::new());
        let nobody = crate::values::Decision { on: false, by: None };
        let states = self.graph.states(
            |name| self.votes.get(name).unwrap_or(&nobody).clone(),
            |name, on| {
                let Some(script) = self.modules.get(name).and_then(|entry| entry.script.as_ref()) else {
                    return Answer::None;
                };
                asked.borrow_mut().push((name.clone(), on.to_vec()));
                script.answer.clone()
            },
        );
        self.states = states;
        asked.into_inner()
    }

    /// Asks the scripts whose inputs are new. A script waits for the first answers of those before it.
    fn ask_scripts(&mut self, asked: Vec<(ModuleName, Vec<ModuleName>)>, actions: &mut Vec<Action>) {
        for (name, on) in asked {
            let task = TaskId(self.last + 1);
            let Some(entry) = self.modules.get_mut(&name) else { continue };
            let Some(script) = &mut entry.script else { continue };
            let inputs = (entry.values, on);
            let new = script.asked.as_ref() != Some(&inputs);
            if new && script.slot.hold != super::Hold::None {
                script.slot.hold = super::Hold::None;
            }
            if script.slot.is_free() && (new || script.slot.was_tried()) {
                self.last += 1;
                let step = Step::Script { on: inputs.1.clone() };
                script.asked = Some(inputs);
                script.slot.running = Some((task, step.clone()));
                actions.push(Action::Start(task, Subject::Module(name.clone()), step));
            }
            if self.states.get(&name) == Some(&State::Unknown(Unknown::Script)) {
                return;
            }
        }
    }

    /// Turns modules on and off. What is not known yet stays as it is.
    fn switch(&mut self, actions: &mut Vec<Action>) {
        for (name, state) in &self.states {
            let Some(entry) = self.modules.get_mut(name) else { continue };
            match state {
                State::On(_) => entry.turn_on(name, actions),
                State::Off(_) => entry.turn_off(name, actions),
                State::Unknown(_) => {}
            }
        }
    }

    fn begin_steps(&mut self, actions: &mut Vec<Action>) {
        let gone = self.modules.keys().filter(|name| !self.graph.contains(name)).cloned();
        let names: Vec<ModuleName> = self.graph.order().iter().cloned().chain(gone).collect();
        for name in names {
            let Some(entry) = self.modules.get(&name) else { continue };
            let Some(step) = entry.phase.step().filter(|_| entry.slot.is_free() && !entry.paused) else { continue };
            // What no directory explains is deleted after everything else was tried.
            let early = !self.graph.contains(&name) && !self.settled_once;
            if early || self.blocker(&name, entry).is_some() {
                continue;
            }
            let task = self.task();
            let Some(entry) = self.modules.get_mut(&name) else { continue };
            entry.released |= step == Step::Chart;
            entry.slot.again &= step != Step::BeforeHelm;
            entry.slot.running = Some((task, step.clone()));
            actions.push(Action::Start(task, Subject::Module(name), step));
        }
    }

    /// A module that this one waits for.
    pub(super) fn blocker(&self, name: &ModuleName, entry: &Entry) -> Option<ModuleName> {
        let number = self.graph.number(name);
        let others = || self.modules.iter().filter(|(other, _)| *other != name);
        if entry.phase.is_deletion() {
            let dependant = |other: &ModuleName| self.graph.needs(other).any(|needed| needed == name);
            let later = |other: &ModuleName| number.is_some_and(|number| self.graph.number(other) > Some(number));
            return others()
                .filter(|(_, entry)| entry.phase.is_deletion())
                .find(|(other, entry)| dependant(other) || (later(other) && !entry.slot.was_tried() && !entry.paused))
                .map(|(other, _)| other.clone());
        }
        let is_on = |other: &ModuleName| matches!(self.states.get(other), Some(State::On(_)));
        let needed = self.graph.needs(name).filter(|needed| is_on(needed));
        let needed = needed.filter(|needed| self.modules.get(*needed).is_none_or(|entry| !entry.is_ready())).min();
        if needed.is_some() {
            return needed.cloned();
        }
        if !matches!(entry.phase, Phase::Start | Phase::BeforeHelm) {
            return None;
        }
        let earlier = |other: &ModuleName| {
            number.is_some_and(|number| self.graph.number(other).is_some_and(|earlier| earlier < number))
        };
        let pending = |other: &ModuleName, entry: &Entry| {
            !entry.is_settled() || self.states.get(other) == Some(&State::Unknown(Unknown::Script))
        };
        others().find(|(other, entry)| earlier(other) && pending(other, entry)).map(|(other, _)| other.clone())
    }

    /// Whether nothing is going on that has not failed, and nothing can begin.
    fn modules_rest(&self) -> bool {
        self.modules.iter().all(|(name, entry)| {
            let slots = std::iter::once(&entry.slot).chain(entry.script.as_ref().map(|script| &script.slot));
            let quiet = slots.into_iter().all(|slot| slot.running.is_none() || slot.was_tried());
            let idle = entry.phase.step().is_none()
                || entry.paused
                || !entry.slot.is_free()
                || !self.graph.contains(name)
                || self.blocker(name, entry).is_some();
            quiet && idle
        })
    }
}

//! What is known of one module, and of one step that runs.

use super::{Action, End, Parts, Step, Subject, TaskId};
use crate::{config::Maintenance, graph::Answer, names::ModuleName};

/// Why the next step does not begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Hold {
    #[default]
    None,
    /// The step failed, and is tried again after a time.
    After(TaskId),
    /// The step failed, and is tried again after a change.
    Refused,
}

/// A place for one step at a time.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub running: Option<(TaskId, Step)>,
    pub hold: Hold,
    /// Failures since the last success.
    pub failures: u32,
    pub error: Option<String>,
    /// Something changed that the step, or one before it, may not have seen.
    pub again: bool,
}

impl Slot {
    pub fn runs(&self, task: TaskId) -> bool {
        self.running.as_ref().is_some_and(|(running, _)| *running == task)
    }

    /// Whether a step can begin here.
    pub fn is_free(&self) -> bool {
        self.running.is_none() && self.hold == Hold::None
    }

    /// Whether others that only go after it need not wait any more: it has failed.
    pub fn was_tried(&self) -> bool {
        self.failures > 0
    }

    /// Takes the end of the step. Returns the step if it is done.
    pub fn end(&mut self, end: &End, subject: Subject, actions: &mut Vec<Action>) -> Option<Step> {
        let (task, step) = self.running.take()?;
        match end {
            End::Done | End::Answer(..) => {
                (self.hold, self.failures, self.error) = (Hold::None, 0, None);
                return Some(step);
            }
            End::Failed(why) => {
                self.failures = self.failures.saturating_add(1);
                self.error = Some(why.clone());
                // What it has not seen may be the remedy. The next try sees it, so only that one begins at once.
                if std::mem::take(&mut self.again) {
                    self.hold = Hold::None;
                } else {
                    self.hold = Hold::After(task);
                    actions.push(Action::Wait(task, subject, self.failures));
                }
            }
            End::Refused(why) => {
                self.failures = self.failures.saturating_add(1);
                self.error = Some(why.clone());
                self.hold = if std::mem::take(&mut self.again) { Hold::None } else { Hold::Refused };
            }
        }
        None
    }

    /// Ends the step that runs, and what is waited for after a failure.
    pub fn abort(&mut self, name: &ModuleName, actions: &mut Vec<Action>) {
        if let Some((task, _)) = self.running.take() {
            actions.push(Action::Abort(task, Subject::Module(name.clone())));
        }
        (self.hold, self.again) = (Hold::None, false);
    }
}

/// The next step of a module, or the one that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Off,
    Start,
    BeforeHelm,
    Chart,
    AfterHelm,
    Ready,
    BeforeDelete,
    Delete,
    AfterDelete,
    Stop,
}

impl Phase {
    pub fn is_deletion(self) -> bool {
        self >= Self::BeforeDelete
    }

    pub fn step(self) -> Option<Step> {
        match self {
            Self::Off | Self::Ready => None,
            Self::Start => Some(Step::Start),
            Self::BeforeHelm => Some(Step::BeforeHelm),
            Self::Chart => Some(Step::Chart),
            Self::AfterHelm => Some(Step::AfterHelm),
            Self::BeforeDelete => Some(Step::BeforeDeleteHelm),
            Self::Delete => Some(Step::Delete),
            Self::AfterDelete => Some(Step::AfterDeleteHelm),
            Self::Stop => Some(Step::Stop),
        }
    }

    pub fn shown(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Start => "Start",
            Self::BeforeHelm => "BeforeHelm",
            Self::Chart => "Chart",
            Self::AfterHelm => "AfterHelm",
            Self::Ready => "ready",
            Self::BeforeDelete => "BeforeDeleteHelm",
            Self::Delete => "Delete",
            Self::AfterDelete => "AfterDeleteHelm",
            Self::Stop => "Stop",
        }
    }
}

/// A module's script `enabled`.
#[derive(Debug)]
pub(super) struct Script {
    pub slot: Slot,
    pub answer: Answer,
    /// What the answer is about, or the step that runs: a revision of values, and the modules that are on before it.
    pub asked: Option<(u64, Vec<ModuleName>)>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub parts: Parts,
    pub phase: Phase,
    pub slot: Slot,
    pub script: Option<Script>,
    /// Increases with each change of values that the module sees.
    pub values: u64,
    /// Its objects stay as they are.
    pub maintained: bool,
    /// None of its steps begins.
    pub paused: bool,
    /// Its chart may have objects in the cluster.
    pub released: bool,
    /// Nothing is known of it but these objects.
    pub gone: bool,
}

impl Entry {
    pub fn new(parts: Parts) -> Self {
        let script = || Script { slot: Slot::default(), answer: Answer::Waiting, asked: None };
        Self {
            parts,
            phase: Phase::Off,
            slot: Slot::default(),
            script: parts.script.then(script),
            values: 0,
            maintained: false,
            paused: false,
            released: false,
            gone: false,
        }
    }

    /// A module of which nothing is known but its objects in the cluster, which are to be deleted.
    pub fn gone() -> Self {
        let parts = Parts { chart: true, script: false };
        Self { phase: Phase::Delete, released: true, gone: true, ..Self::new(parts) }
    }

    /// Its files are others from now on.
    pub fn renew(&mut self, parts: Parts, name: &ModuleName, actions: &mut Vec<Action>) {
        if let Some(script) = &mut self.script {
            script.slot.abort(name, actions);
        }
        let Self { released, maintained, paused, values, .. } = *self;
        let fresh = Self::new(Parts { chart: parts.chart || released, ..parts });
        match self.phase {
            // What is being deleted goes on with the new files.
            Phase::Off | Phase::BeforeDelete | Phase::Delete | Phase::AfterDelete | Phase::Stop => {
                (self.parts, self.script, self.gone) = (fresh.parts, fresh.script, false);
            }
            _ => {
                self.slot.abort(name, actions);
                *self = Self { phase: Phase::Start, released, maintained, paused, values, ..fresh };
            }
        }
    }

    pub fn runs(&self, task: TaskId) -> bool {
        self.slot.runs(task) || self.script.as_ref().is_some_and(|script| script.slot.runs(task))
    }

    /// Whether modules that need this one may run.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether modules with larger numbers may run.
    pub fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Off)
            || self.phase.is_deletion()
            || self.slot.was_tried()
            || self.paused
    }

    /// It is kept in this way from now on.
    pub fn maintain(&mut self, maintenance: Maintenance, name: &ModuleName, actions: &mut Vec<Action>) {
        let now = maintenance == Maintenance::NoResourceReconciliation;
        let before = std::mem::replace(&mut self.maintained, now);
        if maintenance == Maintenance::Paused && !self.paused {
            self.give_up(name, actions);
        }
        self.paused = maintenance == Maintenance::Paused;
        match (before, now) {
            (true, false) => self.changed(None, name, actions),
            (false, true) if self.phase == Phase::Chart => {
                self.slot.abort(name, actions);
                self.phase = Phase::AfterHelm;
            }
            _ => {}
        }
    }

    /// Ends the step that runs. It begins again later.
    fn give_up(&mut self, name: &ModuleName, actions: &mut Vec<Action>) {
        // What the step has not seen is seen by those that come then.
        if self.slot.again && matches!(self.phase, Phase::Chart | Phase::AfterHelm) {
            self.phase = Phase::BeforeHelm;
        }
        self.slot.abort(name, actions);
    }

    /// Its values changed. `by` is its own step, if that changed them.
    pub fn changed(&mut self, by: Option<&Step>, name: &ModuleName, actions: &mut Vec<Action>) {
        if matches!(by, Some(step) if *step != Step::AfterHelm) {
            // What follows in this round sees it.
            return;
        }
        match self.phase {
            // Nothing has seen the values before.
            Phase::Off => return,
            Phase::Start => {}
            Phase::BeforeHelm | Phase::AfterHelm if self.slot.running.is_some() => return self.slot.again = true,
            Phase::BeforeHelm | Phase::AfterHelm | Phase::Ready => self.phase = Phase::BeforeHelm,
            Phase::Chart => {
                // It may wait for objects that will never be ready.
                self.slot.abort(name, actions);
                self.phase = Phase::BeforeHelm;
            }
            // A deletion goes on. What was refused is tried again.
            Phase::BeforeDelete | Phase::Delete | Phase::AfterDelete | Phase::Stop => {}
        }
        self.slot.hold = Hold::None;
    }

    /// Its objects are no longer as they were applied, or are to be others.
    pub fn drifted(&mut self) {
        match self.phase {
            Phase::Ready => self.phase = Phase::BeforeHelm,
            // The step that runs may not have seen it, and it is said only once.
            Phase::Chart | Phase::AfterHelm if self.slot.running.is_some() => self.slot.again = true,
            Phase::AfterHelm => {
                self.phase = Phase::BeforeHelm;
                self.slot.hold = Hold::None;
            }
            // It failed or was refused, and an admin asks for something else.
            Phase::Chart => self.slot.hold = Hold::None,
            // The chart is applied later, or not any more.
            _ => {}
        }
    }

    /// A step is done: goes on to the next one.
    pub fn advance(&mut self) {
        let charted = self.parts.chart && !self.maintained;
        let again = std::mem::take(&mut self.slot.again);
        self.phase = match self.phase {
            Phase::BeforeHelm | Phase::Chart | Phase::AfterHelm if again => Phase::BeforeHelm,
            Phase::Start => Phase::BeforeHelm,
            Phase::BeforeHelm if charted => Phase::Chart,
            Phase::BeforeHelm | Phase::Chart => Phase::AfterHelm,
            Phase::AfterHelm | Phase::Ready => Phase::Ready,
            Phase::BeforeDelete => Phase::Delete,
            Phase::Delete => {
                self.released = false;
                Phase::AfterDelete
            }
            Phase::AfterDelete => Phase::Stop,
            Phase::Stop | Phase::Off => Phase::Off,
        };
    }

    /// The module is on.
    pub fn turn_on(&mut self, name: &ModuleName, actions: &mut Vec<Action>) {
        match self.phase {
            Phase::Off => {}
            // Nothing of it is deleted yet, or nothing at the moment.
            Phase::BeforeDelete | Phase::Delete if self.slot.running.is_none() => {}
            // It may wait for an approval that nobody will give. What is deleted is created again.
            Phase::Delete => self.slot.abort(name, actions),
            _ => return,
        }
        self.phase = Phase::Start;
        self.slot = Slot::default();
    }

    /// The module is off.
    pub fn turn_off(&mut self, name: &ModuleName, actions: &mut Vec<Action>) {
        let kept = self.phase == Phase::Off && !self.released;
        if kept || self.phase.is_deletion() {
            return;
        }
        self.slot.abort(name, actions);
        (self.slot.failures, self.slot.error) = (0, None);
        self.phase = if self.released { Phase::BeforeDelete } else { Phase::AfterDelete };
    }
}

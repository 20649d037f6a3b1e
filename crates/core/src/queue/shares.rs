//! Who may begin the next job: run slots are shared fairly, however many hooks, queues and `concurrency` a tenant has.
//! Lines that may have a job wait here, tenant by tenant.
//!
//! The rule is that of [`fair`](crate::fair), and so are the turns: tenants one after the other, and within a tenant
//! its lines. The pool of `fair` is not used, because nobody waits asynchronously here, and time is an argument.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::item::LineId;
use crate::fair::{Tenant, may_take};

/// Run slots, and the lines to ask for a job.
#[derive(Debug)]
pub(super) struct Shares {
    slots: usize,
    running: usize,
    used: HashMap<Tenant, usize>,
    /// The lines to ask, for each tenant.
    rounds: BTreeMap<Tenant, VecDeque<LineId>>,
    /// Tenants that have lines to ask, in turn.
    turn: VecDeque<Tenant>,
}

impl Shares {
    pub(super) fn new(slots: usize) -> Self {
        let (used, rounds) = (HashMap::new(), BTreeMap::new());
        Self { slots: slots.max(1), running: 0, used, rounds, turn: VecDeque::new() }
    }

    /// The number of jobs that run.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Whether no tenant may begin a job.
    pub(super) fn is_full(&self) -> bool {
        self.running >= self.slots
    }

    /// Whether the tenant may begin another job now.
    pub(super) fn may_begin(&self, tenant: &Tenant) -> bool {
        let used = self.used.get(tenant).copied().unwrap_or_default();
        may_take(used as u64, 1, self.slots.saturating_sub(self.running) as u64)
    }

    pub(super) fn begun(&mut self, tenant: Tenant) {
        self.running += 1;
        *self.used.entry(tenant).or_default() += 1;
    }

    pub(super) fn ended(&mut self, tenant: &Tenant) {
        self.running = self.running.saturating_sub(1);
        if let Some(used) = self.used.get_mut(tenant) {
            *used = used.saturating_sub(1);
            if *used == 0 {
                self.used.remove(tenant);
            }
        }
    }

    /// Adds a line to ask, as one of this tenant's. `first`: before its other lines.
    pub(super) fn ask(&mut self, tenant: Tenant, line: LineId, first: bool) {
        let round = self.rounds.entry(tenant.clone()).or_insert_with(|| {
            self.turn.push_back(tenant);
            VecDeque::new()
        });
        if first { round.push_front(line) } else { round.push_back(line) }
    }

    /// The next line to ask, of a tenant that may begin a job. If that line has no job, the tenant's next one is due.
    pub(super) fn next(&mut self) -> Option<(Tenant, LineId)> {
        if self.is_full() {
            return None;
        }
        let place = self.turn.iter().position(|tenant| self.may_begin(tenant))?;
        self.turn.rotate_left(place);
        let tenant = self.turn.front()?.clone();
        let round = self.rounds.get_mut(&tenant)?;
        let line = round.pop_front();
        if round.is_empty() {
            self.rounds.remove(&tenant);
            self.turn.pop_front();
        }
        line.map(|line| (tenant, line))
    }

    /// The tenant had its turn.
    pub(super) fn pass_on(&mut self, tenant: &Tenant) {
        if self.turn.front() == Some(tenant) {
            self.turn.rotate_left(1);
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(LineId) -> bool) {
        self.rounds.retain(|_, round| {
            round.retain(|line| keep(*line));
            !round.is_empty()
        });
        self.turn.retain(|tenant| self.rounds.contains_key(tenant));
    }
}

//! Waits until an operator has nothing more to do, and reads what is there then.

use std::time::{Duration, Instant};

use boathook_cluster::Cluster;
use boathook_core::queue::QueueState;

use super::{
    super::{end::End, targets::targets},
    Observed, Play, answers,
};

/// Time between two checks.
const GLANCE: Duration = Duration::from_millis(1);
/// The number of checks in a row without a difference after which nothing happens any more. The operator and its API
/// server share this thread, so what is on the way moves between two checks.
const CALM: usize = 4;
/// Time limit of a step.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time that passes for queues if something waits in them, which is longer than the longest default delay of retries.
const PASS: Duration = Duration::from_secs(60);
/// Maximum number of times that it passes.
const MAX_PASSES: usize = 10;

/// What an operator does that has no calls and no events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calm {
    /// It has crashed.
    Crashed,
    /// Something waits in a queue.
    Waits,
    Idle,
}

impl Play<'_> {
    /// Waits until nothing happens any more. What waits in queues gets its time. With `release`, the events that faults
    /// hold back arrive as soon as nothing else happens.
    pub(super) async fn settle(&mut self, release: bool) -> Result<(), String> {
        let began = Instant::now();
        let (mut held, mut passes) = (release, 0);
        loop {
            self.revive().await?;
            match self.calm(began).await? {
                Calm::Crashed => {}
                Calm::Idle | Calm::Waits if held => {
                    self.faults.release();
                    held = false;
                }
                Calm::Waits if passes < MAX_PASSES => {
                    self.operator.queue().pass(PASS);
                    passes += 1;
                }
                Calm::Waits | Calm::Idle => return Ok(()),
            }
        }
    }

    /// Starts an operator that has crashed again.
    pub(super) async fn revive(&mut self) -> Result<(), String> {
        if !self.faults.has_crashed() {
            return Ok(());
        }
        self.operator.revive().await.map_err(|error| format!("start after a crash: {error}"))
    }

    async fn calm(&self, began: Instant) -> Result<Calm, String> {
        let (mut last, mut same) = (None, 0);
        loop {
            if self.faults.has_crashed() {
                return Ok(Calm::Crashed);
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("the operator does not come to rest within {} s", PATIENCE.as_secs()));
            }
            let now = (self.faults.traffic(), self.operator.log.lines(), self.waits());
            same = if now.0.open == 0 && now.2.is_some() && last.as_ref() == Some(&now) { same + 1 } else { 0 };
            if let (true, Some(calm)) = (same >= CALM, now.2) {
                return Ok(calm);
            }
            last = Some(now);
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// What the queues and modules do. None if something runs.
    fn waits(&self) -> Option<Calm> {
        if !self.operator.rests() {
            return None;
        }
        let queue = self.operator.queue();
        let runs = |state: &QueueState| match state {
            QueueState::Running | QueueState::Ready => true,
            // Both end without a change in the cluster.
            QueueState::Held | QueueState::Standby => true,
            QueueState::Empty
            | QueueState::Debounced(_)
            | QueueState::WaitingForStartup
            | QueueState::WaitingForSynchronization(_)
            | QueueState::WaitingForList(_)
            | QueueState::WaitingForSnapshot(..)
            | QueueState::WaitingForToken(_)
            | QueueState::Retry(_)
            | QueueState::Paused => false,
        };
        if queue.dump(0).iter().any(|queue| runs(&queue.state)) {
            return None;
        }
        Some(if queue.stats().hooks.iter().all(|hook| hook.idle) { Calm::Idle } else { Calm::Waits })
    }

    /// What passed, and what is there now.
    pub(super) async fn observe(&mut self, cluster: &Cluster, ticks: bool) -> Result<Observed, String> {
        let noted = self.faults.noted();
        let targets = targets(self.admin.client(), &noted).await?;
        let steps = |number: usize| self.sent.iter().filter(|before| **before <= number).count().checked_sub(1);
        let sent = self.servers.sent();
        let http = sent.into_iter().enumerate().map(|(number, sent)| (steps(number), sent.method, sent.url)).collect();
        let answer = match &self.asked {
            Some((question, _)) => Some(answers::ask(question, &self.operator, &self.admin).await?),
            None => None,
        };
        let hooks = self.operator.hooks();
        let by_the_clock = ticks && hooks.iter().any(|hook| !hook.spec.schedules.is_empty());
        let reconciles = hooks.iter().any(|hook| !hook.spec.reconcilers.is_empty());
        let end = End::new(&cluster.save(), self.place.files(), answer)?;
        Ok(Observed { noted, targets, http, end, by_the_clock, reconciles })
    }
}

//! Keeps one program's worker between evaluations.
//!
//! Programs never share a worker, so a filter that hangs delays only its own binding.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::Mutex, time::Instant};

use super::backoff::Backoff;
use crate::{fair::Share, filter::worker::Worker};

/// A running worker and its place among all workers.
#[derive(Debug)]
pub struct Running {
    /// Dropped first, so that the place is free only when the process is killed.
    pub worker: Worker,
    pub _place: Share,
}

/// The slot of a program's worker.
#[derive(Debug, Default)]
pub struct Slot {
    /// Locked during an evaluation.
    pub state: Mutex<State>,
}

#[derive(Debug, Default)]
pub struct State {
    /// The worker, between evaluations.
    pub idle: Option<Running>,
    pub backoff: Backoff,
    used: Option<Instant>,
    watched: bool,
}

impl State {
    /// Keeps a worker for the next evaluation, until it has been idle for `limit`.
    pub fn keep(&mut self, slot: &Arc<Slot>, running: Running, limit: Duration) {
        self.idle = Some(running);
        self.used = Some(Instant::now());
        if !self.watched {
            self.watched = true;
            tokio::spawn(stop_when_idle(Arc::downgrade(slot), limit));
        }
    }
}

async fn stop_when_idle(slot: Weak<Slot>, limit: Duration) {
    let mut wait = limit;
    loop {
        tokio::time::sleep(wait).await;
        let Some(slot) = slot.upgrade() else { return };
        let mut state = slot.state.lock().await;
        let left = state.used.map_or(Duration::ZERO, |used| limit.saturating_sub(used.elapsed()));
        if state.idle.is_none() || left.is_zero() {
            state.idle = None;
            state.watched = false;
            return;
        }
        wait = left;
    }
}

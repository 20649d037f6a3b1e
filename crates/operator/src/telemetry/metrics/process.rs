//! What is counted of the process itself: that it lives, and whether it leads. Never finds out by itself.

use super::Metrics;

const NONE: &[&str] = &[];

impl Metrics {
    /// All are there from the beginning.
    pub(super) fn begin_process(&self) {
        self.live_ticks.with_label_values(NONE).reset();
        self.leader.with_label_values(NONE).set(0);
        self.leader_transitions.with_label_values(NONE).reset();
    }

    /// Ten seconds have passed.
    pub fn live_tick(&self) {
        self.live_ticks.with_label_values(NONE).inc();
    }

    /// This replica runs the hooks from now on; without others, from its start.
    pub fn leads(&self) {
        self.leader.with_label_values(NONE).set(1);
        self.leader_transitions.with_label_values(NONE).inc();
    }

    /// Its time may have run out before it knows.
    pub fn does_not_lead(&self) {
        self.leader.with_label_values(NONE).set(0);
    }

    /// It did, and does so no more.
    pub fn leads_no_more(&self) {
        self.leader.with_label_values(NONE).set(0);
        self.leader_transitions.with_label_values(NONE).inc();
    }
}

//! Metrics of the process itself: that it is alive, and whether it leads.

use super::Metrics;

const NONE: &[&str] = &[];

impl Metrics {
    /// Creates all series, so that they exist from the start.
    pub(super) fn begin_process(&self) {
        self.live_ticks.with_label_values(NONE).reset();
        self.leader.with_label_values(NONE).set(0);
        self.leader_transitions.with_label_values(NONE).reset();
    }

    /// Counts a tick. Call it every ten seconds.
    pub fn live_tick(&self) {
        self.live_ticks.with_label_values(NONE).inc();
    }

    /// This replica runs the hooks from now on. Without other replicas, it does so from its start.
    pub fn leads(&self) {
        self.leader.with_label_values(NONE).set(1);
        self.leader_transitions.with_label_values(NONE).inc();
    }

    /// The leader's time may have run out before it knows.
    pub fn does_not_lead(&self) {
        self.leader.with_label_values(NONE).set(0);
    }

    /// This replica led, and has lost the lead.
    pub fn leads_no_more(&self) {
        self.leader.with_label_values(NONE).set(0);
        self.leader_transitions.with_label_values(NONE).inc();
    }
}

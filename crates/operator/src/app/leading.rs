//! What starts when this replica becomes the leader, and what ends when it loses the lead: the queues, and the metric.

use std::{future::pending, sync::Arc};

use boathook_core::queue;
use boathook_kube::election::Leadership;
use tracing::info;

use crate::telemetry::Metrics;

/// Runs until it is dropped.
pub(super) async fn follow(leadership: Leadership, queue: queue::Handle, metrics: Arc<Metrics>) {
    if leadership.is_alone() {
        metrics.leads();
        return pending().await;
    }
    leadership.gained().await;
    queue.begin();
    metrics.leads();
    info!("hooks run from here on: this replica leads");
    leadership.lost().await;
    queue.stand_by();
    metrics.leads_no_more();
    // The code that runs the operator ends it now.
    pending().await
}

//! What begins when this replica leads, and that it ends: the queues, and what the metrics say. Elects nobody.

use std::{future::pending, sync::Arc};

use boathook_core::queue;
use boathook_kube::election::Leadership;
use tracing::info;

use crate::telemetry::Metrics;

/// Until it is dropped.
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
    // Whoever runs the operator ends it now.
    pending().await
}

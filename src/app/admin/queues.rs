//! A queue as a view. Pure.

use crate::{admin::views::QueueView, queue::QueueStats};

/// One queue.
pub(super) fn queue(stats: QueueStats) -> QueueView {
    let status = match (stats.running, stats.retrying, stats.length) {
        (1.., ..) => "run first task".to_owned(),
        (0, 1.., _) => "sleep after fail".to_owned(),
        (0, 0, 1..) => "waiting".to_owned(),
        (0, 0, 0) => String::new(),
    };
    QueueView {
        name: stats.queue.to_string(),
        tasks_count: stats.length + stats.running,
        status,
        running: stats.running,
        retrying: stats.retrying,
        bytes: stats.bytes,
        oldest_seconds: stats.oldest.map(|age| age.as_secs_f64()),
        tasks: Vec::new(),
    }
}

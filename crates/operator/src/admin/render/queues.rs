//! Queues as text: one block for each queue, and one line for each task.

use std::fmt::Write as _;

use super::{
    Text, seconds,
    table::{Style, Tone, clean},
};
use crate::admin::views::{QueueView, QueuesView};

impl Text for QueuesView {
    fn text(&self, style: Style) -> String {
        let mut out: String = self.active.iter().map(|queue| queue.text(style) + "\n").collect();
        if !self.empty.is_empty() {
            let names: Vec<_> = self.empty.iter().map(|queue| clean(&queue.name)).collect();
            let _ = writeln!(out, "Empty queues: {}\n", names.join(", "));
        }
        let summary = &self.summary;
        let (others, main) = (&summary.other_queues, summary.main_queue_tasks);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{} tasks: {main} in main, {} in {} other queues; {} other queues are empty",
            summary.total_tasks, others.tasks, others.active, others.empty
        );
        out
    }
}

impl Text for QueueView {
    fn text(&self, style: Style) -> String {
        let mut out = format!("Queue {}: {} tasks", clean(&self.name), self.tasks_count);
        if !self.status.is_empty() {
            let tone = if self.retrying > 0 { Tone::Warning } else { Tone::Plain };
            let _ = write!(out, ", status: {}", style.paint(&clean(&self.status), tone));
        }
        if let Some(age) = self.oldest_seconds {
            let _ = write!(out, ", oldest {}", seconds(age));
        }
        out.push('\n');
        for task in &self.tasks {
            let _ = writeln!(out, "{:>4}. {}", task.index, clean(&task.description));
        }
        let hidden = self.tasks_count.saturating_sub(self.tasks.len());
        if hidden > 0 && !self.tasks.is_empty() {
            let _ = writeln!(out, "      and {hidden} more");
        }
        out
    }
}

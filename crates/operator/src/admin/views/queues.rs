//! The view of queues and their tasks. The fields `name`, `tasksCount`, `status`, `tasks`, `index` and `description`
//! are shell-operator's.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuesView {
    /// Queues with tasks, `main` first.
    pub active: Vec<QueueView>,
    /// Queues without tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty: Vec<QueueView>,
    /// Totals over all queues.
    pub summary: Summary,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// `main`, a shared name, or `hook/NAME` for a hook's own queue.
    pub name: String,
    /// The number of triggers that are not done. It is larger than the length of `tasks` if that list is cut off.
    pub tasks_count: usize,
    /// What the queue does or waits for, in words. Empty if there is nothing to do.
    pub status: String,
    /// The number of runs under way.
    #[serde(default)]
    pub running: usize,
    /// The number of failed runs that wait for their retry.
    #[serde(default)]
    pub retrying: usize,
    /// The bytes of objects and filter results that wait.
    #[serde(default)]
    pub bytes: usize,
    /// The age of the oldest trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seconds: Option<f64>,
    /// The triggers in the order in which they run, as far as it is known.
    #[serde(default)]
    pub tasks: Vec<TaskView>,
}

/// One trigger in a queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// The position, counted from 1.
    pub index: usize,
    /// The trigger in one line.
    pub description: String,
    pub hook: String,
    pub binding: String,
    /// `Startup`, `Schedule`, `Synchronization`, `Added`, `Modified` or `Deleted`.
    pub cause: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `NAMESPACE/NAME` of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The age of the trigger in seconds.
    pub age_seconds: f64,
    /// The number of runs that failed with the trigger.
    pub failures: u32,
    /// The message of the last failed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

/// Totals over all queues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The number of tasks in `main`.
    pub main_queue_tasks: usize,
    pub other_queues: OtherQueues,
    /// The number of tasks in all queues.
    pub total_tasks: usize,
}

/// Totals over all queues except `main`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherQueues {
    /// The number of queues with tasks.
    pub active: usize,
    /// The number of queues without tasks.
    pub empty: usize,
    /// The number of tasks in these queues.
    pub tasks: usize,
}

impl QueuesView {
    /// Divides queues into those with and without tasks, `main` first, and counts them.
    pub fn of(mut queues: Vec<QueueView>) -> Self {
        queues.sort_by(|a, b| (a.name != "main", &a.name).cmp(&(b.name != "main", &b.name)));
        let is_main = |queue: &&QueueView| queue.name == "main";
        let tasks = |queues: &[QueueView], of: fn(&&QueueView) -> bool| {
            queues.iter().filter(of).map(|queue| queue.tasks_count).sum::<usize>()
        };
        let main_queue_tasks = queues.iter().filter(is_main).map(|queue| queue.tasks_count).sum();
        let others = tasks(&queues, |queue| queue.name != "main");
        let (active, empty): (Vec<_>, Vec<_>) = queues.into_iter().partition(|queue| queue.tasks_count > 0);
        let besides_main = |queues: &[QueueView]| queues.iter().filter(|queue| queue.name != "main").count();
        let summary = Summary {
            main_queue_tasks,
            other_queues: OtherQueues { active: besides_main(&active), empty: besides_main(&empty), tasks: others },
            total_tasks: main_queue_tasks + others,
        };
        Self { active, empty, summary }
    }

    pub fn queue(&self, name: &str) -> Option<&QueueView> {
        self.active.iter().chain(&self.empty).find(|queue| queue.name == name)
    }
}

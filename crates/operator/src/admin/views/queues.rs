//! Queues and what waits in them, as shown. The fields `name`, `tasksCount`, `status`, `tasks`, `index`
//! and `description` are shell-operator's.

use serde::{Deserialize, Serialize};

/// All queues.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuesView {
    /// Those with tasks, `main` first.
    pub active: Vec<QueueView>,
    /// Those without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty: Vec<QueueView>,
    /// All of them in numbers.
    pub summary: Summary,
}

/// One queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// `main`, a shared name, or `hook/NAME` for a hook's own queue.
    pub name: String,
    /// Triggers that are not done; more than `tasks` when these are cut off.
    pub tasks_count: usize,
    /// What it does or waits for, in words; empty when there is nothing to do.
    pub status: String,
    /// Runs under way.
    #[serde(default)]
    pub running: usize,
    /// Failed runs that wait for their next try.
    #[serde(default)]
    pub retrying: usize,
    /// Bytes of objects and filter results that wait.
    #[serde(default)]
    pub bytes: usize,
    /// Age of its oldest trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seconds: Option<f64>,
    /// In the order in which they run, as far as that is known.
    #[serde(default)]
    pub tasks: Vec<TaskView>,
}

/// One trigger in a queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// From 1.
    pub index: usize,
    /// In one line.
    pub description: String,
    /// Its hook.
    pub hook: String,
    /// Its binding.
    pub binding: String,
    /// `Startup`, `Schedule`, `Synchronization`, `Added`, `Modified`, `Deleted`.
    pub cause: String,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `NAMESPACE/NAME` of its object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Seconds since it was made.
    pub age_seconds: f64,
    /// Runs that failed with it.
    pub failures: u32,
    /// What the last of them said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

/// Numbers over all queues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Tasks of `main`.
    pub main_queue_tasks: usize,
    /// The others.
    pub other_queues: OtherQueues,
    /// Tasks of all.
    pub total_tasks: usize,
}

/// Numbers of all queues but `main`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherQueues {
    /// Queues with tasks.
    pub active: usize,
    /// Queues without.
    pub empty: usize,
    /// Their tasks.
    pub tasks: usize,
}

impl QueuesView {
    /// Sorts queues into those with and without tasks, `main` first, and counts.
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

    /// The queue of this name.
    pub fn queue(&self, name: &str) -> Option<&QueueView> {
        self.active.iter().chain(&self.empty).find(|queue| queue.name == name)
    }
}

//! Queues as views. Pure.

use std::{collections::HashMap, fmt::Write as _, time::Duration};

use boathook_core::queue::{QueueDump, QueueState, QueueStats, TriggerDump};

use crate::admin::views::{QueueView, QueuesView, TaskView};

/// Makes the view of queues from their dumps and their statistics. A queue that was added between the two has no
/// statistics yet.
pub(super) fn queues(dumps: Vec<QueueDump>, stats: &[QueueStats]) -> QueuesView {
    let stats: HashMap<_, _> = stats.iter().map(|stats| (&stats.queue, stats)).collect();
    QueuesView::of(dumps.into_iter().map(|dump| queue(&dump, stats.get(&dump.queue).copied())).collect())
}

fn queue(dump: &QueueDump, stats: Option<&QueueStats>) -> QueueView {
    let name = dump.queue.to_string();
    let tasks = dump.triggers.iter().enumerate().map(|(index, trigger)| task(index + 1, &name, trigger)).collect();
    QueueView {
        tasks_count: dump.total,
        status: status(&dump.state),
        running: stats.map_or(0, |stats| stats.running),
        retrying: stats.map_or(0, |stats| stats.retrying),
        bytes: stats.map_or(0, |stats| stats.bytes),
        oldest_seconds: stats.and_then(|stats| stats.oldest).map(|age| age.as_secs_f64()),
        tasks,
        name,
    }
}

/// Uses shell-operator's words where it has some.
fn status(state: &QueueState) -> String {
    let left = |left: &Duration| format!("{:.1}s left", left.as_secs_f64());
    match state {
        QueueState::Empty => String::new(),
        QueueState::Running => "run first task".to_owned(),
        QueueState::Ready => "waiting for a free place to run".to_owned(),
        QueueState::WaitingForStartup => "waiting for the start-up of the hook".to_owned(),
        QueueState::WaitingForSynchronization(binding) => format!("waiting for the synchronization of {binding}"),
        QueueState::WaitingForList(binding) => format!("waiting for the objects of {binding}"),
        QueueState::WaitingForSnapshot(binding) => format!("waiting for the filter of {binding}"),
        QueueState::WaitingForToken(delay) => format!("waiting for the rate limit of the hook ({})", left(delay)),
        QueueState::Retry(delay) => format!("sleep after fail ({})", left(delay)),
        QueueState::Paused => "paused".to_owned(),
    }
}

fn task(index: usize, queue: &str, trigger: &TriggerDump) -> TaskView {
    TaskView {
        index,
        description: description(queue, trigger),
        hook: trigger.hook.to_string(),
        binding: trigger.binding.to_string(),
        cause: capital(trigger.cause),
        group: trigger.group.as_deref().map(str::to_owned),
        object: trigger.object.as_ref().map(|(_, key)| key.to_string()),
        age_seconds: trigger.age.as_secs_f64(),
        failures: trigger.attempts,
        last_failure: trigger.failure.as_deref().map(str::to_owned),
    }
}

/// The task, queue, kind of binding, hook, group, binding and failures are in shell-operator's format. The event is our
/// addition.
fn description(queue: &str, trigger: &TriggerDump) -> String {
    let kind = match trigger.cause {
        "startup" => "onStartup",
        "schedule" => "schedule",
        _ => "kubernetes",
    };
    let mut out = format!("HookRun:{queue}:{kind}:{}", trigger.hook);
    // Writing to a String cannot fail.
    if let Some(group) = &trigger.group {
        let _ = write!(out, ":group={group}");
    }
    let _ = write!(out, ":{}", trigger.binding);
    if kind == "kubernetes" {
        let _ = write!(out, ":{}", capital(trigger.cause));
    }
    if let Some((kind, key)) = &trigger.object {
        let _ = write!(out, " {kind} {key}");
    }
    if trigger.attempts > 0 {
        let _ = write!(out, ":failures {}", trigger.attempts);
    }
    if let Some(failure) = &trigger.failure {
        let _ = write!(out, ":{failure}");
    }
    out
}

/// Writes causes as in binding contexts.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use boathook_core::model::{BindingName, HookName, ObjectKey, QueueName};

    use super::*;

    fn trigger(cause: &'static str) -> TriggerDump {
        TriggerDump {
            hook: HookName::new("h").unwrap(),
            binding: BindingName::new("pods"),
            cause,
            group: None,
            object: None,
            age: Duration::from_millis(1_500),
            running: false,
            attempts: 0,
            failure: None,
        }
    }

    fn dump(queue: QueueName, state: QueueState, triggers: Vec<TriggerDump>) -> QueueDump {
        QueueDump { queue, state, total: triggers.len(), triggers }
    }

    #[test]
    fn tasks_are_described_as_in_shell_operator() {
        let key = ObjectKey { namespace: Some("a".into()), name: "b".into() };
        let failed = TriggerDump {
            group: Some("g".into()),
            object: Some(("Pod".to_owned(), key)),
            attempts: 2,
            failure: Some("no".into()),
            ..trigger("modified")
        };
        let main = dump(QueueName::main(), QueueState::Running, vec![trigger("schedule"), failed]);
        let view = queues(vec![main], &[]);
        let tasks = &view.active[0].tasks;
        assert_eq!(tasks[0].description, "HookRun:main:schedule:h:pods");
        assert_eq!(tasks[1].description, "HookRun:main:kubernetes:h:group=g:pods:Modified Pod a/b:failures 2:no");
        assert_eq!((tasks[1].index, tasks[1].cause.as_str(), tasks[1].age_seconds), (2, "Modified", 1.5));
    }

    #[test]
    fn queues_are_sorted_and_counted() {
        let own = |name: &str| QueueName::Own(HookName::new(name).unwrap());
        let retry = QueueState::Retry(Duration::from_millis(3_210));
        let view = queues(
            vec![
                dump(own("a"), QueueState::Empty, vec![]),
                dump(own("b"), retry, vec![trigger("added")]),
                dump(QueueName::main(), QueueState::Running, vec![trigger("startup"), trigger("startup")]),
            ],
            &[],
        );
        let names: Vec<_> = view.active.iter().map(|queue| (queue.name.as_str(), queue.status.as_str())).collect();
        assert_eq!(names, [("main", "run first task"), ("hook/b", "sleep after fail (3.2s left)")]);
        assert_eq!((view.empty.len(), view.empty[0].status.as_str()), (1, ""));
        assert_eq!((view.summary.main_queue_tasks, view.summary.total_tasks), (2, 3));
        let others = &view.summary.other_queues;
        assert_eq!((others.active, others.empty, others.tasks), (1, 1, 1));
    }
}

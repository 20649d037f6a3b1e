//! Jobs: runs pods until enough of them succeeded. It never waits between attempts, and gives up after as many failures
//! as `backoffLimit` allows. It ignores jobs that another controller manages (`spec.managedBy`).

use serde_json::{Map, Value, json};

use super::act::{self, Actor};
use super::replicas::{count, is_active, is_ready};
use crate::json;
use crate::status::Failure;

const STORAGE: &str = "jobs.batch";

pub(super) async fn reconcile(actor: &Actor<'_>, key: &str) -> Result<(), Failure> {
    let Some(job) = actor.living(STORAGE, key).filter(|job| is_ours(job) && !is_over(job)) else {
        return Ok(());
    };
    let namespace = json::text(&job, &["metadata", "namespace"]);
    let pods = || actor.controlled("pods", namespace, &job);
    let before = Count::of(&pods());
    let missing = wanted(&job, &before).saturating_sub(before.active).min(act::BURST);
    let made = super::replicas::make_pods(actor, &job, missing).await;
    let found = pods();
    let now = Count::of(&found);
    let ends = verdict(&job, &now).is_some();
    for pod in found.iter().filter(|pod| is_active(pod)).skip(wanted(&job, &now)) {
        actor.remove("pods", pod).await?;
    }
    let now = if ends { Count { active: 0, ready: 0, ..now } } else { now };
    actor.set_status(STORAGE, &job, &status(&job, &now)).await?;
    made
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    active: usize,
    ready: usize,
    succeeded: usize,
    failed: usize,
}

impl Count {
    fn of(pods: &[Value]) -> Self {
        let phase = |wanted: &str| pods.iter().filter(|p| json::text(p, &["status", "phase"]) == wanted).count();
        let active = pods.iter().filter(|pod| is_active(pod));
        let ready = active.clone().filter(|pod| is_ready(pod)).count();
        Self { active: active.count(), ready, succeeded: phase("Succeeded"), failed: phase("Failed") }
    }
}

fn is_ours(job: &Value) -> bool {
    matches!(json::text(job, &["spec", "managedBy"]), "" | "kubernetes.io/job-controller")
}

fn is_over(job: &Value) -> bool {
    let mut conditions = json::list(job, &["status", "conditions"]).iter();
    conditions
        .any(|c| matches!(json::text(c, &["type"]), "Complete" | "Failed") && json::text(c, &["status"]) == "True")
}

fn number(job: &Value, key: &str) -> Option<usize> {
    json::int(job, &["spec", key]).and_then(|n| usize::try_from(n).ok())
}

fn is_suspended(job: &Value) -> bool {
    json::at(job, &["spec", "suspend"]) == Some(&Value::Bool(true))
}

/// The number of pods that should be active.
fn wanted(job: &Value, count: &Count) -> usize {
    let parallelism = number(job, "parallelism").unwrap_or(1);
    match number(job, "completions") {
        _ if is_suspended(job) || verdict(job, count).is_some() => 0,
        Some(completions) => parallelism.min(completions.saturating_sub(count.succeeded)),
        // A work queue: after the first success, no new pods start.
        None if count.succeeded > 0 => count.active.min(parallelism),
        None => parallelism,
    }
}

/// The end of the job, if it has ended: the condition's type, its reason and its message.
fn verdict(job: &Value, count: &Count) -> Option<(&'static str, &'static str, &'static str)> {
    if count.failed > number(job, "backoffLimit").unwrap_or(6) {
        return Some(("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    }
    let complete = match number(job, "completions") {
        Some(completions) => count.succeeded >= completions,
        None => count.succeeded > 0 && count.active == 0,
    };
    complete.then_some(("Complete", "CompletionsReached", "Reached expected number of succeeded pods"))
}

fn status(job: &Value, counts: &Count) -> Value {
    let now = crate::time::seconds(crate::time::now());
    let mut status = job.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let suspended = is_suspended(job);
    if suspended {
        status.shift_remove("startTime");
    } else {
        status.entry("startTime").or_insert_with(|| now.clone().into());
    }
    suspension(&mut status, suspended, &now);
    status.entry("uncountedTerminatedPods").or_insert_with(|| json!({}));
    count(&mut status, "active", counts.active);
    count(&mut status, "succeeded", counts.succeeded);
    count(&mut status, "failed", counts.failed);
    status.insert("terminating".into(), 0.into());
    status.insert("ready".into(), counts.ready.into());
    if let Some((kind, reason, message)) = verdict(job, counts) {
        let condition = |kind: &str| {
            json!({
                "type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now, "reason": reason,
                "message": message,
            })
        };
        let first = if kind == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
        let conditions = status.entry("conditions").or_insert_with(|| json!([]));
        if let Value::Array(list) = conditions {
            list.extend([condition(first), condition(kind)]);
        }
        if kind == "Complete" {
            status.insert("completionTime".into(), now.into());
        }
    }
    status.into()
}

/// Updates the condition of a job that was suspended or resumed.
fn suspension(status: &mut Map<String, Value>, suspended: bool, now: &str) {
    let list = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let found = list.iter().position(|c| json::text(c, &["type"]) == "Suspended");
    let was = found.and_then(|index| list.get(index)).is_some_and(|c| json::text(c, &["status"]) == "True");
    if was == suspended {
        return;
    }
    let (holds, reason, message) =
        if suspended { ("True", "JobSuspended", "Job suspended") } else { ("False", "JobResumed", "Job resumed") };
    let condition = json!({
        "type": "Suspended", "status": holds, "lastProbeTime": now, "lastTransitionTime": now, "reason": reason,
        "message": message,
    });
    let others = list.into_iter().enumerate().filter(|(index, _)| Some(*index) != found).map(|(_, other)| other);
    status.insert("conditions".into(), others.chain([condition]).collect());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_are_missing() {
        let job = |completions: Value| json!({ "spec": { "parallelism": 3, "completions": completions } });
        let count = |active, succeeded| Count { active, ready: 0, succeeded, failed: 0 };
        assert_eq!(wanted(&job(json!(5)), &count(0, 0)), 3);
        assert_eq!(wanted(&job(json!(5)), &count(0, 4)), 1);
        assert_eq!(wanted(&job(json!(5)), &count(0, 5)), 0);
        assert_eq!(wanted(&job(Value::Null), &count(2, 1)), 2);
        assert!(verdict(&job(Value::Null), &count(2, 1)).is_none());
        assert!(verdict(&job(Value::Null), &count(0, 1)).is_some());
        let failed = Count { failed: 7, ..count(0, 0) };
        assert_eq!(verdict(&job(json!(5)), &failed).map(|v| v.0), Some("Failed"));
    }
}

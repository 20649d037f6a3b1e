//! Cells of pods and of kinds that create pods. Incomplete objects are not errors.

use jiff::Timestamp;
use serde_json::Value;

use super::{or_none, since};
use crate::json::{at, int, list, text};
use crate::kinds::scale::selector_text;

fn count(o: &Value, path: &[&str]) -> Value {
    int(o, path).unwrap_or_default().into()
}

fn job_list(o: &Value, key: &str) -> String {
    template_list(at(o, &["spec", "jobTemplate"]).unwrap_or(&Value::Null), key)
}

fn template_list<'a>(o: &'a Value, key: &str) -> String {
    let containers = list(o, &["spec", "template", "spec", "containers"]).iter();
    containers.map(|c: &'a Value| text(c, &[key])).collect::<Vec<_>>().join(",")
}

macro_rules! cells {
    ($($name:ident => $expression:expr;)*) => {
        $(pub(crate) fn $name(o: &Value, now: Timestamp) -> Value {
            let cell: fn(&Value, Timestamp) -> Value = $expression;
            cell(o, now)
        })*
    };
}

cells! {
    job_containers => |o, _| job_list(o, "name").into();
    job_images => |o, _| job_list(o, "image").into();
    job_selector => |o, _| or_none(selector_text(at(o, &["spec", "jobTemplate", "spec", "selector"])));
    containers => |o, _| template_list(o, "name").into();
    images => |o, _| template_list(o, "image").into();
    selector => |o, _| or_none(selector_text(at(o, &["spec", "selector"])));
    wanted => |o, _| count(o, &["spec", "replicas"]);
    current => |o, _| count(o, &["status", "replicas"]);
    ready => |o, _| count(o, &["status", "readyReplicas"]);
    updated => |o, _| count(o, &["status", "updatedReplicas"]);
    available => |o, _| count(o, &["status", "availableReplicas"]);
    ready_of_wanted => |o, _| {
        format!("{}/{}", count(o, &["status", "readyReplicas"]), count(o, &["spec", "replicas"])).into()
    };
    scheduled_wanted => |o, _| count(o, &["status", "desiredNumberScheduled"]);
    scheduled => |o, _| count(o, &["status", "currentNumberScheduled"]);
    daemons_ready => |o, _| count(o, &["status", "numberReady"]);
    daemons_updated => |o, _| count(o, &["status", "updatedNumberScheduled"]);
    daemons_available => |o, _| count(o, &["status", "numberAvailable"]);
    node_selector => |o, _| or_none(selector_text(at(o, &["spec", "template", "spec", "nodeSelector"])));
    job_status => |o, _| {
        let is = |kind: &str| list(o, &["status", "conditions"]).iter().any(|c| text(c, &["type"]) == kind && text(c, &["status"]) == "True");
        let found = [("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Suspended"), ("FailureTarget", "FailureTarget"), ("SuccessCriteriaMet", "SuccessCriteriaMet")];
        let terminating = at(o, &["metadata", "deletionTimestamp"]).map(|_| "Terminating");
        found.iter().find(|(kind, _)| is(kind)).map(|(_, shown)| *shown).or(terminating).unwrap_or("Running").into()
    };
    completions => |o, _| {
        let done = count(o, &["status", "succeeded"]);
        match (int(o, &["spec", "completions"]), int(o, &["spec", "parallelism"])) {
            (Some(wanted), _) => format!("{done}/{wanted}").into(),
            (None, Some(parallel)) if parallel > 1 => format!("{done}/1 of {parallel}").into(),
            _ => format!("{done}/1").into(),
        }
    };
    duration => |o, now| {
        let start = text(o, &["status", "startTime"]);
        let end = text(o, &["status", "completionTime"]).parse().unwrap_or(now);
        if start.is_empty() { "".into() } else { crate::time::age(start, end).into() }
    };
    schedule => |o, _| text(o, &["spec", "schedule"]).into();
    time_zone => |o, _| or_none(text(o, &["spec", "timeZone"]));
    suspend => |o, _| match at(o, &["spec", "suspend"]).and_then(Value::as_bool) {
        Some(true) => "True".into(),
        _ => "False".into(),
    };
    active => |o, _| list(o, &["status", "active"]).len().into();
    last_schedule => |o, now| {
        if text(o, &["status", "lastScheduleTime"]).is_empty() { "<none>".into() } else { since(o, &["status", "lastScheduleTime"], now) }
    };
    pod_ready => |o, _| {
        let ready = list(o, &["status", "containerStatuses"]).iter().filter(|c| c.get("ready") == Some(&Value::Bool(true)));
        format!("{}/{}", ready.count(), list(o, &["spec", "containers"]).len()).into()
    };
    pod_restarts => |o, _| {
        let counts = list(o, &["status", "containerStatuses"]).iter().filter_map(|c| int(c, &["restartCount"]));
        counts.fold(0i64, i64::saturating_add).to_string().into()
    };
    pod_ip => |o, _| or_none(text(o, &["status", "podIP"]));
    pod_node => |o, _| or_none(text(o, &["spec", "nodeName"]));
    pod_nominated => |o, _| or_none(text(o, &["status", "nominatedNodeName"]));
    pod_gates => |o, _| match list(o, &["spec", "readinessGates"]).len() {
        0 => "<none>".into(),
        total => {
            let met = |gate: &&Value| list(o, &["status", "conditions"]).iter().any(|c| {
                text(c, &["type"]) == text(gate, &["conditionType"]) && text(c, &["status"]) == "True"
            });
            format!("{}/{total}", list(o, &["spec", "readinessGates"]).iter().filter(met).count()).into()
        }
    };
    pod_status => |o, _| pod_state(o).into();
}

/// The word that `kubectl get pods` shows: the phase, or the most informative container state.
fn pod_state(o: &Value) -> String {
    let phase = text(o, &["status", "phase"]);
    let reason = text(o, &["status", "reason"]);
    if at(o, &["metadata", "deletionTimestamp"]).is_some() {
        return if reason == "NodeLost" { "Unknown".into() } else { "Terminating".into() };
    }
    let mut shown = if reason.is_empty() { phase } else { reason }.to_owned();
    for status in list(o, &["status", "containerStatuses"]).iter().rev() {
        let waiting = text(status, &["state", "waiting", "reason"]);
        let terminated = text(status, &["state", "terminated", "reason"]);
        if !waiting.is_empty() {
            shown = waiting.to_owned();
        } else if !terminated.is_empty() {
            shown = terminated.to_owned();
        } else if let Some(code) = int(status, &["state", "terminated", "exitCode"]) {
            shown = match int(status, &["state", "terminated", "signal"]) {
                Some(signal) if signal != 0 => format!("Signal:{signal}"),
                _ => format!("ExitCode:{code}"),
            };
        }
    }
    shown
}

//! Defaults of workloads: deployments, sets, jobs.

use serde_json::{Map, Value, json};

use super::items;
use super::pods::template;
use crate::json::{child, default};

pub(crate) fn deployment(spec: &mut Map<String, Value>) {
    default(spec, "replicas", 1);
    template(spec);
    let strategy = child(spec, "strategy");
    default(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        let rolling = child(strategy, "rollingUpdate");
        default(rolling, "maxUnavailable", "25%");
        default(rolling, "maxSurge", "25%");
    }
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
}

pub(crate) fn replica_set(spec: &mut Map<String, Value>) {
    default(spec, "replicas", 1);
    if spec.contains_key("template") {
        template(spec);
    }
}

pub(crate) fn replication_controller(map: &mut Map<String, Value>) {
    let labels = map.get("spec").and_then(|s| crate::json::at(s, &["template", "metadata", "labels"])).cloned();
    let spec = child(map, "spec");
    if let Some(labels) = labels {
        default(spec, "selector", labels);
    }
    replica_set(spec);
}

pub(crate) fn stateful_set(spec: &mut Map<String, Value>) {
    default(spec, "podManagementPolicy", "OrderedReady");
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    template(spec);
    let strategy = child(spec, "updateStrategy");
    default(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        default(child(strategy, "rollingUpdate"), "partition", 0);
    }
    for claim in items(spec, "volumeClaimTemplates") {
        default(claim, "kind", "PersistentVolumeClaim");
        default(claim, "apiVersion", "v1");
        default(child(claim, "spec"), "volumeMode", "Filesystem");
        default(child(claim, "status"), "phase", "Pending");
    }
    let retention = json!({ "whenDeleted": "Retain", "whenScaled": "Retain" });
    default(spec, "persistentVolumeClaimRetentionPolicy", retention);
}

pub(crate) fn daemon_set(spec: &mut Map<String, Value>) {
    default(spec, "revisionHistoryLimit", 10);
    template(spec);
    let strategy = child(spec, "updateStrategy");
    default(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        let rolling = child(strategy, "rollingUpdate");
        default(rolling, "maxUnavailable", 1);
        default(rolling, "maxSurge", 0);
    }
}

/// Sets the labels and the selector by which a job finds its pods, from its own uid.
pub(crate) fn select_pods(map: &mut Map<String, Value>) {
    let text = |key: &str| {
        let found = map.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let (uid, name) = (text("uid"), text("name"));
    let spec = child(map, "spec");
    if spec.get("manualSelector") == Some(&Value::Bool(true)) || spec.contains_key("selector") {
        return;
    }
    let labels = child(child(child(spec, "template"), "metadata"), "labels");
    for (key, value) in [("controller-uid", &uid), ("job-name", &name)] {
        labels.insert(format!("batch.kubernetes.io/{key}"), value.as_str().into());
        labels.insert(key.to_owned(), value.as_str().into());
    }
    let labels = labels.clone();
    spec.insert("selector".into(), json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": uid } }));
    default(child(map, "metadata"), "labels", labels);
}

pub(crate) fn job(spec: &mut Map<String, Value>) {
    job_spec(spec);
    default(spec, "manualSelector", false);
}

fn job_spec(spec: &mut Map<String, Value>) {
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    default(spec, "backoffLimit", 6);
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    default(spec, "podReplacementPolicy", "TerminatingOrFailed");
    template(spec);
}

pub(crate) fn cron_job(spec: &mut Map<String, Value>) {
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    template(child(child(spec, "jobTemplate"), "spec"));
}

//! The hook on the SDK's in-memory host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use boathook_sdk::testing::Kit;
use serde_json::{Value, json};

const VERSIONS: [&str; 3] = ["v1alpha1", "v1beta1", "v1"];

fn crontab(version: &str, spec: Value) -> Value {
    let metadata = json!({"namespace": "web", "name": "c", "labels": {"a": "b"}, "annotations": {"own": "kept"}});
    let api_version = format!("stable.example.com/{version}");
    json!({"apiVersion": api_version, "kind": "CronTab", "metadata": metadata, "spec": spec})
}

/// By all steps between the two, as the host goes.
fn converted(object: &Value, from: usize, to: usize) -> Value {
    let way: Vec<usize> = if from < to { (from..=to).collect() } else { (to..=from).rev().collect() };
    way.windows(2).fold(object.clone(), |object, step| {
        let versions = (VERSIONS[step[0]], VERSIONS[step[1]]);
        let ran = Kit::answering(config).convert(convert, "crontabs", versions, [&object]);
        ran.answer()[0].0.clone()
    })
}

#[test]
fn each_version_has_its_form() {
    let v1 = crontab(
        "v1",
        json!({
            "schedule": {"minute": "*/5", "hour": "*", "dayOfMonth": "*", "month": "*", "dayOfWeek": "1-5"},
            "image": "i", "replicas": 2, "suspend": true,
        }),
    );
    let beta = converted(&v1, 2, 1);
    assert_eq!(beta["apiVersion"], "stable.example.com/v1beta1");
    assert_eq!(beta["spec"], json!({"cronSpec": "*/5 * * * 1-5", "image": "i", "replicas": 2}));
    let alpha = converted(&beta, 1, 0);
    assert_eq!(alpha["spec"], json!({"cron": "*/5 * * * 1-5", "image": "i"}));
    assert_eq!(alpha["metadata"]["labels"], v1["metadata"]["labels"]);
    assert_eq!(alpha["metadata"]["annotations"]["own"], "kept");
}

#[test]
fn no_round_trip_loses_anything() {
    let schedule = json!({"minute": "0", "hour": "1,2", "dayOfMonth": "*", "month": "1-6", "dayOfWeek": "*"});
    for (version, spec) in [
        (0, json!({"cron": "@hourly", "image": "i"})),
        (0, json!({"cron": " 1  2 * * *", "unknown": {"a": [1]}})),
        (1, json!({"cronSpec": "@weekly", "image": "i", "replicas": 0})),
        (2, json!({"schedule": schedule, "replicas": 3, "suspend": false})),
        (2, json!({"image": "i"})),
    ] {
        for other in 0..VERSIONS.len() {
            let object = crontab(VERSIONS[version], spec.clone());
            let there = converted(&object, version, other);
            assert_eq!(converted(&there, other, version), object, "by way of {}: {there}", VERSIONS[other]);
        }
    }
}

#[test]
fn what_was_changed_meanwhile_wins_over_what_was_kept() {
    let mut v1 = converted(&crontab("v1beta1", json!({"cronSpec": "@hourly"})), 1, 2);
    v1["spec"]["schedule"]["minute"] = json!("30");
    assert_eq!(converted(&v1, 2, 1)["spec"]["cronSpec"], "30 * * * *");
    let mut alpha = converted(&crontab("v1beta1", json!({"cronSpec": "* * * * *", "replicas": 2})), 1, 0);
    alpha["spec"]["replicas"] = json!(5);
    assert_eq!(converted(&alpha, 0, 1)["spec"]["replicas"], 5);
}

#[test]
fn a_schedule_that_is_none_is_told_with_its_object() {
    let bad = crontab("v1beta1", json!({"cronSpec": "now and then"}));
    let ran = Kit::answering(config).convert(convert, "crontabs", ("v1beta1", "v1"), [&bad]);
    let text = ran.error().to_string();
    assert!(text.starts_with("CronTab web/c: the schedule \"now and then\""), "{text}");
}

#[test]
fn a_field_that_would_become_two_is_refused_before_it_is_stored() {
    for field in ["0 and 30", ""] {
        let bad = crontab("v1", json!({"schedule": {"minute": field}}));
        let ran = Kit::answering(config).convert(convert, "crontabs", ("v1", "v1beta1"), [&bad]);
        let text = ran.error().to_string();
        assert!(text.contains("spec.schedule.minute is"), "{text}");
    }
}

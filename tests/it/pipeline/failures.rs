//! What follows a failure: the guest `fail` fails as a ConfigMap asks for.

use serde_json::{Value, json};

use super::fixture::{Operator, Pipeline, config_map};

const LABEL: (&str, &str) = ("test", "fail");

fn failing(name: &str, mode: &str, attempts: &str) -> Value {
    config_map(name, LABEL, json!({"mode": mode, "attempts": attempts}))
}

#[tokio::test]
async fn a_retry_comes_after_its_delay_and_later_events_join_it() {
    let pipeline = Pipeline::start(["fail"]).await;
    let operator = &pipeline.operator;
    pipeline.create(failing("first", "retry", "1")).await;
    let again = operator.told("run will be retried", "fail", 1).await;
    // 5 s as the policy has it, give or take a tenth.
    let delay = again[0]["retry_ms"].as_f64().unwrap();
    assert!((4500.0..=5500.0).contains(&delay), "{delay}");
    let failed = &operator.told("run failed", "fail", 1).await[0];
    assert_eq!(
        (&failed["kind"], &failed["error"], &failed["attempt"]),
        (&json!("retry"), &json!("asked to fail"), &json!(1))
    );

    pipeline.create(failing("second", "none", "0")).await;
    operator.said("fail", "attempt 2: none second").await;
    assert_eq!(
        operator.log.said("fail"),
        [
            "attempt 1: retry first",
            "attempt 2: retry first",
            // It joined the retry, in its order.
            "attempt 2: none second",
        ]
    );
}

#[tokio::test]
async fn a_hook_that_waits_holds_up_its_own_queue_only() {
    let pipeline = Pipeline::start(["fail", "noop"]).await;
    let operator = &pipeline.operator;
    let runs_before = operator.log.told("run succeeded").len();
    let an_hour = json!({"mode": "retry-after", "delay": "3600000"});
    pipeline.create(config_map("first", LABEL, an_hour)).await;
    operator.told("run will be retried", "fail", 1).await;
    pipeline.create(failing("second", "none", "0")).await;
    pipeline.create(config_map("neighbour", ("bench", "true"), json!({}))).await;
    let served = |operator: &Operator| {
        let runs = operator.log.told("run succeeded").split_off(runs_before);
        runs.iter().any(|line| line["hook"] == "noop").then_some(())
    };
    operator.until("the neighbour is served", served).await;
    assert_eq!(operator.log.said("fail"), ["attempt 1: retry-after first"]);
}

#[tokio::test]
async fn retry_after_has_a_delay_of_its_own() {
    let pipeline = Pipeline::start(["fail"]).await;
    pipeline.create(config_map("soon", LABEL, json!({"mode": "retry-after", "delay": "400", "attempts": "2"}))).await;
    pipeline.operator.said("fail", "attempt 3: retry-after soon").await;
    let again = pipeline.operator.told("run will be retried", "fail", 2).await;
    let delays: Vec<_> = again.iter().map(|line| line["retry_ms"].as_f64().unwrap()).collect();
    assert_eq!(delays, [400.0, 400.0]);
    let failed = pipeline.operator.told("run failed", "fail", 2).await;
    assert_eq!(failed.iter().map(|line| &line["attempt"]).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(failed[0]["error"], "asked to fail for a while");
}

#[tokio::test]
async fn a_permanent_failure_is_given_up_and_later_events_go_on() {
    let pipeline = Pipeline::start(["fail"]).await;
    pipeline.create(failing("hopeless", "permanent", "9")).await;
    let given_up = pipeline.operator.told("triggers given up", "fail", 1).await;
    assert_eq!((&given_up[0]["error"], &given_up[0]["triggers"]), (&json!("asked to fail for good"), &json!(1)));
    assert_eq!(given_up[0]["level"], "ERROR");
    pipeline.create(failing("later", "none", "0")).await;
    pipeline.operator.said("fail", "attempt 1: none later").await;
    assert_eq!(pipeline.operator.log.said("fail"), ["attempt 1: permanent hopeless", "attempt 1: none later"]);
}

#[tokio::test]
async fn a_panic_is_reported_with_its_message_and_trace() {
    let pipeline = Pipeline::start(["fail"]).await;
    pipeline.create(failing("crash", "panic", "1")).await;
    let failed = &pipeline.operator.told("run failed", "fail", 1).await[0];
    assert_eq!((&failed["kind"], &failed["binding"]), (&json!("trap"), &json!("configmaps")));
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with("the hook panicked at ") && error.ends_with(": asked to panic"), "{error}");
    let backtrace = failed["backtrace"].as_str().unwrap();
    assert!(backtrace.contains("panic") && backtrace.contains("fail"), "{backtrace}");
    pipeline.operator.told("run will be retried", "fail", 1).await;
}

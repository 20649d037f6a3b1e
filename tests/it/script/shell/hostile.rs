//! A shell script can waste nothing but its own budget.

use std::time::Duration;

use boathook_core::model::{FailureKind, Limit, Limits};

use super::{left_out, loaded, running, sandbox};
use crate::sandbox::support::{plenty, run};

async fn failure(body: &str, limits: Limits) -> boathook_core::model::Failure {
    let sandbox = sandbox().await;
    let hook = loaded(&sandbox, &running(body)).await;
    run(&sandbox, &hook, limits).await.outcome.unwrap_err()
}

#[tokio::test]
async fn loops_without_end_end_at_the_deadline() {
    if left_out() {
        return;
    }
    let limits = Limits { time: Duration::from_millis(500), ..plenty() };
    for body in ["while :; do :; done", "sleep 60", "yes >/dev/null", "awk 'BEGIN {while (1) x++}'"] {
        let failure = failure(body, limits).await;
        assert_eq!(failure.kind, FailureKind::Limit(Limit::Time), "{body}: {failure}");
    }
}

#[tokio::test]
async fn what_grows_without_end_is_named() {
    if left_out() {
        return;
    }
    for body in [
        "x=a; while :; do x=$x$x; done",
        "f() { f | f & }; f; wait",
        "f() { f; }; f",
        "jq -n 'def f: f; f'",
        "eval_me='eval \"$eval_me\"'; eval \"$eval_me\"",
        "yes | head -c 200000000 > /tmp/x",
        "awk 'function f(n) {return f(n + 1)} BEGIN {f(0)}'; exit $?",
    ] {
        let failure = failure(body, plenty()).await;
        let ours = failure.kind == FailureKind::Retry && !failure.message.is_empty();
        let limit = matches!(failure.kind, FailureKind::Limit(Limit::Memory | Limit::Stack));
        assert!(ours || limit, "{body}: {failure}");
        assert!(!failure.message.contains("panicked"), "{body}: {failure}");
    }
}

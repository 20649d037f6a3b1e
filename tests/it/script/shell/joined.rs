//! Scripts are joined with the shell interpreter: what it says of them, and what it refuses with its place.

use std::sync::Arc;

use boathook_core::model::{AdmissionKind, FailureKind};

use super::{left_out, loaded, packed, refused, running, sandbox};
use crate::sandbox::support::{Lines, Memory, plenty, request, run};

#[tokio::test]
async fn exports_are_those_that_the_document_needs() {
    if left_out() {
        return;
    }
    let sandbox = sandbox().await;
    let plain = loaded(&sandbox, &running("true")).await;
    assert!(!plain.reviews(AdmissionKind::Validating) && !plain.converts());
    let config = "echo '{configVersion: v1, kubernetesValidating: [], kubernetesCustomResourceConversion: []}'";
    let hook = loaded(&sandbox, &packed(&[("hook.sh", config)])).await;
    assert!(hook.reviews(AdmissionKind::Validating) && !hook.reviews(AdmissionKind::Mutating) && hook.converts());
}

#[tokio::test]
async fn what_cannot_run_is_refused_with_its_place() {
    if left_out() {
        return;
    }
    for (script, place) in [
        ("echo ok\nfrobnicate", "/hooks/hook.sh:2: frobnicate: there is no such command in a hook"),
        ("if true; then", "/hooks/hook.sh:1:10: `then` must be followed by a statement list"),
        ("trap 'echo' DEBUG", "/hooks/hook.sh:1: trap DEBUG is not supported"),
        ("echo no document", "/hooks/hook.sh --config: it prints no document"),
        ("echo oops >&2; exit 3", "oops"),
    ] {
        let error = refused(&[("hook.sh", script)]).await;
        assert!(error.contains(place), "{script}: {error}");
    }
}

#[tokio::test]
async fn lines_go_to_the_log_with_their_levels() {
    if left_out() {
        return;
    }
    let sandbox = sandbox().await;
    let body = r#"echo plain; echo '{"level": "error", "msg": "record", "a": 1}'; printf 'a\xffb\n' >&2"#;
    let hook = loaded(&sandbox, &running(body)).await;
    let (lines, _collecting) = Lines::collect();
    run(&sandbox, &hook, plenty()).await.outcome.unwrap();
    let lines = lines.of_hooks();
    let told: Vec<_> = lines.iter().map(|line| (line["level"].as_str(), line["message"].as_str())).collect();
    let expected = [("INFO", "plain"), ("ERROR", "record"), ("INFO", "a\u{fffd}b")];
    assert_eq!(told, expected.map(|(level, message)| (Some(level), Some(message))), "{lines:?}");
}

#[tokio::test]
async fn a_failure_is_what_the_script_printed() {
    if left_out() {
        return;
    }
    let sandbox = sandbox().await;
    for (body, message) in [
        ("echo why >&2; exit 2", "why"),
        ("exit 2", "/hooks/hook.sh: exit status 2"),
        ("set -e; false", "/hooks/hook.sh: exit status 1"),
        ("echo '{' > $KUBERNETES_PATCH_PATH", "KUBERNETES_PATCH_PATH: it is neither a stream of JSON objects nor YAML"),
        ("echo '{\"name\": \"a b\", \"set\": 1}' > $METRICS_PATH", "METRICS_PATH: metric 1: "),
    ] {
        let failure = run(&sandbox, &loaded(&sandbox, &running(body)).await, plenty()).await.outcome.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Retry, "{failure}");
        assert!(failure.message.contains(message), "{body}: {failure}");
    }
}

#[tokio::test]
async fn each_run_begins_anew_and_has_its_own_random_numbers() {
    if left_out() {
        return;
    }
    let sandbox = sandbox().await;
    let hook =
        loaded(&sandbox, &running("[[ -e /tmp/kept ]] && exit 1; touch /tmp/kept; echo $RANDOM$RANDOM$RANDOM")).await;
    let (lines, _collecting) = Lines::collect();
    for _ in 0..3 {
        run(&sandbox, &hook, plenty()).await.outcome.unwrap();
    }
    let mut told: Vec<_> = lines.of_hooks().iter().map(|line| line["message"].to_string()).collect();
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 3, "{told:?}");
}

#[tokio::test]
async fn operations_reach_the_host_in_order() {
    if left_out() {
        return;
    }
    let sandbox = sandbox().await;
    let body = r#"for name in b a c; do
  echo "{\"operation\": \"DeleteInBackground\", \"apiVersion\": \"v1\", \"kind\": \"Pod\", \"namespace\": \"n\", \"name\": \"$name\"}"
done > $KUBERNETES_PATCH_PATH"#;
    let hook = loaded(&sandbox, &running(body)).await;
    let host = Arc::new(Memory::default());
    sandbox.run(&hook, request(&hook, plenty()), host.clone()).await.outcome.unwrap();
    let operations = host.operations.lock().unwrap();
    let names: Vec<_> = operations
        .iter()
        .map(|operation| match operation {
            boathook_core::model::Operation::Delete(delete) => delete.target.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names.len(), 3);
    for (name, wanted) in names.iter().zip(["n/b", "n/a", "n/c"]) {
        assert!(name.ends_with(wanted), "{names:?}");
    }
}

//! Time and random numbers of a chart depend on its inputs alone.

use std::time::Duration;

use boathook_sandbox::Secret;
use serde_json::Value;

use super::{bounds, chart, first, left_out, noon, rendered, request, sandbox_with};

/// Nothing is remembered, so that each rendering is a real one.
fn sandbox() -> boathook_sandbox::Sandbox {
    sandbox_with(boathook_sandbox::ChartConfig { remembered: 0, ..bounds() })
}

fn data(value: &Value, key: &str) -> String {
    value["data"][key].as_str().unwrap_or_else(|| panic!("{key}: {value}")).to_owned()
}

// mutant: crates/sandbox/src/charts/chart.rs: `digest.part(&self.secret.0);` => `digest.part(&[]);`
#[tokio::test]
async fn the_same_inputs_give_the_same_random_numbers_and_others_do_not() {
    if left_out().await {
        return;
    }
    let sandbox = sandbox();
    let one = rendered(&sandbox, request(chart("random"))).await.unwrap();
    // Another sandbox is another start of the operator.
    assert_eq!(one, rendered(&super::random::sandbox(), request(chart("random"))).await.unwrap());

    let mut upgraded = request(chart("random"));
    upgraded.release.revision = 2;
    assert_eq!(one, rendered(&sandbox, upgraded).await.unwrap(), "the revision alone changes no password");

    let (one, keys) =
        (first(&one), ["alnum", "alpha", "numeric", "ascii", "bytes", "int", "shuffled", "uuid", "bcrypt", "aes"]);
    let mut named = request(chart("random"));
    named.release.name = "other".to_owned();
    let mut secret = request(chart("random"));
    secret.secret = Secret([8; 32]);
    for other in [named, secret] {
        let other = first(&rendered(&sandbox, other).await.unwrap());
        for key in keys {
            assert_ne!(data(&one, key), data(&other, key), "{key}");
        }
    }
}

#[tokio::test]
async fn the_time_is_that_of_the_request() {
    if left_out().await {
        return;
    }
    let sandbox = sandbox();
    let one = first(&rendered(&sandbox, request(chart("random"))).await.unwrap());
    assert_eq!((data(&one, "now"), data(&one, "ago")), ("2026-01-02T12:00:00Z".to_owned(), "3h0m0s".to_owned()));
    let mut later = request(chart("random"));
    later.now = noon() + Duration::from_secs(60);
    let later = first(&rendered(&sandbox, later).await.unwrap());
    assert_eq!(data(&later, "now"), "2026-01-02T12:01:00Z");
    assert_eq!(data(&one, "uuid"), data(&later, "uuid"), "the time alone changes no password");
}

/// Certificates that a chart makes stay what they are.
#[tokio::test]
async fn the_same_inputs_give_the_same_keys_and_certificates() {
    if left_out().await {
        return;
    }
    let one = rendered(&sandbox(), request(chart("keys"))).await.unwrap();
    assert_eq!(one, rendered(&sandbox(), request(chart("keys"))).await.unwrap());
    let text = &one.manifests[0].text;
    assert_eq!(text.matches("BEGIN CERTIFICATE").count(), 2, "{text}");
    assert!(text.contains("BEGIN RSA PRIVATE KEY") && text.contains("BEGIN EC PRIVATE KEY"), "{text}");
}

//! HTTP requests in records: what they keep, what they withhold, and runs again without a network.

use boathook_core::model::{CredentialForm, CredentialValues, HookName, HttpCredential};
use boathook_egress::HookCredential;
use serde_json::json;

use super::{Recorded, altered, names, records, replay, replayed};
use crate::{
    pipeline::http::{Server, fetch},
    script::{
        http::{Fetching, javascript},
        interpreters,
        python::{self, http::python_script},
    },
};

const TOKEN: &str = "a token of nobody else";

// mutant: crates/operator/src/record/secrets.rs: `if CREDENTIALS.contains(&name.to_lowercase().as_str()) {` => `if false {`
#[tokio::test]
async fn a_run_with_requests_is_the_same_again_without_the_server_and_without_credentials() {
    let server = Server::start().await;
    let client = server.client();
    let recorded = Recorded::start_with(&[("fetch", server.hook())], |options| options.http = client).await;
    let requests = [
        json!({"url": server.url("/v1/echo"), "method": "POST", "body": "ping", "authorization": format!("Bearer {TOKEN}")}),
        json!({"url": server.url("/v1/echo"), "authorization": "Basic dXNlcjphIHRva2VuIG9mIG5vYm9keSBlbHNl"}),
        json!({"url": server.url("/v2/echo")}),
    ];
    for (number, data) in requests.into_iter().enumerate() {
        recorded.pipeline.create(fetch(&format!("n-{number}"), data)).await;
        // The first one is the synchronization.
        recorded.until("fetch", number + 2).await;
    }
    let (_records, path) = recorded.stop().await;
    let hook = server.hook();
    drop(server);

    let texts: Vec<_> = records(&path).iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let requests = texts.iter().filter(|text| text.contains(r#""call":"http""#)).count();
    assert!(requests == 3 && texts.iter().any(|text| text.contains("ping")), "{texts:#?}");
    for text in &texts {
        // The objects that the hook received have them too, and are no Secrets.
        let calls = &text[text.find(r#""calls":"#).unwrap()..];
        for secret in [TOKEN, "dXNlcjphIHRva2VuIG9mIG5vYm9keSBlbHNl"] {
            assert!(!calls.contains(secret), "{calls}");
        }
    }
    let directory = path.to_str().unwrap();
    let ended = replay(&[directory]).await;
    let count = names(&path).len();
    assert_eq!(ended.stdout, format!("{count} runs: {count} same, 0 differ"), "{}", ended.stderr);

    let file = path.join("narrow.wasm");
    std::fs::write(&file, altered(&hook, "/v1/*", "/v9/*")).unwrap();
    let (code, told) = replayed(&[directory, "--with", file.to_str().unwrap()]).await;
    let told = told.to_string();
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("permission") && told.contains("methods: [POST]"), "{told}");
}

/// The operator adds it after the request was recorded.
// mutant: crates/egress/src/client.rs: `request.headers_mut().extend(headers);` => ``
#[tokio::test]
async fn a_record_has_nothing_of_a_credential_that_the_operator_adds() {
    let (server, directory) = (Server::start().await, tempfile::tempdir().unwrap());
    std::fs::write(directory.path().join("token"), "a-token-of-the-admin").unwrap();
    let credential = HttpCredential {
        host: server.host(),
        values: CredentialValues::Directory(directory.path().to_owned()),
        form: CredentialForm::Bearer { key: "token".to_owned() },
        place: "credentials[0] of a file".to_owned(),
    };
    let client = server.client_with(vec![HookCredential { hooks: vec![HookName::new("fetch").unwrap()], credential }]);
    let recorded = Recorded::start_with(&[("fetch", server.hook())], |options| options.http = client).await;
    recorded
        .pipeline
        .create(fetch("n", json!({"url": server.url("/v1/echo"), "method": "POST", "body": "ping"})))
        .await;
    recorded.until("fetch", 2).await;
    let (_records, path) = recorded.stop().await;
    assert_eq!(server.seen()[0].authorization.as_deref(), Some("Bearer a-token-of-the-admin"));
    let texts: Vec<_> = records(&path).iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    assert!(texts.iter().any(|text| text.contains("ping")), "{texts:#?}");
    assert!(!texts.iter().any(|text| text.contains("a-token-of-the-admin")), "{texts:#?}");
    let ended = replay(&[path.to_str().unwrap()]).await;
    assert!(ended.stdout.ends_with("same, 0 differ"), "{} {}", ended.stdout, ended.stderr);
}

async fn a_script_is_the_same_again_without_the_server(script: Fetching) {
    let server = Server::start().await;
    let client = server.client();
    let adjust = |options: &mut boathook_operator::app::Options| {
        options.http = client;
        options.sandbox.interpreters = vec![interpreters()];
    };
    let recorded = Recorded::start_with(&[("fetch", script(&server.host()))], adjust).await;
    let requests = [
        json!({"url": server.url("/v1/echo"), "method": "POST", "body": "ping", "authorization": format!("Bearer {TOKEN}")}),
        json!({"url": server.url("/v1/never"), "timeout": "20"}),
        json!({"url": server.url("/v2/echo")}),
    ];
    for (number, data) in requests.into_iter().enumerate() {
        recorded.pipeline.create(fetch(&format!("n-{number}"), data)).await;
        recorded.until("fetch", number + 1).await;
    }
    let (_records, path) = recorded.stop().await;
    drop(server);
    let texts: Vec<_> = records(&path).iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let requests = texts.iter().filter(|text| text.contains(r#""call":"http""#)).count();
    assert!(requests == 3 && texts.iter().any(|text| text.contains("ping")), "{texts:#?}");
    for text in &texts {
        let calls = &text[text.find(r#""calls":"#).unwrap()..];
        assert!(!calls.contains(TOKEN), "{calls}");
    }
    let ended = replay(&[path.to_str().unwrap()]).await;
    assert_eq!(ended.stdout, "3 runs: 3 same, 0 differ", "{}", ended.stderr);
}

#[tokio::test]
async fn fetch_is_the_same_again_without_the_server() {
    a_script_is_the_same_again_without_the_server(javascript).await;
}

#[tokio::test]
async fn requests_in_python_are_the_same_again_without_the_server() {
    python::sandbox().await;
    a_script_is_the_same_again_without_the_server(python_script).await;
}

//! Questions and their answers; what becomes of failures; shares, deadlines and the end.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_core::model::AdmissionKind;
use boathook_operator::webhook::Settings;
use futures::{StreamExt as _, stream::FuturesUnordered};
use http::Request;
use serde_json::{Value, json};

use tokio::net::TcpStream;

use super::stage::{Authority, Heard, Stage, review};
use crate::support::until;

#[tokio::test]
async fn reviews_are_answered_over_both_protocols() {
    let mut stage = Stage::start().await;
    let client = stage.client();
    for mut connection in [client.http1().await.unwrap(), client.http2().await.unwrap()] {
        let mut ask = async |path: &str| {
            let answer = connection.post(path, review("u-7").to_string().into_bytes()).await.unwrap();
            assert_eq!(
                (answer.status.as_u16(), &answer.headers["content-type"]),
                (200, &"application/json".parse().unwrap())
            );
            answer.json()["response"].clone()
        };
        assert_eq!(ask("/validate/h/allow").await, json!({"uid": "u-7", "allowed": true}));
        let denied = ask("/mutate/h/deny?timeout=5s").await;
        let status = json!({"status": "Failure", "message": "not today", "reason": "Conflict", "code": 409});
        assert_eq!(denied, json!({"uid": "u-7", "allowed": false, "status": status, "warnings": ["think twice"]}));
        let changed = ask("/mutate/h/label").await;
        let patch: Value =
            serde_json::from_slice(&STANDARD.decode(changed["patch"].as_str().unwrap()).unwrap()).unwrap();
        assert_eq!(patch, json!([{"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}]));
    }
    let Some(Heard::Review { kind, hook, request, patience }) = stage.heard.recv().await else { panic!() };
    assert_eq!((kind, hook.as_str(), request.dry_run), (AdmissionKind::Validating, "h", true));
    assert!(patience <= Duration::from_millis(9_500) && patience > Duration::from_secs(5), "{patience:?}");
    let Some(Heard::Review { kind, patience, .. }) = stage.heard.recv().await else { panic!() };
    assert_eq!(kind, AdmissionKind::Mutating);
    assert!(patience <= Duration::from_millis(4_500), "{patience:?}");
}

// mutant: crates/operator/src/webhook/server/routes.rs: `Unanswered::Failed(_) | Unanswered::Deadline(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, &text),` => `Unanswered::Failed(_) | Unanswered::Deadline(_) => refused(StatusCode::OK, &text),`
// mutant: crates/operator/src/webhook/server/routes.rs: `answered.unwrap_or_else(|_| Err(Unanswered::Failed(format!("{whose}: an error of Boathook itself"))))` => `answered.unwrap_or_else(|panic| std::panic::resume_unwind(panic))`
#[tokio::test]
async fn what_is_no_decision_is_an_error_of_http() {
    let mut stage = Stage::start().await;
    let client = stage.client();
    let table = [
        ("/validate/h/fail", 500, "hook h, binding fail: it trapped"),
        ("/validate/h/not-ready", 503, "hook h is not ready"),
        ("/validate/h/none", 404, "no hook has the binding none"),
        ("/validate/h/panic", 500, "hook h, binding panic"),
        ("/mutate/h/misfit", 500, "remove /spec/none"),
        ("/validate/h/hang?timeout=200ms", 500, "hook h, binding hang: no answer within 200ms"),
        ("/elsewhere", 404, "no such path"),
        ("/validate/h", 404, "no such path"),
    ];
    for (path, status, text) in table {
        let answer = client.post(path, review("u")).await;
        assert_eq!(answer.status.as_u16(), status, "{path}: {}", answer.text);
        assert!(answer.text.contains(text), "{path}: {}", answer.text);
        assert_eq!(answer.headers.contains_key("retry-after"), status == 503, "{path}");
    }
    let mut unusable = Vec::new();
    while let Ok(heard) = stage.heard.try_recv() {
        if let Heard::Unusable(why) = heard {
            unusable.push(why);
        }
    }
    assert!(unusable.len() == 1 && unusable[0].starts_with("hook h, binding misfit: "), "{unusable:?}");
}

#[tokio::test]
async fn what_is_no_question_is_refused() {
    let stage = Stage::start().await;
    let client = stage.client();
    assert_eq!(client.post("/validate/h/allow", "{}").await.status, 400);
    assert_eq!(client.get(&stage.path("/validate/h/allow")).await.status, 405);
    assert_eq!((client.get("/healthz").await.status.as_u16()), 200);
    let mut connection = client.http1().await.unwrap();
    for (content_type, status) in
        [("text/plain", 415), ("application/json; charset=utf-8", 200), ("application/jsonx", 415)]
    {
        let request = Request::post(stage.path("/validate/h/allow")).header("content-type", content_type);
        let answer = connection.send(request, review("u").to_string().into_bytes()).await.unwrap();
        assert_eq!(answer.status, status, "{content_type}");
    }
}

#[tokio::test]
async fn conversions_keep_the_rules() {
    let mut stage = Stage::start().await;
    let client = stage.client();
    let object = json!({"apiVersion": "example.com/v1", "kind": "X", "metadata": {"name": "a"}});
    let request = json!({"uid": "u", "desiredAPIVersion": "example.com/v2", "objects": [object]});
    let body = json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request});
    let ask =
        async |crd: &str| client.post(&format!("/convert/{crd}?timeout=30s"), &body).await.json()["response"].take();

    let good = ask("xs.example.com").await;
    assert_eq!(good["result"], json!({"status": "Success"}));
    assert_eq!(good["convertedObjects"][0]["apiVersion"], "example.com/v2");
    let refused = ask("refused.example.com").await;
    assert_eq!(refused["result"], json!({"status": "Failure", "message": "hook h: object X a has no schedule"}));
    let renamed = ask("renamed.example.com").await;
    assert_eq!((&renamed["result"]["status"], &renamed["convertedObjects"]), (&json!("Failure"), &json!([])));
    let message = renamed["result"]["message"].as_str().unwrap();
    assert!(message.contains("object 0 (X a): its metadata.name changed from \"a\" to \"b\""), "{message}");

    let Some(Heard::Conversion(request)) = stage.heard.recv().await else { panic!() };
    assert_eq!((request.crd.as_str(), request.desired.as_str()), ("xs.example.com", "example.com/v2"));
}

// mutant: crates/operator/src/webhook/server/shares.rs: `let turns = Arc::new(Semaphore::new(self.each));` => `let turns = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));`
#[tokio::test]
async fn one_hook_never_takes_all_turns() {
    let settings = Settings { questions: 4, questions_of_one: 2, ..Settings::default() };
    let stage = Stage::with(settings, None).await;
    let client = stage.client();
    let held: Vec<_> = (0..10)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.post("/validate/greedy/hold?timeout=30s", review("u")).await.status })
        })
        .collect();
    stage.answerer.holding.notified().await;
    for _ in 0..5 {
        assert_eq!(client.post("/validate/other/allow", review("u")).await.status, 200);
    }
    stage.answerer.held.add_permits(10);
    for one in held {
        assert_eq!(one.await.unwrap(), 200);
    }
}

#[tokio::test]
async fn too_many_waiting_questions_are_sent_away() {
    let settings = Settings { questions_of_one: 1, ..Settings::default() };
    let stage = Stage::with(settings, None).await;
    let client = stage.client();
    let mut asked: FuturesUnordered<_> =
        (0..8).map(|_| client.post("/validate/greedy/hold?timeout=30s", review("u"))).collect();
    // One is answered at a time, four wait, and until now nobody got an answer.
    for _ in 0..3 {
        let answer = asked.next().await.unwrap();
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(answer.text.contains("hook greedy: too many questions"), "{}", answer.text);
    }
    stage.answerer.held.add_permits(8);
    while let Some(answer) = asked.next().await {
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

#[tokio::test]
async fn a_shutdown_lets_answers_end_and_accepts_nothing() {
    let stage = Stage::start().await;
    let client = stage.client();
    let Stage { server, answerer, certificates: _certificates, .. } = stage;
    let address = server.address();
    let idle = client.http2().await.unwrap();
    let mut connection = client.http2().await.unwrap();
    let question = tokio::spawn(async move {
        connection.post("/validate/h/hold?timeout=30s", review("u").to_string().into_bytes()).await
    });
    answerer.holding.notified().await;
    let shutdown = tokio::spawn(server.shutdown());
    until("the port is closed", async || TcpStream::connect(address).await.is_err().then_some(())).await;
    answerer.held.add_permits(1);
    assert_eq!(question.await.unwrap().unwrap().status, 200);
    shutdown.await.unwrap();
    drop(idle);
}

/// As when an API server connects to a Pod that is about to end.
#[tokio::test]
async fn what_connected_before_a_shutdown_is_answered() {
    let stage = Stage::start().await;
    let client = stage.client();
    let Stage { server, answerer: _answerer, certificates: _certificates, .. } = stage;
    let address = server.address();
    let stream = TcpStream::connect(address).await.unwrap();
    let shutdown = tokio::spawn(server.shutdown());
    until("the port is closed", async || TcpStream::connect(address).await.is_err().then_some(())).await;
    let mut connection = client.http1_over(stream).await.unwrap();
    let answer = connection.post("/validate/h/allow", review("u").to_string().into_bytes()).await.unwrap();
    assert_eq!(answer.status, 200);
    shutdown.await.unwrap();
}

/// A client that does not know the secret part of a path gets the same answer for hooks that exist and for hooks that
/// do not, and no hook receives its request.
// mutant: crates/operator/src/webhook/server/routes.rs: `if self.paths.borrow().accepts(path, secret) {` => `if true {`
// mutant: crates/operator/src/webhook/certs/mod.rs: `self.accepted.iter().any(|key| key.knows(path, secret))` => `true`
// mutant: crates/core/src/model/path_key.rs: `hmac::verify(&self.key(), path.as_bytes(), &tag).is_ok()` => `hmac::verify(&self.key(), path.as_bytes(), &tag).is_err()`
#[tokio::test]
async fn a_stranger_asks_nobody() {
    let mut stage = Stage::start().await;
    let stranger = super::client::Client::new(stage.server.address(), &stage.authority.pem, None);
    let known = stage.path("/validate/h/allow");
    let secret = known.rsplit_once('/').unwrap().1.to_owned();
    let zeros = "0".repeat(64);
    for path in [
        "/validate/h/allow".to_owned(),
        "/validate/h/allow/".to_owned(),
        "/validate/h/allow/x".to_owned(),
        format!("/validate/h/allow/{zeros}"),
        format!("/validate/h/allow/{}", secret.to_uppercase()),
        format!("/validate/h/allow/{}", &secret[..63]),
        // Who knows one path knows no other.
        format!("/validate/h/deny/{secret}"),
        format!("/mutate/h/allow/{secret}"),
        format!("/validate/other/allow/{secret}"),
        format!("/convert/xs.example.com/{secret}"),
        format!("/validate/none/none/{zeros}"),
    ] {
        let answer = stranger.post(&path, review("u")).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (404, "there is no such path\n"), "{path}");
    }
    assert!(stage.heard.try_recv().is_err(), "a hook was asked");
    assert_eq!(stranger.post(&known, review("u")).await.status, 200);
}

// mutant: crates/operator/src/webhook/server/routes.rs: `if site.certificates_needed && !asker.certificate {` => `if false {`
#[tokio::test]
async fn with_an_authority_of_clients_only_they_are_answered() {
    let theirs = Authority::new();
    let stage = Stage::with(Settings::default(), Some(&theirs)).await;
    let client = |identity| {
        let client = super::client::Client::new(stage.server.address(), &stage.authority.pem, identity);
        client.knowing(stage.certificates.paths())
    };
    let stranger = client(None);
    assert_eq!(stranger.get("/healthz").await.status, 200);
    assert_eq!(stranger.post("/validate/h/allow", review("u")).await.status, 401);
    assert_eq!(stranger.post("/convert/xs.example.com", json!({})).await.status, 401);
    let known = client(Some(theirs.issue("apiserver")));
    assert_eq!(known.post("/validate/h/allow", review("u")).await.status, 200);
    let forged = client(Some(Authority::new().issue("apiserver")));
    let refused = match forged.http1().await {
        Ok(mut connection) => connection.post("/validate/h/allow", Vec::new()).await.is_err(),
        Err(_) => true,
    };
    assert!(refused);
}

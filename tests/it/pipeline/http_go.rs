//! HTTP requests of hooks in Go, by the `http.Client` of its library: what leaves, what comes back, which error names what.
//!
//! Left out where there is no Go.

use std::sync::Arc;

use boathook_bundle::Digest;
use boathook_core::model::{
    Cause, HttpError, HttpReason, Item, Limits, ObjectEvent, ObjectKey, Resource, WatchEventKind,
};
use boathook_egress::Client;
use boathook_sandbox::{RunReport, RunRequest};
use serde_json::{Value, json};

use super::{
    fixture::Pipeline,
    http::{Server, audited, said},
};
use crate::{
    record::altered,
    sandbox::{
        http::Net,
        support::{Lines, caller, load, plenty, sandbox, trigger},
    },
    support::{cluster::TestCluster, guests::go_guest},
};

/// The guest with permissions for this server.
fn hook(server: &Server) -> Option<Vec<u8>> {
    let port = format!("{:05}", server.address.port());
    let guest = altered(&go_guest("outbound")?, "localhost:54321", &format!("localhost:{port}"));
    Some(altered(&guest, "127.0.0.1:54321", &format!("127.0.0.1:{port}")))
}

async fn started(guest: Vec<u8>, http: Client, plan: bool) -> Pipeline {
    let pipeline = Pipeline::on(TestCluster::start().await, &[("fetch", guest)], |options| {
        options.http = http;
        options.plan = plan;
    })
    .await;
    pipeline.operator.ready().await;
    pipeline
}

#[tokio::test]
async fn a_request_and_its_response_pass_whole() {
    let server = Server::start().await;
    let Some(guest) = hook(&server) else { return };
    let pipeline = started(guest, server.client(), false).await;
    let (url, body) = (server.url("/v1/echo?secret=yes"), "ä".repeat(50_000));
    let data = json!({"url": url, "method": "POST", "body": body, "authorization": "Bearer t", "timeout": "20s"});
    let line = said(&pipeline, "echo", data).await;
    assert_eq!((&line["status"], &line["headers"]["X-Server"]), (&json!(200), &json!(["test"])), "{line}");
    assert_eq!((&line["bytes"], &line["sha256"]), (&json!(100_000), &json!(Digest::of(body.as_bytes()).hex())));
    let seen = server.seen().pop().unwrap();
    assert_eq!((seen.line.as_str(), seen.host, seen.body), ("POST /v1/echo?secret=yes", server.host(), body));
    assert_eq!(seen.authorization.as_deref(), Some("Bearer t"));
    let audit = audited(&pipeline, &server.url("/v1/echo"));
    assert_eq!((&audit["outcome"], &audit["sent_bytes"]), (&json!("ok"), &json!(100_000)));
    let line = said(&pipeline, "none", json!({"url": server.url("/v1/other")})).await;
    assert_eq!((&line["status"], &line["body"]), (&json!(404), &json!("no such place")));
}

/// A client follows a redirect by another request, which needs a permission of its own.
#[tokio::test]
async fn an_error_names_the_host_and_what_allows_the_request() {
    let server = Server::start().await;
    let Some(guest) = hook(&server) else { return };
    let (host, echo) = (server.host(), server.url("/v1/echo"));
    let refused = async |pipeline: &Pipeline, name: &str, data: Value, reason: &str, parts: &[&str]| {
        let line = said(pipeline, name, data).await;
        assert_eq!(line["reason"], reason, "{name}: {line}");
        let told = line["error"].as_str().unwrap();
        assert!(parts.iter().all(|part| told.contains(part)), "{name}: {line}");
        line
    };
    {
        let pipeline = started(guest.clone(), server.client(), false).await;
        let away = json!({"url": "https://169.254.169.254/latest/?key=x"});
        let rule = r#"permissions.http must have {hosts: ["169.254.169.254"], methods: [GET], paths: ["/latest/"]}"#;
        let line = refused(&pipeline, "host", away, "denied", &["169.254.169.254 is not allowed", rule]).await;
        assert_eq!(line["host"], "169.254.169.254");
        let method = json!({"url": echo, "method": "DELETE"});
        refused(&pipeline, "method", method, "denied", &[&host, "methods: [DELETE]"]).await;
        refused(&pipeline, "dots", json!({"url": server.url("/v1/../v2")}), "denied", &[&host]).await;
        let log = pipeline.operator.log.said("fetch");
        assert!(log.iter().any(|line| line.contains("a part . or ..")), "{log:#?}");
        let followed = json!({"url": server.url("/v1/away")});
        refused(&pipeline, "away", followed.clone(), "denied", &[r#"hosts: ["http://169.254.169.254"]"#]).await;
        let line = said(&pipeline, "here", json!({"url": followed["url"], "redirect": "manual"})).await;
        assert_eq!((&line["status"], &line["headers"]["Location"]), (&json!(302), &json!(["http://169.254.169.254/"])));
        let never = json!({"url": server.url("/v1/never"), "timeout": "50ms"});
        let line = said(&pipeline, "never", never).await;
        let told = line["error"].as_str().unwrap();
        assert!(told.contains("Client.Timeout exceeded") || told.contains("did not respond in time"), "{line}");
    }
    {
        let closed = started(guest.clone(), Client::default(), false).await;
        refused(&closed, "closed", json!({"url": echo}), "address", &["--http-private-host", &host]).await;
    }
    {
        let stranger = Server::start().await.allowed([server.host()]);
        let pipeline = started(guest.clone(), stranger, false).await;
        refused(&pipeline, "tls", json!({"url": echo}), "tls", &["TLS with", &host]).await;
    }
    {
        let plan = started(guest, server.client(), true).await;
        refused(&plan, "plan", json!({"url": echo, "method": "POST", "body": "x"}), "denied", &[&host]).await;
        assert_eq!(said(&plan, "get", json!({"url": echo})).await["status"], 200);
    }
    let seen: Vec<_> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(seen, ["GET /v1/away", "GET /v1/away", "GET /v1/never", "GET /v1/echo"]);
}

/// Runs the guest, which sends what the object says.
async fn run(guest: &[u8], data: Value, limits: Limits, net: Arc<Net>) -> RunReport {
    let sandbox = sandbox();
    let hook = load(&sandbox, "fetch", guest).await;
    let object = json!({"metadata": {"name": "m"}, "data": data}).to_string();
    let item = Item {
        key: ObjectKey { namespace: Some("default".into()), name: "m".into() },
        uid: "u".into(),
        resource_version: "1".into(),
        object: Some(object.as_str().into()),
        filter_result: None,
    };
    let event = ObjectEvent {
        kind: WatchEventKind::Added,
        resource: Arc::new(Resource::of("v1", "ConfigMap", "configmaps", true)),
        item: Arc::new(item),
        previous_filter_result: None,
        previous_object: None,
    };
    let triggers = vec![trigger("fetch", "configmaps", Cause::Event(event))];
    let request = RunRequest { caller: caller("fetch"), attempt: 1, triggers, limits };
    sandbox.run(&hook, request, net).await
}

/// The guest's own lines.
fn heard(lines: &Lines) -> Vec<Value> {
    let all = lines.of_hooks();
    let texts = all.iter().map(|line| line["message"].as_str().unwrap());
    texts.filter_map(|text| serde_json::from_str(text).ok()).collect()
}

const URL: &str = "https://localhost:54321/v1/x";

#[tokio::test]
async fn each_reason_is_an_error_of_its_own_and_a_limit_says_which() {
    let Some(guest) = go_guest("outbound") else { return };
    for (reason, kind) in [
        (HttpReason::Denied, "denied"),
        (HttpReason::Address, "address"),
        (HttpReason::Name, "name"),
        (HttpReason::Connection, "connection"),
        (HttpReason::Tls, "tls"),
        (HttpReason::Timeout, "timeout"),
        (HttpReason::Invalid, "invalid"),
        (HttpReason::Credential, "credential"),
        (HttpReason::Limit, "other"),
    ] {
        let (lines, _collecting) = Lines::collect();
        let net = Net::with(Some(Err(HttpError { reason, message: "why not".to_owned() })));
        assert_eq!(run(&guest, json!({"url": URL}), plenty(), net).await.outcome, Ok(()));
        let line = heard(&lines).remove(0);
        assert_eq!((line["reason"].as_str(), &line["timeout"]), (Some(kind), &json!(kind == "timeout")), "{line}");
        let told = line["error"].as_str().unwrap();
        assert!(told.contains(if kind == "other" { "why not" } else { "localhost:54321" }), "{line}");
    }
    let (lines, _collecting) = Lines::collect();
    let few = Limits { host_bytes: 60_000, ..plenty() };
    run(&guest, json!({"url": URL}), few, Net::answering(100_000)).await;
    let line = heard(&lines).remove(0);
    assert!(line["error"].as_str().unwrap().contains("limits.hostBytes of"), "{line}");
}

/// The net answers when four requests are under way, as many as a run may have.
#[tokio::test]
async fn goroutines_wait_for_their_responses_together() {
    let Some(guest) = go_guest("outbound") else { return };
    let (lines, _collecting) = Lines::collect();
    let net = Net::answering_together(4);
    let data = json!({"url": URL, "times": "8", "method": "POST", "body": "x".repeat(9000)});
    assert_eq!(run(&guest, data, plenty(), net.clone()).await.outcome, Ok(()));
    assert_eq!(net.seen.lock().unwrap().len(), 8);
    let lines = heard(&lines);
    assert_eq!((lines.len(), lines.iter().all(|line| line["status"] == 201)), (8, true), "{lines:?}");
}

//! Questions that are wrong, in every way in which they can be.

use boathook_operator::admin::{ClientError, Letters, SnapshotQuery, views::SetLogLevel};
use http::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

use super::Asked;
use crate::pipeline::{
    fixture::guests,
    written::{Deed, hook},
};

fn refusal<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> (StatusCode, String) {
    match answer {
        Err(ClientError::Refused { status, text }) => (status, text),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn unknown_names_are_answered_with_the_known_ones() {
    let asked = Asked::start(&guests(["noop", "fail"])).await;
    let client = &asked.client;
    let everything = SnapshotQuery::default();
    for answer in [
        refusal(client.snapshots("nope", &everything).await),
        refusal(client.snapshots("../fail", &everything).await),
        refusal(client.runs(Some("nope"), false).await),
        refusal(client.command("nope", "quarantine").await),
        refusal(client.command("nope", "release").await),
        refusal(client.command("nope", "pause").await),
    ] {
        assert_eq!(answer.0, StatusCode::NOT_FOUND, "{answer:?}");
        assert!(answer.1.contains("the hooks are fail, noop"), "{answer:?}");
    }
    let query = SnapshotQuery { binding: Some("pods".into()), ..everything };
    let (status, text) = refusal(client.snapshots("fail", &query).await);
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(text.contains("it has configmaps"), "{text}");
}

#[tokio::test]
async fn bad_questions_say_what_is_wrong_with_them() {
    let asked = Asked::start(&guests(["fail"])).await;
    let client = &asked.client;
    for (path, status, part) in [
        ("/nothing", StatusCode::NOT_FOUND, "/hooks"),
        ("/a/b/c/d", StatusCode::NOT_FOUND, "/hooks"),
        ("/hooks.xml", StatusCode::BAD_REQUEST, "text, json or yaml"),
        ("/hooks?colour=red", StatusCode::BAD_REQUEST, "colour"),
        ("/runs?failed=perhaps", StatusCode::BAD_REQUEST, "failed"),
        ("/hooks/fail/snapshots?limit=0", StatusCode::BAD_REQUEST, "1 to 1000"),
        ("/hooks/fail/snapshots?limit=-1", StatusCode::BAD_REQUEST, "limit"),
        ("/hooks/fail/snapshots?continue=a", StatusCode::BAD_REQUEST, "binding"),
        ("/hooks/fail/explode", StatusCode::NOT_FOUND, "/hooks/fail/explode"),
        ("/queue/other.json", StatusCode::NOT_FOUND, "/queue/other.json"),
        ("/config/set", StatusCode::METHOD_NOT_ALLOWED, "GET"),
    ] {
        let (got, text) = refusal(client.get(path).await);
        assert_eq!(got, status, "{path}: {text}");
        assert!(text.contains(part), "{path}: {text}");
    }
    let (status, text) = refusal(client.retry_dead(&Letters::default()).await);
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(text.contains("by ids, by hook, or all"), "{text}");
    let both = Letters { ids: vec![1], all: true, ..Letters::default() };
    assert_eq!(refusal(client.drop_dead(&both).await).0, StatusCode::BAD_REQUEST);
    let set = SetLogLevel { level: "debug".into(), lasts: Some("soon".into()) };
    let (status, text) = refusal(client.set_log_level(&set).await);
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(text.contains("soon"), "{text}");
}

/// One request by hand.
async fn send(asked: &Asked, head: &str, body: &[u8]) -> String {
    let mut stream = UnixStream::connect(asked.socket()).await.unwrap();
    let head = format!("{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    let head = format!("{head}content-type: application/json\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    // It may be refused before all of it is read.
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn bad_bodies_harm_nobody() {
    let asked = Asked::start(&guests(["noop"])).await;
    for (body, status) in [
        (b"{".to_vec(), "400"),
        (br#"{"ids":["x"]}"#.to_vec(), "400"),
        (br#"{"all":true,"more":1}"#.to_vec(), "400"),
        (b"\xff\xfe".to_vec(), "400"),
        (vec![b' '; 1 << 20], "400"),
    ] {
        let answer = send(&asked, "POST /dead-letters/retry", &body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    let mut stream = UnixStream::connect(asked.socket()).await.unwrap();
    stream.write_all(b"\0\0\0\0 not http at all\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert_eq!(asked.client.hooks().await.unwrap().hooks.len(), 1);
}

#[tokio::test]
async fn what_hooks_say_does_not_reach_the_terminal_raw() {
    let document = "configVersion: v1\nkubernetes: [{name: \"a\\e[2Jb\", kind: ConfigMap}]\n";
    let asked = Asked::start(&[("sly", hook(document, &Deed::Says("x")))]).await;
    let text = asked.client.get("/hook/sly/snapshots.text").await.unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.contains("[2Jb") && !text.contains('\u{1b}'), "{text:?}");
}

//! Hostile clients, and another client that gets its answers despite them.

use std::time::Duration;

use boathook_operator::webhook::Settings;
use http::Request;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::stage::{Stage, review};
use crate::support::until;

impl Stage {
    async fn answers(&self) {
        let answer = self.client().post("/validate/h/allow", review("u")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

#[tokio::test]
async fn large_reviews_are_answered_and_larger_ones_refused() {
    let stage = Stage::start().await;
    let client = stage.client();
    let mut large = review("u");
    large["request"]["object"]["data"]["large"] = json!("x".repeat(3 << 20));
    large["request"]["oldObject"] = large["request"]["object"].clone();
    assert_eq!(client.post("/mutate/h/label", &large).await.status, 200);
    let mut connection = client.http2().await.unwrap();
    assert_eq!(connection.post("/validate/h/allow", large.to_string().into_bytes()).await.unwrap().status, 200);
    let refused = connection.post("/validate/h/allow", vec![b' '; 9 << 20]).await;
    // A client may be cut off while it still sends.
    assert!(refused.is_err() || refused.is_ok_and(|answer| answer.status == 413));
    stage.answers().await;
}

#[tokio::test]
async fn garbage_is_refused() {
    let stage = Stage::start().await;
    let client = stage.client();
    let deep = "[".repeat(1 << 20);
    for body in ["", "\0\0\0", "null", "{\"kind\":", "7", &deep, "{\"request\":{}}"] {
        for path in ["/validate/h/allow", "/mutate/h/label", "/convert/xs.example.com"] {
            assert_eq!(client.post(path, body).await.status, 400, "{path}");
        }
    }
    let mut nested = review("u").to_string();
    nested = nested.replace("{\"n\":\"1\"}", &format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert_eq!(client.post("/validate/h/allow", &nested).await.status, 200);
    assert_eq!(client.post("/mutate/h/misfit", &nested).await.status, 500);
    let mut connection = client.http1().await.unwrap();
    let long = Request::post(format!("/validate/h/{}", "x".repeat(60_000)));
    assert!(!connection.send(long, Vec::new()).await.is_ok_and(|answer| !answer.status.is_client_error()));
    stage.answers().await;
}

#[tokio::test]
async fn plain_http_is_reported_so_and_noise_is_cut_off() {
    let stage = Stage::start().await;
    let talk = async |bytes: &[u8]| {
        let mut stream = TcpStream::connect(stage.server.address()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        answer
    };
    let answer = talk(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(answer.starts_with(b"HTTP/1.0 400 ") && answer.ends_with(b"https only\n"), "{answer:?}");
    let answer = talk(b"\x16\x03\x01\xff\xff garbage in place of a handshake, and more of it ................").await;
    assert!(!answer.starts_with(b"HTTP"));
    stage.answers().await;
}

/// Slow heads, slow bodies and silent handshakes end by themselves.
// mutant: crates/operator/src/connections.rs: `Some(from + if entry.used { idle } else { first })` => `Some(from + if entry.used { idle } else { first * 1000 })`
#[tokio::test]
async fn slow_clients_are_cut_off() {
    let moment = Duration::from_millis(300);
    let settings = Settings { handshake: moment, head: moment, ..Settings::default() };
    let stage = Stage::with(settings, None).await;
    let client = stage.client();
    let silent = TcpStream::connect(stage.server.address()).await.unwrap();
    let mut beginning = client.tls().await.unwrap();
    let begun = format!("POST {} HTTP/1.1\r\nHost: x\r\nX-", stage.path("/validate/h/allow"));
    beginning.write_all(begun.as_bytes()).await.unwrap();
    let quiet = client.http2().await.unwrap();
    let mut body = client.tls().await.unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        stage.path("/validate/h/allow?timeout=500ms")
    );
    body.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    body.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    stage.answers().await;
    drop(body);
    until("all slow connections are closed", async || (stage.server.connections() == 0).then_some(())).await;
    drop((silent, beginning, quiet));
}

/// More than the server keeps: the idle ones make room.
#[tokio::test]
async fn a_thousand_connections_keep_nobody_out() {
    let stage = Stage::with(Settings { connections: 200, ..Settings::default() }, None).await;
    let mut idle = Vec::new();
    for _ in 0..1000 {
        idle.push(TcpStream::connect(stage.server.address()).await.unwrap());
        if idle.len() % 250 == 0 {
            stage.answers().await;
        }
    }
    assert!(stage.server.connections() <= 200);
    stage.answers().await;
}

/// Bodies under way are bounded together, and what one client holds is given back.
// mutant: crates/operator/src/webhook/server/body.rs: `Semaphore::new(all.max(each).min(Semaphore::MAX_PERMITS))` => `Semaphore::new(all.max(each).max(Semaphore::MAX_PERMITS))`
#[tokio::test]
async fn many_large_bodies_are_bounded_together() {
    let never = Duration::from_secs(3600);
    let settings = Settings { body: 1 << 20, bodies: 4 << 20, slow: never, ..Settings::default() };
    let stage = Stage::with(settings, None).await;
    let client = stage.client();
    let mut held = Vec::new();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        stage.path("/validate/h/allow?timeout=30s"),
        1 << 20
    );
    for _ in 0..4 {
        let mut stream = client.tls().await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // All but the last byte.
        stream.write_all(&vec![b' '; (1 << 20) - 1]).await.unwrap();
        stream.flush().await.unwrap();
        held.push(stream);
    }
    until("there is no room for one more", async || {
        (client.post("/validate/h/allow", review("u")).await.status == 503).then_some(())
    })
    .await;
    drop(held);
    until("there is room again", async || {
        let text = review("u").to_string();
        let body = format!("{}{text}", " ".repeat((1 << 20) - text.len()));
        let answer = client.http2().await.unwrap().post("/validate/h/allow", body.into_bytes()).await;
        answer.is_ok_and(|answer| answer.status == 200).then_some(())
    })
    .await;
}

/// Nor do those keep anybody out that never end their bodies: neither of bytes nor of places.
#[tokio::test]
async fn bodies_that_never_end_make_room() {
    let moment = Duration::from_millis(50);
    let settings = Settings { body: 1 << 20, bodies: 2 << 20, slow: moment, connections: 20, ..Settings::default() };
    let stage = Stage::with(settings, None).await;
    let client = stage.client();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        stage.path("/validate/h/allow?timeout=30s"),
        1 << 20
    );
    let mut held = Vec::new();
    for _ in 0..40 {
        let mut stream = client.tls().await.unwrap();
        // It may have been cut off already.
        let _ = stream.write_all(&[head.as_bytes(), &vec![b' '; (1 << 20) - 1]].concat()).await;
        held.push(stream);
    }
    let body = format!("{}{}", review("u"), " ".repeat(1 << 19)).into_bytes();
    until("one that is whole gets in", async || {
        let answer = client.http1().await.ok()?.post("/validate/h/allow", body.clone()).await;
        answer.is_ok_and(|answer| answer.status == 200).then_some(())
    })
    .await;
    assert!(stage.server.connections() <= 20);
}

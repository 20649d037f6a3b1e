//! The stranger: a Pod without any rights, who reaches the operator's ports. Invents reviews, holds connections, sends
//! what is no TLS, and asks for metrics without end, and without reading them.

use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::program::{crossed, pause, say, variable};

/// Connections that are held open at each port.
const HELD: usize = 150;
/// Clients that hardly read.
const SLOW: usize = 60;
const BEAT: Duration = Duration::from_millis(50);

/// The operator's Pod.
pub const TARGET: &str = "BOATHOOK_ATTACK_TARGET";

pub async fn run() {
    let target = variable(TARGET);
    let (webhooks, metrics) = (format!("{target}:9443"), format!("{target}:9115"));
    tokio::join!(
        invents(&webhooks),
        holds(&webhooks),
        holds(&metrics),
        babbles(&webhooks),
        swells(&webhooks),
        swells(&metrics),
        asks_again(&metrics),
        dawdles(&metrics),
    );
}

/// Reviews and conversions that no API server sent, at paths that it can guess.
async fn invents(target: &str) {
    let mut config = kube::Config::new(format!("https://{target}").parse().expect("an address"));
    config.accept_invalid_certs = true;
    config.read_timeout = Some(Duration::from_secs(10));
    let client = Client::try_from(config).expect("make a client");
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "forged", "namespace": "team-b"},
        "spec": {"containers": [{"name": "c", "image": "example.com/forged:1"}]}});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "00000000-0000-0000-0000-000000000001", "operation": "CREATE", "dryRun": false, "namespace": "team-b", "name": "forged",
        "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "system:admin", "groups": ["system:masters"]}, "object": object}});
    let conversion = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
        "uid": "1", "desiredAPIVersion": "boathook.dev/v2", "objects": [object]}});
    let hook = "image-policy.hooks.team-b";
    let paths = [
        "/".to_owned(),
        "/validate".to_owned(),
        "/mutate".to_owned(),
        "/convert".to_owned(),
        format!("/validate/{hook}"),
        format!("/hooks/{hook}"),
        format!("/{hook}/image-policy.boathook.dev"),
        format!("/hooks/{hook}/image-policy.boathook.dev"),
        "/hooks/image-policy/image-policy.boathook.dev".to_owned(),
        format!("/validating/{hook}/image-policy.boathook.dev"),
        format!("/{}", "a/".repeat(5000)),
        "/%2e%2e/%2e%2e/metrics".to_owned(),
    ];
    for n in 0_usize.. {
        let path = &paths[n % paths.len()];
        let body = if n % 2 == 0 { &review } else { &conversion };
        if let Ok(request) =
            Request::post(path).header("content-type", "application/json").body(body.to_string().into_bytes())
            && let Ok(answer) = client.request::<Value>(request).await
        {
            crossed(&format!("a stranger's review at {path} was answered: {answer}"));
        }
        pause(BEAT).await;
    }
}

/// Opens connections, and sends a byte from time to time.
async fn holds(target: &str) {
    futures::future::join_all((0..HELD).map(|_| one_is_held(target))).await;
}

async fn one_is_held(target: &str) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(target).await {
            for byte in b"POST /hooks/x HTTP/1.1\r\nHost: operator\r\nX-Slow: ".iter().chain(std::iter::repeat(&b'x')) {
                if stream.write_all(&[*byte]).await.is_err() {
                    break;
                }
                pause(Duration::from_secs(2)).await;
            }
        }
        pause(Duration::from_secs(1)).await;
    }
}

/// Bytes that are no TLS, and the beginning of a handshake that never goes on.
async fn babbles(target: &str) {
    let record = [0x16, 0x03, 0x01, 0xff, 0xff, 0x01, 0x00, 0xff, 0xfb, 0x03, 0x03];
    loop {
        if let Ok(mut stream) = TcpStream::connect(target).await {
            let _ = stream.write_all(&record).await;
            let _ = stream.write_all(&[0xff; 20_000]).await;
            let mut answer = Vec::new();
            let _ = tokio::time::timeout(Duration::from_millis(200), stream.read_to_end(&mut answer)).await;
        }
        pause(BEAT).await;
    }
}

/// Bodies and heads that are large.
async fn swells(target: &str) {
    loop {
        for head in
            ["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX: "]
        {
            let Ok(mut stream) = TcpStream::connect(target).await else { continue };
            let _ = stream.write_all(head.as_bytes()).await;
            for _ in 0..100 {
                let sent = tokio::time::timeout(Duration::from_secs(5), stream.write_all(&[b'x'; 32 << 10])).await;
                if !matches!(sent, Ok(Ok(()))) {
                    break;
                }
                pause(BEAT).await;
            }
        }
        pause(BEAT).await;
    }
}

/// Metrics and health, several at a time.
async fn asks_again(target: &str) {
    let paths = ["/metrics", "/metrics/hooks", "/healthz", "/readyz", "/startupz", "/debug/pprof", "/admin/hooks"];
    let asker = |offset: usize| async move {
        for n in offset.. {
            let path = paths[n % paths.len()];
            if let Ok(answer) = ask(target, path).await
                && ["debug", "admin"].iter().any(|word| path.contains(word))
                && answer.starts_with("HTTP/1.1 200")
            {
                crossed(&format!("{path} is answered: {answer}"));
            }
            pause(BEAT).await;
        }
    };
    futures::future::join_all((0..4).map(asker)).await;
    say(&json!({"ended": "asks_again"}));
}

/// Metrics and health that it asks for and hardly reads.
async fn dawdles(target: &str) {
    let one = |path: &'static str| async move {
        loop {
            if let Ok(mut stream) = TcpStream::connect(target).await {
                let _ = stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await;
                while stream.read_u8().await.is_ok() {
                    pause(Duration::from_secs(1)).await;
                }
            }
            pause(Duration::from_secs(1)).await;
        }
    };
    futures::future::join_all((0..SLOW).map(|n| one(["/metrics", "/healthz", "/readyz"][n % 3]))).await;
}

async fn ask(target: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(target).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(10), read).await.map_err(std::io::Error::other)??;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

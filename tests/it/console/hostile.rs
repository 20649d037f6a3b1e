//! Requests that no page of ours sends, and clients that take what others need.

use boathook_operator::console::Access;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::Shown;
use crate::{pipeline::fixture::guests, support::cluster::TestCluster};

// mutant: crates/operator/src/console/server.rs: `match origin::check(hosts, request.headers(), data) {` => `match Ok::<(), &str>(()) {`
#[tokio::test]
async fn another_site_gets_nothing_by_way_of_a_browser() {
    let shown = Shown::start(&guests(["noop"])).await;
    let (host, token) = (format!("Host: {}", shown.address), format!("Authorization: Bearer {}", shown.token));
    let with = async |lines: &[&str]| shown.ask("GET", "/api/hooks", &[lines, &[token.as_str()]].concat()).await.status;
    assert_eq!(with(&[&host]).await, 200);
    // A name of another site that leads here since a moment.
    for rebound in ["Host: evil.example", "Host: 127.0.0.1:1", "Host: localhost"] {
        assert_eq!(with(&[rebound]).await, 403, "{rebound}");
        assert_eq!(shown.ask("GET", "/", &[rebound]).await.status, 403, "{rebound}: the page, too");
    }
    for cross in
        ["Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"]
    {
        assert_eq!(with(&[&host, cross]).await, 403, "{cross}");
    }
    let own = format!("Origin: http://{}", shown.address);
    assert_eq!(with(&[&host, &own, "Sec-Fetch-Site: same-origin"]).await, 200);
    // No answer allows another site to read it, or to ask in another way.
    let preflight = ["Origin: http://evil.example", "Access-Control-Request-Headers: authorization"];
    let got = shown.ask("OPTIONS", "/api/hooks", &[&[host.as_str()][..], &preflight[..]].concat()).await;
    assert_eq!(got.status, 405);
    assert!(!got.head.contains("access-control"), "{}", got.head);
}

// mutant: crates/operator/src/console/server.rs: `if !matches!(*request.method(), Method::GET | Method::HEAD) {` => `if false {`
#[tokio::test]
async fn nothing_can_be_changed_and_no_object_is_shown() {
    let shown = Shown::start(&guests(["noop"])).await;
    let (host, token) = (format!("Host: {}", shown.address), format!("Authorization: Bearer {}", shown.token));
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        for path in ["/api/hooks/noop/pause", "/api/log-level", "/api/dead-letters/drop", "/"] {
            let got = shown.ask(method, path, &[&host, &token]).await;
            assert_eq!(got.status, 405, "{method} {path}");
            assert!(got.head.contains("allow: get, head"), "{}", got.head);
        }
    }
    for path in [
        "/api/hooks/noop/snapshots",
        "/api/hook/noop/snapshots.json",
        "/api/hook/list",
        "/api/../hooks",
        "/x",
        // Only `boathook dev` repeats runs.
        "/api/again?run=x",
        "/api/replay?run=x",
        "/api/scenario?run=x",
    ] {
        assert_eq!(shown.get(path).await.status, 404, "{path}");
    }
    assert_eq!(shown.ask("HEAD", "/api/hooks", &[&host, &token]).await.body, "");
}

#[tokio::test]
async fn the_page_is_for_everybody_and_loads_only_itself() {
    let shown = Shown::start(&[]).await;
    let host = format!("Host: {}", shown.address);
    for (path, kind) in [
        ("/", "text/html"),
        ("/console.js", "text/javascript"),
        ("/console.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let got = shown.ask("GET", path, &[&host]).await;
        assert_eq!(got.status, 200, "{path}");
        for line in [
            format!("content-type: {kind}").as_str(),
            "content-security-policy: default-src 'none'; script-src 'self';",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(got.head.contains(line), "{path}: no {line} in {}", got.head);
        }
        assert!(!got.head.contains("unsafe-"), "{}", got.head);
        let tag = got.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
        let again = shown.ask("GET", path, &[&host, &format!("If-None-Match: {tag}")]).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
    }
    let page = shown.ask("GET", "/", &[&host]).await.body;
    assert!(!page.contains("<script>") && !page.contains("style=") && !page.contains("://"), "{page}");
}

// mutant: crates/operator/src/console/server.rs: `Connections::new(CONNECTIONS)` => `Connections::new(usize::MAX)`
#[tokio::test]
async fn clients_that_hold_connections_keep_nobody_out() {
    let shown = Shown::start(&guests(["noop"])).await;
    let mut held = Vec::new();
    for _ in 0..80 {
        let mut silent = TcpStream::connect(shown.address).await.unwrap();
        silent.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").await.unwrap();
        held.push(silent);
    }
    assert_eq!(shown.get("/api/hooks").await.status, 200);
    // The connections that came first had to close.
    let mut rest = Vec::new();
    let _ = held[0].read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
    let mut endless = TcpStream::connect(shown.address).await.unwrap();
    let _ = endless.write_all(format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(17 << 10)).as_bytes()).await;
    let mut answer = String::new();
    let _ = endless.read_to_string(&mut answer).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn it_ends_with_its_operator() {
    let shown = Shown::on(TestCluster::start().await, &[], Access::random(), |_| ()).await;
    let (address, mut held) = (shown.address, TcpStream::connect(shown.address).await.unwrap());
    shown.pipeline.operator.shutdown().await;
    let mut rest = Vec::new();
    let _ = held.read_to_end(&mut rest).await;
    assert!(TcpStream::connect(address).await.is_err());
}

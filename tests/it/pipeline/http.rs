//! Hooks that send HTTP requests: what leaves, what comes back, what is logged of it.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use boathook_bundle::{Allowed, Reach};
use boathook_egress::{Client, HookCredential, HttpConfig};
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use super::fixture::{Pipeline, config_map};
use crate::{
    record::altered,
    support::{cluster::TestCluster, guests::guest},
};

/// A server at `localhost` that notes what it is asked.
pub struct Server {
    pub address: SocketAddr,
    /// The certificate of its authority.
    ca: Vec<u8>,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub line: String,
    pub host: String,
    pub authorization: Option<String>,
    pub body: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// With TLS.
    pub async fn start() -> Self {
        let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        Self::with(Some(TlsAcceptor::from(Arc::new(config))), own.cert.pem().into_bytes()).await
    }

    async fn with(tls: Option<TlsAcceptor>, ca: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<Seen>>>::default());
        let notes = seen.clone();
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (tls, notes) = (tls.clone(), notes.clone());
                tokio::spawn(async move {
                    let answer = service_fn(move |request| answer(request, notes.clone()));
                    let http = hyper::server::conn::http1::Builder::new();
                    match tls {
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            let _ = http.serve_connection(TokioIo::new(stream), answer).await;
                        }
                        None => drop(http.serve_connection(TokioIo::new(stream), answer).await),
                    }
                });
            }
        });
        Self { address, ca, seen, task }
    }

    /// What was asked, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.host())
    }

    /// The guest `fetch` with permissions for this server.
    pub fn hook(&self) -> Vec<u8> {
        let port = format!("{:05}", self.address.port());
        assert!(!port.starts_with('0'), "a port as a permission writes it has no leading zero");
        let guest = altered(&guest("fetch"), "localhost:54321", &format!("localhost:{port}"));
        altered(&guest, "127.0.0.1:54321", &format!("127.0.0.1:{port}"))
    }

    /// What an admin allows who trusts this server.
    pub fn client(&self) -> Client {
        self.allowed([self.host()])
    }

    /// The same, and the admin has credentials for hooks.
    pub fn client_with(&self, credentials: Vec<HookCredential>) -> Client {
        self.configured([self.host()], credentials)
    }

    /// The same, for these hosts.
    pub fn allowed(&self, private: impl IntoIterator<Item = String>) -> Client {
        self.configured(private, Vec::new())
    }

    fn configured(&self, private: impl IntoIterator<Item = String>, credentials: Vec<HookCredential>) -> Client {
        let private = private.into_iter().collect::<BTreeSet<_>>();
        let reach = Reach::Public(Arc::new(Allowed { private, ..Allowed::default() }));
        Client::new(HttpConfig { reach, ca: self.ca.clone(), credentials, ..HttpConfig::default() }).unwrap()
    }
}

async fn answer(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<Full<bytes::Bytes>>, hyper::Error> {
    let text = |name| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (host, authorization) = (text(header::HOST).unwrap_or_default(), text(header::AUTHORIZATION));
    let line = format!("{} {}", request.method(), request.uri());
    let path = request.uri().path().to_owned();
    let body = String::from_utf8(request.into_body().collect().await?.to_bytes().to_vec()).unwrap();
    let host_seen = host.clone();
    seen.lock().unwrap().push(Seen { line, host, authorization, body: body.clone() });
    let builder = Response::builder().header("x-server", "test");
    let response = match path.as_str() {
        "/v1/echo" => builder.body(Full::new(body.into())),
        "/v1/away" => builder.status(302).header(header::LOCATION, "http://169.254.169.254/").body(Full::default()),
        // The same server by its address.
        "/v1/inside" => {
            let url = format!("https://{}/v1/echo", host_seen.replace("localhost", "127.0.0.1"));
            builder.status(302).header(header::LOCATION, url).body(Full::default())
        }
        "/v1/token" => builder.body(Full::new(r#"{"access_token": "a token of the server"}"#.into())),
        "/v1/never" => std::future::pending().await,
        _ => builder.status(404).body(Full::new("no such place".into())),
    };
    Ok(response.unwrap())
}

/// A ConfigMap that makes the guest send a request.
pub fn fetch(name: &str, data: Value) -> Value {
    config_map(name, ("fetch", "true"), data)
}

async fn start(server: &Server) -> Pipeline {
    let pipeline = Pipeline::on(TestCluster::start().await, &[("fetch", server.hook())], |options| {
        options.http = server.client();
    })
    .await;
    pipeline.operator.ready().await;
    pipeline
}

/// What the guest says about one request.
pub async fn said(pipeline: &Pipeline, name: &str, data: Value) -> Value {
    pipeline.create(fetch(name, data)).await;
    let about = |operator: &super::fixture::Operator| {
        let mut lines = operator.log.said("fetch");
        lines.retain(|line| line.starts_with('{'));
        lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|line| line["fetch"] == name)
    };
    pipeline.operator.until(&format!("the request {name}"), about).await
}

/// The audit line of a request to this path.
pub fn audited(pipeline: &Pipeline, url: &str) -> Value {
    let lines = pipeline.operator.log.told("audit");
    let of = |line: &&Value| line["verb"] == "http" && line["url"] == url;
    lines.iter().find(of).unwrap_or_else(|| panic!("no audit line for {url}: {lines:#?}")).clone()
}

#[tokio::test]
async fn a_request_and_its_response_pass_whole_and_leave_an_audit_line() {
    let server = Server::start().await;
    let pipeline = start(&server).await;
    let body = "x".repeat(300_000);
    let url = server.url("/v1/echo?secret=yes");
    let line = said(&pipeline, "echo", json!({"url": url, "method": "POST", "body": &body[..9000]})).await;
    assert_eq!((&line["status"], &line["headers"]["x-server"]), (&json!(200), &json!("test")));
    assert_eq!(line["body"].as_str().unwrap().len(), 9000);
    let seen = server.seen();
    assert_eq!((seen[0].line.as_str(), seen[0].host.as_str()), ("POST /v1/echo?secret=yes", server.host().as_str()));
    assert_eq!(seen[0].body.len(), 9000);
    let audit = audited(&pipeline, &server.url("/v1/echo"));
    assert_eq!((&audit["method"], &audit["outcome"], &audit["code"]), (&json!("POST"), &json!("ok"), &json!(200)));
    assert_eq!((&audit["sent_bytes"], &audit["received_bytes"]), (&json!(9000), &json!(9000)));
    assert_eq!(audit["hook"], "fetch");

    let line = said(&pipeline, "none", json!({"url": server.url("/v1/other")})).await;
    assert_eq!((&line["status"], &line["body"]), (&json!(404), &json!("no such place")));
    let line = said(&pipeline, "away", json!({"url": server.url("/v1/away")})).await;
    assert_eq!((&line["status"], &line["headers"]["location"]), (&json!(302), &json!("http://169.254.169.254/")));
}

// mutant: crates/egress/src/client.rs: `check_target(&caller.hook, &caller.permissions, &target)?;` => ``
#[tokio::test]
async fn what_is_not_allowed_does_not_leave_and_the_log_says_what_would_allow_it() {
    let server = Server::start().await;
    let pipeline = start(&server).await;
    let port = server.address.port();
    let cases = [
        ("path", json!({"url": server.url("/v2")}), "Denied", "add {hosts: [\"localhost:"),
        ("method", json!({"url": server.url("/v1/echo"), "method": "DELETE"}), "Denied", "methods: [DELETE]"),
        ("dots", json!({"url": server.url("/v1/../v2")}), "Denied", "a part . or .."),
        ("host", json!({"url": "https://169.254.169.254/latest/"}), "Denied", "hosts: [\"169.254.169.254\"]"),
        (
            "plain",
            json!({"url": format!("http://127.0.0.1:{port}/v1/echo")}),
            "Denied",
            "--http-insecure-host 127.0.0.1:",
        ),
        ("header", json!({"url": server.url("/v1/echo"), "host": "evil.io"}), "Invalid", ""),
    ];
    for (name, data, kind, part) in cases {
        let line = said(&pipeline, name, data).await;
        assert_eq!(line["kind"], kind, "{line}");
        let log = pipeline.operator.log.said("fetch");
        assert!(log.iter().any(|line| line.contains(part)), "{name}: {log:#?}");
    }
    assert_eq!(server.seen(), []);
    assert_eq!(audited(&pipeline, "https://169.254.169.254/latest/")["outcome"], "denied");
    let metrics = pipeline.operator.page("/metrics").await;
    let refused = r#"boathook_grant_refusals_total{hook="fetch",verb="http"} 5"#;
    assert!(metrics.lines().any(|line| line == refused), "{metrics}");
}

/// The certificate is the server's own, which only the admin's flag makes trusted.
// mutant: crates/egress/src/reach.rs: `.filter(|address| allowed.is_public(address.ip()))` => `.filter(|_| true)`
#[tokio::test]
async fn what_the_admin_does_not_open_stays_closed() {
    let server = Server::start().await;
    for (closed, kind, part) in [
        (server.allowed([]), "Address", "--http-private-host localhost:"),
        (Client::default(), "Address", "--http-private-host localhost:"),
        (Server::start().await.allowed([server.host()]), "Tls", "certificate"),
    ] {
        let cluster = TestCluster::start().await;
        let pipeline = Pipeline::on(cluster, &[("fetch", server.hook())], |options| options.http = closed).await;
        pipeline.operator.ready().await;
        let line = said(&pipeline, "closed", json!({"url": server.url("/v1/echo")})).await;
        assert_eq!(line["kind"], kind, "{line}");
        let log = pipeline.operator.log.said("fetch");
        assert!(log.iter().any(|line| line.contains(part)), "{log:#?}");
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn a_request_ends_with_the_time_that_the_hook_gives_it() {
    let server = Server::start().await;
    let pipeline = start(&server).await;
    let line = said(&pipeline, "never", json!({"url": server.url("/v1/never"), "timeout": "50"})).await;
    assert_eq!(line["kind"], "Timeout", "{line}");
}

#[tokio::test]
async fn a_plan_sends_what_reads_and_names_the_rest() {
    let server = Server::start().await;
    let pipeline = Pipeline::on(TestCluster::start().await, &[("fetch", server.hook())], |options| {
        options.http = server.client();
        options.plan = true;
    })
    .await;
    pipeline.operator.ready().await;
    let line = said(&pipeline, "post", json!({"url": server.url("/v1/echo"), "method": "POST", "body": "x"})).await;
    assert_eq!(line["kind"], "Denied", "{line}");
    let log = pipeline.operator.log.said("fetch");
    assert!(log.iter().any(|line| line.contains("it was not sent, because this run only plans")), "{log:#?}");
    let line = said(&pipeline, "get", json!({"url": server.url("/v1/echo")})).await;
    assert_eq!(line["status"], 200);
    assert_eq!(server.seen().iter().map(|seen| seen.line.as_str()).collect::<Vec<_>>(), ["GET /v1/echo"]);
}

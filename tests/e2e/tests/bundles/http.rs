//! HTTP requests of the hooks of a HookBundle: a server with TLS, which the owner of the namespace grants and the admin
//! opens.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::header::AUTHORIZATION;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::registry::{directory, say};
use super::{HOOKS, NAME, Site, TEAM, grant, text};
use crate::harness::{Backend, Operator, RUNTIME, Test, eventually, hook_file};

/// What the server has at each path.
const PAGE: &str = "a page of the server";

/// The extensions of a certificate that is not an authority's.
const CERTIFICATE: &str = "[req]\ndistinguished_name = name\nx509_extensions = own\nprompt = no\n[name]\nCN = localhost\n\
    [own]\nsubjectAltName = DNS:localhost\nbasicConstraints = critical, CA:FALSE\n";

/// A server with TLS, which remembers what it was asked for.
struct Server {
    host: String,
    certificate: PathBuf,
    seen: Arc<Mutex<Vec<Seen>>>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Clone, PartialEq)]
struct Seen {
    path: String,
    authorization: Option<String>,
}

impl Server {
    async fn start(dir: &Path) -> Self {
        let dir = dir.join("server");
        std::fs::create_dir_all(&dir).expect("make the server's directory");
        std::fs::write(dir.join("openssl.cnf"), CERTIFICATE).expect("write a file");
        let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -config openssl.cnf \
            -keyout key.pem -out certificate.pem";
        say(Command::new("openssl").args(make.split_whitespace()).current_dir(&dir)).await;
        let certificate = dir.join("certificate.pem");
        let chain = vec![CertificateDer::from_pem_file(&certificate).expect("read the certificate")];
        let key = PrivateKeyDer::from_pem_file(dir.join("key.pem")).expect("read the key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("the key is the certificate's");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind a port");
        let port = listener.local_addr().expect("the port that was bound").port();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let accepting = RUNTIME.spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), Arc::clone(&seen)));
        Self { host: format!("localhost:{port}"), certificate, seen, accepting }
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.host)
    }

    fn seen(&self) -> Vec<Seen> {
        locked(&self.seen).clone()
    }

    /// All that the guest needs.
    fn grants(&self) -> Value {
        let hosts = json!([self.host, "http://127.0.0.1:54321"]);
        let http = json!({"http": {"hosts": hosts, "methods": ["GET", "POST"], "paths": ["/v1/*"]}});
        json!([grant("configmaps", &["*"]), http])
    }

    /// The guest `fetch`, whose permissions are for this server. Its document has a port of five digits.
    fn hook(&self) -> Vec<u8> {
        let mut bytes = std::fs::read(hook_file("test/fetch")).expect("read a guest");
        let (old, new) = (b"localhost:54321".as_slice(), self.host.as_bytes());
        assert_eq!(old.len(), new.len(), "a free port has five digits");
        let at: Vec<_> = (0..bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
        assert!(!at.is_empty(), "the guest names the server of its permissions");
        for at in at {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
        bytes
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (tls, seen) = (tls.clone(), seen.clone());
        connections.spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = service_fn(move |request: Request<Incoming>| {
                let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
                let (path, authorization) = (request.uri().path().to_owned(), header.map(str::to_owned));
                locked(&seen).push(Seen { path, authorization });
                std::future::ready(Ok::<_, Infallible>(Response::new(PAGE.to_owned())))
            });
            // It ends as its client ends it.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

// mutant: crates/egress/src/client.rs: `check_target(&caller.hook, &caller.permissions, &target)?;` => ``
// mutant: crates/egress/src/reach.rs: `Reach::Public(allowed) if !allowed.is_private(url) => allowed,` => `Reach::Public(allowed) if false => allowed,`
pub async fn requests_leave_if_they_are_granted_and_opened(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let server = Server::start(test.dir()).await;
    let hooks = directory(&test.dir().join("v1"), &[("fetch.wasm", &server.hook())]);
    let digest = site.registry.push(&hooks, "v1").await;
    let trusts = ["--http-ca", text(&server.certificate)];
    let operator = site.operator_with(&[trusts.as_slice(), &["--http-private-host", &server.host]].concat()).await;

    // The hook waits for the grant, and the status says for which.
    site.bundle("v1", json!({})).await;
    let message = site.condition("Granted=False/MissingGrants").await;
    assert!(message.contains(&server.host), "{message}");
    site.change(json!({"grants": server.grants()})).await;
    site.runs(&digest).await;
    synchronized(&operator).await;

    let line = fetched(&site, &operator, "granted", &server.url("/v1/page")).await;
    assert_eq!((&line["status"], line["body"].as_str()), (&json!(200), Some(PAGE)), "{line}");
    let audit = operator.logs("the request", |line| line["message"] == "audit" && line["verb"] == "http").await;
    assert_eq!((audit["url"].as_str(), &audit["outcome"]), (Some(server.url("/v1/page").as_str()), &json!("ok")));
    for (name, url) in [
        ("path", server.url("/page")),
        ("dots", server.url("/v1/../page")),
        ("metadata", "https://169.254.169.254/v1/".to_owned()),
        ("insecure", "http://127.0.0.1:54321/v1/".to_owned()),
    ] {
        let line = fetched(&site, &operator, name, &url).await;
        assert_eq!(line["kind"], "Denied", "{line}");
    }
    operator.stop().await;

    // The owner of the namespace grants the request, but the admin does not open the host.
    let operator = site.operator_with(&trusts).await;
    site.runs(&digest).await;
    synchronized(&operator).await;
    let line = fetched(&site, &operator, "closed", &server.url("/v1/page")).await;
    assert_eq!(line["kind"], "Address", "{line}");
    assert_eq!(server.seen(), [Seen { path: "/v1/page".to_owned(), authorization: None }]);
    operator.stop().await;
}

const TOKEN: &str = "a-token-of-the-team";

/// A Secret of the namespace, which the ServiceAccount of the hooks may read, is the credential for one host.
pub async fn requests_carry_the_credential_of_a_secret(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let server = Server::start(test.dir()).await;
    let hooks = directory(&test.dir().join("v1"), &[("fetch.wasm", &server.hook())]);
    let digest = site.registry.push(&hooks, "v1").await;
    let flags = ["--http-ca", text(&server.certificate), "--http-private-host", &server.host];
    let operator = site.operator_with(&flags).await;
    let credential = json!({"host": server.host, "secretName": "api", "bearer": {"key": "token"}});
    site.bundle("v1", json!({"grants": server.grants(), "httpCredentials": [credential]})).await;
    site.runs(&digest).await;
    synchronized(&operator).await;

    // The local cluster has no roles.
    let has_roles = site.cluster.backend == Backend::Real;
    let reason = if has_roles { "ServiceAccountForbidden" } else { "SecretMissing" };
    let message = site.condition(&format!("Credentials=False/{reason}")).await;
    assert!(message.contains("team-a/api"), "{message}");
    let line = fetched(&site, &operator, "nothing", &server.url("/v1/page")).await;
    assert_eq!(line["kind"], "Credential", "{line}");
    let token = format!("--from-literal=token={TOKEN}");
    site.cluster.kubectl(&["create", "secret", "generic", "api", "--namespace", TEAM, &token]).await;
    if has_roles {
        // The operator itself may read it, and the hooks' ServiceAccount may not.
        let line = fetched(&site, &operator, "forbidden", &server.url("/v1/page")).await;
        assert_eq!(line["kind"], "Credential", "{line}");
        site.role("credentials", &["get"], &["secrets"], "team-a:hooks").await;
        eventually("the API server has noticed", async || {
            let can = ["auth", "can-i", "get", "secrets/api", "--namespace", TEAM, "--as", HOOKS];
            site.cluster.try_kubectl(&can).await
        })
        .await;
    }
    assert_eq!(server.seen(), []);
    let line = fetched(&site, &operator, "allowed", &server.url("/v1/page")).await;
    assert_eq!((&line["status"], line["body"].as_str()), (&json!(200), Some(PAGE)), "{line}");
    site.condition("Credentials=True/CredentialsReady").await;
    // A changed Secret counts at once.
    let patch = r#"{"stringData":{"token":"another-token"}}"#;
    site.cluster.kubectl(&["patch", "secret", "api", "--namespace", TEAM, "--type=merge", "--patch", patch]).await;
    fetched(&site, &operator, "changed", &server.url("/v1/page")).await;
    let sent: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.authorization).collect();
    assert_eq!(sent, [format!("Bearer {TOKEN}"), "Bearer another-token".to_owned()]);
    for line in operator.log() {
        assert!(!line.to_string().contains(TOKEN), "{line}");
    }
    let bundle = site.cluster.kubectl(&["get", "hookbundle", NAME, "--namespace", TEAM, "--output=json"]).await;
    assert!(!bundle.contains(TOKEN), "{bundle}");
    operator.stop().await;
}

/// The hook sends requests for changes only, and what it finds when it starts is none. A status that was written by an
/// earlier operator does not say that this one has started the hook.
async fn synchronized(operator: &Operator) {
    operator.logs("the synchronization", |line| line["message"] == "run succeeded").await;
}

/// Has the hook send a request; gives what it logs about it.
async fn fetched(site: &Site, operator: &Operator, name: &str, url: &str) -> Value {
    let metadata = json!({"name": name, "namespace": TEAM, "labels": {"fetch": "true"}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"url": url}});
    site.try_apply(&map).await.expect("make a ConfigMap");
    let own = |line: &Value| line["message"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let about = |line: &Value| own(line).is_some_and(|said| said["fetch"] == name);
    let line = operator.logs(&format!("the request {name}"), about).await;
    own(&line).expect("it was found by this")
}

//! Calls of webhooks, for admission and conversion: address resolution, and one POST of JSON over TLS. A call is never
//! repeated. The caller interprets the response.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio_rustls::{TlsConnector, rustls};

use crate::json;
use crate::shared::Shared;
use crate::store::{Query, Stored};

/// A webhook that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// The URL in the format of error texts, without parameters.
    pub url: String,
    /// The host name in the certificate.
    pub host: String,
    /// The `address:port` to connect to, or why there is none.
    pub dial: Result<String, String>,
    pub path: String,
    /// The trusted certificates, in PEM.
    pub bundle: Vec<u8>,
}

impl Endpoint {
    /// Reads a `clientConfig`.
    ///
    /// # Errors
    /// Why it cannot be resolved.
    pub(crate) fn of(shared: &Shared, config: &Value) -> Result<Self, String> {
        let bundle = STANDARD.decode(json::text(config, &["caBundle"])).unwrap_or_default();
        match config.get("service").filter(|service| service.is_object()) {
            Some(service) => Ok(Self::service(shared, service, bundle)),
            None => Self::url(json::text(config, &["url"]), bundle),
        }
    }

    fn url(url: &str, bundle: Vec<u8>) -> Result<Self, String> {
        let bad = || format!("the URL {url:?} cannot be called");
        let parsed: Uri = url.parse().map_err(|_| bad())?;
        let host = parsed.host().ok_or_else(bad)?.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = parsed.port_u16().unwrap_or(443);
        let path = parsed.path().to_owned();
        let dial = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let bare = path == "/" && !url.ends_with('/');
        Ok(Self { url: url.to_owned(), host, dial: Ok(dial), path: if bare { String::new() } else { path }, bundle })
    }

    fn service(shared: &Shared, service: &Value, bundle: Vec<u8>) -> Self {
        let (namespace, name) = (json::text(service, &["namespace"]), json::text(service, &["name"]));
        let port = json::int(service, &["port"]).unwrap_or(443);
        let path = json::text(service, &["path"]);
        let path = if path.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let mapped = shared.options.services.iter().find(|(ns, n, _)| ns == namespace && n == name);
        let dial = match mapped {
            Some((_, _, address)) => Ok(address.to_string()),
            None => backend(shared, namespace, name, port),
        };
        let host = format!("{name}.{namespace}.svc");
        Self { url: format!("https://{host}:{port}{path}"), host, dial, path, bundle }
    }
}

/// The address and port of an endpoint of a stored service.
fn backend(shared: &Shared, namespace: &str, name: &str, port: i64) -> Result<String, String> {
    let found = shared.store.get("services", &crate::store::key(namespace, name));
    let service = found.ok_or_else(|| format!("service \"{name}\" not found"))?.value();
    let ports = json::list(&service, &["spec", "ports"]);
    let known = ports.iter().find(|p| json::int(p, &["port"]) == Some(port));
    let known = known.ok_or_else(|| format!("no service port {port} found for service \"{name}\""))?;
    let port_name = json::text(known, &["name"]);
    sliced(shared, namespace, name, port_name)
        .or_else(|| listed(shared, namespace, name, port_name))
        .ok_or_else(|| format!("no endpoints available for service \"{name}\""))
}

fn numbered<'v>(ports: &'v [Value], name: &str) -> Option<&'v Value> {
    ports.iter().find(|p| json::text(p, &["name"]) == name)?.get("port")
}

fn dial(address: &str, port: &Value) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn sliced(shared: &Shared, namespace: &str, name: &str, port: &str) -> Option<String> {
    let prefix = format!("{namespace}/");
    let of_service = |slice: &Stored| slice.label("kubernetes.io/service-name") == Some(name);
    let query = Query { prefix: &prefix, after: None, at: None, limit: 0, matches: &of_service };
    let slices = shared.store.list("endpointslices.discovery.k8s.io", &query).ok()?.items;
    slices.iter().find_map(|slice| {
        let slice = slice.value();
        let port = numbered(json::list(&slice, &["ports"]), port)?;
        let ready = |e: &&Value| json::at(e, &["conditions", "ready"]) != Some(&Value::Bool(false));
        let endpoint = json::list(&slice, &["endpoints"]).iter().find(ready)?;
        Some(dial(json::list(endpoint, &["addresses"]).first()?.as_str()?, port))
    })
}

fn listed(shared: &Shared, namespace: &str, name: &str, port: &str) -> Option<String> {
    let endpoints = shared.store.get("endpoints", &crate::store::key(namespace, name))?.value();
    json::list(&endpoints, &["subsets"]).iter().find_map(|subset| {
        let port = numbered(json::list(subset, &["ports"]), port)?;
        let address = json::list(subset, &["addresses"]).first()?;
        Some(dial(json::text(address, &["ip"]), port))
    })
}

/// Maximum size of a response, in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// Sends `review` and returns the JSON of the response. `timeout` applies to both together.
///
/// # Errors
/// Why there is no response, or why it is not JSON with status 200.
pub(crate) async fn post(endpoint: &Endpoint, review: &Value, timeout: Duration) -> Result<Value, String> {
    let answer = send(endpoint, review, timeout).await?;
    fits(review, &answer)?;
    Ok(answer)
}

/// Whether the response has the same type as the request.
fn fits(review: &Value, answer: &Value) -> Result<(), String> {
    let typed = |value: &Value| {
        let (kind, version) = (json::text(value, &["kind"]).to_owned(), json::text(value, &["apiVersion"]).to_owned());
        (kind, version)
    };
    let ((wanted, wanted_version), (kind, version)) = (typed(review), typed(answer));
    if kind.is_empty() {
        return Err(format!("Object 'Kind' is missing in '{answer}'"));
    }
    let (group, short) = wanted_version.split_once('/').unwrap_or(("", &wanted_version));
    let known = [format!("{group}/v1"), format!("{group}/v1beta1")];
    if kind != wanted || !known.contains(&version) {
        return Err(format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
        ));
    }
    let got = version.rsplit('/').next().unwrap_or_default();
    if got != short {
        return Err(format!("converting ({got}.{kind}) to ({short}.{kind}): unknown conversion"));
    }
    Ok(())
}

async fn send(endpoint: &Endpoint, review: &Value, timeout: Duration) -> Result<Value, String> {
    let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
    let url = format!("{}?timeout={seconds}s", endpoint.url);
    let failed = |why: String| format!("Post \"{url}\": {why}");
    let body = Bytes::from(json::bytes(review));
    let sent = tokio::time::timeout(timeout, exchange(endpoint, seconds, body)).await;
    let Received { status, text, bytes } = match sent {
        Ok(answer) => answer.map_err(failed)?,
        Err(_) => return Err(failed("context deadline exceeded".to_owned())),
    };
    understand(status, text, &bytes)
}

struct Received {
    status: u16,
    /// It is meant for people.
    text: bool,
    bytes: Bytes,
}

/// The JSON of a successful response.
fn understand(status: u16, readable: bool, bytes: &Bytes) -> Result<Value, String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let unusable = |why: &str| format!("couldn't get version/kind; json parse error: {why}");
    let parsed: Result<Value, _> = serde_json::from_slice(bytes);
    if (200..300).contains(&status) {
        return parsed.map_err(|error| {
            // A response that is not JSON is read as YAML, in which plain text is a string.
            if !text.starts_with(['{', '[']) && !text.is_empty() {
                return unusable(
                    "json: cannot unmarshal string into Go value of type struct { APIVersion string \
                     \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
                );
            }
            unusable(&crate::json::error(&error, bytes))
        });
    }
    // A Status contains its own error message.
    if let Ok(given) = &parsed
        && json::text(given, &["kind"]) == "Status"
        && !json::text(given, &["message"]).is_empty()
    {
        return Err(json::text(given, &["message"]).to_owned());
    }
    let shown = if readable && !text.is_empty() { text } else { "unknown" };
    Err(match status {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 => shown.to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        409 => "the server reported a conflict".to_owned(),
        410 => "the server is no longer able to serve that resource".to_owned(),
        413 => "Request entity too large".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .to_owned()
        }
        500.. => format!("an error on the server ({shown:?}) has prevented the request from succeeding"),
        _ => format!("the server responded with the status code {status} but did not return more information"),
    })
}

async fn exchange(endpoint: &Endpoint, seconds: u64, body: Bytes) -> Result<Received, String> {
    let dial = endpoint.dial.as_ref().map_err(Clone::clone)?;
    let stream = TcpStream::connect(dial).await;
    let stream = stream.map_err(|error| format!("dial tcp {dial}: connect: {}", plain(&error)))?;
    let _unneeded = stream.set_nodelay(true);
    let name = ServerName::try_from(endpoint.host.clone()).map_err(|error| error.to_string())?;
    let config = trust(&endpoint.bundle).map_err(|error| error.to_string())?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let stream = stream.map_err(|error| handshake(&error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    let request = request(endpoint, seconds, body)?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|error| lost(&error))?;
        collect(response).await
    };
    // The connection makes progress only while it is polled. It ends with the response.
    let mut connection = std::pin::pin!(connection);
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        _ended = &mut connection => answer.await,
    }
}

fn request(endpoint: &Endpoint, seconds: u64, body: Bytes) -> Result<Request<Full<Bytes>>, String> {
    let path = if endpoint.path.is_empty() { "/" } else { &endpoint.path };
    let authority = endpoint.url.split('/').nth(2).unwrap_or(&endpoint.host);
    Request::post(format!("{path}?timeout={seconds}s"))
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, */*")
        .header(http::header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(body))
        .map_err(|error| error.to_string())
}

async fn collect(response: Response<Incoming>) -> Result<Received, String> {
    let status = response.status().as_u16();
    let media = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let text = media.is_empty() || media.starts_with("text/");
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    Ok(Received { status, text, bytes: body.map_err(|error| error.to_string())?.to_bytes() })
}

/// The error of the real server's client for a connection that ends before the response.
fn lost(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_closed() { "EOF".to_owned() } else { error.to_string() }
}

fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => error.to_string(),
    }
}

fn handshake(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(other)) => format!("tls: failed to verify certificate: x509: {other}"),
        Some(other) => other.to_string(),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => error.to_string(),
    }
}

/// Trusts only the bundle.
fn trust(bundle: &[u8]) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok));
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

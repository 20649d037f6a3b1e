//! A hook's HTTP request: whether its permissions allow it, to which address it goes, and an audit line for each.
//!
//! Redirects are not followed. The hook receives them, and what it then requests is checked like everything else. No
//! connection is used twice, so that requests of two tenants never share one.

use std::{
    error::Error as StdError,
    fmt, io,
    net::Ipv6Addr,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use boathook_core::{
    fair::Tenant,
    model::{
        Caller, CredentialProblem, HookName, HttpBody, HttpBounds, HttpCredential, HttpError, HttpHeader, HttpReason,
        HttpRequest, HttpResponse, HttpTarget, Permission, READING, error_chain, is_dns_name, usual_port,
    },
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header, uri::Authority};
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::{Body as _, Incoming};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{
    client::legacy::{Client as HyperClient, Error as SendError},
    rt::TokioExecutor,
};
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::{
    OWN,
    credential::{self, Secrets, Signed},
    reach::{Connector, NoAddress, NotPublic, Reach, Turns},
    tls::{TlsError, authorities, client_config},
};

/// The most bytes of a response's headers. hyper allows no less than 8 KiB.
const MAX_HEAD: usize = 64 * 1024;

/// The longest URL. It is written into the audit log.
const MAX_URL: usize = 8 * 1024;

/// The longest name of a method.
const MAX_METHOD: usize = 32;

const AGENT: HeaderValue = HeaderValue::from_static(concat!("boathook/", env!("CARGO_PKG_VERSION")));

/// How hooks' requests are sent.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Where requests may go. Default: to public addresses with TLS.
    pub reach: Reach,
    /// Certificates (PEM) that are trusted in addition to the system's. Default: none.
    pub ca: Vec<u8>,
    /// The most time of a request, from its connection to the end of its response. Default 30 s.
    pub time: Duration,
    /// Answers instead of the network, for tests of hooks. Default: none.
    pub answers: Option<Arc<dyn Answers>>,
    /// The admin's credentials for the hooks that act as the operator itself. Default: none.
    pub credentials: Vec<HookCredential>,
}

/// A credential for some of the admin's hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCredential {
    pub hooks: Vec<HookName>,
    pub credential: HttpCredential,
}

/// Answers requests that permissions allow.
pub trait Answers: Send + Sync + 'static {
    /// The response, or why there is none.
    fn answer(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError>;
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            reach: Reach::Public(Arc::default()),
            ca: Vec::new(),
            time: Duration::from_secs(30),
            answers: None,
            credentials: Vec::new(),
        }
    }
}

impl fmt::Debug for dyn Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("answers")
    }
}

/// Sends the requests of all hooks. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    secrets: Option<Arc<dyn Secrets>>,
}

impl Default for Client {
    fn default() -> Self {
        Self::checked_before(HttpConfig::default())
    }
}

struct Inner {
    config: HttpConfig,
    /// Read with the first request, because most operators send none.
    tls: OnceLock<ClientConfig>,
    turns: Turns,
    #[cfg(test)]
    lookup: Option<crate::reach::Lookup>,
}

impl Client {
    /// Fails if `ca` has no certificate.
    pub fn new(config: HttpConfig) -> Result<Self, TlsError> {
        authorities(&config.ca)?;
        Ok(Self::checked_before(config))
    }

    fn checked_before(config: HttpConfig) -> Self {
        let inner = Inner {
            config,
            tls: OnceLock::new(),
            turns: Turns::default(),
            #[cfg(test)]
            lookup: None,
        };
        Self { inner: Arc::new(inner), secrets: None }
    }

    /// The same, with credentials whose values are in Secrets.
    pub fn with_secrets(&self, secrets: Arc<dyn Secrets>) -> Self {
        Self { inner: self.inner.clone(), secrets: Some(secrets) }
    }

    /// Fails for a credential that can never be sent, whatever its values are.
    pub fn check_declared(&self, credential: &HttpCredential) -> Result<(), CredentialProblem> {
        self.url_of(credential).map(drop)
    }

    /// The root of its host.
    fn url_of(&self, credential: &HttpCredential) -> Result<Uri, CredentialProblem> {
        let invalid = |what: String| unusable(credential, credential::invalid(what));
        let no_host = || {
            let host = &credential.host;
            invalid(format!("{host:?} is not one host: write \"api.example.com\", with a port if it is not 443"))
        };
        let pattern = credential.pattern().ok_or_else(no_host)?;
        let host = credential.host.trim_start_matches("http://");
        let scheme = if pattern.is_plain() { "http" } else { "https" };
        let url: Uri = format!("{scheme}://{host}/").parse().map_err(|_| no_host())?;
        credential::names(&credential.form).map_err(|problem| unusable(credential, problem))?;
        if pattern.is_plain() && !Connector::new(&self.inner.config.reach, &url).may_be_plain(&url) {
            let what = "it would be sent without TLS: an admin can allow this by --http-insecure-host";
            return Err(invalid(format!("{what} {host}")));
        }
        Ok(url)
    }

    /// Why a credential of a hook with these permissions cannot be used. Its values are read, and sent nowhere.
    pub async fn check_credential(
        &self,
        caller: &Caller,
        credential: &HttpCredential,
    ) -> Result<(), CredentialProblem> {
        let url = self.url_of(credential)?;
        let mut rules = caller.permissions.iter().filter_map(|permission| permission.http.as_ref());
        if !rules.any(|rule| rule.covers_host(&credential.host)) {
            let what = format!("no rule grants requests to {}", credential.host);
            return Err(unusable(credential, credential::invalid(what)));
        }
        let (headers, body) = (HeaderMap::new(), Vec::new());
        let request = Signed { method: &Method::GET, url: &url, headers: &headers, body: &body };
        let secrets = self.secrets.as_deref();
        let made = credential::headers_of(credential, secrets, caller, &request, SystemTime::now()).await;
        made.map(drop).map_err(|problem| unusable(credential, problem))
    }

    /// The credential for a request to this place. The hooks of tenants have no part in the admin's.
    fn credential<'a>(&'a self, caller: &'a Caller, target: &HttpTarget<'_>) -> Option<&'a HttpCredential> {
        let is_for = |credential: &&HttpCredential| credential.is_for(target);
        match &caller.identity {
            Some(_) => caller.credentials.iter().find(is_for),
            None => {
                let own = self.inner.config.credentials.iter().filter(|one| one.hooks.contains(&caller.hook));
                own.map(|one| &one.credential).find(is_for)
            }
        }
    }

    /// Sends a request, if the caller's permissions allow it. Dropping the future closes the connection.
    pub async fn send(
        &self,
        caller: &Caller,
        request: HttpRequest,
        bounds: HttpBounds,
    ) -> Result<HttpResponse, HttpError> {
        let mut audit = Audit::start(caller, &request);
        let result = self.checked(caller, request, bounds, &mut audit).await;
        audit.outcome = result.as_ref().map_or_else(|error| error.reason.label(), |_| "ok");
        result
    }

    async fn checked(
        &self,
        caller: &Caller,
        request: HttpRequest,
        bounds: HttpBounds,
        audit: &mut Audit<'_>,
    ) -> Result<HttpResponse, HttpError> {
        let HttpRequest { method, url, headers, body } = request;
        let target = Target::parse(&method, &url)?;
        (audit.method, audit.url) = (method.clone(), target.shown.clone());
        let named = format!("{method} {}", target.shown);
        let wrong = |reason, what: String| HttpError { reason, message: format!("{named}: {what}") };
        check_target(&caller.hook, &caller.permissions, &target)?;
        let answers = self.inner.config.answers.as_ref();
        let connector = self.connector(caller, &target.url);
        if answers.is_none() && !target.tls && !connector.may_be_plain(&target.url) {
            let what = format!(
                "the operator requires TLS: an admin can allow this host without it by --http-insecure-host {}",
                target.authority()
            );
            return Err(wrong(HttpReason::Denied, what));
        }
        if caller.dry_run && !READING.contains(&method.as_str()) {
            let what = "it was not sent, because this run only plans what it would do".to_owned();
            return Err(wrong(HttpReason::NotSent, what));
        }
        if let Some(answers) = answers {
            return answers.answer(&HttpRequest { method, url, headers, body });
        }
        let tls = self.tls().map_err(|error| wrong(HttpReason::Tls, error_chain(&error)))?;
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let client = HyperClient::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .http1_max_buf_size(MAX_HEAD)
            .build(tls.wrap_connector(connector));
        let mut request = built(&method, &target, headers, body).map_err(|what| wrong(HttpReason::Invalid, what))?;
        let credential = self.credential(caller, &target.as_asked());
        let failed = |credential: &HttpCredential, problem: CredentialProblem| {
            wrong(HttpReason::Credential, unusable(credential, problem).message)
        };
        if let Some(credential) = credential {
            let taken = credential::taken(credential, request.headers());
            if let Some(name) = taken.map_err(|problem| failed(credential, problem))? {
                let what = format!("{credential} sets the header {name}: leave it out");
                return Err(wrong(HttpReason::Invalid, what));
            }
        }
        let time = bounds.time.map_or(self.inner.config.time, |time| time.min(self.inner.config.time));
        let exchange = async {
            if let Some(credential) = credential {
                let added = self.add(credential, caller, &mut request).await;
                added.map_err(|problem| failed(credential, problem))?;
            }
            let response = client.request(request).await.map_err(|error| {
                let (reason, what) = failure(&error, &target);
                wrong(reason, what)
            })?;
            audit.status = Some(response.status().as_u16());
            let (head, incoming) = response.into_parts();
            let headers = received(&head.headers);
            let head_bytes = headers.iter().map(|HttpHeader(name, value)| name.len() + value.0.len()).sum();
            let room = bounds.response.checked_sub(head_bytes);
            let too_large = || {
                let most = bounds.response;
                wrong(HttpReason::Limit, format!("its response is larger than the {most} bytes that the run has left"))
            };
            let charged = |bytes| caller.memory.charge(bytes);
            let crowded = || wrong(HttpReason::Limit, "there is no memory for its response at the moment".to_owned());
            if !charged(head_bytes) {
                return Err(crowded());
            }
            let body = match read(incoming, room.ok_or_else(too_large)?, charged).await {
                Ok(body) => body,
                Err(Unread::TooLarge) => return Err(too_large()),
                Err(Unread::Crowded) => return Err(crowded()),
                Err(Unread::Lost(error)) => {
                    return Err(wrong(
                        HttpReason::Connection,
                        format!("its response ended early: {}", error_chain(&error)),
                    ));
                }
            };
            audit.bytes = Some(body.len());
            Ok(HttpResponse { status: head.status.as_u16(), headers, body: HttpBody(body) })
        };
        match timeout(time, exchange).await {
            Ok(result) => result,
            Err(_) => {
                let what = format!("there was no complete response within {} s", time.as_secs_f64());
                Err(wrong(HttpReason::Timeout, what))
            }
        }
    }

    async fn add(
        &self,
        credential: &HttpCredential,
        caller: &Caller,
        request: &mut Request<Full<Bytes>>,
    ) -> Result<(), CredentialProblem> {
        let body = request.body().clone().collect().await.map(Collected::to_bytes).unwrap_or_default();
        let about = Signed { method: request.method(), url: request.uri(), headers: request.headers(), body: &body };
        let secrets = self.secrets.as_deref();
        let headers = credential::headers_of(credential, secrets, caller, &about, SystemTime::now()).await?;
        request.headers_mut().extend(headers);
        Ok(())
    }

    fn connector(&self, caller: &Caller, url: &Uri) -> Connector {
        let tenant = match &caller.identity {
            Some(identity) => Tenant::namespace(&identity.namespace),
            None => Tenant::hook(caller.hook.as_str()),
        };
        let connector = Connector::new(&self.inner.config.reach, url).in_turn(tenant, &self.inner.turns);
        #[cfg(test)]
        if let Some(lookup) = self.inner.lookup {
            return connector.looking_up(lookup);
        }
        connector
    }

    fn tls(&self) -> Result<ClientConfig, TlsError> {
        if let Some(tls) = self.inner.tls.get() {
            return Ok(tls.clone());
        }
        let tls = client_config(&self.inner.config.ca)?;
        Ok(self.inner.tls.get_or_init(|| tls).clone())
    }
}

fn unusable(credential: &HttpCredential, CredentialProblem { kind, message }: CredentialProblem) -> CredentialProblem {
    CredentialProblem { kind, message: format!("{credential} cannot be used: {message}") }
}

/// The place of a request.
struct Target {
    method: String,
    url: Uri,
    tls: bool,
    /// In lower case. An IPv6 address in brackets, in its usual form.
    host: String,
    port: u16,
    /// The URL without the query, which may hold what is nobody's business.
    shown: String,
}

impl Target {
    fn parse(method: &str, url: &str) -> Result<Self, HttpError> {
        let wrong = |what: &str| {
            let message = format!("the HTTP request cannot be sent, because {what}");
            HttpError { reason: HttpReason::Invalid, message }
        };
        if method.len() > MAX_METHOD || !method.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(wrong("its method is not one"));
        }
        if url.len() > MAX_URL {
            return Err(wrong(&format!("its URL is longer than {MAX_URL} bytes")));
        }
        let url: Uri = url.parse().map_err(|_| wrong("it is not a URL"))?;
        let tls = match url.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong("its scheme is neither https nor http")),
        };
        let authority = url.authority().ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("its URL has a login: send a header"));
        }
        let lower = authority.host().to_ascii_lowercase();
        let address = lower.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let host = match address.map(str::parse::<Ipv6Addr>) {
            Some(Ok(address)) => format!("[{address}]"),
            Some(Err(_)) => return Err(wrong("its host is not an address")),
            None => lower,
        };
        if host.is_empty() {
            return Err(wrong("it has no host"));
        }
        // Where programs differ in what they make of a host, a permission would be for another one than is asked.
        if !host.starts_with('[') && !is_dns_name(&host) {
            return Err(wrong("its host is not a name in ASCII without a dot at the end"));
        }
        let port = match authority.as_str().rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some(_) => {
                authority.port_u16().filter(|port| *port != 0).ok_or_else(|| wrong("its port is not a number"))?
            }
            None => usual_port(tls),
        };
        let shown = format!("{}://{authority}{}", if tls { "https" } else { "http" }, url.path());
        Ok(Self { method: method.to_owned(), tls, host, port, shown, url })
    }

    fn authority(&self) -> &str {
        self.url.authority().map(Authority::as_str).unwrap_or_default()
    }

    fn as_asked(&self) -> HttpTarget<'_> {
        HttpTarget { method: &self.method, tls: self.tls, host: &self.host, port: self.port, path: self.url.path() }
    }

    /// The narrowest permission that allows the request, as one line of YAML.
    fn permission(&self) -> String {
        let scheme = if self.tls { "" } else { "http://" };
        let port = if self.port == usual_port(self.tls) { String::new() } else { format!(":{}", self.port) };
        format!(
            "{{hosts: [\"{scheme}{}{port}\"], methods: [{}], paths: [{:?}]}}",
            self.host,
            self.method,
            self.url.path()
        )
    }
}

/// The request for logs and traces: its method, and its URL without the query. A URL that is none may be long, and may
/// hold a login.
pub fn shown(request: &HttpRequest) -> String {
    Target::parse(&request.method, &request.url).map_or_else(
        |_| "a request that cannot be sent".to_owned(),
        |target| format!("{} {}", target.method, target.shown),
    )
}

/// Whether these permissions allow a request. Nothing is sent.
pub fn check(hook: &HookName, permissions: &[Permission], request: &HttpRequest) -> Result<(), HttpError> {
    check_target(hook, permissions, &Target::parse(&request.method, &request.url)?)
}

fn check_target(hook: &HookName, permissions: &[Permission], target: &Target) -> Result<(), HttpError> {
    let denied = |message: String| HttpError { reason: HttpReason::Denied, message };
    let (hook, asked) = (hook.as_str(), target.as_asked());
    let what = format!("hook {hook:?} may not {} {}", target.method, target.shown);
    if !asked.is_plain() {
        return Err(denied(format!(
            "{what}: its path has an incomplete escape or a part . or ..: write the path it means"
        )));
    }
    let rules = permissions.iter().filter_map(|permission| permission.http.as_ref());
    if asked.is_allowed(rules) {
        return Ok(());
    }
    Err(denied(format!("{what}: add {} to permissions.http", target.permission())))
}

fn built(
    method: &str,
    target: &Target,
    headers: Vec<HttpHeader>,
    body: HttpBody,
) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::builder().method(method).uri(target.url.clone());
    let all = request.headers_mut().ok_or("its method is not one")?;
    for HttpHeader(name, value) in headers {
        let name: HeaderName = name.parse().map_err(|_| format!("{name:?} is not the name of a header"))?;
        let value =
            HeaderValue::from_bytes(&value.0).map_err(|_| format!("the value of header {name} is not valid"))?;
        if !OWN.contains(&name) {
            all.append(name, value);
        }
    }
    if !all.contains_key(header::USER_AGENT) {
        all.insert(header::USER_AGENT, AGENT);
    }
    request.body(Full::new(body.0.into())).map_err(|error| error.to_string())
}

fn received(headers: &HeaderMap) -> Vec<HttpHeader> {
    let each = headers.iter().filter(|(name, _)| !OWN.contains(name) || *name == header::CONTENT_LENGTH);
    each.map(|(name, value)| HttpHeader(name.as_str().to_owned(), HttpBody(value.as_bytes().to_vec()))).collect()
}

enum Unread {
    TooLarge,
    Crowded,
    Lost(hyper::Error),
}

/// Reads a whole body of at most `most` bytes.
async fn read(mut body: Incoming, most: usize, charged: impl Fn(usize) -> bool) -> Result<Vec<u8>, Unread> {
    if body.size_hint().lower() > most as u64 {
        return Err(Unread::TooLarge);
    }
    let mut all: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Unread::Lost)?.into_data() else { continue };
        if data.len() > most - all.len() {
            return Err(Unread::TooLarge);
        }
        let needed = all.len() + data.len();
        if needed > all.capacity() {
            // What is reserved in advance is memory, too, so it is charged.
            let reserved = needed.max(2 * all.capacity()).min(most);
            if !charged(reserved - all.capacity()) {
                return Err(Unread::Crowded);
            }
            all.reserve_exact(reserved - all.len());
        }
        all.extend_from_slice(&data);
    }
    Ok(all)
}

fn failure(error: &SendError, target: &Target) -> (HttpReason, String) {
    if NotPublic::is_cause_of(error) {
        let what = "its host is not at a public address: an admin can allow it by --http-private-host";
        return (HttpReason::Address, format!("{what} {}", target.authority()));
    }
    let cause = |is: fn(&(dyn StdError + 'static)) -> bool| has_cause(error, is);
    let reason = match () {
        () if cause(|error| error.is::<NoAddress>()) => HttpReason::Name,
        () if cause(|error| error.is::<rustls::Error>()) => HttpReason::Tls,
        () => HttpReason::Connection,
    };
    (reason, error_chain(error))
}

fn has_cause(error: &(dyn StdError + 'static), is: fn(&(dyn StdError + 'static)) -> bool) -> bool {
    // The source of an I/O error is the source of what it wraps.
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    is(error)
        || wrapped.is_some_and(|inner| has_cause(inner, is))
        || error.source().is_some_and(|source| has_cause(source, is))
}

/// A request under way. Dropping it writes the audit line.
struct Audit<'a> {
    caller: &'a Caller,
    method: String,
    /// Without the query.
    url: String,
    outcome: &'static str,
    status: Option<u16>,
    bytes: Option<usize>,
    sent: usize,
}

impl<'a> Audit<'a> {
    fn start(caller: &'a Caller, request: &HttpRequest) -> Self {
        let (method, url, sent) = (String::new(), String::new(), request.body.0.len());
        Self { caller, method, url, outcome: "interrupted", status: None, bytes: None, sent }
    }
}

impl Drop for Audit<'_> {
    fn drop(&mut self) {
        tracing::info!(
            target: "audit",
            audit = true,
            hook = self.caller.hook.as_str(),
            run = self.caller.run.as_str(),
            verb = "http",
            method = self.method,
            url = self.url,
            outcome = self.outcome,
            code = self.status,
            sent_bytes = self.sent,
            received_bytes = self.bytes,
            dry_run = self.caller.dry_run,
            "audit"
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use std::{
        net::{IpAddr, SocketAddr},
        sync::Mutex,
    };

    use boathook_core::model::{Allowance, Charge, Identity};
    use futures::{FutureExt as _, future::BoxFuture};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;
    use crate::testing::{BOUNDS, Server, caller, client, header, request, rule};

    // mutant: crates/egress/src/client.rs: `check_target(&caller.hook, &caller.permissions, &target)?;` => ``
    #[tokio::test]
    async fn what_no_permission_allows_is_not_sent() {
        let server = Server::ok().await;
        let caller = caller([server.rule(&["GET"], &["/v1/*"])]);
        let response = server.client().send(&caller, request("GET", &server.url("/v1/a?b=c")), BOUNDS).await.unwrap();
        assert_eq!((response.status, response.body.0.as_slice()), (200, &b"hi"[..]));
        assert!(response.headers.contains(&header("x-a", b"b")), "{response:?}");
        let port = server.address.port();
        for (method, url, part) in [
            ("POST", server.url("/v1/a?b=secret"), "methods: [POST]"),
            ("GET", server.url("/v2?b=secret"), "paths: [\"/v2\"]"),
            ("GET", server.url("/v1/../v2"), "a part . or .."),
            ("GET", format!("http://localhost:{port}/v1/a"), "hosts: [\"http://localhost:"),
            ("GET", format!("https://127.0.0.1:{port}/v1/a"), "hosts: [\"127.0.0.1:"),
            ("GET", format!("http://[::ffff:127.0.0.1]:{port}/v1/a"), "hosts: [\"http://[::ffff:127.0.0.1]:"),
        ] {
            let error = server.client().send(&caller, request(method, &url), BOUNDS).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::Denied, "{error}");
            assert!(error.message.contains(part) && !error.message.contains("secret"), "{error}");
        }
        assert_eq!(server.seen().len(), 1);
    }

    #[tokio::test]
    async fn what_is_no_request_is_not_sent() {
        let server = Server::ok().await;
        let caller = caller([server.rule(&["*"], &[])]);
        for url in [
            "",
            "a",
            "/v1",
            "ftp://a.io/",
            "http://",
            &format!("http://user:secret@{}/", server.address),
            "http://[::zz]/",
            "https://a.io./",
            "https://a.io.:443/",
            "https://a%2eio/",
            "https://a!b.io/",
            "https://b\u{fc}cher.example/",
            "https://a.io:0/",
            "https://a.io:65536/",
            "https://a.io:/",
            &format!("http://{}/{}", server.address, "x".repeat(MAX_URL)),
        ] {
            let error = server.client().send(&caller, request("GET", url), BOUNDS).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::Invalid, "{error}");
            assert!(!error.message.contains("secret") && error.message.len() < 500, "{error}");
            assert_eq!(shown(&request("GET", url)), "a request that cannot be sent");
        }
        assert_eq!(shown(&request("GET", "https://a.io/b?secret")), "GET https://a.io/b");
        let long = request(&"X".repeat(1000), &server.url("/"));
        assert_eq!(server.client().send(&caller, long, BOUNDS).await.unwrap_err().reason, HttpReason::Invalid);
        assert!(server.seen().is_empty());
    }

    /// Of what leads inside, only what the admin names is connected to, whatever permissions there are.
    // mutant: crates/egress/src/reach.rs: `Reach::Public(allowed) if !allowed.is_private(url) => allowed,` => `Reach::Public(allowed) if false => allowed,`
    #[tokio::test]
    async fn cve_2026_4789_a_hooks_request_reaches_nothing_inside() {
        let server = Server::ok().await;
        let port = server.address.port();
        for host in [
            "127.0.0.1",
            "localhost",
            "169.254.169.254",
            "10.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "[fd00:ec2::254]",
        ] {
            let caller = caller([rule(&format!("{host}:{port}"), &["GET"], &[])]);
            let url = format!("https://{host}:{port}/latest/meta-data/");
            let error = client(&[], &[]).send(&caller, request("GET", &url), BOUNDS).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::Address, "{error}");
            assert!(error.message.ends_with(&format!("--http-private-host {host}:{port}")), "{error}");
        }
        // No certificate is for these notations of a loopback address.
        for host in ["127.1", "2130706433", "0x7f.1", "017700000001"] {
            let caller = caller([rule(&format!("{host}:{port}"), &["GET"], &[])]);
            let url = format!("https://{host}:{port}/");
            assert!(client(&[], &[]).send(&caller, request("GET", &url), BOUNDS).await.is_err());
        }
        assert!(server.seen().is_empty());
    }

    /// A name that a tenant can point anywhere.
    // mutant: crates/egress/src/reach.rs: `.filter(|address| allowed.is_public(address.ip()))` => `.filter(|_| true)`
    #[tokio::test]
    async fn cve_2026_4789_a_name_that_points_inside_is_not_connected_to() {
        fn inside(_: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            let address = SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port);
            std::future::ready(Ok(vec![address])).boxed()
        }
        let server = Server::ok().await;
        let port = server.address.port();
        let mut client = client(&[], &[]);
        Arc::get_mut(&mut client.inner).unwrap().lookup = Some(inside);
        let caller = caller([rule(&format!("a.io:{port}"), &["GET"], &[])]);
        let url = format!("https://a.io:{port}/");
        let error = client.send(&caller, request("GET", &url), BOUNDS).await.unwrap_err();
        assert_eq!(error.reason, HttpReason::Address, "{error}");
        assert!(server.seen().is_empty());
    }

    // mutant: crates/egress/src/client.rs: `if answers.is_none() && !target.tls && !connector.may_be_plain(&target.url) {` => `if false {`
    #[tokio::test]
    async fn only_the_admin_allows_to_do_without_tls() {
        let server = Server::ok().await;
        let caller = caller([server.rule(&["GET"], &[])]);
        let private = client(&[&server.address.to_string()], &[]);
        let error = private.send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap_err();
        assert_eq!(error.reason, HttpReason::Denied);
        assert!(error.message.ends_with(&format!("--http-insecure-host {}", server.address)), "{error}");
        assert!(server.seen().is_empty());
    }

    /// The hook receives the redirect, and what it then requests is checked like everything else.
    // mutant: crates/egress/src/client.rs: `if asked.is_allowed(rules) {` => `if true {`
    #[tokio::test]
    async fn cve_2026_4789_a_redirect_is_not_followed() {
        let inside = Server::ok().await;
        let answer = format!("HTTP/1.1 307 Go\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", inside.url("/"));
        let server = Server::start(answer).await;
        let caller = caller([server.rule(&["GET"], &[])]);
        let response = server.client().send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap();
        assert_eq!(response.status, 307);
        let error = server.client().send(&caller, request("GET", &inside.url("/")), BOUNDS).await.unwrap_err();
        assert_eq!(error.reason, HttpReason::Denied);
        // A permission for it opens no address: only the admin does.
        let (host, url) = (inside.address.to_string(), format!("https://{}/", inside.address));
        let server = Server::start(format!("HTTP/1.1 307 Go\r\nlocation: {url}\r\ncontent-length: 0\r\n\r\n")).await;
        let caller = self::caller([server.rule(&["GET"], &[]), rule(&host, &["GET"], &[])]);
        let response = server.client().send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap();
        assert_eq!(response.status, 307);
        let error = server.client().send(&caller, request("GET", &url), BOUNDS).await.unwrap_err();
        assert_eq!(error.reason, HttpReason::Address, "{error}");
        assert!(inside.seen().is_empty());
    }

    // mutant: crates/egress/src/client.rs: `if !OWN.contains(&name) {` => `if true {`
    #[tokio::test]
    async fn headers_neither_name_another_host_nor_hide_a_second_request() {
        let server = Server::ok().await;
        let caller = caller([server.rule(&["POST"], &[])]);
        let own =
            [("host", "evil.io"), ("Content-Length", "1"), ("transfer-encoding", "chunked"), ("connection", "x-a")];
        let headers = own.iter().map(|(name, value)| header(name, value.as_bytes())).chain([header("x-a", b"b")]);
        let body = HttpBody(b"0\r\n\r\nGET /admin HTTP/1.1\r\n\r\n".to_vec());
        let length = body.0.len();
        let sent = HttpRequest { headers: headers.collect(), body, ..request("POST", &server.url("/")) };
        server.client().send(&caller, sent, BOUNDS).await.unwrap();
        let seen = server.seen().concat().to_lowercase();
        let head = seen.split("\r\n\r\n").next().unwrap();
        let lines: Vec<_> = head.lines().skip(1).collect();
        assert!(lines.contains(&format!("host: {}", server.address).as_str()), "{head}");
        assert!(lines.contains(&format!("content-length: {length}").as_str()) && lines.contains(&"x-a: b"), "{head}");
        for absent in ["evil", "chunked", "connection"] {
            assert!(!head.contains(absent), "{head}");
        }
        for (name, value) in [("x-a", &b"a\r\nhost: evil.io"[..]), ("x-a\r\nb", b"a"), ("", b"a")] {
            let headers = vec![header(name, value)];
            let sent = HttpRequest { headers, ..request("POST", &server.url("/")) };
            let error = server.client().send(&caller, sent, BOUNDS).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::Invalid, "{error}");
        }
        assert_eq!(server.seen().len(), 1);
    }

    // mutant: crates/egress/src/client.rs: `if data.len() > most - all.len() {` => `if false {`
    // mutant: crates/egress/src/client.rs: `if body.size_hint().lower() > most as u64 {` => `if false {`
    #[tokio::test]
    async fn a_response_is_read_up_to_what_the_run_has_left() {
        let chunked = |body: &str| {
            let size = body.len();
            format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{size:x}\r\n{body}\r\n0\r\n\r\n")
        };
        // Of the last one, nothing but the head is there: it is refused by what it announces.
        let announced = "HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n".to_owned();
        let head = format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "x".repeat(2000));
        for (answer, reason) in [
            (chunked(&"x".repeat(1000)), None),
            (chunked(&"x".repeat(1001)), Some(HttpReason::Limit)),
            (announced, Some(HttpReason::Limit)),
            (head, Some(HttpReason::Limit)),
        ] {
            let server = Server::start(answer).await;
            let caller = caller([server.rule(&["GET"], &[])]);
            let bounds = HttpBounds { response: 1000, time: None };
            let result = server.client().send(&caller, request("GET", &server.url("/")), bounds).await;
            assert_eq!(result.as_ref().err().map(|error| error.reason), reason, "{result:?}");
        }
    }

    // mutant: crates/egress/src/client.rs: `match timeout(time, exchange).await {` => `match timeout(Duration::MAX, exchange).await {`
    #[tokio::test]
    async fn a_server_that_does_not_answer_costs_only_the_time_of_a_request() {
        let server = Server::start(Vec::new()).await;
        let caller = caller([server.rule(&["GET"], &[])]);
        let bounds = HttpBounds { time: Some(Duration::from_millis(20)), ..BOUNDS };
        let error = server.client().send(&caller, request("GET", &server.url("/")), bounds).await.unwrap_err();
        assert_eq!(error.reason, HttpReason::Timeout, "{error}");
        assert_eq!(server.seen().len(), 1);
    }

    // mutant: crates/egress/src/client.rs: `if caller.dry_run && !READING.contains(&method.as_str()) {` => `if false {`
    #[tokio::test]
    async fn a_plan_sends_only_what_reads() {
        let server = Server::ok().await;
        let caller = Caller { dry_run: true, ..caller([server.rule(&["*"], &[])]) };
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"] {
            let error = server.client().send(&caller, request(method, &server.url("/")), BOUNDS).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::NotSent, "{error}");
        }
        server.client().send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap();
        assert_eq!(server.seen().len(), 1);
    }

    /// A server that a tenant controls, and its names.
    // mutant: crates/egress/src/reach.rs: `let _until_done = turn;` => `drop(turn);`
    #[tokio::test]
    async fn names_that_are_never_resolved_leave_threads_to_other_tenants() {
        static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        fn never(host: String, _: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            async move {
                ASKED.lock().unwrap().push(host);
                std::future::pending().await
            }
            .boxed()
        }
        let mut client = client(&[], &[]);
        Arc::get_mut(&mut client.inner).unwrap().lookup = Some(never);
        let of = |namespace: &str, host: &str| {
            let identity = Identity { namespace: namespace.to_owned(), service_account: "hooks".to_owned() };
            Caller { identity: Some(Arc::new(identity)), ..caller([rule(host, &["GET"], &[])]) }
        };
        let bounds = HttpBounds { time: Some(Duration::from_millis(5)), ..BOUNDS };
        for _ in 0..70 {
            let sent = request("GET", "https://slow.io/");
            let error = client.send(&of("a", "slow.io"), sent, bounds).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::Timeout, "{error}");
        }
        // Three quarters of all.
        assert_eq!(*ASKED.lock().unwrap(), ["slow.io"; 48]);
        let other = client.send(&of("b", "other.io"), request("GET", "https://other.io/"), bounds).await;
        assert_eq!(other.unwrap_err().reason, HttpReason::Timeout);
        assert_eq!(ASKED.lock().unwrap().last().map(String::as_str), Some("other.io"));
    }

    /// A run can end at any time, and so can what waits for its request.
    #[tokio::test]
    async fn a_request_that_nobody_waits_for_ends_its_connection() {
        for answer in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n"] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let host = listener.local_addr().unwrap().to_string();
            let caller = caller([rule(&format!("http://{host}"), &["GET"], &[])]);
            let client = client(&[], &[&host]);
            let url = format!("http://{host}/");
            let sending = tokio::spawn(async move { client.send(&caller, request("GET", &url), BOUNDS).await });
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = vec![0; 1024];
            assert!(stream.read(&mut bytes).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
            sending.abort();
            // The end of the stream, or a reset if there was something that was not read.
            while matches!(stream.read(&mut bytes).await, Ok(more) if more > 0) {}
            assert!(sending.await.unwrap_err().is_cancelled());
        }
    }

    /// What a server sends without end, and what it upgrades to.
    // mutant: crates/egress/src/client.rs: `.http1_max_buf_size(MAX_HEAD)` => `.http1_max_buf_size(64 * MAX_HEAD)`
    #[tokio::test]
    async fn a_response_that_never_begins_or_ends_is_an_error() {
        let many = |line: &str, times: usize| line.repeat(times);
        let large = format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "x".repeat(2 * MAX_HEAD));
        let lines = format!("HTTP/1.1 200 OK\r\n{}\r\n", many("a: b\r\n", 5000));
        let body = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n";
        let trailers = format!("{body}0\r\n{}\r\n", many("a: b\r\n", 50_000));
        let extension = format!("{body}2;{}\r\nhi\r\n0\r\n\r\n", "x".repeat(200_000));
        let twice = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!".to_owned();
        for answer in [large, lines, trailers, extension, twice] {
            let server = Server::start(answer).await;
            let caller = caller([server.rule(&["GET"], &[])]);
            let bounds = HttpBounds { response: 10_000_000, time: None };
            let error = server.client().send(&caller, request("GET", &server.url("/")), bounds).await.unwrap_err();
            assert_eq!(error.reason, HttpReason::Connection, "{error}");
        }
        // Nothing of what follows is the response's.
        let upgrade = "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\nsecond";
        let server = Server::start(upgrade).await;
        let caller = caller([server.rule(&["GET"], &[])]);
        let headers = vec![header("upgrade", b"h2c"), header("http2-settings", b""), header("connection", b"upgrade")];
        let sent = HttpRequest { headers, ..request("GET", &server.url("/")) };
        let response = server.client().send(&caller, sent, BOUNDS).await;
        assert!(!response.is_ok_and(|response| !response.body.0.is_empty()));
        assert!(!server.seen().concat().to_lowercase().contains("h2c"));
    }

    /// The memory of a response is a tenant's, and others have the rest.
    // mutant: crates/egress/src/client.rs: `if !charged(reserved - all.capacity()) {` => `if false {`
    #[tokio::test]
    async fn a_response_takes_no_more_memory_than_there_is() {
        #[derive(Debug)]
        struct Left(Mutex<usize>);
        impl Charge for Left {
            fn charge(&self, bytes: usize) -> bool {
                let mut left = self.0.lock().unwrap();
                left.checked_sub(bytes).map(|rest| *left = rest).is_some()
            }
        }
        let server =
            Server::start(format!("HTTP/1.1 200 OK\r\ncontent-length: 30000\r\n\r\n{}", "x".repeat(30_000))).await;
        for (left, fits) in [(80_000, true), (20_000, false), (10, false)] {
            let memory = Allowance::of(Left(Mutex::new(left)));
            let caller = Caller { memory, ..caller([server.rule(&["GET"], &[])]) };
            let result = server.client().send(&caller, request("GET", &server.url("/")), BOUNDS).await;
            assert_eq!(result.map(|response| response.body.0.len()).ok(), fits.then_some(30_000), "{left}");
        }
    }

    #[tokio::test]
    async fn failures_have_their_reasons() {
        fn nowhere(_: String, _: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            std::future::ready(Err(io::Error::other("no such name"))).boxed()
        }
        let mut client = client(&[], &[]);
        Arc::get_mut(&mut client.inner).unwrap().lookup = Some(nowhere);
        let caller = caller([rule("a.io", &["GET"], &[])]);
        let error = client.send(&caller, request("GET", "https://a.io/"), BOUNDS).await.unwrap_err();
        assert_eq!(error.reason, HttpReason::Name, "{error}");
        assert!(error.message.contains("no such name"), "{error}");

        // It speaks no TLS.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let plain = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            stream
        });
        let caller = super::tests::caller([rule(&address, &["GET"], &[])]);
        let sent = request("GET", &format!("https://{address}/"));
        let error = super::tests::client(&[&address], &[]).send(&caller, sent, BOUNDS).await.unwrap_err();
        assert_eq!(error.reason, HttpReason::Tls, "{error}");
        drop(plain);

        let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhi").await;
        let caller = super::tests::caller([server.rule(&["GET"], &[])]);
        let error = server.client().send(&caller, request("GET", &server.url("/")), BOUNDS).await.unwrap_err();
        assert_eq!(error.reason, HttpReason::Connection, "{error}");
        assert!(error.message.contains("its response ended early"), "{error}");
    }

    #[test]
    fn what_is_no_certificate_is_refused_at_the_start() {
        let config = HttpConfig { ca: b"x".to_vec(), ..HttpConfig::default() };
        assert!(matches!(Client::new(config), Err(TlsError::Authority)));
    }
}

//! HTTP to registries: TLS, timeouts, redirects and reads with a limit. It knows no paths and no logins. It repeats no
//! text of another host than the registry's.

use std::time::Duration;

use boathook_egress::{Connector, NotPublic, TlsError, client_config};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header, uri::Authority};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::time::timeout;

use super::{Connect, RegistryProblem};

/// The time until a response begins.
const ANSWER: Duration = Duration::from_secs(60);
/// The time between two pieces of a response.
pub(super) const IDLE: Duration = Duration::from_secs(30);
/// The lowest rate of an upload, in bytes per second. A slower upload is given up.
const SLOWEST_UPLOAD: u64 = 64 * 1024;
const MAX_REDIRECTS: usize = 5;
/// How many bytes of an error's text are read.
const MAX_TEXT: u64 = 16 * 1024;

#[derive(Debug)]
pub(super) struct Http {
    client: Client<HttpsConnector<Connector>, Full<Bytes>>,
    connector: Connector,
    registry: Option<Authority>,
    plain: bool,
}

/// Marks a response with its host, if that is not the registry's.
#[derive(Debug, Clone)]
struct Elsewhere(String);

impl Http {
    /// For the registry with this address.
    pub fn new(connect: &Connect, registry: &str) -> Result<Self, RegistryProblem> {
        let registry: Uri = registry.parse().map_err(|_| RegistryProblem::Address(registry.to_owned()))?;
        let connector = Connector::new(&connect.reach, &registry);
        let tls = HttpsConnectorBuilder::new().with_tls_config(client_config(&connect.ca)?);
        let tls = tls.https_or_http().enable_http1().wrap_connector(connector.clone());
        let client = Client::builder(TokioExecutor::new()).build(tls);
        Ok(Self { client, connector, registry: registry.into_parts().authority, plain: connect.plain_http })
    }

    /// Sends one request. Follows redirects of a GET, without the login if they lead to another host.
    pub async fn send(
        &self,
        method: &Method,
        url: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, RegistryProblem> {
        let mut url: Uri = url.parse().map_err(|_| RegistryProblem::Address(url.to_owned()))?;
        let mut headers = headers.clone();
        for _ in 0..MAX_REDIRECTS {
            let mut answer = self.once(method, &url, &headers, body.clone()).await?;
            if url.authority() != self.registry.as_ref() {
                let host = url.authority().map(Authority::to_string).unwrap_or_default();
                answer.extensions_mut().insert(Elsewhere(host));
            }
            let next = answer.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            let Some(next) = next.filter(|_| method == Method::GET && answer.status().is_redirection()) else {
                return Ok(answer);
            };
            let next = join(&url, next)?;
            if next.authority() != url.authority() {
                headers.remove(header::AUTHORIZATION);
            }
            url = next;
        }
        Err(RegistryProblem::Redirects(MAX_REDIRECTS))
    }

    async fn once(
        &self,
        method: &Method,
        url: &Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, RegistryProblem> {
        let host = || url.authority().map(Authority::to_string).unwrap_or_default();
        if url.scheme_str() != Some("https") {
            if !self.plain {
                return Err(RegistryProblem::Plain(url.to_string()));
            }
            if !self.connector.may_be_plain(url) {
                return Err(RegistryProblem::Insecure(host()));
            }
        }
        let patience = ANSWER + Duration::from_secs(body.len() as u64 / SLOWEST_UPLOAD);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = url.clone();
        headers.clone_into(request.headers_mut());
        request.headers_mut().insert(header::USER_AGENT, AGENT);
        let answer = timeout(patience, self.client.request(request)).await;
        let answer = answer.map_err(|_| RegistryProblem::Stalled(patience.as_secs()))?;
        answer.map_err(|error| match error.is_connect() {
            true if NotPublic::is_cause_of(&error) => RegistryProblem::NotPublic(host()),
            true => RegistryProblem::Unreachable { host: host(), source: error.into() },
            false => RegistryProblem::Lost(error.into()),
        })
    }
}

impl From<TlsError> for RegistryProblem {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Authority => Self::Authority,
            TlsError::Tls(error) => Self::Tls(error),
        }
    }
}

/// The host of a response, if the registry redirected to it and it is not the registry's own.
pub(super) fn elsewhere(answer: &Response<Incoming>) -> Option<String> {
    answer.extensions().get::<Elsewhere>().map(|Elsewhere(host)| host.clone())
}

const AGENT: header::HeaderValue = header::HeaderValue::from_static(concat!("boathook/", env!("CARGO_PKG_VERSION")));

/// The address to which a `Location` leads.
pub(super) fn join(base: &Uri, location: &str) -> Result<Uri, RegistryProblem> {
    let bad = || RegistryProblem::Address(location.to_owned());
    if location.starts_with("http://") || location.starts_with("https://") {
        return location.parse().map_err(|_| bad());
    }
    if !location.starts_with('/') || location.starts_with("//") {
        return Err(bad());
    }
    let (scheme, authority) = (base.scheme_str().unwrap_or("https"), base.authority().ok_or_else(bad)?);
    format!("{scheme}://{authority}{location}").parse().map_err(|_| bad())
}

/// Returns the next piece of a response, or `None` at its end.
pub(super) async fn next(body: &mut Incoming) -> Result<Option<Bytes>, RegistryProblem> {
    loop {
        let frame = timeout(IDLE, body.frame()).await.map_err(|_| RegistryProblem::Stalled(IDLE.as_secs()))?;
        match frame {
            None => return Ok(None),
            Some(Err(error)) => return Err(RegistryProblem::Lost(error.into())),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Reads a whole response, if it is not longer than `max` bytes.
pub(super) async fn read(answer: Response<Incoming>, max: u64) -> Result<Bytes, RegistryProblem> {
    let mut body = answer.into_body();
    let mut all = Vec::new();
    while let Some(piece) = next(&mut body).await? {
        if all.len() as u64 + piece.len() as u64 > max {
            return Err(RegistryProblem::TooLarge(max));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all.into())
}

/// Returns the response if its status is one of these. Otherwise returns the registry's error.
pub(super) async fn expect(
    answer: Response<Incoming>,
    good: &[StatusCode],
) -> Result<Response<Incoming>, RegistryProblem> {
    let status = answer.status();
    if good.contains(&status) {
        return Ok(answer);
    }
    if status == StatusCode::NOT_FOUND {
        return Err(RegistryProblem::Missing);
    }
    if let Some(Elsewhere(host)) = answer.extensions().get() {
        return Err(RegistryProblem::Elsewhere { host: host.clone(), status: status.as_u16() });
    }
    let bytes = read(answer, MAX_TEXT).await.unwrap_or_default();
    Err(RegistryProblem::Status { status: status.as_u16(), text: text(&bytes) })
}

/// Formats `{"errors": [{"code", "message"}]}` as text, without characters that could move a terminal's cursor.
fn text(bytes: &[u8]) -> String {
    let body: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
    let said = |key: &str| body.pointer(&format!("/errors/0/{key}")).and_then(serde_json::Value::as_str);
    let text = match (said("code"), said("message")) {
        (None, None) => String::from_utf8_lossy(bytes).into_owned(),
        (code, message) => format!("{} {}", code.unwrap_or_default(), message.unwrap_or_default()),
    };
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    if clean.trim().is_empty() { "it says no reason".to_owned() } else { clean.trim().to_owned() }
}

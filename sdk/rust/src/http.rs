//! HTTP requests to hosts outside the cluster, within the hook's `permissions.http`.
//!
//! A request blocks until its whole response is there. Redirects are not followed: the response says where one leads,
//! and a request to there needs a permission of its own.
//!
//! ```no_run
//! use boathook_sdk::http::Request;
//! use boathook_sdk::prelude::*;
//! use boathook_sdk::serde_json::{Value, json};
//!
//! fn config() -> Config {
//!     Config::new()
//!         .on_startup(1)
//!         .http(HttpPermission::new(["api.example.com"]).methods(["GET", "POST"]).paths(["/v1/items/*"]))
//! }
//!
//! fn run(_: Context) -> Result<()> {
//!     let item: Value = Request::get("https://api.example.com/v1/items/1").send()?.ok()?.json()?;
//!     let copy = json!({"name": item["name"]});
//!     Request::post("https://api.example.com/v1/items/copies").json(&copy)?.send()?.ok()?;
//!     Ok(())
//! }
//! ```

use crate::data::{DataError, decode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Option<Duration>,
}

impl Request {
    /// A request with this method: `GET`, `POST`, ….
    pub fn new(method: &str, url: &str) -> Self {
        let (headers, body) = (Vec::new(), Vec::new());
        Self { method: method.to_owned(), url: url.to_owned(), headers, body, timeout: None }
    }

    /// Reads.
    pub fn get(url: &str) -> Self {
        Self::new("GET", url)
    }

    /// Sends something new.
    pub fn post(url: &str) -> Self {
        Self::new("POST", url)
    }

    /// Replaces.
    pub fn put(url: &str) -> Self {
        Self::new("PUT", url)
    }

    /// Changes a part.
    pub fn patch(url: &str) -> Self {
        Self::new("PATCH", url)
    }

    /// Deletes.
    pub fn delete(url: &str) -> Self {
        Self::new("DELETE", url)
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON body and its `content-type`.
    pub fn json<T: Serialize>(self, body: &T) -> Result<Self, DataError> {
        let unwritable = |error| DataError::unwritable("the body of an HTTP request", error);
        let text = serde_json::to_vec(body).map_err(unwritable)?;
        Ok(self.header("content-type", "application/json").body(text))
    }

    /// How long the response may take. Without it, the operator's own limit and the time of the run count.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends the request, and waits for its whole response. A response with any status is a success here.
    pub fn send(&self) -> Result<Response, Error> {
        crate::host::http(self)
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The body that is sent.
    pub fn content(&self) -> &[u8] {
        &self.body
    }

    /// The first value of a header, if it is text.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        value(&self.headers, name)
    }
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// `200`, `404`, ….
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Response {
    /// A response for tests.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// The same with one more header.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_ascii_lowercase(), value.as_ref().to_vec()));
        self
    }

    /// The first value of a header, if it is text.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        value(&self.headers, name)
    }

    /// Fails unless the status is one of 200 to 299. The error has the beginning of the body.
    pub fn ok(self) -> Result<Self, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let text: String = String::from_utf8_lossy(&self.body).chars().take(SHOWN).collect();
        let message = format!("the server answered with the status {}: {text}", self.status);
        Err(Error { kind: ErrorKind::Status(self.status), message })
    }

    /// The body as text. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON of this shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        decode(&self.text(), || "the body of an HTTP response".to_owned())
    }
}

/// How many characters of a body are in an error.
const SHOWN: usize = 200;

fn value<'h>(headers: &'h [(String, Vec<u8>)], name: &str) -> Option<&'h str> {
    let (_, value) = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(value).ok()
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No permission allows the request, or the run only plans. The operator's log names the reason.
    Denied,
    /// The host is not at a public address, and the operator's admin does not allow it.
    Address,
    /// The name has no address.
    Name,
    /// There is no connection, or it ended early.
    Connection,
    /// TLS failed: in most cases, the certificate is not one that is trusted.
    Tls,
    /// There was no response in time.
    Timeout,
    /// [`Response::ok`] found this status.
    Status(u16),
    /// It is not a request that can be sent.
    Invalid,
    /// The operator has a credential for the host that it cannot use, for example because the Secret does not exist.
    Credential,
    /// A limit of the run, or anything else.
    Other,
}

/// A request that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

impl Error {
    /// An error for tests.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The scheme, the authority, and the path with its query.
pub(crate) fn parts(url: &str) -> Option<(bool, &str, &str)> {
    let (tls, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return None,
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    (!authority.is_empty()).then_some((tls, authority, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split() {
        for (url, parts_of) in [
            ("https://a.io", Some((true, "a.io", ""))),
            ("http://a.io:8080/v1/x?y=/z#w", Some((false, "a.io:8080", "/v1/x?y=/z"))),
            ("https://a.io?y", Some((true, "a.io", "?y"))),
            ("https://[::1]:8443/", Some((true, "[::1]:8443", "/"))),
            ("https:///x", None),
            ("ftp://a.io/", None),
            ("a.io", None),
        ] {
            assert_eq!(parts(url), parts_of, "{url}");
        }
    }

    #[test]
    fn a_status_that_is_no_success_is_an_error_on_request() {
        let found = Response::new(404, "no such item").header("X-A", "b");
        assert_eq!((found.header_value("x-a"), found.text().as_str()), (Some("b"), "no such item"));
        let error = found.ok().map(|_| ()).map_err(|error| (error.kind(), error.to_string()));
        let message = "the server answered with the status 404: no such item".to_owned();
        assert_eq!(error, Err((ErrorKind::Status(404), message)));
        assert!(Response::new(204, "").ok().is_ok());
    }
}

//! Responses: JSON or YAML values, stored bytes, streams. Stored objects are not copied.

use bytes::Bytes;
use futures::Stream;
use futures::StreamExt;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde_json::Value;

use super::negotiate::Accept;
use super::yaml;
use crate::json;
use crate::status::Failure;

/// The body of every response.
pub(crate) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

fn build(code: u16, content: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

pub(crate) fn plain(code: u16, text: &'static str) -> Response<Body> {
    build(code, "text/plain; charset=utf-8", full(Bytes::from_static(text.as_bytes())))
}

/// A page with its own content type.
pub(crate) fn page(text: &'static str, content: &'static str) -> Response<Body> {
    build(200, content, full(Bytes::from_static(text.as_bytes())))
}

/// A status without a body.
pub(crate) fn empty(code: u16) -> Response<Body> {
    let mut response = build(code, "", full(Bytes::new()));
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

/// A JSON document with its own content type.
pub(crate) fn document(value: &Value, content: &'static str) -> Response<Body> {
    build(200, content, full(json::bytes(value).into()))
}

pub(crate) fn failure(failure: &Failure) -> Response<Body> {
    failure_as(failure, &Accept::JSON)
}

/// A failure in the negotiated encoding.
pub(crate) fn failure_as(failure: &Failure, accept: &Accept) -> Response<Body> {
    let mut response = value(failure.code(), &failure.to_value(), accept);
    if matches!(failure.code(), 429 | 504) {
        response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// A value in the negotiated encoding.
pub(crate) fn value(code: u16, value: &Value, accept: &Accept) -> Response<Body> {
    if accept.yaml {
        return build(code, "application/yaml", full(yaml::text(value).into()));
    }
    build(code, "application/json", full(json::bytes(value).into()))
}

/// A response from JSON bytes.
pub(crate) fn raw(code: u16, bytes: Bytes) -> Response<Body> {
    build(code, "application/json", full(bytes))
}

/// A stream of JSON bytes. An error of the stream closes the connection.
pub(crate) fn stream(chunks: impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static) -> Response<Body> {
    let body = StreamBody::new(chunks.map(|chunk| chunk.map(Frame::data))).boxed_unsync();
    build(200, "application/json", body)
}

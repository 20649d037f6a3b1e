//! Responses: JSON or YAML values, stored bytes, streams. Stored objects are not copied.

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde_json::Value;

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
        let mut sorted = value.clone();
        sorted.sort_all_objects();
        return build(code, "application/yaml", full(yaml_serde::to_string(&sorted).unwrap_or_default().into()));
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

const OBJECTS: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const STREAMS: &[&str] = &["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

/// The shape of objects and lists in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    Table,
    /// Only metadata, of one object or of each object in a watch.
    Metadata,
    /// Only metadata, of a list.
    MetadataList,
}

/// The negotiated form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accept {
    pub shape: Shape,
    pub yaml: bool,
}

impl Accept {
    /// The default without an Accept header.
    pub(crate) const JSON: Self = Self { shape: Shape::Object, yaml: false };

    /// Paths of collections are also those of watches, and error texts mention both.
    pub(crate) fn parse(headers: &HeaderMap, collection: bool) -> Result<Self, Failure> {
        let mut values = headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok()).peekable();
        if values.peek().is_none() {
            return Ok(Self::JSON);
        }
        let (mut protobuf, mut known) = (false, false);
        for clause in values.flat_map(|v| v.split(',')) {
            let mut parts = clause.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parameters: Vec<(&str, &str)> = parts.filter_map(|p| p.split_once('=')).collect();
            let of = |key: &str| parameters.iter().find(|(k, _)| *k == key).map_or("", |(_, v)| *v);
            let yaml = match media {
                "application/json" | "*/*" | "" => false,
                "application/yaml" => true,
                m if m.starts_with("application/vnd.kubernetes.protobuf") || m.contains("openapi") => {
                    protobuf = true;
                    continue;
                }
                _ => continue,
            };
            let shape = match (of("as"), of("g"), of("v")) {
                ("Table", "meta.k8s.io", "v1" | "v1beta1") => Shape::Table,
                ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Shape::Metadata,
                ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => Shape::MetadataList,
                // The aggregated discovery types are negotiated where they are served.
                ("" | "APIGroupDiscoveryList", ..) => Shape::Object,
                _ => {
                    known = true;
                    continue;
                }
            };
            return Ok(Self { shape, yaml });
        }
        match (protobuf, known) {
            (true, _) => Ok(Self::JSON),
            (false, true) => Err(Failure::unacceptable(OBJECTS)),
            (false, false) if collection => Err(Failure::not_acceptable(&[OBJECTS, STREAMS].concat())),
            (false, false) => Err(Failure::not_acceptable(OBJECTS)),
        }
    }

    /// Watches are streams of JSON.
    pub(crate) fn check_watch(&self) -> Result<(), Failure> {
        if self.yaml { Err(Failure::unacceptable(STREAMS)) } else { Ok(()) }
    }

    /// Refuses the metadata shape of a list for one object, and vice versa. `internal` names the type of the object in
    /// error texts.
    pub(crate) fn check(&self, list: bool, internal: &str) -> Result<(), Failure> {
        match self.shape {
            Shape::Metadata if list => {
                Err(Failure::wrong_shape("you requested PartialObjectMetadata, but the requested object is a list"))
            }
            Shape::MetadataList if !list => Err(Failure::wrong_shape(&format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({internal})"
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the client accepts aggregated discovery.
    pub(crate) fn aggregated_discovery(headers: &HeaderMap) -> bool {
        let values = headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok());
        let mut clauses = values.flat_map(|v| v.split(','));
        clauses.any(|c| {
            let c = c.replace(' ', "");
            c.starts_with("application/json") && c.contains(";as=APIGroupDiscoveryList") && c.contains(";v=v2;")
                || c.starts_with("application/json") && c.contains("as=APIGroupDiscoveryList") && c.ends_with(";v=v2")
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(accept: &str) -> Result<(Shape, bool), u16> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Accept::parse(&headers, false).map(|a| (a.shape, a.yaml)).map_err(|f| f.code())
    }

    #[test]
    fn the_first_form_we_speak_wins() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(parse(kubectl), Ok((Shape::Table, false)));
        assert_eq!(parse("application/json;as=Other;v=v1;g=x,application/json"), Ok((Shape::Object, false)));
        assert_eq!(parse("application/vnd.kubernetes.protobuf,application/json"), Ok((Shape::Object, false)));
        assert_eq!(parse("application/vnd.kubernetes.protobuf"), Ok((Shape::Object, false)));
        assert_eq!(parse("application/yaml"), Ok((Shape::Object, true)));
        assert_eq!(parse("image/png"), Err(406));
        let list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(parse(list), Ok((Shape::MetadataList, false)));
        let one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        assert_eq!(parse(one), Ok((Shape::Metadata, false)));
    }
}

//! Responses that are not objects: health, version, discovery, OpenAPI, metrics.

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, HeaderValue};
use http::{HeaderMap, Response};
use serde_json::{Value, json};

use super::negotiate::Accept;
use super::respond::{self, Body};
use super::route::Document;
use crate::kinds::{Registry, VERSION, discovery, openapi, published};
use crate::shared::Shared;
use crate::status::Failure;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// There are no metrics. Scrapers receive an empty page of this type.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

pub(crate) fn answer(
    shared: &Shared,
    document: &Document,
    query: &str,
    headers: &HeaderMap,
) -> Result<Response<Body>, Failure> {
    let registry = shared.registry();
    let aggregated = Accept::aggregated_discovery(headers);
    match document {
        Document::Health => Ok(respond::plain(200, "ok")),
        Document::Version => Ok(respond::document(&version(), JSON)),
        Document::Root => Ok(respond::document(&root(&registry), JSON)),
        Document::ApiVersions if aggregated => {
            Ok(respond::document(&discovery::aggregated(&registry, true), AGGREGATED))
        }
        Document::GroupList if aggregated => {
            Ok(respond::document(&discovery::aggregated(&registry, false), AGGREGATED))
        }
        Document::ApiVersions => Ok(respond::document(&discovery::api_versions(&shared.address.to_string()), JSON)),
        Document::GroupList => Ok(respond::document(&discovery::group_list(&registry), JSON)),
        Document::Group(name) => match discovery::group(&registry, name) {
            Some(value) => Ok(respond::document(&value, JSON)),
            None => Ok(respond::plain(404, "404 page not found\n")),
        },
        Document::Resources { group, version } => match discovery::resource_list(&registry, group, version) {
            Some(value) => Ok(respond::document(&value, JSON)),
            None if group.is_empty() || registry.has_group(group) => Err(Failure::no_such_path()),
            None => Ok(respond::plain(404, "404 page not found\n")),
        },
        Document::OpenApiV2 => Ok(respond::document(&openapi::swagger(&registry), JSON)),
        // The real server detects this type from the text.
        Document::OpenApiV3Index => Ok(respond::document(&openapi::index(&registry), TEXT)),
        Document::OpenApiV3 { group, version } => match openapi::document(&registry, group, version) {
            None => Ok(respond::empty(404)),
            Some(document) => {
                let known = openapi::hash(&registry, group, version);
                Ok(lasting(described(document, headers), known.is_some_and(|hash| query == format!("hash={hash}"))))
            }
        },
        Document::Metrics => Ok(respond::page("", METRICS)),
    }
}

/// An OpenAPI document, in gzip for clients that accept it.
fn described(document: openapi::Document, headers: &HeaderMap) -> Response<Body> {
    match document {
        openapi::Document::Made(value) => respond::document(&value, JSON),
        openapi::Document::Packed(packed) => {
            let encodings = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
            if encodings.flat_map(|v| v.split(',')).any(|e| e.split(';').next().map(str::trim) == Some("gzip")) {
                let mut response = respond::raw(200, Bytes::from_static(packed));
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                return response;
            }
            respond::raw(200, published::unzip(packed).into())
        }
    }
}

/// Lets the client cache a document that it requested by hash, because the hash identifies its content.
fn lasting(mut response: Response<Body>, by_hash: bool) -> Response<Body> {
    if by_hash {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    }
    response
}

/// All paths, for people who explore the server.
fn root(registry: &Registry) -> Value {
    let mut paths: Vec<String> = PATHS.iter().map(|path| (*path).to_owned()).collect();
    for group in registry.groups().iter().filter(|g| !g.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{}/{version}", group.name)));
    }
    paths.sort();
    json!({ "paths": paths })
}

const PATHS: &[&str] = &[
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/readyz",
    "/version",
];

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "gitVersion": format!("{VERSION}+boathook"), "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "",
    })
}

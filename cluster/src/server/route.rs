//! Parses a URL path. Whether the resource exists is checked elsewhere.

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, HeaderValue};
use http::{HeaderMap, Response};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::respond;
use super::respond::{Accept, Body};
use crate::kinds::{Registry, VERSION, discovery, openapi, published};
use crate::shared::Shared;
use crate::status::Failure;

/// A path under `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct ResourcePath {
    pub group: String,
    pub version: String,
    pub namespace: Option<String>,
    pub plural: String,
    pub name: Option<String>,
    pub subresource: Option<String>,
    /// Below `watch/`, the old form of watches before there was a parameter.
    pub watch: bool,
}

/// A document that is not an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Health,
    Metrics,
    Version,
    Root,
    ApiVersions,
    GroupList,
    Group(String),
    Resources { group: String, version: String },
    OpenApiV2,
    OpenApiV3Index,
    OpenApiV3 { group: String, version: String },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Document(Document),
    Resource(ResourcePath),
    Nothing,
}

pub(crate) fn parse(path: &str) -> Route {
    let segments: Vec<String> = path
        .split('/')
        .filter(|s| !s.is_empty())
        .map(|s| percent_decode_str(s).decode_utf8_lossy().into_owned())
        .collect();
    let borrowed: Vec<&str> = segments.iter().map(String::as_str).collect();
    match borrowed.as_slice() {
        [] => Route::Document(Document::Root),
        ["healthz" | "readyz" | "livez", ..] => Route::Document(Document::Health),
        ["metrics"] => Route::Document(Document::Metrics),
        ["version"] => Route::Document(Document::Version),
        ["openapi", "v2"] => Route::Document(Document::OpenApiV2),
        ["openapi", "v3"] => Route::Document(Document::OpenApiV3Index),
        ["openapi", "v3", "api", version] => {
            Route::Document(Document::OpenApiV3 { group: String::new(), version: (*version).to_owned() })
        }
        ["openapi", "v3", "apis", group, version] => {
            Route::Document(Document::OpenApiV3 { group: (*group).to_owned(), version: (*version).to_owned() })
        }
        ["api"] => Route::Document(Document::ApiVersions),
        ["apis"] => Route::Document(Document::GroupList),
        ["apis", group] => Route::Document(Document::Group((*group).to_owned())),
        ["api", version] => {
            Route::Document(Document::Resources { group: String::new(), version: (*version).to_owned() })
        }
        ["apis", group, version] => {
            Route::Document(Document::Resources { group: (*group).to_owned(), version: (*version).to_owned() })
        }
        ["api", version, "watch", rest @ ..] if !rest.is_empty() => resource("", version, rest, true),
        ["apis", group, version, "watch", rest @ ..] if !rest.is_empty() => resource(group, version, rest, true),
        ["api", version, rest @ ..] => resource("", version, rest, false),
        ["apis", group, version, rest @ ..] => resource(group, version, rest, false),
        _ => Route::Nothing,
    }
}

fn resource(group: &str, version: &str, rest: &[&str], watch: bool) -> Route {
    let own = |s: &str| s.to_owned();
    let (namespace, rest) = match rest {
        // Only these two may follow the name of a namespace itself.
        ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, tail @ ..] if !tail.is_empty() => (Some(own(namespace)), tail),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(own(name)), None),
        [plural, name, sub] => (plural, Some(own(name)), Some(own(sub))),
        _ => return Route::Nothing,
    };
    Route::Resource(ResourcePath {
        group: own(group),
        version: own(version),
        namespace,
        plural: own(plural),
        name,
        subresource,
        watch,
    })
}

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

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn path(text: &str) -> (Option<String>, String, Option<String>, Option<String>) {
        match parse(text) {
            Route::Resource(p) => (p.namespace, p.plural, p.name, p.subresource),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn namespaces_are_scopes_and_objects() {
        let own = |s: &str| Some(s.to_owned());
        assert_eq!(path("/api/v1/namespaces/a"), (None, "namespaces".into(), own("a"), None));
        assert_eq!(path("/api/v1/namespaces/a/status"), (None, "namespaces".into(), own("a"), own("status")));
        assert_eq!(path("/api/v1/namespaces/a/pods"), (own("a"), "pods".into(), None, None));
        assert_eq!(
            path("/apis/apps/v1/namespaces/a/deployments/d/scale"),
            (own("a"), "deployments".into(), own("d"), own("scale"))
        );
        assert_eq!(
            path("/apis/x/v1/clusterroles/system%3Anode"),
            (None, "clusterroles".into(), own("system:node"), None)
        );
        assert_eq!(parse("/api/v1/a/b/c/d/e/f"), Route::Nothing);
        assert_eq!(parse("/foo"), Route::Nothing);
    }
}

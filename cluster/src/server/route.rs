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

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A document that is not an object, or nothing, by the parts of its path.
    Document(Vec<String>),
    Resource(ResourcePath),
}

pub(crate) fn parse(path: &str) -> Route {
    let segments: Vec<String> = path
        .split('/')
        .filter(|s| !s.is_empty())
        .map(|s| percent_decode_str(s).decode_utf8_lossy().into_owned())
        .collect();
    let borrowed: Vec<&str> = segments.iter().map(String::as_str).collect();
    let resource = match borrowed.as_slice() {
        ["api", version, "watch", rest @ ..] if !rest.is_empty() => resource("", version, rest, true),
        ["apis", group, version, "watch", rest @ ..] if !rest.is_empty() => resource(group, version, rest, true),
        ["api", version, rest @ ..] => resource("", version, rest, false),
        ["apis", group, version, rest @ ..] => resource(group, version, rest, false),
        _ => None,
    };
    resource.map_or(Route::Document(segments), Route::Resource)
}

fn resource(group: &str, version: &str, rest: &[&str], watch: bool) -> Option<ResourcePath> {
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
        _ => return None,
    };
    Some(ResourcePath {
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

/// The document at a path, if there is one.
pub(crate) fn answer(
    shared: &Shared,
    path: &[&str],
    query: &str,
    headers: &HeaderMap,
) -> Result<Option<Response<Body>>, Failure> {
    let registry = shared.registry();
    let aggregated = Accept::aggregated_discovery(headers);
    Ok(Some(match *path {
        [] => respond::document(&root(&registry), JSON),
        ["healthz" | "readyz" | "livez", ..] => respond::plain(200, "ok"),
        ["metrics"] => respond::page("", METRICS),
        ["version"] => respond::document(&version(), JSON),
        ["api"] if aggregated => respond::document(&discovery::aggregated(&registry, true), AGGREGATED),
        ["apis"] if aggregated => respond::document(&discovery::aggregated(&registry, false), AGGREGATED),
        ["api"] => respond::document(&discovery::api_versions(&shared.address.to_string()), JSON),
        ["apis"] => respond::document(&discovery::group_list(&registry), JSON),
        ["apis", group] => return Ok(discovery::group(&registry, group).map(|value| respond::document(&value, JSON))),
        ["api", version] => return resources(&registry, "", version),
        ["apis", group, version] => return resources(&registry, group, version),
        ["openapi", "v2"] => respond::document(&openapi::swagger(&registry), JSON),
        // The real server detects this type from the text.
        ["openapi", "v3"] => respond::document(&openapi::index(&registry), TEXT),
        ["openapi", "v3", "api", version] => described(&registry, ("", version), query, headers),
        ["openapi", "v3", "apis", group, version] => described(&registry, (group, version), query, headers),
        _ => return Ok(None),
    }))
}

fn resources(registry: &Registry, group: &str, version: &str) -> Result<Option<Response<Body>>, Failure> {
    match discovery::resource_list(registry, group, version) {
        Some(value) => Ok(Some(respond::document(&value, JSON))),
        None if group.is_empty() || registry.has_group(group) => Err(Failure::no_such_path()),
        None => Ok(None),
    }
}

/// The OpenAPI document of a group and version. A client that requested it by its hash may cache it, because the hash
/// identifies its content.
fn described(registry: &Registry, (group, version): (&str, &str), query: &str, headers: &HeaderMap) -> Response<Body> {
    let Some(document) = openapi::document(registry, group, version) else { return respond::empty(404) };
    let mut response = packed(document, headers);
    if openapi::hash(registry, group, version).is_some_and(|hash| query == format!("hash={hash}")) {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    }
    response
}

/// An OpenAPI document, in gzip for clients that accept it.
fn packed(document: openapi::Document, headers: &HeaderMap) -> Response<Body> {
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
        assert!(matches!(parse("/api/v1/a/b/c/d/e/f"), Route::Document(path) if path.len() == 8));
        assert!(matches!(parse("/foo"), Route::Document(path) if path == ["foo"]));
    }
}

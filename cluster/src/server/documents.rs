//! Answers that are not objects: health, version, discovery, OpenAPI.
//!
//! Never writes.

use http::{HeaderMap, Response};
use serde_json::{Value, json};

use super::negotiate::Accept;
use super::respond::{self, Body};
use super::route::Document;
use crate::kinds::{VERSION, discovery, openapi};
use crate::shared::Shared;
use crate::status::Failure;

const JSON: &str = "application/json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

pub(crate) fn answer(shared: &Shared, document: &Document, headers: &HeaderMap) -> Result<Response<Body>, Failure> {
    let registry = shared.registry();
    let aggregated = Accept::aggregated_discovery(headers);
    let found = |value: Option<Value>| value.map(|v| respond::document(&v, JSON)).ok_or_else(Failure::no_such_path);
    match document {
        Document::Health => Ok(respond::plain(200, "ok")),
        Document::Version => Ok(respond::document(&version(), JSON)),
        Document::Root => Ok(respond::document(&json!({ "paths": PATHS }), JSON)),
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
        Document::OpenApiV2 => found(Some(openapi::swagger())),
        Document::OpenApiV3Index => found(Some(openapi::index(&registry))),
        Document::OpenApiV3 { group, version } => found(openapi::document(&registry, group, version)),
    }
}

const PATHS: &[&str] =
    &["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"];

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "gitVersion": format!("{VERSION}+boathook"), "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "",
    })
}

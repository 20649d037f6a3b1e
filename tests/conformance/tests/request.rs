//! A step as an HTTP request: method, path, headers, body, with saved values in their places.
//! It never sends it.

use std::collections::BTreeMap;

use http::{Method, Request};
use kube::client::Body;
use serde_json::Value;

use crate::case::Step;

pub type Saved = BTreeMap<String, String>;

/// The text with saved values in the places of their names.
pub fn fill(text: &str, saved: &Saved) -> String {
    saved.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The method and the path of a step, but for kubectl's.
pub fn target(step: &Step) -> Option<(Method, &str)> {
    let choices = [
        (Method::GET, &step.get),
        (Method::POST, &step.post),
        (Method::PUT, &step.put),
        (Method::PATCH, &step.patch),
        (Method::DELETE, &step.delete),
        (Method::GET, &step.watch),
    ];
    choices.into_iter().find_map(|(method, path)| Some((method, path.as_deref()?)))
}

pub fn request(step: &Step, saved: &Saved) -> Request<Body> {
    let (method, path) = target(step).expect("a step has a method");
    let mut builder = Request::builder().method(method).uri(fill(path, saved));
    builder = builder.header("accept", accept(step.accept.as_deref().unwrap_or("json")));
    if let Some(user) = &step.r#as {
        builder = builder.header("impersonate-user", fill(user, saved));
    }
    for group in &step.groups {
        builder = builder.header("impersonate-group", fill(group, saved));
    }
    for (name, value) in &step.headers {
        builder = builder.header(name, fill(value, saved));
    }
    if let Some(token) = step.token.as_deref().filter(|token| !token.is_empty()) {
        builder = builder.header("authorization", format!("Bearer {}", fill(token, saved)));
    }
    let body = step.body.as_ref().map(|body| text(body, saved));
    if body.is_some() {
        builder = builder.header("content-type", content_type(step.r#type.as_deref().unwrap_or("json")));
    }
    let body = Body::from(body.unwrap_or_default().into_bytes());
    builder.body(body).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A body that is a string is sent as it is.
pub fn text(body: &Value, saved: &Saved) -> String {
    match body {
        Value::String(text) => fill(text, saved),
        value => fill(&value.to_string(), saved),
    }
}

fn content_type(name: &str) -> &str {
    match name {
        "json" => "application/json",
        "yaml" => "application/yaml",
        "json-patch" => "application/json-patch+json",
        "merge" => "application/merge-patch+json",
        "strategic" => "application/strategic-merge-patch+json",
        "apply" => "application/apply-patch+yaml",
        other => other,
    }
}

fn accept(name: &str) -> &str {
    match name {
        "json" => "application/json",
        "yaml" => "application/yaml",
        "table" => "application/json;as=Table;v=v1;g=meta.k8s.io",
        "partial" => "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "partial-list" => "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "aggregated" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        other => other,
    }
}

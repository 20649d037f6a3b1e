//! Renders stored objects in the form that a client wants: whole, as a table, or only metadata. The bytes of an object
//! in its storage version are not copied.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::Response;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::call::Params;
use super::respond;
use super::respond::{Accept, Body, Shape};
use crate::kinds::{Conversion, Resource};
use crate::store::Stored;
use crate::{json, table};

/// Size of the chunks of a streamed list.
const CHUNK: usize = 64 << 10;

/// Metadata of a list.
pub(crate) struct ListMeta {
    pub revision: u64,
    pub next: Option<String>,
    pub remaining: Option<usize>,
}

impl ListMeta {
    fn json(&self) -> Value {
        let mut map = Map::new();
        map.insert("resourceVersion".into(), self.revision.to_string().into());
        if let Some(next) = &self.next {
            map.insert("continue".into(), next.clone().into());
        }
        if let Some(remaining) = self.remaining {
            map.insert("remainingItemCount".into(), remaining.into());
        }
        Value::Object(map)
    }

    /// The same for objects. Lists of custom resources always have `continue`.
    fn of_objects(&self, resource: &Resource) -> Value {
        let mut json = self.json();
        if let (Some(_), None, Value::Object(map)) = (&resource.custom, &self.next, &mut json) {
            map.insert("continue".into(), "".into());
        }
        json
    }
}

/// An object's bytes in the resource's version.
pub(crate) fn bytes(resource: &Resource, stored: &Stored) -> Bytes {
    match resource.conversion {
        Conversion::Same => stored.json.clone(),
        _ => json::bytes(&resource.value(stored)).into(),
    }
}

/// Appends the `PartialObjectMetadata` of an object. Its metadata is the same in all versions.
fn put_metadata(buffer: &mut BytesMut, stored: &Stored) {
    buffer.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#);
    buffer.extend_from_slice(stored.metadata());
    buffer.put_u8(b'}');
}

/// The `PartialObjectMetadata` of a value.
pub(crate) fn metadata_only(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_default(),
    })
}

/// Renders tables and metadata of objects.
pub(crate) struct Renderer<'a> {
    pub resource: &'a Resource,
    pub include_object: &'a str,
    pub now: Timestamp,
}

impl Renderer<'_> {
    pub(crate) fn new<'a>(resource: &'a Resource, params: &'a Params) -> Renderer<'a> {
        Renderer { resource, include_object: &params.include_object, now: crate::time::now() }
    }

    pub(crate) fn row(&self, stored: &Stored) -> Value {
        let object = self.resource.value(stored);
        let cells = table::cells(self.resource, &stored.value(), self.now);
        let shown = match self.include_object {
            "None" => Value::Null,
            "Object" => object,
            _ => metadata_only(&object),
        };
        json!({ "cells": cells, "object": shown })
    }

    pub(crate) fn table(&self, with_columns: bool, metadata: Value, rows: Vec<Value>) -> Value {
        let columns = if with_columns { table::columns(self.resource) } else { Value::Null };
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            "columnDefinitions": columns, "rows": rows,
        })
    }

    /// One object, for a watch event or a response.
    pub(crate) fn object(&self, stored: &Stored, shape: Shape, with_columns: bool) -> Bytes {
        match shape {
            Shape::Object => bytes(self.resource, stored),
            Shape::Metadata | Shape::MetadataList => {
                let mut buffer = BytesMut::new();
                put_metadata(&mut buffer, stored);
                buffer.freeze()
            }
            Shape::Table => {
                let metadata = json!({ "resourceVersion": stored.revision.to_string() });
                json::bytes(&self.table(with_columns, metadata, vec![self.row(stored)])).into()
            }
        }
    }
}

/// The response with one object.
pub(crate) fn one(code: u16, resource: &Resource, stored: &Stored, params: &Params, accept: &Accept) -> Response<Body> {
    let bytes = Renderer::new(resource, params).object(stored, accept.shape, true);
    encoded(code, bytes, accept)
}

fn encoded(code: u16, bytes: Bytes, accept: &Accept) -> Response<Body> {
    if accept.yaml {
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        return respond::value(code, &value, accept);
    }
    respond::raw(code, bytes)
}

/// The response with a list.
pub(crate) fn list(
    resource: &Arc<Resource>,
    items: Vec<Arc<Stored>>,
    meta: &ListMeta,
    params: &Params,
    accept: &Accept,
) -> Response<Body> {
    let renderer = Renderer::new(resource, params);
    match accept.shape {
        Shape::Table => {
            let rows = items.iter().map(|o| renderer.row(o)).collect();
            respond::value(200, &renderer.table(true, meta.json(), rows), accept)
        }
        Shape::Metadata | Shape::MetadataList => {
            let head = head("PartialObjectMetadataList", "meta.k8s.io/v1", &meta.json());
            joined(&head, items, accept, put_metadata)
        }
        Shape::Object => {
            let head = head(&resource.list_kind, &resource.api_version(), &meta.of_objects(resource));
            let resource = resource.clone();
            joined(&head, items, accept, move |buffer, item| put_object(buffer, &resource, item))
        }
    }
}

/// The beginning of a list, before its first item.
fn head(kind: &str, api_version: &str, metadata: &Value) -> String {
    let (kind, api_version) = (Value::from(kind), Value::from(api_version));
    format!("{{\"kind\":{kind},\"apiVersion\":{api_version},\"metadata\":{metadata},\"items\":[")
}

fn put_object(buffer: &mut BytesMut, resource: &Resource, item: &Stored) {
    if resource.conversion == Conversion::Same && resource.custom.is_none() {
        // Items of typed lists do not repeat their type.
        buffer.put_u8(b'{');
        buffer.extend_from_slice(item.untyped());
    } else if resource.custom.is_some() {
        buffer.extend_from_slice(&bytes(resource, item));
    } else {
        let mut value = resource.value(item);
        crate::json::object(&mut value).retain(|key, _| !matches!(key.as_str(), "kind" | "apiVersion"));
        buffer.extend_from_slice(&crate::json::bytes(&value));
    }
}

/// A list of objects, which is streamed so that it is never in memory as a whole, except as YAML.
fn joined(
    head: &str,
    items: Vec<Arc<Stored>>,
    accept: &Accept,
    put: impl Fn(&mut BytesMut, &Stored) + Send + 'static,
) -> Response<Body> {
    let mut first = BytesMut::from(head.as_bytes());
    let mut items = items.into_iter().enumerate();
    let mut done = false;
    let mut chunk = move || {
        let mut buffer = std::mem::take(&mut first);
        while buffer.len() < CHUNK && !done {
            match items.next() {
                Some((index, item)) => {
                    if index > 0 {
                        buffer.put_u8(b',');
                    }
                    put(&mut buffer, &item);
                }
                None => {
                    buffer.extend_from_slice(b"]}\n");
                    done = true;
                }
            }
        }
        (!buffer.is_empty()).then(|| buffer.freeze())
    };
    if accept.yaml {
        let whole = std::iter::from_fn(chunk).collect::<Vec<_>>().concat();
        return encoded(200, whole.into(), accept);
    }
    let opening = chunk().unwrap_or_default();
    match chunk() {
        // Small lists are sent in one piece, with a length.
        None => respond::raw(200, opening),
        Some(second) => {
            let rest = std::iter::from_fn(chunk);
            let all = [opening, second].into_iter().chain(rest);
            respond::stream(futures::stream::iter(all.map(Ok)))
        }
    }
}

//! POST, PUT and PATCH of objects.
//!
//! Never holds the store's lock while it computes: what it read is checked again when it is written.

use std::sync::Arc;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, Request, Response};
use hyper::body::Incoming;
use serde_json::Value;

use super::negotiate::Accept;
use super::params::Params;
use super::respond::Body;
use super::{body, render};
use crate::json;
use crate::kinds::{Resource, Sub};
use crate::lifecycle::update::Origin;
use crate::lifecycle::{Context, commit, create as creation, update};
use crate::patch;
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::{Stored, key};

/// How often a generated name is tried.
const NAME_ATTEMPTS: usize = 8;
/// How often a patch without a resourceVersion starts over when others write the same object.
const PATCH_ATTEMPTS: usize = 100;

/// Who writes: the fieldManager parameter, or the client's name from its User-Agent.
pub(crate) fn context(params: &Params, headers: &HeaderMap) -> Context {
    let manager = if params.field_manager.is_empty() {
        let agent = headers
            .get(USER_AGENT)
            .and_then(|v| v.to_str().ok())
            .unwrap_or("unknown");
        agent
            .split('/')
            .next()
            .unwrap_or(agent)
            .chars()
            .take(128)
            .collect()
    } else {
        params.field_manager.clone()
    };
    Context {
        now: crate::time::now(),
        manager,
        dry_run: params.dry_run,
    }
}

pub(crate) async fn create(
    shared: &Shared,
    request: Request<Incoming>,
    resource: &Arc<Resource>,
    namespace: &str,
    params: &Params,
    accept: &Accept,
) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let context = context(params, request.headers());
    let bytes = body::read(request, shared.options.max_body_bytes).await?;
    let object = body::object(&bytes, &media, &resource.kind)?;
    let stored = insert(shared, resource, namespace, object, &context)?;
    Ok(render::one(201, resource, &stored, params, accept))
}

/// Creates an object, trying again when a generated name is taken.
fn insert(
    shared: &Shared,
    resource: &Resource,
    namespace: &str,
    object: Value,
    context: &Context,
) -> Result<Arc<Stored>, Failure> {
    let generated = json::text(&object, &["metadata", "name"]).is_empty()
        && !json::text(&object, &["metadata", "generateName"]).is_empty();
    let mut attempts = if generated { NAME_ATTEMPTS } else { 1 };
    loop {
        attempts -= 1;
        let mut candidate = if attempts == 0 && !generated {
            object.clone()
        } else {
            object.clone()
        };
        creation::prepare(resource, &mut candidate, namespace, context)?;
        match commit::insert(shared, resource, candidate, context) {
            Err(failure) if attempts > 0 && failure.reason() == "AlreadyExists" => {}
            result => return result,
        }
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one request, seen from all sides"
)]
pub(crate) async fn put(
    shared: &Shared,
    request: Request<Incoming>,
    resource: &Arc<Resource>,
    namespace: &str,
    name: &str,
    sub: Option<Sub>,
    params: &Params,
    accept: &Accept,
) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let context = context(params, request.headers());
    let bytes = body::read(request, shared.options.max_body_bytes).await?;
    let object = body::object(&bytes, &media, &resource.kind)?;
    let key = key(namespace, name);
    loop {
        let Some(current) = shared.store.get(&resource.storage, &key) else {
            if resource.create_on_update && sub.is_none() {
                let stored = insert_at(shared, resource, namespace, name, object, &context)?;
                return Ok(render::one(201, resource, &stored, params, accept));
            }
            return Err(Failure::not_found(resource.gr(), name));
        };
        let old = current.value();
        let mut new = object.clone();
        update::prepare(resource, &old, &mut new, sub, Origin::Put, &context)?;
        if let Ok(stored) = write(shared, resource, &current, &old, new, &context) {
            return Ok(render::one(200, resource, &stored, params, accept));
        }
    }
}

fn insert_at(
    shared: &Shared,
    resource: &Resource,
    namespace: &str,
    name: &str,
    object: Value,
    context: &Context,
) -> Result<Arc<Stored>, Failure> {
    let given = json::text(&object, &["metadata", "name"]);
    if given != name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    insert(shared, resource, namespace, object, context)
}

/// Commits `new` unless nothing changed.
fn write(
    shared: &Shared,
    resource: &Resource,
    current: &Arc<Stored>,
    old: &Value,
    new: Value,
    context: &Context,
) -> Result<Arc<Stored>, commit::Lost> {
    if *old == new {
        return Ok(current.clone());
    }
    commit::replace(shared, resource, current, new, context)
}

/// The kinds of patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    fn of(media: &str, resource: &Resource) -> Result<Self, Failure> {
        match media {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if resource.custom.is_none() => {
                Ok(Self::Strategic)
            }
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => {
                let mut accepted = vec![
                    "application/json-patch+json",
                    "application/merge-patch+json",
                ];
                if resource.custom.is_none() {
                    accepted.push("application/strategic-merge-patch+json");
                }
                accepted.extend([
                    "application/apply-patch+yaml",
                    "application/apply-patch+cbor",
                ]);
                Err(Failure::unsupported_media(&accepted))
            }
        }
    }
}

fn decode_patch(kind: PatchType, bytes: &Bytes) -> Result<Value, Failure> {
    let value: Value = match kind {
        PatchType::Apply => body::yaml(bytes)
            .map_err(|e| Failure::bad_request(format!("error decoding YAML: {e}")))?,
        _ => serde_json::from_slice(bytes)
            .map_err(|e| Failure::bad_request(format!("error decoding patch: {e}")))?,
    };
    if kind != PatchType::Json && !value.is_object() {
        return Err(Failure::bad_request(
            "error decoding patch: the document is not an object",
        ));
    }
    Ok(value)
}

#[expect(
    clippy::too_many_arguments,
    reason = "one request, seen from all sides"
)]
pub(crate) async fn patch(
    shared: &Shared,
    request: Request<Incoming>,
    resource: &Arc<Resource>,
    namespace: &str,
    name: &str,
    sub: Option<Sub>,
    params: &Params,
    accept: &Accept,
) -> Result<Response<Body>, Failure> {
    let kind = PatchType::of(&body::media_type(&request), resource)?;
    let context = context(params, request.headers());
    let bytes = body::read(request, shared.options.max_body_bytes).await?;
    let patch = decode_patch(kind, &bytes)?;
    let key = key(namespace, name);
    for _ in 0..PATCH_ATTEMPTS {
        let Some(current) = shared.store.get(&resource.storage, &key) else {
            return Err(Failure::not_found(resource.gr(), name));
        };
        let old = current.value();
        let mut new = patched(resource, &current, kind, &patch)?;
        update::prepare(resource, &old, &mut new, sub, Origin::Patch, &context)?;
        if let Ok(stored) = write(shared, resource, &current, &old, new, &context) {
            return Ok(render::one(200, resource, &stored, params, accept));
        }
    }
    Err(Failure::modified(resource.gr(), name))
}

/// The current object in the resource's version, with the patch applied.
fn patched(
    resource: &Resource,
    current: &Stored,
    kind: PatchType,
    patch: &Value,
) -> Result<Value, Failure> {
    let mut object = resource.value(current);
    match kind {
        PatchType::Json => patch::json::apply(&mut object, patch)?,
        PatchType::Merge => patch::merge::apply(&mut object, patch),
        PatchType::Strategic => patch::merge::apply(&mut object, patch),
        PatchType::Apply => {}
    }
    Ok(object)
}

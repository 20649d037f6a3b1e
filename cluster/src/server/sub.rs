//! Subresources: status, scale, eviction, binding, finalize.
//!
//! Never serves a subresource that the kind's table does not list.

use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;

use super::negotiate::Accept;
use super::params::Params;
use super::respond::Body;
use super::route::ResourcePath;
use super::{list, write};
use crate::kinds::{Resource, Sub};
use crate::shared::Shared;
use crate::status::Failure;

pub(crate) async fn handle(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    resource: &Arc<Resource>,
    path: &ResourcePath,
    sub: Sub,
    params: &Params,
    accept: &Accept,
) -> Result<Response<Body>, Failure> {
    let namespace = path.namespace.as_deref().unwrap_or_default();
    let Some(name) = path.name.as_deref() else {
        return Err(Failure::no_such_path());
    };
    match (sub, request.method().clone()) {
        (Sub::Status, Method::GET) => list::get(shared, resource, namespace, name, params, accept),
        (Sub::Status, Method::PUT) => {
            write::put(
                shared,
                request,
                resource,
                namespace,
                name,
                Some(sub),
                params,
                accept,
            )
            .await
        }
        (Sub::Status, Method::PATCH) => {
            write::patch(
                shared,
                request,
                resource,
                namespace,
                name,
                Some(sub),
                params,
                accept,
            )
            .await
        }
        _ => Err(Failure::method_not_allowed()),
    }
}

/// Resources that exist only as requests.
pub(crate) async fn virtual_resource(
    _shared: &Arc<Shared>,
    _request: Request<Incoming>,
    _path: &ResourcePath,
    _accept: &Accept,
) -> Result<Response<Body>, Failure> {
    Err(Failure::no_such_path())
}

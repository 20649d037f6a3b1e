//! The HTTP side: connections, routing, bodies, content negotiation, answers.
//!
//! Never decides what an object may look like; `lifecycle` and `validate` do.

mod body;
mod delete;
mod documents;
mod list;
mod negotiate;
mod params;
mod render;
mod respond;
mod route;
mod sub;
mod watch;
mod write;

use std::convert::Infallible;
use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::kinds::Sub;
use crate::shared::Shared;
use crate::status::Failure;
use negotiate::Accept;
use params::Params;
use respond::Body;
use route::{ResourcePath, Route};

/// Accepts connections until `stop`, then cuts those that are left.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(connection(stream, shared.clone())); }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    // Out of file descriptors: trying again at once would spin.
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set nodelay");
    }
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(&shared, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(2048);
    if let Err(error) = builder
        .serve_connection(TokioIo::new(stream), service)
        .await
    {
        tracing::debug!(%error, "connection ended");
    }
}

async fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Body> {
    handle(shared, request)
        .await
        .unwrap_or_else(|failure| respond::failure(&failure))
}

async fn handle(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    let accept = Accept::parse(request.headers())?;
    match route::parse(request.uri().path()) {
        Route::Resource(path) => resource(shared, request, path, &accept).await,
        Route::Document(document) => {
            if !matches!(*request.method(), Method::GET | Method::HEAD) {
                return Err(Failure::method_not_allowed());
            }
            documents::answer(shared, &document, request.headers())
        }
        Route::Nothing => Ok(respond::plain(404, "404 page not found\n")),
    }
}

async fn resource(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    path: ResourcePath,
    accept: &Accept,
) -> Result<Response<Body>, Failure> {
    let params = Params::parse(request.uri().query().unwrap_or_default())?;
    let registry = shared.registry();
    let Some(resource) = registry.find(&path.group, &path.version, &path.plural) else {
        return sub::virtual_resource(shared, request, &path, accept).await;
    };
    if path.namespace.is_some() && !resource.namespaced {
        return Err(Failure::no_such_path());
    }
    if let Some(sub) = &path.subresource {
        let known = resource.subresources.iter().find(|s| s.name() == sub);
        let sub = *known.ok_or_else(Failure::no_such_path)?;
        return sub::handle(shared, request, resource, &path, sub, &params, accept).await;
    }
    if resource.namespaced && path.namespace.is_none() && path.name.is_some() {
        return Err(Failure::no_such_path());
    }
    let method = request.method().clone();
    let namespace = path.namespace.as_deref().unwrap_or_default();
    match (method, path.name.as_deref()) {
        (Method::GET, None) if params.watch => {
            watch::start(shared, resource, namespace, None, &params, accept)
        }
        (Method::GET, None) => list::list(shared, resource, namespace, &params, accept),
        (Method::GET, Some(name)) if params.watch => {
            watch::start(shared, resource, namespace, Some(name), &params, accept)
        }
        (Method::GET, Some(name)) => list::get(shared, resource, namespace, name, &params, accept),
        (Method::POST, None) if resource.namespaced && path.namespace.is_none() => {
            Err(Failure::method_not_allowed())
        }
        (Method::POST, None) => {
            write::create(shared, request, resource, namespace, &params, accept).await
        }
        (Method::PUT, Some(name)) => {
            write::put(
                shared, request, resource, namespace, name, None, &params, accept,
            )
            .await
        }
        (Method::PATCH, Some(name)) => {
            write::patch(
                shared, request, resource, namespace, name, None, &params, accept,
            )
            .await
        }
        (Method::DELETE, Some(name)) => {
            delete::one(shared, request, resource, namespace, name, &params, accept).await
        }
        (Method::DELETE, None) if resource.verbs().contains(&"deletecollection") => {
            delete::collection(shared, request, resource, namespace, &params, accept).await
        }
        _ => Err(Failure::method_not_allowed()),
    }
}

/// The subresource that a write goes to, as managed fields record it.
fn sub_name(sub: Option<Sub>) -> &'static str {
    sub.map_or("", Sub::name)
}

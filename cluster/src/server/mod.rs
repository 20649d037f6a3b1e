//! The HTTP server: connections, routing, bodies, content negotiation, responses. `lifecycle` and `validate` decide
//! which objects are valid.

mod admit;
pub(crate) mod body;
mod call;
mod delete;
mod list;
mod pages;
mod render;
pub(crate) mod respond;
mod reviews;
mod route;
mod sub;
pub(crate) mod watch;
pub(crate) mod write;

use std::convert::Infallible;
use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::respond::Accept;
use self::route::{ResourcePath, Route};
use crate::auth::User;
use crate::shared::Shared;
use crate::status::Failure;
use crate::{auth, tls};

pub(crate) use call::{Call, Params, warn};
pub(crate) use delete::admitted;
pub(crate) use respond::Body;

/// The real server's text outside of its API groups.
const NO_PAGE: &str = "404 page not found\n";

/// Accepts connections until `stop`, and then closes the remaining ones.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(connection(stream, shared.clone())); }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    // The process may have no free file descriptors, and an immediate retry would spin.
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
    let over_tls = match tls::starts(&stream).await {
        Ok(over_tls) => over_tls,
        Err(error) => return tracing::debug!(%error, "connection ended"),
    };
    if !over_tls {
        return requests(stream, shared).await;
    }
    match shared.tls.acceptor().accept(stream).await {
        Ok(stream) => requests(stream, shared).await,
        Err(error) => tracing::debug!(%error, "cannot agree on TLS"),
    }
}

async fn requests(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, shared: Arc<Shared>) {
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(&shared, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(2048);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "connection ended");
    }
}

async fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Body> {
    handle(shared, request).await.unwrap_or_else(|failure| respond::failure(&failure))
}

async fn handle(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    pages::refuse(request.uri(), request.headers())?;
    let user = auth::admit(&shared.auth, &shared.store, request.method(), request.uri(), request.headers())?;
    match route::parse(request.uri().path()) {
        Route::Resource(path) => {
            let accept = Accept::parse(request.headers(), path.name.is_none())?;
            let deprecated = deprecation(&path);
            let answer = resource(shared, request, path, &accept, &user).await;
            let answer =
                answer.unwrap_or_else(|failure| call::warn(respond::failure_as(&failure, &accept), failure.warnings()));
            Ok(call::warn(answer, deprecated))
        }
        Route::Document(path) => {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let reads = matches!(*request.method(), Method::GET | Method::HEAD);
            match route::answer(shared, &path, request.uri().query().unwrap_or_default(), request.headers()) {
                Ok(None) => Ok(respond::plain(404, NO_PAGE)),
                _ if !reads => Err(Failure::method_not_allowed()),
                Ok(Some(answer)) => Ok(answer),
                Err(failure) => Err(failure),
            }
        }
    }
}

/// The warnings in every response of a deprecated resource.
fn deprecation(path: &ResourcePath) -> &'static [&'static str] {
    match (path.group.as_str(), path.plural.as_str()) {
        ("", "endpoints") => &["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"],
        ("", "componentstatuses") => &["v1 ComponentStatus is deprecated in v1.19+"],
        _ => &[],
    }
}

async fn resource(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    path: ResourcePath,
    accept: &Accept,
    user: &User,
) -> Result<Response<Body>, Failure> {
    let mut params = Params::parse(request.uri().query().unwrap_or_default())?;
    // A single object can be watched only by the old path; the parameter is for collections.
    params.watch = path.watch || params.watch && path.name.is_none();
    let registry = shared.registry();
    let review = reviews::at_path(&shared.schema, &path.group, &path.version, &path.plural);
    let Some(resource) = registry.find(&path.group, &path.version, &path.plural).or(review.as_ref()) else {
        if !path.group.is_empty() && !registry.has_group(&path.group) {
            return Ok(respond::plain(404, NO_PAGE));
        }
        return Err(Failure::no_such_path());
    };
    if path.namespace.is_some() && !resource.namespaced {
        return Err(Failure::no_such_path());
    }
    if resource.namespaced && path.namespace.is_none() && path.name.is_some() {
        return Err(Failure::no_such_path());
    }
    let mut call = Call {
        shared,
        resource,
        namespace: path.namespace.as_deref().unwrap_or_default(),
        name: path.name.as_deref().unwrap_or_default(),
        sub: None,
        params: &params,
        accept,
        user,
    };
    if let Some(sub) = &path.subresource {
        let known = resource.subresources.iter().find(|s| s.name() == sub);
        let missing = || match &resource.custom {
            Some(_) => Failure::not_found(resource.gr(), call.name),
            None => Failure::no_such_path(),
        };
        call.sub = Some(*known.ok_or_else(missing)?);
        return sub::handle(&call, request).await;
    }
    if review.is_some() {
        return reviews::handle(&call, request).await;
    }
    let method = request.method().clone();
    match (method, path.name.is_some()) {
        (Method::GET, _) if params.watch => watch::start(&call).await,
        (Method::GET, false) => list::list(&call).await,
        (Method::GET, true) => list::get(&call).await,
        (Method::POST, false) if resource.namespaced && path.namespace.is_none() => Err(Failure::method_not_allowed()),
        (Method::POST, false) => write::create(&call, request).await,
        (Method::PUT, true) => write::put(&call, request).await,
        (Method::PATCH, true) => write::patch(&call, request).await,
        (Method::DELETE, true) => delete::one(&call, request).await,
        (Method::DELETE, false) if resource.namespaced && path.namespace.is_none() => {
            Err(Failure::method_not_allowed())
        }
        (Method::DELETE, false) if resource.verbs().contains(&"deletecollection") => {
            delete::collection(&call, request).await
        }
        _ => Err(Failure::method_not_allowed()),
    }
}

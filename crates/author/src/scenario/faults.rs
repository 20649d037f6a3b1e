//! Faults of a scenario: the operator's client receives them instead of the API server's responses. They do not affect
//! the scenario's admin.

use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

/// The verbs of calls, as in the log of writes.
pub(super) const VERBS: [&str; 5] = ["get", "create", "update", "patch", "delete"];
/// Possible status codes, with the API server's reasons.
pub(super) const ANSWERS: [(u16, &str); 9] = [
    (400, "BadRequest"),
    (403, "Forbidden"),
    (404, "NotFound"),
    (409, "Conflict"),
    (413, "RequestEntityTooLarge"),
    (422, "Invalid"),
    (429, "TooManyRequests"),
    (500, "InternalError"),
    (503, "ServiceUnavailable"),
];

/// Faults that are still to come.
#[derive(Clone, Default)]
pub(super) struct Faults(Arc<Mutex<Vec<Armed>>>);

/// The next `left` calls of one kind receive this response.
#[derive(Debug)]
pub(super) struct Armed {
    pub verb: &'static str,
    /// Path of the object. Its last segment is the object's name.
    pub path: String,
    pub answer: u16,
    pub left: usize,
}

impl Faults {
    pub fn arm(&self, fault: Armed) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// A client with faults, which otherwise works like `client`.
    pub fn client(&self, client: kube::Client) -> kube::Client {
        let (faults, namespace) = (self.clone(), client.default_namespace().to_owned());
        let send = move |request: Request<Body>| {
            let (client, faults) = (client.clone(), faults.clone());
            async move {
                let (request, path) = addressed(request).await?;
                match faults.strike(request.method(), &path) {
                    Some((code, path)) => Ok(answer(code, request.method(), &path)),
                    None => client.send(request).await,
                }
            }
        };
        kube::Client::new(service_fn(send), namespace)
    }

    fn strike(&self, method: &Method, path: &str) -> Option<(u16, String)> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let verb = verb(method)?;
        let fault = faults.iter_mut().find(|fault| fault.left > 0 && fault.verb == verb && fault.path == path)?;
        fault.left -= 1;
        Some((fault.answer, fault.path.clone()))
    }
}

fn verb(method: &Method) -> Option<&'static str> {
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    methods.iter().zip(VERBS).find(|(known, _)| *known == method).map(|(_, verb)| verb)
}

/// A request, and the path of its object. For a request that creates, the name is in the body.
async fn addressed(request: Request<Body>) -> Result<(Request<Body>, String), kube::Error> {
    let path = request.uri().path().to_owned();
    if request.method() != Method::POST {
        return Ok((request, path));
    }
    let (parts, body) = request.into_parts();
    let body = body.collect_bytes().await?;
    let object: Value = serde_json::from_slice(&body).unwrap_or_default();
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Ok((Request::from_parts(parts, Body::from(body)), format!("{path}/{name}")))
}

fn answer(code: u16, method: &Method, path: &str) -> Response<Body> {
    let known = ANSWERS.iter().find(|(known, _)| *known == code).map_or("", |(_, reason)| reason);
    let reason = if code == 409 && method == Method::POST { "AlreadyExists" } else { known };
    let message = format!("{code} for {path}, as the scenario requests");
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": message, "code": code,
    });
    let mut response = Response::new(Body::from(status.to_string().into_bytes()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

//! The client that all services share. It counts every request and notes the answer. It never changes either.

use std::{sync::Arc, time::Instant};

use boathook_core::model::error_chain;
use http::Request;
use kube::client::Body;
use tower::service_fn;

use super::contact::Contact;
use crate::telemetry::Metrics;

/// Returns a client that counts the requests that go through it.
pub(super) fn counted(client: kube::Client, metrics: Arc<Metrics>, contact: Contact) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    let send = move |request: Request<Body>| {
        let (client, metrics, begun) = (client.clone(), metrics.clone(), Instant::now());
        let asked = contact.asks();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        async move {
            let answer = client.send(request).await;
            match &answer {
                Ok(_) => asked.answered(),
                Err(error) => asked.failed(|| error_chain(error)),
            }
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.api_request(method.as_str(), &path, code, begun.elapsed());
            answer
        }
    };
    kube::Client::new(service_fn(send), namespace)
}

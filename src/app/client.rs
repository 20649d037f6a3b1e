//! The client that all stages share, with every request counted. Never changes a request or an answer.

use std::{sync::Arc, time::Instant};

use http::Request;
use kube::client::Body;
use tower::service_fn;

use crate::telemetry::Metrics;

/// The same client; what goes through this one is counted.
pub(super) fn counted(client: kube::Client, metrics: Arc<Metrics>) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    let send = move |request: Request<Body>| {
        let (client, metrics, begun) = (client.clone(), metrics.clone(), Instant::now());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        async move {
            let answer = client.send(request).await;
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.api_request(method.as_str(), &path, code, begun.elapsed());
            answer
        }
    };
    kube::Client::new(service_fn(send), namespace)
}

//! Webhooks for admission and conversion, called over TLS by service and by URL.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boathook_cluster::Options;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::support::{Fixture, start_with};

/// A webhook server with this name in its certificate; gives its address and its bundle.
pub async fn webhook(name: &str, answer: fn(&Value) -> Value) -> (SocketAddr, String) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = builder.with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(move |request| async move { respond(request, answer).await });
                let server = hyper::server::conn::http1::Builder::new();
                let _ended = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    (address, STANDARD.encode(made.cert.pem()))
}

async fn respond(request: Request<Incoming>, answer: fn(&Value) -> Value) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let mut response = answer(&review);
    response["uid"] = review["request"]["uid"].clone();
    let review = json!({ "kind": review["kind"], "apiVersion": review["apiVersion"], "response": response });
    Ok(Response::new(Full::new(Bytes::from(review.to_string()))))
}

async fn configure(fixture: &Fixture, kind: &str, client: Value) {
    let hook = json!({
        "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": client,
        "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"] }],
    });
    let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations");
    let (code, body) = fixture.post(&path, json!({ "metadata": { "name": "c" }, "webhooks": [hook] })).await;
    assert_eq!(code, 201, "{body}");
}

fn map(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "data": { "k": "v" } })
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn a_service_is_called_where_the_options_say() {
    let deny = |review: &Value| {
        let bad = review["request"]["name"] == "bad";
        json!({ "allowed": !bad, "status": { "message": "not this one", "code": 403 } })
    };
    let (address, bundle) = webhook("hook.tools.svc", deny).await;
    let fixture = start_with(Options::default().service("tools", "hook", address)).await;
    let client = json!({ "service": { "namespace": "tools", "name": "hook", "path": "/x" }, "caBundle": bundle });
    configure(&fixture, "validating", client).await;
    let (code, body) = fixture.post(MAPS, map("bad")).await;
    let message = "admission webhook \"a.example.com\" denied the request: not this one";
    assert_eq!((code, body["message"].as_str()), (403, Some(message)));
    assert_eq!(fixture.post(MAPS, map("good")).await.0, 201);
}

#[tokio::test]
async fn a_service_is_found_by_its_endpoint_slices() {
    let label = |_: &Value| {
        let patch = json!([{ "op": "add", "path": "/metadata/labels", "value": { "seen": "yes" } }]);
        json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string()) })
    };
    let (address, bundle) = webhook("hook.default.svc", label).await;
    let fixture = start_with(Options::default()).await;
    let client = json!({ "service": { "namespace": "default", "name": "hook" }, "caBundle": bundle });
    configure(&fixture, "mutating", client).await;
    let (code, body) = fixture.post(MAPS, map("a")).await;
    assert_eq!(code, 500);
    assert!(body["message"].as_str().unwrap().ends_with("service \"hook\" not found"), "{body}");
    let service = json!({ "metadata": { "name": "hook" }, "spec": { "ports": [{ "name": "tls", "port": 443 }] } });
    assert_eq!(fixture.post("/api/v1/namespaces/default/services", service).await.0, 201);
    let slice = json!({
        "metadata": { "name": "hook-1", "labels": { "kubernetes.io/service-name": "hook" } }, "addressType": "IPv4",
        "endpoints": [{ "addresses": ["127.0.0.1"] }], "ports": [{ "name": "tls", "port": address.port() }],
    });
    let (code, body) = fixture.post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice).await;
    assert_eq!(code, 201, "{body}");
    let (code, body) = fixture.post(MAPS, map("a")).await;
    assert_eq!((code, &body["metadata"]["labels"]["seen"]), (201, &json!("yes")), "{body}");
}

#[tokio::test]
async fn a_webhook_that_is_gone_is_ignored_only_where_it_may_be() {
    let (address, bundle) = webhook("localhost", |_| json!({ "allowed": true })).await;
    let fixture = start_with(Options::default()).await;
    let client = json!({ "url": format!("https://127.0.0.1:{}/", address.port()), "caBundle": bundle });
    configure(&fixture, "validating", client).await;
    // The certificate is for another name.
    let (code, body) = fixture.post(MAPS, map("a")).await;
    assert_eq!((code, &body["reason"]), (500, &json!("InternalError")));
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/c";
    let ignore = json!([{ "op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore" }]);
    assert_eq!(fixture.patch(path, "json", ignore).await.0, 200);
    assert_eq!(fixture.post(MAPS, map("a")).await.0, 201);
}

#[tokio::test]
async fn custom_objects_are_converted_on_the_way_in_and_out() {
    let convert = |review: &Value| {
        let to = review["request"]["desiredAPIVersion"].clone();
        let (from, into) = if to == "example.com/v1" { ("width", "size") } else { ("size", "width") };
        let convert = |object: &Value| {
            let mut object = object.clone();
            object["apiVersion"] = to.clone();
            let value = object["spec"][from].take();
            object["spec"] = json!({ into: value });
            object
        };
        let objects = review["request"]["objects"].as_array().unwrap();
        let converted: Vec<Value> = objects.iter().map(convert).collect();
        json!({ "result": { "status": "Success" }, "convertedObjects": converted })
    };
    let (address, bundle) = webhook("127.0.0.1", convert).await;
    let fixture = start_with(Options::default()).await;
    let version = |name: &str, stored: bool, field: &str| {
        let spec = json!({ "type": "object", "properties": { field: { "type": "integer" } } });
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        json!({ "name": name, "served": true, "storage": stored, "schema": { "openAPIV3Schema": schema } })
    };
    let client = json!({ "url": format!("https://{address}/"), "caBundle": bundle });
    let definition = json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [version("v1", true, "size"), version("v2", false, "width")],
            "conversion": {
                "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": client },
            },
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, body) = fixture.post(path, definition).await;
    assert_eq!(code, 201, "{body}");
    let path = |version: &str| format!("/apis/example.com/{version}/namespaces/default/widgets");
    let object = json!({ "apiVersion": "example.com/v2", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "width": 3 } });
    let (code, body) = fixture.post(&path("v2"), object).await;
    assert_eq!((code, &body["spec"]), (201, &json!({ "width": 3 })), "{body}");
    let (_, body) = fixture.get(&format!("{}/w", path("v1"))).await;
    assert_eq!((&body["apiVersion"], &body["spec"]), (&json!("example.com/v1"), &json!({ "size": 3 })));
    let (_, body) = fixture.get(&path("v2")).await;
    assert_eq!(body["items"][0]["spec"], json!({ "width": 3 }));
}

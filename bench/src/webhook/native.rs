//! The yardstick: a webhook in native Rust as somebody who knows kube-rs, axum and rustls would write it by hand,
//! without deadlines, shares, bounds or renewal of certificates. The rule of `image-policy` is the hook's own code,
//! compiled natively.

#[path = "../../../hooks-wasm/image-policy/src/image.rs"]
mod image;

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use futures::{StreamExt as _, future};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api,
    core::{
        DynamicObject,
        admission::{AdmissionRequest, AdmissionResponse, AdmissionReview},
    },
    runtime::{
        WatchStreamExt as _,
        reflector::{self, ObjectRef, Store},
        watcher::{self, watcher},
    },
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use super::{NOOP, POLICIES, POLICY, SERVED};
use crate::bare;

type Answer = Result<Json<AdmissionReview<DynamicObject>>, StatusCode>;

/// Serves with the certificate in a directory, until it is killed.
pub async fn serve(kubeconfig: &str, certificates: &Path) -> Result<()> {
    let policies: Api<ConfigMap> = Api::all(bare::connect(kubeconfig).await?);
    let (store, writer) = reflector::store();
    let only = watcher::Config::default().fields(&format!("metadata.name={POLICIES}"));
    let follow = reflector::reflector(writer, watcher(policies, only).default_backoff());
    tokio::spawn(follow.for_each(|_| future::ready(())));
    store.wait_until_ready().await?;

    let acceptor = TlsAcceptor::from(Arc::new(tls(certificates)?));
    let router = Router::new().route(NOOP, post(allow)).route(POLICY, post(check)).with_state(store);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    eprintln!("{}", serde_json::json!({"message": SERVED, "listen": listener.local_addr()?.to_string()}));
    println!("ready");
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(answer(stream, acceptor.clone(), router.clone()));
    }
}

fn tls(dir: &Path) -> Result<ServerConfig> {
    let chain = vec![CertificateDer::from_pem_file(dir.join("tls.crt"))?];
    let key = PrivateKeyDer::from_pem_file(dir.join("tls.key"))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    builder.with_single_cert(chain, key).context("the certificate cannot be used")
}

async fn answer(stream: TcpStream, acceptor: TlsAcceptor, router: Router) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = TokioIo::new(acceptor.accept(stream).await?);
    let builder = auto::Builder::new(TokioExecutor::new());
    let served = builder.serve_connection(stream, TowerToHyperService::new(router)).await;
    served.map_err(|error| anyhow::anyhow!(error))
}

async fn allow(Json(review): Json<AdmissionReview<DynamicObject>>) -> Answer {
    let request: AdmissionRequest<DynamicObject> = review.try_into().map_err(|_| StatusCode::BAD_REQUEST)?;
    Ok(Json(AdmissionResponse::from(&request).into_review()))
}

async fn check(State(policies): State<Store<ConfigMap>>, Json(review): Json<AdmissionReview<Pod>>) -> Answer {
    let request: AdmissionRequest<Pod> = review.try_into().map_err(|_| StatusCode::BAD_REQUEST)?;
    let response = AdmissionResponse::from(&request);
    let namespace = request.namespace.as_deref().unwrap_or_default();
    let of = |place: &str| policies.get(&ObjectRef::new(POLICIES).within(place));
    let Some(policy) = of(namespace).or_else(|| of("default")) else { return Ok(Json(response.into_review())) };
    let places = policy.data.as_ref().and_then(|data| data.get("registries")).map(String::as_str).unwrap_or_default();
    let (now, known) = (images(request.object.as_ref()), images(request.old_object.as_ref()));
    let refused = now.into_iter().filter(|image| !known.contains(image) && !image::is_allowed(image, places));
    let texts: Vec<_> = refused.map(|image| format!("image {image} is not allowed in namespace {namespace}")).collect();
    let response = if texts.is_empty() { response } else { response.deny(texts.join("; ")) };
    Ok(Json(response.into_review()))
}

fn images(pod: Option<&Pod>) -> Vec<&str> {
    let Some(spec) = pod.and_then(|pod| pod.spec.as_ref()) else { return Vec::new() };
    let main = spec.containers.iter().map(|container| &container.image);
    let init = spec.init_containers.iter().flatten().map(|container| &container.image);
    let later = spec.ephemeral_containers.iter().flatten().map(|container| &container.image);
    main.chain(init).chain(later).flatten().map(String::as_str).collect()
}

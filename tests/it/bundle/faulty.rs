//! A registry that fails in the way that a test chooses, because a real one cannot be made to do so.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Response, StatusCode, header},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_bundle::{Digest, Packed, Place};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde_json::json;

use super::registry::plain;

/// What goes wrong.
#[derive(Default, Clone)]
pub struct Faults {
    /// So many answers with a layer are cut in their middle.
    pub cuts: usize,
    /// Ranges are ignored.
    pub no_ranges: bool,
    /// Blobs end with other bytes.
    pub changed: bool,
    /// Blobs go on after their end.
    pub longer: bool,
    /// A token is needed, which this user (`name:password`) gets.
    pub bearer: Option<&'static str>,
    /// Blobs are elsewhere.
    pub redirect: Option<String>,
    /// The manifest never ends.
    pub endless: bool,
}

pub struct Faulty {
    pub host: String,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Contents {
    manifest: Bytes,
    /// What refers to the manifest.
    referrers: Vec<serde_json::Value>,
    blobs: BTreeMap<String, Bytes>,
}

impl Contents {
    fn of(packed: &Packed) -> Self {
        let blobs = packed.blobs.iter().map(|(digest, bytes)| (digest.to_string(), bytes.clone())).collect();
        Self { manifest: packed.bytes.clone(), referrers: Vec::new(), blobs }
    }
}

struct Shared {
    packed: Mutex<Contents>,
    faults: Mutex<Faults>,
    host: Mutex<String>,
    log: Mutex<Vec<String>>,
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Faulty {
    pub async fn start(packed: &Packed, faults: Faults) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            packed: Mutex::new(Contents::of(packed)),
            faults: Mutex::new(faults),
            host: Mutex::new(host.clone()),
            log: Mutex::default(),
        });
        let app = Router::new().fallback(answer).with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { host, shared, task }
    }

    pub fn place(&self, config: &str) -> Place {
        Place::registry(&format!("{}/x:v1", self.host).parse().unwrap(), &plain(config)).unwrap()
    }

    /// It has another bundle from now on, and other faults.
    pub fn becomes(&self, packed: &Packed, faults: Faults) {
        *self.shared.packed.lock().unwrap() = Contents::of(packed);
        *self.shared.faults.lock().unwrap() = faults;
    }

    /// It lists Sigstore bundles that refer to its manifest from now on, each with so many bytes more than it has.
    pub fn refers(&self, more: usize, bundles: impl IntoIterator<Item = serde_json::Value>) {
        let kind = "application/vnd.dev.sigstore.bundle.v0.3+json";
        let mut contents = self.shared.packed.lock().unwrap();
        for bundle in bundles {
            let mut put = |value: serde_json::Value, kind: &str| {
                let bytes = Bytes::from(value.to_string());
                let digest = Digest::of(&bytes).to_string();
                let entry = json!({"mediaType": kind, "digest": digest, "size": bytes.len()});
                contents.blobs.insert(digest, bytes);
                entry
            };
            let manifest = "application/vnd.oci.image.manifest.v1+json";
            let config = put(json!({}), "application/vnd.oci.empty.v1+json");
            let mut layer = put(bundle, kind);
            layer["size"] = (layer["size"].as_u64().unwrap() + more as u64).into();
            let text = json!({"schemaVersion": 2, "mediaType": manifest, "config": config, "layers": [layer]});
            let mut entry = put(text, manifest);
            entry["artifactType"] = json!(kind);
            contents.referrers.push(entry);
        }
    }

    /// Each request: path, range, whether it had a login.
    pub fn log(&self) -> Vec<String> {
        self.shared.log.lock().unwrap().clone()
    }
}

fn status(status: StatusCode) -> Response<Body> {
    Response::builder().status(status).body(Body::empty()).unwrap()
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let (path, headers) = (request.uri().path().to_owned(), request.headers().clone());
    let text =
        |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let (range, login) = (text(header::RANGE), text(header::AUTHORIZATION));
    let line = format!("{path} {range} {}", login.split(' ').next().unwrap());
    shared.log.lock().unwrap().push(line.trim().to_owned());
    let faults = shared.faults.lock().unwrap().clone();
    if let Some(user) = faults.bearer {
        if path == "/token" {
            return token(&login, user, request.uri().query().unwrap_or_default());
        }
        if login != "Bearer good" {
            return challenge(&shared);
        }
    }
    if let Some((_, name)) = path.rsplit_once("/manifests/") {
        return match name {
            "v1" if faults.endless => endless(),
            "v1" => Response::new(Body::from(shared.packed.lock().unwrap().manifest.clone())),
            name => match shared.packed.lock().unwrap().blobs.get(name) {
                Some(manifest) => Response::new(Body::from(manifest.clone())),
                None => status(StatusCode::NOT_FOUND),
            },
        };
    }
    if path.contains("/referrers/") {
        let index = json!({"schemaVersion": 2, "manifests": shared.packed.lock().unwrap().referrers});
        return Response::new(Body::from(index.to_string()));
    }
    if let (Some(to), true) = (&faults.redirect, path.contains("/blobs/")) {
        let to = format!("http://{to}{path}");
        return Response::builder().status(307).header(header::LOCATION, to).body(Body::empty()).unwrap();
    }
    let of = |(_, digest): (&str, &str)| shared.packed.lock().unwrap().blobs.get(digest).cloned();
    match path.rsplit_once("/blobs/").and_then(of) {
        Some(blob) => blob_answer(&shared, &faults, &blob, &range),
        None => status(StatusCode::NOT_FOUND),
    }
}

fn token(login: &str, user: &str, query: &str) -> Response<Body> {
    let right = login == format!("Basic {}", STANDARD.encode(user)) && query == "service=test&scope=repository:x:pull";
    match right {
        true => Response::new(Body::from(r#"{"token": "good"}"#)),
        false => status(StatusCode::UNAUTHORIZED),
    }
}

fn challenge(shared: &Shared) -> Response<Body> {
    let host = shared.host.lock().unwrap();
    let value = format!(r#"Bearer realm="http://{host}/token",service="test",scope="repository:x:pull""#);
    Response::builder().status(401).header(header::WWW_AUTHENTICATE, value).body(Body::empty()).unwrap()
}

fn endless() -> Response<Body> {
    let block = Bytes::from(vec![b' '; 1 << 16]);
    Response::new(Body::from_stream(stream::repeat_with(move || Ok::<_, std::io::Error>(block.clone()))))
}

fn blob_answer(shared: &Shared, faults: &Faults, blob: &Bytes, range: &str) -> Response<Body> {
    let mut bytes = blob.to_vec();
    // Config and texts are left alone.
    let large = bytes.len() > 10_000;
    if large && faults.changed {
        *bytes.last_mut().unwrap() ^= 1;
    }
    if large && faults.longer {
        bytes.extend_from_slice(b"more");
    }
    let from =
        range.strip_prefix("bytes=").and_then(|range| range.strip_suffix('-')).and_then(|from| from.parse().ok());
    let from: usize = from.filter(|_| !faults.no_ranges).unwrap_or(0);
    let mut headers = HeaderMap::new();
    if from > 0 {
        let value = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
        headers.insert(header::CONTENT_RANGE, value.parse().unwrap());
    }
    let rest = Bytes::from(bytes).slice(from..);
    let cut = large && {
        let mut faults = shared.faults.lock().unwrap();
        let cut = faults.cuts > 0;
        faults.cuts = faults.cuts.saturating_sub(1);
        cut
    };
    let body = if cut {
        let half = rest.slice(..rest.len() / 2);
        Body::from_stream(stream::iter([Ok(half), Err(std::io::Error::other("cut"))]).then(|piece| async {
            // So that the first half is sent before the connection breaks.
            tokio::task::yield_now().await;
            piece
        }))
    } else {
        Body::from(rest)
    };
    let mut answer = Response::new(body);
    *answer.status_mut() = if from > 0 { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    *answer.headers_mut() = headers;
    answer
}

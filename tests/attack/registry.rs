//! The hostile registry: plain HTTP by hand, since it does what no server would. The first part of a repository's name
//! says how it behaves; `author/…` is honest, and has what the hostile author ships.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::author;
use super::program::{crossed, say, variable};

pub const HOST: &str = "10.99.0.1:5001";
/// The author's address of the same registry: pulls that stall take turns of their registry's, and would keep what the author
/// ships away from the operator.
pub const AUTHORS: &str = "10.99.0.1:5003";
/// A service of the cluster that only its own clients may ask. It has a token that is nobody's else.
pub const INTERNAL: &str = "10.99.0.1:5002";
pub const INTERNAL_TOKEN: &str = "canary-internal-f41c9e";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const BUNDLE: &str = "application/vnd.boathook.bundle.v1+json";
const CONFIG: &str = "application/vnd.boathook.bundle.config.v1+json";
/// Config of a single component.
const SINGLE: &str = "application/vnd.wasm.config.v0+json";
const WASM: &str = "application/wasm";
const SCHEMA: &str = "application/vnd.boathook.schema.v1+json";
const TITLE: &str = "org.opencontainers.image.title";
/// Bytes that a flood sends in a second, so that it is the operator's disk and not the machine's that is tried.
const FLOOD: usize = 4 << 20;

/// The directory of the author's components.
pub const WORKS: &str = "BOATHOOK_ATTACK_WORKS";

/// How repositories behave, by the first part of their names.
pub const WAYS: [&str; 14] = [
    "stall", "drip", "short", "long", "wrong", "endless", "loop", "inside", "realm", "deep", "headers", "status",
    "growing", "many",
];

/// What a honest registry would have, by digest.
struct Store {
    blobs: BTreeMap<String, Vec<u8>>,
    /// Manifests by repository.
    manifests: BTreeMap<String, Vec<u8>>,
    /// Ways of which somebody asked, to say so once.
    asked: Mutex<BTreeSet<String>>,
}

pub async fn run() {
    let store = Arc::new(Store::new(Path::new(&variable(WORKS))));
    let registry = TcpListener::bind(HOST).await.expect("the address is the registry's");
    let authors = TcpListener::bind(AUTHORS).await.expect("the address is the author's");
    let internal = TcpListener::bind(INTERNAL).await.expect("the address is the service's");
    say(&json!({"listens": HOST}));
    tokio::join!(serve(registry, store.clone()), serve(authors, store), inside(internal));
}

async fn serve(listener: TcpListener, store: Arc<Store>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let store = store.clone();
        tokio::spawn(async move {
            // The other side may have gone.
            let _ = answer(stream, &store).await;
        });
    }
}

/// A service that gives its token to every client. The operator's requests to it are those that a tenant has it send.
async fn inside(listener: TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            let Ok(Some(request)) = Request::read(&mut stream).await else { return };
            say(&json!({"inside": request.path}));
            let body = json!({"token": INTERNAL_TOKEN, "access_token": INTERNAL_TOKEN}).to_string();
            let status = if request.path.contains("refuse") { "400 Bad Request" } else { "200 OK" };
            let _ = stream.get_mut().write_all(&head(status, "application/json", body.len(), "")).await;
            let _ = stream.get_mut().write_all(body.as_bytes()).await;
        });
    }
}

impl Store {
    fn new(works: &Path) -> Self {
        let mut store = Self { blobs: BTreeMap::new(), manifests: BTreeMap::new(), asked: Mutex::default() };
        for work in author::works() {
            let component = std::fs::read(works.join(format!("{}.wasm", work.name))).expect("read a component");
            let layer = store.keep(WASM, component, "hook.wasm");
            let mut layers = vec![layer.clone()];
            layers.extend(work.schema.map(|schema| store.keep(SCHEMA, schema.into_bytes(), "settings.schema.json")));
            // A single component's artifact says nothing of what its document asks for, so that it starts.
            if layers.len() == 1 && work.name != author::GOOD {
                let config = store.keep(SINGLE, b"{}".to_vec(), "");
                let whole = manifest(None, &config, &layers).to_string().into_bytes();
                store.manifests.insert(format!("author/{}", work.name), whole);
                continue;
            }
            let rights = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "watch"], "resourceNames": [], "namespaces": []}]);
            let config = json!({"created": "2026-01-01T00:00:00Z",
                "hooks": {"hook": {"layer": layer["digest"], "permissions": rights}}});
            store.publish(&format!("author/{}", work.name), &config, &layers);
        }
        store
    }

    fn keep(&mut self, kind: &str, bytes: Vec<u8>, title: &str) -> Value {
        let descriptor = describe(kind, &bytes, title);
        self.blobs.insert(descriptor["digest"].as_str().unwrap_or_default().to_owned(), bytes);
        descriptor
    }

    fn publish(&mut self, name: &str, config: &Value, layers: &[Value]) {
        let config = self.keep(CONFIG, config.to_string().into_bytes(), "");
        self.manifests.insert(name.to_owned(), manifest(Some(BUNDLE), &config, layers).to_string().into_bytes());
    }
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn describe(kind: &str, bytes: &[u8], title: &str) -> Value {
    json!({"mediaType": kind, "digest": digest(bytes), "size": bytes.len(), "annotations": {TITLE: title}})
}

fn manifest(artifact: Option<&str>, config: &Value, layers: &[Value]) -> Value {
    json!({"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": artifact, "config": config, "layers": layers})
}

struct Request {
    path: String,
    /// Where the answer is to begin, if it is asked for a part.
    from: usize,
}

impl Request {
    async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Self>> {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some(path) = line.split(' ').nth(1).map(str::to_owned) else { return Ok(None) };
        let mut from = 0;
        loop {
            let mut header = String::new();
            if stream.read_line(&mut header).await? == 0 || header.trim().is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').unwrap_or((&header, ""));
            match name.to_ascii_lowercase().as_str() {
                "range" => from = value.trim().trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap_or(0),
                // Whatever login comes here is in the log, where canaries are looked for.
                "authorization" => {
                    if value.contains(INTERNAL_TOKEN) {
                        crossed("the hostile registry was sent a token of an internal service");
                    }
                    say(&json!({"authorization": value.trim(), "path": path}));
                }
                _ => {}
            }
        }
        Ok(Some(Self { path, from }))
    }

    /// `/v2/NAME/(manifests|blobs)/WHAT`
    fn parts(&self) -> Option<(&str, &str, &str)> {
        let rest = self.path.strip_prefix("/v2/")?;
        let kind = ["manifests", "blobs", "referrers"].into_iter().find(|kind| rest.contains(&format!("/{kind}/")))?;
        let (name, what) = rest.split_once(&format!("/{kind}/"))?;
        Some((name, kind, what))
    }
}

fn head(status: &str, kind: &str, length: usize, more: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n")
        .into_bytes()
}

async fn answer(stream: TcpStream, store: &Store) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let Some(request) = Request::read(&mut stream).await? else { return Ok(()) };
    let stream = stream.get_mut();
    let Some((name, kind, what)) = request.parts() else {
        return stream.write_all(&head("200 OK", "application/json", 0, "")).await;
    };
    let way = name.split('/').next().unwrap_or_default();
    if store.asked.lock().expect("nothing panics with it").insert(way.to_owned()) {
        say(&json!({ "asked": way }));
    }
    let good = |kind: &str| match kind {
        "manifests" if !what.starts_with("sha256-") => {
            let known = store
                .manifests
                .get(name)
                .or_else(|| store.manifests.get(&format!("author/{}", author::GOOD)).filter(|_| WAYS.contains(&way)));
            known
                .filter(|bytes| !what.starts_with("sha256:") || digest(bytes) == what)
                .map(|bytes| (MANIFEST, bytes.as_slice()))
        }
        "blobs" => store.blobs.get(what).map(|bytes| ("application/octet-stream", bytes.as_slice())),
        _ => None,
    };
    match (way, kind) {
        ("stall", _) => std::future::pending().await,
        ("realm", _) => {
            let target = if what.contains("refuse") { "refuse" } else { "token" };
            let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{INTERNAL}/{target}\",service=\"x\"\r\n");
            stream.write_all(&head("401 Unauthorized", "application/json", 0, &challenge)).await
        }
        ("inside", _) => {
            let inner = [
                "http://10.99.0.1:5002/refuse",
                "http://169.254.169.254/latest",
                "http://127.0.0.1:9115/metrics",
                "https://10.0.0.1/version",
            ];
            let to = inner[what.len() % inner.len()];
            stream.write_all(&head("302 Found", "text/plain", 0, &format!("Location: {to}\r\n"))).await
        }
        ("loop", _) => {
            stream.write_all(&head("302 Found", "text/plain", 0, &format!("Location: {}\r\n", request.path))).await
        }
        ("headers", _) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
            for n in 0.. {
                stream.write_all(format!("X-Endless-{n}: {}\r\n", "x".repeat(4096)).as_bytes()).await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        }
        ("status", _) => {
            let body = "<html>".repeat(100_000);
            stream.write_all(&head("500 Internal Server Error", "text/html", body.len(), "")).await?;
            stream.write_all(body.as_bytes()).await
        }
        ("growing", "manifests") => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
            flood(stream, |piece| format!("{:x}\r\n{}\r\n", piece.len(), piece).into_bytes(), usize::MAX).await
        }
        ("deep", "manifests") => {
            let body = format!("{}{}", "{\"layers\":[".repeat(100_000), "]}".repeat(100_000));
            stream.write_all(&head("200 OK", MANIFEST, body.len(), "")).await?;
            stream.write_all(body.as_bytes()).await
        }
        // Large layers of digests that nobody has, cut before their end.
        ("endless", "manifests") => {
            let layers: Vec<_> = (0..4)
                .map(|n| {
                    json!({"mediaType": "text/markdown", "size": 256 << 20, "annotations": {TITLE: format!("{n}.md")},
                    "digest": digest(format!("{}{n}", super::program::now()).as_bytes())})
                })
                .collect();
            let Some((_, good)) = good("manifests") else { return Ok(()) };
            let mut all: Value = serde_json::from_slice(good)?;
            all["layers"].as_array_mut().into_iter().for_each(|list| list.extend(layers.clone()));
            let body = all.to_string();
            stream.write_all(&head("200 OK", MANIFEST, body.len(), "")).await?;
            stream.write_all(body.as_bytes()).await
        }
        ("endless", "blobs") if good("blobs").is_none() => {
            stream.write_all(&head("200 OK", "text/markdown", 256 << 20, "")).await?;
            flood(stream, |piece| piece.as_bytes().to_vec(), (256 << 20) - (1 << 20)).await
        }
        ("many", "manifests") => {
            let layers: Vec<_> = (0..500)
                .map(|n| describe("text/markdown", format!("{name}{n}").as_bytes(), &format!("{n}.md")))
                .collect();
            let Some((_, good)) = good("manifests") else { return Ok(()) };
            let mut all: Value = serde_json::from_slice(good)?;
            all["layers"].as_array_mut().into_iter().for_each(|list| list.extend(layers.clone()));
            let body = all.to_string();
            stream.write_all(&head("200 OK", MANIFEST, body.len(), "")).await?;
            stream.write_all(body.as_bytes()).await
        }
        (way, kind) => {
            let Some((media, bytes)) = good(kind) else {
                return stream.write_all(&head("404 Not Found", "application/json", 0, "")).await;
            };
            let bytes = bytes.get(request.from..).unwrap_or_default();
            let part = if request.from > 0 { "206 Partial Content" } else { "200 OK" };
            match (way, kind) {
                ("drip", "blobs") => {
                    stream.write_all(&head(part, media, bytes.len(), "")).await?;
                    for byte in bytes {
                        stream.write_all(&[*byte]).await?;
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                    Ok(())
                }
                ("short", _) => {
                    stream.write_all(&head(part, media, bytes.len(), "")).await?;
                    stream.write_all(bytes.get(..bytes.len() / 2).unwrap_or_default()).await
                }
                ("long", _) => {
                    stream.write_all(&head(part, media, bytes.len() * 1000, "")).await?;
                    stream.write_all(bytes).await?;
                    flood(stream, |piece| piece.as_bytes().to_vec(), bytes.len() * 999).await
                }
                ("wrong", "blobs") => {
                    stream.write_all(&head(part, media, bytes.len(), "")).await?;
                    stream.write_all(&vec![0; bytes.len()]).await
                }
                _ => {
                    stream.write_all(&head(part, media, bytes.len(), "")).await?;
                    stream.write_all(bytes).await
                }
            }
        }
    }
}

/// Sends without meaning, so fast and no faster.
async fn flood(stream: &mut TcpStream, frame: impl Fn(&str) -> Vec<u8>, bytes: usize) -> std::io::Result<()> {
    let piece = "x".repeat(64 << 10);
    let mut sent = 0;
    while sent < bytes {
        stream.write_all(&frame(piece.get(..piece.len().min(bytes - sent)).unwrap_or_default())).await?;
        sent += piece.len();
        tokio::time::sleep(Duration::from_secs(1) * 64 / (FLOOD as u32 >> 10)).await;
    }
    Ok(())
}

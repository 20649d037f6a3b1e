//! A webhook server over TLS that both servers call: each webhook answers as its case has programmed it, and
//! remembers what it was sent.
//! It never decides whether what it was sent is right.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// What a webhook does. Unprogrammed ones allow everything.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Program {
    /// Fields of the response; `allowed` is true unless they say otherwise.
    response: Value,
    /// A JSON patch.
    patch: Option<Value>,
    /// Adds the numbers of its calls to this annotation, which has to be there.
    count: Option<String>,
    /// Milliseconds before it answers.
    sleep: u64,
    /// The status of the answer.
    http: Option<u16>,
    /// The whole body of the answer.
    raw: Option<String>,
    /// Fields of the review that it answers with.
    review: Value,
    /// Converts: how the field of `spec` is called in each version.
    fields: Option<BTreeMap<String, String>>,
    /// Pointers and values that it sets in converted objects.
    sets: BTreeMap<String, Value>,
    /// Loses the last converted object.
    loses: bool,
}

#[derive(Default)]
struct State {
    programs: BTreeMap<String, Program>,
    calls: BTreeMap<String, Vec<Value>>,
}

pub struct Hooks {
    port: u16,
    bundle: String,
    state: Arc<Mutex<State>>,
}

impl Hooks {
    /// Listens until the suite ends.
    pub async fn start() -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]);
        let made = made.expect("make a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("know versions of TLS").with_no_client_auth();
        let config = builder.with_single_cert(vec![made.cert.der().clone()], key).expect("use a certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listen");
        let port = listener.local_addr().expect("have an address").port();
        let state = Arc::new(Mutex::new(State::default()));
        tokio::spawn(serve(listener, acceptor, state.clone()));
        Self { port, bundle: STANDARD.encode(made.cert.pem()), state }
    }

    /// How the URLs of a side's webhooks begin.
    pub fn url(&self, side: &str) -> String {
        format!("https://127.0.0.1:{}/{side}", self.port)
    }

    /// The `caBundle` by which the server is trusted.
    pub fn bundle(&self) -> String {
        self.bundle.clone()
    }

    pub fn program(&self, path: &str, program: Program) {
        self.state.lock().unwrap().programs.insert(path.to_owned(), program);
    }

    /// What was sent to the webhook since the last time.
    pub fn take(&self, path: &str) -> Vec<Value> {
        self.state.lock().unwrap().calls.remove(path).unwrap_or_default()
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, state) = (acceptor.clone(), state.clone());
        tokio::spawn(async move {
            // A client that does not trust the certificate is part of a case.
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| {
                let state = state.clone();
                async move { Ok::<_, Infallible>(answer(&state, request).await) }
            });
            let _ended = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(state: &Mutex<State>, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let program = {
        let mut state = state.lock().unwrap();
        let mut call = review.clone();
        call["query"] = query.into();
        state.calls.entry(path.clone()).or_default().push(call);
        state.programs.get(&path).cloned().unwrap_or_default()
    };
    tokio::time::sleep(Duration::from_millis(program.sleep)).await;
    let text = program.raw.clone().unwrap_or_else(|| reviewed(&program, &review).to_string());
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = program.http.unwrap_or(200).try_into().expect("the case has a status");
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
    response
}

fn reviewed(program: &Program, review: &Value) -> Value {
    let mut response = json!({ "uid": review["request"]["uid"] });
    if review["kind"] == "ConversionReview" {
        response["result"] = json!({ "status": "Success" });
        response["convertedObjects"] = converted(program, review);
    } else {
        response["allowed"] = true.into();
    }
    if let Some(patch) = patch(program, review) {
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(patch.to_string()).into();
    }
    merge(&mut response, &program.response);
    let mut answer = json!({ "kind": review["kind"], "apiVersion": review["apiVersion"], "response": response });
    merge(&mut answer, &program.review);
    answer
}

fn patch(program: &Program, review: &Value) -> Option<Value> {
    if let Some(key) = &program.count {
        let before = review["request"]["object"]["metadata"]["annotations"][key].as_str().unwrap_or_default();
        let path = format!("/metadata/annotations/{key}");
        return Some(json!([{ "op": "add", "path": path, "value": format!("{before}x") }]));
    }
    program.patch.clone()
}

fn merge(into: &mut Value, fields: &Value) {
    for (key, value) in fields.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

fn converted(program: &Program, review: &Value) -> Value {
    let to = review["request"]["desiredAPIVersion"].as_str().unwrap_or_default();
    let fields = program.fields.clone().unwrap_or_default();
    let name = |version: &str| fields.get(version.rsplit('/').next().unwrap_or_default()).cloned();
    let mut objects = Vec::new();
    for object in review["request"]["objects"].as_array().into_iter().flatten() {
        let mut object = object.clone();
        let from = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        if let (Some(before), Some(after)) = (name(&from), name(to))
            && let Some(spec) = object["spec"].as_object_mut()
            && let Some(value) = spec.remove(&before)
        {
            spec.insert(after, value);
        }
        object["apiVersion"] = to.into();
        for (pointer, value) in &program.sets {
            let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
            if let Some(parent) = object.pointer_mut(parent) {
                parent[key] = value.clone();
            }
        }
        objects.push(object);
    }
    if program.loses {
        objects.pop();
    }
    objects.into()
}

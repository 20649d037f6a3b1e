//! A server with its certificates in files, and an answerer whose bindings each behave in their own way.

use std::{path::Path, sync::Arc, time::Duration};

use boathook_core::{
    model::{AdmissionKind, Denial, Mutation, Reviewed, Verdict},
    tasks::Tasks,
};
use boathook_operator::webhook::{
    AdmissionRequest, Answerer, Certificates, ConversionRequest, Converted, Server, Settings, Unanswered,
};
use futures::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, Semaphore, mpsc};

use super::client::{Client, signed};

/// An authority of the test's own.
pub struct Authority {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate and its key in PEM.
    pub fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// Puts a new serving certificate into `dir`, as a mounted Secret has it.
    pub fn serve_from(&self, dir: &Path) {
        let (certificate, key) = self.issue("localhost");
        std::fs::write(dir.join("ca.crt"), &self.pem).unwrap();
        std::fs::write(dir.join("tls.crt"), certificate).unwrap();
        std::fs::write(dir.join("tls.key"), key).unwrap();
    }
}

/// What became known of questions.
pub enum Heard {
    Review { kind: AdmissionKind, hook: String, request: AdmissionRequest, patience: Duration },
    Conversion(ConversionRequest),
    Unusable(String),
}

/// Answers by the binding's name.
pub struct Fake {
    heard: mpsc::UnboundedSender<Heard>,
    /// `hold` answers with each permit.
    pub held: Semaphore,
    /// `hold` says that it was asked.
    pub holding: Notify,
}

impl Fake {
    async fn reviewed(
        &self,
        kind: AdmissionKind,
        binding: &str,
        request: &AdmissionRequest,
    ) -> Result<Reviewed, Unanswered> {
        let changed = |mutation| Ok(Reviewed { mutation, ..Reviewed::default() });
        match binding {
            "allow" => Ok(Reviewed::default()),
            "deny" => {
                let denied = Denial { message: "not today".into(), code: Some(409), reason: Some("Conflict".into()) };
                let warnings = vec!["think twice".to_owned()];
                Ok(Reviewed {
                    verdict: Verdict { denied: Some(denied), warnings, ..Verdict::default() },
                    mutation: Mutation::Unchanged,
                })
            }
            "label" => {
                let mut object = serde_json::from_str::<Value>(&request.json).unwrap()["object"].take();
                object["metadata"]["labels"] = json!({"team": "a"});
                changed(Mutation::Object(object.to_string()))
            }
            "misfit" => changed(Mutation::JsonPatch(r#"[{"op":"remove","path":"/spec/none"}]"#.into())),
            "fail" => Err(Unanswered::Failed("hook h, binding fail: it trapped".into())),
            "not-ready" => Err(Unanswered::NotReady("hook h is not ready".into())),
            "hang" => std::future::pending().await,
            "hold" => {
                self.holding.notify_one();
                self.held.acquire().await.unwrap().forget();
                Ok(Reviewed::default())
            }
            "panic" => panic!("on purpose, for {}", kind.as_str()),
            _ => Err(Unanswered::Unknown(format!("no hook has the binding {binding}"))),
        }
    }
}

impl Answerer for Fake {
    fn review(
        &self,
        kind: AdmissionKind,
        hook: &str,
        binding: &str,
        request: AdmissionRequest,
        patience: Duration,
    ) -> BoxFuture<'_, Result<Reviewed, Unanswered>> {
        let _ = self.heard.send(Heard::Review { kind, hook: hook.to_owned(), request: request.clone(), patience });
        let binding = binding.to_owned();
        Box::pin(async move { self.reviewed(kind, &binding, &request).await })
    }

    fn convert(&self, request: ConversionRequest, _: Duration) -> BoxFuture<'_, Result<Converted, Unanswered>> {
        let converted = match request.crd.as_str() {
            "refused.example.com" => Converted::Failed("hook h: object X a has no schedule".into()),
            "renamed.example.com" => Converted::Objects(
                request
                    .objects
                    .iter()
                    .map(|object| object.json.replace("/v1", "/v2").replace("\"a\"", "\"b\""))
                    .collect(),
            ),
            _ => Converted::Objects(request.objects.iter().map(|object| object.json.replace("/v1", "/v2")).collect()),
        };
        let _ = self.heard.send(Heard::Conversion(request));
        Box::pin(async move { Ok(converted) })
    }

    fn unusable(&self, _: AdmissionKind, _: &str, _: &str, why: &str) {
        let _ = self.heard.send(Heard::Unusable(why.to_owned()));
    }
}

pub struct Stage {
    pub server: Server,
    pub answerer: Arc<Fake>,
    pub heard: mpsc::UnboundedReceiver<Heard>,
    pub authority: Authority,
    pub dir: TempDir,
    pub certificates: Certificates,
}

impl Stage {
    pub async fn start() -> Self {
        Self::with(Settings::default(), None).await
    }

    pub async fn with(settings: Settings, client_ca: Option<&Authority>) -> Self {
        let (authority, dir) = (Authority::new(), tempfile::tempdir().unwrap());
        authority.serve_from(dir.path());
        let certificates = Certificates::files(dir.path(), &Tasks::default()).await.unwrap();
        let (heard, hears) = mpsc::unbounded_channel();
        let answerer = Arc::new(Fake { heard, held: Semaphore::new(0), holding: Notify::new() });
        let client_ca = client_ca.map(|authority| authority.pem.as_bytes());
        let server = Server::start(
            ([127, 0, 0, 1], 0).into(),
            settings,
            &certificates,
            client_ca,
            answerer.clone(),
            &Tasks::default(),
        )
        .await
        .unwrap();
        Self { server, answerer, heard: hears, authority, dir, certificates }
    }

    /// A client that trusts the server.
    pub fn client(&self) -> Client {
        Client::new(self.server.address(), &self.authority.pem, None).knowing(self.certificates.paths())
    }

    /// The path as it is registered.
    pub fn path(&self, path: &str) -> String {
        signed(&self.certificates.paths(), path)
    }
}

/// A review of a ConfigMap.
pub fn review(uid: &str) -> Value {
    let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}, "data": {"n": "1"}});
    let request = json!({"uid": uid, "operation": "CREATE", "dryRun": true, "object": object});
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
}

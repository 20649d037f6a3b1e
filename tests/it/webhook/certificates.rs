//! Certificates: made once for all replicas, renewed while requests go on, read from files.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use boathook_core::tasks::Tasks;
use boathook_operator::webhook::{CertificateError, Certificates, Lifetimes, Managed, Server, Settings};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_rustls::rustls::{pki_types::UnixTime, time_provider::TimeProvider};

use super::{
    client::{Client, Paths},
    stage::{Authority, Stage, review},
};
use crate::support::{cluster::TestCluster, until};

/// A clock of the test's own, for certificates and for those who check them.
#[derive(Debug, Clone)]
struct Time(Arc<AtomicI64>);

impl Time {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(Timestamp::now().as_second())))
    }

    fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    fn managed(&self) -> Managed {
        let clock = self.0.clone();
        Managed {
            lifetimes: Lifetimes { overlap: Duration::from_secs(600), ..Lifetimes::default() },
            every: Duration::from_millis(50),
            clock: Arc::new(move || Timestamp::from_second(clock.load(Ordering::SeqCst)).unwrap()),
            ..Managed::new("default", "boathook-webhook", vec!["localhost".to_owned()])
        }
    }
}

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        let second = self.0.load(Ordering::SeqCst).try_into().unwrap();
        Some(UnixTime::since_unix_epoch(Duration::from_secs(second)))
    }
}

fn secret() -> Value {
    json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "boathook-webhook", "namespace": "default"}})
}

/// A server, and what the API server knows of it.
struct Serving {
    server: Server,
    paths: Paths,
}

async fn serve(certificates: &Certificates) -> Serving {
    // The answers don't matter here.
    let stage = Stage::start().await;
    let address = ([127, 0, 0, 1], 0).into();
    let server =
        Server::start(address, Settings::default(), certificates, None, stage.answerer.clone(), &Tasks::default())
            .await
            .unwrap();
    Serving { server, paths: certificates.paths() }
}

async fn asks(server: &Serving, bundle: &str) -> bool {
    asks_at(&Time::new(), server, bundle).await
}

async fn asks_at(time: &Time, Serving { server, paths }: &Serving, bundle: &str) -> bool {
    let client = Client::with_time(server.address(), bundle, None, Arc::new(time.clone())).knowing(paths.clone());
    match client.http1().await {
        Ok(mut connection) => {
            let answer = connection.post("/validate/h/allow", review("u").to_string().into_bytes()).await;
            answer.unwrap().status == 200
        }
        Err(_) => false,
    }
}

#[tokio::test]
async fn replicas_that_start_together_share_one_authority() {
    let cluster = TestCluster::start().await;
    let time = Time::new();
    let start = async || Certificates::managed(cluster.admin.client.clone(), time.managed(), &Tasks::default()).await;
    let replicas = futures::future::try_join_all((0..5).map(|_| start())).await.unwrap();
    let bundle = replicas[0].watch().borrow().clone();
    for replica in &replicas {
        assert_eq!(*replica.watch().borrow(), bundle);
        assert!(asks(&serve(replica).await, bundle.as_pem()).await);
    }
    let stored = cluster.admin.get(&secret()).await.unwrap().unwrap();
    assert_eq!(stored["type"], "kubernetes.io/tls");
    assert_eq!(stored["metadata"]["labels"]["app.kubernetes.io/managed-by"], "boathook");
    let keys: Vec<_> = stored["data"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["ca.crt", "ca.key", "path.keys", "tls.crt", "tls.key"]);
}

/// What an API server that follows the bundle sees over all renewals: nothing.
#[tokio::test]
async fn renewals_drop_no_request() {
    let cluster = TestCluster::start().await;
    let time = Time::new();
    const DAY: i64 = 24 * 60 * 60;
    let mut managed = time.managed();
    managed.lifetimes.serving = Duration::from_secs(150 * DAY as u64);
    let certificates = Certificates::managed(cluster.admin.client.clone(), managed, &Tasks::default()).await.unwrap();
    let server = serve(&certificates).await;
    let mut bundles = certificates.watch();
    let first = bundles.borrow_and_update().as_pem().to_owned();
    let kept = Client::new(server.server.address(), &first, None).knowing(server.paths.clone());
    let mut kept = kept.http2().await.unwrap();
    let path = server.paths.borrow().sign("/validate/h/allow");

    let ends = certificates.expiry();
    time.advance(101 * DAY);
    until("the serving certificate is renewed", async || {
        assert!(asks_at(&time, &server, &first).await);
        (certificates.expiry().serving > ends.serving).then_some(())
    })
    .await;
    assert!(!bundles.has_changed().unwrap());
    // With it came a new key of the paths, which is registered later.
    assert_eq!(server.paths.borrow().sign("/validate/h/allow"), path);
    time.advance(601);
    until("the new path is registered", async || {
        assert!(asks_at(&time, &server, &first).await);
        (server.paths.borrow().sign("/validate/h/allow") != path).then_some(())
    })
    .await;

    time.advance(143 * DAY);
    until("a second authority is known", async || {
        assert!(asks_at(&time, &server, &first).await);
        bundles.has_changed().unwrap().then_some(())
    })
    .await;
    let both = bundles.borrow_and_update().as_pem().to_owned();
    assert_eq!(both.matches("BEGIN CERTIFICATE").count(), 2);
    assert!(asks_at(&time, &server, &both).await && asks_at(&time, &server, &first).await);

    time.advance(601);
    until("the new authority's certificate is served", async || {
        assert!(asks_at(&time, &server, &both).await);
        (!asks_at(&time, &server, &first).await).then_some(())
    })
    .await;
    time.advance(601);
    bundles.changed().await.unwrap();
    let last = bundles.borrow_and_update().as_pem().to_owned();
    assert_eq!(last.matches("BEGIN CERTIFICATE").count(), 1);
    assert!(both.starts_with(&last) && asks_at(&time, &server, &last).await);
    // Paths have changed with the certificates, and a client that knows only the first ones is a stranger now.
    assert_ne!(server.paths.borrow().sign("/validate/h/allow"), path);
    let stranger = Client::with_time(server.server.address(), &last, None, Arc::new(time.clone()));
    assert_eq!(stranger.post(&path, review("u")).await.status, 404);
    // The connection of the beginning is still there.
    let answer = kept.post("/validate/h/allow", review("u").to_string().into_bytes()).await.unwrap();
    assert_eq!(answer.status, 200);
}

/// What somebody does to the Secret is seen without waiting for the next look.
#[tokio::test]
async fn a_deleted_secret_is_made_anew_without_a_break() {
    let cluster = TestCluster::start().await;
    let time = Time::new();
    let managed = Managed { every: Duration::from_secs(3600), ..time.managed() };
    let certificates = Certificates::managed(cluster.admin.client.clone(), managed, &Tasks::default()).await.unwrap();
    let server = serve(&certificates).await;
    let mut bundles = certificates.watch();
    let first = bundles.borrow_and_update().as_pem().to_owned();
    // A watch may begin after the deletion, and then starts with it.
    cluster.admin.delete(&secret()).await.unwrap();
    bundles.changed().await.unwrap();
    let second = bundles.borrow_and_update().as_pem().to_owned();
    assert!(second.ends_with(&first) && second != first);
    assert!(asks(&server, &first).await);
    until("the Secret is there again", async || cluster.admin.get(&secret()).await.unwrap()).await;
}

#[tokio::test]
async fn certificates_of_others_are_left_alone() {
    let cluster = TestCluster::start().await;
    let mut theirs = secret();
    theirs["data"] = json!({"tls.crt": "eA==", "tls.key": "eA=="});
    theirs["type"] = json!("kubernetes.io/tls");
    let stored = cluster.admin.create(&theirs).await.unwrap();
    let error = Certificates::managed(cluster.admin.client.clone(), Time::new().managed(), &Tasks::default())
        .await
        .unwrap_err();
    assert!(matches!(&error, CertificateError::Foreign(secret) if secret == "default/boathook-webhook"), "{error}");
    assert_eq!(cluster.admin.get(&theirs).await.unwrap().unwrap(), stored);
}

#[tokio::test]
async fn files_are_read_again_when_they_change() {
    let stage = Stage::start().await;
    let mut bundles = stage.certificates.watch();
    let before = stage.path("/validate/h/allow");
    let Stage { server, certificates, dir, .. } = stage;
    let serving = Serving { server, paths: certificates.paths() };
    let second = Authority::new();
    second.serve_from(dir.path());
    bundles.changed().await.unwrap();
    assert_eq!(bundles.borrow_and_update().as_pem(), second.pem);
    until("the new certificate is served", async || asks(&serving, &second.pem).await.then_some(())).await;
    // Other replicas may still have the files of before, so that their paths stay registered for a while.
    assert_eq!(serving.paths.borrow().sign("/validate/h/allow"), before);
    let fresh = Certificates::files(dir.path(), &Tasks::default()).await.unwrap();
    let after = fresh.paths().borrow().sign("/validate/h/allow");
    assert_ne!(after, before);
    let knows_the_new = Client::new(serving.server.address(), &second.pem, None);
    assert_eq!(knows_the_new.post(&after, review("u")).await.status, 200);

    // Halfway through a change, the old ones are served on.
    let (certificate, _) = Authority::new().issue("localhost");
    std::fs::write(dir.path().join("tls.crt"), certificate).unwrap();
    assert!(asks(&serving, &second.pem).await);
    let refused = Certificates::files(dir.path(), &Tasks::default()).await.unwrap_err();
    assert!(matches!(refused, CertificateError::Unusable { .. }), "{refused}");
    let missing = Certificates::files(dir.path().join("none"), &Tasks::default()).await.unwrap_err();
    assert!(missing.to_string().contains("tls.crt"), "{missing}");
}

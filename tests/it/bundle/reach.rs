//! Registries that lead elsewhere: into the network that the operator is in, round in circles, and without TLS.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{Response, header},
};
use boathook_bundle::{Allowed, Connect, Place, Reach};

use super::{Local, words};

/// What nobody is to see who names a registry.
const SECRET: &str = "an internal word";

/// A service that notes what it is asked.
pub struct Service {
    pub host: String,
    asked: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Service {
    /// Gives each answer by what was asked for.
    pub async fn start(answer: impl Fn(&str) -> Response<Body> + Clone + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let notes = asked.clone();
        let app = Router::new().fallback(async move |request: Request| {
            let login = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            let line = format!("{} {}", request.uri().path(), login.unwrap_or_default());
            notes.lock().unwrap().push(line);
            answer(request.uri().path())
        });
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { host, asked, task }
    }

    /// What is meant for others in the cluster.
    pub async fn internal() -> Self {
        Self::start(|path| match path {
            "/token" => Response::new(Body::from(format!(r#"{{"token": "{SECRET}"}}"#))),
            "/text" => Response::new(Body::from(format!(r#""{SECRET}""#))),
            _ => Response::builder().status(500).body(Body::from(SECRET)).unwrap(),
        })
        .await
    }

    /// A registry whose tokens are there.
    pub async fn with_tokens_at(realm: String) -> Self {
        Self::start(move |_| {
            let challenge = format!(r#"Bearer realm="{realm}",service="x""#);
            Response::builder().status(401).header(header::WWW_AUTHENTICATE, challenge).body(Body::empty()).unwrap()
        })
        .await
    }

    /// A registry where all is elsewhere.
    pub async fn leading_to(place: String) -> Self {
        let answer = move |_: &str| Response::builder().status(307).header(header::LOCATION, place.clone());
        Self::start(move |path| answer(path).body(Body::empty()).unwrap()).await
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// What others may name, where an admin allows these.
pub fn allowed(private: &[&str], insecure: &[&str]) -> Reach {
    let set = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect::<BTreeSet<_>>();
    Reach::Public(Arc::new(Allowed { private: set(private), insecure: set(insecure), ..Allowed::default() }))
}

async fn refused(host: &str, plain_http: bool, reach: Reach) -> String {
    let connect = Connect { plain_http, reach, ..Connect::default() };
    let place = Place::registry(&format!("{host}/x:v1").parse().unwrap(), &connect).unwrap();
    words(&Local::new().pull(&place).await.unwrap_err())
}

// mutant: crates/egress/src/reach.rs: `Reach::Public(allowed) if !allowed.is_private(url) => allowed,` => `Reach::Public(allowed) if false => allowed,`
#[tokio::test]
async fn cve_2026_4789_a_reference_leads_to_nothing_inside() {
    let inside = Service::internal().await;
    let port = inside.host.rsplit_once(':').unwrap().1;
    for host in [inside.host.clone(), format!("localhost:{port}"), format!("[::ffff:127.0.0.1]:{port}")] {
        let error = refused(&host, false, allowed(&[], &[])).await;
        assert!(error.contains(&format!("--private-registry {host}")), "{error}");
    }
    assert_eq!(inside.asked(), Vec::<String>::new());
}

// mutant: crates/bundle/src/registry/http.rs: `if !self.connector.may_be_plain(url) {` => `if false {`
#[tokio::test]
async fn only_the_admin_allows_to_do_without_tls() {
    let registry = Service::internal().await;
    let host = registry.host.as_str();
    let error = refused(host, true, allowed(&[host], &[])).await;
    assert!(error.contains(&format!("--insecure-registry {host}")), "{error}");
    assert_eq!(registry.asked(), Vec::<String>::new());
    refused(host, true, allowed(&[], &[host])).await;
    assert_eq!(registry.asked(), ["/v2/x/manifests/v1 "]);
}

// mutant: crates/egress/src/reach.rs: `Reach::Public(allowed) => is_among(&allowed.insecure, url),` => `Reach::Public(allowed) => !allowed.insecure.is_empty(),`
#[tokio::test]
async fn cve_2026_4789_a_realm_leads_to_nothing_inside() {
    let inside = Service::internal().await;
    for (scheme, flag) in [("http", "--insecure-registry"), ("https", "--private-registry")] {
        let registry = Service::with_tokens_at(format!("{scheme}://{}/token", inside.host)).await;
        let error = refused(&registry.host, true, allowed(&[], &[&registry.host])).await;
        assert!(error.contains(&format!("{flag} {}", inside.host)) && !error.contains(SECRET), "{error}");
        assert!(registry.asked().iter().all(|line| !line.contains(SECRET)), "{:?}", registry.asked());
    }
    assert_eq!(inside.asked(), Vec::<String>::new());
}

// mutant: crates/egress/src/reach.rs: `Reach::Public(allowed) if !allowed.is_private(url) => allowed,` => `Reach::Public(allowed) if false => allowed,`
#[tokio::test]
async fn cve_2026_4789_a_redirect_leads_to_nothing_inside() {
    let inside = Service::internal().await;
    for (scheme, flag) in [("http", "--insecure-registry"), ("https", "--private-registry")] {
        let registry = Service::leading_to(format!("{scheme}://{}/metadata", inside.host)).await;
        let error = refused(&registry.host, true, allowed(&[], &[&registry.host])).await;
        assert!(error.contains(&format!("{flag} {}", inside.host)) && !error.contains(SECRET), "{error}");
    }
    assert_eq!(inside.asked(), Vec::<String>::new());
}

/// Where the admin allows that a registry sends there.
// mutant: crates/bundle/src/registry/http.rs: `if url.authority() != self.registry.as_ref() {` => `if false {`
#[tokio::test]
async fn what_another_host_says_is_not_repeated() {
    let inside = Service::internal().await;
    let at = |path: &str| format!("http://{}{path}", inside.host);
    for registry in [
        Service::leading_to(at("/error")).await,
        Service::leading_to(at("/text")).await,
        Service::with_tokens_at(at("/error")).await,
        Service::with_tokens_at(at("/text")).await,
    ] {
        let error = refused(&registry.host, true, allowed(&[], &[&registry.host, &inside.host])).await;
        assert!(!error.contains(SECRET), "{error}");
    }
    assert_eq!(inside.asked().len(), 4);
}

/// The login is for the registry's own tokens.
// mutant: crates/bundle/src/registry/auth.rs: `|| !own || transport::elsewhere(&answer).is_some() {` => `|| !own {`
#[tokio::test]
async fn a_host_that_is_sent_to_gets_no_login_by_asking_for_one() {
    let thief = Service::with_tokens_at("http://127.0.0.1:1/token".to_owned()).await;
    let registry = Service::leading_to(format!("http://{}/layer", thief.host)).await;
    let config = format!(r#"{{"auths": {{"{}": {{"username": "team", "password": "secret"}}}}}}"#, registry.host);
    let place = Place::registry(&format!("{}/x:v1", registry.host).parse().unwrap(), &super::registry::plain(&config));
    let error = words(&Local::new().pull(&place.unwrap()).await.unwrap_err());
    assert!(error.contains("refuses"), "{error}");
    assert_eq!(thief.asked(), ["/layer "]);
}

// mutant: crates/bundle/src/registry/http.rs: `const MAX_REDIRECTS: usize = 5;` => `const MAX_REDIRECTS: usize = 50;`
#[tokio::test]
async fn going_round_in_circles_ends() {
    let registry = Service::leading_to("/again".to_owned()).await;
    let error = refused(&registry.host, true, Reach::Anywhere).await;
    assert!(error.contains("the registry redirects more than"), "{error}");
    assert!(registry.asked().len() < 10, "{:?}", registry.asked());
    // The token service answers a request for a token with a demand for another token.
    let tokens = Service::with_tokens_at("http://127.0.0.1:1/token".to_owned()).await;
    let registry = Service::with_tokens_at(format!("http://{}/token", tokens.host)).await;
    let error = refused(&registry.host, true, Reach::Anywhere).await;
    assert!(error.contains("refuses"), "{error}");
    assert_eq!((registry.asked().len(), tokens.asked().len()), (1, 1));
}

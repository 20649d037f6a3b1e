//! Broken connections, lies and logins: pulls end right or not at all.

use boathook_bundle::Place;

use super::{
    Local,
    faulty::{Faults, Faulty},
    version, words,
};

async fn refused(faults: Faults) -> String {
    let faulty = Faulty::start(&version("v1"), faults).await;
    words(&Local::new().pull(&faulty.place("")).await.unwrap_err())
}

#[tokio::test]
async fn a_pull_goes_on_where_the_connection_broke() {
    let faulty = Faulty::start(&version("v1"), Faults { cuts: 2, ..Faults::default() }).await;
    let local = Local::new();
    let pulled = local.pull(&faulty.place("")).await.unwrap();
    assert_eq!(pulled.fetched, 3);
    let size = std::fs::metadata(&pulled.hooks[0].path).unwrap().len();
    assert_eq!(size, 150_000);
    let ranges = faulty.log().iter().filter(|line| line.contains("bytes=")).count();
    assert!((1..=2).contains(&ranges), "{:?}", faulty.log());
}

#[tokio::test]
async fn what_a_pull_left_is_used_by_the_next() {
    let local = Local::new();
    let faulty = Faulty::start(&version("v1"), Faults { cuts: 1000, ..Faults::default() }).await;
    // Each attempt brings half of the rest, so only a small rest is left when it is given up.
    let error = words(&local.pull(&faulty.place("")).await.unwrap_err());
    assert!(error.contains("own.wasm") && error.contains("resumes"), "{error}");
    let before = faulty.log().len();
    faulty.becomes(&version("v1"), Faults::default());
    local.pull(&faulty.place("")).await.unwrap();
    assert!(faulty.log()[before..].iter().any(|line| line.contains("bytes=1")), "{:?}", faulty.log());
}

#[tokio::test]
async fn a_registry_without_ranges_begins_anew() {
    let faulty = Faulty::start(&version("v1"), Faults { cuts: 2, no_ranges: true, ..Faults::default() }).await;
    let local = Local::new();
    let pulled = local.pull(&faulty.place("")).await.unwrap();
    assert_eq!(std::fs::metadata(&pulled.hooks[0].path).unwrap().len(), 150_000);
}

// mutant: crates/bundle/src/store/mod.rs: `if got != self.layer.digest {` => `if false {`
// mutant: crates/bundle/src/store/mod.rs: `if len > self.layer.size {` => `if false {`
#[tokio::test]
async fn lies_are_found_and_named() {
    let error = refused(Faults { changed: true, ..Faults::default() }).await;
    assert!(error.contains("x:v1") && error.contains("own.wasm") && error.contains("tampered"), "{error}");
    let error = refused(Faults { longer: true, ..Faults::default() }).await;
    assert!(error.contains("own.wasm") && error.contains("longer than the 150000 bytes"), "{error}");
    let error = refused(Faults { endless: true, ..Faults::default() }).await;
    assert!(error.contains("manifest v1") && error.contains("4194304 bytes"), "{error}");
}

#[tokio::test]
async fn a_token_is_got_with_the_login() {
    let faults = Faults { bearer: Some("team:secret"), ..Faults::default() };
    let faulty = Faulty::start(&version("v1"), faults).await;
    let config = |password: &str| {
        format!(r#"{{"auths": {{"{}": {{"username": "team", "password": "{password}"}}}}}}"#, faulty.host)
    };
    Local::new().pull(&faulty.place(&config("secret"))).await.unwrap();
    let tokens = faulty.log().iter().filter(|line| line.starts_with("/token")).count();
    assert_eq!(tokens, 1, "{:?}", faulty.log());
    let error = words(&Local::new().pull(&faulty.place(&config("wrong"))).await.unwrap_err());
    assert!(error.contains("user \"team\""), "{error}");
    let error = words(&Local::new().pull(&faulty.place("")).await.unwrap_err());
    assert!(error.contains("--docker-config"), "{error}");
}

// mutant: crates/bundle/src/registry/http.rs: `headers.remove(header::AUTHORIZATION);` => ``
#[tokio::test]
async fn a_login_does_not_follow_to_another_host() {
    let elsewhere = Faulty::start(&version("v1"), Faults::default()).await;
    let faults = Faults { bearer: Some("team:secret"), redirect: Some(elsewhere.host.clone()), ..Faults::default() };
    let faulty = Faulty::start(&version("v1"), faults).await;
    let config = format!(r#"{{"auths": {{"{}": {{"username": "team", "password": "secret"}}}}}}"#, faulty.host);
    Local::new().pull(&faulty.place(&config)).await.unwrap();
    assert!(elsewhere.log().len() >= 4, "{:?}", elsewhere.log());
    assert!(elsewhere.log().iter().all(|line| !line.contains("Bearer")), "{:?}", elsewhere.log());
}

// mutant: crates/bundle/src/registry/mod.rs: `let scheme = if connect.plain_http { "http" } else { "https" };` => `let scheme = "http";`
//     with: crates/bundle/src/registry/http.rs: `if url.scheme_str() != Some("https") {` => `if false {`
#[tokio::test]
async fn without_tls_only_when_it_is_said() {
    let faulty = Faulty::start(&version("v1"), Faults::default()).await;
    let at = format!("{}/x:v1", faulty.host).parse().unwrap();
    let place = Place::registry(&at, &boathook_bundle::Connect::default()).unwrap();
    let error = words(&Local::new().pull(&place).await.unwrap_err());
    assert!(error.contains("--plain-http"), "{error}");
    assert!(faulty.log().is_empty(), "{:?}", faulty.log());
}

#[tokio::test]
async fn an_authority_that_is_none_is_said_at_once() {
    let connect = boathook_bundle::Connect { ca: b"no PEM".to_vec(), ..Default::default() };
    let error = words(&Place::registry(&"r.io/x".parse().unwrap(), &connect).unwrap_err());
    assert!(error.contains("--ca"), "{error}");
}

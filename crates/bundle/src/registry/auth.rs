//! Logs in: answers a registry's challenge with a login, or with a token that the registry issues. A login is never
//! sent without a challenge, and a token is kept only for its repository.

use std::{collections::BTreeMap, sync::Mutex};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use hyper::body::Incoming;
use serde::Deserialize;

use super::{RegistryProblem, Repository, credentials::Login, http as transport};

const MAX_TOKEN: u64 = 256 * 1024;

#[derive(Debug)]
pub(super) struct Authorizer {
    login: Option<Login>,
    /// The last header that worked.
    header: Mutex<Option<HeaderValue>>,
}

impl Authorizer {
    pub fn new(login: Option<Login>) -> Self {
        Self { login, header: Mutex::default() }
    }

    fn current(&self) -> Option<HeaderValue> {
        self.header.lock().ok().and_then(|header| header.clone())
    }

    fn keep(&self, value: HeaderValue) {
        if let Ok(mut header) = self.header.lock() {
            *header = Some(value);
        }
    }

    fn refused(&self) -> RegistryProblem {
        match &self.login {
            Some(login) => RegistryProblem::Refused {
                who: format!("user {:?}", login.user),
                remedy: "check the password and what the user may do in this repository",
            },
            None => RegistryProblem::Refused {
                who: "everybody without a login".to_owned(),
                remedy: "log in: --docker-config names a file with `auths`, as `docker login` writes it",
            },
        }
    }
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Repository {
    /// Sends a request, and answers one challenge.
    pub(super) async fn exchange(
        &self,
        method: &Method,
        url: &str,
        headers: &[(HeaderName, String)],
        body: Bytes,
    ) -> Result<Response<Incoming>, RegistryProblem> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).map_err(|_| RegistryProblem::Address(value.clone()))?;
            all.insert(name.clone(), value);
        }
        // The registry chooses where an upload goes, but not who receives the login.
        let own = self.is_own(url);
        if let Some(value) = self.auth.current().filter(|_| own) {
            all.insert(header::AUTHORIZATION, value);
        }
        let answer = self.http.send(method, url, &all, body.clone()).await?;
        // A host to which the registry redirected does not choose where the login goes either.
        if answer.status() != StatusCode::UNAUTHORIZED || !own || transport::elsewhere(&answer).is_some() {
            return self.checked(answer);
        }
        let challenge = answer.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let value = self.answer(challenge.unwrap_or_default()).await?;
        all.insert(header::AUTHORIZATION, value.clone());
        let answer = self.checked(self.http.send(method, url, &all, body).await?)?;
        self.auth.keep(value);
        Ok(answer)
    }

    fn checked(&self, answer: Response<Incoming>) -> Result<Response<Incoming>, RegistryProblem> {
        match answer.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.auth.refused()),
            _ => Ok(answer),
        }
    }

    fn is_own(&self, url: &str) -> bool {
        let host = |url: &str| url.split('/').take(3).map(str::to_owned).collect::<Vec<_>>();
        host(url) == host(&self.base)
    }

    async fn answer(&self, challenge: &str) -> Result<HeaderValue, RegistryProblem> {
        let (scheme, words) = parse(challenge);
        let text = match (scheme.to_ascii_lowercase().as_str(), &self.auth.login) {
            ("basic", Some(login)) => basic(login),
            ("basic", None) => return Err(self.auth.refused()),
            ("bearer", _) => format!("Bearer {}", self.token(&words).await?),
            _ => return Err(RegistryProblem::Challenge(challenge.to_owned())),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| self.auth.refused())?;
        value.set_sensitive(true);
        Ok(value)
    }

    async fn token(&self, words: &BTreeMap<String, String>) -> Result<String, RegistryProblem> {
        let realm = words.get("realm").ok_or_else(|| RegistryProblem::Challenge("Bearer without realm".to_owned()))?;
        let mut url = realm.clone();
        for key in ["service", "scope"] {
            if let Some(value) = words.get(key) {
                url.push(if url.contains('?') { '&' } else { '?' });
                url.push_str(&format!("{key}={}", escape(value)));
            }
        }
        let mut headers = HeaderMap::new();
        if let Some(login) = &self.auth.login {
            headers
                .insert(header::AUTHORIZATION, HeaderValue::from_str(&basic(login)).map_err(|_| self.auth.refused())?);
        }
        let answer = self.checked(self.http.send(&Method::GET, &url, &headers, Bytes::new()).await?)?;
        let answer = transport::expect(answer, &[StatusCode::OK]).await?;
        let bytes = transport::read(answer, MAX_TOKEN).await?;
        // The JSON error is not passed on, because it quotes the response, which may be another service's.
        let host = || url.split('/').nth(2).unwrap_or_default().to_owned();
        let token: Token = serde_json::from_slice(&bytes).map_err(|_| RegistryProblem::NoToken(host()))?;
        token.token.or(token.access_token).filter(|token| !token.is_empty()).ok_or_else(|| self.auth.refused())
    }
}

fn basic(login: &Login) -> String {
    format!("Basic {}", STANDARD.encode(format!("{}:{}", login.user, login.password)))
}

/// `Bearer realm="…",service="…"`
fn parse(challenge: &str) -> (&str, BTreeMap<String, String>) {
    let (scheme, mut rest) = challenge.trim().split_once(' ').unwrap_or((challenge.trim(), ""));
    let mut words = BTreeMap::new();
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        words.insert(key.trim_matches([' ', ',']).to_ascii_lowercase(), value.to_owned());
        rest = after;
    }
    (scheme, words)
}

fn escape(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/,".contains(&b);
    text.bytes().map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn challenges_are_taken_apart() {
        let text = r#"Bearer realm="https://auth.io/token",service="registry.io", scope="repository:a/b:pull,push""#;
        let (scheme, words) = parse(text);
        assert_eq!(scheme, "Bearer");
        assert_eq!(words["realm"], "https://auth.io/token");
        assert_eq!(words["service"], "registry.io");
        assert_eq!(words["scope"], "repository:a/b:pull,push");
        assert_eq!(parse("Basic realm=x").1["realm"], "x");
        assert_eq!(parse("Negotiate"), ("Negotiate", BTreeMap::new()));
        assert_eq!(parse(r#"Bearer realm="open"#).1["realm"], "open");
    }

    #[test]
    fn nothing_escapes_from_a_query() {
        assert_eq!(escape("repository:a/b:pull&x=y z"), "repository:a/b:pull%26x%3Dy%20z");
    }
}

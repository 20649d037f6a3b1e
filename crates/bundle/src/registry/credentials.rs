//! Logins for registries, from a docker config or a pull secret. A credential helper is named here, and never started.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::Value;

use crate::Reference;

/// Why there is no login.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file does not have docker's form.
    #[error("the docker config cannot be read: it must be JSON like {{\"auths\": {{\"HOST\": {{\"auth\": \"…\"}}}}}}")]
    Unreadable(#[source] serde_json::Error),
    /// An entry does not contain a login.
    #[error("the docker config's entry {0:?} holds no login: `auth` must be the base64 of USER:PASSWORD")]
    Entry(String),
    /// A credential helper would have to run.
    #[error(
        "the docker config leaves the login of {host} to the credential helper {helper:?}, which the operator does not run: \
         write a config with `auths` for it, and name it with --docker-config"
    )]
    Helper { host: String, helper: String },
    /// The entry has a kind of token that only docker's own login flow provides.
    #[error(
        "the docker config has an identity token for {0}, which Boathook does not exchange: put user and password, or an \
         access token as the password, into `auth`"
    )]
    IdentityToken(String),
    /// The Secret is not a pull secret.
    #[error(
        "the Secret is not a pull secret: its type must be kubernetes.io/dockerconfigjson, and it needs `.dockerconfigjson`"
    )]
    NoPullSecret,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

/// A credential helper that knows a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// Its program is `docker-credential-NAME`.
    pub name: String,
    /// What the helper calls the registry.
    pub server: String,
    /// Whether the config says that the helper has a login for this registry. If not, it is a store for any registry.
    pub certain: bool,
}

/// Logins by registry, or by registry and the beginning of a path.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    config: Config,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    auths: BTreeMap<String, Entry>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.auths.keys()).finish()
    }
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "lowercase", default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl Credentials {
    /// Reads docker's `config.json`. A pull secret contains the same.
    pub fn from_docker_config(bytes: &[u8]) -> Result<Self, CredentialsError> {
        Ok(Self { config: serde_json::from_slice(bytes).map_err(CredentialsError::Unreadable)? })
    }

    /// Reads a Secret of type `kubernetes.io/dockerconfigjson`, as the API returns it.
    pub fn from_pull_secret(secret: &Value) -> Result<Self, CredentialsError> {
        let text = secret.pointer("/data/.dockerconfigjson").and_then(Value::as_str);
        let bytes = text.and_then(|text| STANDARD.decode(text).ok()).ok_or(CredentialsError::NoPullSecret)?;
        Self::from_docker_config(&bytes)
    }

    /// Adds the entries of the other that this one does not have.
    pub fn merge(&mut self, other: Self) {
        for (key, entry) in other.config.auths {
            self.config.auths.entry(key).or_insert(entry);
        }
        for (key, helper) in other.config.cred_helpers {
            self.config.cred_helpers.entry(key).or_insert(helper);
        }
        self.config.creds_store = self.config.creds_store.take().or(other.config.creds_store);
    }

    /// The helper to which the config leaves the login for a reference, if it has none itself.
    pub fn helper(&self, at: &Reference) -> Option<Helper> {
        let server = || match at.registry() {
            "docker.io" => "https://index.docker.io/v1/".to_owned(),
            host => host.to_owned(),
        };
        if let Some(name) = self.config.cred_helpers.get(at.registry()) {
            return Some(Helper { name: name.clone(), server: server(), certain: true });
        }
        let name = self.config.creds_store.clone()?;
        let key = self.key(at);
        match key.and_then(|key| self.config.auths.get(key)) {
            // docker keeps an empty entry for each login that is in the store, by the store's own name for it.
            Some(entry) if entry.is_empty() => Some(Helper { name, server: key?.clone(), certain: true }),
            Some(_) => None,
            None => Some(Helper { name, server: server(), certain: false }),
        }
    }

    /// Sets the login for a reference, which a helper returned.
    pub fn set_login(&mut self, at: &Reference, user: String, password: String) {
        self.forget_helpers();
        let entry = Entry { username: Some(user), password: Some(password), ..Entry::default() };
        self.config.auths.insert(at.source(), entry);
    }

    /// Does without the logins that helpers have.
    pub fn forget_helpers(&mut self) {
        self.config.cred_helpers.clear();
        self.config.creds_store = None;
    }

    fn key(&self, at: &Reference) -> Option<&String> {
        let source = at.source();
        let fits = |key: &&String| {
            let key = plain(key);
            source == key || source.strip_prefix(key).is_some_and(|rest| rest.starts_with('/'))
        };
        self.config.auths.keys().filter(fits).max_by_key(|key| plain(key).len())
    }

    /// Returns the login of the longest key with which the reference begins, or `None` if there is no such key.
    pub(super) fn login(&self, at: &Reference) -> Result<Option<Login>, CredentialsError> {
        let host = || at.registry().to_owned();
        if let Some(helper) = self.config.cred_helpers.get(at.registry()) {
            return Err(CredentialsError::Helper { host: host(), helper: helper.clone() });
        }
        let Some(key) = self.key(at) else { return Ok(None) };
        let login = self.config.auths.get(key).map(|entry| entry.login(key)).transpose()?.flatten();
        match (login, &self.config.creds_store) {
            (None, Some(helper)) => Err(CredentialsError::Helper { host: host(), helper: helper.clone() }),
            (login, _) => Ok(login),
        }
    }
}

/// docker writes `docker.io` as `https://index.docker.io/v1/`.
fn plain(key: &str) -> &str {
    let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let key = key.trim_end_matches('/');
    let key = key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key);
    if key == "index.docker.io" { "docker.io" } else { key }
}

impl Entry {
    fn is_empty(&self) -> bool {
        let texts = [&self.auth, &self.username, &self.password, &self.identitytoken];
        texts.iter().all(|text| text.as_deref().is_none_or(str::is_empty))
    }

    fn login(&self, key: &str) -> Result<Option<Login>, CredentialsError> {
        if self.identitytoken.as_ref().is_some_and(|token| !token.is_empty()) {
            return Err(CredentialsError::IdentityToken(key.to_owned()));
        }
        if let Some(auth) = self.auth.as_deref().filter(|auth| !auth.is_empty()) {
            let text = STANDARD.decode(auth).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let pair = text.as_deref().and_then(|text| text.trim_end_matches('\0').split_once(':'));
            let (user, password) = pair.ok_or_else(|| CredentialsError::Entry(key.to_owned()))?;
            return Ok(Some(Login { user: user.to_owned(), password: password.to_owned() }));
        }
        Ok(match (&self.username, &self.password) {
            (Some(user), Some(password)) => Some(Login { user: user.clone(), password: password.clone() }),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn login(config: &Value, reference: &str) -> Result<Option<String>, CredentialsError> {
        let credentials = Credentials::from_docker_config(config.to_string().as_bytes()).unwrap();
        let login = credentials.login(&reference.parse().unwrap())?;
        Ok(login.map(|login| format!("{}/{}", login.user, login.password)))
    }

    #[test]
    fn the_longest_key_wins_and_ends_at_a_slash() {
        let config = json!({"auths": {
            "https://r.io/v1/": {"auth": STANDARD.encode("a:b:c")},
            "r.io/team": {"username": "t", "password": "p"},
            "https://index.docker.io/v1/": {"auth": STANDARD.encode("d:e")},
        }});
        assert_eq!(login(&config, "r.io/x").unwrap().as_deref(), Some("a/b:c"));
        assert_eq!(login(&config, "r.io/team/x").unwrap().as_deref(), Some("t/p"));
        assert_eq!(login(&config, "r.io/teammate").unwrap().as_deref(), Some("a/b:c"));
        assert_eq!(login(&config, "docker.io/x/y").unwrap().as_deref(), Some("d/e"));
        assert_eq!(login(&config, "r.io.evil.com/x").unwrap(), None);
    }

    #[test]
    fn what_would_need_a_program_is_refused() {
        let error = login(&json!({"credHelpers": {"r.io": "ecr-login"}}), "r.io/x").unwrap_err().to_string();
        assert!(error.contains("ecr-login") && error.contains("--docker-config"), "{error}");
        let config = json!({"auths": {"r.io": {}}, "credsStore": "desktop"});
        assert!(matches!(login(&config, "r.io/x"), Err(CredentialsError::Helper { .. })));
        assert_eq!(login(&config, "other.io/x").unwrap(), None);
        let config = json!({"auths": {"r.io": {"auth": "e30=", "identitytoken": "x"}}});
        assert!(matches!(login(&config, "r.io/x"), Err(CredentialsError::IdentityToken(_))));
        let config = json!({"auths": {"r.io": {"auth": "no base64"}}});
        assert!(matches!(login(&config, "r.io/x"), Err(CredentialsError::Entry(_))));
    }

    #[test]
    fn a_helper_is_named_with_what_it_calls_the_registry() {
        let config = json!({
            "auths": {"https://index.docker.io/v1/": {}, "r.io": {"auth": STANDARD.encode("a:b")}, "s.io/team": {}},
            "credsStore": "desktop", "credHelpers": {"ecr.io": "ecr-login"},
        });
        let mut credentials = Credentials::from_docker_config(config.to_string().as_bytes()).unwrap();
        let helper = |credentials: &Credentials, at: &str| {
            credentials.helper(&at.parse().unwrap()).map(|helper| (helper.name, helper.server, helper.certain))
        };
        let some = |name: &str, server: &str, certain| Some((name.to_owned(), server.to_owned(), certain));
        assert_eq!(helper(&credentials, "ecr.io/x"), some("ecr-login", "ecr.io", true));
        assert_eq!(helper(&credentials, "docker.io/x"), some("desktop", "https://index.docker.io/v1/", true));
        assert_eq!(helper(&credentials, "s.io/team/x"), some("desktop", "s.io/team", true));
        assert_eq!(helper(&credentials, "other.io/x"), some("desktop", "other.io", false));
        assert_eq!(helper(&credentials, "r.io/x"), None);
        let at = "ecr.io/x".parse().unwrap();
        credentials.set_login(&at, "u".to_owned(), "p".to_owned());
        assert_eq!(credentials.login(&at).unwrap().unwrap().user, "u");
        assert_eq!(credentials.helper(&at), None);
    }

    #[test]
    fn a_pull_secret_is_a_docker_config() {
        let config = json!({"auths": {"r.io": {"username": "u", "password": "p"}}});
        let secret = json!({"data": {".dockerconfigjson": STANDARD.encode(config.to_string())}});
        let credentials = Credentials::from_pull_secret(&secret).unwrap();
        assert_eq!(credentials.login(&"r.io/x".parse().unwrap()).unwrap().unwrap().user, "u");
        assert!(Credentials::from_pull_secret(&json!({"data": {}})).is_err());
    }
}

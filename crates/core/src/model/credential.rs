//! Credentials for outbound HTTP: which host receives one, how it is sent, and where its values are. Pure. A value is
//! never here, so all of this may be logged.

use std::{fmt, path::PathBuf};

use super::{HostPattern, HttpTarget};

/// A credential that the host adds to the requests of a hook to one host. The hook never sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HttpCredential {
    /// As in a permission, but without `*`: `api.example.com`, `api.example.com:8443`, `http://api.example.com`.
    pub host: String,
    pub values: CredentialValues,
    pub form: CredentialForm,
    /// Where it is declared, for messages: `spec.httpCredentials of HookBundle team-a/hooks`.
    pub place: String,
}

/// Where the values are. They are read for each request, so that a change counts from the next one on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CredentialValues {
    /// A Secret in the namespace of the hook's ServiceAccount, read with the rights of that ServiceAccount.
    Secret(String),
    /// A directory with a file for each key, as a mounted Secret is.
    Directory(PathBuf),
}

/// How it is sent. A key is one of the Secret's, or the name of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CredentialForm {
    /// The value in a header, after the prefix.
    Header { name: String, prefix: String, key: String },
    /// `authorization: Basic …`.
    Basic { username: String, password: String },
    /// `authorization: Bearer …`.
    Bearer { key: String },
    /// AWS Signature Version 4, over the whole request with its body.
    AwsSigV4 {
        access_key_id: String,
        secret_access_key: String,
        session_token: Option<String>,
        region: String,
        service: String,
    },
}

impl HttpCredential {
    /// Whether a request to this place receives it.
    pub fn is_for(&self, target: &HttpTarget<'_>) -> bool {
        self.pattern().is_some_and(|pattern| pattern.matches(target))
    }

    /// `None`: the host is not exactly one. Such a credential is for no request.
    pub fn pattern(&self) -> Option<HostPattern<'_>> {
        HostPattern::parse(&self.host).filter(HostPattern::is_one)
    }

    /// The keys of its values.
    pub fn keys(&self) -> Vec<&str> {
        match &self.form {
            CredentialForm::Header { key, .. } | CredentialForm::Bearer { key } => vec![key],
            CredentialForm::Basic { username, password } => vec![username, password],
            CredentialForm::AwsSigV4 { access_key_id, secret_access_key, session_token, .. } => {
                [access_key_id, secret_access_key].into_iter().chain(session_token).map(String::as_str).collect()
            }
        }
    }
}

impl fmt::Display for HttpCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the credential for {} ({})", self.host, self.place)
    }
}

/// Why a credential cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CredentialProblem {
    pub kind: CredentialProblemKind,
    /// For people: the Secret, the key and the remedy. Never a value.
    pub message: String,
}

/// What somebody has to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialProblemKind {
    /// The Secret, the key or the file does not exist.
    Missing,
    /// The ServiceAccount may not read the Secret.
    Forbidden,
    /// The credential can never be sent: its host, its header or its value.
    Invalid,
    /// Nobody knows, because the API server does not answer.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(host: &str) -> HttpCredential {
        HttpCredential {
            host: host.to_owned(),
            values: CredentialValues::Secret("s".to_owned()),
            form: CredentialForm::Bearer { key: "token".to_owned() },
            place: "a test".to_owned(),
        }
    }

    fn target(tls: bool, host: &str, port: u16) -> HttpTarget<'_> {
        HttpTarget { method: "GET", tls, host, port, path: "/" }
    }

    // mutant: crates/core/src/model/credential.rs: `.is_some_and(|pattern| pattern.matches(target))` => `.is_some_and(|_| true)`
    // mutant: crates/core/src/model/credential.rs: `HostPattern::parse(&self.host).filter(HostPattern::is_one)` => `HostPattern::parse(&self.host)`
    #[test]
    fn a_credential_is_for_exactly_one_host() {
        let here = target(true, "a.io", 443);
        assert!(credential("a.io").is_for(&here));
        assert!(credential("a.io:8443").is_for(&target(true, "a.io", 8443)));
        assert!(credential("http://a.io").is_for(&target(false, "a.io", 80)));
        for other in [
            target(true, "a.io", 8443),
            target(false, "a.io", 443),
            target(false, "a.io", 80),
            target(true, "b.a.io", 443),
        ] {
            assert!(!credential("a.io").is_for(&other), "{other:?}");
        }
        for wrong in ["*.io", "*", "", "https://a.io", "a.io/"] {
            assert!(!credential(wrong).is_for(&here), "{wrong}");
        }
    }
}

//! Service account tokens: JSON Web Tokens, signed with a key that lives as long as the cluster. Tokens are not stored.
//! Each check compares a token with the objects that it is bound to.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use rand::Rng;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::User;
use crate::store::{Store, key};

/// The issuer of the tokens, and their default audience.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";
/// Allowed clock difference, in seconds.
const LEEWAY: i64 = 60;

/// The cluster's signing key.
pub(crate) struct Signer([u8; 32]);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

/// Name and uid of an object that a token is bound to.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub(crate) struct Bound {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// The claims in Kubernetes' own field of a token.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub(crate) struct Private {
    pub namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Bound>,
    pub serviceaccount: Bound,
}

/// The claims of a token. Times are in seconds since 1970.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub(crate) struct Claims {
    pub aud: Vec<String>,
    pub exp: i64,
    pub iat: i64,
    pub iss: String,
    pub jti: String,
    #[serde(rename = "kubernetes.io")]
    pub kubernetes: Private,
    pub nbf: i64,
    pub sub: String,
}

/// Why a token is invalid. For an unknown token, the API server says no more than this.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Refused {
    #[error("invalid bearer token")]
    Unknown,
    #[error("[invalid bearer token, token audiences {given} is invalid for the target audiences {wanted}]")]
    Audience { given: String, wanted: String },
    #[error("[invalid bearer token, {0}]")]
    Spent(String),
}

impl Signer {
    pub(crate) fn new() -> Self {
        Self(rand::rng().random())
    }

    fn mac(&self, text: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(text.as_bytes());
        Some(mac)
    }

    pub(crate) fn sign(&self, claims: &Claims) -> String {
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(crate::json::bytes(claims)));
        // An HMAC accepts keys of any length, so this cannot fail.
        let signature = self.mac(&signed).map(|mac| mac.finalize().into_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.unwrap_or_default()))
    }

    /// The claims of a token, if this cluster issued it.
    fn read(&self, token: &str) -> Option<Claims> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.mac(signed)?.verify_slice(&signature).ok()?;
        let (_, claims) = signed.split_once('.')?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }

    /// The service account of a token at `now`, and the requested audiences for which the token is valid.
    pub(crate) fn check(
        &self,
        store: &Store,
        token: &str,
        audiences: &[String],
        now: i64,
    ) -> Result<(User, Vec<String>), Refused> {
        let claims = self.read(token).ok_or(Refused::Unknown)?;
        let meant: Vec<String> = audiences.iter().filter(|a| claims.aud.contains(a)).cloned().collect();
        if meant.is_empty() {
            let (given, wanted) = (super::policy::quoted(&claims.aud), super::policy::quoted(audiences));
            return Err(Refused::Audience { given, wanted });
        }
        if now > claims.exp + LEEWAY {
            return Err(Refused::Spent("service account token has expired".to_owned()));
        }
        if now < claims.nbf - LEEWAY {
            return Err(Refused::Spent("service account token is not valid yet".to_owned()));
        }
        claims.kubernetes.stand(store).map_err(Refused::Spent)?;
        Ok((claims.user(), meant))
    }
}

impl Private {
    /// Whether all objects that the token is bound to still exist.
    fn stand(&self, store: &Store) -> Result<(), String> {
        let (namespace, account) = (&self.namespace, &self.serviceaccount);
        match store.get("serviceaccounts", &key(namespace, &account.name)) {
            None => return Err(format!("serviceaccounts {:?} not found", account.name)),
            Some(found) if *found.uid != *account.uid => {
                return Err(format!("service account UID ({}) does not match claim ({})", found.uid, account.uid));
            }
            Some(found) if found.terminating => {
                return Err(format!("service account {namespace}/{} has been deleted", account.name));
            }
            Some(_) => {}
        }
        let node = self.node.as_ref().filter(|_| self.pod.is_none());
        let bound = [("pods", namespace.as_str(), &self.pod.as_ref()), ("secrets", namespace, &self.secret.as_ref())];
        for (storage, namespace, reference) in bound.into_iter().chain([("nodes", "", &node)]) {
            let Some(reference) = reference else { continue };
            let found = store.get(storage, &key(namespace, &reference.name));
            if found.is_none_or(|found| *found.uid != *reference.uid || found.terminating && storage != "pods") {
                return Err("service account token has been invalidated".to_owned());
            }
        }
        Ok(())
    }
}

impl Claims {
    fn user(&self) -> User {
        let Private { namespace, node, pod, serviceaccount, .. } = &self.kubernetes;
        let mut user = User::service_account(namespace, &serviceaccount.name, &serviceaccount.uid);
        let mut extra = |key: &str, value: &str| {
            if !value.is_empty() {
                user.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value.to_owned()]);
            }
        };
        extra("credential-id", &format!("JTI={}", self.jti));
        for (kind, bound) in [("node", node), ("pod", pod)] {
            if let Some(bound) = bound {
                extra(&format!("{kind}-name"), &bound.name);
                extra(&format!("{kind}-uid"), &bound.uid);
            }
        }
        user
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_key_that_signed_reads() {
        let claims = Claims { sub: "x".into(), ..Claims::default() };
        let (signer, other) = (Signer::new(), Signer::new());
        let token = signer.sign(&claims);
        assert_eq!(signer.read(&token).unwrap(), claims);
        assert_eq!(other.read(&token), None);
        let (head, rest) = token.split_once('.').unwrap();
        let (_, signature) = rest.split_once('.').unwrap();
        let forged = URL_SAFE_NO_PAD.encode(crate::json::bytes(&Claims { sub: "admin".into(), ..Claims::default() }));
        assert_eq!(signer.read(&format!("{head}.{forged}.{signature}")), None);
        let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        for bad in ["", ".", "..", "a.b.c", &format!("{none}.{forged}."), &token[..token.len() - 1]] {
            assert_eq!(signer.read(bad), None, "{bad}");
        }
    }
}

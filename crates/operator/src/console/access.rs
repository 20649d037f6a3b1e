//! Who may see the console.

use axum::http::{HeaderMap, header};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use kube::Client;
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    denied::Denied,
    reviews::{Reviews, digest},
};

/// The longest token that is looked at.
const TOKEN: usize = 12 << 10;

/// Who may see the console. Requests carry a bearer token, which scripts of other sites cannot add.
#[derive(Debug, Clone)]
pub enum Access {
    /// Anyone whose token the API server knows, and whom it allows to `get` the non-resource URL `/boathook/console`.
    Reviewed,
    /// Anyone who has this secret. For loopback addresses only.
    Secret(SecretString),
}

impl Access {
    /// A secret that nobody can guess.
    pub fn random() -> Self {
        Self::Secret(URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()).into())
    }

    /// The secret, for the address that a browser is sent to.
    pub fn secret(&self) -> Option<&str> {
        match self {
            Self::Reviewed => None,
            Self::Secret(secret) => Some(secret.expose_secret()),
        }
    }
}

/// Decides about requests.
pub(super) enum Gate {
    Reviews(Box<Reviews>),
    /// The digest of the secret. How long it takes to compare digests says nothing about the secret.
    Secret([u8; 32]),
}

impl Gate {
    pub fn new(access: &Access, client: Client) -> Self {
        match access {
            Access::Reviewed => Self::Reviews(Box::new(Reviews::new(client))),
            Access::Secret(secret) => Self::Secret(digest(secret.expose_secret())),
        }
    }

    /// Lets a request pass, or says why not.
    pub async fn admit(&self, headers: &HeaderMap) -> Result<(), Denied> {
        let token = token(headers).ok_or(Denied::NoToken)?;
        match self {
            Self::Secret(secret) if digest(token) == *secret => Ok(()),
            Self::Secret(_) => Err(Denied::BadSecret),
            Self::Reviews(reviews) => reviews.admit(token).await,
        }
    }
}

/// The token of a request that has exactly one.
fn token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= TOKEN).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_alone_and_is_not_endless() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            token(&headers).map(str::to_owned)
        };
        assert_eq!(of(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(of(&["bearer  abc "]).as_deref(), Some("abc"));
        let long = format!("Bearer {}", "x".repeat(TOKEN + 1));
        for bad in [&[] as &[_], &["Bearer"], &["Bearer "], &["Basic abc"], &["Bearer a", "Bearer a"], &[&long]] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
    }

    #[tokio::test]
    async fn a_secret_is_compared_whole() {
        let access = Access::random();
        let secret = access.secret().unwrap().to_owned();
        assert!(secret.len() >= 43 && Access::random().secret() != Some(&secret));
        assert!(!format!("{access:?}").contains(&secret), "no log line shows it");
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let gate = Gate::new(&access, Client::try_from(config).unwrap());
        let admit = async |token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
            gate.admit(&headers).await
        };
        assert_eq!(admit(&secret).await, Ok(()));
        assert_eq!(admit(&secret[1..]).await, Err(Denied::BadSecret));
        assert_eq!(admit("x").await, Err(Denied::BadSecret));
        assert_eq!(gate.admit(&HeaderMap::new()).await, Err(Denied::NoToken));
    }
}

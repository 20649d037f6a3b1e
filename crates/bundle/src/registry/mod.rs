//! One repository of a registry, through the OCI distribution API. Trust is not decided here.
//!
//! We rejected the existing client crates, because they read manifests and tokens without a limit, and because their
//! TLS needs a crypto provider for the whole process.

mod auth;
mod credentials;
mod http;
mod transfer;

use std::{io, sync::Arc};

use ::http::{Method, StatusCode, header};
use bytes::Bytes;

use self::{auth::Authorizer, http::Http};
use crate::{
    Descriptor, Digest, Manifest, Reference, StoreError,
    manifest::{DOCKER_INDEX_TYPE, DOCKER_MANIFEST_TYPE, INDEX_TYPE, Index, MANIFEST_TYPE, MAX_MANIFEST, bytes_of},
};

pub use boathook_egress::{Allowed, Reach};
pub use credentials::{Credentials, CredentialsError, Helper};

/// How to reach registries.
#[derive(Debug, Clone, Default)]
pub struct Connect {
    /// Use HTTP without TLS. Default false.
    pub plain_http: bool,
    /// Certificates (PEM) that are trusted in addition to the system's.
    pub ca: Vec<u8>,
    pub credentials: Credentials,
    /// Where registries may be, and where they may redirect to.
    pub reach: Reach,
}

#[derive(Debug, Clone)]
pub(super) struct Repository {
    http: Arc<Http>,
    auth: Arc<Authorizer>,
    at: Reference,
    base: String,
}

impl Repository {
    pub fn new(at: &Reference, connect: &Connect) -> Result<Self, RegistryError> {
        let wrong = |problem| RegistryError::new(at, "the registry", problem);
        let login = connect.credentials.login(at).map_err(|error| wrong(RegistryProblem::Credentials(error)))?;
        // The registry that everybody calls docker.io is served by another host.
        let host = if at.registry() == "docker.io" { "registry-1.docker.io" } else { at.registry() };
        let scheme = if connect.plain_http { "http" } else { "https" };
        let base = format!("{scheme}://{host}/v2/{}", at.repository());
        let http = Http::new(connect, &base).map_err(wrong)?;
        Ok(Self { http: Arc::new(http), auth: Arc::new(Authorizer::new(login)), at: at.clone(), base })
    }

    /// Returns a manifest's bytes and digest by tag or digest, or `None` if it does not exist.
    pub async fn manifest(&self, name: &str) -> Result<Option<(Digest, Bytes)>, RegistryError> {
        let wrong = |problem| RegistryError::new(&self.at, &format!("manifest {name}"), problem);
        let url = format!("{}/manifests/{name}", self.base);
        // Images of other tools have Docker's types.
        let accept = [MANIFEST_TYPE, INDEX_TYPE, DOCKER_MANIFEST_TYPE, DOCKER_INDEX_TYPE].join(", ");
        let headers = [(header::ACCEPT, accept)];
        let answer = self.exchange(&Method::GET, &url, &headers, Bytes::new()).await.map_err(wrong)?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = http::expect(answer, &[StatusCode::OK]).await.map_err(wrong)?;
        let said =
            answer.headers().get("docker-content-digest").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let elsewhere = http::elsewhere(&answer);
        let bytes = http::read(answer, MAX_MANIFEST).await.map_err(wrong)?;
        // A caller that cannot parse the manifest quotes it in its error, so another host's response must parse.
        if let Some(host) = elsewhere
            && serde_json::from_slice::<Manifest>(&bytes).is_err()
            && serde_json::from_slice::<Index>(&bytes).is_err()
        {
            return Err(wrong(RegistryProblem::Foreign(host)));
        }
        let digest = Digest::of(&bytes);
        let wanted = if name.contains(':') { Some(name.to_owned()) } else { said };
        match wanted {
            Some(want) if want != digest.as_str() => Err(wrong(RegistryProblem::Digest { got: digest, want })),
            _ => Ok(Some((digest, bytes))),
        }
    }

    /// Returns a small blob after a check of its digest.
    pub async fn blob(&self, wanted: &Descriptor) -> Result<Bytes, RegistryError> {
        let wrong = |problem| RegistryError::new(&self.at, &format!("blob {}", wanted.digest), problem);
        let url = format!("{}/blobs/{}", self.base, wanted.digest);
        let answer = self.exchange(&Method::GET, &url, &[], Bytes::new()).await.map_err(wrong)?;
        let answer = http::expect(answer, &[StatusCode::OK]).await.map_err(wrong)?;
        let bytes = http::read(answer, wanted.size).await.map_err(wrong)?;
        let got = Digest::of(&bytes);
        if got != wanted.digest {
            return Err(wrong(RegistryProblem::Digest { got, want: wanted.digest.to_string() }));
        }
        Ok(bytes)
    }

    /// Returns what refers to a manifest. If the registry keeps no such list, uses the tag that replaces it.
    pub async fn referrers(&self, digest: &Digest) -> Result<Vec<Descriptor>, RegistryError> {
        let wrong = |problem| RegistryError::new(&self.at, &format!("referrers of {digest}"), problem);
        let url = format!("{}/referrers/{digest}", self.base);
        let answer = self.exchange(&Method::GET, &url, &[], Bytes::new()).await.map_err(wrong)?;
        let elsewhere = http::elsewhere(&answer);
        let bytes = if answer.status() == StatusCode::OK {
            Some(http::read(answer, MAX_MANIFEST).await.map_err(wrong)?)
        } else {
            self.manifest(&super::manifest::referrers_tag(digest)).await?.map(|(_, bytes)| bytes)
        };
        let Some(bytes) = bytes else { return Ok(Vec::new()) };
        let unreadable = |error| match elsewhere {
            Some(host) => RegistryProblem::Foreign(host),
            None => RegistryProblem::Json(error),
        };
        let index: Index = serde_json::from_slice(&bytes).map_err(|error| wrong(unreadable(error)))?;
        Ok(index.manifests)
    }

    /// Adds an entry to the list of referrers under a tag, for registries that keep no such list themselves.
    pub async fn add_referrer(&self, subject: &Digest, entry: Descriptor) -> Result<(), RegistryError> {
        let tag = super::manifest::referrers_tag(subject);
        let wrong = |error| RegistryError::new(&self.at, &format!("manifest {tag}"), RegistryProblem::Json(error));
        let mut index = match self.manifest(&tag).await? {
            Some((_, bytes)) => serde_json::from_slice(&bytes).map_err(wrong)?,
            None => Index::default(),
        };
        if index.manifests.iter().all(|other| other.digest != entry.digest) {
            index.manifests.push(entry);
            let bytes = bytes_of(&index).map_err(wrong)?;
            self.put_manifest(INDEX_TYPE, bytes.into(), Some(&tag)).await?;
        }
        Ok(())
    }

    /// Stores a blob, unless it exists. Returns whether it was sent.
    pub async fn put_blob(&self, blob: &Descriptor, bytes: Bytes) -> Result<bool, RegistryError> {
        let wrong = |problem| RegistryError::new(&self.at, &format!("blob {}", blob.digest), problem);
        transfer::upload(self, blob, bytes).await.map_err(wrong)
    }

    /// Stores a manifest under a tag, or else under its digest. Returns whether the registry lists it as a referrer of
    /// its subject.
    pub async fn put_manifest(&self, media_type: &str, bytes: Bytes, tag: Option<&str>) -> Result<bool, RegistryError> {
        let digest = Digest::of(&bytes);
        let name = tag.unwrap_or(digest.as_str());
        let wrong = |problem| RegistryError::new(&self.at, &format!("manifest {name}"), problem);
        let url = format!("{}/manifests/{name}", self.base);
        let headers = [(header::CONTENT_TYPE, media_type.to_owned())];
        let answer = self.exchange(&Method::PUT, &url, &headers, bytes).await.map_err(wrong)?;
        let answer = http::expect(answer, &[StatusCode::CREATED]).await.map_err(wrong)?;
        Ok(answer.headers().contains_key("oci-subject"))
    }
}

/// A request to a registry that failed.
#[derive(Debug, thiserror::Error)]
#[error("{reference}: {what}")]
pub struct RegistryError {
    reference: String,
    what: String,
    #[source]
    problem: RegistryProblem,
}

impl RegistryError {
    pub(crate) fn new(at: &Reference, what: &str, problem: RegistryProblem) -> Self {
        Self { reference: at.to_string(), what: what.to_owned(), problem }
    }

    pub fn problem(&self) -> &RegistryProblem {
        &self.problem
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RegistryProblem {
    /// There is no connection.
    #[error(
        "cannot connect to {host}: check that it is reachable. For a private CA, use --ca; for a registry without TLS, use --plain-http"
    )]
    Unreachable {
        host: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No byte arrived for too long.
    #[error("the registry sent nothing for {0} s: the next attempt resumes where this one stopped")]
    Stalled(u64),
    /// The connection broke.
    #[error("the connection was lost: the next attempt resumes where this one stopped")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The address is not valid.
    #[error("{0:?} is not an address that the operator can send a request to")]
    Address(String),
    /// The address is without TLS, and that is not allowed.
    #[error("{0:?} has no TLS: allow it with --plain-http on a network that you trust")]
    Plain(String),
    /// The address is without TLS, and only the admin may allow that.
    #[error("{0} must not be used without TLS: the operator's admin can allow it with --insecure-registry {0}")]
    Insecure(String),
    /// The address belongs to this machine, its network or its cluster.
    #[error("{0} is not at a public address: the operator's admin can allow it with --private-registry {0}")]
    NotPublic(String),
    /// Another host responded with an error. Its text is not shown to the tenant that named the registry.
    #[error("{host}, to which the registry redirects, answered {status}")]
    Elsewhere { host: String, status: u16 },
    /// Another host's response cannot be parsed. No part of it is shown to the tenant that named the registry.
    #[error("{0}, to which the registry redirects, sends a response that does not match the request")]
    Foreign(String),
    /// The address that the registry named for tokens returned no token.
    #[error("{0}, the registry's token service, sends no token")]
    NoToken(String),
    /// There are too many redirects.
    #[error("the registry redirects more than {0} times")]
    Redirects(usize),
    /// The registry does not have it.
    #[error("the registry does not have it: check the name, push it first, or log in if it is private")]
    Missing,
    /// The registry does not say how to log in.
    #[error("the registry requires an unknown kind of login ({0:?}); known are Basic and Bearer")]
    Challenge(String),
    /// There is no login, or it is wrong.
    #[error("the registry refuses {who}: {remedy}")]
    Refused {
        /// The user that was refused.
        who: String,
        remedy: &'static str,
    },
    /// The registry responded with another status.
    #[error("the registry answers {status}: {text}")]
    Status {
        status: u16,
        /// The registry's message.
        text: String,
    },
    /// A document is too large.
    #[error("it is larger than the expected {0} bytes, so reading stopped")]
    TooLarge(u64),
    /// A document is not the one that was requested.
    #[error("it was tampered with or damaged: its digest is {got} instead of {want}")]
    Digest {
        /// The digest of the document.
        got: Digest,
        /// The digest that was requested.
        want: String,
    },
    /// The response is not JSON.
    #[error("the registry's answer cannot be read")]
    Json(#[source] serde_json::Error),
    /// The admin's own certificates cannot be parsed.
    #[error("the file of --ca holds no certificate: it must be PEM, with BEGIN CERTIFICATE")]
    Authority,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// There is no usable login.
    #[error("its login cannot be read")]
    Credentials(#[source] CredentialsError),
    /// The store reported an error.
    #[error("it cannot be stored")]
    Store(#[from] StoreError),
    /// A file cannot be read.
    #[error("a file cannot be read")]
    File(#[from] io::Error),
}

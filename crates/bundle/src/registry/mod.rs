//! One repository of a registry, through the OCI distribution API. Trust is not decided here.
//!
//! We rejected the existing client crates, because they read manifests and tokens without a limit, and because their
//! TLS needs a crypto provider for the whole process.

mod auth;
mod credentials;
mod error;
mod http;
mod reach;
mod transfer;

use std::sync::Arc;

use ::http::{Method, StatusCode, header};
use bytes::Bytes;

pub use credentials::{Credentials, CredentialsError};
pub use error::{RegistryError, RegistryProblem};
pub use reach::{Allowed, Reach};

use self::{auth::Authorizer, http::Http};
use super::{
    Descriptor, Digest, Manifest, Reference,
    manifest::{INDEX_TYPE, Index, MANIFEST_TYPE, MAX_MANIFEST, bytes_of},
};

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
        let accept = [MANIFEST_TYPE, INDEX_TYPE].join(", ");
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
            self.manifest(&super::payload::referrers_tag(digest)).await?.map(|(_, bytes)| bytes)
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
        let tag = super::payload::referrers_tag(subject);
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

//! The server's certificates: its own, stored in a Secret and renewed, or somebody else's, in files.
//!
//! This module registers no bundle. The code that does watches it. A key is never printed.

mod decide;
mod files;
mod managed;
mod material;

use std::{fmt, path::PathBuf, sync::Arc};

use boathook_core::{
    model::PathKey,
    tasks::{Task, Tasks},
};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_rustls::rustls::sign::CertifiedKey;

use material::Material;

pub use decide::Lifetimes;
pub use managed::{Clock, Managed};

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot {verb} the Secret {secret} of the webhooks' certificates")]
    Secret {
        /// For example `get`.
        verb: &'static str,
        /// `namespace/name`
        secret: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error(
        "the Secret {0} has certificates that Boathook did not issue: choose another Secret, delete this one, \
         or mount it and use its files"
    )]
    Foreign(String),
    #[error(
        "other clients keep changing the Secret {0} of the webhooks' certificates: choose a Secret that only Boathook writes"
    )]
    Contended(String),
    #[error("cannot read {path} of the webhooks' certificates")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the certificate and key in {place} cannot be used: {why}")]
    Unusable {
        /// A folder or a Secret.
        place: String,
        why: String,
    },
    #[error("cannot issue a certificate")]
    Issue(#[from] rcgen::Error),
}

/// The authorities by which the API server verifies the server, in PEM, newest first. It is empty if the files name
/// none. The API server then trusts the authority already, or somebody else puts it into the registrations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaBundle(Arc<str>);

impl CaBundle {
    pub fn new(pem: impl Into<Arc<str>>) -> Self {
        Self(pem.into())
    }

    pub fn as_pem(&self) -> &str {
        &self.0
    }

    /// Whether there are no authorities.
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }
}

/// The keys of the webhooks' paths: which ones are accepted, and which one is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathKeys {
    accepted: Vec<PathKey>,
    registered: PathKey,
}

impl PathKeys {
    /// `registered` is the position of the key to register. If there is none at it, the last key is registered.
    fn new(accepted: Vec<PathKey>, registered: usize) -> Option<Self> {
        let registered = accepted.get(registered).or(accepted.last())?.clone();
        Some(Self { accepted, registered })
    }

    /// The key to register with.
    pub fn registered(&self) -> &PathKey {
        &self.registered
    }

    /// The path in its registered form.
    pub fn sign(&self, path: &str) -> String {
        self.registered.sign(path)
    }

    /// Whether this is the secret part of the path.
    pub(super) fn accepts(&self, path: &str, secret: &str) -> bool {
        self.accepted.iter().any(|key| key.knows(path, secret))
    }
}

/// When the certificates expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// The serving certificate.
    pub serving: Timestamp,
    /// The newest authority. `None` if it is not known.
    pub authority: Option<Timestamp>,
}

/// What is served at the moment.
#[derive(Clone)]
pub(super) struct Serving {
    pub key: Arc<CertifiedKey>,
    pub expiry: Expiry,
}

/// The name of the task.
const UPKEEP: &str = "certificates of webhooks";

/// The certificates, which are kept up to date while this lives.
pub struct Certificates {
    serving: watch::Receiver<Serving>,
    bundle: watch::Receiver<CaBundle>,
    paths: watch::Receiver<PathKeys>,
    _upkeep: Task<()>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("expiry", &self.expiry()).finish_non_exhaustive()
    }
}

impl Certificates {
    /// Boathook's own certificates, in a Secret that all replicas share. The first replica issues them, and they are
    /// renewed when a third of their lifetime is left.
    pub async fn managed(client: kube::Client, managed: Managed, tasks: &Tasks) -> Result<Self, CertificateError> {
        managed::start(client, managed, tasks).await
    }

    /// Deletes the Secret of [`Self::managed`] if it exists and is Boathook's own. Returns whether it did. With
    /// `dry_run`, the Secret stays.
    pub async fn remove(
        client: kube::Client,
        namespace: &str,
        secret: &str,
        dry_run: bool,
    ) -> Result<bool, CertificateError> {
        managed::remove(client, namespace, secret, dry_run).await
    }

    /// The certificates in `dir`: `tls.crt`, `tls.key` and optionally `ca.crt`. They are read again when they change.
    pub async fn files(dir: impl Into<PathBuf>, tasks: &Tasks) -> Result<Self, CertificateError> {
        files::start(dir.into(), files::EVERY, tasks).await
    }

    /// Boathook's own certificates, which only this process has. For a process that answers only while somebody uses it
    /// interactively.
    pub fn memory(names: &[String], tasks: &Tasks) -> Result<Self, CertificateError> {
        let mut material = Material::default();
        let (now, lifetimes) = (Timestamp::now(), Lifetimes::default());
        material.renew(now, names, &lifetimes)?;
        let paths = material.path_keys(now, &lifetimes).ok_or(rcgen::Error::RingUnspecified)?;
        let published = Published::new(material.serving("memory")?, material.bundle(), paths);
        let certificates = published.certificates();
        // Receivers wait as long as the sender exists.
        let kept = tasks.spawn(UPKEEP, async move {
            let _published = published;
            std::future::pending().await
        });
        Ok(certificates(kept))
    }

    /// The authorities to register. The value changes with them.
    pub fn watch(&self) -> watch::Receiver<CaBundle> {
        self.bundle.clone()
    }

    /// The keys of the webhooks' paths. The value changes with them.
    pub fn paths(&self) -> watch::Receiver<PathKeys> {
        self.paths.clone()
    }

    /// When the certificates expire.
    pub fn expiry(&self) -> Expiry {
        self.serving.borrow().expiry
    }

    pub(super) fn serving(&self) -> watch::Receiver<Serving> {
        self.serving.clone()
    }
}

/// The senders.
struct Published {
    serving: watch::Sender<Serving>,
    bundle: watch::Sender<CaBundle>,
    paths: watch::Sender<PathKeys>,
}

impl Published {
    fn new(serving: Serving, bundle: CaBundle, paths: PathKeys) -> Self {
        let (serving, bundle) = (watch::Sender::new(serving), watch::Sender::new(bundle));
        Self { serving, bundle, paths: watch::Sender::new(paths) }
    }

    /// Accepts the key that was registered until now for one more period, because registrations follow later.
    fn publish_paths(&self, mut paths: PathKeys) {
        self.paths.send_if_modified(|current| {
            if current.registered != paths.registered && !paths.accepted.contains(&current.registered) {
                paths.accepted.push(current.registered.clone());
            }
            let changed = *current != paths;
            *current = paths;
            changed
        });
    }

    /// Publishes the authorities first, so that a receiver between the two steps knows both.
    fn publish(&self, serving: Serving, bundle: CaBundle) {
        self.bundle.send_if_modified(|current| {
            let changed = *current != bundle;
            *current = bundle;
            changed
        });
        self.serving.send_replace(serving);
    }

    fn certificates(&self) -> impl FnOnce(Task<()>) -> Certificates + use<> {
        let (serving, bundle) = (self.serving.subscribe(), self.bundle.subscribe());
        let paths = self.paths.subscribe();
        |upkeep| Certificates { serving, bundle, paths, _upkeep: upkeep }
    }
}

//! Certificates that somebody else puts into files, and changes.
//!
//! The key of the webhooks' paths is derived from the private key. All replicas that serve the same certificate
//! therefore have the same paths, and no other Secret is needed. Files are compared by content at intervals, because
//! mounts of Secrets and of CSI drivers are exchanged by symlinks, and not every file system reports changes.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use boathook_core::{
    model::{PathKey, error_chain},
    tasks::Tasks,
};
use ring::hmac;
use tokio::time::Instant;

use super::{CertificateError, Certificates, PathKeys, Published, UPKEEP, material::Material};

/// How often the three small files are read.
pub(super) const EVERY: Duration = Duration::from_secs(2);

pub(super) async fn start(dir: PathBuf, every: Duration, tasks: &Tasks) -> Result<Certificates, CertificateError> {
    let material = read(&dir).await?;
    let paths = Paths::new(&material);
    let published = Published::new(material.serving(&dir.display().to_string())?, material.bundle(), paths.keys()?);
    let certificates = published.certificates();
    Ok(certificates(tasks.spawn(UPKEEP, run(dir, every, (material, paths), published))))
}

/// How long the mounts of other replicas may be behind after a change.
const OVERLAP: Duration = Duration::from_secs(600);

/// The keys of the webhooks' paths.
struct Paths {
    newest: PathKey,
    /// The previous key, and when it was replaced.
    before: Option<(PathKey, Instant)>,
}

impl Paths {
    fn new(material: &Material) -> Self {
        Self { newest: path_key(material), before: None }
    }

    fn changed(&mut self, material: &Material) {
        let newest = path_key(material);
        if newest != self.newest {
            self.before = Some((std::mem::replace(&mut self.newest, newest), Instant::now()));
        }
    }

    /// As with Boathook's own keys: the new one is known for a while before it is registered, and the old one for as
    /// long afterwards.
    fn keys(&self) -> Result<PathKeys, CertificateError> {
        let before = self.before.as_ref().filter(|(_, since)| since.elapsed() < OVERLAP * 2);
        let young = before.is_some_and(|(_, since)| since.elapsed() < OVERLAP);
        let accepted = [Some(&self.newest), before.map(|(key, _)| key)];
        let keys = PathKeys::new(accepted.into_iter().flatten().cloned().collect(), usize::from(young));
        keys.ok_or_else(|| CertificateError::Contended(String::new()))
    }
}

fn path_key(material: &Material) -> PathKey {
    let key = hmac::Key::new(hmac::HMAC_SHA256, material.key.as_bytes());
    let mut bytes = [0; PathKey::BYTES];
    let made = hmac::sign(&key, b"boathook: paths of webhooks");
    bytes.iter_mut().zip(made.as_ref()).for_each(|(byte, made)| *byte = *made);
    PathKey::new(bytes)
}

async fn run(dir: PathBuf, every: Duration, (mut served, mut paths): (Material, Paths), published: Published) {
    // The same problem is logged only once.
    let mut said = String::new();
    loop {
        tokio::time::sleep(every).await;
        let text = match look(&dir, &mut served, &mut paths, &published).await {
            Ok(()) => String::new(),
            Err(error) => error_chain(&error),
        };
        if !text.is_empty() && text != said {
            tracing::warn!(error = %text, "the webhooks' old certificates stay in use");
        }
        said = text;
    }
}

async fn look(
    dir: &Path,
    served: &mut Material,
    paths: &mut Paths,
    published: &Published,
) -> Result<(), CertificateError> {
    let found = read(dir).await?;
    if found != *served {
        // In the middle of a change, certificate and key do not belong together. The next check finds both.
        published.publish(found.serving(&dir.display().to_string())?, found.bundle());
        *served = found;
        paths.changed(served);
        tracing::info!(dir = %dir.display(), "the webhooks' certificates have changed");
    }
    published.publish_paths(paths.keys()?);
    Ok(())
}

async fn read(dir: &Path) -> Result<Material, CertificateError> {
    let file = async |name: &str| {
        let path = dir.join(name);
        let read = tokio::fs::read_to_string(&path).await;
        read.map_err(|source| CertificateError::File { path, source })
    };
    let authorities = match file("ca.crt").await {
        Err(CertificateError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    Ok(Material {
        authorities,
        signing_key: String::new(),
        certificate: file("tls.crt").await?,
        key: file("tls.key").await?,
        paths: String::new(),
    })
}

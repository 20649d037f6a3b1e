//! Certificates that somebody else puts into files, and changes.
//!
//! Never writes one. Compared by content, at intervals: mounts of Secrets and of CSI drivers are exchanged
//! by symlinks, and not every file system tells.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_util::task::AbortOnDropHandle;

use super::{CertificateError, Certificates, Published, material::Material};
use crate::model::error_chain;

/// How often they are read: three small files.
pub(super) const EVERY: Duration = Duration::from_secs(2);

pub(super) async fn start(dir: PathBuf, every: Duration) -> Result<Certificates, CertificateError> {
    let material = read(&dir).await?;
    let published = Published::new(material.serving(&dir.display().to_string())?, material.bundle());
    let certificates = published.certificates();
    let task = tokio::spawn(run(dir, every, material, published));
    Ok(certificates(AbortOnDropHandle::new(task)))
}

async fn run(dir: PathBuf, every: Duration, mut served: Material, published: Published) {
    // What is wrong is said once.
    let mut said = String::new();
    loop {
        tokio::time::sleep(every).await;
        let text = match look(&dir, &mut served, &published).await {
            Ok(()) => String::new(),
            Err(error) => error_chain(&error),
        };
        if !text.is_empty() && text != said {
            tracing::warn!(error = %text, "the webhooks' old certificates are served on");
        }
        said = text;
    }
}

async fn look(dir: &Path, served: &mut Material, published: &Published) -> Result<(), CertificateError> {
    let found = read(dir).await?;
    if found != *served {
        // Halfway through a change, certificate and key don't belong together; the next look finds both.
        published.publish(found.serving(&dir.display().to_string())?, found.bundle());
        *served = found;
        tracing::info!(dir = %dir.display(), "the webhooks' certificates have changed");
    }
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
    })
}

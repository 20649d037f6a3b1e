//! Takes back what an operator left in a cluster: registrations, the certificates, the Lease. Never stops an operator.

use boathook_kube::election;

use crate::{
    registration::{self, RegistrationError, Removed},
    webhook::{CertificateError, Certificates},
};

/// Not everything could be taken back.
#[derive(Debug, thiserror::Error)]
#[error("not everything can be taken back")]
pub enum UninstallError {
    /// Registrations.
    Registration(#[from] RegistrationError),
    /// The Secret of the certificates.
    Certificates(#[from] CertificateError),
    /// The Lease of the replicas.
    Lease(#[source] Box<kube::Error>),
}

/// What an operator left.
#[derive(Debug, Clone, Copy)]
pub struct Left<'a> {
    /// The operator's name.
    pub instance: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The Secret with certificates of its own making.
    pub secret: &'a str,
    /// The Lease of its replicas.
    pub lease: &'a str,
}

/// Takes it back; with `dry_run`, only says what that would be.
pub async fn uninstall(client: kube::Client, left: Left<'_>, dry_run: bool) -> Result<Removed, UninstallError> {
    let mut removed = registration::remove(client.clone(), left.instance, dry_run).await?;
    // Last: as long as anything is registered, a restarted operator needs them.
    if Certificates::remove(client.clone(), left.namespace, left.secret, dry_run).await? {
        removed.deleted.push(format!("secrets {}/{}", left.namespace, left.secret));
    }
    let lease = election::remove(client, left.namespace, left.lease, dry_run).await;
    if lease.map_err(|error| UninstallError::Lease(Box::new(error)))? {
        removed.deleted.push(format!("leases {}/{}", left.namespace, left.lease));
    }
    Ok(removed)
}

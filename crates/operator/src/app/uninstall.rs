//! Removes what an operator left in a cluster: registrations, the certificates, the Lease. It does not stop an
//! operator.

use boathook_kube::election;

use crate::{
    registration::{self, Pending, RegistrationError, Removed},
    webhook::{CertificateError, Certificates},
};

#[derive(Debug, thiserror::Error)]
#[error("some objects could not be deleted")]
pub enum UninstallError {
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
    pub namespace: &'a str,
    /// The Secret with the certificates that it created.
    pub secret: &'a str,
    /// The Lease of its replicas.
    pub lease: &'a str,
}

/// Removes it. With `dry_run`, only returns what would be removed.
pub async fn uninstall(client: kube::Client, left: Left<'_>, dry_run: bool) -> Result<Removed, UninstallError> {
    let mut removed = registration::remove(client.clone(), left.instance, Pending::default(), dry_run).await?;
    // Certificates come after registrations, because a restarted operator needs them while anything is registered.
    if Certificates::remove(client.clone(), left.namespace, left.secret, dry_run).await? {
        removed.deleted.push(format!("secrets {}/{}", left.namespace, left.secret));
    }
    let lease = election::remove(client, left.namespace, left.lease, dry_run).await;
    if lease.map_err(|error| UninstallError::Lease(Box::new(error)))? {
        removed.deleted.push(format!("leases {}/{}", left.namespace, left.lease));
    }
    Ok(removed)
}

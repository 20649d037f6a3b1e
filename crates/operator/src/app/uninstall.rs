//! Removes what an operator left in a cluster: registrations, the certificates, the Lease, its finalizers. It does not stop
//! an operator.

use boathook_kube::election;
use kube::{
    Client, Resource, ResourceExt as _,
    api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::json;

use crate::{
    hookbundle::{self, HookBundle, listable, served},
    module::{self, Module},
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
pub async fn uninstall(client: Client, left: Left<'_>, dry_run: bool) -> Result<Removed, UninstallError> {
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

/// Removes the finalizers from all HookBundles and Modules, so that they can be deleted without an operator. Returns
/// them, such as `HookBundle team/web`. With `dry_run`, it only returns which ones it would change.
pub async fn release(client: &Client, dry_run: bool) -> Result<Vec<String>, kube::Error> {
    let mut released = release_all::<HookBundle>(client, hookbundle::FINALIZER, dry_run).await?;
    released.extend(release_all::<Module>(client, module::FINALIZER, dry_run).await?);
    Ok(released)
}

async fn release_all<K>(client: &Client, ours: &str, dry_run: bool) -> Result<Vec<String>, kube::Error>
where
    K: Resource<DynamicType = ()>,
{
    let mut released = Vec::new();
    if !served::<K>(client).await? {
        return Ok(released);
    }
    listable::<K>(client).await;
    let resource = ApiResource::erase::<K>(&());
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    for object in all.list_metadata(&ListParams::default()).await? {
        let others: Vec<_> = object.finalizers().iter().filter(|finalizer| *finalizer != ours).collect();
        if others.len() == object.finalizers().len() {
            continue;
        }
        let (name, namespace) = (object.name_any(), object.namespace());
        if !dry_run {
            // Sends the resourceVersion that was read, so that no other finalizer is lost.
            let metadata = json!({"finalizers": others, "resourceVersion": object.resource_version()});
            let api: Api<DynamicObject> = match &namespace {
                Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
                None => all.clone(),
            };
            api.patch_metadata(&name, &PatchParams::default(), &Patch::Merge(json!({ "metadata": metadata }))).await?;
        }
        let place = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        released.push(format!("{} {place}{name}", resource.kind));
    }
    Ok(released)
}

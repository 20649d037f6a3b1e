//! Releases HookBundles when there is no operator any more. It does not delete them.

use kube::{
    ResourceExt as _,
    api::{Api, ListParams, Patch, PatchParams},
};
use serde_json::json;

use super::{FINALIZER, HookBundle, served};

/// Removes the finalizer from all HookBundles, so that they can be deleted without an operator. Returns their
/// namespaces and names. With `dry_run`, it only returns which ones it would change.
pub async fn release(client: kube::Client, dry_run: bool) -> Result<Vec<String>, kube::Error> {
    if !served(&client).await? {
        return Ok(Vec::new());
    }
    let mut released = Vec::new();
    for bundle in Api::<HookBundle>::all(client.clone()).list(&ListParams::default()).await? {
        if !bundle.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
            continue;
        }
        let (namespace, name) = (bundle.namespace().unwrap_or_default(), bundle.name_any());
        if !dry_run {
            let others: Vec<_> = bundle.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER).collect();
            // Sends the resourceVersion that was read, so that no other finalizer is lost.
            let metadata = json!({"finalizers": others, "resourceVersion": bundle.resource_version()});
            let api: Api<HookBundle> = Api::namespaced(client.clone(), &namespace);
            api.patch(&name, &PatchParams::default(), &Patch::Merge(json!({ "metadata": metadata }))).await?;
        }
        released.push(format!("{namespace}/{name}"));
    }
    Ok(released)
}

//! Lets HookBundles go that no operator keeps any more. Never deletes one.

use kube::{
    ResourceExt as _,
    api::{Api, ListParams, Patch, PatchParams},
};
use serde_json::json;

use super::{FINALIZER, HookBundle, served};

/// Takes the finalizer from all HookBundles, so that they can be deleted without an operator. With `dry_run`, only says
/// which would be. Gives their namespaces and names.
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
            // With the version that was read: another's finalizer must not be lost.
            let metadata = json!({"finalizers": others, "resourceVersion": bundle.resource_version()});
            let api: Api<HookBundle> = Api::namespaced(client.clone(), &namespace);
            api.patch(&name, &PatchParams::default(), &Patch::Merge(json!({ "metadata": metadata }))).await?;
        }
        released.push(format!("{namespace}/{name}"));
    }
    Ok(released)
}

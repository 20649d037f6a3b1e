//! Finalizers that keep claims and volumes while they are in use. Only objects that are marked for deletion are
//! changed.

use serde_json::Value;

use super::replace;
use crate::context::Context;
use crate::json;
use crate::kinds::Resource;
use crate::lifecycle::admit::{PV_PROTECTION, PVC_PROTECTION};
use crate::shared::Shared;
use crate::store::{Query, Stored};

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

/// After an object was marked for deletion, or changed after that.
pub(super) fn after_mark(shared: &Shared, resource: &Resource, key: &str, context: &Context) {
    if !shared.options.garbage_collection {
        return;
    }
    let (finalizer, free): (_, fn(&Shared, &Stored) -> bool) = match &*resource.storage {
        CLAIMS => (PVC_PROTECTION, |shared, claim| !is_used(shared, claim)),
        VOLUMES => (PV_PROTECTION, |_, volume| json::text(&volume.value(), &["status", "phase"]) != "Bound"),
        _ => return,
    };
    loop {
        let Some(current) = shared.store.get(&resource.storage, key).filter(|c| c.terminating) else { return };
        if !free(shared, &current) {
            return;
        }
        let mut object = current.value();
        let finalizers = json::metadata(&mut object).get_mut("finalizers").and_then(Value::as_array_mut);
        let Some(finalizers) = finalizers.filter(|all| all.iter().any(|f| f == finalizer)) else { return };
        finalizers.retain(|f| f != finalizer);
        if finalizers.is_empty() {
            json::metadata(&mut object).shift_remove("finalizers");
        }
        if replace(shared, resource, &current, object, context).is_ok() {
            return;
        }
    }
}

/// After a pod was removed. Claims that waited for it may now be removed.
pub(super) fn after_removal(shared: &Shared, resource: &Resource, namespace: &str, context: &Context) {
    if &*resource.storage != "pods" {
        return;
    }
    let registry = shared.registry();
    let Some(claims) = registry.find("", "v1", CLAIMS) else { return };
    for claim in in_namespace(shared, CLAIMS, namespace, &|claim| claim.terminating) {
        after_mark(shared, claims, &claim, context);
    }
}

fn is_used(shared: &Shared, claim: &Stored) -> bool {
    let uses = |pod: &Stored| {
        let pod = pod.value();
        let volumes = json::list(&pod, &["spec", "volumes"]);
        volumes.iter().any(|v| json::text(v, &["persistentVolumeClaim", "claimName"]) == claim.name())
    };
    !in_namespace(shared, "pods", claim.namespace(), &uses).is_empty()
}

/// The keys of the matching objects in a namespace.
fn in_namespace(shared: &Shared, storage: &str, namespace: &str, matches: &dyn Fn(&Stored) -> bool) -> Vec<String> {
    let prefix = format!("{namespace}/");
    let query = Query { prefix: &prefix, after: None, at: None, limit: 0, matches: &|_| true };
    let found = shared.store.list(storage, &query).map(|page| page.items).unwrap_or_default();
    found.iter().filter(|object| matches(object)).map(|object| object.key.to_string()).collect()
}

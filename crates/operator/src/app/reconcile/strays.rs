//! What is left on objects that the binding does not select any more, because they changed while no operator ran: finalizers,
//! and what a decorator attached to them or set on them.
//!
//! Only a list without the selector finds them. It has only metadata, and nothing waits for it. What a decorator attached is
//! known from the watch of its kind.

use std::sync::Arc;

use boathook_applyset::id::{DECORATED, MANAGER, decorated_parent};
use boathook_core::model::{Change, KubernetesBinding, Object, ObjectKey};
use boathook_kube::watch::{Selection, Subscribe, selections_for};
use futures::StreamExt as _;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::{Services, hooks::Hook},
    marks::Names,
    sets::Terms,
};

/// Looks for them. A run lets go of each of them, so that the queue retries what fails.
pub(super) fn search(services: &Services, hook: &Hook, terms: Arc<Terms>) {
    // Without a selector, all objects are selected.
    let selects =
        |informer: &&KubernetesBinding| informer.name == terms.binding.name && informer.label_selector.is_some();
    let Some(informer) = hook.spec.kubernetes.iter().find(selects) else { return };
    let all = KubernetesBinding { label_selector: None, ..informer.clone() };
    let reconciler = services.reconcilers.of(&terms.hook, &terms.binding.name);
    let (weak, streams, queue) = (Arc::downgrade(&reconciler), services.streams.clone(), services.queue.clone());
    let (tenant, manager) = (hook.tenant(), super::manager(&terms.hook));
    let (names, decorates) = (terms.names.clone(), terms.binding.decorates);
    let search = async move {
        for selection in selections_for(&all, &terms.resource) {
            let selection = Selection { metadata_only: true, ..selection };
            let subscribe = Subscribe { selection, resynchronization: None, tenant: tenant.clone() };
            let mut changes = streams.subscribe(subscribe);
            while let Some(change) = changes.next().await {
                match change {
                    Change::Upsert(object) if is_held(&object, &manager, &names, decorates) => {
                        let Some(reconciler) = weak.upgrade() else { return };
                        let stray = (object.reference(), object.uid.clone());
                        if let Some(wake) = reconciler.strays(object.key.clone(), stray) {
                            reconciler.push(wake, &queue);
                        }
                    }
                    Change::ListDone | Change::Unserved => break,
                    Change::ListStarted | Change::Upsert(_) | Change::Delete(_) => {}
                }
            }
        }
    };
    reconciler.searches(AbortOnDropHandle::new(tokio::spawn(search)));
}

/// Wakes the parents that a decorator does not select any more, and that have attachments.
pub(super) fn attached(services: &Services, terms: &Terms) {
    let Some(decorator) = &terms.decorator else { return };
    let reconciler = services.reconcilers.of(&terms.hook, &terms.binding.name);
    let now = services.snapshots.snapshot_set(&terms.hook);
    let parents = now.items(&terms.binding.name);
    for owned in &terms.binding.owns {
        for attachment in now.items(&terms.binding.members_of(owned)).into_iter().flatten().map(|(_, kept)| kept) {
            // Most members are of others. Parsing all of them would take long.
            let text = attachment.item.object.as_deref().filter(|text| text.contains(DECORATED));
            let Some(value) = text.and_then(|text| serde_json::from_str::<Value>(text).ok()) else { continue };
            let Some((parent, uid)) = decorated_parent(&value, &terms.resource, decorator) else { continue };
            let key =
                ObjectKey { namespace: parent.namespace.as_deref().map(Arc::from), name: parent.name.as_str().into() };
            let shown = parents.and_then(|parents| parents.get(&key)?.item.object.clone());
            if !shown.is_some_and(|text| terms.binding.selects(&text)) {
                reconciler.push(terms.wake(&key, &uid), &services.queue);
            }
        }
    }
}

/// Whether a decorator has left something on the object.
pub(super) fn is_marked(object: &str, terms: &Terms) -> bool {
    // It need not be parsed if it contains none of the names.
    let names = [&terms.names.finalizer, &terms.names.decorated, &terms.names.hold];
    terms.decorator.is_some() && names.into_iter().any(|name| object.contains(name.as_str()))
}

/// Whether the object has the finalizer or what a decorator sets, and no other hook has the object.
fn is_held(object: &Object, manager: &str, names: &Names, decorates: bool) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(&object.json) else { return false };
    let finalizers = value.pointer("/metadata/finalizers").and_then(Value::as_array);
    let annotation = |name: &str| value.pointer("/metadata/annotations")?.get(name)?.as_str();
    let finalizer = finalizers.is_some_and(|all| all.iter().any(|one| *one == names.finalizer));
    if decorates {
        return finalizer || annotation(&names.decorated).or_else(|| annotation(&names.hold)).is_some();
    }
    finalizer && annotation(MANAGER).is_none_or(|it| it == manager)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_other_hooks_are_left_alone() {
        let is_held = |metadata: &str| {
            let json = format!(r#"{{"metadata": {{"name": "a", "uid": "u", {metadata}}}}}"#);
            let object = Object::from_json(&json, &"x.io/v1".into(), &"App".into()).unwrap();
            is_held(&object, "boathook.dev/own", &Names::of(None), false)
        };
        let ours = r#""finalizers": ["x.io/y", "boathook.dev/teardown"]"#;
        assert!(is_held(ours));
        assert!(is_held(&format!(r#"{ours}, "annotations": {{"boathook.dev/manager": "boathook.dev/own"}}"#)));
        assert!(!is_held(&format!(r#"{ours}, "annotations": {{"boathook.dev/manager": "boathook.dev/other"}}"#)));
        assert!(!is_held(r#""finalizers": ["x.io/y"]"#) && !is_held(r#""labels": {}"#));
    }
}

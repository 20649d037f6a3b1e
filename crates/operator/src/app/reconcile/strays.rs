//! Finalizers on objects that the binding does not select any more, because their labels changed while no operator ran.
//!
//! Only a list without the selector finds them. It has only metadata, and nothing waits for it.

use std::sync::Arc;

use boathook_applyset::id::MANAGER;
use boathook_core::model::{Change, KubernetesBinding, Object};
use boathook_kube::watch::{Selection, Subscribe, selections_for};
use futures::StreamExt as _;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::{Services, hooks::Hook},
    marks::FINALIZER,
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
    let search = async move {
        for selection in selections_for(&all, &terms.resource) {
            let selection = Selection { metadata_only: true, ..selection };
            let subscribe = Subscribe { selection, resynchronization: None, tenant: tenant.clone() };
            let mut changes = streams.subscribe(subscribe);
            while let Some(change) = changes.next().await {
                match change {
                    Change::Upsert(object) if is_held(&object, &manager) => {
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

/// Whether the object has the finalizer, and no other hook has the object.
fn is_held(object: &Object, manager: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(&object.json) else { return false };
    let finalizers = value.pointer("/metadata/finalizers").and_then(Value::as_array);
    let annotations = value.pointer("/metadata/annotations");
    let other = annotations.and_then(|all| all.get(MANAGER)).and_then(Value::as_str).is_some_and(|it| it != manager);
    !other && finalizers.is_some_and(|all| all.iter().any(|one| one == FINALIZER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_other_hooks_are_left_alone() {
        let is_held = |metadata: &str| {
            let json = format!(r#"{{"metadata": {{"name": "a", "uid": "u", {metadata}}}}}"#);
            is_held(&Object::from_json(&json, &"x.io/v1".into(), &"App".into()).unwrap(), "boathook.dev/own")
        };
        let ours = r#""finalizers": ["x.io/y", "boathook.dev/teardown"]"#;
        assert!(is_held(ours));
        assert!(is_held(&format!(r#"{ours}, "annotations": {{"boathook.dev/manager": "boathook.dev/own"}}"#)));
        assert!(!is_held(&format!(r#"{ours}, "annotations": {{"boathook.dev/manager": "boathook.dev/other"}}"#)));
        assert!(!is_held(r#""finalizers": ["x.io/y"]"#) && !is_held(r#""labels": {}"#));
    }
}

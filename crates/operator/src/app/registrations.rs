//! What has to be registered at the API server, according to the hooks that run and the certificates.

use std::sync::Arc;

use boathook_core::model::BindingName;
use tokio::sync::watch;

use super::{health::Health, hook_registry::HookRegistry, hooks::Hook};
use crate::{
    registration::{Registrant, Wanted},
    webhook::{CaBundle, PathKeys},
};

/// Publishes what has to be registered whenever that changes, until it is dropped.
pub(super) async fn compose(
    hook_registry: Arc<HookRegistry>,
    health: Arc<Health>,
    (mut bundle, mut paths): (watch::Receiver<CaBundle>, watch::Receiver<PathKeys>),
    wanted: watch::Sender<Option<Wanted>>,
) {
    let mut changes = health.changes();
    loop {
        changes.mark_unchanged();
        let ca = bundle.borrow_and_update().clone();
        let ca = (!ca.is_empty()).then(|| ca.as_pem().into());
        let key = Some(paths.borrow_and_update().registered().clone());
        let now = Some(Wanted { ca, paths: key, ..wanted_now(&hook_registry, &health) });
        wanted.send_if_modified(|known| {
            let changed = *known != now;
            *known = now;
            changed
        });
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            changed = bundle.changed() => if changed.is_err() { return },
            changed = paths.changed() => if changed.is_err() { return },
        }
    }
}

/// Sources are read first. If a bundle is settled in the meantime, its hooks are already in the registry.
pub(super) fn wanted_now(hook_registry: &HookRegistry, health: &Health) -> Wanted {
    let mut pending = health.sources().pending();
    let (live, broken) = hook_registry.registered();
    pending.hooks = broken;
    let registrant = |hook: &Hook| {
        let (spec, source) = (&hook.spec, hook.source());
        let bindings: Vec<BindingName> = spec.kubernetes.iter().map(|binding| binding.name.clone()).collect();
        let ready = health.unlisted(&spec.name, &bindings).is_empty();
        let settled = !pending.has(&source);
        Registrant { spec: Arc::new(spec.clone()), source, ready, settled }
    };
    let hooks = live.iter().map(|hook| registrant(hook)).collect();
    Wanted { hooks, pending, ..Wanted::default() }
}

//! What is to be registered at the API server, out of the hooks at work and the certificates. Registers nothing
//! itself.

use std::sync::Arc;

use tokio::sync::watch;

use super::{health::Health, roster::Roster};
use crate::{
    model::{BindingName, HookSpec},
    registration::{Registrant, Wanted},
    webhook::CaBundle,
};

/// Tells what is wanted, whenever that changes, until it is dropped.
pub(super) async fn compose(
    roster: Arc<Roster>,
    health: Arc<Health>,
    mut bundle: watch::Receiver<CaBundle>,
    wanted: watch::Sender<Option<Wanted>>,
) {
    let mut changes = health.changes();
    loop {
        changes.mark_unchanged();
        let ca = bundle.borrow_and_update().clone();
        let ca = (!ca.is_empty()).then(|| ca.as_pem().into());
        let now = Some(Wanted { ca, hooks: registrants(&roster, &health) });
        wanted.send_if_modified(|known| {
            let changed = *known != now;
            *known = now;
            changed
        });
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            changed = bundle.changed() => if changed.is_err() { return },
        }
    }
}

fn registrants(roster: &Roster, health: &Health) -> Vec<Registrant> {
    let registrant = |spec: &HookSpec| {
        let bindings: Vec<BindingName> = spec.kubernetes.iter().map(|binding| binding.name.clone()).collect();
        let ready = health.unlisted(&spec.name, &bindings).is_empty();
        Registrant { spec: Arc::new(spec.clone()), ready }
    };
    roster.live().iter().map(|hook| registrant(&hook.spec)).collect()
}

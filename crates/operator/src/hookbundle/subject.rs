//! What a pass is about, and what it needs. Does nothing itself.

use std::{sync::Arc, time::Duration};

use boathook_core::{
    fair::{Pool, Share, Tenant},
    model::{BundleId, Installer},
};
use tokio::time::timeout;

use super::{HookBundle, HookBundleSpec, source::Sources};

/// A pass waits for its turn no longer: meanwhile nothing else is done about its HookBundle.
const TURN: Duration = Duration::from_secs(1);

/// What a pass needs of the world.
pub(super) struct World<'a> {
    pub sources: &'a Arc<Sources>,
    pub installer: &'a Arc<dyn Installer>,
    /// Installations at the same time, shared by namespaces: each may read and compile components.
    pub installs: &'a Pool,
    /// Hooks of this namespace may act in it alone.
    pub confined: bool,
    /// Another replica decides: what it reports is at work here, too, and nothing is reported.
    pub standby: bool,
}

impl World<'_> {
    /// A turn to install. Nothing when the namespace's other bundles have them all for a while: then it comes again.
    pub async fn turn(&self, of: &Subject<'_>) -> Option<Share> {
        let tenant = Tenant::namespace(of.namespace);
        timeout(TURN, self.installs.take(&tenant, 1)).await.ok()?.ok()
    }
}

/// The object, taken apart once.
pub(super) struct Subject<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub generation: i64,
    pub spec: &'a HookBundleSpec,
}

impl Subject<'_> {
    pub fn id(&self) -> BundleId {
        BundleId { namespace: Some(self.namespace.to_owned()), name: self.name.to_owned() }
    }

    pub fn of(bundle: &HookBundle) -> Subject<'_> {
        Subject {
            namespace: bundle.metadata.namespace.as_deref().unwrap_or_default(),
            name: bundle.metadata.name.as_deref().unwrap_or_default(),
            generation: bundle.metadata.generation.unwrap_or_default(),
            spec: &bundle.spec,
        }
    }
}

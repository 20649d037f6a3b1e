//! The object of a reconciliation, and what a reconciliation needs.

use std::{sync::Arc, time::Duration};

use boathook_core::{
    fair::{Pool, Share, Tenant},
    model::{BundleId, Installer},
};
use tokio::time::timeout;

use super::{HookBundle, HookBundleSpec, source::Sources};

/// How long a reconciliation waits for its turn. In the meantime, nothing else is done about its HookBundle.
const TURN: Duration = Duration::from_secs(1);

/// What a reconciliation needs.
pub(super) struct Context<'a> {
    pub sources: &'a Arc<Sources>,
    pub installer: &'a Arc<dyn Installer>,
    /// The installations at the same time, shared by namespaces, because each may read and compile components.
    pub installs: &'a Pool,
    /// Whether the hooks of this namespace may act only in it.
    pub confined: bool,
    /// Whether another replica decides. What it reports runs here, too, and this process reports nothing.
    pub standby: bool,
}

impl Context<'_> {
    /// Takes a turn to install. Returns `None` if other bundles of the namespace have all turns for a while. The
    /// reconciliation then runs again later.
    pub async fn turn(&self, of: &BundleRef<'_>) -> Option<Share> {
        let tenant = Tenant::namespace(of.namespace);
        timeout(TURN, self.installs.take(&tenant, 1)).await.ok()?.ok()
    }
}

/// The parts of the object that a reconciliation uses.
pub(super) struct BundleRef<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub generation: i64,
    pub spec: &'a HookBundleSpec,
}

impl BundleRef<'_> {
    pub fn id(&self) -> BundleId {
        BundleId { namespace: Some(self.namespace.to_owned()), name: self.name.to_owned() }
    }

    pub fn of(bundle: &HookBundle) -> BundleRef<'_> {
        BundleRef {
            namespace: bundle.metadata.namespace.as_deref().unwrap_or_default(),
            name: bundle.metadata.name.as_deref().unwrap_or_default(),
            generation: bundle.metadata.generation.unwrap_or_default(),
            spec: &bundle.spec,
        }
    }
}

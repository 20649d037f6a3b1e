//! State that all requests share: the store, the served resources, options and signals.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::auth::Auth;
use crate::kinds::schema::Schema;
use crate::kinds::{Registry, crd};
use crate::store::Store;
use crate::tls::Tls;

/// The options for requests.
#[derive(Debug)]
pub(crate) struct Limits {
    pub bookmark_interval: Duration,
    pub max_body_bytes: usize,
    pub garbage_collection: bool,
    /// The addresses for webhooks of services: namespace, name and address.
    pub services: Vec<(String, String, SocketAddr)>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub store: Store,
    pub auth: Auth,
    pub tls: Tls,
    pub options: Limits,
    pub address: SocketAddr,
    pub stop: CancellationToken,
    pub schema: Arc<Schema>,
    registry: RwLock<Arc<Registry>>,
    disconnects: watch::Sender<u64>,
}

impl Shared {
    /// With the built-in kinds and no objects.
    pub(crate) fn new(
        store: Store,
        auth: Auth,
        tls: Tls,
        options: Limits,
        address: SocketAddr,
        stop: CancellationToken,
    ) -> Self {
        let schema = Schema::shared();
        let registry = RwLock::new(Arc::new(Registry::new(&schema, [])));
        Self { store, auth, tls, options, address, stop, registry, disconnects: watch::Sender::new(0), schema }
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads all definitions again. Called after each change of a definition.
    pub(crate) fn rebuild_registry(&self) {
        let mut slot = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        let definitions = self.store.all("customresourcedefinitions.apiextensions.k8s.io", "");
        let custom = definitions.iter().flat_map(|d| crd::resources(&d.value(), &self.schema));
        let before = std::mem::replace(&mut *slot, Arc::new(Registry::new(&self.schema, custom)));
        // As on the real server, watches end in all versions when one is no longer served.
        for storage in before.missing_in(&slot) {
            self.store.end_watches(&storage);
        }
        self.store.write().work().kinds_changed();
    }

    pub(crate) fn disconnect_watches(&self) {
        self.disconnects.send_modify(|n| *n += 1);
    }

    pub(crate) fn disconnects(&self) -> watch::Receiver<u64> {
        self.disconnects.subscribe()
    }
}

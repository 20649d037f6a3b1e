//! What all parts of one stream share.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use boathook_core::fair::{Pool, Share, Tenant};
use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::Notify;

use super::{Observer, Selection, StreamConfig, stats::WatchStats, wire::Kind};

/// API versions (`apps/v1`) whose server is known not to support lists as part of a watch.
#[derive(Debug, Default)]
pub(super) struct PagedOnly(Mutex<HashSet<String>>);

impl PagedOnly {
    pub fn holds(&self, api_version: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(api_version)
    }

    pub fn add(&self, api_version: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(api_version);
    }
}

pub(super) struct Context {
    pub client: kube::Client,
    pub config: Arc<StreamConfig>,
    pub selection: Selection,
    pub kind: Kind,
    pub observer: Arc<dyn Observer>,
    pub paged_only: Arc<PagedOnly>,
    /// The turns for lists. They limit how many lists run at the same time.
    pub lists: Pool,
    pub watch_stats: Arc<WatchStats>,
    /// Cuts the delay before the next list short.
    pub hurry: Arc<Notify>,
}

impl Context {
    /// Takes a turn to list, as soon as one of these tenants gets one.
    pub async fn turn(&self, tenants: &[Tenant]) -> Option<Share> {
        let mut turns: FuturesUnordered<_> = tenants.iter().map(|tenant| self.lists.take(tenant, 1)).collect();
        turns.next().await?.ok()
    }

    /// The timeout that the next watch requests. It is spread, so that watches do not end together.
    pub fn watch_timeout(&self) -> Duration {
        self.config.watch_timeout.mul_f64(rand::random_range(0.9..=1.1))
    }
}

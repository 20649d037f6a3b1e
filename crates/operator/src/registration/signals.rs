//! Notifies when a registration may have changed. It does not say what changed, so the receiver reads the objects
//! again.

use std::{pin::pin, sync::Arc, time::Duration};

use boathook_core::{
    model::error_chain,
    tasks::{Task, Tasks},
};
use futures::StreamExt as _;
use kube::core::WatchEvent;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use tracing::debug;

use super::{
    objects::{Kind, Objects},
    settings::MANAGED_BY,
};

/// The API server ends a watch after this time.
const LIFE: Duration = Duration::from_secs(290);
/// How long to wait beyond that if the API server does not end it.
const OVERDUE: Duration = Duration::from_secs(10);
const AFTER_END: Duration = Duration::from_secs(1);
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Watches until it is dropped.
pub(super) struct Signals {
    changed: Arc<Notify>,
    _watches: Vec<Task<()>>,
}

impl Signals {
    pub fn start(objects: &Objects, tasks: &Tasks) -> Self {
        let changed = Arc::new(Notify::new());
        let watch = |kind: Kind| {
            let (objects, changed) = (objects.clone(), changed.clone());
            tasks.spawn(format!("watch of {kind}"), async move {
                loop {
                    let ended = timeout(LIFE + OVERDUE, follow(&objects, kind, &changed)).await;
                    sleep(if ended == Ok(true) { AFTER_END } else { AFTER_FAILURE }).await;
                }
            })
        };
        let watches = Kind::ALL.into_iter().map(watch).collect();
        Self { changed, _watches: watches }
    }

    /// Returns when something changed since the last call.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// Follows one watch to its end. Returns false if it failed.
async fn follow(objects: &Objects, kind: Kind, changed: &Notify) -> bool {
    // Definitions are watched without a label, because new ones do not have ours and matter, too.
    let labels = match kind {
        Kind::Configuration(_) => format!("{}%3D{}", MANAGED_BY.0, MANAGED_BY.1),
        Kind::Definition => String::new(),
    };
    let mut events = match objects.watch(kind, &labels, LIFE.as_secs()).await {
        Ok(events) => pin!(events),
        Err(error) => {
            debug!(error = error_chain(&error), "registrations can't be watched");
            return false;
        }
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(WatchEvent::Bookmark(_)) => {}
            Ok(WatchEvent::Error(_)) | Err(_) => return false,
            Ok(_) => changed.notify_one(),
        }
    }
    true
}

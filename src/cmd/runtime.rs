//! What long-running subcommands share: the async runtime, and the signals that end them.

use std::{num::NonZeroUsize, thread, time::Duration};

use anyhow::Context as _;
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

/// For threads that are blocked when all is done.
const LEFTOVERS: Duration = Duration::from_millis(100);

/// Runs a future on a runtime of its own.
pub(super) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    block_on_threads(usize::MAX, future)
}

/// As [`block_on`], with at most so many threads that compute.
pub(super) fn block_on_threads<T>(most: usize, future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(most.max(1));
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .context("can't start the async runtime")?;
    let ended = runtime.block_on(future);
    // What matters was awaited; nobody waits for what still blocks a thread.
    runtime.shutdown_timeout(LEFTOVERS);
    ended
}

/// SIGTERM or SIGINT, whichever comes.
pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Listens from now on.
    pub fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("can't listen for signals");
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub async fn requested(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

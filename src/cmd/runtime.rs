//! Shared by long-running subcommands: the async runtime, and the signals that end them.

use std::{num::NonZeroUsize, thread, time::Duration};

use anyhow::Context as _;
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

/// Time for threads that are still blocked at the end.
const LEFTOVERS: Duration = Duration::from_millis(100);

/// Runs a future on its own runtime.
pub(super) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    block_on_threads(usize::MAX, future)
}

/// Like [`block_on`], with at most `most` worker threads.
pub(super) fn block_on_threads<T>(most: usize, future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(most.max(1));
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let ended = runtime.block_on(future);
    // Everything that matters was awaited. Threads that still block are abandoned.
    runtime.shutdown_timeout(LEFTOVERS);
    ended
}

/// SIGTERM or SIGINT.
pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Listens from now on.
    pub fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for the next signal.
    pub async fn requested(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

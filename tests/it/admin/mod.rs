//! The admin socket: real sockets, the real client, and operators on a local cluster.
//!
//! Never looks into the operator past its socket.

mod bad;
mod bill;
mod cli;
mod commands;
mod socket;
mod views;
mod why;

use std::path::{Path, PathBuf};

use boathook_operator::admin::{Client, ClientError, Socket};
use tempfile::TempDir;

use crate::{
    pipeline::fixture::Pipeline,
    support::{cluster::TestCluster, until},
};

/// An operator on a cluster of its own, and a client of its admin socket.
struct Asked {
    pipeline: Pipeline,
    client: Client,
    directory: TempDir,
}

impl Asked {
    /// Waits until all hooks are ready.
    async fn start(hooks: &[(&str, Vec<u8>)]) -> Self {
        let asked = Self::unready(hooks).await;
        asked.pipeline.operator.ready().await;
        asked
    }

    async fn unready(hooks: &[(&str, Vec<u8>)]) -> Self {
        Self::on(TestCluster::start().await, hooks).await
    }

    async fn on(cluster: TestCluster, hooks: &[(&str, Vec<u8>)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = socket_in(directory.path());
        let at = Socket::At(socket.clone());
        let pipeline = Pipeline::on(cluster, hooks, |options| options.admin_socket = Some(at)).await;
        Self { pipeline, client: Client::new(vec![socket]), directory }
    }

    fn socket(&self) -> PathBuf {
        socket_in(self.directory.path())
    }

    /// Asks until the answer is as wanted.
    async fn until<T>(
        &self,
        what: &str,
        ask: impl AsyncFn(&Client) -> Result<T, ClientError>,
        wanted: impl Fn(&T) -> bool,
    ) -> T {
        until(what, async || Some(ask(&self.client).await.unwrap()).filter(&wanted)).await
    }
}

fn socket_in(directory: &Path) -> PathBuf {
    directory.join("private/admin.sock")
}

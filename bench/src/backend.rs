//! The API server of a measurement: the real control plane if it was built, or the local cluster.

use std::path::PathBuf;

use anyhow::Result;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{Paths, bound, process::Process};

/// A running API server.
pub struct Backend {
    /// A client of the bench's own.
    pub client: Client,
    /// For the contender.
    pub kubeconfig: PathBuf,
    _process: Process,
    _directory: tempfile::TempDir,
}

impl Backend {
    /// Starts an empty one and waits until it serves.
    pub async fn start(paths: &Paths) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let kubeconfig = directory.path().join("kubeconfig");
        let mut command = match &paths.apiserver {
            Some(binary) => {
                let mut command = bound::command(binary)?;
                command.arg("--data").arg(directory.path().join("data"));
                command
            }
            None => {
                let mut command = bound::command(&paths.boathook)?;
                command.arg("cluster");
                command
            }
        };
        command.arg("--write-kubeconfig").arg(&kubeconfig);
        let process = Process::start_until_ready(&mut command, &directory.path().join("log")).await?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(&kubeconfig)?, &options).await?;
        let client = Client::try_from(config)?;
        Ok(Self { client, kubeconfig, _process: process, _directory: directory })
    }

    /// What it is, for the report.
    pub async fn describe(&self, paths: &Paths) -> Result<String> {
        let version = self.client.apiserver_version().await?.git_version;
        Ok(match paths.apiserver {
            Some(_) => format!("kube-apiserver {version} with etcd"),
            None => format!("local cluster ({version})"),
        })
    }
}

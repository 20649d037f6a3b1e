//! The API server of a measurement: the real control plane if it was built, or the local cluster.

use std::process::Command;

use anyhow::Result;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{Paths, process::Process};

/// A running API server, fresh for each contender.
pub struct Backend {
    /// A client of the bench's own.
    pub client: Client,
    /// For the contender.
    pub kubeconfig: std::path::PathBuf,
    name: &'static str,
    _process: Process,
    _directory: tempfile::TempDir,
}

impl Backend {
    /// Starts it and waits until it serves.
    pub async fn start(paths: &Paths) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let kubeconfig = directory.path().join("kubeconfig");
        let (name, mut command) = match &paths.apiserver {
            Some(binary) => {
                let mut command = Command::new(binary);
                command.arg("--data").arg(directory.path().join("data"));
                ("kube-apiserver with etcd", command)
            }
            None => {
                let mut command = Command::new(&paths.boathook);
                command.arg("cluster");
                ("local cluster", command)
            }
        };
        let process = Process::start_until_ready(command.arg("--write-kubeconfig").arg(&kubeconfig))?;
        let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(&kubeconfig)?, &KubeConfigOptions::default()).await?;
        Ok(Self { client: Client::try_from(config)?, kubeconfig, name, _process: process, _directory: directory })
    }

    /// What it is, for the report.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

//! From flags to a Kubernetes client.

use std::time::Duration;

use anyhow::Context as _;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::cli::Connection;

/// A client of the cluster that the flags name, and the cluster's address. Nothing is sent yet.
pub(super) async fn client(connection: &Connection) -> anyhow::Result<(Client, String)> {
    let options = KubeConfigOptions { context: connection.context.clone(), ..KubeConfigOptions::default() };
    let config = match (&connection.kubeconfig, &connection.context) {
        (Some(file), _) => {
            let what = || format!("can't use the kubeconfig {}", file.display());
            let kubeconfig = Kubeconfig::read_from(file).with_context(what)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.with_context(what)?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await.context("can't use the kubeconfig")?,
        (None, None) => Config::infer()
            .await
            .context("found no cluster: give --kubeconfig FILE, set KUBECONFIG, or run in a Pod")?,
    };
    let server = config.cluster_url.to_string();
    Ok((client_of(config)?, server))
}

/// A client that leaves retries and read time-outs to the stages.
pub(super) fn client_of(mut config: Config) -> anyhow::Result<Client> {
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    // A watch may be silent for a minute; each stage has its own bound.
    config.read_timeout = None;
    Client::try_from(config).context("can't make a client for the cluster")
}

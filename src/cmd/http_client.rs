//! The client of hooks' HTTP requests, from the flags.

use std::{net::IpAddr, sync::Arc};

use anyhow::Context as _;
use boathook_bundle::{Allowed, Reach};
use boathook_egress::{Client, HttpConfig};
use ipnet::IpNet;

use crate::cli::http::Http;

/// `networks` count as not public, too.
pub(super) fn client(args: &Http, networks: &[IpNet]) -> anyhow::Result<Client> {
    let read =
        |file: &std::path::PathBuf| std::fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    let ca = args.http_ca.as_ref().map(read).transpose()?.unwrap_or_default();
    let reach = Reach::Public(Arc::new(Allowed {
        private: args.http_private_host.iter().cloned().collect(),
        insecure: args.http_insecure_host.iter().cloned().collect(),
        networks: networks.iter().copied().chain(api_server().map(Into::into)).collect(),
    }));
    Client::new(HttpConfig { reach, ca, ..HttpConfig::default() }).context("--http-ca")
}

/// The one address of a Service that the kubelet sets in each Pod.
pub(super) fn api_server() -> Option<IpAddr> {
    std::env::var("KUBERNETES_SERVICE_HOST").ok().and_then(|host| host.parse().ok())
}

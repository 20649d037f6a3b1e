//! The client of hooks' HTTP requests, from the flags.

use std::{
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use anyhow::Context as _;
use boathook_bundle::{Allowed, Reach};
use boathook_core::model::is_dns_name;
use boathook_egress::{Client, HttpConfig};
use ipnet::IpNet;

use crate::cli::http::Http;

/// `networks` count as not public, too.
pub(super) fn client(args: &Http, networks: &[IpNet]) -> anyhow::Result<Client> {
    let read =
        |file: &std::path::PathBuf| std::fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    let ca = args.http_ca.as_ref().map(read).transpose()?.unwrap_or_default();
    for (flag, hosts) in
        [("--http-private-host", &args.http_private_host), ("--http-insecure-host", &args.http_insecure_host)]
    {
        for host in hosts {
            anyhow::ensure!(
                is_host(host),
                "{flag}: {host:?} is not a host: write HOST or HOST:PORT, such as api.tools.svc:8443"
            );
        }
    }
    let reach = Reach::Public(Arc::new(Allowed {
        private: args.http_private_host.iter().cloned().collect(),
        insecure: args.http_insecure_host.iter().cloned().collect(),
        networks: networks.iter().copied().chain(api_server().map(Into::into)).collect(),
    }));
    Client::new(HttpConfig { reach, ca, ..HttpConfig::default() }).context("--http-ca")
}

/// Whether the text can be the host of a URL. A text that is not one would open nothing, and nobody would notice.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':').filter(|(host, _)| !host.starts_with('[') || host.ends_with(']')) {
        Some((host, port)) => (host, port.parse::<u16>().is_ok_and(|port| port != 0)),
        None => (text, true),
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    port && address
        .map_or_else(|| is_dns_name(&host.to_ascii_lowercase()), |address| address.parse::<Ipv6Addr>().is_ok())
}

/// The one address of a Service that the kubelet sets in each Pod.
pub(super) fn api_server() -> Option<IpAddr> {
    std::env::var("KUBERNETES_SERVICE_HOST").ok().and_then(|host| host.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(private: &[&str], insecure: &[&str]) -> Http {
        let list = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
        Http { http_private_host: list(private), http_insecure_host: list(insecure), http_ca: None }
    }

    #[test]
    fn what_opens_nothing_is_refused() {
        let good = ["api.tools.svc", "API.tools.svc:8443", "10.0.0.1:443", "[::1]", "[::1]:8443", "tools_1"];
        assert!(client(&flags(&good, &good), &[]).is_ok());
        for wrong in
            ["", "*", "*.svc", "http://api.svc", "api.svc/v1", "api.svc:", "api.svc:0", "u@api.svc", "[::1", "::1"]
        {
            for (flag, flags) in
                [("--http-private-host", flags(&[wrong], &[])), ("--http-insecure-host", flags(&[], &[wrong]))]
            {
                let error = client(&flags, &[]).map(|_| ()).map_err(|error| error.to_string());
                assert_eq!(
                    error,
                    Err(format!(
                        "{flag}: {wrong:?} is not a host: write HOST or HOST:PORT, such as api.tools.svc:8443"
                    ))
                );
            }
        }
    }
}

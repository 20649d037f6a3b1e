//! Creates a Kubernetes client from the flags.

use std::{net::IpAddr, time::Duration};

use anyhow::Context as _;
use http::{Request, Uri};
use ipnet::IpNet;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{net::lookup_host, time::timeout};
use tower::service_fn;
use tracing::warn;

use crate::cli::Connection;

/// A client for the cluster that the flags name, and the cluster's address. It sends no request yet.
pub(super) async fn client(connection: &Connection) -> anyhow::Result<(Client, String)> {
    client_in(connection, None).await
}

/// The same, with another default namespace.
pub(super) async fn client_in(connection: &Connection, namespace: Option<String>) -> anyhow::Result<(Client, String)> {
    let options = KubeConfigOptions { context: connection.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match (&connection.kubeconfig, &connection.context) {
        (Some(file), _) => {
            let what = || format!("cannot use the kubeconfig {}", file.display());
            let kubeconfig = Kubeconfig::read_from(file).with_context(what)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.with_context(what)?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await.context("cannot use the kubeconfig")?,
        (None, None) => Config::infer()
            .await
            .context("found no cluster: give --kubeconfig FILE, set KUBECONFIG, or run in a Pod")?,
    };
    if let Some(namespace) = namespace {
        config.default_namespace = namespace;
    }
    let server = config.cluster_url.to_string();
    Ok((client_of(config)?, server))
}

/// The time to look up the API server's name.
const LOOKUP: Duration = Duration::from_secs(10);

/// The addresses of an API server, which count as not public. Some API servers have public addresses, and they may trust the
/// network of the operator more than others. The name is looked up once.
pub(super) async fn networks(server: &str) -> Vec<IpNet> {
    let Some(authority) = server.parse::<Uri>().ok().and_then(|url| url.authority().cloned()) else {
        return Vec::new();
    };
    let host = authority.host().trim_matches(['[', ']']);
    if let Ok(address) = host.parse::<IpAddr>() {
        return vec![address.into()];
    }
    match timeout(LOOKUP, lookup_host((host, authority.port_u16().unwrap_or(443)))).await {
        Ok(Ok(found)) => found.map(|address| address.ip().into()).collect(),
        _ => {
            warn!(
                host,
                "the API server's name cannot be looked up: its addresses are not closed to hooks, unless they are private"
            );
            Vec::new()
        }
    }
}

/// A response must begin within this time. It is the API server's own limit for everything but watches, and watches
/// begin at once.
const BEGIN: Duration = Duration::from_secs(60);
/// A connection may be silent for this long. A quiet watch receives a bookmark about once a minute.
const SILENCE: Duration = Duration::from_secs(300);

/// No response came.
#[derive(Debug, thiserror::Error)]
#[error("no response within {} s", .0.as_secs())]
struct NoAnswer(Duration);

/// A client that leaves retries to its callers. Every request of every caller has a time limit. Callers set shorter
/// limits where something waits for the response.
pub(super) fn client_of(config: Config) -> anyhow::Result<Client> {
    Ok(bounded(client_with(config, SILENCE)?, BEGIN))
}

fn client_with(mut config: Config, silence: Duration) -> anyhow::Result<Client> {
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    config.read_timeout = Some(silence);
    Client::try_from(config).context("cannot make a client for the cluster")
}

fn bounded(client: Client, begin: Duration) -> Client {
    let namespace = client.default_namespace().to_owned();
    let send = move |request: Request<Body>| {
        let client = client.clone();
        async move {
            let late = |_| Err(kube::Error::Service(Box::new(NoAnswer(begin))));
            timeout(begin, client.send(request)).await.unwrap_or_else(late)
        }
    };
    Client::new(service_fn(send), namespace)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::convert::Infallible;

    use boathook_core::model::error_chain;
    use http::Response;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    // mutant: src/cmd/connect.rs: `return vec![address.into()];` => `return Vec::new();`
    #[tokio::test]
    async fn cve_2026_4789_the_addresses_of_the_api_server_are_known() {
        for (server, address) in [
            ("https://203.0.113.9:6443/", "203.0.113.9/32"),
            ("https://[2001:db8::1]:6443/", "2001:db8::1/128"),
            ("http://127.0.0.1:8001/", "127.0.0.1/32"),
        ] {
            assert_eq!(networks(server).await, [address.parse().unwrap()], "{server}");
        }
        let local = networks("https://localhost:6443/").await;
        assert!(!local.is_empty() && local.iter().all(|network| network.addr().is_loopback()), "{local:?}");
        assert!(networks("/").await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_takes_requests_and_answers_none_is_waited_for_so_long_and_no_longer() {
        let mute = service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
        let client = bounded(Client::new(mute, "default"), BEGIN);
        let error = client.apiserver_version().await.unwrap_err();
        assert!(error_chain(&error).contains("no response within 60 s"), "{error:?}");
    }

    #[tokio::test]
    async fn a_server_that_stops_in_the_middle_of_an_answer_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
        let client = client_with(config, Duration::from_millis(200)).unwrap();
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
            stream.write_all(head.as_bytes()).await.unwrap();
            std::future::pending::<()>().await
        };
        tokio::select! {
            answer = client.apiserver_version() => assert!(answer.is_err()),
            () = server => {}
        }
    }
}

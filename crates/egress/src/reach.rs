//! Where connections may go, by the addresses of a host's name. The addresses that were checked are the ones that are
//! connected to, so a name that changes its address a moment later gains nothing.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use boathook_core::fair::{Pool, Tenant};
use futures::{FutureExt as _, future::BoxFuture};
use http::{Uri, uri::Authority};
use hyper_util::{
    client::legacy::connect::{HttpConnector, dns::Name},
    rt::TokioIo,
};
use ipnet::IpNet;
use tokio::net::{TcpStream, lookup_host};
use tower::{Service, service_fn};

/// The time until a connection is established.
const CONNECT: Duration = Duration::from_secs(10);

/// Where a host may be that others name: a registry, and where it may redirect to, or the target of a hook's request.
#[derive(Debug, Clone, Default)]
pub enum Reach {
    /// Anywhere, because the network belongs to the user that names the host.
    #[default]
    Anywhere,
    /// At public addresses and with TLS, plus what the admin allows, because tenants name the host.
    Public(Arc<Allowed>),
}

/// What an admin allows to tenants that name hosts. They are written as in references to registries, `HOST` or
/// `HOST:PORT`.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    /// Hosts that may have addresses that are not public. A registry may redirect to another one.
    pub private: BTreeSet<String>,
    /// Hosts that may have such addresses too, and that may be reached without TLS.
    pub insecure: BTreeSet<String>,
    /// Further networks that count as not public.
    pub networks: Vec<IpNet>,
}

impl Allowed {
    fn is_private(&self, url: &Uri) -> bool {
        is_among(&self.private, url) || is_among(&self.insecure, url)
    }

    fn is_public(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_own = |address: IpAddr| self.networks.iter().any(|network| network.contains(&address));
        is_public(address) && !is_own(address) && !contained(address).is_some_and(|inner| is_own(inner.into()))
    }
}

fn is_among(hosts: &BTreeSet<String>, url: &Uri) -> bool {
    let Some(authority) = url.authority() else { return false };
    let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
    let (host, port) = (authority.host(), authority.port_u16().unwrap_or(usual));
    let is = |known: &String| {
        known.eq_ignore_ascii_case(&format!("{host}:{port}")) || (port == usual && known.eq_ignore_ascii_case(host))
    };
    hosts.iter().any(is)
}

/// Whether everybody can reach the address, and it does not lead to this machine, its network or its cluster. The
/// ranges are those of IANA's registries of special-purpose addresses. The standard library's own function is not
/// stable.
fn is_public(address: IpAddr) -> bool {
    if let Some(inner) = contained(address) {
        return is_public(inner.into());
    }
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            let special = address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || a == 0
                || a >= 224
                // Carrier-grade NAT, which clouds also use internally.
                || (a == 100 && b & 0xc0 == 64)
                || (a == 192 && b == 0 && c == 0)
                || (a == 198 && b & 0xfe == 18)
                // Azure's node and its services, at an address that is public in other places.
                || address == Ipv4Addr::new(168, 63, 129, 16);
            !special
        }
        IpAddr::V6(address) => match address.segments() {
            [0x2001, b, ..] if b < 0x200 || b == 0xdb8 => false,
            [0x3fff, b, ..] if b < 0x1000 => false,
            [a, ..] => a & 0xe000 == 0x2000,
        },
    }
}

/// The IPv4 address that an IPv6 address leads to: mapped, translated (NAT64) and tunneled (6to4).
fn contained(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = address else { return None };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        _ => None,
    }
}

/// The host has addresses, but none that is public.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not at a public address")]
pub struct NotPublic(pub String);

impl NotPublic {
    /// Whether this is why a connection could not be made.
    pub fn is_cause_of(error: &(dyn std::error::Error + 'static)) -> bool {
        std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<Self>())
    }
}

/// The host's name has no address.
#[derive(Debug, thiserror::Error)]
#[error("{host} has no address")]
pub(crate) struct NoAddress {
    host: String,
    #[source]
    source: io::Error,
}

/// The names that hooks look up at the same time: few of the threads that the process has for what blocks. Tenants share
/// them.
const LOOKUPS: u64 = 64;

/// The most addresses of a name that are tried. Without a bound, one request makes a connection to each of the thousands
/// that an answer of DNS can have.
const ADDRESSES: usize = 8;

/// Whose turn it is to look up names. The system looks up each name in a thread, and nothing ends that thread early: a
/// name whose server does not answer holds it longer than its request lasts. So it counts until it is done.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Pool);

impl Default for Turns {
    fn default() -> Self {
        Self(Pool::new(LOOKUPS))
    }
}

impl Turns {
    async fn wait(
        &self,
        tenant: &Tenant,
        lookup: BoxFuture<'static, io::Result<Vec<SocketAddr>>>,
    ) -> io::Result<Vec<SocketAddr>> {
        let turn = self.0.take(tenant, 1).await.map_err(io::Error::other)?;
        let done = tokio::spawn(async move {
            let _until_done = turn;
            lookup.await
        });
        done.await.map_err(io::Error::other)?
    }
}

/// Connects to hosts within reach.
#[derive(Debug, Clone)]
pub struct Connector {
    reach: Reach,
    lookup: Lookup,
    /// `None`: names are looked up for the operator itself.
    turns: Option<(Tenant, Turns)>,
}

pub(crate) type Lookup = fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

fn lookup(host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
    async move { Ok(lookup_host((host, port)).await?.collect()) }.boxed()
}

impl Connector {
    /// For a host and those to which it redirects. A host that may not be private cannot redirect to hosts that may be.
    pub fn new(reach: &Reach, first: &Uri) -> Self {
        let reach = match reach {
            Reach::Public(allowed) if !allowed.is_private(first) => {
                let networks = allowed.networks.clone();
                Reach::Public(Arc::new(Allowed { networks, ..Allowed::default() }))
            }
            reach => reach.clone(),
        };
        Self { reach, lookup, turns: None }
    }

    /// The same, and it waits for the tenant's turn to look up names.
    pub(crate) fn in_turn(self, tenant: Tenant, turns: &Turns) -> Self {
        Self { turns: Some((tenant, turns.clone())), ..self }
    }

    /// The same with other names and addresses than the system's.
    #[cfg(test)]
    pub(crate) fn looking_up(self, lookup: Lookup) -> Self {
        Self { lookup, ..self }
    }

    /// Whether TLS may be left out for this address.
    pub fn may_be_plain(&self, url: &Uri) -> bool {
        match &self.reach {
            Reach::Anywhere => true,
            Reach::Public(allowed) => is_among(&allowed.insecure, url),
        }
    }

    /// Returns the addresses that may be connected to.
    async fn addresses(&self, url: &Uri) -> Result<Vec<SocketAddr>, Error> {
        let host = url.authority().map(Authority::host).unwrap_or_default();
        let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") { 443 } else { 80 });
        let found = (self.lookup)(host.trim_matches(['[', ']']).to_owned(), port);
        let found = match &self.turns {
            Some((tenant, turns)) => turns.wait(tenant, found).await,
            None => found.await,
        };
        let found = found.map_err(|source| NoAddress { host: host.to_owned(), source })?;
        let allowed = match &self.reach {
            Reach::Public(allowed) if !allowed.is_private(url) => allowed,
            _ => return Ok(found.into_iter().take(ADDRESSES).collect()),
        };
        let public = found.into_iter().filter(|address| allowed.is_public(address.ip()));
        let public: Vec<_> = public.take(ADDRESSES).collect();
        if public.is_empty() { Err(NotPublic(host.to_owned()).into()) } else { Ok(public) }
    }
}

type Error = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let connector = self.clone();
        async move {
            let addresses = connector.addresses(&url).await?;
            // The connector resolves the name again, and gets the addresses that were checked.
            let checked =
                service_fn(move |_: Name| std::future::ready(Ok::<_, io::Error>(addresses.clone().into_iter())));
            let mut http = HttpConnector::new_with_resolver(checked);
            http.set_connect_timeout(Some(CONNECT));
            http.enforce_http(false);
            Ok(http.call(url).await?)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn url(text: &str) -> Uri {
        text.parse().unwrap()
    }

    fn set(hosts: &[&str]) -> BTreeSet<String> {
        hosts.iter().map(|host| (*host).to_owned()).collect()
    }

    // mutant: crates/egress/src/reach.rs: `address.is_link_local()` => `false`
    // mutant: crates/egress/src/reach.rs: `|| address == Ipv4Addr::new(168, 63, 129, 16)` => ``
    // mutant: crates/egress/src/reach.rs: `contained(address).is_some_and(|inner| is_own(inner.into()))` => `false`
    #[test]
    fn cve_2026_4789_what_is_inside_is_not_public() {
        for inside in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::ffff:168.63.129.16",
            "64:ff9b::168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:a00:1::1",
            "2001:0:1::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
        ] {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
        for outside in [
            "1.1.1.1",
            "9.255.255.255",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2002:101:101::1",
            "64:ff9b::101:101",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(outside.parse().unwrap()), "{outside}");
        }
        let allowed = Allowed { networks: vec!["34.118.224.0/20".parse().unwrap()], ..Allowed::default() };
        assert!(!allowed.is_public("34.118.224.1".parse().unwrap()));
        for inside in ["::ffff:34.118.224.1", "64:ff9b::34.118.224.1", "2002:2276:e001::1"] {
            assert!(!allowed.is_public(inside.parse().unwrap()), "{inside}");
        }
        assert!(allowed.is_public("34.118.223.1".parse().unwrap()));
    }

    #[test]
    fn a_host_is_allowed_with_its_port() {
        let hosts = set(&["r.io", "registry.tools.svc:5000", "[::1]:80"]);
        for (address, is) in [
            ("https://r.io/v2/", true),
            ("https://R.io:443/v2/", true),
            ("http://r.io/v2/", true),
            ("https://r.io:6443/v2/", false),
            ("https://x.r.io/v2/", false),
            ("https://r.io.evil.com/v2/", false),
            ("http://registry.tools.svc:5000/v2/", true),
            ("http://registry.tools.svc/v2/", false),
            ("http://[::1]/v2/", true),
            ("https://r.io@evil.com/v2/", false),
        ] {
            assert_eq!(is_among(&hosts, &url(address)), is, "{address}");
        }
    }

    // mutant: crates/egress/src/reach.rs: `Reach::Public(allowed) if !allowed.is_private(first) => {` => `Reach::Public(allowed) if false => {`
    #[tokio::test]
    async fn cve_2026_4789_a_registry_outside_leads_to_none_that_is_allowed_inside() {
        let private = set(&["127.0.0.1:5000", "127.0.0.1:9000"]);
        let reach = Reach::Public(Arc::new(Allowed { insecure: private, ..Allowed::default() }));
        let (outside, inside) = (url("https://1.1.1.1/v2/"), url("http://127.0.0.1:5000/v2/"));
        let other = url("http://127.0.0.1:9000/layer");
        let connector = Connector::new(&reach, &inside);
        assert!(connector.addresses(&other).await.is_ok() && connector.may_be_plain(&other));
        let connector = Connector::new(&reach, &outside);
        assert!(connector.addresses(&other).await.unwrap_err().is::<NotPublic>() && !connector.may_be_plain(&other));
        assert!(connector.addresses(&inside).await.is_err());
        assert!(connector.addresses(&outside).await.is_ok());
    }

    // mutant: crates/egress/src/reach.rs: `.filter(|address| allowed.is_public(address.ip()))` => `.filter(|_| true)`
    #[tokio::test]
    async fn a_name_with_several_addresses_leads_to_the_public_ones() {
        fn both(_: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            let addresses =
                ["10.0.0.1", "1.1.1.1", "::1"].map(|address| SocketAddr::new(address.parse().unwrap(), port));
            std::future::ready(Ok(addresses.to_vec())).boxed()
        }
        let connector = Connector { reach: Reach::Public(Arc::default()), lookup: both, turns: None };
        let found = connector.addresses(&url("https://both.example.com/")).await.unwrap();
        assert_eq!(found, ["1.1.1.1:443".parse().unwrap()]);
    }

    // mutant: crates/egress/src/reach.rs: `public.take(ADDRESSES).collect()` => `public.collect()`
    #[tokio::test]
    async fn a_name_with_a_thousand_addresses_is_tried_at_few() {
        fn many(_: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            let each = |low: u8| SocketAddr::new(IpAddr::from([1, 1, 1, low]), port);
            std::future::ready(Ok((0..=255).map(each).collect())).boxed()
        }
        let connector = Connector { reach: Reach::Public(Arc::default()), lookup: many, turns: None };
        assert_eq!(connector.addresses(&url("https://many.example.com/")).await.unwrap().len(), ADDRESSES);
    }

    /// A name whose server returns a public address to the check, and another address to the connection.
    // mutant: crates/egress/src/reach.rs: `HttpConnector::new_with_resolver(checked)` => `{ drop(checked); HttpConnector::new() }`
    #[tokio::test]
    async fn the_address_that_was_checked_is_connected_to() {
        static FIRST: std::sync::OnceLock<SocketAddr> = std::sync::OnceLock::new();
        fn once(_: String, _: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            std::future::ready(Ok(FIRST.get().copied().into_iter().collect())).boxed()
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        FIRST.set(listener.local_addr().unwrap()).unwrap();
        let mut connector = Connector { reach: Reach::Anywhere, lookup: once, turns: None };
        // A second look-up would find nothing.
        let port = listener.local_addr().unwrap().port();
        let stream = connector.call(url(&format!("http://rebound.invalid:{port}/"))).await.unwrap();
        assert_eq!(stream.inner().peer_addr().unwrap(), listener.local_addr().unwrap());
    }
}

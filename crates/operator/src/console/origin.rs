//! Which hosts and origins a request may name. A page of another site can have a browser send requests to this port, also
//! by a name that leads to it a moment later (DNS rebinding).

use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, header, uri::Authority};

static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names of this machine that no other one can have.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that requests may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hosts {
    /// Loopback ones, with this port if there is one. `kubectl port-forward` has a port of its own.
    Loopback(Option<u16>),
    /// All: the address is reached by names that are not known here.
    All,
}

impl Hosts {
    /// Those of a server at this address. `forwarded`: clients may reach it by another port of their machine.
    pub fn of(address: SocketAddr, forwarded: bool) -> Self {
        match address.ip().is_loopback() {
            true => Self::Loopback((!forwarded).then_some(address.port())),
            false => Self::All,
        }
    }

    fn has(self, host: &str) -> bool {
        let Self::Loopback(port) = self else { return true };
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let of_port = port.is_none_or(|port| authority.port_u16().unwrap_or(80) == port);
        // What stands before an `@` is not part of a host.
        of_port && !host.contains('@') && LOOPBACK.iter().any(|known| authority.host().eq_ignore_ascii_case(known))
    }
}

/// Checks a request. `data`: it is for data, which only the page itself requests.
pub(super) fn check(hosts: Hosts, headers: &HeaderMap, data: bool) -> Result<(), &'static str> {
    let Some(host) = only(headers, &header::HOST)? else { return Err("the request names no host") };
    if !hosts.has(host) {
        return Err("the request names another host: use 127.0.0.1 or localhost, with the port of the console");
    }
    if let Some(origin) = only(headers, &header::ORIGIN)? {
        let own = ["http://", "https://"].iter().any(|scheme| {
            let rest = origin.get(..scheme.len()).filter(|start| start.eq_ignore_ascii_case(scheme));
            rest.and_then(|_| origin.get(scheme.len()..)).is_some_and(|rest| rest.eq_ignore_ascii_case(host))
        });
        if !own {
            return Err("the request comes from another site");
        }
    }
    match only(headers, &FETCH_SITE)? {
        Some(site) if data && site != "same-origin" && site != "none" => Err("the request comes from another site"),
        _ => Ok(()),
    }
}

/// The value of a header that is there once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| "a header of the request is no text"),
        _ => Err("a header of the request occurs twice"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(hosts: Hosts, data: bool, given: &[(&str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        check(hosts, &headers, data).is_ok()
    }

    // mutant: crates/operator/src/console/origin.rs: `if !hosts.has(host) {` => `if false {`
    #[test]
    fn a_name_that_leads_here_a_moment_later_is_refused() {
        let dev = Hosts::of(([127, 0, 0, 1], 8080).into(), false);
        for good in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"] {
            assert!(allowed(dev, true, &[("host", good)]), "{good}");
        }
        for bad in [
            "evil.example:8080",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.evil.example:8080",
            "localhost@evil:8080",
            "",
            "a b",
        ] {
            assert!(!allowed(dev, false, &[("host", bad)]), "{bad}");
        }
        assert!(!allowed(dev, false, &[]));
        assert!(!allowed(dev, false, &[("host", "localhost:8080"), ("host", "localhost:8080")]));
        let forwarded = Hosts::of(([127, 0, 0, 1], 8080).into(), true);
        assert!(allowed(forwarded, true, &[("host", "localhost:1234")]));
        assert!(!allowed(forwarded, true, &[("host", "evil.example:1234")]));
        assert!(allowed(Hosts::of(([10, 0, 0, 1], 8080).into(), true), true, &[("host", "console.example")]));
    }

    // mutant: crates/operator/src/console/origin.rs: `if !own {` => `if false {`
    #[test]
    fn another_site_is_refused() {
        let (dev, host) = (Hosts::Loopback(Some(8080)), ("host", "localhost:8080"));
        for good in ["http://localhost:8080", "https://localhost:8080", "HTTP://LOCALHOST:8080"] {
            assert!(allowed(dev, true, &[host, ("origin", good)]), "{good}");
        }
        for bad in
            ["http://evil.example", "null", "http://127.0.0.1:8080", "http://localhost:8081", "localhost:8080", ""]
        {
            assert!(!allowed(dev, true, &[host, ("origin", bad)]), "{bad}");
        }
        for (site, data) in [("same-origin", true), ("none", true), ("cross-site", false)] {
            assert!(allowed(dev, data, &[host, ("sec-fetch-site", site)]), "{site}");
        }
        for site in ["cross-site", "same-site"] {
            assert!(!allowed(dev, true, &[host, ("sec-fetch-site", site)]), "{site}");
        }
    }
}
